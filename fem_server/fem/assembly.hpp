/// Assembly of the contributions of cells and pressures to the matrices and vectors of a body.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Adds the matrix of a cell. @param matrix  its pattern contains that of sparsity_pattern(body)
void add_matrix(const CellTerms& terms, SparseMatrix& matrix);

/// Adds the vectors of a cell. @param sums  n_dofs rows, as many columns as the cell vectors
void add_vectors(const CellTerms& terms, Eigen::Ref<Eigen::MatrixXd> sums);

/// Contribution of eliminated nodal pressures to the stiffness of a mixed body: lambda / V_a b_a b_a^T, where b_a is
/// the sum of the couplings of the adjacent cells. Zero in other bodies.
class NodalPressures {
 public:
  /// @param own  pressures that contribute, of a body that is a share of another one; null = all
  explicit NodalPressures(const BodyModel& body, const std::vector<bool>* own = nullptr);
  /// Adds the couplings of a cell.
  void add(const CellTerms& terms);
  /// @pre all cells have been added @param n_threads  as BodyCells::sum
  void add_stiffness(SparseMatrix& matrix, unsigned n_threads) const;

 private:
  const BodyModel& body_;
  const std::vector<bool>* own_;
  std::vector<Eigen::Matrix3Xd> couplings_;  ///< [m^2] per pressure, one column per node
};

}  // namespace heelstrike::fem
