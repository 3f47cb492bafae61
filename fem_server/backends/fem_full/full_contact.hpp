/// Full-order reference: all degrees of freedom, neo-Hookean or linear, gaps at the deformed positions, no friction.
///
/// Newton's method on the body's equations with the contact forces of an augmented Lagrangian, f_i = max(0, lambda_i -
/// k_i g_i) n_i [alart1991]: the active set is part of the iteration, multipliers make the gaps of active nodes zero to
/// rounding whatever k_i. The partner is moved in by steps when Newton fails from the committed displacement.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/fem_condensed/body_fields.hpp"
#include "fem_server/backends/fem_condensed/body_preparation.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

class FullHistory final : public History {
 public:
  std::string backend;
  std::optional<double> approach_speed;  ///< [m/s] latched at onset; none = not in contact
  Eigen::VectorXd u;                     ///< [m] displacement at the commit; empty = undeformed
  Eigen::VectorXd lambda;                ///< [N] of all contact nodes; empty = none

  [[nodiscard]] std::string save() const override;
};

class FullContact final : public ContactBackend {
 public:
  /// @throws Error{invalid_input} for inertia relief, friction, no clamp
  FullContact(std::string name, PreparedBody prepared, MaterialLaw law, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  /// Evaluations of several threads wait for each other: they share the memory of the factor.
  [[nodiscard]] Response evaluate(const History& history, const PairState& state) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] ParameterMap parameters() const override { return parameters_; }
  /// Cauchy stresses of the law in force.
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

 private:
  struct Solution;
  [[nodiscard]] Solution solve(const FullHistory& history, const PairState& state) const;
  /// Newton with all gaps enlarged by `offset` [m]. @return whether it converged
  [[nodiscard]] bool newton(const PairState& state, double offset, Solution& solution) const;
  void load_in_steps(const PairState& state, Solution& solution) const;
  void differentiate(const PairState& state, Solution& solution) const;
  [[nodiscard]] Response respond(const Solution& solution, const std::optional<double>& approach_speed,
                                 const PairState& state) const;
  [[nodiscard]] SurfacePoint surface_at(const PairState& state, const Vector3& p_AQ) const;

  std::string name_;
  PreparedBody prepared_;
  MaterialLaw law_;
  ParameterMap parameters_;
  std::vector<bool> fixed_;
  std::vector<double> penalty_;  ///< [N/m] k_i
  std::unique_ptr<const BodyFields> fields_;
  mutable std::mutex mutex_;  ///< guards the two below; their content does not outlive an evaluation
  mutable SparseMatrix tangent_;
  mutable std::unique_ptr<SparseCholesky> factor_;
};

}  // namespace heelstrike::fem
