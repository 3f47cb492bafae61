/// Full-order reference: all degrees of freedom, neo-Hookean or linear, gaps and slip at the deformed
/// positions, Coulomb friction with the same history as fem_condensed, clamped or in free flight.
///
/// Newton's method on the body's equations with the contact forces of an augmented Lagrangian, f_i = max(0, lambda_i -
/// k_i g_i) n_i [alart1991]: the active set is part of the iteration, multipliers make the gaps of active nodes zero to
/// rounding whatever k_i.
///
/// With friction these iterations cycle between sticking and sliding, so contact and elasticity take turns: a Newton
/// step of the body without contact forces, then the frictional contact of the linear body with the compliance of that
/// step's matrix, solved as in fem_condensed at the deformed positions. The matrix is that of
/// the undeformed body until the steps shrink too slowly, then that at hand. For a linear body the first step is exact.
/// The tangents come from the augmented Lagrangian; their matrix is not symmetric, and their systems are solved by
/// GMRES with the symmetric part as preconditioner.
///
/// The partner is moved in by steps when there is no convergence from the committed displacement.
///
/// A material that relaxes has its memory in the history. A body that has not recovered yet is then solved for without
/// contact, too: its gap is that of the dented surface.
///
/// With a condensed linear interior the body solved for is the layer around it: fem_layered.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/backends/fem_full/body_system.hpp"
#include "fem_server/backends/fem_full/condensed_interior.hpp"
#include "fem_server/backends/fem_full/full_friction.hpp"
#include "fem_server/backends/fem_full/full_history.hpp"
#include "fem_server/backend_interface/slip_work.hpp"
#include "fem_server/fem/neo_hookean.hpp"

namespace heelstrike::fem {

class FullContact final : public ContactBackend {
 public:
  /// @param initial_compliance  of the contact nodes of the undeformed body, needed with friction; empty = computed here
  /// @param stop             checked between stages
  /// @param interior         behind the body, which then is its layer(); null = none
  /// @throws Error{invalid_input} without support (names the six free motions); Error{cancelled} when stopped
  FullContact(std::string name, PreparedBody prepared, MaterialLaws laws, ParameterMap parameters,
              SurfaceCompliance initial_compliance = {}, const std::stop_token& stop = {},
              std::shared_ptr<const CondensedInterior> interior = nullptr);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  /// Evaluations of several threads wait for each other: they share the memory of the factor.
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
  /// Newton with all gaps enlarged by `offset` [m]. @return whether it converged
  [[nodiscard]] bool newton(const PairState& state, double offset, Solution& solution) const;
  /// What a commit of a material with a memory would keep, and what has been turned into heat since the last one, with
  /// what is left in a body that has been released; without contact the gap of the body as it is.
  void update_history(const FullHistory& history, const PairState& state, Solution& solution) const;
  /// [m] by which rounding moves the solution of the body.
  [[nodiscard]] double rounding() const;
  /// As newton, with friction. @return whether it converged
  [[nodiscard]] bool solve_with_friction(const PairState& state, double offset, Solution& solution) const;
  /// Contact of the linear body that is displaced by `u_free` without contact forces: sets lambda and tau.
  /// @return their load [N], n_dofs
  [[nodiscard]] Eigen::VectorXd solve_frictional_contact(const PairState& state, double offset, const SurfaceCompliance& compliance,
                                    const Eigen::VectorXd& u_free, Solution& solution) const;
  /// newton or solve_with_friction; at offset 0 system_ then holds the matrix of the tangents.
  [[nodiscard]] bool equilibrium(const PairState& state, double offset, Solution& solution) const;
  /// Of all factors that it keeps.
  [[nodiscard]] MemoryNeed memory_need() const;
  /// tangent_ by system_. @return false when it is not positive definite
  [[nodiscard]] bool factorize() const;
  /// Body and interior; their matrix is left in tangent_.
  [[nodiscard]] BodyEquations equations_at(const Eigen::VectorXd& u, const BodyHistoryVariables& memory) const;
  /// @return false when an element is inside out
  [[nodiscard]] bool linearise(const PairState& state, double offset, Solution& solution, Linearised& now) const;
  /// Displacements and multipliers after a Newton step.
  void advance(const Linearised& now, const Eigen::VectorXd& step, Solution& solution) const;
  /// Solves (tangent_ + rest) x = rhs with the factor of tangent_.
  [[nodiscard]] Eigen::MatrixXd solve_system(const NodeMatrices& rest, const Eigen::MatrixXd& rhs,
                                             double accuracy) const;
  /// Contact node c at the present displacement.
  [[nodiscard]] FullNode node_at(const PairState& state, const Solution& solution, std::size_t c, double offset) const;
  /// Of a sliding contact node since the commit.
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
  mutable std::mutex mutex_;                 ///< guards the two below; their content does not outlive an evaluation
  mutable SparseMatrix tangent_;
  mutable std::unique_ptr<BodySystem> system_;
};

}  // namespace heelstrike::fem
