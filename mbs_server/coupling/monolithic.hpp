/// The monolithic scheme: the partner is evaluated inside the integrator's iterations, with its tangent in the Newton
/// matrix, and committed at every accepted step.
#pragma once

#include "mbs_server/coupling/coupling_scheme.hpp"

namespace heelstrike::mbs {

/// An open pair exerts no force at all, so that free flight stays smooth and costs no contact evaluation; its gap is
/// watched as a root, and the pair is closed exactly there. A closed pair acts until its gap has a root upwards.
[[nodiscard]] CouplingSchemeEntry monolithic();

}  // namespace heelstrike::mbs
