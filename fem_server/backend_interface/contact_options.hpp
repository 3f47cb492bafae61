/// Constants of the contact law of a finite-element body.
#pragma once

namespace heelstrike::fem {

struct ContactOptions {
  double friction = 0.0;                ///< [-] Coulomb coefficient >= 0
  double hysteresis_factor = 0.0;       ///< [-] H >= 0 of the pressure factor 1 + H rate / v0
  double min_approach_velocity = 1e-3;  ///< [m/s] > 0, lower bound of v0
  double max_penetration = 0.0;         ///< [m] > 0, maximum overlap of the undeformed shapes that is solved
  /// [Pa/m^2] quadratic penalty: pressure = penalty * penetration^2; 0 = no penetration. Without friction only.
  double penalty = 0.0;
};

}  // namespace heelstrike::fem
