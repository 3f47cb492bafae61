/// Numbers that a scenario gives, as fixed parameters of its unit, by the dotted keys of the file.
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

/// Every number that the text gives, alone ("bodies.ball.mass") or in a list of up to nine ("bodies.ball.position[3]",
/// counted from 1), in the order of the text. Not those of force elements and of parameters of contacts, which have
/// tables of their own, nor what the standard says itself: the end of the run, and its rows.
/// @param below  dotted key that they begin with, "contact.ball-ground."; empty = any
[[nodiscard]] std::vector<FmuVariable> scenario_numbers(std::string_view yaml, const std::string& file_name,
                                                         const Catalog& catalog, std::string_view below);

/// Assignments "key=value" that give parameters their values: lists as a whole, with the entries that have not been set
/// as they start. @param values  by reference
[[nodiscard]] std::vector<std::string> assignments(const std::vector<FmuVariable>& variables,
                                                   const std::map<std::uint32_t, double>& values);

}  // namespace heelstrike::fmu
