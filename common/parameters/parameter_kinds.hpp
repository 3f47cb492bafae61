/// Constructors of back-end parameters, one for each common kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"

namespace heelstrike {

inline constexpr Range positive{.min = 0.0, .min_excluded = true};
inline constexpr Range not_negative{.min = 0.0};

/// @param fallback  none = derived, see `meaning`
[[nodiscard]] ParameterSchema number_parameter(std::string name, std::string unit, std::string meaning,
                                               std::optional<double> fallback, Range range);
/// @param choices  empty = any text
[[nodiscard]] ParameterSchema text_parameter(std::string name, std::string meaning, std::string fallback,
                                             std::vector<std::string> choices = {});
/// A file of the scenario: empty by default, else the sha256 of its content.
[[nodiscard]] ParameterSchema file_parameter(std::string name, std::string meaning);
/// A list of numbers, empty by default.
[[nodiscard]] ParameterSchema list_parameter(std::string name, std::string unit, std::string meaning);

}  // namespace heelstrike
