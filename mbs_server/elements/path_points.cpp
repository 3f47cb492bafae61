#include "mbs_server/elements/path_points.hpp"

#include "common/errors/error.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {
std::vector<BodySpec> body_specs(const Model& model) {
  std::vector<BodySpec> bodies;
  for (const auto& body : model.bodies) bodies.push_back({.name = body.name, .X_WB = body.X_WB, .V_WB = {}});
  return bodies;
}

std::vector<PathPoint> path_points(const config::LineSpec& line, const Model& model) {
  std::vector<PathPoint> points;
  const std::string& where = line.keys.path();
  for (const auto& spec : line.points) {
    PathPoint point{.body = find_body(model, spec.body, where), .p_BP = spec.point, .wrap = {}};
    if (spec.wrap) {
      point.wrap = {
          .body = find_body(model, spec.wrap->body, where), .X_BS = spec.wrap->X_BS, .shape = spec.wrap->shape};
    }
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
    LinePath(path_points(line, model)).at(q, false, length);
  } catch (const RecoverableError& error) {
    throw input_error(line.keys.path(), line.keys.path() + ": at the initial poses " + error.what());
  }
  return length.length;
}

}  // namespace heelstrike::mbs
