#include "common/errors/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// C0, DEL and C1 controls, and the marks that turn the direction of writing or end a line.
bool is_control(std::uint32_t code) {
  return code < 0x20U || (code >= 0x7FU && code < 0xA0U) || code == 0x2028U || code == 0x2029U ||
         (code >= 0x202AU && code <= 0x202EU) || (code >= 0x2066U && code <= 0x2069U);
}

/// @param escape  whether a valid character is to be written as its bytes
template <typename Escape>
std::string escaped(std::string_view text, const Escape& escape) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.valid && !escape(character.code)) {
      result += text.substr(0, character.n_bytes);
    } else if (character.code == '\n') {
      result += "\\n";
    } else if (character.code == '"' || character.code == '\\') {
      result += {'\\', static_cast<char>(character.code)};
    } else {
      for (const char c : text.substr(0, character.n_bytes)) {
        fmt::format_to(std::back_inserter(result), "\\x{:02X}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(character.n_bytes);
  }
  return result;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  return escaped(text, [](std::uint32_t) { return false; });
}

std::string for_terminal(std::string_view text) {
  return escaped(text, [](std::uint32_t code) { return is_control(code) && code != '\n' && code != '\t'; });
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  std::string line = escaped(text.substr(0, max_bytes),
                             [](std::uint32_t code) { return is_control(code) || code == '"' || code == '\\'; });
  return cut ? line + "..." : line;
}

}  // namespace heelstrike
