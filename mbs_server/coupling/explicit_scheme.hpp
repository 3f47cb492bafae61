/// The explicit schemes: one exchange per macro step, and no iteration.
#pragma once

#include "mbs_server/coupling/coupling_scheme.hpp"

namespace heelstrike::mbs {

/// The partner answers the state that the bodies have reached; what it answered acts in the next macro step.
[[nodiscard]] CouplingSchemeEntry gauss_seidel();
/// Partner and bodies go through a macro step side by side: the partner answers a state that was predicted at its
/// start. Its forces are older than those of gauss_seidel by the error of the prediction.
[[nodiscard]] CouplingSchemeEntry jacobi();

}  // namespace heelstrike::mbs
