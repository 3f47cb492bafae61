/// Pose samples as a smooth function of time for a driver.
///
/// Conversion of the marker recordings of a scenario to the motions of its drivers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/motion/body_record.hpp"
#include "common/spatial/spatial.hpp"
#include "gait/foot_loads.hpp"
#include "gait/force_plate.hpp"
#include "gait/motion_columns.hpp"
#include "scenario/scenario.hpp"

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

/// The steps on plates and the loads of the feet of one recording, as its run uses them.
struct RecordedLoads {
  std::vector<PlateStep> steps;    ///< of all plates when a foot has `plate: auto`; otherwise empty
  std::vector<ForcePlate> plates;  ///< of every foot with a plate, in the order of the feet, named by
                                   ///< FootSpec::columns; axes and time base of the files
};

/// Horizontal force on every foot that the motion of the whole body requires, named by the foot, in the axes and time
/// base of the files; contacts are measured where the foot has plates.
/// @throws Error{invalid_input} as read_marker_motions
[[nodiscard]] std::vector<ForcePlate> shear_from_motion(const MarkerMotionSpec& spec, const Vector3& gravity,
                                                        double end_time, const FileContent& content_of);

/// True if no contact pair of these bodies has friction: the normal contact then does not depend on the shear.
[[nodiscard]] bool is_frictionless(const Scenario& scenario, const std::vector<std::string>& bodies);

/// @param end_time  [s] of the run
/// @throws Error{invalid_input} as read_marker_motions
[[nodiscard]] RecordedLoads recorded_loads(const MarkerMotionSpec& spec, const Vector3& gravity, double end_time,
                                           const FileContent& content_of);

/// Reads every recording of `scenario` and sets the pose record of each driver with the key `follow`, and the initial
/// pose and twist of the driven body. Findings (ground velocity, outliers, gaps, body mass) are added to
/// `scenario.notes`.
/// @throws Error{invalid_input} "file:line: key: ..." for errors of the readers, make_foot_template, track_foot,
/// find_ground_speed and check_synchrony, and when the trial does not cover the run
void read_marker_motions(Scenario& scenario, const FileContent& content_of);

/// Segment of a recording that a body follows, "MOTION.FOOT.SEGMENT" or "MOTION.ground": by its driver or, for a foot
/// with mass that is attached to its path, by the driver of the body it starts with. Empty = none.
[[nodiscard]] std::string followed_segment(const Scenario& scenario, const std::string& body);

}  // namespace heelstrike
