/// What evaluations of frictional contact near a committed state start from.
///
/// A pose near the committed one has nearly the same active nodes, and the compliance is always the same: the matrix B
/// and its inverse B_0^-1 on the nodes that carried force serve all of them. Newton's matrix J = S B + E differs from B
/// in the rows of nodes that slide or have lost their force alone, so with P these rows, X = B_0^-1 P, and V = (S - I)
/// B
/// + E there
///
///     J^-1 r  =  y - X (I + V X)^-1 V y,    y = B_0^-1 r,    I + V X = S + E X,    V y = (S - I) r + E y
///
/// (Sherman, Morrison, Woodbury; B X = P): a system of two rows per sliding node instead of three per active one.
/// Nodes that have joined since the commit are left to the iteration around. All is made of the committed state alone,
/// so an answer does not depend on what was asked before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/contact_solver/kernels/local_compliance.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Axes of a node that touches a partner: columns normal, tangent 1, tangent 2, in A.
/// @param R_AB    of the partner: the tangents turn with it
/// @param normal  in A
[[nodiscard]] Matrix3 contact_axes(const Matrix3& R_AB, const Vector3& normal);

/// A node that touched, or nearly did, at a commit.
struct CommittedContactNode {
  Matrix3 axes = Matrix3::Identity();  ///< see contact_axes
  Vector3 force = Vector3::Zero();     ///< [N] on A, in A; zero where it did not touch
};

struct NodeLinearisation;

class CommittedFriction {
 public:
  /// @param blocks  among the nodes; not kept
  CommittedFriction(const SurfaceCompliance& blocks, std::span<const CommittedContactNode> nodes);

  /// In the committed axes of all nodes.
  [[nodiscard]] const LocalCompliance& B() const { return B_; }
  [[nodiscard]] const std::vector<Matrix3>& axes() const { return axes_; }
  /// False when B is too near to a singular matrix for an inverse in single precision.
  [[nodiscard]] bool valid() const { return valid_; }

  /// Nodes that may have carried force at the commit: the inverse of more would take longer than what it saves.
  static constexpr std::size_t max_active = 300;

 private:
  friend class CommittedInverse;

  std::vector<Matrix3> axes_;
  LocalCompliance B_;
  std::vector<std::int32_t> place_;  // of a node in the inverse, -1 = not there
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
  /// Rows of J that are not those of B.
  struct ChangedNode {
    std::uint32_t node = 0;
    Eigen::Index first = 0;         ///< row of the node in the inverse
    Eigen::Index at = 0;            ///< first of its rows in the capacitance matrix
    Eigen::Index n_rows = 0;        ///< two where it slides, three where it has lost its force; the last ones
    Eigen::Matrix3f S_minus_one{};  ///< as J would be without force: S = 0,
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
