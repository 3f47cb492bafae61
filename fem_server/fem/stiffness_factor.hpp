/// Inverse of the stiffness of a supported body, factorised by this process or by several ranks.
#pragma once

#include <Eigen/Core>

namespace heelstrike::fem {

class StiffnessFactor {
 public:
  StiffnessFactor() = default;
  StiffnessFactor(const StiffnessFactor&) = delete;
  StiffnessFactor& operator=(const StiffnessFactor&) = delete;
  virtual ~StiffnessFactor() = default;

  /// Solves for all dofs of the body; fixed ones are zero. @param rhs  n_dofs x n, entries of fixed dofs are ignored
  [[nodiscard]] virtual Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const = 0;
  /// Rows `first` to the last of columns `first` to `first + n` of the inverse, in the order of the dofs that were
  /// given to the factor.
  [[nodiscard]] virtual Eigen::MatrixXd lower_columns(Eigen::Index first, Eigen::Index n) const = 0;
};

}  // namespace heelstrike::fem
