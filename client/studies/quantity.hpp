/// Numbers with units as people type them on the command line.
#pragma once

#include <string>
#include <vector>

namespace heelstrike::client {

/// "4mm", "0.004", "4e-3 m", "0.4cm", "120um" -> metres. @param what  for messages
/// @throws Error{invalid_input} naming the units it knows
[[nodiscard]] double parse_length(const std::string& text, const std::string& what);

/// The same for lengths that are smaller than a body: a bare number from 1 on was meant in another unit than metres.
/// @throws Error{invalid_input} also for those, asking for the unit
[[nodiscard]] double parse_small_length(const std::string& text, const std::string& what);

/// `text` cut at every `separator`; "a,,b" has an empty piece.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

}  // namespace heelstrike::client
