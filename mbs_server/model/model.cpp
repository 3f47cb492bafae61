#include "mbs_server/model/model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

BodyIndex find_body(const Model& model, const std::string& name, const std::string& where) {
  if (name == "ground") return ground;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.bodies[i].name == name) return static_cast<BodyIndex>(i);
  }
  throw input_error(where, fmt::format("{}: expected the name of a body or 'ground', found '{}'", where, name));
}

/// A rotation whose third column is the unit vector `axis`; the others follow from it alone.
Matrix3 frame_about(const Vector3& axis) {
  int least = 0;
  axis.cwiseAbs().minCoeff(&least);
  const Vector3 x = (Vector3::Unit(least) - axis[least] * axis).normalized();
  return (Matrix3() << x, axis.cross(x), axis).finished();
}

/// Rotation with third column `axis` and first column as near to `x` as possible.
Matrix3 frame_near(const Vector3& axis, const Vector3& x) {
  const Vector3 normal = x - x.dot(axis) * axis;
  if (normal.norm() < 1e-6) return frame_about(axis);
  const Vector3 unit = normal.normalized();
  return (Matrix3() << unit, axis.cross(unit), axis).finished();
}

Pose initial_pose(const Model& model, BodyIndex body) {
  return body == ground ? Pose{} : model.bodies[static_cast<std::size_t>(body)].X_WB;
}

/// Frames of both sides in the world at the initial poses; they agree where the file gives one point and axis.
struct WorldFrames {
  Pose a, b;
};

WorldFrames world_frames(const Model& model, const JointSpec& spec, BodyIndex body_a, BodyIndex body_b) {
  const Pose X_WA = initial_pose(model, body_a);
  const Pose X_WB = initial_pose(model, body_b);
  Vector3 point_a = X_WB.p, point_b = X_WB.p, axis_a = Vector3::UnitZ(), axis_b = Vector3::UnitZ();
  if (body_b == ground) point_a = point_b = X_WA.p;
  if (spec.in_world) {
    if (!spec.points.empty()) point_a = point_b = spec.points[0];
    if (spec.second_point) point_b = *spec.second_point;
    if (!spec.axes.empty()) axis_a = axis_b = spec.axes[0];
    if (spec.second_axis) axis_b = *spec.second_axis;
  } else {
    point_a = X_WA * spec.points[0];
    point_b = X_WB * spec.points[1];
    if (!spec.axes.empty()) {
      axis_a = X_WA.R * spec.axes[0];
      axis_b = X_WB.R * spec.axes[1];
    }
  }
  const Matrix3 R_a = frame_about(axis_a);
  return {.a = {.R = R_a, .p = point_a}, .b = {.R = frame_near(axis_b, R_a.col(0)), .p = point_b}};
}

void check_joint(const Joint& joint, const WorldFrames& frames) {
  if (joint.type == "universal" && std::abs(frames.a.R.col(2).dot(frames.b.R.col(2))) > 0.5) {
    throw input_error(
        "joints." + joint.name,
        fmt::format(
            "{}: expected axes normal to each other, found {:.1f} degrees between them; turn one", joint.where,
            std::acos(std::clamp(frames.a.R.col(2).dot(frames.b.R.col(2)), -1.0, 1.0)) * 180.0 / std::numbers::pi));
  }
  if (joint.type == "distance" && !(joint.length > 0.0)) {
    throw input_error(
        "joints." + joint.name,
        fmt::format("{}: expected two different points of a rod, found the same; use a spherical joint", joint.where));
  }
}

int find_joint(const Model& model, const std::string& name) {
  const auto joint = std::ranges::find(model.joints, name, &Joint::name);
  if (joint == model.joints.end()) throw Error(ErrorCode::internal, "joint '" + name + "' was not checked");
  return static_cast<int>(joint - model.joints.begin());
}

Joint build_joint(const Model& model, const JointSpec& spec) {
  Joint joint{.name = spec.name, .type = spec.type, .a = {}, .b = {}};
  joint.reactions = spec.reactions;
  joint.where = spec.where;
  if (spec.type == "gear") {
    joint.first = find_joint(model, spec.joints[0]);
    joint.second = find_joint(model, spec.joints[1]);
    joint.teeth_first = spec.teeth[0];
    joint.teeth_second = spec.teeth[1];
    return joint;
  }
  const std::string field = "joints." + spec.name + ".bodies";
  joint.a.body = find_body(model, spec.bodies.at(0), field);
  joint.b.body = find_body(model, spec.bodies.at(1), field);
  const WorldFrames frames = world_frames(model, spec, joint.a.body, joint.b.body);
  joint.a.X_BF = initial_pose(model, joint.a.body).inverse() * frames.a;
  joint.b.X_BF = initial_pose(model, joint.b.body).inverse() * frames.b;
  joint.length = spec.length.value_or((frames.b.p - frames.a.p).norm());
  check_joint(joint, frames);
  return joint;
}

SpringElement build_spring(const Model& model, const ForceSpec& spec) {
  SpringElement spring{.name = spec.name, .type = spec.type, .a = {}, .b = {}};
  spring.k = spec.k;
  spring.c = spec.c;
  spring.toe_strain = spec.toe_strain;
  spring.K = spec.K;
  spring.C = spec.C;
  if (spec.type == "torsional_spring") {
    spring.joint = find_joint(model, spec.joint);
    spring.length = spec.neutral;
    return spring;
  }
  const std::string field = "forces." + spec.name + ".bodies";
  spring.a.body = find_body(model, spec.ends.bodies.at(0), field);
  spring.b.body = find_body(model, spec.ends.bodies.at(1), field);
  WorldFrames frames = world_frames(model, spec.ends, spring.a.body, spring.b.body);
  if (spec.type == "bushing") frames.a.R = frames.b.R = Matrix3::Identity();
  spring.a.X_BF = initial_pose(model, spring.a.body).inverse() * frames.a;
  spring.b.X_BF = initial_pose(model, spring.b.body).inverse() * frames.b;
  const double now = (frames.b.p - frames.a.p).norm();
  spring.length = spec.ends.length.value_or(now / (1.0 + spec.reference_strain));
  if (spec.type != "bushing" && !(spring.length > 0.0)) {
    throw input_error(
        "forces." + spec.name,
        fmt::format("{}: expected two different ends or a `length` > 0 [m], found ends that meet", spec.where));
  }
  return spring;
}

TimeFunctionPtr resolved(const FunctionSpec& spec) {
  if (spec.function) return spec.function;
  throw input_error("file",
                    spec.where + ": expected the motion file with the run, found nothing; its content was not read");
}

Load build_load(const Model& model, const LoadSpec& spec) {
  Load load{.name = spec.name,
            .body = find_body(model, spec.body, "loads." + spec.name + ".body"),
            .force = spec.force,
            .torque = spec.torque,
            .point = spec.point,
            .body_fixed = spec.body_fixed};
  constexpr std::array<const char*, 6> keys = {"fx", "fy", "fz", "tx", "ty", "tz"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto found = spec.functions.find(keys[i]); found != spec.functions.end()) {
      load.functions[i] = resolved(found->second);
    }
  }
  return load;
}

void add_drivers(Model& model, const DriverSpec& spec) {
  Driver driver{.name = spec.name};
  if (!spec.joint.empty()) driver.joint = find_joint(model, spec.joint);
  if (!spec.body.empty()) driver.body = find_body(model, spec.body, "drivers." + spec.name + ".body");
  const auto add = [&](Driver::Kind kind, int component, std::initializer_list<const char*> keys) {
    if (!spec.functions.contains(*keys.begin())) return;
    driver.kind = kind;
    driver.component = component;
    driver.functions.clear();
    for (const char* key : keys) driver.functions.push_back(resolved(spec.functions.at(key)));
    model.drivers.push_back(driver);
  };
  if (!spec.record.file.empty() || !spec.follow.empty()) {
    if (spec.record.bodies.empty()) {
      throw input_error("file", spec.record.where + ": expected the table with the run, found nothing");
    }
    driver.kind = Driver::Kind::recorded;
    driver.records = spec.record.bodies;
    model.drivers.push_back(driver);
  }
  add(Driver::Kind::angle, 0, {"angle"});
  add(Driver::Kind::displacement, 0, {"displacement"});
  add(Driver::Kind::position, 0, {"x"});
  add(Driver::Kind::position, 1, {"y"});
  add(Driver::Kind::position, 2, {"z"});
  add(Driver::Kind::orientation, 0, {"rx", "ry", "rz"});
}

}  // namespace

Model build_model(const Scenario& scenario) {
  Model model{
      .gravity = scenario.gravity, .bodies = {}, .loads = {}, .joints = {}, .drivers = {}, .springs = {}, .pairs = {}};
  for (const auto& spec : scenario.bodies) {
    Body body{.name = spec.name,
              .mass_properties = {.mass = spec.mass, .center_of_mass = spec.center_of_mass, .inertia = spec.inertia},
              .X_WB = spec.X_WB,
              .V_WB = spec.V_WB};
    body.mass_properties.check(spec.name);
    model.bodies.push_back(std::move(body));
  }
  for (const auto& load : scenario.loads) model.loads.push_back(build_load(model, load));
  for (const auto& joint : scenario.joints) model.joints.push_back(build_joint(model, joint));
  for (const auto& force : scenario.forces) model.springs.push_back(build_spring(model, force));
  for (const auto& driver : scenario.drivers) add_drivers(model, driver);
  for (const auto& pair : scenario.pairs) {
    const std::string where = "contact." + pair.spec.name;
    model.pairs.push_back({.name = pair.spec.name,
                           .main = find_body(model, pair.main_body, where + ".main.body"),
                           .partner = find_body(model, pair.partner_body, where + ".partner.body")});
  }
  return model;
}

}  // namespace heelstrike::mbs
