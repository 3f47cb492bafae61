/// Check for pairs that return forces, for callers without masses.
#pragma once

#include "common/contact/contact.hpp"

namespace heelstrike {

/// For a pair that is evaluated alone, by relative motion.
/// @throws Error{invalid_input} for rigid bodies: their wrench depends on the masses of the whole model, and the result
/// would be zero at any penetration
void require_forces(const PairDescription& pair);

}  // namespace heelstrike
