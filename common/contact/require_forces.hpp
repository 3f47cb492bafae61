/// Pairs that answer with forces, for callers that have no masses.
#pragma once

#include "common/contact/contact.hpp"

namespace heelstrike {

/// Of a pair that is asked alone, relative motion in and wrench out.
/// @throws Error{invalid_input} where the bodies are rigid: their wrench depends on the masses of the whole model, and
/// the answer would be zero at any depth
void require_forces(const PairDescription& pair);

}  // namespace heelstrike
