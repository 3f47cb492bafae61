/// One of two bodies solved in all degrees of freedom: its elastic equations, preconditioned by a matrix.
///
/// With the internal forces f(u) and a matrix K of the body without contact, a load r changes its displacement from u
/// to
///
///     u - K^-1 f(u) + K^-1 r
///
/// which is exact for a linear body; the fixed point f(u) = r is exact for any body and any K. K is that of the
/// undeformed body unless assemble_matrix_at() replaces it.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "fem_server/backends/fem_full/body_system.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"
#include "fem_server/fem/neo_hookean.hpp"

namespace heelstrike::fem {

/// Components of a FullBody.
struct FullBodyParts {
  std::shared_ptr<const BodyFields> fields;  ///< contains the body and its contact nodes
  Support support;
  MaterialLaws laws;
  SurfaceCompliance compliance;  ///< of the contact nodes of the undeformed body
  MemoryLimit max_memory{};
};

/// Not thread-safe.
class FullBody {
 public:
  /// @param stop  checked between stages
  /// @throws Error{invalid_input} for an insufficient support; Error{limit} for more memory than allowed;
  /// Error{cancelled} when stopped
  FullBody(FullBodyParts parts, const std::stop_token& stop);

  [[nodiscard]] const BodyFields& fields() const { return *parts_.fields; }
  [[nodiscard]] const BodyModel& body() const { return parts_.fields->body(); }
  [[nodiscard]] const MaterialLaws& laws() const { return parts_.laws; }
  [[nodiscard]] std::span<const std::uint32_t> contact_nodes() const { return parts_.fields->contact().nodes; }
  [[nodiscard]] Eigen::VectorXd initial_displacements() const {
    return Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body().n_dofs()));
  }

  struct Step {
    Eigen::VectorXd u;    ///< [m] u - K^-1 f(u)
    double energy = 0.0;  ///< [J] stored at u
  };
  /// @return none when an element is inside out
  [[nodiscard]] std::optional<Step> solve_unloaded(const Eigen::VectorXd& u, const BodyHistoryVariables& memory);
  /// K^-1 r [m]. @param loads  [N] r, n_dofs x n
  [[nodiscard]] Eigen::MatrixXd solve_displacements(const Eigen::MatrixXd& loads) const {
    return system().solve(loads);
  }
  /// One step from du towards f'(u) du = r, with u of the last call with a displacement: exact when K is f'(u).
  [[nodiscard]] Eigen::VectorXd towards(const Eigen::VectorXd& load, const Eigen::VectorXd& du) const {
    return du + system().solve(load - tangent_ * du);
  }
  /// [m] mean of contact nodes
  [[nodiscard]] Vector3 mean(std::span<const WeightedNodes::Entry> weights, const Eigen::VectorXd& u) const;
  /// Compliance by K of points that move with contact nodes, in axes rotated by R.
  [[nodiscard]] SurfaceCompliance compliance_in_frame(const WeightedNodes& places, const Matrix3& R);

  /// Memory of the stored factors.
  [[nodiscard]] MemoryNeed memory_need() const;

  void use_initial_matrix() { is_current_ = false; }
  /// Sets K at u. If it is not positive definite (a free body under pressure, without its contact), the initial matrix
  /// is used.
  /// @return true if K has changed
  bool assemble_matrix_at(const Eigen::VectorXd& u, const BodyHistoryVariables& memory);

 private:
  [[nodiscard]] const BodySystem& system() const { return is_current_ ? *current_system_ : *initial_system_; }

  FullBodyParts parts_;
  std::unique_ptr<BodySystem> initial_system_;
  std::unique_ptr<BodySystem> current_system_;  ///< null for a linear body
  SparseMatrix tangent_;                        ///< last assembled matrix
  bool is_current_ = false;                     ///< K is the current one
  /// Contact nodes whose compliance by the current K has been requested; ascending.
  std::vector<std::uint32_t> compliance_nodes_;
  SurfaceCompliance contact_compliance_;
};

}  // namespace heelstrike::fem
