#include "mbs_server/elements/path_points.hpp"

#include "common/errors/error.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/joint_reference.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {

std::vector<BodySpec> body_specs(const Model& model) {
  std::vector<BodySpec> bodies;
  for (const auto& body : model.bodies) bodies.push_back({.name = body.name, .X_WB = body.X_WB, .V_WB = {}});
  return bodies;
}

void check_path_coordinates(const config::LineSpec& line, const Scenario& scenario) {
  for (const auto& point : line.points) {
    if (!point.within.empty()) read_coordinate_name(line.keys["path"], point.within, scenario);
    for (const auto& move : point.moves) {
      if (move.f) read_coordinate_name(line.keys["path"], move.coordinate, scenario);
    }
  }
}

std::vector<MovingPoint> path_points(const config::LineSpec& line, const Model& model) {
  std::vector<MovingPoint> points;
  const std::string& where = line.keys.path();
  const auto coordinate = [&](const std::string& name, ScalarFunctionPtr f) {
    const CoordinateReference found = find_coordinate(model, name);
    return JointFunction{found.joint->map, found.coordinate, std::move(f)};
  };
  for (const auto& spec : line.points) {
    MovingPoint point{.point = {.body = find_body(model, spec.body, where), .p_BP = spec.point, .wrap = {}}};
    if (spec.wrap) {
      point.point.wrap = {
          .body = find_body(model, spec.wrap->body, where), .X_BS = spec.wrap->X_BS, .shape = spec.wrap->shape};
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (spec.moves[k].f) point.moves[k] = coordinate(spec.moves[k].coordinate, spec.moves[k].f);
    }
    if (!spec.within.empty()) point.within = coordinate(spec.within, nullptr);
    point.range = spec.range;
    points.push_back(std::move(point));
  }
  return points;
}

double initial_length(const config::LineSpec& line, const Model& model) {
  VectorX q(static_cast<Eigen::Index>(coordinates_per_body * model.bodies.size()));
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    q.segment<coordinates_per_body>(static_cast<Eigen::Index>(coordinates_per_body * i)) =
        coordinates_from_pose(model.bodies[i].X_WB);
  }
  PathLength length;
  try {
    MovingPath(path_points(line, model)).at(q, false, length);
  } catch (const RecoverableError& error) {
    throw input_error(line.keys.path(), line.keys.path() + ": at the initial poses " + error.what());
  }
  return length.length;
}

}  // namespace heelstrike::mbs
