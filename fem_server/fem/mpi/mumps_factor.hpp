/// DistributedCholesky on MUMPS.
#pragma once

#include <memory>

#include "fem_server/fem/rank_group.hpp"

namespace heelstrike::fem {

/// On all ranks of MPI_COMM_WORLD; collective.
[[nodiscard]] std::unique_ptr<DistributedCholesky> make_mumps_factor();

}  // namespace heelstrike::fem
