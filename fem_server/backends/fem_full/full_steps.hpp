/// Steps of the full-order contact: its history between accepted steps, and load steps within one.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/fem/neo_hookean.hpp"

namespace heelstrike::fem {

/// Of one deformable body.
struct FullHistory final : SavedHistory<FullHistory> {
  static constexpr std::string_view format = "heelstrike full history 3";

  Eigen::VectorXd u;               ///< [m] displacement at the commit; empty = undeformed
  Eigen::VectorXd lambda;          ///< [N] of all contact nodes; empty = none
  Eigen::VectorXd tau;             ///< [N] tangential, 3 per contact node; empty = none
  Eigen::VectorXd p_BStickPoints;  ///< [m] potential stick points on B, 3 per contact node; empty = none
  std::optional<Pose> X_AB;        ///< committed pose; none = no commit yet
  std::optional<double> t;         ///< [s] of the commit; none = no commit yet
  Eigen::VectorXd memory;          ///< BodyHistoryVariables of a relaxing material; empty = always at rest

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.u, self.lambda, self.tau, self.p_BStickPoints, self.X_AB, self.t, self.memory);
  }
};

/// The same for two deformable bodies. The committed displacements define the previous position of either body, so that
/// friction needs no stick points.
struct FullBodiesHistory final : SavedHistory<FullBodiesHistory> {
  static constexpr std::string_view format = "heelstrike full bodies history 2";

  Eigen::VectorXd u_A;                  ///< [m] displacements at the commit; empty = undeformed
  Eigen::VectorXd u_B;                  ///< [m] in B's axes; empty as u_A
  Eigen::VectorXd lambda;               ///< [N] of all contact nodes of A; empty as u_A
  Eigen::VectorXd tau;                  ///< [N] tangential, 3 per contact node of A; empty = none
  std::optional<Pose> X_AB;             ///< committed pose; none = no commit yet
  std::optional<double> t;              ///< [s] of the commit; none = no commit yet
  Eigen::VectorXd history_variables_A;  ///< BodyHistoryVariables of a relaxing body; empty = always at rest
  Eigen::VectorXd history_variables_B;

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.u_A, self.u_B, self.lambda, self.tau, self.X_AB, self.t, self.history_variables_A,
            self.history_variables_B);
  }
};

/// History variables of a material at a commit. Refers to `values`.
/// @param committed_at  [s] none = never
/// @param t             [s] of the solved state
/// @throws Error{invalid_input} for a time before the commit
[[nodiscard]] BodyHistoryVariables history_variables_at(const std::string& backend, const Eigen::VectorXd& values,
                                                        const std::optional<double>& committed_at, double t);

/// Load stepping of the indentation when no equilibrium is found directly: tries 4, 8, ... 32 equal steps until all of
/// them converge.
/// @param backend      name for the message
/// @param depth        [m] overlap of the undeformed bodies
/// @param equilibrium  solves with all gaps enlarged by `offset` [m], starting from the result of the previous step, or
///                     from the undeformed body if `restart` is set; returns true if converged
/// @throws RecoverableError  if none of these numbers of steps succeeds
void solve_in_load_steps(std::string_view backend, double depth,
                         const std::function<bool(double offset, bool restart)>& equilibrium);

}  // namespace heelstrike::fem
