#include "client/osim/osim_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::client::osim {
namespace {

namespace fs = std::filesystem;
using models::list;
using models::MeshCopy;
using models::plain;
using models::quaternion;

/// Name without the digits at its end: MCLd1 and MCLd2 are lines of MCLd.
std::string bundle_name(const std::string& line) {
  const auto end = line.find_last_not_of("0123456789");
  return plain(end == std::string::npos ? line : line.substr(0, end + 1));
}

/// Lines that share a force element of the scenario.
struct Bundle {
  std::string name;
  double transition_strain = 0.0;
  double damping = 0.0;
  std::vector<const Line*> lines;
};

class Importer {
 public:
  Importer(Model model, const ImportWish& wish) : model_(std::move(model)), wish_(wish) {}

  [[nodiscard]] Import run();

 private:
  [[nodiscard]] std::string asked(std::string_view key) const;
  template <typename... Values>
  [[nodiscard]] Error mistake(const char* key, fmt::format_string<Values...> text, Values&&... values) const {
    return input_error(key, asked(key) + ": " + fmt::format(text, std::forward<Values>(values)...));
  }
  void set_coordinates();
  void hold_joints();
  void tell_unknown(const Joint& joint);
  void choose_joints();
  void absorb_welded();
  [[nodiscard]] std::string bodies_text() const;
  [[nodiscard]] std::string joints_text();
  void choose_bent();
  void leave_out();
  void prescribe_flexion();
  [[nodiscard]] std::string course_text(const Axis& bend, double sign, double start);
  [[nodiscard]] std::string springs_text();
  [[nodiscard]] std::string torsional_text(const Joint& joint, const CoordinateSpring& spring);
  [[nodiscard]] std::string bushings_text(const Joint& joint, const std::vector<const CoordinateSpring*>& springs);
  [[nodiscard]] std::optional<std::string> reason_against(const CoordinateSpring& spring, const Joint& joint) const;
  [[nodiscard]] std::string analysis_text() const;
  [[nodiscard]] std::string forces_text();
  [[nodiscard]] std::string line_text(const Line& line, std::vector<const WrapObject*>& used);
  [[nodiscard]] std::string path_text(const Line& line, std::vector<const WrapObject*>& used);
  [[nodiscard]] std::string muscle_text(const Line& line);
  [[nodiscard]] std::string muscles_text();
  [[nodiscard]] std::optional<std::string> reason_against(const Line& line) const;
  [[nodiscard]] const WrapObject* wrap_of(const Line& line);
  [[nodiscard]] bool inside(const WrapObject& wrap, const Frame& point) const;
  [[nodiscard]] std::string wrap_text(const WrapObject& wrap) const;
  [[nodiscard]] std::string contact_text();
  [[nodiscard]] std::string pair_text(const ContactForce& contact, const ContactMesh& target,
                                      const ContactMesh& casting);
  [[nodiscard]] std::string side_text(const ContactMesh& mesh);
  [[nodiscard]] std::string layer_text(const ContactMesh& mesh, const std::string& thickness_key,
                                       const std::string& back_key);
  [[nodiscard]] fs::path found(const std::string& name, const std::string& file,
                               std::vector<std::string>& searched) const;
  [[nodiscard]] std::string named(const fs::path& from, const std::string& to);
  [[nodiscard]] std::string mesh_file(const std::string& name, const fs::path& from);
  [[nodiscard]] std::string mesh_name(const ContactMesh& mesh);
  /// How another file for a mesh is asked for.
  [[nodiscard]] std::string other_file(const std::string& mesh) const {
    return asked("meshes") + (wish_.in_section ? ", `" + mesh + ": FILE`" : " " + mesh + "=FILE");
  }
  void check_mesh_names() const;
  void tell_others();
  [[nodiscard]] std::vector<std::string> joint_names() const;

  [[nodiscard]] bool kept(const std::string& body) const { return home_.contains(body); }
  /// Initial pose of a body in the scenario, whose axes are those of the frame that the bent joint turns in.
  [[nodiscard]] Pose pose(const std::string& body) const {
    const Pose X = default_pose(model_, body);
    return {.R = R_axes_ * X.R, .p = R_axes_ * X.p};
  }
  /// A frame of the model in the body of the scenario that carries it.
  [[nodiscard]] Frame at_home(const Frame& frame) const {
    const Frame& home = home_.at(frame.body);
    return {.body = home.body, .X_BF = home.X_BF * frame.X_BF};
  }
  void miss(std::string text) {
    if (std::ranges::find(import_.not_taken, text) == import_.not_taken.end()) {
      import_.not_taken.push_back(std::move(text));
    }
  }

  Model model_;
  const ImportWish& wish_;
  Import import_;
  std::vector<const Joint*> joints_;
  std::set<const WrapObject*> used_wraps_;
  Joint* bent_ = nullptr;                            ///< the joint that is bent; null = nothing is driven
  Matrix3 R_axes_ = Matrix3::Identity();             ///< from the model's ground to the axes of the scenario
  std::string flexed_body_, flexed_joint_, driver_;  ///< what bends it; empty = nothing
  std::set<std::string> left_out_;                   ///< ligaments and muscles
  std::vector<std::string> bodies_;                  ///< of the scenario, in the order of the model
  std::map<std::string, Frame> home_;  ///< bodies of the model, welded ones too, by their place in the scenario's
};

/// How whoever asks has written a wish.
std::string Importer::asked(std::string_view key) const {
  if (wish_.in_section) return "import." + std::string(key);
  std::string option = key == "meshes" ? "mesh" : std::string(key);
  if (option.ends_with("coordinates")) option.pop_back();
  std::ranges::replace(option, '_', '-');
  return "--" + option;
}

bool is_turn(const Joint& joint, const std::string& coordinate) {
  return std::any_of(joint.axes.begin(), joint.axes.begin() + 3,
                     [&](const Axis& axis) { return axis.coordinate == coordinate; });
}

/// Whether the pose of the joint follows the coordinate, as far as its functions are evaluated.
bool has_motion_of(const Joint& joint, const std::string& coordinate) {
  return std::ranges::any_of(joint.axes,
                             [&](const Axis& axis) { return axis.coordinate == coordinate && axis.unknown.empty(); });
}

/// Values in the place of the defaults, from which poses and everything that is held follow.
void Importer::set_coordinates() {
  for (const auto& [name, value] : wish_.coordinates) {
    std::vector<std::string> known;
    bool found = false;
    for (Joint& joint : model_.joints) {
      for (Coordinate& coordinate : joint.coordinates) {
        known.push_back(coordinate.name);
        if (coordinate.name != name) continue;
        if (!has_motion_of(joint, name)) {
          throw mistake("coordinates",
                        "expected a coordinate that turns or shifts by a linear function, found '{}' of {} {}", name,
                        joint.type, joint.name);
        }
        coordinate.value = is_turn(joint, name) ? wish_.angle_unit * value : value;
        if (is_turn(joint, name) && !(std::abs(coordinate.value) <= 2.0 * std::numbers::pi)) {
          throw mistake("coordinates", "expected a turn {} of at most 2 pi, found {:.6g} rad", name, coordinate.value);
        }
        if (coordinate.min < coordinate.max &&
            (coordinate.value < coordinate.min || coordinate.value > coordinate.max)) {
          miss(fmt::format("coordinate {}: its range, {:.4g} to {:.4g}, in which the {:.4g} asked for are not", name,
                           coordinate.min, coordinate.max, coordinate.value));
        }
        import_.taken.push_back(fmt::format("coordinate {} of joint {} at {:.4g}", name, joint.name, coordinate.value));
        found = true;
      }
    }
    if (found) continue;
    throw mistake("coordinates", "expected names of coordinates of the model ({}), found '{}'", fmt::join(known, ", "),
                  name);
  }
}

/// A joint that is held is a weld where its coordinates are.
void Importer::hold_joints() {
  for (const std::string& name : wish_.held) {
    const auto joint = std::ranges::find(model_.joints, name, &Joint::name);
    if (joint == model_.joints.end()) {
      throw mistake("hold", "expected names of joints of the model ({}), found '{}'", fmt::join(joint_names(), ", "),
                    name);
    }
    tell_unknown(*joint);
    for (const Coordinate& coordinate : joint->coordinates) {
      if (coordinate.value == 0.0 || has_motion_of(*joint, coordinate.name)) continue;
      miss(
          fmt::format("joint {}: its coordinate {} is {:.4g} by default and held at 0, because poses of a {} are not "
                      "followed there",
                      name, coordinate.name, coordinate.value, joint->type));
    }
    joint->parent.X_BF = joint->parent.X_BF * joint_pose(*joint);
    joint->axes = {};
    joint->type = "WeldJoint";
    import_.taken.push_back(fmt::format("joint {} held where its coordinates are", name));
  }
}

void Importer::tell_unknown(const Joint& joint) {
  for (const Axis& axis : joint.axes) {
    if (axis.unknown.empty()) continue;
    miss(fmt::format("joint {}: a function of kind {} is not evaluated; it counts as 0 in the initial pose", joint.name,
                     axis.unknown));
  }
}

std::vector<std::string> Importer::joint_names() const {
  std::vector<std::string> names;
  for (const Joint& joint : model_.joints) names.push_back(joint.name);
  return names;
}

void Importer::choose_joints() {
  std::set<std::string> wanted;
  for (const std::string& name : wish_.joints) {
    const auto joint = std::ranges::find(model_.joints, name, &Joint::name);
    if (joint == model_.joints.end()) {
      throw mistake("subset", "expected names of joints of the model ({}), found '{}'", fmt::join(joint_names(), ", "),
                    name);
    }
    joints_.push_back(&*joint);
    wanted.insert({joint->parent.body, joint->child.body});
  }
  for (const Body& body : model_.bodies) {
    if (!wanted.contains(body.name)) continue;
    bodies_.push_back(body.name);
    home_[body.name] = {.body = body.name, .X_BF = {}};
  }
  if (bodies_.empty()) throw mistake("subset", "expected at least one joint with bodies, found none");
}

/// Bodies that are welded to those of the subset become part of them.
void Importer::absorb_welded() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Joint& weld : model_.joints) {
      if (weld.type != "WeldJoint" || kept(weld.parent.body) == kept(weld.child.body)) continue;
      const bool child_is_new = kept(weld.parent.body);
      const Frame& known = child_is_new ? weld.parent : weld.child;
      const Frame& added = child_is_new ? weld.child : weld.parent;
      if (added.body == "ground") continue;
      const Frame home = at_home(known);
      home_[added.body] = {.body = home.body, .X_BF = home.X_BF * added.X_BF.inverse()};
      import_.taken.push_back(
          fmt::format("body {} as part of {}, to which {} welds it", added.body, home.body, weld.name));
      changed = true;
    }
  }
}

std::string Importer::bodies_text() const {
  std::string text = "bodies:\n";
  for (const std::string& name : bodies_) {
    models::MassProperties mass;
    for (const Body& body : model_.bodies) {
      if (!kept(body.name) || home_.at(body.name).body != name) continue;
      mass = models::welded(
          mass, models::seen_from(home_.at(body.name).X_BF, {body.mass, body.center_of_mass, body.inertia}));
    }
    text += models::body_text(plain(name), mass, pose(name));
  }
  return text;
}

/// True when all six turns and shifts are coordinates of their own.
bool is_free(const Joint& joint) {
  std::set<std::string> coordinates;
  for (const Axis& axis : joint.axes) coordinates.insert(axis.coordinate);
  const bool locked = std::ranges::any_of(joint.coordinates, &Coordinate::locked);
  return joint.type == "FreeJoint" || (coordinates.size() == 6 && !coordinates.contains("") && !locked);
}

std::string Importer::joints_text() {
  std::string text =
      fmt::format("joints:\n  hold: {{type: fixed, bodies: [{}, ground]}}   # the rest moves against it\n",
                  plain(home_.at(bodies_.front()).body));
  for (const Joint* joint : joints_) {
    tell_unknown(*joint);
    if (!kept(joint->parent.body) || !kept(joint->child.body)) {
      miss(fmt::format("joint {}: it holds to {}", joint->name, joint->parent.body));
      continue;
    }
    const Frame a = at_home(joint->parent);
    const Frame b = at_home(joint->child);
    for (const Coordinate& c : joint->coordinates) {
      text += fmt::format("  # {}: coordinate {} = {} at the initial poses, {} to {}\n", joint->name, c.name, c.value,
                          c.min, c.max);
    }
    const std::string ends =
        fmt::format("bodies: [{}, {}], points: [{}, {}]", plain(a.body), plain(b.body), list(a.X_BF.p), list(b.X_BF.p));
    if (joint->type == "PinJoint") {
      text += fmt::format("  {}: {{type: revolute, {}, axes: [{}, {}]}}\n", plain(joint->name), ends,
                          list(a.X_BF.R.col(2)), list(b.X_BF.R.col(2)));
      import_.taken.push_back(fmt::format("joint {} as a revolute joint", joint->name));
    } else if (joint->type == "BallJoint") {
      text += fmt::format("  {}: {{type: spherical, {}}}\n", plain(joint->name), ends);
      import_.taken.push_back(fmt::format("joint {} as a spherical joint", joint->name));
    } else if (joint->type != "WeldJoint") {
      const bool free = is_free(*joint);
      text += fmt::format("  # {}: {} moves freely against {}\n", joint->name, plain(b.body), plain(a.body));
      import_.taken.push_back(fmt::format("joint {}: its bodies move freely against each other", joint->name));
      if (!free) {
        miss(fmt::format("joint {}: what the {} couples or locks; its bodies move freely against each other",
                         joint->name, joint->type));
      }
    }
  }
  return text;
}

/// Null for none.
const Coordinate* coordinate_of(const Joint& joint, const std::string& name) {
  const auto coordinate = std::ranges::find(joint.coordinates, name, &Coordinate::name);
  return coordinate == joint.coordinates.end() ? nullptr : &*coordinate;
}

/// The heading of a coordinate in a motion file; empty for none. OpenSim 4 writes where the coordinate is, too.
std::string heading_of(const std::string& coordinate, const MotionTable& table) {
  const auto names_it = [&](const std::string& heading) {
    return heading == coordinate || heading.ends_with("/" + coordinate + "/value");
  };
  const auto heading = std::ranges::find_if(table.headings, names_it);
  return heading == table.headings.end() ? "" : *heading;
}

double unit_of(const Motion& motion) {
  return motion.table.in_degrees ? std::numbers::pi / 180.0 : 1.0;
}

/// The joint to bend; where a motion does it, in its pose at the beginning.
void Importer::choose_bent() {
  if (wish_.draw && !wish_.flexion) throw mistake("draw", "expected {} beside it, found none", asked("flexion"));
  if (!wish_.flexion && !wish_.motion) return;
  if (wish_.flexion && wish_.motion) throw mistake("motion", "expected no {} beside it, found one", asked("flexion"));
  const char* const key = wish_.motion ? "motion" : "flexion";
  const auto joint = std::ranges::find_if(joints_, [&](const Joint* j) {
    return is_free(*j) && j->type != "FreeJoint" && kept(j->parent.body) && kept(j->child.body);
  });
  if (joint == joints_.end()) {
    throw mistake(key, "expected a joint in {} with six coordinates of its own, found none", asked("subset"));
  }
  bent_ = &*std::ranges::find(model_.joints, (*joint)->name, &Joint::name);
  R_axes_ = (default_pose(model_, at_home(bent_->parent).body).R * at_home(bent_->parent).X_BF.R).transpose();
  if (!wish_.motion) return;
  const MotionTable& table = wish_.motion->table;
  const std::string& name = bent_->axes[0].coordinate;
  const std::string heading = heading_of(name, table);
  if (heading.empty()) {
    throw input_error("motion", fmt::format("{}: expected a column {}, found {}", table.file_name, name,
                                            fmt::join(table.headings, ", ")));
  }
  if (table.times().front() != 0.0) {
    throw input_error("motion", fmt::format("{}: expected a motion that begins at 0 s, found {} s: shift its times",
                                            table.file_name, table.times().front()));
  }
  if (wish_.coordinates.contains(name)) {
    throw mistake("coordinates", "expected no {} beside {}, which says where it begins, found one", name,
                  asked("motion"));
  }
  std::ranges::find(bent_->coordinates, name, &Coordinate::name)->value =
      unit_of(*wish_.motion) * table.column(heading).front();
}

/// A body that turns with the flexion and goes where the bent body goes: a universal joint at that one's origin leaves
/// the two other turns and the three shifts of the model's joint free.
void Importer::prescribe_flexion() {
  const Axis& bend = bent_->axes[0];
  const Frame b = at_home(bent_->child);
  int k = 0;
  if (bend.direction.cwiseAbs().maxCoeff(&k) < 1.0 - 1e-6) {
    throw mistake(wish_.motion ? "motion" : "flexion",
                  "expected joint {} to turn first about x, y or z of its parent frame, found another axis: prescribe "
                  "it in the scenario",
                  bent_->name);
  }
  const double sign = bend.slope * bend.direction[k];
  const double start = sign * coordinate_of(*bent_, bend.coordinate)->value + bend.offset * bend.direction[k];
  const Pose X_WB = pose(b.body) * b.X_BF;
  flexed_body_ = models::body_text("flexed", {0.01, Vector3::Zero(), 1e-5 * Matrix3::Identity()},
                                   {.R = Eigen::AngleAxisd(start, Vector3::Unit(k)).toRotationMatrix(), .p = X_WB.p});
  flexed_joint_ = fmt::format(
      "  flexed: {{type: universal, bodies: [flexed, {}], points: [[0, 0, 0], {}], axes: [{}, {}]}}\n", plain(b.body),
      list(b.X_BF.p), list(bent_->axes[1].direction), list(b.X_BF.R * bent_->axes[2].direction));
  driver_ = "drivers:\n  flexion:\n    body: flexed   # as far as it turns the joint does\n";
  for (int i = 0; i < 3; ++i) {
    driver_ += fmt::format("    r{}: {{{}}}\n", "xyz"[i], i == k ? course_text(bend, sign, start) : "polynomial: [0]");
  }
  driver_ += "\n";
  if (!wish_.draw) return;
  driver_ +=
      fmt::format("loads:\n  draw:\n    body: {}\n    frame: body\n    point: {}\n", plain(b.body), list(b.X_BF.p));
  for (int i = 0; i < 3; ++i) {
    const double force = *wish_.draw * b.X_BF.R(i, 0);
    if (force != 0.0) driver_ += fmt::format("    f{}: {{expression: \"{} * step(t, 1, 2)\"}}\n", "xyz"[i], force);
  }
  driver_ += "\n";
  import_.taken.push_back(fmt::format("{}: drawn by {} N along its x axis after the flexion", b.body, *wish_.draw));
}

/// What the bent angle does in time.
std::string Importer::course_text(const Axis& bend, double sign, double start) {
  const std::string what = fmt::format("coordinate {} of {}: ", bend.coordinate, bent_->name);
  if (wish_.motion) {
    const Motion& motion = *wish_.motion;
    if (bend.offset != 0.0) {
      throw mistake("motion",
                    "expected joint {} to turn by a multiple of {}, found an angle added to it: prescribe it in the "
                    "scenario",
                    bent_->name, bend.coordinate);
    }
    const std::string name = motion.file.filename().string();
    import_.taken.push_back(what + "follows " + name + " in time");
    return fmt::format("file: {{name: {}, column: \"{}\", time: \"{}\", scale: {}}}", named(motion.file, name),
                       heading_of(bend.coordinate, motion.table), motion.table.headings.front(),
                       sign * unit_of(motion));
  }
  const double by = sign * (*wish_.flexion - coordinate_of(*bent_, bend.coordinate)->value);
  import_.taken.push_back(what + fmt::format("bent to {:.4g} rad in equilibria", *wish_.flexion));
  return wish_.draw ? fmt::format("expression: \"{} + {} * step(t, 0, 1)\"", start, by)
                    : fmt::format("polynomial: [{}, {}]", start, by);
}

std::string Importer::analysis_text() const {
  if (wish_.flexion) {
    return fmt::format("analysis:\n  type: static\n  end_time: {}\n\noutput:\n  interval: 0.05\n", wish_.draw ? 2 : 1);
  }
  // Steps of the output of OpenSim-JAM. Tolerances a tenth of these move a knee by less than 0.01 mm.
  return fmt::format(
      "{}analysis:\n  end_time: {}\n  integrator: {{name: cvode_index1, rtol: 1.0e-4, atol: 1.0e-6}}\n\noutput:\n  "
      "interval: 0.01\n",
      wish_.motion ? ""
                   : "# Nothing drives it: bodies move under gravity, ligaments and muscles. `import-osim --flexion` "
                     "bends a joint.\n",
      wish_.motion ? wish_.motion->table.times().back() : 1.0);
}

void Importer::leave_out() {
  for (const std::string& name : wish_.without) {
    const std::size_t before = left_out_.size();
    for (const Line& line : model_.lines) {
      if (line.name == name || bundle_name(line.name) == name) left_out_.insert(line.name);
    }
    if (left_out_.size() > before) continue;
    std::set<std::string> known;
    for (const Line& line : model_.lines) known.insert(bundle_name(line.name));
    throw mistake("without", "expected names of ligaments or muscles of the model ({}), found '{}'",
                  fmt::join(known, ", "), name);
  }
}

std::optional<std::string> Importer::reason_against(const CoordinateSpring& spring, const Joint& joint) const {
  const bool free = is_free(joint) && joint.type != "FreeJoint";
  if (!spring.applies) return "it is switched off (appliesForce)";
  if (joint.type == "PinJoint") return std::nullopt;
  if (!free) return fmt::format("springs and dampers of a {} that couples or locks are not taken", joint.type);
  const auto axis = std::ranges::find(joint.axes, spring.coordinate, &Axis::coordinate);
  const Frame a = at_home(joint.parent);
  const Vector3 direction = pose(a.body).R * a.X_BF.R * axis->direction;
  if (direction.cwiseAbs().maxCoeff() < 1.0 - 1e-6) return "its axis is not along x, y or z of the scenario";
  if (bent_ == &joint && axis == joint.axes.begin()) return "its coordinate is prescribed";
  if (spring.stiffness != 0.0 && spring.rest != coordinate_of(joint, spring.coordinate)->value) {
    return fmt::format("its rest length {:.6g} is not where its coordinate is", spring.rest);
  }
  return std::nullopt;
}

std::string Importer::torsional_text(const Joint& joint, const CoordinateSpring& spring) {
  return fmt::format("  {}: {{type: torsional_spring, joint: {}, stiffness: {}, damping: {}, neutral: {}}}\n",
                     plain(spring.name), plain(joint.name), spring.stiffness, spring.viscosity,
                     spring.rest - coordinate_of(joint, spring.coordinate)->value);
}

/// Bushings of a joint that moves freely. Its second and third turn are about axes that the first one carries along:
/// so are those of a bushing from the body that is turned by it, where there is one.
std::string Importer::bushings_text(const Joint& joint, const std::vector<const CoordinateSpring*>& springs) {
  const Frame a = at_home(joint.parent), b = at_home(joint.child);
  const Matrix3 R_WP = pose(a.body).R * a.X_BF.R;
  Vector6 stiffness = Vector6::Zero(), damping = Vector6::Zero();
  for (const CoordinateSpring* spring : springs) {
    const auto axis = std::ranges::find(joint.axes, spring->coordinate, &Axis::coordinate);
    Eigen::Index along = 0;
    (R_WP * axis->direction).cwiseAbs().maxCoeff(&along);
    const Eigen::Index i = (axis - joint.axes.begin() < 3 ? 0 : 3) + along;
    stiffness[i] += axis->slope * axis->slope * spring->stiffness;
    damping[i] += axis->slope * axis->slope * spring->viscosity;
  }
  const Vector3 point = (pose(b.body) * b.X_BF).p;
  const auto part = [&](const char* name, const std::string& from, Eigen::Index first) -> std::string {
    Vector6 k = Vector6::Zero(), c = Vector6::Zero();
    k.segment<3>(first) = stiffness.segment<3>(first);
    c.segment<3>(first) = damping.segment<3>(first);
    if (k.isZero(0.0) && c.isZero(0.0)) return "";
    return fmt::format(
        "  {}_{}: {{type: bushing, bodies: [{}, {}], point: {}, stiffness_matrix: [{}], damping_matrix: [{}]}}\n",
        plain(joint.name), name, from, plain(b.body), list(point), fmt::join(k, ", "), fmt::join(c, ", "));
  };
  return part("turns", bent_ == &joint ? "flexed" : plain(a.body), 0) + part("shifts", plain(a.body), 3);
}

/// Springs and dampers on coordinates of the subset.
std::string Importer::springs_text() {
  std::string text;
  std::set<const CoordinateSpring*> seen;
  for (const Joint* joint : joints_) {
    if (!kept(joint->parent.body) || !kept(joint->child.body)) continue;
    std::vector<const CoordinateSpring*> free;
    for (const CoordinateSpring& spring : model_.springs) {
      if (coordinate_of(*joint, spring.coordinate) == nullptr) continue;
      seen.insert(&spring);
      const auto reason = reason_against(spring, *joint);
      if (reason) {
        miss(fmt::format("SpringGeneralizedForce {}: {}", spring.name, *reason));
      } else if (joint->type == "PinJoint") {
        text += torsional_text(*joint, spring);
        import_.taken.push_back(fmt::format("spring and damper {} of joint {}", spring.name, joint->name));
      } else {
        free.push_back(&spring);
        import_.taken.push_back(fmt::format("spring and damper {} as part of a bushing, for small turns: joint {}",
                                            spring.name, joint->name));
      }
    }
    if (!free.empty()) text += bushings_text(*joint, free);
  }
  for (const CoordinateSpring& spring : model_.springs) {
    if (!seen.contains(&spring)) {
      miss(fmt::format("SpringGeneralizedForce {}: its coordinate {} is not in the subset", spring.name,
                       spring.coordinate));
    }
  }
  return text;
}

/// Curves of a muscle by the name that a scenario has for them; none for a line that is no muscle.
std::optional<std::string> curves_of(const Line& line) {
  if (line.type == "Millard2012EquilibriumMuscle") return "millard2012";
  if (line.type == "Thelen2003Muscle") return "thelen2003";
  return std::nullopt;
}

std::optional<std::string> Importer::reason_against(const Line& line) const {
  const bool muscle = curves_of(line).has_value();
  if (line.type != "Blankevoort1991Ligament" && !muscle) return "there is no such force here yet";
  if (!line.applies) return "it is switched off (appliesForce)";
  if (left_out_.contains(line.name)) return fmt::format("left out ({})", asked("without"));
  if (line.points.size() < 2) return "it has fewer than two points";
  std::set<std::string> homes;
  for (const PathPoint& point : line.points) {
    if (point.type != "PathPoint") return fmt::format("its point is a {}, which moves in its body", point.type);
    if (!kept(point.at.body)) return fmt::format("it holds to {}", point.at.body);
    homes.insert(home_.at(point.at.body).body);
  }
  if (homes.size() < 2) return "all its points are in one body";
  if (muscle) return std::nullopt;
  if (!(line.stiffness > 0.0) || !(line.slack_length > 0.0)) return "it has no stiffness or no slack length";
  return std::nullopt;
}

/// The surface that a line wraps over, null for none.
const WrapObject* Importer::wrap_of(const Line& line) {
  if (line.wraps.empty()) return nullptr;
  for (std::size_t i = 1; i < line.wraps.size(); ++i) {
    miss(fmt::format("{}: its wrap object {}; a line wraps over the first of its objects only", line.name,
                     line.wraps[i]));
  }
  if (line.has_range) miss(fmt::format("{}: the range of its wrap; all of its parts may wrap", line.name));
  const auto wrap = std::ranges::find(model_.wraps, line.wraps.front(), &WrapObject::name);
  if (wrap == model_.wraps.end()) {
    miss(fmt::format("{}: its wrap object {}, which the model has not", line.name, line.wraps.front()));
    return nullptr;
  }
  const bool known = wrap->type == "WrapSphere" || wrap->type == "WrapCylinder" || wrap->type == "WrapEllipsoid";
  if (!known || !wrap->active || !kept(wrap->body) || wrap->dimensions.empty()) {
    miss(fmt::format("{}: its wrap object {}, {}", line.name, wrap->name,
                     !known          ? "a " + wrap->type
                     : !wrap->active ? std::string("which is not active")
                                     : "in " + wrap->body + " or without dimensions"));
    return nullptr;
  }
  return &*wrap;
}

bool Importer::inside(const WrapObject& wrap, const Frame& point) const {
  const Vector3 y = (pose(wrap.body) * wrap.X_BS).inverse() * (pose(point.body) * point.X_BF.p);
  double level = 0.0;
  for (int i = 0; i < (wrap.type == "WrapCylinder" ? 2 : 3); ++i) {
    const double r = wrap.dimensions.size() == 3 ? wrap.dimensions[static_cast<std::size_t>(i)] : wrap.dimensions[0];
    level += y[i] * y[i] / (r * r);
  }
  return level < 1.0;
}

std::string Importer::wrap_text(const WrapObject& wrap) const {
  const Frame at = at_home({.body = wrap.body, .X_BF = wrap.X_BS});
  const std::string shape = wrap.type == "WrapSphere" ? fmt::format("sphere: {}", wrap.dimensions[0])
                            : wrap.type == "WrapCylinder"
                                ? fmt::format("cylinder: {}", wrap.dimensions[0])
                                : fmt::format("ellipsoid: [{}]", fmt::join(wrap.dimensions, ", "));
  std::string side;
  if (wrap.quadrant != "all") {
    const double sign = wrap.quadrant.starts_with('-') ? -1.0 : 1.0;
    const char axis = wrap.quadrant.back();
    side = fmt::format(", side: {}", list(sign * Vector3(axis == 'x', axis == 'y', axis == 'z')));
  }
  return fmt::format("{}: {{body: {}, {}, position: {}, orientation: {}{}}}", plain(wrap.name), plain(at.body), shape,
                     list(at.X_BF.p), quaternion(at.X_BF.R), side);
}

std::string Importer::line_text(const Line& line, std::vector<const WrapObject*>& used) {
  return fmt::format("      {}:\n        stiffness: {}\n        slack_length: {}\n        path:\n{}", plain(line.name),
                     line.stiffness, line.slack_length, path_text(line, used));
}

std::string Importer::path_text(const Line& line, std::vector<const WrapObject*>& used) {
  const WrapObject* wrap = wrap_of(line);
  std::string text;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const Frame at = at_home(line.points[i].at);
    std::string over;
    if (wrap != nullptr && i + 1 < line.points.size()) {
      if (inside(*wrap, line.points[i].at) || inside(*wrap, line.points[i + 1].at)) {
        miss(
            fmt::format("{}: wrapping over {} from its point {}: an end lies inside, so that it is straight, as in "
                        "OpenSim",
                        line.name, wrap->name, i + 1));
      } else {
        over = fmt::format(", wrap: {}", plain(wrap->name));
        if (std::ranges::find(used, wrap) == used.end()) used.push_back(wrap);
        used_wraps_.insert(wrap);
      }
    }
    text += fmt::format("          - {{body: {}, point: {}{}}}\n", plain(at.body), list(at.X_BF.p), over);
  }
  return text;
}

std::string Importer::muscle_text(const Line& line) {
  const Muscle& m = line.muscle;
  std::vector<const WrapObject*> used;
  const std::string path = path_text(line, used);
  const bool rigid = m.rigid_tendon || wish_.flexion || wish_.rigid_tendons;
  std::string text = fmt::format(
      "  {}:\n    type: muscle\n    curves: {}\n    tendon: {}\n    max_isometric_force: {}\n    "
      "optimal_fiber_length: {}\n    tendon_slack_length: {}\n    pennation_angle: {}\n    max_contraction_velocity: "
      "{}\n    fiber_damping: {}\n    minimum_activation: {}\n    activation_time: {}\n    deactivation_time: {}\n",
      plain(line.name), *curves_of(line), rigid ? "rigid" : "elastic", m.max_force, m.optimal_length, m.tendon_length,
      m.pennation, m.max_velocity, m.fiber_damping, m.least_activation, m.rise, m.fall);
  if (wish_.activation) text += fmt::format("    activation: {{polynomial: [{}]}}\n", *wish_.activation);
  if (m.passive_strain) text += fmt::format("    passive_strain: {}\n", *m.passive_strain);
  if (!used.empty()) text += fmt::format("    surfaces:\n      {}\n", wrap_text(*used.front()));
  if (rigid && !m.rigid_tendon) {
    miss(fmt::format("muscle {}: its elastic tendon; {}", line.name,
                     wish_.flexion ? "rigid in equilibria" : fmt::format("rigid ({})", asked("rigid_tendons"))));
  }
  import_.taken.push_back(fmt::format("muscle {}", line.name));
  return text + "    path:\n" + path;
}

std::string Importer::muscles_text() {
  std::string text;
  for (const Line& line : model_.lines) {
    if (curves_of(line) && !reason_against(line)) text += muscle_text(line);
  }
  return text;
}

std::string Importer::forces_text() {
  std::vector<Bundle> bundles;
  for (const Line& line : model_.lines) {
    if (const auto reason = reason_against(line)) {
      miss(fmt::format("{} {}: {}", line.type, line.name, *reason));
      continue;
    }
    if (curves_of(line)) continue;
    const std::string name = bundle_name(line.name);
    auto bundle = std::ranges::find_if(bundles, [&](const Bundle& b) {
      return b.name == name && b.transition_strain == line.transition_strain && b.damping == line.damping;
    });
    if (bundle == bundles.end()) {
      const bool taken = std::ranges::find(bundles, name, &Bundle::name) != bundles.end();
      bundles.push_back({taken ? plain(line.name) : name, line.transition_strain, line.damping, {}});
      bundle = std::prev(bundles.end());
    }
    bundle->lines.push_back(&line);
  }
  const std::string muscles = muscles_text() + springs_text();
  if (bundles.empty() && muscles.empty()) return "";
  std::string text = "forces:\n";
  for (const Bundle& bundle : bundles) {
    std::vector<const WrapObject*> used;
    std::string lines;
    for (const Line* line : bundle.lines) lines += line_text(*line, used);
    text += fmt::format("  {}:\n    type: ligament\n    stiffness: {}\n    transition_strain: {}\n    damping: {}\n",
                        bundle.name, bundle.lines.front()->stiffness, bundle.transition_strain, bundle.damping);
    if (!used.empty()) text += "    surfaces:\n";
    for (const WrapObject* wrap : used) text += fmt::format("      {}\n", wrap_text(*wrap));
    text += "    lines:\n" + lines;
    import_.taken.push_back(fmt::format("ligament {}: {} lines", bundle.name, bundle.lines.size()));
  }
  return text + muscles;
}

/// Empty for none.
fs::path Importer::found(const std::string& name, const std::string& file, std::vector<std::string>& searched) const {
  std::vector<fs::path> candidates;
  if (const auto other = wish_.meshes.find(name); other != wish_.meshes.end()) {
    candidates.push_back(other->second);
  } else {
    for (const fs::path& folder : wish_.folders) candidates.push_back(folder / file);
  }
  for (const fs::path& candidate : candidates) {
    searched.push_back(candidate.string());
    if (fs::is_regular_file(wish_.on_disk ? wish_.on_disk(candidate) : candidate)) return candidate;
  }
  return {};
}

/// What the scenario calls a file: its copy in the scenario's folder or, where that is wished, the file itself.
/// @param to  name of the copy
std::string Importer::named(const fs::path& from, const std::string& to) {
  if (wish_.on_disk) return nlohmann::json(from.string()).dump();
  if (std::ranges::find(import_.meshes, to, &MeshCopy::to) == import_.meshes.end()) {
    import_.meshes.push_back({.from = from, .to = to});
  }
  return nlohmann::json(to).dump();
}

std::string Importer::mesh_file(const std::string& name, const fs::path& from) {
  return named(from, "meshes/" + plain(name) + from.extension().string());
}

std::string Importer::mesh_name(const ContactMesh& mesh) {
  std::vector<std::string> searched;
  const fs::path from = found(mesh.name, mesh.file, searched);
  if (from.empty()) {
    throw input_error(
        "meshes",
        fmt::format("contact mesh '{}': expected the file '{}', found none of {}; give its folder "
                    "with {} or another file with {}",
                    mesh.name, mesh.file, fmt::join(searched, ", "), asked("geometry"), other_file(mesh.name)));
  }
  return mesh_file(mesh.name, from);
}

/// How thick a layer is: a number, or what is between both of its surfaces.
std::string Importer::layer_text(const ContactMesh& mesh, const std::string& thickness_key,
                                 const std::string& back_key) {
  std::string constant = fmt::format("      {}: {}\n", thickness_key, mesh.thickness);
  if (!mesh.variable_thickness) return constant;
  std::vector<std::string> searched;
  const std::string name = mesh.name + ".back";
  const fs::path from = found(name, mesh.back_file, searched);
  if (!from.empty()) return fmt::format("      {}: {}\n", back_key, mesh_file(mesh.name + "_back", from));
  if (wish_.meshes.contains(name)) {
    throw input_error("meshes", fmt::format("contact mesh '{}': expected the file of {}, found no '{}'", mesh.name,
                                            other_file(name), searched.front()));
  }
  miss(
      fmt::format("contact mesh {}: its variable thickness, because there is no {} ({}); it has the constant one, {} m",
                  mesh.name, mesh.back_file, other_file(name), mesh.thickness));
  return constant;
}

std::string Importer::side_text(const ContactMesh& mesh) {
  const Frame at = at_home(mesh.frame);
  if (!mesh.scale.isApprox(Vector3::Ones())) miss(fmt::format("contact mesh {}: its scale factors", mesh.name));
  return fmt::format(
      "      body: {}\n      surface: {{mesh: {{file: {}, position: {}, orientation: {}}}}}\n      material: "
      "{{youngs_modulus: {}, poissons_ratio: {}}}\n",
      plain(at.body), mesh_name(mesh), list(at.X_BF.p), quaternion(at.X_BF.R), mesh.youngs_modulus,
      mesh.poissons_ratio);
}

std::string Importer::pair_text(const ContactForce& contact, const ContactMesh& target, const ContactMesh& casting) {
  import_.taken.push_back(fmt::format("contact {}: {} on {}", contact.name, casting.name, target.name));
  const std::string main = side_text(casting);
  const std::string partner = side_text(target);
  std::string layers = layer_text(casting, "thickness", "back_file");
  layers += layer_text(target, "partner_thickness", "met_back_file");
  if (layers.find("back_file") != std::string::npos) {
    double least = 0.0;
    for (const ContactMesh* mesh : {&casting, &target}) {
      if (mesh->variable_thickness) least = std::max(least, mesh->least_thickness);
    }
    if (least > 0.0) layers += fmt::format("      back_least: {}\n", least);
  }
  return fmt::format(
      "  {}:\n    main:\n{}    partner:\n{}    backend: elastic_foundation\n    parameters:\n{}      layers: {}\n     "
      " strain: {}\n      springs: centres\n      direction: normal\n      normals: facets\n",
      plain(contact.name), main, partner, layers, contact.lumped ? "lumped" : "series",
      contact.nonlinear ? "large" : "small");
}

/// Another file for a mesh is for one that the model has.
void Importer::check_mesh_names() const {
  std::vector<std::string> known;
  for (const ContactMesh& mesh : model_.meshes) known.insert(known.end(), {mesh.name, mesh.name + ".back"});
  for (const auto& [name, file] : wish_.meshes) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw mistake("meshes", "expected names of contact meshes of the model ({}), found '{}'", fmt::join(known, ", "),
                  name);
  }
}

std::string Importer::contact_text() {
  std::string pairs;
  for (const ContactForce& contact : model_.contacts) {
    const auto target = std::ranges::find(model_.meshes, contact.target, &ContactMesh::name);
    const auto casting = std::ranges::find(model_.meshes, contact.casting, &ContactMesh::name);
    const std::string name = fmt::format("contact {}", contact.name);
    if (!contact.applies) {
      miss(name + ": it is switched off (appliesForce)");
    } else if (target == model_.meshes.end() || casting == model_.meshes.end()) {
      miss(fmt::format("{}: its mesh {}, which the model has not", name,
                       target == model_.meshes.end() ? contact.target : contact.casting));
    } else if (!kept(target->frame.body) || !kept(casting->frame.body)) {
      miss(
          fmt::format("{}: it holds to {}", name, kept(target->frame.body) ? casting->frame.body : target->frame.body));
    } else {
      pairs += pair_text(contact, *target, *casting);
    }
  }
  return pairs.empty() ? "" : "contact:\n" + pairs;
}

void Importer::tell_others() {
  for (const Body& body : model_.bodies) {
    if (!kept(body.name)) miss(fmt::format("body {}: it is not in the subset", body.name));
  }
  for (const Joint& joint : model_.joints) {
    const bool welds = joint.type == "WeldJoint" && kept(joint.parent.body) && kept(joint.child.body);
    if (!welds && std::ranges::find(joints_, &joint) == joints_.end()) {
      miss(fmt::format("joint {}: it is not in the subset", joint.name));
    }
  }
  std::map<std::string, std::vector<std::string>> others;
  for (const Other& other : model_.others) others[other.kind].push_back(other.name);
  for (const auto& [kind, names] : others) miss(fmt::format("{} {}", kind, fmt::join(names, ", ")));
  std::vector<std::string> idle;
  for (const WrapObject& wrap : model_.wraps) {
    if (!used_wraps_.contains(&wrap)) idle.push_back(wrap.name);
  }
  if (!idle.empty()) miss(fmt::format("wrap objects that no line here wraps over: {}", fmt::join(idle, ", ")));
  for (const std::string& elements : model_.unread) miss("not read, " + elements);
}

Import Importer::run() {
  check_mesh_names();
  set_coordinates();
  hold_joints();
  choose_joints();
  absorb_welded();
  choose_bent();
  leave_out();
  for (const std::string& name : bodies_) import_.taken.push_back(fmt::format("body {}", name));
  const std::string joints = joints_text();
  if (bent_ != nullptr) prescribe_flexion();
  const std::string forces = forces_text();
  const std::string contact = contact_text();
  tell_others();
  import_.scenario = fmt::format(
      "# From the OpenSim model {}; what of it is not here is in NOT_IMPORTED.txt.\nheelstrike: 1\ngravity: "
      "{}\n\n{}{}\n{}{}\n{}"
      "{}\n{}\n{}",
      plain(model_.name), list(R_axes_ * model_.gravity), bodies_text(), flexed_body_, joints, flexed_joint_, driver_,
      forces, contact, analysis_text());
  return std::move(import_);
}

}  // namespace

std::vector<fs::path> mesh_folders(std::vector<fs::path> given, const fs::path& model) {
  given.push_back(model.parent_path());
  given.push_back(model.parent_path() / "Geometry");
  return given;
}

Import import_model(Model model, const ImportWish& wish) {
  return Importer(std::move(model), wish).run();
}

}  // namespace heelstrike::client::osim
