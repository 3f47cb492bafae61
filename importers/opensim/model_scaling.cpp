#include "importers/opensim/model_scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::osim {
namespace {

void scale(Function& function, double factor) {
  function.constant *= factor;
  for (Function::Term& term : function.terms) {
    Function::Term scaled = term.times(factor);
    scaled.coordinate = std::move(term.coordinate);
    term = std::move(scaled);
  }
}

/// The translation is this coordinate itself.
bool equals_coordinate(const Axis& axis) {
  return !axis.coordinate().empty() && axis.slope() == 1.0 && axis.function.constant == 0.0 &&
         axis.function.terms[0].f->at(0.0).f == 0.0;
}

/// [m] Polygon through the points at the default values of the coordinates.
double length_of(const Line& line, const Model& model, std::map<std::string, Pose>& poses) {
  double length = 0.0;
  std::optional<Vector3> last;
  for (const PathPoint& point : line.points) {
    if (point.type == "ConditionalPathPoint") {
      const Joint* joint = joint_with(model, point.coordinate);
      const double value = joint == nullptr ? 0.0 : coordinate_of(*joint, point.coordinate)->value;
      if (value < point.range[0] || value > point.range[1]) continue;
    }
    const std::string& body = point.at.body;
    if (!poses.contains(body)) poses[body] = default_pose(model, body);
    Vector3 p_B = point.at.X_BF.p;
    if (point.type == "MovingPathPoint") {
      Vector3 moved;
      for (std::size_t k = 0; k < 3; ++k) moved[static_cast<Eigen::Index>(k)] = value_of(point.location[k], model);
      p_B = point.at.X_BF * moved;
    }
    const Vector3 p = poses[body] * p_B;
    if (last) length += (p - *last).norm();
    last = p;
  }
  return length;
}

std::vector<double> lengths_of_lines(const Model& model) {
  std::map<std::string, Pose> poses;
  std::vector<double> lengths;
  for (const Line& line : model.lines) lengths.push_back(length_of(line, model, poses));
  return lengths;
}

double distance_of(const PointConstraint& constraint, const Model& model) {
  return (default_pose(model, constraint.a.body) * constraint.a.X_BF.p -
          default_pose(model, constraint.b.body) * constraint.b.X_BF.p)
      .norm();
}

class Scaling {
 public:
  Scaling(Model& model, const std::map<std::string, double>& factors) : model_(model), factors_(factors) {
    for (const auto& [name, factor] : factors) {
      if (std::ranges::find(model.bodies, name, &Body::name) == model.bodies.end()) {
        throw input_error("scale",
                          fmt::format("expected names of bodies of the model ({}), found '{}'",
                                      fmt::join(model.bodies | std::views::transform(&Body::name), ", "), name));
      }
      if (!std::isfinite(factor) || factor <= 0.0) {
        throw input_error("scale", fmt::format("{}: expected a factor > 0, found {}", name, factor));
      }
    }
    // The body that a scapulothoracic joint adds moves with the thorax.
    for (const Joint& joint : model.joints) {
      if (joint.type == "EllipsoidJoint" && joint.name == joint.child.body) {
        factors_.try_emplace(joint.child.body, of(joint.parent.body));
      }
    }
  }

  void apply() {
    const std::vector<double> before = lengths_of_lines(model_);
    std::vector<double> distances;
    for (const PointConstraint& constraint : model_.constraints) distances.push_back(distance_of(constraint, model_));
    scale_couplers();
    scale_translational_forces();
    scale_bodies();
    scale_joints();
    for (Line& line : model_.lines) {
      for (PathPoint& point : line.points) {
        shift(point.at);
        for (Function& location : point.location) scale(location, of(point.at.body));
      }
    }
    for (std::size_t i = 0; i < model_.constraints.size(); ++i) {
      PointConstraint& constraint = model_.constraints[i];
      shift(constraint.a);
      shift(constraint.b);
      if (distances[i] > 0.0) constraint.distance *= distance_of(constraint, model_) / distances[i];
    }
    const std::vector<double> after = lengths_of_lines(model_);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] > 0.0) stretch(model_.lines[i], after[i] / before[i]);
    }
  }

 private:
  [[nodiscard]] double of(const std::string& body) const {
    const auto found = factors_.find(body);
    return found == factors_.end() ? 1.0 : found->second;
  }
  void shift(Frame& frame) const { frame.X_BF.p *= of(frame.body); }

  /// Factor of the values of a coordinate that is a translation; none for others.
  [[nodiscard]] std::optional<double> factor_of_coordinate(const std::string& name) const {
    const Joint* joint = joint_with(model_, name);
    if (joint == nullptr) return std::nullopt;
    const bool shifts = std::any_of(joint->axes.begin() + 3, joint->axes.end(), [&](const Axis& axis) {
      return axis.coordinate() == name && equals_coordinate(axis);
    });
    return shifts ? std::optional(of(joint->parent.body)) : std::nullopt;
  }

  void scale_couplers() {
    for (Coupler& coupler : model_.couplers) {
      for (const Function::Term& term : coupler.function.terms) {
        if (factor_of_coordinate(term.coordinate).value_or(1.0) == 1.0) continue;
        throw input_error("scale", fmt::format("coordinate {} follows the translation {} ({}), which is not "
                                               "supported for a scaled body; leave {} unscaled",
                                               coupler.coordinate, term.coordinate, coupler.name,
                                               joint_with(model_, term.coordinate)->parent.body));
      }
      if (const auto factor = factor_of_coordinate(coupler.coordinate)) scale(coupler.function, *factor);
    }
  }

  void scale_translational_forces() {
    for (CoordinateSpring& spring : model_.springs)
      spring.rest *= factor_of_coordinate(spring.coordinate).value_or(1.0);
    for (CoordinateLimit& limit : model_.limits) {
      const double factor = factor_of_coordinate(limit.coordinate).value_or(1.0);
      for (double* length : {&limit.upper, &limit.lower, &limit.transition}) *length *= factor;
    }
  }

  void scale_bodies() {
    for (Body& body : model_.bodies) {
      const double factor = of(body.name);
      body.center_of_mass *= factor;
      body.mass *= std::pow(factor, 3);
      body.inertia *= std::pow(factor, 5);
    }
    for (WrapObject& wrap : model_.wraps) {
      const double factor = of(wrap.body);
      wrap.X_BS.p *= factor;
      wrap.length *= factor;
      for (double& dimension : wrap.dimensions) dimension *= factor;
    }
    for (ContactMesh& mesh : model_.meshes) {
      const double factor = of(mesh.frame.body);
      shift(mesh.frame);
      mesh.scale *= factor;
      mesh.thickness *= factor;
      mesh.min_thickness *= factor;
    }
  }

  void scale_joints() {
    for (Joint& joint : model_.joints) {
      const double factor = of(joint.parent.body);
      for (auto axis = joint.axes.begin() + 3; axis != joint.axes.end(); ++axis) {
        if (!equals_coordinate(*axis)) {
          scale(axis->function, factor);
          continue;
        }
        for (Coordinate& coordinate : joint.coordinates) {
          if (coordinate.name != axis->coordinate()) continue;
          for (double* length : {&coordinate.value, &coordinate.speed, &coordinate.min, &coordinate.max})
            *length *= factor;
          if (coordinate.prescribed) scale(*coordinate.prescribed, factor);
        }
      }
      joint.radii *= factor;
      shift(joint.parent);
      shift(joint.child);
    }
  }

  static void stretch(Line& line, double ratio) {
    line.slack_length *= ratio;
    line.muscle.optimal_length *= ratio;
    line.muscle.tendon_length *= ratio;
    // Of a spring the force per metre is given, and stored is its product with the slack length.
    if (line.type == "PathSpring") line.stiffness *= ratio;
  }

  Model& model_;
  std::map<std::string, double> factors_;
};

void set_mass(Model& model, double mass) {
  if (!std::isfinite(mass) || mass <= 0.0) {
    throw input_error("mass", fmt::format("expected a mass > 0 kg, found {}", mass));
  }
  double total = 0.0;
  for (const Body& body : model.bodies) total += body.mass;
  if (total <= 0.0) throw input_error("mass", "expected a model with masses, found a total of 0 kg");
  for (Body& body : model.bodies) {
    body.mass *= mass / total;
    body.inertia *= mass / total;
  }
}

}  // namespace

void scale_model(Model& model, const std::map<std::string, double>& factors, std::optional<double> mass) {
  if (!factors.empty()) Scaling(model, factors).apply();
  if (mass) set_mass(model, *mass);
}

}  // namespace heelstrike::osim
