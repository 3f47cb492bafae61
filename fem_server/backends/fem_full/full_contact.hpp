/// Full-order reference: all degrees of freedom, neo-Hookean or linear material, gaps and slip at the deformed
/// positions, Coulomb friction with the same history as fem_condensed, clamped or in free flight.
///
/// Newton's method on the body's equations with the contact forces of an augmented Lagrangian, f_i = max(0, lambda_i -
/// k_i g_i) n_i [alart1991]: the active set is part of the iteration; the multipliers reduce the gaps of active nodes
/// to rounding for any k_i.
///
/// With friction these iterations cycle between stick and slip, so contact and elasticity alternate: a Newton step of
/// the body without contact forces, then the frictional contact of the linear body with the compliance of that step's
/// matrix, solved as in fem_condensed at the deformed positions. The matrix is that of the undeformed body until the
/// steps converge too slowly, then the current one. For a linear body the first step is exact. The tangents follow from
/// the augmented Lagrangian; their matrix is not symmetric, and their systems are solved by GMRES with the symmetric
/// part as preconditioner.
///
/// If there is no convergence from the committed displacement, the indentation is applied in load steps.
///
/// History variables of a relaxing material are part of the history. A body with residual deformation is solved without
/// contact, too: its gap is that of the deformed surface.
///
/// With a condensed linear interior, the solved body is the layer around it: fem_layered.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backends/fem_full/body_system.hpp"
#include "fem_server/backends/fem_full/condensed_interior.hpp"
#include "fem_server/backends/fem_full/full_friction.hpp"
#include "fem_server/backends/fem_full/full_steps.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/neo_hookean.hpp"

namespace heelstrike::fem {

class FullContact final : public ContactBackend {
 public:
  /// @param initial_compliance  of the contact nodes of the undeformed body, needed with friction; empty = computed
  ///                            here
  /// @param stop             checked between stages
  /// @param interior         behind the body, which is then its layer(); null = none
  /// @throws Error{invalid_input} without support (names the six free motions); Error{cancelled} when stopped
  FullContact(std::string name, PreparedBody prepared, MaterialLaws laws, ParameterMap parameters,
              SurfaceCompliance initial_compliance = {}, const std::stop_token& stop = {},
              std::shared_ptr<const CondensedInterior> interior = nullptr);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  /// Evaluations are serialised over threads: they share the memory of the factor.
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  /// Cauchy stresses of the laws in force.
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

 private:
  struct Solution;
  struct Linearised;
  /// Node of the mesh and a 3x3 matrix on the diagonal.
  using NodeMatrices = std::vector<std::pair<std::uint32_t, Matrix3>>;
  [[nodiscard]] Solution solve(const FullHistory& history, const PairState& state) const;
  /// Newton's method with all gaps enlarged by `offset` [m]. @return true if converged
  [[nodiscard]] bool newton(const PairState& state, double offset, Solution& solution) const;
  /// History variables of a material after a commit, and the energy dissipated since the last one, including the
  /// remaining energy of a released body; without contact, the gap of the deformed body.
  void update_history(const FullHistory& history, const PairState& state, Solution& solution) const;
  /// [m] effect of rounding on the solution of the body.
  [[nodiscard]] double rounding() const;
  /// As newton, with friction. @return true if converged
  [[nodiscard]] bool solve_with_friction(const PairState& state, double offset, Solution& solution) const;
  /// Contact of the linear body with displacement `u_free` without contact forces: sets lambda and tau.
  /// @return their load [N], n_dofs
  [[nodiscard]] Eigen::VectorXd solve_frictional_contact(const PairState& state, double offset,
                                                         const SurfaceCompliance& compliance,
                                                         const Eigen::VectorXd& u_free, Solution& solution) const;
  /// newton or solve_with_friction; at offset 0, system_ then contains the matrix of the tangents.
  [[nodiscard]] bool equilibrium(const PairState& state, double offset, Solution& solution) const;
  /// Memory of all stored factors.
  [[nodiscard]] MemoryNeed memory_need() const;
  /// Factorises tangent_ in system_. @return false when it is not positive definite
  [[nodiscard]] bool factorize() const;
  /// Body and interior; their matrix is assembled in tangent_.
  [[nodiscard]] BodyEquations equations_at(const Eigen::VectorXd& u, const BodyHistoryVariables& memory) const;
  /// @return false when an element is inside out
  [[nodiscard]] bool linearise(const PairState& state, double offset, Solution& solution, Linearised& now) const;
  /// Displacements and multipliers after a Newton step.
  void advance(const Linearised& now, const Eigen::VectorXd& step, Solution& solution) const;
  /// Solves (tangent_ + rest) x = rhs with the factor of tangent_.
  [[nodiscard]] Eigen::MatrixXd solve_system(const NodeMatrices& rest, const Eigen::MatrixXd& rhs,
                                             double accuracy) const;
  /// Contact node c at the current displacement.
  [[nodiscard]] FullNode node_at(const PairState& state, const Solution& solution, std::size_t c, double offset) const;
  /// Slip of a sliding contact node since the commit.
  [[nodiscard]] SlipStep slip_of(const FullHistory& history, const PairState& state, const Solution& solution,
                                 std::uint32_t c, const FullNodeForce& force) const;
  void find_stick_points(const FullHistory& history, const PairState& state, Solution& solution) const;
  [[nodiscard]] Eigen::VectorXd stick_points_after(const Solution& solution, const PairState& state) const;
  void solve_in_load_steps(const PairState& state, Solution& solution) const;
  void differentiate(const PairState& state, Solution& solution) const;
  [[nodiscard]] Response make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                       const PairState& state) const;

  std::string name_;
  PreparedBody prepared_;
  MaterialLaws laws_;
  std::shared_ptr<const CondensedInterior> interior_;  ///< null = none
  std::vector<double> penalty_;                        ///< [N/m] k_i
  std::unique_ptr<const BodyFields> fields_;
  SurfaceCompliance initial_compliance_;        ///< of the undeformed body; empty without friction
  std::unique_ptr<BodySystem> initial_system_;  ///< the same matrix, factored; null without friction
  mutable std::mutex mutex_;                    ///< guards the next two members; their content is valid within an
                                                ///< evaluation only
  mutable SparseMatrix tangent_;
  mutable std::unique_ptr<BodySystem> system_;
};

}  // namespace heelstrike::fem
