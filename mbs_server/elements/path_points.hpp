/// From the lines of a scenario to paths between the bodies of a model.
#pragma once

#include <vector>

#include "scenario/line_paths.hpp"
#include "mbs_server/formulation/moving_path.hpp"

namespace heelstrike::mbs {

/// Bodies of a model as config::read_lines() asks for them: names and poses.
[[nodiscard]] std::vector<BodySpec> body_specs(const Model& model);
/// Refuses coordinates that no joint has, in the keys of a line.
void check_path_coordinates(const config::LineSpec& line, const Scenario& scenario);
/// @throws Error{invalid_input} for a body that the model has not
[[nodiscard]] std::vector<MovingPoint> path_points(const config::LineSpec& line, const Model& model);
/// Length at the initial poses [m]. @throws Error{invalid_input} where the path has none, with the line's name
[[nodiscard]] double initial_length(const config::LineSpec& line, const Model& model);

}  // namespace heelstrike::mbs
