/// The explicit schemes: one exchange per macro step, and no iteration.
#pragma once

#include "mbs_server/coupling/coupling_scheme.hpp"

namespace heelstrike::mbs {

/// The partner is evaluated at the state that the bodies have reached; its response acts in the next macro step.
[[nodiscard]] CouplingSchemeEntry gauss_seidel();
/// Partner and bodies advance through a macro step in parallel: the partner is evaluated at a state predicted at its
/// start. Its forces differ from those of gauss_seidel by the error of the prediction.
[[nodiscard]] CouplingSchemeEntry jacobi();

}  // namespace heelstrike::mbs
