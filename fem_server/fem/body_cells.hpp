/// Cells of a body in deal.II and sums over them, accessed through the module of element_library.hpp.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace heelstrike::fem {

/// Contribution of one cell to sums over all cells. Row 3 a + k of its matrices belongs to local node a in direction k;
/// nodes are numbered as in VolumeMesh.
struct CellTerms {
  std::size_t cell = 0;            ///< its number; in a serial run the element number of the mesh
  std::vector<std::int64_t> dofs;  ///< global numbers of the rows
  Eigen::MatrixXd matrix;          ///< 3 n_nodes square, or n_nodes square if identical in the three directions
  Eigen::MatrixXd vectors;         ///< 3 n_nodes rows, or one value for each pressure of the cell
  Eigen::MatrixXd couplings;       ///< [m^2] 3 n_nodes rows, one column for each pressure of the cell
  double energy = 0.0;             ///< [J]
  bool valid = true;               ///< false: the law is undefined in it; the other values are then incomplete
};

/// Consumes the contribution of a cell. Called sequentially in cell order, independent of the computing thread: sums
/// have identical bits for any number of threads.
using AddCell = std::function<void(const CellTerms& terms)>;

/// Cells of a mesh on one process: dof 3 n + k is node n in direction k. Thread-safe.
class BodyCells {
 public:
  BodyCells() = default;
  BodyCells(const BodyCells&) = delete;
  BodyCells& operator=(const BodyCells&) = delete;
  virtual ~BodyCells() = default;

  /// Computes the terms of a cell whose number and dofs are set; other members hold values of a previous cell. Called
  /// concurrently.
  using Compute = std::function<void(CellTerms& terms)>;
  /// Sum over all cells by the WorkStream of deal.II.
  /// @param n_threads  maximum; 0 = the limit of deal.II, fewer for small bodies
  /// @throws the first exception of `compute` or `add`; the sum is then incomplete
  virtual void sum(const Compute& compute, const AddCell& add, unsigned n_threads = 0) const = 0;

  /// Calls work(begin, end) concurrently for parts of [0, n). @param n_threads  as in sum()
  /// @throws the exception of `work`
  virtual void parallel_for(std::size_t n, const std::function<void(std::size_t, std::size_t)>& work,
                            unsigned n_threads = 0) const = 0;
};

}  // namespace heelstrike::fem
