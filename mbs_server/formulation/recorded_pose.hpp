/// Recorded poses of bodies with two derivatives.
#pragma once

#include <array>

#include "common/motion/body_record.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike::mbs {

using Jet3 = std::array<Jet, 3>;

struct PoseJets {
  Jet3 origin;               ///< [m] in the world
  std::array<Jet3, 3> axes;  ///< the unit vectors of the body in the world
};

/// @param record  null = ground
[[nodiscard]] PoseJets recorded_pose(const BodyRecord* record, double t);
/// World components of a point with body coordinates `p_BP` [m] and of a direction with components `u_B`.
[[nodiscard]] Jet3 recorded_point(const BodyRecord* record, double t, const Vector3& p_BP);
[[nodiscard]] Jet3 recorded_direction(const BodyRecord* record, double t, const Vector3& u_B);

[[nodiscard]] Jet dot(const Jet3& a, const Jet3& b);
[[nodiscard]] Jet3 operator-(const Jet3& a, const Jet3& b);

}  // namespace heelstrike::mbs
