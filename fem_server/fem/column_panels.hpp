/// Columns of a matrix that belong to nodes, a panel at a time.
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace heelstrike::fem {

/// Calls visit(first, width) for panels of 64 nodes, or 192 columns, in ascending order. Triangular solves with that
/// many right-hand sides run at the speed of matrix products; beyond, only what a panel needs beside the result grows,
/// and the time until a stop is noticed.
template <class Visit>
void for_each_panel(Eigen::Index n_nodes, Visit visit) {
  constexpr Eigen::Index panel_nodes = 64;
  for (Eigen::Index first = 0; first < n_nodes; first += panel_nodes) {
    visit(first, std::min(panel_nodes, n_nodes - first));
  }
}

}  // namespace heelstrike::fem
