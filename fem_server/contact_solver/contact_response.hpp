/// From a solved contact to what the multibody side is told, and what a commit latches. Shared by fem_condensed and
/// fem_full.
#pragma once

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

/// A solved contact; `nodes` is empty when there is none.
struct ContactSolution {
  double gap = 0.0;                     ///< [m] smallest, of the undeformed shapes; of an old dent when nothing touches
  ContactNodeState closest;                 ///< candidate with that gap, undeformed
  std::vector<std::uint32_t> touching;  ///< candidates that touch, ascending
  std::vector<ContactNodeState> nodes;      ///< the same
  NodeDerivatives derivatives;
  double dissipated = 0.0;  ///< [J] by friction, and by the material, since the commit
  double slip_speed = 0.0;  ///< [m/s] as of Response, of the commit before
  SolverStatistics statistics;
};

/// @throws RecoverableError when the undeformed shapes overlap by more than the limit
void check_depth(const ContactSolution& solved, const ContactOptions& options, const PairState& state);

/// Response but for the stored energy of other things than displaced forces.
/// @param recovery        of the pressure, for these candidates; empty = forces by areas
/// @param regions         of these candidates, whose loads are told; the same number of loads in any case
/// @param approach_velocity  [m/s] latched at onset; none = not in contact
[[nodiscard]] Response answer(const ContactSolution& solved, const ContactOptions& options,
                              const PressureRecovery& recovery, std::span<const ContactRegion> regions,
                              const std::optional<double>& approach_velocity, const PairState& state);

/// [m/s] Response::slip_speed once the solved state is committed.
[[nodiscard]] double slip_speed_after(const ContactSolution& solved, const ContactOptions& options,
                                      const PairState& state);

/// Approach speed in force after a commit: latched at onset, cleared at separation.
[[nodiscard]] std::optional<double> latched_speed(const ContactSolution& solved, const ContactOptions& options,
                                                  const std::optional<double>& before, const PairState& state);

/// Factor of the hysteresis on the force of each touching node, for pictures.
[[nodiscard]] std::vector<double> hysteresis_factors(const ContactSolution& solved, const ContactOptions& options,
                                                     const std::optional<double>& approach_velocity,
                                                     const PairState& state);

/// @param recovery       not empty
/// @param normal_forces  [N] one per touching node
[[nodiscard]] RecoveredPressure recovered_pressure(const ContactSolution& solved, const PressureRecovery& recovery,
                                                   std::span<const double> normal_forces);

}  // namespace heelstrike::fem
