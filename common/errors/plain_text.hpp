/// Text that came from outside, made fit for a line of a log, a terminal or a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// `text` in valid UTF-8: bytes that are none become "\xE4". Whoever saved a file as Latin-1 still recognises it.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The same without control characters other than line ends and tabs, so that it cannot move a cursor, colour a
/// terminal or change its title.
[[nodiscard]] std::string for_terminal(std::string_view text);

/// One line for a log between quotation marks: control characters, quotation marks and backslashes escaped, so that no
/// text can look like another line or field; what is longer than `max_bytes` is cut, which "..." says.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t max_bytes = 1000);

}  // namespace heelstrike
