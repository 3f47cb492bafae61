/// Text from outside in messages: what a terminal, a log or JSON would stumble over is made visible.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heelstrike {

/// UTF-8 text without control characters: those, and bytes that are no UTF-8, become `\xNN`. Line breaks become blanks.
/// @param longest  bytes of `text` after which it is cut at a whole character and "..." follows
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

/// As printable, but line breaks stay: for whole messages.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// Length in bytes of the UTF-8 character at the beginning of `text`; 0 when there is none.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// The text itself when it is UTF-8, else every byte taken for a Latin-1 character.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// The Latin-1 bytes of a UTF-8 text; none when it has other characters, or ASCII only.
[[nodiscard]] std::optional<std::string> as_latin1(std::string_view text);

}  // namespace heelstrike
