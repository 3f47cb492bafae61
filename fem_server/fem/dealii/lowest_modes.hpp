/// Eigenvalue problems by ARPACK, through deal.II.
#pragma once

#include "fem_server/fem/element_library.hpp"

namespace heelstrike::fem {

/// ElementLibrary::lowest_modes on this side of the module's border.
[[nodiscard]] Eigenpairs arpack_lowest_modes(const EigenProblem& problem);

}  // namespace heelstrike::fem
