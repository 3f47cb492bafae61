/// Bodies that vibrate, where that cannot be had. Told of descriptions of pairs, which may be foretold before they are
/// opened.
#pragma once

#include <span>

#include "common/contact/contact.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Of equilibria: vibrations begin at every change and end in none. @throws Error{invalid_input} with the pair
void check_no_vibrating_pairs(std::span<const PairDescription> pairs);

/// Of a motion that is integrated. @param pairs  one for each of the scenario's
/// @throws Error{invalid_input} where a body vibrates about a clamp that moves with the body itself
void check_fixed_supports(const Scenario& scenario, std::span<const PairDescription> pairs);

}  // namespace heelstrike::mbs
