/// Selection of linearly independent rows of a sparse matrix.
#pragma once

#include <stop_token>
#include <vector>

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Rows of `A` whose distance to the span of the rows kept before them is at least 1e-9, increasing: of several
/// equivalent constraints the first in the file stays.
///
/// Householder's method on A^T, column by column in the given order, with sparse reflections, each of which maps the
/// remainder of its row to its largest entry. (A QR with pivots on the diagonal causes fill-in: the pivot of a row
/// would belong to another body.) Only reflections that share an entry with a row are applied to it, so that the cost
/// is linear in the number of separate bodies and quadratic in the length of a chain.
/// @throws Error{cancelled} when stopped
[[nodiscard]] std::vector<int> independent_rows(const SparseMatrix& A, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
