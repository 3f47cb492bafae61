/// Sparse LU factorisation by KLU [davis2010] in docs/references.bib: column ordering once, partial pivoting every
/// time.
#pragma once

#include <Eigen/Core>
#include <memory>

#include "mbs_server/formulation/sparse_assembler.hpp"

namespace heelstrike::mbs {

class SparseLu {
 public:
  SparseLu();
  ~SparseLu();
  SparseLu(const SparseLu&) = delete;
  SparseLu& operator=(const SparseLu&) = delete;
  SparseLu(SparseLu&&) noexcept;
  SparseLu& operator=(SparseLu&&) noexcept;

  /// Factors `A` (square, compressed). All matrices must have the pattern of the first call.
  /// @returns false when A is numerically singular or has an entry that is not finite
  [[nodiscard]] bool factor(const SparseMatrix& A);

  /// Discards the pivots, so that the next factorisation is independent of earlier ones. Called at restarts: a resumed
  /// run is then bitwise equal to the uninterrupted run.
  void reset_factorisation();

  /// Solves A x = b in place. @pre factor() returned true
  void solve(Eigen::Ref<Eigen::VectorXd> b) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heelstrike::mbs
