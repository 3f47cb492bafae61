/// Conversion of the marker recordings of a scenario to the motions of its drivers.
#pragma once

#include "gait/motion_columns.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {

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
