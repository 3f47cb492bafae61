#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <algorithm>

#include "common/text/suggestion.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

namespace {

/// Positive definite, and no principal moment above the sum of the two others, as for every mass distribution.
void check_inertia(const Field& field, const Matrix3& inertia) {
  const Vector3 principal = Eigen::SelfAdjointEigenSolver<Matrix3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  const std::string found = fmt::format("principal moments {:g}, {:g}, {:g}", principal[0], principal[1], principal[2]);
  constexpr double min_inertia = 1e-24;  // [kg m^2] a grain of 1e-12 kg exceeds this at a radius of gyration of 1 um
  if (!(principal[0] >= min_inertia)) {
    field.reject(fmt::format("a positive definite inertia, principal moments of at least {:g} [kg m^2]", min_inertia),
                 found, "check signs and the order Ixx, Iyy, Izz, Ixy, Ixz, Iyz");
  }
  // A thin plate satisfies the bound with equality; its decimal text may violate it by rounding.
  constexpr double slack = 1.0 + 1e-9;
  if (principal[2] > (principal[0] + principal[1]) * slack) {
    field.reject("an inertia [kg m^2] whose largest principal moment is at most the sum of the two others", found,
                 "such moments are impossible: check the values and that they are about the centre of mass");
  }
}

Matrix3 read_inertia(const Field& field) {
  const auto I = field.numbers();
  Matrix3 inertia = Vector3(I[0], I[1], I[2]).asDiagonal();
  if (I.size() == 6) {
    inertia(0, 1) = inertia(1, 0) = I[3];
    inertia(0, 2) = inertia(2, 0) = I[4];
    inertia(1, 2) = inertia(2, 1) = I[5];
  }
  check_inertia(field, inertia);
  return inertia;
}

}  // namespace

KeySchema body_keys() {
  return {
      .name = "bodies",
      .kind = KeyKind::named,
      .meaning = "the rigid bodies by name; `ground` always exists and is not listed",
      .keys = {
          required(number("mass", "kg", masses, "mass")),
          {.name = "inertia",
           .kind = KeyKind::numbers,
           .unit = "kg m^2",
           .meaning = "about the centre of mass in body axes: [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz]; the "
                      "last three are the entries of the matrix (the negative products of inertia)",
           .required = true,
           .range = inertia_entries,
           .sizes = {3, 6}},
          vector3("center_of_mass", "m", coordinates, "centre of mass in the body's frame"),
          vector3("position", "m", coordinates, "initial position of the body's origin in the world"),
          quaternion("orientation", "initial rotation of the body's axes in the world as unit quaternion [w, x, y, z]"),
          vector3("velocity", "m/s", speeds, "initial velocity of the body's origin, world axes"),
          vector3("angular_velocity", "rad/s", speeds, "initial angular velocity, world axes"),
          text("initial_state_from",
               "instead of these four: a body with the same initial pose and velocities, e.g. one that follows a "
               "recording"),
      }};
}

BodySpec read_body(const Field& field) {
  if (field.name() == "ground") {
    field.reject("a name other than 'ground'", "'ground'", "ground always exists and is fixed: choose another name");
  }
  return {.name = field.name(),
          .mass = field["mass"].number(),
          .center_of_mass = field["center_of_mass"].vector3(),
          .inertia = read_inertia(field["inertia"]),
          .X_WB = {.R = read_rotation(field["orientation"]), .p = field["position"].vector3()},
          .V_WB = {.w = field["angular_velocity"].vector3(), .v = field["velocity"].vector3()},
          .initial_state_from = field.text_or("initial_state_from")};
}

std::string read_body_name(const Field& field, const std::vector<BodySpec>& bodies, bool with_ground) {
  std::vector<std::string> names;
  for (const auto& body : bodies) names.push_back(body.name);
  if (with_ground) names.emplace_back("ground");
  if (std::ranges::find(names, field.text()) != names.end()) return field.text();
  field.reject(fmt::format("the name of a body ({})", fmt::join(names, ", ")),
               fmt::format("'{}'", excerpt(field.text())),
               suggestion(field.text(), names, "add it to `bodies` or choose another"));
}

std::vector<std::string> read_joint_bodies(const Field& field, const std::vector<BodySpec>& bodies) {
  std::vector<std::string> names;
  for (const auto& item : field.node().items) {
    names.push_back(read_body_name(Field(field.document(), *item, field.path()), bodies, true));
  }
  if (names.size() != 2) {
    field.reject("two bodies [a, b]", fmt::format("{}", names.size()), "name `ground` for a joint to it");
  }
  if (names[0] == names[1]) {
    field.reject("two different bodies", fmt::format("'{}' twice", names[0]), "name the other body");
  }
  return names;
}

void check_start(const Field& field, const BodySpec& body, const std::vector<BodySpec>& bodies) {
  if (body.initial_state_from.empty()) return;
  const Field start = field["initial_state_from"];
  const std::string other = read_body_name(start, bodies, false);
  if (other == body.name || !std::ranges::find(bodies, other, &BodySpec::name)->initial_state_from.empty()) {
    start.reject("a body without `initial_state_from`", fmt::format("'{}'", other), "name another");
  }
  // A default counts as absent.
  const auto reject = [&](const char* key, bool given) {
    if (given)
      field[key].reject("no initial values beside `initial_state_from`", fmt::format("`{}`", key), "remove one");
  };
  reject("position", !body.X_WB.p.isZero(0.0));
  reject("orientation", !body.X_WB.R.isIdentity(0.0));
  reject("velocity", !body.V_WB.v.isZero(0.0));
  reject("angular_velocity", !body.V_WB.w.isZero(0.0));
}

KeySchema load_keys() {
  return {.name = "loads",
          .kind = KeyKind::named,
          .meaning = "forces and torques on bodies, by name: constants, functions of time, or their sum",
          .keys = {
              required(text("body", "name of the body it acts on")),
              vector3("force", "N", loads, "constant force"),
              vector3("torque", "N m", loads, "constant torque"),
              function_keys("fx", "N", "x component added to the constant force", Joins::smooth_or_linear),
              function_keys("fy", "N", "y component added to the constant force", Joins::smooth_or_linear),
              function_keys("fz", "N", "z component added to the constant force", Joins::smooth_or_linear),
              function_keys("tx", "N m", "x component added to the constant torque", Joins::smooth_or_linear),
              function_keys("ty", "N m", "y component added to the constant torque", Joins::smooth_or_linear),
              function_keys("tz", "N m", "z component added to the constant torque", Joins::smooth_or_linear),
              vector3("point", "m", coordinates, "point of application of the force in `point_frame`"),
              function_keys("px", "m", "x component added to the point", Joins::smooth_or_linear),
              function_keys("py", "m", "y component added to the point", Joins::smooth_or_linear),
              function_keys("pz", "m", "z component added to the point", Joins::smooth_or_linear),
              {.name = "frame",
               .kind = KeyKind::text,
               .meaning = "axes of force and torque: `world`, `body` (the loaded one), or the name of another body",
               .fallback = "world"},
              {.name = "point_frame",
               .kind = KeyKind::text,
               .meaning = "frame of the point: `body` (the loaded one), `world` (a point that does not move with the "
                          "body, such as a centre of pressure), or the name of another body",
               .fallback = "body"},
          }};
}

namespace {

/// Name of the body with the frame of a load, or "ground" for the world.
std::string read_load_frame(const Field& field, const std::string& loaded_body, const std::vector<BodySpec>& bodies) {
  const std::string& frame = field.text();
  if (frame == "world") return "ground";
  if (frame == "body") return loaded_body;
  std::vector<std::string> names = {"world", "body"};
  for (const auto& body : bodies) names.push_back(body.name);
  if (std::ranges::find(names, frame) != names.end()) return frame;
  field.reject(
      fmt::format("`world`, `body`, or the name of a body ({})", fmt::join(names.begin() + 2, names.end(), ", ")),
      fmt::format("'{}'", excerpt(frame)), suggestion(frame, names, "choose another"));
}

}  // namespace

LoadSpec read_load(const Field& field, Scenario& scenario) {
  LoadSpec load{.name = field.name(),
                .body = read_body_name(field["body"], scenario.bodies, false),
                .force = field["force"].vector3(),
                .torque = field["torque"].vector3(),
                .point = field["point"].vector3(),
                .functions = {}};
  load.axes_body = read_load_frame(field["frame"], load.body, scenario.bodies);
  load.point_body = read_load_frame(field["point_frame"], load.body, scenario.bodies);
  for (const char* key : {"fx", "fy", "fz", "tx", "ty", "tz", "px", "py", "pz"}) {
    if (!field.has(key)) continue;
    load.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  return load;
}

}  // namespace heelstrike::config
