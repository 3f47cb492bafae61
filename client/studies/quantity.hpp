/// Numbers with units on the command line.
#pragma once

#include <string>
#include <vector>

namespace heelstrike::client {

/// "4mm", "0.004", "4e-3 m", "0.4cm", "120um" -> metres. @param what  for messages
/// @throws Error{invalid_input} naming the accepted units
[[nodiscard]] double parse_length(const std::string& text, const std::string& what);

/// The same for lengths below the size of a body: a bare number of 1 or more is most likely not in metres.
/// @throws Error{invalid_input} also for those, requesting a unit
[[nodiscard]] double parse_small_length(const std::string& text, const std::string& what);

/// "600", "600N", "0.6kN" -> newtons. @param what  for messages
/// @throws Error{invalid_input} naming the accepted units, and for a force that is not positive
[[nodiscard]] double parse_force(const std::string& text, const std::string& what);

/// `text` split at every `separator`; "a,,b" has an empty piece.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

}  // namespace heelstrike::client
