/// Foot template of the static trial: markers in segment frames, foot flat, sole on the ground.
///
/// Check that a force plate and the markers of a foot agree in time and position.
#pragma once

#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"
#include "scenario/marker_motion.hpp"

namespace heelstrike {

/// Frames in the static trial, with parallel axes: x forward (heel to toe tip, in the ground plane), z up, y to the
/// left.
///   H  hindfoot, origin at the mean of the `origin` markers
///   T  toes, origin in the middle of the metatarsophalangeal axis; rotates about that axis. Markers lie on top of the
///      foot, the joint inside: rotation about the markers would drag the toes forward while the heel rises
///      (docs/theory/gait.md, section 4).
struct FootTemplate {
  FootMarkers markers;
  std::vector<Vector3> hindfoot_H;       ///< [m] mean positions, in the order of markers.hindfoot
  std::vector<Vector3> stand_in_H = {};  ///< [m] in the order of markers.stand_in
  Vector3 toe_tip_H = Vector3::Zero();   ///< [m]
  Vector3 toe_axis_H = Vector3::Zero();  ///< unit vector; positive rotation lifts the toe tip (extension)
  Vector3 p_HT = Vector3::Zero();        ///< [m] middle of the metatarsophalangeal axis
  Pose X_WH;                             ///< in the static trial
  double length = 0.0;                   ///< [m] heel to toe tip
  double sway = 0.0;                     ///< [m] largest standard deviation of a marker over the trial
};

/// @param standing  static trial in world axes
/// @param up        unit vector of the world, against gravity
/// @throws Error{invalid_input} for unknown markers, markers never seen, a length outside of 0.1 to 0.45 m (units), a
/// foot on a wall or upside down (axes), a foot that is not flat (heel to toe tip more than 15 degrees from
///         the ground), or moves by more than 10 mm
[[nodiscard]] FootTemplate make_foot_template(const MarkerTrial& standing, const FootMarkers& markers,
                                              const Vector3& up);

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
