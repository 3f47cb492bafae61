/// The monolithic scheme: the partner is evaluated inside the integrator's iterations, with its tangent in the Newton
/// matrix, and committed at every accepted step.
#pragma once

#include "mbs_server/coupling/coupling_scheme.hpp"

namespace heelstrike::mbs {

/// An open pair exerts no force, so that free flight is smooth and needs no contact evaluation; the pair closes at a
/// root of its gap. A closed pair acts until its gap has a rising root.
[[nodiscard]] CouplingSchemeEntry monolithic();

}  // namespace heelstrike::mbs
