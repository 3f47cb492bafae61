#include "common/text/markup.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>

#include "common/errors/error.hpp"

namespace heelstrike {

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

namespace {

constexpr std::string_view spaces = " \t\n\r\f\v";
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::int8_t foreign = -1, space = -2;

std::array<std::int8_t, 256> inverse_alphabet() {
  std::array<std::int8_t, 256> inverse{};
  inverse.fill(foreign);
  for (const char c : spaces) inverse[static_cast<unsigned char>(c)] = space;
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    inverse[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return inverse;
}

}  // namespace

std::string decode_base64(std::string_view text, std::size_t n) {
  static const std::array<std::int8_t, 256> inverse = inverse_alphabet();
  std::string bytes;
  bytes.reserve(std::min(n, text.size() / 4 * 3 + 3));
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (bytes.size() >= n) break;
    const std::int8_t value = inverse[static_cast<unsigned char>(c)];
    if (value == space) continue;
    if (c == '=') {
      bits = 0;
      n_bits = 0;
      continue;
    }
    if (value < 0) break;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(n_bits)) & 0xffU));
    }
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) bits = (bits << 8U) | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= n ? alphabet[(bits >> (18U - 6U * static_cast<unsigned>(k))) & 0x3fU] : '=';
  }
  return text;
}

namespace {

/// Position of the ">" that ends the tag at `at`; quoted characters are skipped.
std::size_t end_of_tag(std::string_view text, std::size_t at) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      break;
    }
  }
  return at;
}

/// End of the section that `open`, at `at`, begins and `close` ends.
std::size_t end_of_section(std::string_view text, std::size_t at, std::string_view open, std::string_view close) {
  const std::size_t end = text.find(close, at + open.size());
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_wide(std::string_view text) {
  using namespace std::string_view_literals;
  const std::string_view begin = text.substr(0, 4);
  return begin.starts_with("\xff\xfe"sv) || begin.starts_with("\xfe\xff"sv) || begin.find('\0') != begin.npos;
}

}  // namespace

void check_xml_nesting(std::string_view text, const std::string& where, const std::string& field) {
  const auto reject = [&](std::size_t at, const std::string& what) {
    throw input_error(field, fmt::format("{}, line {}: {}", where, line_of_offset(text, at), what));
  };
  if (is_wide(text)) reject(0, "expected XML in UTF-8, found another encoding; save the file in UTF-8");
  std::size_t depth = 0;
  for (std::size_t at = text.find('<'); at < text.size(); at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = end_of_section(text, at, "<!--", "-->");
    } else if (rest.starts_with("<![CDATA[")) {
      at = end_of_section(text, at, "<![CDATA[", "]]>");
    } else if (rest.starts_with("<?")) {
      at = end_of_section(text, at, "<?", "?>");
    } else {
      const std::size_t end = end_of_tag(text, at);
      if (rest.starts_with("<!")) {
        if (text.substr(at, end - at).find('[') != std::string_view::npos) {
          reject(at, "expected XML without entity declarations, found a document type with some; remove it");
        }
      } else if (rest.starts_with("</")) {
        depth -= std::min<std::size_t>(depth, 1);
      } else if (end == text.size() || text[end - 1] != '/') {
        if (++depth > max_xml_depth) {
          reject(at, fmt::format("expected at most {} nested elements, found more", max_xml_depth));
        }
      }
      at = end;
    }
  }
}

std::size_t line_of_offset(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Appends a tag, with a blank behind each value that a name follows.
void append_tag(std::string_view tag, std::string& out) {
  char quote = '\0';
  for (std::size_t i = 0; i < tag.size(); ++i) {
    out += tag[i];
    if (quote == '\0') {
      if (tag[i] == '"' || tag[i] == '\'') quote = tag[i];
    } else if (tag[i] == quote) {
      quote = '\0';
      if (i + 1 < tag.size() && begins_name(tag[i + 1])) out += ' ';
    }
  }
}

}  // namespace

std::string strict_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t end = at;
    if (rest.front() != '<') {
      end = std::min(text.find('<', at), text.size());
    } else if (rest.starts_with("<!--")) {
      end = end_of_section(text, at, "<!--", "-->");
    } else if (rest.starts_with("<![CDATA[")) {
      end = end_of_section(text, at, "<![CDATA[", "]]>");
    } else if (rest.starts_with("<?")) {
      end = end_of_section(text, at, "<?", "?>");
    } else if (rest.starts_with("<!") && !rest.starts_with("<!DOCTYPE")) {
      end = end_of_section(text, at, "<!", ">");
      for (; at < end; ++at) out += text[at] == '\n' ? '\n' : ' ';
    } else {
      end = end_of_tag(text, at);
      append_tag(text.substr(at, end - at), out);
      at = end;
      continue;
    }
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace heelstrike
