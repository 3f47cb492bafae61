/// Velocity of the ground under the feet (treadmill), determined from flat feet.
#pragma once

#include <span>

#include "gait/foot_motion.hpp"

namespace heelstrike {

struct GroundSpeed {
  Vector3 velocity = Vector3::Zero();  ///< [m/s] in the world, no component along `up`
  double deviation = 0.0;              ///< [m/s] root mean square distance of the slopes from the velocity
  std::size_t n_slopes = 0;            ///< line fits: markers times intervals with the foot flat
};

/// A foot is flat while the sole is within 5 degrees of the static trial, the toes within 5 degrees, and the origin
/// within 10 mm of its height there; such intervals of at least 0.2 s are used. In the middle half of each, the slope
/// of a straight line through the horizontal positions of every hindfoot marker that is not an outlier is one
/// measurement; the median over the intervals identifies stances (a foot that swings flat moves in the opposite
/// direction), and the mean of those within 0.2 m/s of it is the velocity.
/// @param trial    in world axes
/// @param feet    templates; @param motions of that trial, one per template
/// @throws Error{invalid_input} when no foot is flat long enough
[[nodiscard]] GroundSpeed find_ground_speed(const MarkerTrial& trial, std::span<const FootTemplate> feet,
                                            std::span<const FootMotion> motions, const Vector3& up);

}  // namespace heelstrike
