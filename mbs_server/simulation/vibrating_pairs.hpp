/// Checks for vibrating bodies that an analysis does not support, from descriptions of pairs, which may be predicted
/// before the pairs are opened.
#pragma once

#include <span>

#include "common/contact/contact.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// For equilibria, in which vibrations do not decay. @throws Error{invalid_input} with the pair
void check_no_vibrating_pairs(std::span<const PairDescription> pairs);

/// For integrated motion. @param pairs  one for each pair of the scenario
/// @throws Error{invalid_input} if a body vibrates about a clamp that moves with the body
void check_fixed_supports(const Scenario& scenario, std::span<const PairDescription> pairs);

}  // namespace heelstrike::mbs
