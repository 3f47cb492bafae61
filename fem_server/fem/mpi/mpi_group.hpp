/// RankGroup on MPI.
#pragma once

#include <memory>

#include "fem_server/fem/rank_group.hpp"

namespace heelstrike::fem {

/// Initialises MPI: once in a process. @return null for a single rank, with which MPI has ended again
[[nodiscard]] std::unique_ptr<RankGroup> join_mpi_ranks();

}  // namespace heelstrike::fem
