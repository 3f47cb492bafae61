/// The six rigid-body constraints of every body, eliminated in closed form.
///
/// The saddle systems of the formulation are
///
///   [ W      Phi' ] {x     }   {b}
///   [ Phi^    0   ] {lambda} = {c}
///
/// where the first six rows per body of Phi and Phi^ are the orthonormality of V = [v1 v2 v3], written at q and at q^:
/// V'X + X'V = Gamma for the 3x3 matrix X of the changes of v1, v2, v3. Its solutions are
///
///   X = 1/2 V^-T Gamma  +  theta x V      for every theta
///
/// because v_i.(theta x v_j) + v_j.(theta x v_i) = 0 for any three vectors: the null space of the rigid-body rows is
/// the rigid motion (theta, r), exactly and without orthonormal V. In these 6 instead of 12 + 6 unknowns per body the
/// mass matrix becomes the body's Newton-Euler block, and only the rows of joints remain as constraints. Small systems
/// are factored densely with partial pivoting, large ones by sparse LU. Cost and memory are linear in the number of
/// bodies if joints and forces connect neighbours.
#pragma once

#include <array>
#include <vector>

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/sparse_matrix.hpp"

namespace heelstrike::mbs {

/// Values of the six rigid-body rows, in the order of rigid_body_constraint().
using RigidRows = Eigen::Matrix<double, 6, 1>;

/// V'V - 1 of one body.
[[nodiscard]] RigidRows rigid_residual(const ConstSegment& q);
/// V'X + X'V: the Jacobian at `q` times `x`.
[[nodiscard]] RigidRows rigid_jacobian_times(const ConstSegment& q, const ConstSegment& x);

/// The multipliers l of one rigid body as a matrix: Phi' l = Lambda (x) I3 q, so that -(Phi' l)_q = -Lambda (x) I3.
[[nodiscard]] Matrix4 rigid_multiplier_matrix(const RigidRows& l);

class RigidElimination {
 public:
  RigidElimination() = default;
  RigidElimination(int n_bodies, int n_joint_rows);

  /// Begins the system with W = mass (x) I3 body by body and the rigid-body rows at `q` (columns of multipliers) and
  /// `q_hat` (rows of constraints).
  void begin(const std::vector<Matrix4>& mass, const ConstVector& q, const ConstVector& q_hat);
  /// W += scale * A. `A` is read again by solve() and must not change before.
  void add(const SparseMatrix& A, double scale);
  /// The rows of joints: Phi of the multipliers, and the sum of scale * A for Phi^. Read again by solve().
  void add_joint_columns(const SparseMatrix& Phi_q);
  void add_joint_rows(const SparseMatrix& A, double scale);
  /// Puts -damping on the diagonal of the joints' rows (Tikhonov), for poses where they are dependent.
  void add_joint_damping(double damping);
  /// @returns false when the system is numerically singular
  [[nodiscard]] bool factor();

  /// Solves in place: `b` becomes x; `c` (rigid-body rows of all bodies, then those of joints) becomes lambda when
  /// `with_multipliers`, otherwise its rigid-body rows are undefined. @pre factor() returned true
  void solve(Eigen::Ref<VectorX> b, Eigen::Ref<VectorX> c, bool with_multipliers);

  /// See SparseLu::reset_factorisation.
  void reset_factorisation() { sparse_lu_.reset_factorisation(); }

 private:
  static constexpr int max_dense_unknowns = 24;  ///< [unknowns] above, KLU is faster
  using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_dense_unknowns, max_dense_unknowns>;
  struct Scaled {
    const SparseMatrix* matrix;
    double scale;
  };
  struct BodyFrames {
    Matrix3 V, V_hat;  ///< columns v_k
    Matrix3 V_inverse, V_hat_inverse;
  };
  void add_newton_euler(std::size_t body);
  void multiply(const ConstVector& x, Eigen::Ref<VectorX> y) const;
  void solve_reduced();

  int n_bodies_ = 0;
  int n_joint_rows_ = 0;
  std::vector<Matrix4> mass_;
  std::vector<BodyFrames> frames_;
  std::vector<Scaled> added_, joint_rows_;
  const SparseMatrix* joint_columns_ = nullptr;
  SparseAssembler reduced_;
  SparseLu sparse_lu_;
  Eigen::PartialPivLU<Dense> dense_lu_;
  VectorX particular_, product_, reduced_rhs_;
};

}  // namespace heelstrike::mbs
