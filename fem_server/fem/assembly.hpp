/// What cells and pressures add to the matrices and vectors of a body.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Adds the matrix of a cell. @param matrix  its pattern holds that of sparsity_pattern(body)
void add_matrix(const CellTerms& terms, SparseMatrix& matrix);

/// Adds the vectors of a cell. @param sums  n_dofs x as many as the cell has
void add_vectors(const CellTerms& terms, Eigen::Ref<Eigen::MatrixXd> sums);

/// What the elimination of nodal pressures adds to the stiffness of a mixed body: lambda / V_a b_a b_a^T with the sum
/// b_a of their cells' couplings. Nothing in other bodies.
class NodalPressures {
 public:
  explicit NodalPressures(const BodyModel& body);
  /// The couplings of a cell.
  void add(const CellTerms& terms);
  /// When all cells have been added. @param n_threads  as BodyCells::sum
  void add_stiffness(SparseMatrix& matrix, unsigned n_threads) const;

 private:
  const BodyModel& body_;
  std::vector<Eigen::Matrix3Xd> couplings_;  ///< [m^2] of each pressure, columns as its nodes
};

}  // namespace heelstrike::fem
