/// Pose samples as a smooth function of time for a driver.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/motion/body_record.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Natural quintic splines through positions and unit quaternions.
/// @param times  [s] at least three, strictly increasing
/// @param poses  of the body in the world, one per time
[[nodiscard]] BodyRecordPtr make_body_record(const std::string& body, const std::vector<double>& times,
                                             std::span<const Pose> poses);

/// Pose X_WB of the record, its quaternion normalised.
[[nodiscard]] Pose pose_at(const BodyRecord& record, double t);
/// Twist V_WB: exact derivative of pose_at.
[[nodiscard]] Twist twist_at(const BodyRecord& record, double t);

}  // namespace heelstrike
