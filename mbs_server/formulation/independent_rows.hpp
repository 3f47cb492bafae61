/// Which rows of a sparse matrix do not depend on earlier ones.
#pragma once

#include <stop_token>
#include <vector>

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Rows of `A` whose distance to the span of the rows kept before them is at least 1e-9, increasing: of several
/// equivalent constraints the first in the file stays.
///
/// Householder's method on A^T, column by column in the given order, with sparse reflections of which each maps what is
/// left of its row to the largest entry of it. (A QR that puts the pivots on the diagonal fills the factors: the pivot
/// of a row would belong to another body.) A row meets only the reflections that it shares an entry with, so that the
/// cost is linear in the number of separate bodies, and quadratic in the length of a chain.
/// @throws Error{cancelled} when stopped
[[nodiscard]] std::vector<int> independent_rows(const SparseMatrix& A, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
