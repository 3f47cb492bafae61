/// Panel-wise processing of the matrix columns of nodes.
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace heelstrike::fem {

/// Calls visit(first, width) for panels of 64 nodes, or 192 columns, in ascending order. Triangular solves with this
/// number of right-hand sides reach the speed of matrix products; wider panels only increase the workspace and the
/// latency of a stop request.
template <class Visit>
void for_each_panel(Eigen::Index n_nodes, Visit visit) {
  constexpr Eigen::Index panel_nodes = 64;
  for (Eigen::Index first = 0; first < n_nodes; first += panel_nodes) {
    visit(first, std::min(panel_nodes, n_nodes - first));
  }
}

}  // namespace heelstrike::fem
