/// Check that a force plate and the markers of a foot agree in time and position.
#pragma once

#include "gait/foot_template.hpp"
#include "gait/force_plate.hpp"

namespace heelstrike {

/// Share of the loaded samples (force above 100 N) whose centre of pressure lies under the foot: between heel and toe
/// tip along the line that joins them (2 % of its length beyond either end counts), and at most 80 mm beside it.
struct Synchrony {
  std::size_t n_samples = 0;
  double share = 0.0;            ///< [-] as recorded
  double best_time_shift = 0.0;  ///< [s] added to the plate's times for the maximum fraction, within 0.3 s: the
                                 ///< midpoint of all maximisers
  double best_fraction = 0.0;    ///< [-] at that shift
};

[[nodiscard]] Synchrony synchrony(const MarkerTrial& trial, const FootMarkers& foot, const ForcePlate& plate,
                                  const Vector3& up);

/// @throws Error{invalid_input} when less than 85 % of the samples lie under the foot, with the time shift that would
/// correct it
void check_synchrony(const MarkerTrial& trial, const FootMarkers& foot, const ForcePlate& plate, const Vector3& up);

}  // namespace heelstrike
