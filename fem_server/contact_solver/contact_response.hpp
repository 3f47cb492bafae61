/// Response and latched approach velocity from a solved contact. Shared by fem_condensed and fem_full.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/fem/pressure_recovery.hpp"

namespace heelstrike::fem {

/// A solved contact; `nodes` is empty without contact.
struct ContactSolution {
  double gap = 0.0;                     ///< [m] smallest, of the undeformed shapes; without contact, of a residual
                                        ///< deformation
  ContactNodeState closest;             ///< candidate with that gap, undeformed
  std::vector<std::uint32_t> touching;  ///< active candidates, ascending
  std::vector<ContactNodeState> nodes;  ///< the same
  NodeDerivatives derivatives;
  double dissipated = 0.0;  ///< [J] by friction and material, since the commit
  double slip_speed = 0.0;  ///< [m/s] see Response, of the previous commit
  SolverStatistics statistics;

  /// Takes this point as the closest one if its gap is smaller than the smallest so far.
  void update_closest(const Vector3& x, const SurfacePoint& surface) {
    if (surface.gap >= gap) return;
    gap = surface.gap;
    closest.x = x;
    closest.surface = surface;
  }
};

/// @throws RecoverableError when the undeformed shapes overlap by more than the limit
void check_depth(const ContactSolution& solved, const ContactOptions& options, const PairState& state);

/// Response except the stored energy not due to displaced forces.
/// @param recovery        of the pressure, for these candidates; empty = forces by areas
/// @param regions         of these candidates, whose loads are reported; the number of loads is constant
/// @param approach_velocity  [m/s] latched at onset; none = no contact
[[nodiscard]] Response solved_response(const ContactSolution& solved, const ContactOptions& options,
                                       const PressureRecovery& recovery, std::span<const ContactRegion> regions,
                                       const std::optional<double>& approach_velocity, const PairState& state);

/// [m/s] Response::slip_speed once the solved state is committed.
[[nodiscard]] double slip_speed_after(const ContactSolution& solved, const ContactOptions& options,
                                      const PairState& state);

/// Approach velocity in force after a commit: latched at onset, cleared at separation.
[[nodiscard]] std::optional<double> latched_speed(const ContactSolution& solved, const ContactOptions& options,
                                                  const std::optional<double>& before, const PairState& state);

/// Factor of the hysteresis on the force of each active node, for field output.
[[nodiscard]] std::vector<double> hysteresis_factors(const ContactSolution& solved, const ContactOptions& options,
                                                     const std::optional<double>& approach_velocity,
                                                     const PairState& state);

/// Forces [N] of the active nodes, one row each: normal force and components of the force.
/// @param factors  [-] of the hysteresis, one per node
[[nodiscard]] Eigen::MatrixXd active_loads(const ContactSolution& solved, std::span<const double> factors);

/// @param recovery       not empty
/// @param normal_forces  [N] one per active node
[[nodiscard]] RecoveredPressure recovered_pressure(const ContactSolution& solved, const PressureRecovery& recovery,
                                                   std::span<const double> normal_forces);

}  // namespace heelstrike::fem
