#include "common/errors/plain_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace heelstrike {

namespace {

struct Character {
  std::size_t n_bytes = 1;
  std::uint32_t code = 0;
  bool valid = false;
};

/// The character at the beginning of `text`, which is not empty (RFC 3629: no surrogates, no overlong forms).
Character first_character(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t head = byte(0);
  if (head < 0x80U) return {.n_bytes = 1, .code = head, .valid = true};
  const std::size_t n = head >= 0xF0U ? 4 : head >= 0xE0U ? 3 : 2;
  if (head < 0xC2U || head > 0xF4U || text.size() < n) return {};
  std::uint32_t code = head & (0xFFU >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
  if (code < smallest[n] || code > 0x10FFFFU || surrogate) return {};
  return {.n_bytes = n, .code = code, .valid = true};
}

/// C0, DEL and C1 controls, and the marks that reverse the direction of writing or end a line.
bool is_control(std::uint32_t code) {
  return code < 0x20U || (code >= 0x7FU && code < 0xA0U) || code == 0x2028U || code == 0x2029U ||
         (code >= 0x202AU && code <= 0x202EU) || (code >= 0x2066U && code <= 0x2069U);
}

std::string bytes_of(std::string_view character) {
  std::string escaped;
  for (const char c : character)
    fmt::format_to(std::back_inserter(escaped), "\\x{:02x}", static_cast<unsigned char>(c));
  return escaped;
}

/// Text truncated at a whole character after at most `max_bytes` bytes; bytes that are not UTF-8 are escaped.
/// @param write  appends a valid character, given by its code and bytes, to the result
template <typename Write>
std::string rewritten(std::string_view text, std::size_t max_bytes, const Write& write) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.n_bytes > max_bytes) return result + "...";
    const std::string_view bytes = text.substr(0, character.n_bytes);
    result += character.valid ? write(character.code, bytes) : bytes_of(bytes);
    max_bytes -= character.n_bytes;
    text.remove_prefix(character.n_bytes);
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!character.valid) return false;
    text.remove_prefix(character.n_bytes);
  }
  return true;
}

constexpr std::size_t any_length = std::string_view::npos;

std::string visible(std::uint32_t code, std::string_view character) {
  return is_control(code) ? bytes_of(character) : std::string(character);
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  return rewritten(text, any_length, [](std::uint32_t, std::string_view character) { return std::string(character); });
}

std::string strip_control_characters(std::string_view text) {
  return rewritten(text, any_length, [](std::uint32_t code, std::string_view character) {
    return code == '\n' || code == '\t' ? std::string(character) : visible(code, character);
  });
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  return rewritten(text, max_bytes, [](std::uint32_t code, std::string_view character) {
    return code == '\n' ? std::string(" ") : visible(code, character);
  });
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  return rewritten(text, max_bytes, [](std::uint32_t code, std::string_view character) {
    if (code == '\n') return std::string("\\n");
    if (code == '"' || code == '\\') return "\\" + std::string(character);
    return visible(code, character);
  });
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string converted;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80U) {
      converted += c;
    } else {
      converted += static_cast<char>(0xC0U | (code >> 6U));
      converted += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return converted;
}

std::optional<std::string> as_latin1(std::string_view text) {
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    if (!character.valid || character.code > 0xFFU) return std::nullopt;
    bytes += static_cast<char>(character.code);
    rest.remove_prefix(character.n_bytes);
  }
  return bytes.size() == text.size() ? std::nullopt : std::optional(bytes);
}

}  // namespace heelstrike
