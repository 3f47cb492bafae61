/// What back-ends write their parameters with: one function for each usual kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"

namespace heelstrike::fem {

inline constexpr Range positive{.min = 0.0, .min_excluded = true};
inline constexpr Range not_negative{.min = 0.0};

/// @param fallback  none = derived, which `meaning` says
[[nodiscard]] ParameterSchema number_parameter(std::string name, std::string unit, std::string meaning,
                                               std::optional<double> fallback, Range range);
/// @param choices  empty = any text
[[nodiscard]] ParameterSchema text_parameter(std::string name, std::string meaning, std::string fallback,
                                             std::vector<std::string> choices = {});
/// A file of the scenario; empty when not given, else the sha256 of its content.
[[nodiscard]] ParameterSchema file_parameter(std::string name, std::string meaning);
/// A list of numbers, empty when not given.
[[nodiscard]] ParameterSchema list_parameter(std::string name, std::string unit, std::string meaning);

}  // namespace heelstrike::fem
