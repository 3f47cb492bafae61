/// Converts the lines of a scenario to paths between the bodies of a model.
#pragma once

#include <vector>

#include "mbs_server/formulation/moving_path.hpp"
#include "scenario/line_paths.hpp"

namespace heelstrike::mbs {

/// Bodies of a model in the form that config::read_lines() requires: names and poses.
[[nodiscard]] std::vector<BodySpec> body_specs(const Model& model);
/// Rejects unknown joint coordinates in the keys of a line.
void check_path_coordinates(const config::LineSpec& line, const Scenario& scenario);
/// @throws Error{invalid_input} for an unknown body
[[nodiscard]] std::vector<MovingPoint> path_points(const config::LineSpec& line, const Model& model);
/// Length at the initial poses [m]. @throws Error{invalid_input} with the line's name where the path is undefined
[[nodiscard]] double initial_length(const config::LineSpec& line, const Model& model);

}  // namespace heelstrike::mbs
