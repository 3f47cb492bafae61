/// Label of a run: the contact back-ends of its pairs.
#pragma once

#include <string>

#include "scenario/scenario.hpp"

namespace heelstrike {

/// Names of the back-ends of all pairs in alphabetical order, each once, joined by '+'.
/// @param without_pairs  label of a scenario without pairs
[[nodiscard]] std::string backend_label(const Scenario& scenario, const std::string& without_pairs = "none");

}  // namespace heelstrike
