#include "common/errors/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heelstrike {
namespace {

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7f) return true;
  // U+0080 to U+009F: among them the escape codes of terminals in one character.
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string escaped(std::string_view text, std::size_t longest, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(character_length(text), 1);
    if (length > longest) return out + "...";
    const std::string_view character = text.substr(0, length);
    if (character == "\n") {
      out += keep_lines ? '\n' : ' ';
    } else if (character_length(text) > 0 && !is_control(character)) {
      out += character;
    } else {
      for (const char byte : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    longest -= length;
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  // The second byte excludes longer forms than needed, halves of UTF-16 pairs and what lies beyond Unicode.
  if (first >= 0xe0 && first <= 0xef) {
    return continues(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = continues(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string printable(std::string_view text, std::size_t longest) {
  return escaped(text, longest, false);
}

std::string printable_lines(std::string_view text) {
  return escaped(text, std::string_view::npos, true);
}

std::string as_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) {
      std::string converted;
      for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x80) {
          converted += c;
        } else {
          converted += static_cast<char>(0xc0U | (code >> 6U));
          converted += static_cast<char>(0x80U | (code & 0x3fU));
        }
      }
      return converted;
    }
    at += length;
  }
  return std::string(text);
}

std::optional<std::string> as_latin1(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = character_length(text.substr(at));
    if (length == 0 || first > 0xc3) return std::nullopt;
    const unsigned code = length == 1 ? first : ((first & 0x03U) << 6U) | (static_cast<unsigned>(text[at + 1]) & 0x3fU);
    bytes += static_cast<char>(code);
    at += length;
  }
  return bytes.size() == text.size() ? std::nullopt : std::optional(bytes);
}

}  // namespace heelstrike
