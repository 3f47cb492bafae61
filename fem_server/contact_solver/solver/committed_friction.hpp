/// Start of evaluations of frictional contact near a committed state.
///
/// A pose near the committed one has nearly the same active nodes, and the compliance is constant: the matrix B and its
/// inverse B_0^-1 on the nodes that carried force are used for all of them. Newton's matrix J = S B + E differs from B
/// only in the rows of nodes that slide or have lost their force, so with P these rows, X = B_0^-1 P, and
/// V = (S - I) B + E there
///
///     J^-1 r  =  y - X (I + V X)^-1 V y,    y = B_0^-1 r,    I + V X = S + E X,    V y = (S - I) r + E y
///
/// (Sherman, Morrison, Woodbury; B X = P): a system of two rows per sliding node instead of three per active one.
/// Nodes that became active since the commit are treated by the outer iteration. All data derive from the committed
/// state alone, so a response does not depend on previous evaluations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/contact_solver/kernels/local_compliance.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Axes of a node in contact with a partner: columns normal, tangent 1, tangent 2, in A.
/// @param R_AB    of the partner: the tangents rotate with it
/// @param normal  in A
[[nodiscard]] Matrix3 contact_axes(const Matrix3& R_AB, const Vector3& normal);

/// A node that was in contact, or close to it, at a commit.
struct CommittedContactNode {
  Matrix3 axes = Matrix3::Identity();  ///< see contact_axes
  Vector3 force = Vector3::Zero();     ///< [N] on A, in A; zero without contact
};

struct NodeLinearisation;

class CommittedFriction {
 public:
  /// @param blocks  among the nodes; not stored
  CommittedFriction(const SurfaceCompliance& blocks, std::span<const CommittedContactNode> nodes);

  /// In the committed axes of all nodes.
  [[nodiscard]] const LocalCompliance& B() const { return B_; }
  [[nodiscard]] const std::vector<Matrix3>& axes() const { return axes_; }
  /// False when B is too ill-conditioned for an inverse in single precision.
  [[nodiscard]] bool valid() const { return valid_; }

  /// Maximum number of active nodes at the commit: a larger inverse costs more time than it saves.
  static constexpr std::size_t max_active = 300;

 private:
  friend class CommittedInverse;

  std::vector<Matrix3> axes_;
  LocalCompliance B_;
  std::vector<std::int32_t> place_;  // of a node in the inverse, -1 = absent
  Eigen::MatrixXf inverse_;          // [N/m]
  bool valid_ = false;
};

/// J^-1 for one linearisation of the nodes, in single precision.
class CommittedInverse {
 public:
  /// @param committed  outlives this
  /// @param nodes      one for each of its nodes, in its axes
  CommittedInverse(const CommittedFriction& committed, const std::vector<NodeLinearisation>& nodes);

  /// x ~ J^-1 r; zero at inactive nodes, whose r is not read. @param r  three rows per node
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& r) const;

 private:
  /// Rows of J that differ from those of B.
  struct ChangedNode {
    std::uint32_t node = 0;
    Eigen::Index first = 0;         ///< row of the node in the inverse
    Eigen::Index at = 0;            ///< first of its rows in the capacitance matrix
    Eigen::Index n_rows = 0;        ///< two if it slides, three if it has lost its force; the last ones
    Eigen::Matrix3f S_minus_one{};  ///< for rows without force: S = 0,
    Eigen::Matrix3f E{};            ///< E = 1
  };

  const CommittedFriction& committed_;
  const std::vector<NodeLinearisation>& nodes_;
  std::vector<ChangedNode> changed_;
  Eigen::MatrixXf X_;     // columns of the inverse
  SingleLu capacitance_;  // S + E X
  bool valid_ = true;
};

}  // namespace heelstrike::fem
