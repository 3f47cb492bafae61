/// Sanitising of external text for logs, terminals and messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heelstrike {

/// `text` in valid UTF-8: invalid bytes become "\xe4", so that Latin-1 text remains recognisable.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The same without control characters other than line ends and tabs, so that it cannot control a terminal.
[[nodiscard]] std::string strip_control_characters(std::string_view text);

/// The same with line ends and tabs escaped, too, for quotation in messages.
/// @param max_bytes  bytes of `text` after which it is truncated at a whole character and "..." follows
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

/// One line for a log between quotation marks: control characters, quotation marks and backslashes escaped, so that no
/// text can imitate another line or field; truncated as in printable.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t max_bytes = 1000);

/// The text itself if it is UTF-8, else a conversion from Latin-1.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// The Latin-1 bytes of a UTF-8 text; none if it has other characters, or ASCII only.
[[nodiscard]] std::optional<std::string> as_latin1(std::string_view text);

}  // namespace heelstrike
