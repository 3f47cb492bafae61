/// Text that came from outside, made fit for a line of a log, a terminal or a message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heelstrike {

/// `text` in valid UTF-8: bytes that are none become "\xe4". Whoever saved a file as Latin-1 still recognises it.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The same without control characters other than line ends and tabs, so that it cannot move a cursor, colour a
/// terminal or change its title.
[[nodiscard]] std::string strip_control_characters(std::string_view text);

/// The same with blanks for line ends and tabs escaped too: what a message quotes.
/// @param longest  bytes of `text` after which it is cut at a whole character and "..." follows
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

/// One line for a log between quotation marks: control characters, quotation marks and backslashes escaped, so that no
/// text can look like another line or field; cut as in printable.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t longest = 1000);

/// The text itself when it is UTF-8, else every byte taken for a Latin-1 character.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// The Latin-1 bytes of a UTF-8 text; none when it has other characters, or ASCII only.
[[nodiscard]] std::optional<std::string> as_latin1(std::string_view text);

}  // namespace heelstrike
