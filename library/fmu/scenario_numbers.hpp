/// Numbers of a scenario as fixed parameters of its FMU, named by the dotted keys of the file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "library/fmu/fmu_content.hpp"

namespace heelstrike {
struct Catalog;
}

namespace heelstrike::fmu {

/// Every number in the text, a scalar ("bodies.ball.mass") or an entry of a list of up to nine
/// ("bodies.ball.position[3]", counted from 1), in the order of the text. Numbers of force elements and contact
/// parameters are excluded because they have their own tables; the end time and the output interval are excluded
/// because the standard sets them.
/// @param below  dotted key prefix, "contact.ball-ground."; empty = any
[[nodiscard]] std::vector<FmuVariable> scenario_numbers(std::string_view yaml, const std::string& file_name,
                                                        const Catalog& catalog, std::string_view below);

/// Assignments "key=value" that set parameters: lists are set as a whole; entries that have not been set keep their
/// start values. @param values  by reference
[[nodiscard]] std::vector<std::string> assignments(const std::vector<FmuVariable>& variables,
                                                   const std::map<std::uint32_t, double>& values);

}  // namespace heelstrike::fmu
