#include "common/config/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "common/config/mistakes.hpp"
#include "common/config/schema.hpp"
#include "common/contact/shared_bodies.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

using config::Document;
using config::Entry;
using config::Mistakes;
using config::Node;

/// A checked value with its dotted key: reading cannot fail, only meaning can.
class Field {
 public:
  Field(const Document& document, const Node& node, std::string path)
      : document_(&document), node_(&node), path_(std::move(path)) {}

  [[nodiscard]] bool has(const std::string& key) const { return node_->find(key) != nullptr; }
  [[nodiscard]] Field operator[](const std::string& key) const {
    const Node* value = node_->find(key);
    if (value == nullptr) throw Error(ErrorCode::internal, fmt::format("{}.{} was not checked", path_, key));
    return {*document_, *value, path_.empty() ? key : path_ + "." + key};
  }
  [[nodiscard]] std::vector<Field> entries() const {
    std::vector<Field> fields;
    for (const Entry& e : node_->entries) fields.emplace_back(*document_, *e.value, path_ + "." + e.key);
    return fields;
  }
  /// Fields of a map that may be absent.
  [[nodiscard]] std::vector<Field> entries_of(const std::string& key) const {
    return has(key) ? (*this)[key].entries() : std::vector<Field>();
  }
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('.') + 1); }
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const Document& document() const { return *document_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const std::string& text() const { return node_->scalar; }
  [[nodiscard]] std::string text_or(const std::string& key) const { return has(key) ? (*this)[key].text() : ""; }
  [[nodiscard]] bool flag() const { return node_->scalar == "true"; }
  [[nodiscard]] double number() const { return number_of(*node_); }
  [[nodiscard]] std::optional<double> optional_number(const std::string& key) const {
    return has(key) ? std::optional((*this)[key].number()) : std::nullopt;
  }
  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> values;
    for (const auto& item : node_->items) values.push_back(number_of(*item));
    return values;
  }
  [[nodiscard]] Vector3 vector3() const {
    const auto values = numbers();
    return {values.at(0), values.at(1), values.at(2)};
  }

  [[noreturn]] void refuse(const std::string& expected, const std::string& found, const std::string& advice) const {
    config::refuse(*document_, *node_, path_, expected, found, advice);
  }

 private:
  [[nodiscard]] double number_of(const Node& node) const {
    double value = 0.0;
    if (!config::read_number(node, value)) throw Error(ErrorCode::internal, path_ + " was not checked");
    return value;
  }

  const Document* document_;
  const Node* node_;
  std::string path_;
};

Matrix3 read_rotation(const Field& field) {
  const auto q = field.numbers();
  const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(std::abs(norm - 1.0) <= quaternion_norm_tolerance)) {
    field.refuse(fmt::format("a unit quaternion [w, x, y, z] (norm within {:g} of 1)", quaternion_norm_tolerance),
                 fmt::format("norm {}", norm),
                 norm > 0.0 ? "divide its entries by this norm" : "no turn is [1, 0, 0, 0]");
  }
  return rotation_from_quaternion(Quaternion(q[0], q[1], q[2], q[3]));
}

Vector3 read_direction(const Field& field) {
  const Vector3 direction = field.vector3();
  const double length = direction.norm();
  constexpr double shortest = 1e-9;  // of entries near one; far above what their squares lose to underflow
  if (!(length >= shortest)) {
    field.refuse(fmt::format("a direction of any length but zero (at least {:g})", shortest),
                 fmt::format("length {:g}", length), "give e.g. [0, 0, 1]");
  }
  return direction / length;
}

/// Positive definite, and no principal moment above the sum of the two others: otherwise no distribution of mass has
/// it.
void check_inertia(const Field& field, const Matrix3& inertia) {
  const Vector3 principal = Eigen::SelfAdjointEigenSolver<Matrix3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  const std::string found = fmt::format("principal moments {:g}, {:g}, {:g}", principal[0], principal[1], principal[2]);
  constexpr double smallest_moment = 1e-24;  // [kg m^2] a grain of 1e-12 kg has more at a micrometre
  if (!(principal[0] >= smallest_moment)) {
    field.refuse(
        fmt::format("a positive definite inertia, principal moments of at least {:g} [kg m^2]", smallest_moment), found,
        "check signs and the order Ixx, Iyy, Izz, Ixy, Ixz, Iyz");
  }
  // A thin plate meets the bound exactly; its decimal text may miss it by a few roundings.
  constexpr double slack = 1.0 + 1e-9;
  if (principal[2] > (principal[0] + principal[1]) * slack) {
    field.refuse("an inertia [kg m^2] whose largest principal moment is at most the sum of the two others", found,
                 "no body has such moments: check the values and that they are about the centre of mass");
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

BodySpec read_body(const Field& field) {
  if (field.name() == "ground") {
    field.refuse("a name other than 'ground'", "'ground'",
                 "ground is always there and never moves: choose another name");
  }
  return {.name = field.name(),
          .mass = field["mass"].number(),
          .center_of_mass = field["center_of_mass"].vector3(),
          .inertia = read_inertia(field["inertia"]),
          .X_WB = {.R = read_rotation(field["orientation"]), .p = field["position"].vector3()},
          .V_WB = {.w = field["angular_velocity"].vector3(), .v = field["velocity"].vector3()},
          .starts_with = field.text_or("starts_with")};
}

/// Name of a body that exists; `ground` counts where `with_ground`.
std::string read_body_name(const Field& field, const std::vector<BodySpec>& bodies, bool with_ground) {
  std::vector<std::string> names;
  for (const auto& body : bodies) names.push_back(body.name);
  if (with_ground) names.emplace_back("ground");
  if (std::ranges::find(names, field.text()) != names.end()) return field.text();
  const auto near = nearest_name(field.text(), names);
  field.refuse(fmt::format("the name of a body ({})", fmt::join(names, ", ")),
               fmt::format("'{}'", config::excerpt(field.text())),
               near ? fmt::format("did you mean '{}'?", *near) : "add it to `bodies` or name another");
}

/// A body that starts with another one, once all are known.
void check_start(const Field& field, const BodySpec& body, const std::vector<BodySpec>& bodies) {
  if (body.starts_with.empty()) return;
  const Field start = field["starts_with"];
  const std::string other = read_body_name(start, bodies, false);
  if (other == body.name || !std::ranges::find(bodies, other, &BodySpec::name)->starts_with.empty()) {
    start.refuse("a body that has its own initial pose", fmt::format("'{}'", other), "name another");
  }
  // A default counts as not given.
  const auto refuse = [&](const char* key, bool given) {
    if (given) field[key].refuse("no initial values beside `starts_with`", fmt::format("`{}`", key), "remove one");
  };
  refuse("position", !body.X_WB.p.isZero(0.0));
  refuse("orientation", !body.X_WB.R.isIdentity(0.0));
  refuse("velocity", !body.V_WB.v.isZero(0.0));
  refuse("angular_velocity", !body.V_WB.w.isZero(0.0));
}

std::string place_of(const Field& field) {
  return fmt::format("{}: {}", config::location(field.document(), field.node()), field.path());
}

/// Repeats what a function of time found wrong with the place in the file.
template <typename Make>
TimeFunctionPtr made_function(const Field& field, Make make) {
  try {
    return make();
  } catch (const Error& e) {
    throw config::mistake_at(field.document(), field.node(), field.path(),
                             fmt::format("{}: {}", field.path(), e.what()));
  }
}

void check_span(const Field& field, const TimeFunction& function, double end_time) {
  if (function.first_time() <= 0.0 && function.last_time() >= end_time) return;
  field.refuse(fmt::format("times that cover the run, 0 to {} s", end_time),
               fmt::format("{} to {} s", function.first_time(), function.last_time()),
               "add rows or change analysis.end_time");
}

FunctionSpec read_function(const Field& choice, double end_time, std::vector<std::string>& files) {
  const Field field = choice.entries().front();
  FunctionSpec spec;
  spec.where = place_of(field);
  if (field.name() == "polynomial") {
    if (field.numbers().empty()) field.refuse("at least one coefficient", "an empty list", "give e.g. [0, 1]");
    spec.function = make_polynomial(field.numbers());
  } else if (field.name() == "expression") {
    spec.function = made_function(field, [&] { return make_expression(field.text()); });
  } else {
    spec.degree = field["spline"].text() == "quintic" ? 5 : 3;
    spec.scale = field["scale"].number();
    if (field.name() == "file") {
      spec.file = field["name"].text();
      spec.column = field["column"].text();
      spec.time_column = field["time"].text();
      if (std::ranges::find(files, spec.file) == files.end()) files.push_back(spec.file);
    } else {
      spec.function = made_function(field, [&] {
        return make_scaled(make_spline(field["times"].numbers(), field["values"].numbers(), spec.degree), spec.scale,
                           0.0);
      });
      check_span(field, *spec.function, end_time);
    }
  }
  return spec;
}

LoadSpec read_load(const Field& field, Scenario& scenario) {
  LoadSpec load{.name = field.name(),
                .body = read_body_name(field["body"], scenario.bodies, false),
                .force = field["force"].vector3(),
                .torque = field["torque"].vector3(),
                .point = field["point"].vector3(),
                .body_fixed = field["frame"].text() == "body",
                .functions = {}};
  for (const char* key : {"fx", "fy", "fz", "tx", "ty", "tz"}) {
    if (!field.has(key)) continue;
    load.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  return load;
}

/// Keys that a type needs, and keys that it may have besides.
struct KeyUse {
  std::vector<std::string> needed;
  std::vector<std::string> allowed;
};

void check_keys(const Field& field, const std::string& type, const KeyUse& use,
                const std::vector<std::string>& always) {
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const Field& entry : field.entries()) {
    if (among(always, entry.name()) || among(use.needed, entry.name()) || among(use.allowed, entry.name())) continue;
    std::vector<std::string> known = use.needed;
    known.insert(known.end(), use.allowed.begin(), use.allowed.end());
    entry.refuse(fmt::format("one of the keys {} of '{}'", fmt::join(known, ", "), type),
                 fmt::format("'{}'", entry.name()), "remove it");
  }
  for (const auto& name : use.needed) {
    if (!field.has(name)) {
      field.refuse(fmt::format("the key `{}` of '{}'", name, type), "nothing", "add it");
    }
  }
}

/// Points and axes: in the world, or one for each body.
KeyUse joint_keys_of(const Field& field) {
  const std::string& type = field["type"].text();
  if (type == "gear") return {.needed = {"joints", "teeth"}, .allowed = {}};
  KeyUse use{.needed = {"bodies"}, .allowed = {}};
  const bool has_axis = type != "spherical" && type != "distance" && type != "fixed";
  if (type == "distance") use.allowed = {"length"};
  if (type == "fixed") use.allowed = {"point"};
  if (field.has("points") || field.has("axes")) {
    use.needed.emplace_back("points");
    if (has_axis) use.needed.emplace_back("axes");
    return use;
  }
  if (type != "fixed") use.needed.emplace_back("point");
  if (has_axis) use.needed.emplace_back("axis");
  if (type == "distance") use.needed.emplace_back("second_point");
  if (type == "universal") use.needed.emplace_back("second_axis");
  return use;
}

std::vector<Vector3> read_two(const Field& field, bool directions) {
  std::vector<Vector3> values;
  for (const auto& item : field.node().items) {
    const Field entry(field.document(), *item, field.path());
    values.push_back(directions ? read_direction(entry) : entry.vector3());
  }
  if (values.size() != 2) {
    field.refuse("two vectors: one for each body", fmt::format("{}", values.size()), "give [[...], [...]]");
  }
  return values;
}

std::vector<std::string> read_joint_bodies(const Field& field, const std::vector<BodySpec>& bodies) {
  std::vector<std::string> names;
  for (const auto& item : field.node().items) {
    names.push_back(read_body_name(Field(field.document(), *item, field.path()), bodies, true));
  }
  if (names.size() != 2) {
    field.refuse("two bodies [a, b]", fmt::format("{}", names.size()), "name `ground` where the joint holds to it");
  }
  if (names[0] == names[1]) {
    field.refuse("two different bodies", fmt::format("'{}' twice", names[0]), "name the other body");
  }
  return names;
}

JointSpec read_gear(const Field& field, JointSpec joint, const std::vector<JointSpec>& others) {
  for (const auto& item : field["joints"].node().items) {
    const auto other = std::ranges::find(others, item->scalar, &JointSpec::name);
    if (other == others.end() || (other->type != "revolute" && other->type != "cylindrical")) {
      field["joints"].refuse("names of two revolute or cylindrical joints that stand above the gear",
                             fmt::format("'{}'", config::excerpt(item->scalar)), "name such joints");
    }
    joint.joints.push_back(item->scalar);
  }
  for (const double n : field["teeth"].numbers()) {
    if (n == 0.0 || n != std::round(n) || std::abs(n) > 1e6) {
      field["teeth"].refuse("whole numbers other than 0", fmt::format("{}", n), "write a ratio as two whole numbers");
    }
    joint.teeth.push_back(static_cast<int>(n));
  }
  if (joint.joints.size() != 2 || joint.joints[0] == joint.joints[1]) {
    field["joints"].refuse("two different joints", fmt::format("{}", fmt::join(joint.joints, ", ")), "name two joints");
  }
  return joint;
}

JointSpec read_joint(const Field& field, const Scenario& scenario) {
  JointSpec joint{.name = field.name(), .type = field["type"].text()};
  joint.where = place_of(field);
  joint.reactions = field["reactions"].flag();
  check_keys(field, joint.type, joint_keys_of(field), {"type", "reactions"});
  if (joint.type == "gear" && joint.reactions) {
    field["reactions"].refuse("reactions of a joint between two bodies", "a gear", "remove it");
  }
  if (joint.type == "gear") return read_gear(field, std::move(joint), scenario.joints);
  joint.bodies = read_joint_bodies(field["bodies"], scenario.bodies);
  joint.in_world = !field.has("points");
  joint.length = field.optional_number("length");
  if (!joint.in_world) {
    joint.points = read_two(field["points"], false);
    if (field.has("axes")) joint.axes = read_two(field["axes"], true);
    return joint;
  }
  if (field.has("point")) joint.points = {field["point"].vector3()};
  if (field.has("axis")) joint.axes = {read_direction(field["axis"])};
  if (field.has("second_point")) joint.second_point = field["second_point"].vector3();
  if (field.has("second_axis")) joint.second_axis = read_direction(field["second_axis"]);
  return joint;
}

KeyUse force_keys_of(const Field& field) {
  const std::string& type = field["type"].text();
  if (type == "torsional_spring") return {.needed = {"joint", "stiffness"}, .allowed = {"damping", "neutral"}};
  KeyUse use{.needed = {"bodies"}, .allowed = {}};
  if (type == "bushing") {
    use.needed.emplace_back("stiffness_matrix");
    use.allowed = {"damping_matrix"};
  } else {
    use.needed.emplace_back("stiffness");
    use.allowed = {"damping", "length"};
    if (type != "spring_damper") use.allowed.emplace_back("reference_strain");
    if (type == "ligament_toe") use.allowed.emplace_back("toe_strain");
  }
  if (field.has("points")) {
    use.needed.emplace_back("points");
  } else {
    use.needed.emplace_back("point");
    if (type != "bushing") use.needed.emplace_back("second_point");
  }
  return use;
}

Matrix6 read_matrix6(const Field& field) {
  const auto values = field.numbers();
  if (values.size() == 6) return Eigen::Map<const Vector6>(values.data()).asDiagonal();
  Matrix6 matrix = Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(values.data());
  if ((matrix - matrix.transpose()).cwiseAbs().maxCoeff() > 1e-9 * matrix.cwiseAbs().maxCoeff()) {
    field.refuse("a symmetric matrix", "another", "an elastic bushing has an energy: make it symmetric");
  }
  return matrix;
}

ForceSpec read_force(const Field& field, const Scenario& scenario) {
  ForceSpec force{.name = field.name(), .type = field["type"].text()};
  force.where = place_of(field);
  check_keys(field, force.type, force_keys_of(field), {"type"});
  force.k = field.optional_number("stiffness").value_or(0.0);
  force.c = field.optional_number("damping").value_or(0.0);
  force.neutral = field.optional_number("neutral").value_or(0.0);
  force.toe_strain = field.optional_number("toe_strain").value_or(force.toe_strain);
  force.reference_strain = field.optional_number("reference_strain").value_or(0.0);
  if (field.has("stiffness_matrix")) force.K = read_matrix6(field["stiffness_matrix"]);
  if (field.has("damping_matrix")) force.C = read_matrix6(field["damping_matrix"]);
  if (field.has("joint")) {
    force.joint = field["joint"].text();
    const auto joint = std::ranges::find(scenario.joints, force.joint, &JointSpec::name);
    if (joint == scenario.joints.end() || (joint->type != "revolute" && joint->type != "cylindrical")) {
      field["joint"].refuse("the name of a revolute or cylindrical joint",
                            fmt::format("'{}'", config::excerpt(force.joint)), "name one of `joints`");
    }
    return force;
  }
  force.ends.bodies = read_joint_bodies(field["bodies"], scenario.bodies);
  force.ends.in_world = !field.has("points");
  force.ends.length = field.optional_number("length");
  if (!force.ends.in_world) {
    force.ends.points = read_two(field["points"], false);
  } else {
    force.ends.points = {field["point"].vector3()};
    if (field.has("second_point")) force.ends.second_point = field["second_point"].vector3();
  }
  return force;
}

KeyUse driver_keys_of(const Field& field, const Scenario& scenario) {
  if (field.has("body")) return {.needed = {"body"}, .allowed = {"x", "y", "z", "rx", "ry", "rz"}};
  if (!field.has("joint")) return {.needed = {"joint"}, .allowed = {}};
  const auto joint = std::ranges::find(scenario.joints, field["joint"].text(), &JointSpec::name);
  if (joint != scenario.joints.end()) {
    if (joint->type == "revolute") return {.needed = {"joint", "angle"}, .allowed = {}};
    if (joint->type == "prismatic") return {.needed = {"joint", "displacement"}, .allowed = {}};
    if (joint->type == "cylindrical") return {.needed = {"joint"}, .allowed = {"angle", "displacement"}};
  }
  std::vector<std::string> names;
  for (const auto& other : scenario.joints) names.push_back(other.name);
  const auto near = nearest_name(field["joint"].text(), names);
  field["joint"].refuse(
      "the name of a revolute, prismatic or cylindrical joint",
      fmt::format("'{}'", config::excerpt(field["joint"].text())),
      near && joint == scenario.joints.end() ? fmt::format("did you mean '{}'?", *near) : "choose such a joint");
}

void add_file(std::vector<std::string>& files, const std::string& name) {
  if (!name.empty() && std::ranges::find(files, name) == files.end()) files.push_back(name);
}

std::vector<std::string> read_texts(const Field& field) {
  std::vector<std::string> texts;
  for (const auto& item : field.node().items) texts.push_back(item->scalar);
  return texts;
}

FootSpec read_recorded_foot(const Field& field) {
  FootSpec foot{.name = field.name(),
                .markers = {.hindfoot = read_texts(field["hindfoot"]),
                            .heel = field["heel"].text(),
                            .toe_tip = field["toe_tip"].text(),
                            .toe_lateral = field["toe_lateral"].text(),
                            .toe_medial = field["toe_medial"].text(),
                            .origin = read_texts(field["origin"]),
                            .toe_axis_depth = field["toe_axis_depth"].number()},
                .registration = {},
                .plate = field.text_or("plate"),
                .where = place_of(field)};
  if (field.has("registration")) {
    const Field registration = field["registration"];
    foot.registration = FootRegistration{.position = registration["position"].vector3(),
                                         .angles = registration["angles"].vector3(),
                                         .toe_angle = registration["toe_angle"].number()};
  }
  if (foot.markers.hindfoot.size() < 3) {
    field["hindfoot"].refuse("at least three markers", fmt::format("{}", foot.markers.hindfoot.size()), "add markers");
  }
  if (foot.markers.origin.empty()) field["origin"].refuse("at least one marker", "none", "name e.g. both malleoli");
  return foot;
}

MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files) {
  const Field axes = field["axes"];
  MarkerMotionSpec motion{.name = field.name(),
                          .markers = field["markers"].text(),
                          .standing = field["static"].text(),
                          .plates = field.text_or("plates"),
                          .axes = {.x = axes["x"].text(), .y = axes["y"].text(), .z = axes["z"].text()},
                          .start = field["start"].number(),
                          .max_gap = field["max_gap"].number(),
                          .cutoff = field.optional_number("cutoff"),
                          .order = static_cast<int>(field["order"].number()),
                          .ground_velocity = {},
                          .feet = {},
                          .where = place_of(field)};
  if (motion.order % 2 != 0) {
    field["order"].refuse("an even number (two passes)", fmt::format("{}", motion.order), "choose e.g. 4");
  }
  if (field.has("ground_velocity")) motion.ground_velocity = field["ground_velocity"].vector3();
  for (const Field& foot : field["feet"].entries()) {
    motion.feet.push_back(read_recorded_foot(foot));
    if (!motion.feet.back().plate.empty() && motion.plates.empty()) {
      foot["plate"].refuse("the key `plates` of the recording, with the file of ground forces", "nothing", "add it");
    }
  }
  for (const std::string& name : {motion.markers, motion.standing, motion.plates}) add_file(files, name);
  return motion;
}

/// MOTION.FOOT.SEGMENT or MOTION.ground
std::vector<std::string> followable(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& motion : scenario.motions) {
    for (const auto& foot : motion.feet) {
      for (const char* segment : {"hindfoot", "toes"}) {
        names.push_back(fmt::format("{}.{}.{}", motion.name, foot.name, segment));
      }
    }
    names.push_back(motion.name + ".ground");
  }
  return names;
}

DriverSpec read_following_driver(const Field& field, DriverSpec driver, const Scenario& scenario) {
  check_keys(field, "driver that follows a recording", {.needed = {"body", "follow"}, .allowed = {}}, {});
  driver.body = read_body_name(field["body"], scenario.bodies, false);
  driver.follow = field["follow"].text();
  const auto names = followable(scenario);
  if (std::ranges::find(names, driver.follow) == names.end()) {
    const auto near = nearest_name(driver.follow, names);
    field["follow"].refuse(
        names.empty() ? "a recording in the section `motion`" : fmt::format("one of {}", fmt::join(names, ", ")),
        fmt::format("'{}'", config::excerpt(driver.follow)),
        near ? fmt::format("did you mean '{}'?", *near) : "name one of these");
  }
  return driver;
}

/// A driver whose motion is in a table of recorded poses.
DriverSpec read_recorded_driver(const Field& field, DriverSpec driver, Scenario& scenario) {
  const bool of_body = field.has("body");
  check_keys(field, "recorded motion", {.needed = {of_body ? "body" : "joint", "recorded"}, .allowed = {}}, {});
  if (of_body) {
    driver.body = read_body_name(field["body"], scenario.bodies, false);
  } else {
    const auto joint = std::ranges::find(scenario.joints, driver.joint, &JointSpec::name);
    const bool driven = joint != scenario.joints.end() && (joint->type == "revolute" || joint->type == "prismatic" ||
                                                           joint->type == "cylindrical" || joint->type == "spherical");
    if (!driven) {
      field["joint"].refuse("the name of a revolute, prismatic, cylindrical or spherical joint",
                            fmt::format("'{}'", config::excerpt(driver.joint)), "choose such a joint");
    }
  }
  const Field record = field["recorded"];
  driver.record = {
      .file = record["name"].text(), .time_column = record.text_or("time"), .where = place_of(record), .bodies = {}};
  auto& files = scenario.files;
  if (std::ranges::find(files, driver.record.file) == files.end()) files.push_back(driver.record.file);
  return driver;
}

DriverSpec read_driver(const Field& field, Scenario& scenario) {
  DriverSpec driver{.name = field.name(), .joint = field.text_or("joint"), .body = {}, .functions = {}, .where = {}};
  driver.where = place_of(field);
  if (field.has("follow")) return read_following_driver(field, std::move(driver), scenario);
  if (field.has("recorded")) return read_recorded_driver(field, std::move(driver), scenario);
  const KeyUse use = driver_keys_of(field, scenario);
  check_keys(field, driver.joint.empty() ? "driver of a body" : "driver of a joint", use, {});
  if (field.has("body")) driver.body = read_body_name(field["body"], scenario.bodies, false);
  for (const char* key : {"angle", "displacement", "x", "y", "z", "rx", "ry", "rz"}) {
    if (!field.has(key)) continue;
    driver.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  const auto turns =
      driver.functions.contains("rx") + driver.functions.contains("ry") + driver.functions.contains("rz");
  if (turns != 0 && turns != 3) {
    field.refuse("all of rx, ry and rz or none", fmt::format("{} of them", turns),
                 "an orientation has three angles; hold one at zero with {polynomial: [0]}");
  }
  if (driver.functions.empty()) field.refuse("a motion", "none", "add e.g. `angle:` or `x:`");
  return driver;
}

MeshSurface read_mesh(const Field& field, std::vector<std::string>& files) {
  if (field.has("file") == field.has("asset")) {
    field.refuse("exactly one of file and asset", field.has("file") ? "both" : "none of them",
                 "name the mesh file with `file:`, or a mesh in the contact server's folder with `asset:`");
  }
  const std::string file = field.text_or("file");
  if (!file.empty() && std::ranges::find(files, file) == files.end()) files.push_back(file);
  return {.sha256 = {},
          .asset_name = file.empty() ? field.text_or("asset") : file,
          .format = field.text_or("format"),
          .length_scale = field["length_scale"].number(),
          .X_BodyMesh = {.R = read_rotation(field["orientation"]), .p = field["position"].vector3()}};
}

PointCloudSurface read_points(const Field& field) {
  PointCloudSurface cloud{.points = {}, .areas = field["areas"].numbers()};
  const Field positions = field["positions"];
  for (const auto& item : positions.node().items) {
    cloud.points.push_back(Field(positions.document(), *item, positions.path()).vector3());
  }
  if (cloud.points.empty()) positions.refuse("at least one point", "an empty list", "add points or use a mesh");
  if (cloud.points.size() != cloud.areas.size()) {
    field["areas"].refuse(fmt::format("as many areas as points ({}) [m^2]", cloud.points.size()),
                          fmt::format("{}", cloud.areas.size()), "give one tributary area for each point");
  }
  return cloud;
}

FootSurface read_foot_surface(const Field& field) {
  const auto length = [&](const char* key) { return field[key].number(); };
  return {.dimensions = {.length = length("length"),
                         .ball_breadth = length("ball_breadth"),
                         .heel_breadth = length("heel_breadth"),
                         .arch_height = length("arch_height"),
                         .instep_height = length("instep_height"),
                         .toe_height = length("toe_height"),
                         .ankle_height = length("ankle_height"),
                         .heel_to_ankle = length("heel_to_ankle"),
                         .cut_height = length("cut_height")},
          .right = field["side"].text() == "right",
          .ankle = field["ankle"].vector3()};
}

/// Core and layers.
void read_structure(const Field& field, CylinderSurface& cylinder) {
  cylinder.core_radius = field.optional_number("core_radius").value_or(0.0);
  if (cylinder.core_radius >= cylinder.radius) {
    field["core_radius"].refuse(fmt::format("a radius below that of the cylinder, {} m", cylinder.radius),
                                fmt::format("{} m", cylinder.core_radius), "make it smaller, or leave it away");
  }
  if (!field.has("layers")) return;
  if (field.has("length")) {
    field["length"].refuse("no length beside layers", fmt::format("{} m", cylinder.length),
                           "the length is the sum of the layers: remove it");
  }
  cylinder.length = 0.0;
  for (const Field& layer : field["layers"].entries()) {
    cylinder.layers.push_back({.name = layer.name(), .height = layer["height"].number()});
    cylinder.length += cylinder.layers.back().height;
  }
  if (cylinder.layers.empty()) field["layers"].refuse("at least one layer", "none", "add one, or give `length`");
}

Surface read_surface(const Field& choice, std::vector<std::string>& files) {
  const Field field = choice.entries().front();
  if (field.name() == "sphere") {
    const double radius = field["radius"].number();
    return SphereSurface{.radius = field["concave"].flag() ? -radius : radius, .center = field["center"].vector3()};
  }
  if (field.name() == "plane") {
    return PlaneSurface{.normal = read_direction(field["normal"]), .point = field["point"].vector3()};
  }
  if (field.name() == "cylinder") {
    CylinderSurface cylinder;
    cylinder.radius = field["radius"].number();
    cylinder.axis = read_direction(field["axis"]);
    cylinder.center = field["center"].vector3();
    cylinder.length = field.optional_number("length").value_or(cylinder.length);
    read_structure(field, cylinder);
    return cylinder;
  }
  if (field.name() == "block") {
    return BlockSurface{.lengths = field["lengths"].vector3(), .center = field["center"].vector3()};
  }
  if (field.name() == "foot") return read_foot_surface(field);
  if (field.name() == "mesh") return read_mesh(field, files);
  return read_points(field);
}

Material read_material(const Field& field, std::string set) {
  return {.youngs_modulus = field["youngs_modulus"].number(),
          .poissons_ratio = field["poissons_ratio"].number(),
          .density = field["density"].number(),
          .set = std::move(set)};
}

ContactBody read_side(const Field& field, const Scenario& scenario, std::vector<std::string>& files) {
  ContactBody side{.name = read_body_name(field["body"], scenario.bodies, true),
                   .surface = read_surface(field["surface"], files),
                   .materials = {}};
  if (field.has("material")) side.materials.push_back(read_material(field["material"], ""));
  for (const Field& material : field.entries_of("materials")) {
    side.materials.push_back(read_material(material, material.has("set") ? material["set"].text() : material.name()));
  }
  const auto* cylinder = std::get_if<CylinderSurface>(&side.surface);
  const bool structured = cylinder != nullptr && (cylinder->core_radius > 0.0 || !cylinder->layers.empty());
  if (structured && side.materials.empty()) {
    field["surface"].refuse("a plain cylinder as surface of a rigid body", "one with a core or layers",
                            "give `materials`, or remove core_radius and layers");
  }
  return side;
}

ParameterValue read_parameter(const Field& field) {
  const Node& node = field.node();
  double value = 0.0;
  if (config::read_number(node, value)) return value;
  if (node.type == Node::Type::scalar && node.plain && (node.scalar == "true" || node.scalar == "false")) {
    return node.scalar == "true";
  }
  if (node.type == Node::Type::scalar) return node.scalar;
  if (node.type != Node::Type::sequence) {
    field.refuse("a number, a text, true or false, or a list of numbers", config::describe(node), "give one value");
  }
  std::vector<double> list;
  for (const auto& item : node.items) {
    if (!config::read_number(*item, value)) {
      field.refuse("a list of numbers", config::describe(*item), config::number_advice(*item, ""));
    }
    list.push_back(value);
  }
  return list;
}

/// A number given with its unit, or in quotes, deserves a better answer than "found a text".
void check_units(const Field& field, std::span<const ParameterSchema> schema) {
  const auto known = std::ranges::find(schema, field.name(), &ParameterSchema::name);
  if (known == schema.end() || known->kind != ParameterKind::number) return;
  double value = 0.0;
  if (config::read_number(field.node(), value)) return;
  field.refuse(fmt::format("a number {} [{}]", known->range.text(), known->unit), config::describe(field.node()),
               config::number_advice(field.node(), known->unit));
}

/// Repeats what `checked_parameters` says with the place in the file.
void check_parameters(const Field& pair, const ParameterMap& parameters, std::span<const ParameterSchema> schema) {
  const std::string where = pair.path() + ".parameters";
  try {
    (void)checked_parameters(parameters, schema, where);
  } catch (const Error& e) {
    const Node* place = &pair.node();
    if (pair.has("parameters")) place = &pair["parameters"].node();
    if (e.field().starts_with(where + ".")) {
      if (const Node* value = place->find(e.field().substr(where.size() + 1))) place = value;
    }
    throw config::mistake_at(pair.document(), *place, e.field(), e.what());
  }
}

/// Every given parameter by itself, then which ones are missing.
void check_each_parameter(const Field& pair, const ParameterMap& parameters, std::span<const ParameterSchema> schema,
                          Mistakes& mistakes) {
  std::vector<ParameterSchema> optional(schema.begin(), schema.end());
  for (ParameterSchema& parameter : optional) parameter.required = false;
  ParameterMap sound;
  for (const auto& parameter : parameters) {
    mistakes.attempt([&] {
      const Field field = pair["parameters"][parameter.first];
      check_units(field, schema);
      check_parameters(pair, {parameter}, optional);
      sound.insert(parameter);
    });
  }
  if (sound.size() == parameters.size()) mistakes.attempt([&] { check_parameters(pair, sound, schema); });
}

void check_backend(const Field& pair, const PairSpec& spec, const BackendSchemas& backends, Mistakes& mistakes) {
  if (backends.empty()) return;
  const auto it = backends.find(spec.backend);
  if (it == backends.end()) {
    std::vector<std::string> names;
    for (const auto& entry : backends) names.push_back(entry.first);
    const auto near = nearest_name(spec.backend, names);
    pair["backend"].refuse(fmt::format("one of the contact back-ends {}", fmt::join(names, ", ")),
                           fmt::format("'{}'", config::excerpt(spec.backend)),
                           near ? fmt::format("did you mean '{}'?", *near) : "choose one of them");
  }
  check_each_parameter(pair, spec.parameters, it->second, mistakes);
}

PairModel read_pair(const Field& field, Scenario& scenario, const BackendSchemas& backends, Mistakes& mistakes) {
  PairModel pair;
  pair.spec.name = field.name();
  pair.spec.backend = field["backend"].text();
  mistakes.attempt([&] { pair.spec.main = read_side(field["main"], scenario, scenario.files); });
  mistakes.attempt([&] { pair.spec.partner = read_side(field["partner"], scenario, scenario.files); });
  pair.main_body = pair.spec.main.name;
  pair.partner_body = pair.spec.partner.name;
  if (!pair.main_body.empty() && pair.main_body == pair.partner_body) {
    field["partner"]["body"].refuse("another body than main's", fmt::format("'{}' on both sides", pair.main_body),
                                    "a body has no contact with itself: name the other body");
  }
  for (const Field& parameter : field.entries_of("parameters")) {
    mistakes.attempt([&] { pair.spec.parameters.emplace(parameter.name(), read_parameter(parameter)); });
  }
  check_backend(field, pair.spec, backends, mistakes);
  return pair;
}

void check_shared_bodies(const Field& root, const Scenario& scenario, const BackendSchemas& backends) {
  std::vector<PairSpec> specs;
  for (const PairModel& pair : scenario.pairs) specs.push_back(pair.spec);
  const auto shared = find_shared_body(specs, [&](const std::string& name) {
    const auto found = backends.find(name);
    return found != backends.end() && has_elastic_bodies(found->second);
  });
  if (!shared) return;
  const Field pair = root.entries_of("contact")[shared->later];
  pair[shared->is_partner ? "partner" : "main"]["body"].refuse(
      "an elastic body in one pair only", fmt::format("the same body in contact.{} too", specs[shared->earlier].name),
      shared_body_advice);
}

/// Which keys and orders an integrator knows; the schema cannot say what depends on another key.
struct IntegratorTraits {
  std::string_view name;
  bool fixed_step = false;
  std::vector<int> orders;
};

const IntegratorTraits& traits_of(const std::string& integrator) {
  static const std::vector<IntegratorTraits> table = {
      {.name = "cvode_index1", .orders = {1, 2, 3, 4, 5}},  {.name = "ida_ggl", .orders = {1, 2, 3, 4, 5}},
      {.name = "arkode_erk", .orders = {2, 3, 4, 5, 6, 8}}, {.name = "arkode_dirk", .orders = {3, 4, 5}},
      {.name = "rk4", .fixed_step = true, .orders = {4}},   {.name = "ab4am4", .fixed_step = true, .orders = {4}},
  };
  return *std::ranges::find(table, integrator, &IntegratorTraits::name);
}

void check_integrator(const Field& field, const IntegratorSpec& spec) {
  const IntegratorTraits& traits = traits_of(spec.name);
  if (spec.order && std::ranges::find(traits.orders, *spec.order) == traits.orders.end()) {
    field["order"].refuse(fmt::format("one of {} for {}", fmt::join(traits.orders, ", "), spec.name),
                          fmt::format("{}", *spec.order), "choose one of these or leave the key away");
  }
  if (traits.fixed_step) {
    if (!spec.step) {
      field["name"].refuse("a method that finds its own step, or the key `step` [s] beside it",
                           fmt::format("'{}' without step", spec.name), "add step, e.g. step: 1e-4");
    }
    return;
  }
  for (const char* key : {"step", "baumgarte_alpha", "baumgarte_beta"}) {
    if (!field.optional_number(key)) continue;
    field[key].refuse(fmt::format("no such key with {}", spec.name), fmt::format("{}", *field.optional_number(key)),
                      "it belongs to rk4 and ab4am4: take it away or choose one of them");
  }
}

/// Where no contact asks for few evaluations, accuracy is cheap: Runge-Kutta methods keep the energy a hundred times
/// better than BDF formulas at the same tolerance (docs/theory/integrators.md). Springs may be stiff, so that the
/// implicit one takes over.
std::string default_integrator(const Field& root) {
  if (!root.entries_of("contact").empty()) return "cvode_index1";
  return root.entries_of("forces").empty() ? "arkode_erk" : "arkode_dirk";
}

IntegratorSpec read_integrator(const Field& field, const std::string& default_name) {
  IntegratorSpec spec{.name = field.has("name") ? field["name"].text() : default_name,
                      .rtol = field["rtol"].number(),
                      .atol = field["atol"].number(),
                      .max_step = field.optional_number("max_step"),
                      .max_rejections = static_cast<int>(field["max_rejections"].number()),
                      .order = {},
                      .step = field.optional_number("step"),
                      .baumgarte_alpha = field.optional_number("baumgarte_alpha"),
                      .baumgarte_beta = field.optional_number("baumgarte_beta")};
  if (const auto order = field.optional_number("order")) spec.order = static_cast<int>(*order);
  check_integrator(field, spec);
  return spec;
}

RunBudget read_budget(const Field& field) {
  const auto whole = [&](const char* key) { return static_cast<std::int64_t>(field[key].number()); };
  return {.rows = whole("rows"),
          .steps = whole("steps"),
          .evaluations = whole("evaluations"),
          .stalled_steps = whole("stalled_steps")};
}

/// A grid that is known not to fit into its budget is refused before anything is computed.
void check_grid(const Field& field, double end_time, double distance, std::int64_t budget, const char* what,
                const char* key) {
  if (end_time / distance <= static_cast<double>(budget)) return;
  field.refuse(fmt::format("at least {} s, for at most {} {} until end_time ({} s)",
                           end_time / static_cast<double>(budget), budget, what, end_time),
               fmt::format("{} s", distance), fmt::format("make it larger, or raise {}", key));
}

AnalysisSpec read_analysis(const Field& field, const std::string& default_name) {
  AnalysisSpec analysis{.type = field["type"].text(),
                        .end_time = field["end_time"].number(),
                        .integrator = read_integrator(field["integrator"], default_name),
                        .budget = read_budget(field["budget"])};
  const auto check_steps = [&](const std::optional<double>& longest, const char* key) {
    if (!longest) return;
    check_grid(field["integrator"][key], analysis.end_time, *longest, analysis.budget.steps, "steps",
               "analysis.budget.steps");
  };
  check_steps(analysis.integrator.step, "step");
  check_steps(analysis.integrator.max_step, "max_step");
  return analysis;
}

void check_plate_name(const Field& field, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& motion : scenario.motions) {
    for (const auto& foot : motion.feet) {
      if (!foot.plate.empty()) names.push_back(motion.name + "." + foot.name);
    }
  }
  if (std::ranges::find(names, field.text()) != names.end()) return;
  const auto near = nearest_name(field.text(), names);
  field.refuse(names.empty() ? "a foot with the key `plate` in the section `motion`"
                             : fmt::format("one of {}", fmt::join(names, ", ")),
               fmt::format("'{}'", config::excerpt(field.text())),
               near ? fmt::format("did you mean '{}'?", *near) : "name one of these");
}

BalanceSpec read_balance(const Field& field, Scenario& scenario) {
  BalanceSpec balance{.name = field.name(),
                      .bodies = {},
                      .plate = {},
                      .force = {},
                      .threshold = field["threshold"].number(),
                      .where = place_of(field)};
  for (const auto& item : field["bodies"].node().items) {
    balance.bodies.push_back(
        read_body_name(Field(field.document(), *item, field["bodies"].path()), scenario.bodies, false));
  }
  if (balance.bodies.empty()) field["bodies"].refuse("at least one body", "none", "name the segments of a foot");
  const Field force = field["force"].entries().front();
  if (force.name() == "plate") {
    check_plate_name(force, scenario);
    balance.plate = force.text();
  } else {
    balance.force = read_function(field["force"], scenario.analysis.end_time, scenario.files);
  }
  return balance;
}

void read_balances(const Field& field, Scenario& scenario) {
  const bool hybrid = scenario.analysis.type == "hybrid";
  const bool prescribed = hybrid || scenario.analysis.type == "kinematic" || scenario.analysis.type == "inverse";
  for (const Field& entry : field.entries_of("balance")) {
    if (!prescribed) {
      entry.refuse("`type: hybrid` in this section", fmt::format("`type: {}`", scenario.analysis.type),
                   "change the type or leave `balance` out");
    }
    scenario.analysis.balance.push_back(read_balance(entry, scenario));
    for (std::size_t i = 0; i + 1 < scenario.analysis.balance.size(); ++i) {
      for (const auto& body : scenario.analysis.balance.back().bodies) {
        if (std::ranges::find(scenario.analysis.balance[i].bodies, body) == scenario.analysis.balance[i].bodies.end())
          continue;
        entry["bodies"].refuse("bodies that no other balance moves", fmt::format("'{}' twice", body), "name it once");
      }
    }
  }
  if (hybrid && scenario.analysis.balance.empty()) {
    field["type"].refuse("the key `balance` beside it", "nothing", "say which bodies are carried by which force");
  }
  const double g = scenario.gravity.norm();
  if (hybrid && !(g > 0.0)) {
    field["type"].refuse("gravity, which says what is vertical", "[0, 0, 0]", "give e.g. gravity: [0, 0, -9.81]");
  }
}

FieldOutput read_fields(const Field& field, const AnalysisSpec& analysis) {
  const double end_time = analysis.end_time;
  const bool at_events = field.has("at");
  if (at_events && analysis.type != "forward") {
    field["at"].refuse("a forward analysis, whose steps find the instants of contact",
                       fmt::format("`type: {}`", analysis.type),
                       "give `interval` instead: its frames are those of the rows");
  }
  if (!at_events && !field.has("interval")) {
    field.refuse("`interval` or `at`", "neither", "say when files are written, e.g. `fields: {interval: 0.05}`");
  }
  FieldOutput output{.interval = field.optional_number("interval").value_or(0.0),
                     .mesh = field["mesh"].text() == "volume" ? FieldMesh::volume : FieldMesh::surface,
                     .quantities = {},
                     .contact_only = field["only_contact"].flag(),
                     .at_events = at_events};
  // A file name has five digits, and nobody looks at more pictures.
  constexpr double max_files = 100'000;
  if (output.interval > 0.0 && end_time / output.interval > max_files) {
    field["interval"].refuse(fmt::format("at least {} s, for at most {} files", end_time / max_files, max_files),
                             fmt::format("{} s", output.interval), "make it larger");
  }
  if (!field.has("quantities")) return output;
  std::vector<std::string> known;
  for (const FieldQuantity& quantity : field_quantities) known.emplace_back(quantity.name);
  for (const auto& item : field["quantities"].node().items) {
    if (std::ranges::find(known, item->scalar) == known.end()) {
      const auto near = nearest_name(item->scalar, known);
      field["quantities"].refuse(fmt::format("names among {}", fmt::join(known, ", ")),
                                 fmt::format("'{}'", config::excerpt(item->scalar)),
                                 near ? fmt::format("did you mean '{}'?", *near) : "choose among them");
    }
    output.quantities.push_back(item->scalar);
  }
  return output;
}

OutputSpec read_output(const Field& field, const AnalysisSpec& analysis) {
  const double interval = field["interval"].number();
  const double end_time = analysis.end_time;
  if (interval > end_time) {
    field["interval"].refuse(fmt::format("at most analysis.end_time ({} s) [s]", end_time),
                             fmt::format("{} s", interval), "rows would only be written at the start; make it smaller");
  }
  check_grid(field["interval"], end_time, interval, analysis.budget.rows, "rows", "analysis.budget.rows");
  if (field.has("checkpoint_interval") && analysis.type != "forward") {
    field["checkpoint_interval"].refuse("a forward analysis, the only one that writes checkpoints",
                                        fmt::format("`type: {}`", analysis.type), "leave it out");
  }
  const std::string& steps = field["steps"].text();
  return {.interval = interval,
          .accelerations = field["accelerations"].flag(),
          .steps = steps == "none"  ? StepRows::none
                   : steps == "all" ? StepRows::all
                                    : StepRows::contact,
          .checkpoint_interval = field.optional_number("checkpoint_interval"),
          .fields = field.has("fields") ? std::optional(read_fields(field["fields"], analysis)) : std::nullopt};
}

/// Before all other checks: a file of a newer version has keys that this program cannot know.
void check_version(const Document& document) {
  const Node& root = *document.root;
  if (root.type != Node::Type::map) return;
  const Node* version = root.find("heelstrike");
  if (version == nullptr) {
    throw input_error("heelstrike",
                      fmt::format("{}:{}: heelstrike: missing; expected the version of the file format, found nothing; "
                                  "add the line `heelstrike: {}`",
                                  document.file_name, 1, config::scenario_version));
  }
  double value = 0.0;
  if (config::read_number(*version, value) && value > config::scenario_version) {
    config::refuse(document, *version, "heelstrike", fmt::format("a version up to {}", config::scenario_version),
                   version->scalar, "the file is for a newer Heelstrike: update the program");
  }
}

/// Reads a scenario section by section and keeps what is wrong. What refers to something that could not be read is left
/// for the time when that has been mended: it would only repeat the same mistake in other words.
class Reader {
 public:
  Reader(const Document& document, const BackendSchemas& backends, Mistakes& mistakes)
      : root_(document, *document.root, ""), backends_(backends), mistakes_(mistakes) {}

  void read(Scenario& scenario) {
    scenario.description = root_.text_or("description");
    attempt("gravity", {}, [&](const Field& gravity) { scenario.gravity = gravity.vector3(); });
    read_bodies(scenario);
    attempt("analysis", {},
            [&](const Field& analysis) { scenario.analysis = read_analysis(analysis, default_integrator(root_)); });
    if (scenario.bodies.empty()) return;
    entries("loads", {"analysis"}, [&](const Field& load) { scenario.loads.push_back(read_load(load, scenario)); });
    entries("joints", {}, [&](const Field& joint) { scenario.joints.push_back(read_joint(joint, scenario)); });
    entries("forces", {"joints"}, [&](const Field& force) { scenario.forces.push_back(read_force(force, scenario)); });
    entries("motion", {},
            [&](const Field& motion) { scenario.motions.push_back(read_marker_motion(motion, scenario.files)); });
    entries("drivers", {"joints", "motion", "analysis"},
            [&](const Field& driver) { scenario.drivers.push_back(read_driver(driver, scenario)); });
    entries("contact", {},
            [&](const Field& pair) { scenario.pairs.push_back(read_pair(pair, scenario, backends_, mistakes_)); });
    attempt("contact", {}, [&](const Field&) { check_shared_bodies(root_, scenario, backends_); });
    attempt("analysis", {"motion", "gravity"}, [&](const Field& analysis) { read_balances(analysis, scenario); });
    attempt("output", {"analysis"},
            [&](const Field& output) { scenario.output = read_output(output, scenario.analysis); });
  }

 private:
  /// A body that could not be read keeps its name, which others refer to.
  void read_bodies(Scenario& scenario) {
    for (const Field& body : root_.entries_of("bodies")) {
      scenario.bodies.emplace_back().name = body.name();
      if (mistakes_.touch(body.path())) continue;
      mistakes_.attempt([&] { scenario.bodies.back() = read_body(body); });
    }
    attempt("bodies", {}, [&](const Field& bodies) {
      if (scenario.bodies.empty()) bodies.refuse("at least one body", "none", "add one");
    });
    for (std::size_t i = 0; const Field& body : root_.entries_of("bodies")) {
      const BodySpec& spec = scenario.bodies[i++];
      if (mistakes_.touch(body.path())) continue;
      mistakes_.attempt([&] { check_start(body, spec, scenario.bodies); });
    }
  }

  [[nodiscard]] bool readable(const std::vector<std::string>& sections) const {
    return std::ranges::none_of(sections, [&](const std::string& section) { return mistakes_.touch(section); });
  }

  /// @param needs  sections that it refers to
  template <typename Work>
  void attempt(const std::string& section, std::vector<std::string> needs, Work work) {
    needs.push_back(section);
    if (root_.has(section) && readable(needs)) mistakes_.attempt([&] { work(root_[section]); });
  }

  /// The entries of a section of named things.
  template <typename Work>
  void entries(const std::string& section, const std::vector<std::string>& needs, Work work) {
    if (!readable(needs)) return;
    for (const Field& entry : root_.entries_of(section)) {
      if (!mistakes_.touch(entry.path())) mistakes_.attempt([&] { work(entry); });
    }
  }

  Field root_;
  const BackendSchemas& backends_;
  Mistakes& mistakes_;
};

}  // namespace

Scenario parse_scenario(std::string_view yaml, const std::string& file_name, const BackendSchemas& backends) {
  Mistakes mistakes;
  Document document = config::load_document(yaml, file_name, mistakes);
  check_version(document);
  document.root = config::checked(document, *document.root, config::scenario_schema(), "", mistakes);
  Scenario scenario;
  scenario.name = std::filesystem::path(file_name).stem().string();
  Reader(document, backends, mistakes).read(scenario);
  mistakes.raise();
  return scenario;
}

std::vector<std::string> files_named_by(const Scenario& scenario) {
  return scenario.files;
}

}  // namespace heelstrike
