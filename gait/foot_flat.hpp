/// Frames of a walking trial in which a foot is flat at rest on the ground: they replace a static trial.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "gait/marker_file.hpp"
#include "scenario/marker_motion.hpp"

namespace heelstrike {

struct FootFlatFrames {
  /// The markers of the foot in these frames, brought to one place: turned about the vertical until the line from heel
  /// to toe tip has one direction, and moved in the ground until its middle is at the origin. Heights are unchanged.
  MarkerTrial standing;
  std::vector<std::pair<double, double>> intervals;  ///< [s] first and last frame of each stance phase
  double pitch_deviation = 0.0;  ///< [rad] standard deviation, over the frames, of the slope from heel to toe tip
  double roll_deviation = 0.0;   ///< [rad] the same of the line between the ends of the metatarsophalangeal axis
};

/// A foot is flat at rest where all markers of heel, toe tip and metatarsophalangeal axis move by less than 0.05 m/s
/// against the ground (difference over 1/30 s), for at least 0.08 s, with the heel within 3 mm of its lowest position
/// among these frames: later the heel rises slowly while the speed is still small.
/// @param walking  in world axes
/// @param up               unit vector of the world, against gravity
/// @param ground_velocity  [m/s] in the world
/// @throws Error{invalid_input} for unknown markers, and when there is no such frame (a treadmill without its speed)
[[nodiscard]] FootFlatFrames foot_flat_frames(const MarkerTrial& walking, const FootMarkers& markers, const Vector3& up,
                                              const Vector3& ground_velocity);

}  // namespace heelstrike
