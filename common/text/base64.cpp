#include "common/text/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace heelstrike {

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

}  // namespace heelstrike
