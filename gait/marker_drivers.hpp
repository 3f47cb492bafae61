/// From the markers of a scenario to what its drivers follow.
#pragma once

#include "scenario/scenario.hpp"
#include "gait/motion_columns.hpp"

namespace heelstrike {

/// Reads every recording of `scenario` and gives each driver with the key `follow` its record of poses, and the body it
/// drives the initial pose and twist of it. What was found (ground velocity, glitches, gaps, body mass) goes into
/// `scenario.notes`.
/// @throws Error{invalid_input} "file:line: key: ..." as the readers, make_foot_template, track_foot, find_ground_speed
///         and check_synchrony say, and when the trial does not cover the run
void read_marker_motions(Scenario& scenario, const FileContent& content_of);

/// What a body follows of a recording, "MOTION.FOOT.SEGMENT" or "MOTION.ground": itself, or, a foot with mass that is
/// tied to its path, the body that it starts with. Empty = nothing.
[[nodiscard]] std::string followed_segment(const Scenario& scenario, const std::string& body);

}  // namespace heelstrike
