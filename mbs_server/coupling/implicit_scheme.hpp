/// The implicit scheme: the forces of a macro step agree with the partner's response to the motion under them.
#pragma once

#include "mbs_server/coupling/coupling_scheme.hpp"

namespace heelstrike::mbs {

/// Iterates on trial motions and pure evaluations; the partner commits once per macro step, as for explicit schemes.
[[nodiscard]] CouplingSchemeEntry implicit();

}  // namespace heelstrike::mbs
