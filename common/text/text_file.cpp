#include "common/text/text_file.hpp"

#include <cstdint>

namespace heelstrike {

namespace {

constexpr char32_t replacement = 0xFFFD;

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6U);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12U);
    } else {
      put(0xF0 | c >> 18U);
      put(0x80 | (c >> 12U & 0x3FU));
    }
    put(0x80 | (c >> 6U & 0x3FU));
  }
  put(0x80 | (c & 0x3FU));
}

/// Unpaired surrogates and an incomplete code unit at the end become U+FFFD.
std::string from_utf16(std::string_view bytes, bool big_endian) {
  const auto unit = [&](std::size_t i) -> char32_t {
    const auto first = static_cast<unsigned char>(bytes[i]), second = static_cast<unsigned char>(bytes[i + 1]);
    return big_endian ? char32_t{first} << 8U | second : char32_t{second} << 8U | first;
  };
  std::string text;
  text.reserve(bytes.size() / 2);
  std::size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) {
    char32_t c = unit(i);
    if (c >= 0xD800 && c < 0xE000) {
      const char32_t low = c < 0xDC00 && i + 3 < bytes.size() ? unit(i + 2) : 0;
      const bool is_pair = low >= 0xDC00 && low < 0xE000;
      c = is_pair ? 0x10000 + ((c - 0xD800) << 10U) + (low - 0xDC00) : replacement;
      if (is_pair) i += 2;
    }
    append_utf8(text, c);
  }
  if (i < bytes.size()) append_utf8(text, replacement);
  return text;
}

}  // namespace

MarkedText::MarkedText(std::string_view bytes) : bytes_(bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes_.remove_prefix(3);
  } else if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    recoded_ = from_utf16(bytes.substr(2), bytes.front() == '\xFE');
    bytes_ = recoded_;
  }
}

}  // namespace heelstrike
