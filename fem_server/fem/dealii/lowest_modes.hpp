/// Eigenvalue solver by ARPACK through deal.II.
#pragma once

#include "fem_server/fem/element_library.hpp"

namespace heelstrike::fem {

/// ElementLibrary::lowest_modes inside the module.
[[nodiscard]] Eigenpairs arpack_lowest_modes(const EigenProblem& problem);

}  // namespace heelstrike::fem
