/// A straight impact with one degree of freedom, integrated through a Session as a multibody code would: evaluations
/// within a step, one commit per accepted step, onset and separation committed at their roots.
#pragma once

#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem::testing_support {

struct ImpactSetup {
  double mass = 0.0;       ///< [kg] equivalent mass
  double speed = 0.0;      ///< [m/s] approach velocity at onset
  double load = 0.0;       ///< [N] constant force that closes the gap
  double touch = 0.0;      ///< [m] distance of the origins at onset, along A's z axis
  double time_step = 0.0;  ///< [s]
};

struct ImpactResult {
  double max_depth = 0.0;            ///< [m]
  double max_force = 0.0;            ///< [N]
  double depth_at_max_force = 0.0;   ///< [m]
  double compression_time = 0.0;     ///< [s]
  double contact_time = 0.0;         ///< [s]
  double separation_velocity = 0.0;  ///< [m/s] > 0
  double dissipated = 0.0;           ///< [J] integral of the dissipated power
  std::int64_t last_step = 0;
};

/// B starts above A at p_AB = (0, 0, touch) and moves along -z.
[[nodiscard]] ImpactResult run_impact(Session& session, const ImpactSetup& setup);

/// The state of the pair with the gap `opening` [m] (negative: penetration) and the approach velocity `closing` [m/s].
[[nodiscard]] PairState straight_state(double t, double touch, double opening, double closing);

}  // namespace heelstrike::fem::testing_support
