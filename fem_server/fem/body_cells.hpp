/// The cells of a body as deal.II holds them, and sums over them. Reached through the module of element_library.hpp.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace heelstrike::fem {

/// What one cell adds to sums over all of them. Row 3 a + k of its matrices belongs to its node a in direction k; nodes
/// are numbered as in VolumeMesh.
struct CellTerms {
  std::size_t cell = 0;            ///< its number: of the element of the mesh, where one process has them all
  std::vector<std::int64_t> dofs;  ///< global numbers of the rows
  Eigen::MatrixXd matrix;          ///< 3 n_nodes square, or n_nodes of what is alike in the three directions
  Eigen::MatrixXd vectors;         ///< 3 n_nodes rows, or a number for each pressure of the cell
  Eigen::MatrixXd couplings;       ///< [m^2] 3 n_nodes rows, one column for each pressure of the cell
  double energy = 0.0;             ///< [J]
  bool valid = true;               ///< false: the law has no value in it; the rest is then incomplete
};

/// Hands on what a cell adds. Called for one cell after the other, in their order, whoever computed them: sums have the
/// same bits for any number of threads.
using AddCell = std::function<void(const CellTerms& terms)>;

/// Of a mesh on one process: dof 3 n + k is node n in direction k. Thread-safe.
class BodyCells {
 public:
  BodyCells() = default;
  BodyCells(const BodyCells&) = delete;
  BodyCells& operator=(const BodyCells&) = delete;
  virtual ~BodyCells() = default;

  /// Computes the terms of a cell, whose number and dofs are set; what else is in them is of another cell. Called for
  /// several cells at once.
  using Compute = std::function<void(CellTerms& terms)>;
  /// The sum over all cells, by deal.II's WorkStream.
  /// @param n_threads  at most; 0 = as many as deal.II may have, fewer for small bodies
  /// @throws what `compute` or `add` throws first; the sum is then of a part
  virtual void sum(const Compute& compute, const AddCell& add, unsigned n_threads = 0) const = 0;

  /// Calls work(begin, end) for parts of 0 to n, several at once. @param n_threads  as in sum()
  /// @throws what `work` throws
  virtual void parallel_for(std::size_t n, const std::function<void(std::size_t, std::size_t)>& work,
                         unsigned n_threads = 0) const = 0;
};

}  // namespace heelstrike::fem
