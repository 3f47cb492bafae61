#include "importers/opensim/osim_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "common/errors/error.hpp"
#include "common/spatial/wrap_surface.hpp"
#include "importers/opensim/model_scaling.hpp"
#include "scenario/line_paths.hpp"

namespace heelstrike::osim {
namespace {

namespace fs = std::filesystem;
using models::ImportedMesh;
using models::list;
using models::plain;
using models::quaternion;

/// Name without trailing digits: MCLd1 and MCLd2 are lines of MCLd.
std::string bundle_name(const std::string& line) {
  const auto end = line.find_last_not_of("0123456789");
  return plain(end == std::string::npos ? line : line.substr(0, end + 1));
}

/// Lines that form one force element of the scenario.
struct Bundle {
  std::string name;
  double transition_strain = 0.0;
  double damping = 0.0;
  std::vector<const Line*> lines;
};

/// Direction of the side on which lines pass; zero if unrestricted.
Vector3 side_of(const WrapObject& wrap) {
  if (wrap.quadrant == "all") return Vector3::Zero();
  const char axis = wrap.quadrant.back();
  return (wrap.quadrant.starts_with('-') ? -1.0 : 1.0) * Vector3(axis == 'x', axis == 'y', axis == 'z');
}

/// @pre the object has dimensions
WrapShape shape_of(const WrapObject& wrap) {
  WrapShape shape{.radii = Vector3::Constant(wrap.dimensions[0]), .side = side_of(wrap)};
  if (wrap.type == "WrapCylinder") {
    shape.radii.z() = std::numeric_limits<double>::infinity();
    shape.half_length = 0.5 * wrap.length;
  }
  if (wrap.dimensions.size() == 3) shape.radii = {wrap.dimensions[0], wrap.dimensions[1], wrap.dimensions[2]};
  return shape;
}

class Importer {
 public:
  Importer(Model model, const ImportOptions& import_options)
      : model_(std::move(model)), import_options_(import_options) {}

  [[nodiscard]] Import run();

 private:
  [[nodiscard]] std::string option_name(std::string_view key) const;
  template <typename... Values>
  [[nodiscard]] Error error_at(const char* key, fmt::format_string<Values...> text, Values&&... values) const {
    return input_error(key, option_name(key) + ": " + fmt::format(text, std::forward<Values>(values)...));
  }
  void scale();
  void set_coordinates();
  void begin_motion();
  [[nodiscard]] const std::vector<double>& motion_column(const std::string& heading) const;
  void follow_couplers();
  void apply_locked();
  void lock_joints();
  void require_known(const Joint& joint) const;
  [[nodiscard]] bool is_whole() const { return import_options_.joints.empty(); }
  [[nodiscard]] bool driven(const std::string& coordinate) const;
  [[nodiscard]] double unit_of(const std::string& rotation) const;
  void check_radians() const;
  [[nodiscard]] models::MassProperties mass_of(const std::string& body);
  [[nodiscard]] std::string joint_text(const Joint& joint);
  [[nodiscard]] std::string custom_text(const Joint& joint, const Frame& a, const Frame& b);
  [[nodiscard]] std::string couplers_text();
  [[nodiscard]] std::string constraints_text();
  [[nodiscard]] std::string limits_text();
  [[nodiscard]] bool is_custom(const Joint& joint) const;
  void drive_coordinates();
  [[nodiscard]] std::string motion_file();
  [[nodiscard]] std::string motion_name() const;
  [[nodiscard]] std::string motion_column_text(const Joint& joint, const std::string& coordinate);
  [[nodiscard]] std::optional<std::string> prescribed_text(const Coordinate& coordinate);
  void choose_joints();
  void merge_welded();
  void join_welded(const Joint& weld);
  [[nodiscard]] std::string bodies_text();
  [[nodiscard]] std::string joints_text();
  void choose_driven_joint();
  void leave_out();
  void require_fixed_parent(const std::string& parent, const char* key) const;
  void prescribe_flexion();
  [[nodiscard]] std::string driver_function_text(const Axis& driven_axis, double sign, double start);
  [[nodiscard]] std::string springs_text();
  [[nodiscard]] std::string torsional_text(const Joint& joint, const CoordinateSpring& spring);
  [[nodiscard]] std::string bushings_text(const Joint& joint, const std::vector<const CoordinateSpring*>& springs);
  [[nodiscard]] std::optional<std::string> find_unsupported_reason(const CoordinateSpring& spring,
                                                                   const Joint& joint) const;
  [[nodiscard]] std::string analysis_text() const;
  [[nodiscard]] std::string forces_text();
  [[nodiscard]] std::string line_text(const Line& line, std::vector<const WrapObject*>& used);
  [[nodiscard]] std::string path_text(const Line& line, std::vector<const WrapObject*>& used);
  [[nodiscard]] std::string muscle_text(const Line& line);
  [[nodiscard]] std::string muscles_text();
  [[nodiscard]] std::optional<std::string> find_unsupported_reason(const Line& line) const;
  [[nodiscard]] std::optional<std::string> find_unsupported_reason(const PathPoint& point) const;
  [[nodiscard]] std::optional<std::string> find_length_fault(const Line& line, double usual, const char* what) const;
  [[nodiscard]] bool has_coordinate(const std::string& name) const;
  [[nodiscard]] std::vector<PathPoint> points_of(const Line& line) const;
  [[nodiscard]] std::string point_text(const PathPoint& point) const;
  [[nodiscard]] Vector3 at_start(const PathPoint& point) const;
  struct ActiveWrap {
    const WrapObject* object;
    int first, last;
  };
  [[nodiscard]] std::vector<ActiveWrap> wraps_of(const Line& line);
  [[nodiscard]] std::string wrap_names(const Line& line, const std::vector<ActiveWrap>& wraps,
                                       const std::vector<PathPoint>& points, std::size_t i);
  [[nodiscard]] bool inside(const WrapObject& wrap, const PathPoint& point) const;
  [[nodiscard]] std::string wrap_text(const WrapObject& wrap) const;
  [[nodiscard]] std::string loads_text();
  [[nodiscard]] std::string load_text(const ExternalForce& force, const std::string& file);
  [[nodiscard]] std::string load_data(const std::vector<std::string>& headings) const;
  [[nodiscard]] double motion_start() const;
  [[nodiscard]] double end_time() const;
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
  /// Option that sets another file for a mesh.
  [[nodiscard]] std::string other_file(const std::string& mesh) const {
    return option_name("meshes") + (import_options_.in_section ? ", `" + mesh + ": FILE`" : " " + mesh + "=FILE");
  }
  void check_mesh_names() const;
  void report_omissions();
  [[nodiscard]] std::vector<std::string> joint_names() const;

  [[nodiscard]] bool is_imported(const std::string& body) const { return merged_frames_.contains(body); }
  /// Initial pose of a body in the scenario, whose axes are those of the parent frame of the driven joint.
  [[nodiscard]] Pose pose(const std::string& body) const {
    if (body == "ground") return {};
    const Pose X = default_pose(model_, body);
    return {.R = R_axes_ * X.R, .p = R_axes_ * X.p};
  }
  /// A frame of the model, expressed in the scenario body that contains it.
  [[nodiscard]] Frame in_merged_body(const Frame& frame) const {
    const Frame& merged = merged_frames_.at(frame.body);
    return {.body = merged.body, .X_BF = merged.X_BF * frame.X_BF};
  }
  void add_omission(std::string text) {
    if (std::ranges::find(import_.omissions, text) == import_.omissions.end()) {
      import_.omissions.push_back(std::move(text));
    }
  }

  Model model_;
  const ImportOptions& import_options_;
  Import import_;
  std::vector<const Joint*> joints_;
  std::set<const WrapObject*> used_wraps_;
  Joint* driven_joint_ = nullptr;                    ///< the driven joint; null = none
  Matrix3 R_axes_ = Matrix3::Identity();             ///< from the model's ground to the axes of the scenario
  std::string flexed_body_, flexed_joint_, driver_;  ///< body, joint and driver of the flexion; empty = none
  std::set<std::string> omitted_;                    ///< ligaments, muscles and contacts
  std::map<std::string, double> fixed_;              ///< locked coordinates with their values
  bool all_driven_ = false;                          ///< drivers and couplers determine all coordinates
  std::vector<std::string> bodies_;                  ///< of the scenario, in the order of the model
  std::map<std::string, Frame>
      merged_frames_;  ///< bodies of the model, including merged ones, with their pose in the scenario body
};

/// Name of an option as the caller wrote it.
std::string Importer::option_name(std::string_view key) const {
  if (import_options_.in_section) return "import." + std::string(key);
  std::string option = key == "meshes" ? "mesh" : std::string(key);
  if (option.ends_with("coordinates")) option.pop_back();
  std::ranges::replace(option, '_', '-');
  return "--" + option;
}

bool follows(const Axis& axis, const std::string& coordinate) {
  return std::ranges::find(axis.function.terms, coordinate, &Function::Term::coordinate) != axis.function.terms.end();
}

/// True for a coordinate that rotates its joint and is not a translation.
bool is_rotation(const Joint& joint, const std::string& coordinate) {
  const auto rotations = joint.axes.begin() + 3;
  // Excluded: a translation equal to the coordinate. Other rotations and translations may depend on a rotation.
  const bool shifts =
      std::any_of(rotations, joint.axes.end(), [&](const Axis& axis) { return axis.coordinate() == coordinate; });
  const bool has_rotation =
      std::any_of(joint.axes.begin(), rotations, [&](const Axis& axis) { return axis.coordinate() == coordinate; });
  return has_rotation || (!shifts && std::any_of(joint.axes.begin(), rotations,
                                                 [&](const Axis& axis) { return follows(axis, coordinate); }));
}

/// True if the pose of the joint depends on the coordinate.
bool has_motion_of(const Joint& joint, const std::string& coordinate) {
  return std::ranges::any_of(joint.axes, [&](const Axis& axis) { return follows(axis, coordinate); });
}

/// The heading of a coordinate in a motion file; empty for none. OpenSim 4 writes the path of the coordinate.
std::string heading_of(const std::string& coordinate, const MotionTable& table) {
  const auto is_column_of = [&](const std::string& heading) {
    return heading == coordinate || heading.ends_with("/" + coordinate + "/value");
  };
  const auto heading = std::ranges::find_if(table.headings, is_column_of);
  return heading == table.headings.end() ? "" : *heading;
}

/// Replaces default values, which determine poses and locked joints.
void Importer::set_coordinates() {
  for (const auto& [name, value] : import_options_.coordinates) {
    std::vector<std::string> known;
    bool found = false;
    for (Joint& joint : model_.joints) {
      for (Coordinate& coordinate : joint.coordinates) {
        known.push_back(coordinate.name);
        if (coordinate.name != name) continue;
        if (!has_motion_of(joint, name)) {
          throw error_at("coordinates",
                         "expected a coordinate that rotates or translates its joint, found '{}' of {} {}", name,
                         joint.type, joint.name);
        }
        coordinate.value = is_rotation(joint, name) ? import_options_.angle_unit * value : value;
        if (is_rotation(joint, name) && !(std::abs(coordinate.value) <= 2.0 * std::numbers::pi)) {
          throw error_at("coordinates", "expected a rotation {} of at most 2 pi, found {:.6g} rad", name,
                         coordinate.value);
        }
        if (coordinate.min < coordinate.max &&
            (coordinate.value < coordinate.min || coordinate.value > coordinate.max)) {
          add_omission(fmt::format(
              "coordinate {}: its range, {:.4g} to {:.4g}, which does not contain the requested value {:.4g}", name,
              coordinate.min, coordinate.max, coordinate.value));
        }
        import_.imported.push_back(
            fmt::format("coordinate {} of joint {} at {:.4g}", name, joint.name, coordinate.value));
        found = true;
      }
    }
    if (found) continue;
    throw error_at("coordinates", "expected names of coordinates of the model ({}), found '{}'", fmt::join(known, ", "),
                   name);
  }
}

/// Replaces locked joints by welds at their coordinate values.
void Importer::lock_joints() {
  for (const std::string& name : import_options_.fixed_joints) {
    const auto joint = std::ranges::find(model_.joints, name, &Joint::name);
    if (joint == model_.joints.end()) {
      throw error_at("lock_joints", "expected names of joints of the model ({}), found '{}'",
                     fmt::join(joint_names(), ", "), name);
    }
    require_known(*joint);
    joint->parent.X_BF = joint->parent.X_BF * joint_pose(*joint);
    joint->axes = {};
    joint->coordinates.clear();
    joint->type = "WeldJoint";
    import_.imported.push_back(fmt::format("joint {} locked at its coordinate values", name));
  }
}

/// Factor that converts the column of a rotation to rad.
double Importer::unit_of(const std::string& rotation) const {
  const MotionTable& table = import_options_.motion->table;
  if (std::ranges::find(import_options_.radians, rotation) != import_options_.radians.end()) return 1.0;
  const bool has_header = table.file_name.ends_with(".mot") || table.file_name.ends_with(".sto");
  if (has_header && !table.unit_stated) {
    throw input_error("motion", fmt::format("{}: expected `inDegrees=yes` or `inDegrees=no` in its header, because {} "
                                            "is a rotation, found neither; add the line of its unit before `endheader`",
                                            table.file_name, rotation));
  }
  return table.in_degrees ? std::numbers::pi / 180.0 : 1.0;
}

void Importer::check_radians() const {
  if (import_options_.radians.empty()) return;
  if (!import_options_.motion)
    throw error_at("radians", "expected {} together with it, found none", option_name("motion"));
  for (const std::string& name : import_options_.radians) {
    const Joint* joint = joint_with(model_, name);
    if (joint != nullptr && is_rotation(*joint, name) && !heading_of(name, import_options_.motion->table).empty())
      continue;
    throw error_at("radians", "expected names of rotations with a column in {}, found '{}'",
                   import_options_.motion->table.file_name, name);
  }
}

void Importer::scale() {
  try {
    scale_model(model_, import_options_.scale, import_options_.mass);
  } catch (const Error& error) {
    throw error_at(error.field().c_str(), "{}", error.what());
  }
  for (const auto& [body, factor] : import_options_.scale) {
    import_.imported.push_back(fmt::format("body {} scaled by {:.4g}", body, factor));
  }
}

/// A column of the motion. @throws Error{invalid_input} for one with a gap
const std::vector<double>& Importer::motion_column(const std::string& heading) const {
  const MotionTable& table = import_options_.motion->table;
  const std::vector<double>& column = table.column(heading);
  const auto gap = std::ranges::find_if(column, [](double value) { return !std::isfinite(value); });
  if (gap == column.end()) return column;
  throw input_error(
      "motion",
      fmt::format("{}: expected finite numbers in the column {}, found {} at {} s; interpolate the gap",
                  table.file_name, heading, *gap, table.times()[static_cast<std::size_t>(gap - column.begin())]));
}

/// For a motion of the whole model, sets the coordinates to its row at the start.
void Importer::begin_motion() {
  if (!import_options_.motion || !is_whole()) return;
  const std::vector<double>& times = import_options_.motion->table.times();
  const double start = import_options_.start.value_or(times.front());
  const auto row = static_cast<std::size_t>(std::ranges::lower_bound(times, start) - times.begin());
  if (row == times.size()) {
    throw error_at("start", "expected a time of the motion, {} to {} s, found {} s", times.front(), times.back(),
                   start);
  }
  bool any = false;
  for (Joint& joint : model_.joints) {
    for (Coordinate& coordinate : joint.coordinates) {
      const std::string heading = heading_of(coordinate.name, import_options_.motion->table);
      if (heading.empty()) continue;
      any = true;
      coordinate.locked = false;
      coordinate.value =
          (is_rotation(joint, coordinate.name) ? unit_of(coordinate.name) : 1.0) * motion_column(heading)[row];
    }
  }
  if (any) return;
  throw input_error("motion", fmt::format("{}: expected columns named like coordinates of the model, found {}",
                                          import_options_.motion->table.file_name,
                                          fmt::join(import_options_.motion->table.headings, ", ")));
}

/// Sets coupled coordinates to the values of their couplers, which override the file and the options.
void Importer::follow_couplers() {
  for (const Coupler& coupler : model_.couplers) {
    if (!coupler.function.unknown.empty()) {
      throw input_error("model", fmt::format("constraint '{}': its function of kind {} is not supported", coupler.name,
                                             coupler.function.unknown));
    }
  }
  for (std::string& change : apply_couplers(model_)) add_omission(std::move(change));
}

/// Replaces locked coordinates and those without effect by constants; a joint without others is a weld.
void Importer::apply_locked() {
  for (Joint& joint : model_.joints) {
    for (Coordinate& coordinate : joint.coordinates) {
      if (coordinate.locked || has_motion_of(joint, coordinate.name)) continue;
      coordinate.locked = true;
      if (is_whole())
        add_omission(fmt::format("coordinate {}: its joint {} does not depend on it", coordinate.name, joint.name));
    }
    for (const Coordinate& coordinate : joint.coordinates) {
      if (!coordinate.locked) continue;
      for (Axis& axis : joint.axes) {
        std::erase_if(axis.function.terms, [&](const Function::Term& term) {
          if (term.coordinate != coordinate.name) return false;
          axis.function.constant += term.f->at(coordinate.value).f;
          return true;
        });
      }
      fixed_[coordinate.name] = coordinate.value;
      std::erase_if(model_.couplers, [&](const Coupler& coupler) { return coupler.coordinate == coordinate.name; });
    }
    std::erase_if(joint.coordinates, [](const Coordinate& coordinate) { return coordinate.locked; });
  }
}

/// @throws Error{invalid_input} for an unsupported function, because the pose of its joint would be wrong
void Importer::require_known(const Joint& joint) const {
  for (const Axis& axis : joint.axes) {
    if (axis.function.unknown.empty()) continue;
    throw input_error("model", fmt::format("joint '{}': its function of kind {} is not supported, so that its pose is "
                                           "unknown; replace it in the model by a SimmSpline or a PolynomialFunction",
                                           joint.name, axis.function.unknown));
  }
}

bool Importer::driven(const std::string& coordinate) const {
  return import_options_.motion && is_whole() && !heading_of(coordinate, import_options_.motion->table).empty();
}

std::vector<std::string> Importer::joint_names() const {
  std::vector<std::string> names;
  for (const Joint& joint : model_.joints) names.push_back(joint.name);
  return names;
}

void Importer::choose_joints() {
  std::set<std::string> requested_names;
  if (is_whole()) {
    merged_frames_["ground"] = {.body = "ground", .X_BF = {}};
    for (const Joint& joint : model_.joints) joints_.push_back(&joint);
    for (const Body& body : model_.bodies) requested_names.insert(body.name);
  }
  for (const std::string& name : import_options_.joints) {
    const auto joint = std::ranges::find(model_.joints, name, &Joint::name);
    if (joint == model_.joints.end()) {
      throw error_at("subset", "expected names of joints of the model ({}), found '{}'", fmt::join(joint_names(), ", "),
                     name);
    }
    joints_.push_back(&*joint);
    requested_names.insert({joint->parent.body, joint->child.body});
    for (const Frame* side : {&joint->parent, &joint->child}) {
      if (side->body == "ground") merged_frames_["ground"] = {.body = "ground", .X_BF = {}};
    }
  }
  for (const Body& body : model_.bodies) {
    if (!requested_names.contains(body.name)) continue;
    bodies_.push_back(body.name);
    merged_frames_[body.name] = {.body = body.name, .X_BF = {}};
  }
  if (bodies_.empty()) {
    throw is_whole()
        ? input_error("model", fmt::format("expected a model with bodies, found none in '{}'", model_.name))
        : error_at("subset", "expected at least one joint with bodies, found none");
  }
  for (const Joint* joint : joints_) require_known(*joint);
}

/// Merges bodies that are welded to bodies of the subset, and bodies of the subset that are welded to each other.
void Importer::merge_welded() {
  for (const Joint& weld : model_.joints) {
    if (weld.type == "WeldJoint" && is_imported(weld.parent.body) && is_imported(weld.child.body)) join_welded(weld);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Joint& weld : model_.joints) {
      if (weld.type != "WeldJoint" || is_imported(weld.parent.body) == is_imported(weld.child.body)) continue;
      const bool child_is_new = is_imported(weld.parent.body);
      const Frame& known = child_is_new ? weld.parent : weld.child;
      const Frame& added = child_is_new ? weld.child : weld.parent;
      if (added.body == "ground") continue;
      const Frame merged = in_merged_body(known);
      merged_frames_[added.body] = {.body = merged.body, .X_BF = merged.X_BF * added.X_BF.inverse()};
      import_.imported.push_back(
          fmt::format("body {} as part of {}, to which {} welds it", added.body, merged.body, weld.name));
      changed = true;
    }
  }
}

/// Merges the child of a weld and all bodies merged into it with the parent.
void Importer::join_welded(const Joint& weld) {
  const Frame parent = in_merged_body(weld.parent), child = in_merged_body(weld.child);
  if (parent.body == child.body || parent.body == "ground" || child.body == "ground") return;
  const Pose X_PC = parent.X_BF * child.X_BF.inverse();
  for (auto& [name, merged] : merged_frames_) {
    if (merged.body == child.body) merged = {.body = parent.body, .X_BF = X_PC * merged.X_BF};
  }
  std::erase(bodies_, child.body);
  import_.imported.push_back(
      fmt::format("body {} as part of {}, to which {} welds it", child.body, parent.body, weld.name));
}

/// Mass properties including merged bodies.
models::MassProperties Importer::mass_of(const std::string& name) {
  models::MassProperties mass;
  for (const Body& body : model_.bodies) {
    if (!is_imported(body.name) || merged_frames_.at(body.name).body != name) continue;
    mass = models::welded(
        mass, models::expressed_in(merged_frames_.at(body.name).X_BF, {body.mass, body.center_of_mass, body.inertia}));
  }
  // For a massless body that only carries points and joints: negligible against the bodies that move it.
  constexpr double min_mass = 1e-6;      // [kg]
  constexpr double min_inertia = 1e-10;  // [kg m^2] of that mass at 1 cm
  if (mass.mass == 0.0) {
    add_omission(fmt::format("body {}: it has no mass; set to {} kg", name, min_mass));
    mass.mass = min_mass;
  }
  const Vector3 principal = Eigen::SelfAdjointEigenSolver<Matrix3>(mass.inertia, Eigen::EigenvaluesOnly).eigenvalues();
  // Each principal moment is positive and at most the sum of the other two.
  const double deficit = std::max(min_inertia - principal[0], principal[2] - principal[0] - principal[1]);
  if (deficit > 1e-9 * principal[2]) {
    add_omission(
        fmt::format("body {}: its inertia, with the impossible principal moments {:.4g}, {:.4g}, {:.4g} kg m^2; {:.3g} "
                    "is added to each",
                    name, principal[0], principal[1], principal[2], deficit));
    mass.inertia += deficit * Matrix3::Identity();
  }
  return mass;
}

std::string Importer::bodies_text() {
  std::string text = "bodies:\n";
  for (const std::string& name : bodies_) text += models::body_text(plain(name), mass_of(name), pose(name));
  return text;
}

/// True when all six rotations and translations are independent coordinates.
bool is_free(const Joint& joint) {
  std::set<std::string> coordinates;
  for (const Axis& axis : joint.axes) coordinates.insert(axis.coordinate());
  const bool locked = std::ranges::any_of(joint.coordinates, &Coordinate::locked);
  return joint.type == "FreeJoint" || (coordinates.size() == 6 && !coordinates.contains("") && !locked);
}

/// Terms of a function in scenario syntax.
std::string terms_text(const Function& function) {
  std::string text;
  for (const Function::Term& term : function.terms) {
    text += fmt::format("{}{}: {{{}}}", text.empty() ? "" : ", ", plain(term.coordinate), term.text);
  }
  return text;
}

std::string Importer::custom_text(const Joint& joint, const Frame& a, const Frame& b) {
  std::string coordinates;
  for (const Coordinate& c : joint.coordinates) {
    coordinates += fmt::format("{}{}: {{initial: {}}}", coordinates.empty() ? "" : ", ", plain(c.name), c.value);
    if (c.speed != 0.0)
      add_omission(fmt::format("coordinate {}: its default speed, {:.6g}; the initial speed is 0", c.name, c.speed));
  }
  std::string text = fmt::format("  {}:\n    type: custom\n", plain(joint.name));
  for (const std::string& line : {"bodies: [" + plain(a.body) + ", " + plain(b.body) + "]",
                                  "points: [" + list(a.X_BF.p) + ", " + list(b.X_BF.p) + "]",
                                  "orientations: [" + quaternion(a.X_BF.R) + ", " + quaternion(b.X_BF.R) + "]",
                                  "coordinates: {" + coordinates + "}"}) {
    text += "    " + line + "\n";
  }
  if (!joint.radii.isZero(0.0)) text += fmt::format("    ellipsoid: {}\n", list(joint.radii));
  for (std::size_t k = 0; k < 6; ++k) {
    const Axis& axis = joint.axes[k];
    if (k % 3 == 0) text += k == 0 ? "    rotations:\n" : "    translations:\n";
    const Vector3 direction =
        axis.direction.norm() > 0.0 ? axis.direction : Vector3(Vector3::Unit(static_cast<Eigen::Index>(k % 3)));
    text += fmt::format("      - {{axis: {}", list(direction));
    if (axis.function.constant != 0.0) text += fmt::format(", constant: {}", axis.function.constant);
    if (!axis.function.terms.empty()) text += ", of: {" + terms_text(axis.function) + "}";
    text += "}\n";
  }
  import_.imported.push_back(
      fmt::format("joint {} as a function of {} coordinates", joint.name, joint.coordinates.size()));
  return text;
}

/// Joint between two bodies of the scenario.
std::string Importer::joint_text(const Joint& joint) {
  const Frame a = in_merged_body(joint.parent);
  const Frame b = in_merged_body(joint.child);
  std::string text;
  for (const Coordinate& c : joint.coordinates) {
    text += fmt::format("  # {}: coordinate {} = {} at the initial poses, {} to {}\n", joint.name, c.name, c.value,
                        c.min, c.max);
  }
  const std::string ends =
      fmt::format("bodies: [{}, {}], points: [{}, {}]", plain(a.body), plain(b.body), list(a.X_BF.p), list(b.X_BF.p));
  if (joint.coordinates.empty() ||
      !std::ranges::any_of(joint.axes, [](const Axis& axis) { return !axis.function.terms.empty(); })) {
    if (a.body == b.body) return "";
    import_.imported.push_back(fmt::format("joint {} as a fixed joint", joint.name));
    // Locked translations offset the bodies.
    return text + fmt::format("  {}: {{type: fixed, bodies: [{}, {}], points: [{}, {}]}}\n", plain(joint.name),
                              plain(a.body), plain(b.body), list(a.X_BF * joint_pose(joint).p), list(b.X_BF.p));
  }
  if (is_custom(joint)) return text + custom_text(joint, a, b);
  if (joint.type == "PinJoint") {
    import_.imported.push_back(fmt::format("joint {} as a revolute joint", joint.name));
    return text + fmt::format("  {}: {{type: revolute, {}, axes: [{}, {}]}}\n", plain(joint.name), ends,
                              list(a.X_BF.R.col(2)), list(b.X_BF.R.col(2)));
  }
  if (joint.type == "BallJoint") {
    import_.imported.push_back(fmt::format("joint {} as a spherical joint", joint.name));
    return text + fmt::format("  {}: {{type: spherical, {}}}\n", plain(joint.name), ends);
  }
  import_.imported.push_back(fmt::format("joint {}: free relative motion of its bodies", joint.name));
  return text + fmt::format("  # {}: {} moves freely relative to {}\n", joint.name, plain(b.body), plain(a.body));
}

std::string Importer::joints_text() {
  std::string text = "joints:\n";
  if (!is_imported("ground")) {
    text += fmt::format("  hold: {{type: fixed, bodies: [{}, ground]}}   # reference for all other bodies\n",
                        plain(merged_frames_.at(bodies_.front()).body));
  }
  for (const Joint& joint : model_.joints) {
    const bool welds = joint.type == "WeldJoint" && is_imported(joint.parent.body) && is_imported(joint.child.body);
    if (welds || std::ranges::find(joints_, &joint) != joints_.end()) text += joint_text(joint);
  }
  text += couplers_text() + constraints_text();
  return text == "joints:\n" ? "" : text;
}

/// Couplers whose coordinates are in the scenario.
std::string Importer::couplers_text() {
  std::string text;
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(joints_, [&](const Joint* joint) { return coordinate_of(*joint, name) != nullptr; });
  };
  for (const Coupler& coupler : model_.couplers) {
    Function function = coupler.function;
    std::erase_if(function.terms, [&](const Function::Term& term) {
      const auto fixed = fixed_.find(term.coordinate);
      if (fixed == fixed_.end()) return false;
      function.constant += term.f->at(fixed->second).f;
      return true;
    });
    const bool all = known(coupler.coordinate) && !function.terms.empty() &&
                     std::ranges::all_of(function.terms, [&](const auto& term) { return known(term.coordinate); });
    if (!all || !is_whole()) {
      add_omission(fmt::format("constraint {}: its coordinates are not all in the scenario", coupler.name));
      continue;
    }
    text += fmt::format("  {}: {{type: coupler, coordinate: {}, constant: {}, of: {{{}}}}}\n", plain(coupler.name),
                        plain(coupler.coordinate), function.constant, terms_text(function));
    import_.imported.push_back(fmt::format("constraint {}: coupled coordinate {}", coupler.name, coupler.coordinate));
  }
  return text;
}

std::string Importer::constraints_text() {
  std::string text;
  for (const PointConstraint& c : model_.constraints) {
    if (!is_imported(c.a.body) || !is_imported(c.b.body)) {
      add_omission(fmt::format("{} {}: its bodies are not all in the scenario", c.type, c.name));
      continue;
    }
    const Frame a = in_merged_body(c.a), b = in_merged_body(c.b);
    const std::string bodies = fmt::format("bodies: [{}, {}]", plain(a.body), plain(b.body));
    const std::string points = fmt::format("points: [{}, {}]", list(a.X_BF.p), list(b.X_BF.p));
    std::string rest;
    if (c.type == "WeldConstraint") {
      const Matrix3 R = (a.body == "ground" ? Matrix3(a.X_BF.R) : Matrix3(pose(a.body).R * a.X_BF.R)).transpose() *
                        (b.body == "ground" ? Matrix3(b.X_BF.R) : Matrix3(pose(b.body).R * b.X_BF.R));
      if (!R.isIdentity(1e-6)) {
        throw input_error("model", fmt::format("WeldConstraint '{}': its frames do not coincide at the default "
                                               "coordinates; specify coordinates at which they do",
                                               c.name));
      }
      rest = "type: fixed, " + bodies + ", " + points;
    } else if (c.type == "PointConstraint") {
      rest = "type: spherical, " + bodies + ", " + points;
    } else if (c.type == "PointOnLineConstraint") {
      rest = fmt::format("type: point_on_line, {}, {}, axes: [{}, [0, 0, 1]]", bodies, points, list(c.direction));
    } else {
      rest = fmt::format("type: distance, {}, {}, length: {}", bodies, points, c.distance);
    }
    text += fmt::format("  {}: {{{}}}\n", plain(c.name), rest);
    import_.imported.push_back(fmt::format("constraint {}", c.name));
  }
  return text;
}

/// A file with the coordinates in rad and m from t = 0 on; measured files may begin at any time.
std::string Importer::motion_file() {
  const MotionTable& table = import_options_.motion->table;
  std::string text = "time";
  std::vector<std::pair<const std::vector<double>*, double>> columns;
  for (const Joint* joint : joints_) {
    for (const Coordinate& c : joint->coordinates) {
      if (!driven(c.name)) continue;
      text += "," + plain(c.name);
      columns.emplace_back(&table.column(heading_of(c.name, table)),
                           is_rotation(*joint, c.name) ? unit_of(c.name) : 1.0);
    }
  }
  text += "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    text += fmt::format("{}", table.times()[row] - table.times().front());
    for (const auto& [column, unit] : columns) text += fmt::format(",{}", unit * (*column)[row]);
    text += "\n";
  }
  return text;
}

/// Prescribed function of time of a coordinate; none if absent or unsupported.
std::optional<std::string> Importer::prescribed_text(const Coordinate& c) {
  if (!c.prescribed) return std::nullopt;
  if (c.prescribed->unknown.empty() && c.prescribed->terms.empty()) {
    return fmt::format("polynomial: [{}]", c.prescribed->constant);
  }
  const bool known = c.prescribed->unknown.empty() && c.prescribed->terms.size() == 1 && c.prescribed->constant == 0.0;
  if (known && c.prescribed->terms[0].text.starts_with("polynomial")) return c.prescribed->terms[0].text;
  add_omission(fmt::format("coordinate {}: its prescribed function; it moves freely", c.name));
  return std::nullopt;
}

/// Name of the file written by motion_file().
std::string Importer::motion_name() const {
  return import_options_.motion->file.stem().string() + ".csv";
}

/// A coordinate as function of time: in a section a column of the file itself, at the times of the file.
std::string Importer::motion_column_text(const Joint& joint, const std::string& coordinate) {
  const Motion& motion = *import_options_.motion;
  std::string filter;
  if (import_options_.cutoff) {
    filter = fmt::format(", cutoff: {}, order: {}", *import_options_.cutoff, import_options_.filter_order);
  }
  const double unit = is_rotation(joint, coordinate) ? unit_of(coordinate) : 1.0;
  // A column in radians may be in a file that states degrees.
  const char* radians = "";
  if (is_rotation(joint, coordinate) && (!import_options_.in_section || unit == 1.0)) radians = ", angles: radians";
  if (!import_options_.in_section) {
    return fmt::format("file: {{name: {}, column: {}{}{}}}", nlohmann::json(motion_name()).dump(), plain(coordinate),
                       radians, filter);
  }
  return fmt::format("file: {{name: {}, column: \"{}\", time: \"{}\", scale: {}{}{}}}",
                     named(motion.file, motion.file.filename().string()), heading_of(coordinate, motion.table),
                     motion.table.headings.front(), unit, radians, filter);
}

/// Drives all coordinates that are columns of the motion or prescribed in the model.
void Importer::drive_coordinates() {
  std::string entries;
  std::vector<std::string> undriven;
  std::set<std::string> coupled;
  for (const Coupler& coupler : model_.couplers) coupled.insert(coupler.coordinate);
  bool from_file = false;
  for (const Joint* joint : joints_) {
    for (const Coordinate& c : joint->coordinates) {
      if (coupled.contains(c.name)) {
        if (driven(c.name)) add_omission(fmt::format("motion of coordinate {}: a coupler determines it", c.name));
        continue;
      }
      if (driven(c.name)) {
        entries += fmt::format("      {}: {{follows: {{{}}}}}\n", plain(c.name), motion_column_text(*joint, c.name));
        from_file = true;
      } else if (const auto text = prescribed_text(c)) {
        entries += fmt::format("      {}: {{follows: {{{}}}}}\n", plain(c.name), *text);
      } else {
        undriven.push_back(c.name);
      }
    }
  }
  const bool any = std::ranges::any_of(joints_, [](const Joint* joint) { return !joint->coordinates.empty(); });
  const bool all_joined = std::ranges::all_of(model_.bodies, [&](const Body& body) {
    return std::ranges::any_of(joints_, [&](const Joint* joint) { return joint->child.body == body.name; });
  });
  if (!any && all_joined) {
    throw input_error("model", "expected a model with a coordinate that is not locked, found none");
  }
  all_driven_ = undriven.empty() && all_joined;
  if (import_options_.motion && !undriven.empty()) {
    add_omission(fmt::format("motion of coordinates missing in {}, which move freely: {}",
                             import_options_.motion->file.filename().string(), fmt::join(undriven, ", ")));
  }
  if (entries.empty()) return;
  if (from_file) {
    if (!import_options_.in_section) {
      import_.meshes.push_back({.from = {}, .to = motion_name(), .content = motion_file()});
    }
    import_.imported.push_back(fmt::format("motion {}", import_options_.motion->file.filename().string()));
  }
  driver_ = "drivers:\n  motion:\n    coordinates:\n" + entries + "\n";
}

/// Selects the joint to drive; a motion sets its initial pose.
void Importer::choose_driven_joint() {
  if (import_options_.drawer_force && !import_options_.flexion)
    throw error_at("drawer_force", "expected {} together with it, found none", option_name("flexion"));
  if (import_options_.flexion && is_whole()) {
    throw error_at("flexion", "expected {} together with it, found none; a whole model is driven by {}",
                   option_name("subset"), option_name("motion"));
  }
  if (is_whole() || (!import_options_.flexion && !import_options_.motion)) return;
  if (import_options_.flexion && import_options_.motion)
    throw error_at("motion", "expected no {} together with it, found one", option_name("flexion"));
  const char* const key = import_options_.motion ? "motion" : "flexion";
  const auto joint = std::ranges::find_if(joints_, [&](const Joint* j) {
    return is_free(*j) && j->type != "FreeJoint" && is_imported(j->parent.body) && is_imported(j->child.body);
  });
  if (joint == joints_.end()) {
    throw error_at(key, "expected a joint in {} with six independent coordinates, found none", option_name("subset"));
  }
  driven_joint_ = &*std::ranges::find(model_.joints, (*joint)->name, &Joint::name);
  require_fixed_parent(driven_joint_->parent.body, key);
  R_axes_ = (default_pose(model_, in_merged_body(driven_joint_->parent).body).R *
             in_merged_body(driven_joint_->parent).X_BF.R)
                .transpose();
  if (!import_options_.motion) return;
  const MotionTable& table = import_options_.motion->table;
  const std::string name = driven_joint_->axes[0].coordinate();
  const std::string heading = heading_of(name, table);
  if (heading.empty()) {
    throw input_error("motion", fmt::format("{}: expected a column {}, found {}", table.file_name, name,
                                            fmt::join(table.headings, ", ")));
  }
  if (table.times().front() != 0.0) {
    throw input_error("motion", fmt::format("{}: expected a motion that begins at 0 s, found {} s: shift its times",
                                            table.file_name, table.times().front()));
  }
  if (import_options_.coordinates.contains(name)) {
    throw error_at("coordinates", "expected no {} together with {}, which sets its initial value, found one", name,
                   option_name("motion"));
  }
  std::ranges::find(driven_joint_->coordinates, name, &Coordinate::name)->value =
      unit_of(name) * motion_column(heading).front();
}

/// The flexion is driven relative to the ground, so that the parent must be fixed. @throws Error{invalid_input}
void Importer::require_fixed_parent(const std::string& parent, const char* key) const {
  const std::string body = in_merged_body({.body = parent, .X_BF = {}}).body;
  if (body == "ground" || (!is_imported("ground") && body == merged_frames_.at(bodies_.front()).body)) return;
  for (const Joint* joint : joints_) {
    if (joint->coordinates.empty() || in_merged_body(joint->child).body != body) continue;
    throw error_at(key,
                   "expected a joint with a fixed parent, found {}, which {} moves; lock that joint with {}, or omit "
                   "this option and drive the coordinates of both in the section drivers",
                   body, joint->name, option_name("lock_joints"));
  }
}

/// Adds a body that rotates with the flexion and translates with the driven body: a universal joint at the origin of
/// the driven body leaves the other two rotations and the three translations of the model's joint free.
void Importer::prescribe_flexion() {
  const Axis& driven_axis = driven_joint_->axes[0];
  const Frame b = in_merged_body(driven_joint_->child);
  int k = 0;
  if (driven_axis.direction.cwiseAbs().maxCoeff(&k) < 1.0 - 1e-6) {
    throw error_at(import_options_.motion ? "motion" : "flexion",
                   "expected joint {} to rotate first about x, y or z of its parent frame, found another axis: "
                   "prescribe the motion in the scenario",
                   driven_joint_->name);
  }
  const double sign = driven_axis.slope() * driven_axis.direction[k];
  const double start = sign * coordinate_of(*driven_joint_, driven_axis.coordinate())->value +
                       driven_axis.function.constant * driven_axis.direction[k];
  const Pose X_WB = pose(b.body) * b.X_BF;
  flexed_body_ = models::body_text("flexed", {0.01, Vector3::Zero(), 1e-5 * Matrix3::Identity()},
                                   {.R = Eigen::AngleAxisd(start, Vector3::Unit(k)).toRotationMatrix(), .p = X_WB.p});
  flexed_joint_ = fmt::format(
      "  flexed: {{type: universal, bodies: [flexed, {}], points: [[0, 0, 0], {}], axes: [{}, {}]}}\n", plain(b.body),
      list(b.X_BF.p), list(driven_joint_->axes[1].direction), list(b.X_BF.R * driven_joint_->axes[2].direction));
  driver_ = "drivers:\n  flexion:\n    body: flexed   # its rotation prescribes that of the joint\n";
  for (int i = 0; i < 3; ++i) {
    driver_ += fmt::format("    r{}: {{{}}}\n", "xyz"[i],
                           i == k ? driver_function_text(driven_axis, sign, start) : "polynomial: [0]");
  }
  driver_ += "\n";
  if (!import_options_.drawer_force) return;
  driver_ +=
      fmt::format("loads:\n  draw:\n    body: {}\n    frame: body\n    point: {}\n", plain(b.body), list(b.X_BF.p));
  for (int i = 0; i < 3; ++i) {
    const double force = *import_options_.drawer_force * b.X_BF.R(i, 0);
    if (force != 0.0) driver_ += fmt::format("    f{}: {{expression: \"{} * step(t, 1, 2)\"}}\n", "xyz"[i], force);
  }
  driver_ += "\n";
  import_.imported.push_back(fmt::format("{}: loaded by a drawer force of {} N along its x axis after the flexion",
                                         b.body, *import_options_.drawer_force));
}

/// The driven angle as a function of time.
std::string Importer::driver_function_text(const Axis& driven_axis, double sign, double start) {
  const std::string what = fmt::format("coordinate {} of {}: ", driven_axis.coordinate(), driven_joint_->name);
  if (import_options_.motion) {
    const Motion& motion = *import_options_.motion;
    if (driven_axis.function.constant != 0.0) {
      throw error_at("motion",
                     "expected joint {} to rotate by a multiple of {}, found a constant offset: prescribe it in the "
                     "scenario",
                     driven_joint_->name, driven_axis.coordinate());
    }
    const std::string name = motion.file.filename().string();
    import_.imported.push_back(what + "driven by " + name);
    const double unit = unit_of(driven_axis.coordinate());
    return fmt::format("file: {{name: {}, column: \"{}\", time: \"{}\", scale: {}{}}}", named(motion.file, name),
                       heading_of(driven_axis.coordinate(), motion.table), motion.table.headings.front(), sign * unit,
                       unit == 1.0 ? ", angles: radians" : "");
  }
  const double by = sign * (*import_options_.flexion - coordinate_of(*driven_joint_, driven_axis.coordinate())->value);
  import_.imported.push_back(what +
                             fmt::format("driven to {:.4g} rad in static equilibrium", *import_options_.flexion));
  return import_options_.drawer_force ? fmt::format("expression: \"{} + {} * step(t, 0, 1)\"", start, by)
                                      : fmt::format("polynomial: [{}, {}]", start, by);
}

std::string Importer::analysis_text() const {
  if (import_options_.flexion) {
    return fmt::format("analysis:\n  type: static\n  end_time: {}\n\noutput:\n  interval: 0.05\n",
                       import_options_.drawer_force ? 2 : 1);
  }
  if (is_whole()) {
    return fmt::format("analysis:\n  type: {}\n  end_time: {}\n\noutput:\n  interval: 0.01\n",
                       all_driven_ ? "kinematic" : "forward", end_time());
  }
  // Output interval of OpenSim-JAM. Tolerances ten times smaller change the motion of a knee by less than 0.01 mm.
  return fmt::format(
      "{}analysis:\n  end_time: {}\n  integrator: {{name: cvode_index1, rtol: 1.0e-4, atol: 1.0e-6}}\n\noutput:\n  "
      "interval: 0.01\n",
      import_options_.motion
          ? ""
          : "# No driver: bodies move under gravity, ligaments and muscles. `import-osim --flexion` drives a joint.\n",
      import_options_.motion ? import_options_.motion->table.times().back() : 1.0);
}

void Importer::leave_out() {
  for (const std::string& name : import_options_.excluded) {
    const std::size_t before = omitted_.size();
    for (const Line& line : model_.lines) {
      if (line.name == name || bundle_name(line.name) == name) omitted_.insert(line.name);
    }
    if (std::ranges::find(model_.contacts, name, &ContactForce::name) != model_.contacts.end()) omitted_.insert(name);
    if (omitted_.size() > before) continue;
    std::set<std::string> known;
    for (const Line& line : model_.lines) known.insert(bundle_name(line.name));
    for (const ContactForce& contact : model_.contacts) known.insert(contact.name);
    throw error_at("exclude", "expected names of ligaments, muscles or contacts of the model ({}), found '{}'",
                   fmt::join(known, ", "), name);
  }
}

/// True if the scenario contains the joint with its coordinates. If the import drives a joint, a free joint is left out
/// and its coordinates are those of the bodies; otherwise coordinates keep their names for drivers.
bool Importer::is_custom(const Joint& joint) const {
  if (joint.coordinates.empty() || is_whole()) return !joint.coordinates.empty();
  const bool bends = import_options_.flexion || import_options_.motion;
  return joint.type != "PinJoint" && joint.type != "BallJoint" && !(bends && is_free(joint));
}

std::optional<std::string> Importer::find_unsupported_reason(const CoordinateSpring& spring, const Joint& joint) const {
  if (!spring.applies) return "it is disabled (appliesForce)";
  if (joint.type == "PinJoint" || is_custom(joint)) return std::nullopt;
  if (!is_free(joint) || joint.type == "FreeJoint") return fmt::format("its joint is a {}", joint.type);
  const auto axis = std::ranges::find(joint.axes, spring.coordinate, &Axis::coordinate);
  const Frame a = in_merged_body(joint.parent);
  const Vector3 direction = pose(a.body).R * a.X_BF.R * axis->direction;
  if (direction.cwiseAbs().maxCoeff() < 1.0 - 1e-6) return "its axis is not along x, y or z of the scenario";
  if (driven_joint_ == &joint && axis == joint.axes.begin()) return "its coordinate is prescribed";
  if (spring.stiffness != 0.0 && spring.rest != coordinate_of(joint, spring.coordinate)->value) {
    return fmt::format("its rest length {:.6g} differs from its coordinate", spring.rest);
  }
  return std::nullopt;
}

/// Limits of coordinates; the file has degrees for rotations.
std::string Importer::limits_text() {
  std::string text;
  for (const CoordinateLimit& limit : model_.limits) {
    const Joint* joint = joint_with(model_, limit.coordinate);
    const bool here = joint != nullptr && std::ranges::find(joints_, joint) != joints_.end() && is_custom(*joint);
    if (!limit.applies || !here) {
      add_omission(fmt::format(
          "CoordinateLimitForce {}: {}", limit.name,
          !limit.applies ? std::string("it is disabled (appliesForce)")
                         : fmt::format("its coordinate {} is not in the scenario or locked", limit.coordinate)));
      continue;
    }
    if (limit.lower > limit.upper) {
      throw input_error("model", fmt::format("CoordinateLimitForce '{}': expected a lower_limit not above the "
                                             "upper_limit, found {} and {}",
                                             limit.name, limit.lower, limit.upper));
    }
    const double unit = is_rotation(*joint, limit.coordinate) ? std::numbers::pi / 180.0 : 1.0;
    text += fmt::format(
        "  {}: {{type: coordinate_limit, coordinate: {}, lower: {}, upper: {}, lower_stiffness: {}, upper_stiffness: "
        "{}, damping: {}, width: {}}}\n",
        plain(limit.name), plain(limit.coordinate), unit * limit.lower, unit * limit.upper,
        limit.lower_stiffness / unit, limit.upper_stiffness / unit, limit.damping / unit,
        unit * std::max(limit.transition, 1e-6));
    import_.imported.push_back(fmt::format("stop {} of coordinate {}", limit.name, limit.coordinate));
  }
  return text;
}

std::string Importer::torsional_text(const Joint& joint, const CoordinateSpring& spring) {
  return fmt::format("  {}: {{type: torsional_spring, joint: {}, stiffness: {}, damping: {}, neutral: {}}}\n",
                     plain(spring.name), plain(joint.name), spring.stiffness, spring.viscosity,
                     spring.rest - coordinate_of(joint, spring.coordinate)->value);
}

/// Bushings of a free joint. Its first rotation carries the axes of the second and third: a rotational bushing starts
/// from the driven body `flexed`, where it exists.
std::string Importer::bushings_text(const Joint& joint, const std::vector<const CoordinateSpring*>& springs) {
  const Frame a = in_merged_body(joint.parent), b = in_merged_body(joint.child);
  const Matrix3 R_WP = pose(a.body).R * a.X_BF.R;
  Vector6 stiffness = Vector6::Zero(), damping = Vector6::Zero();
  for (const CoordinateSpring* spring : springs) {
    const auto axis = std::ranges::find(joint.axes, spring->coordinate, &Axis::coordinate);
    Eigen::Index along = 0;
    (R_WP * axis->direction).cwiseAbs().maxCoeff(&along);
    const Eigen::Index i = (axis - joint.axes.begin() < 3 ? 0 : 3) + along;
    stiffness[i] += axis->slope() * axis->slope() * spring->stiffness;
    damping[i] += axis->slope() * axis->slope() * spring->viscosity;
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
  return part("turns", driven_joint_ == &joint ? "flexed" : plain(a.body), 0) + part("shifts", plain(a.body), 3);
}

/// Springs and dampers on coordinates of the subset.
std::string Importer::springs_text() {
  std::string text;
  std::set<const CoordinateSpring*> seen;
  for (const Joint* joint : joints_) {
    if (!is_imported(joint->parent.body) || !is_imported(joint->child.body)) continue;
    std::vector<const CoordinateSpring*> free;
    for (const CoordinateSpring& spring : model_.springs) {
      if (coordinate_of(*joint, spring.coordinate) == nullptr) continue;
      seen.insert(&spring);
      const auto reason = find_unsupported_reason(spring, *joint);
      if (reason) {
        add_omission(fmt::format("SpringGeneralizedForce {}: {}", spring.name, *reason));
      } else if (is_custom(*joint)) {
        text +=
            fmt::format("  {}: {{type: coordinate_spring, coordinate: {}, stiffness: {}, damping: {}, neutral: {}}}\n",
                        plain(spring.name), plain(spring.coordinate), spring.stiffness, spring.viscosity, spring.rest);
        import_.imported.push_back(
            fmt::format("spring and damper {} of coordinate {}", spring.name, spring.coordinate));
      } else if (joint->type == "PinJoint") {
        text += torsional_text(*joint, spring);
        import_.imported.push_back(fmt::format("spring and damper {} of joint {}", spring.name, joint->name));
      } else {
        free.push_back(&spring);
        import_.imported.push_back(fmt::format(
            "spring and damper {} as part of a bushing, for small rotations: joint {}", spring.name, joint->name));
      }
    }
    if (!free.empty()) text += bushings_text(*joint, free);
  }
  for (const CoordinateSpring& spring : model_.springs) {
    if (!seen.contains(&spring)) {
      add_omission(fmt::format("SpringGeneralizedForce {}: its coordinate {} is not in the subset", spring.name,
                               spring.coordinate));
    }
  }
  return text;
}

/// Name of the muscle curves in a scenario; none for a line that is not a muscle.
/// Muscles of OpenSim and the curves that they have in a scenario.
struct MuscleClass {
  std::string_view type;
  const char* curves;
  bool has_tables = false;  ///< its curves are functions in the file
  bool rigid_tendon = false;
};
constexpr std::array<MuscleClass, 5> muscle_classes = {{{"Millard2012EquilibriumMuscle", "millard2012"},
                                                        {"Thelen2003Muscle", "thelen2003"},
                                                        {"DeGrooteFregly2016Muscle", "degroote2016"},
                                                        {"Schutte1993Muscle_Deprecated", "schutte1993", true},
                                                        {"RigidTendonMuscle", "schutte1993", true, true}}};

/// Null for a line that is not a muscle.
const MuscleClass* class_of(const Line& line) {
  const auto found = std::ranges::find(muscle_classes, line.type, &MuscleClass::type);
  return found == muscle_classes.end() ? nullptr : &*found;
}

constexpr std::array<std::string_view, 2> ligament_classes = {"Blankevoort1991Ligament", "PathSpring"};

/// Why the parameters of a muscle define none; none for a valid one.
std::optional<std::string> find_unsupported_reason(const MuscleClass& muscle_class, const Muscle& m) {
  if (!(m.max_force > 0.0) || !(m.optimal_length > 0.0))
    return fmt::format("its max_isometric_force {:.4g} or optimal_fiber_length {:.4g} is not positive", m.max_force,
                       m.optimal_length);
  if (!muscle_class.has_tables) return std::nullopt;
  std::vector<std::string> needed = {"active_curve"};
  if (!(m.rigid_tendon || muscle_class.rigid_tendon)) needed.emplace_back("tendon_curve");
  if (muscle_class.rigid_tendon) needed.emplace_back("velocity_curve");
  for (const std::string& key : needed) {
    if (!m.tables.contains(key)) return fmt::format("its {} is not a spline in the file", key);
  }
  return std::nullopt;
}

std::optional<std::string> Importer::find_unsupported_reason(const Line& line) const {
  const MuscleClass* const muscle = class_of(line);
  const bool ligament = std::ranges::find(ligament_classes, line.type) != ligament_classes.end();
  if (!ligament && muscle == nullptr) return "this force is not supported";
  if (!line.applies) return "it is disabled (appliesForce)";
  if (omitted_.contains(line.name)) return fmt::format("excluded ({})", option_name("exclude"));
  if (line.points.size() < 2) return "it has fewer than two points";
  std::set<std::string> body_names;
  for (const PathPoint& point : line.points) {
    if (const auto reason = find_unsupported_reason(point)) return reason;
    if (!is_imported(point.at.body)) return fmt::format("it is attached to {}", point.at.body);
    const bool moves = std::ranges::any_of(point.location, [](const Function& f) { return !f.terms.empty(); });
    if (moves && !merged_frames_.at(point.at.body).X_BF.R.isIdentity(1e-12)) {
      return fmt::format("its point {} moves in {}, which is merged into another body", point.name, point.at.body);
    }
    body_names.insert(merged_frames_.at(point.at.body).body);
  }
  if (body_names.size() < 2) return "all its points are in one body";
  if (muscle != nullptr) {
    if (auto reason = osim::find_unsupported_reason(*muscle, line.muscle)) return reason;
    return find_length_fault(line, line.muscle.tendon_length + line.muscle.optimal_length,
                             "slack tendon and optimal fibre");
  }
  if (!(line.stiffness > 0.0) || !(line.slack_length > 0.0)) return "it has no stiffness or no slack length";
  return find_length_fault(line, line.slack_length, "its slack length");
}

/// A path that the scenario would reject: some lengths of the model are in another unit.
std::optional<std::string> Importer::find_length_fault(const Line& line, double usual, const char* what) const {
  const std::vector<PathPoint> points = points_of(line);
  double length = 0.0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) length += (at_start(points[i + 1]) - at_start(points[i])).norm();
  if (config::plausible_length(length, usual)) return std::nullopt;
  return fmt::format(
      "its path of {:.4g} m is not from a {:g}th to {:g} times {}, {:.4g} m; a length is in another unit", length,
      config::unit_factor, config::unit_factor, what, usual);
}

bool Importer::has_coordinate(const std::string& name) const {
  const Joint* joint = joint_with(model_, name);
  return joint != nullptr && std::ranges::find(joints_, joint) != joints_.end() && is_custom(*joint);
}

std::optional<std::string> Importer::find_unsupported_reason(const PathPoint& point) const {
  std::vector<std::string> names;
  if (!point.coordinate.empty()) names.push_back(point.coordinate);
  for (const Function& function : point.location) {
    if (!function.unknown.empty())
      return fmt::format("its point {} moves by the unsupported function {}", point.name, function.unknown);
    for (const auto& term : function.terms) names.push_back(term.coordinate);
  }
  for (const std::string& name : names) {
    if (has_coordinate(name) || fixed_.contains(name)) continue;
    return fmt::format("its point is a {}, which moves in its body with {}, a coordinate missing in the scenario",
                       point.type, name);
  }
  return std::nullopt;
}

/// Points of a line after substitution of locked coordinates: moving points become fixed, conditional points always or
/// never active.
std::vector<PathPoint> Importer::points_of(const Line& line) const {
  std::vector<PathPoint> points;
  for (PathPoint point : line.points) {
    if (!point.coordinate.empty() && point.range[0] > point.range[1]) continue;  // never active
    if (const auto fixed = fixed_.find(point.coordinate); fixed != fixed_.end()) {
      if (fixed->second < point.range[0] - 1e-5 || fixed->second > point.range[1] + 1e-5) continue;
      point.coordinate.clear();
    }
    for (Function& function : point.location) {
      std::erase_if(function.terms, [&](const Function::Term& term) {
        const auto fixed = fixed_.find(term.coordinate);
        if (fixed == fixed_.end()) return false;
        function.constant += term.f->at(fixed->second).f;
        return true;
      });
    }
    points.push_back(std::move(point));
  }
  return points;
}

/// Position in the ground at the initial poses.
Vector3 Importer::at_start(const PathPoint& point) const {
  Vector3 p = point.at.X_BF.p;
  for (Eigen::Index k = 0; k < 3; ++k) p[k] += value_of(point.location[static_cast<std::size_t>(k)], model_);
  return pose(point.at.body) * p;
}

/// Surfaces that a line may wrap over, with the range of points.
std::vector<Importer::ActiveWrap> Importer::wraps_of(const Line& line) {
  std::vector<ActiveWrap> wraps;
  for (const PathWrap& use : line.wraps) {
    const auto wrap = std::ranges::find(model_.wraps, use.object, &WrapObject::name);
    if (wrap == model_.wraps.end()) {
      add_omission(fmt::format("{}: its wrap object {}, which is missing in the model", line.name, use.object));
      continue;
    }
    const bool known = wrap->type == "WrapSphere" || wrap->type == "WrapCylinder" || wrap->type == "WrapEllipsoid";
    if (!known || !wrap->active || !is_imported(wrap->body) || wrap->dimensions.empty()) {
      add_omission(fmt::format("{}: its wrap object {}, {}", line.name, wrap->name,
                               !known          ? "a " + wrap->type
                               : !wrap->active ? std::string("which is not active")
                                               : "in " + wrap->body + " or without dimensions"));
      continue;
    }
    wraps.push_back({&*wrap, use.first, use.last});
  }
  return wraps;
}

bool Importer::inside(const WrapObject& wrap, const PathPoint& point) const {
  const Vector3 y = (pose(wrap.body) * wrap.X_BS).inverse() * at_start(point);
  return wrap_level(shape_of(wrap), y) < 1.0;
}

/// Names of the wrap surfaces between point i and the next.
std::string Importer::wrap_names(const Line& line, const std::vector<ActiveWrap>& wraps,
                                 const std::vector<PathPoint>& points, std::size_t i) {
  std::vector<std::string> names;
  for (const ActiveWrap& wrap : wraps) {
    if ((wrap.first > 0 && points[i].place < wrap.first) || (wrap.last > 0 && points[i + 1].place > wrap.last))
      continue;
    if (inside(*wrap.object, points[i]) || inside(*wrap.object, points[i + 1])) {
      add_omission(
          fmt::format("{}: wrapping over {} from its point {} while an end lies inside, as at the initial "
                      "poses; the path is then straight, as in OpenSim",
                      line.name, wrap.object->name, i + 1));
    }
    names.push_back(plain(wrap.object->name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Importer::wrap_text(const WrapObject& wrap) const {
  const Frame at = in_merged_body({.body = wrap.body, .X_BF = wrap.X_BS});
  const std::string shape = wrap.type == "WrapSphere" ? fmt::format("sphere: {}", wrap.dimensions[0])
                            : wrap.type == "WrapCylinder"
                                ? fmt::format("cylinder: {}, length: {}", wrap.dimensions[0], wrap.length)
                                : fmt::format("ellipsoid: [{}]", fmt::join(wrap.dimensions, ", "));
  const std::string side = wrap.quadrant == "all" ? "" : fmt::format(", side: {}", list(side_of(wrap)));
  return fmt::format("{}: {{body: {}, {}, position: {}, orientation: {}{}, inside: straight, segments: one}}",
                     plain(wrap.name), plain(at.body), shape, list(at.X_BF.p), quaternion(at.X_BF.R), side);
}

std::string Importer::line_text(const Line& line, std::vector<const WrapObject*>& used) {
  return fmt::format("      {}:\n        stiffness: {}\n        slack_length: {}\n        path:\n{}", plain(line.name),
                     line.stiffness, line.slack_length, path_text(line, used));
}

/// "body: femur_r, point: [0, 0, 0]" and the functions that move it.
std::string Importer::point_text(const PathPoint& point) const {
  const Frame merged = in_merged_body({.body = point.at.body, .X_BF = {}});
  Vector3 p = point.at.X_BF.p;
  for (Eigen::Index k = 0; k < 3; ++k) p[k] += point.location[static_cast<std::size_t>(k)].constant;
  std::string moves;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::string terms = terms_text(point.location[k]);
    if (!terms.empty()) moves += fmt::format("{}{}: {{{}}}", moves.empty() ? "" : ", ", "xyz"[k], terms);
  }
  if (!moves.empty()) moves = ", moves: {" + moves + "}";
  if (!point.coordinate.empty()) {
    moves += fmt::format(", within: {{coordinate: {}, range: [{}, {}]}}", plain(point.coordinate), point.range[0],
                         point.range[1]);
  }
  return fmt::format("body: {}, point: {}{}", plain(merged.body), list(merged.X_BF * p), moves);
}

std::string Importer::path_text(const Line& line, std::vector<const WrapObject*>& used) {
  const std::vector<ActiveWrap> wraps = wraps_of(line);
  const std::vector<PathPoint> points = points_of(line);
  for (const ActiveWrap& wrap : wraps) {
    if (std::ranges::find(used, wrap.object) == used.end()) used.push_back(wrap.object);
    used_wraps_.insert(wrap.object);
  }
  std::string text;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string names = i + 1 < points.size() ? wrap_names(line, wraps, points, i) : "";
    text += fmt::format("          - {{{}{}}}\n", point_text(points[i]),
                        names.empty() ? "" : fmt::format(", wrap: [{}]", names));
  }
  return text;
}

std::string Importer::muscle_text(const Line& line) {
  const Muscle& m = line.muscle;
  std::vector<const WrapObject*> used;
  const std::string path = path_text(line, used);
  const MuscleClass& muscle_class = *class_of(line);
  const bool given_rigid = m.rigid_tendon || muscle_class.rigid_tendon || !(m.tendon_length > 0.0);
  const bool rigid = given_rigid || import_options_.flexion || import_options_.rigid_tendons;
  // The balance of an elastic tendon needs damping for a unique velocity.
  constexpr double least_damping = 1e-6;
  if (m.fiber_damping < least_damping && !rigid) {
    add_omission(fmt::format("muscle {}: its fiber_damping {}; {} with an elastic tendon", line.name, m.fiber_damping,
                             least_damping));
  }
  std::string text = fmt::format(
      "  {}:\n    type: muscle\n    curves: {}\n    tendon: {}\n    max_isometric_force: {}\n    "
      "optimal_fiber_length: {}\n    tendon_slack_length: {}\n    pennation_angle: {}\n    max_contraction_velocity: "
      "{}\n    fiber_damping: {}\n    minimum_activation: {}\n    activation_time: {}\n    deactivation_time: {}\n",
      plain(line.name), muscle_class.curves, rigid ? "rigid" : "elastic", m.max_force, m.optimal_length,
      m.tendon_length, m.pennation, m.max_velocity, std::max(m.fiber_damping, least_damping), m.min_activation, m.rise,
      m.fall);
  if (import_options_.activation)
    text += fmt::format("    activation: {{polynomial: [{}]}}\n", *import_options_.activation);
  if (m.passive_strain) text += fmt::format("    passive_strain: {}\n", *m.passive_strain);
  if (m.tendon_strain) text += fmt::format("    tendon_strain: {}\n", *m.tendon_strain);
  for (const auto& [key, table] : m.tables) {
    if (muscle_class.has_tables) text += fmt::format("    {}: {}\n", key, table);
  }
  if (!used.empty()) text += "    surfaces:\n";
  for (const WrapObject* wrap : used) text += fmt::format("      {}\n", wrap_text(*wrap));
  if (rigid && !given_rigid) {
    add_omission(fmt::format("muscle {}: its elastic tendon; {}", line.name,
                             import_options_.flexion ? "rigid in static equilibrium"
                                                     : fmt::format("rigid ({})", option_name("rigid_tendons"))));
  }
  import_.imported.push_back(fmt::format("muscle {}", line.name));
  return text + "    path:\n" + path;
}

std::string Importer::muscles_text() {
  std::string text;
  for (const Line& line : model_.lines) {
    if (class_of(line) != nullptr && !find_unsupported_reason(line)) text += muscle_text(line);
  }
  return text;
}

std::string Importer::forces_text() {
  std::vector<Bundle> bundles;
  for (const Line& line : model_.lines) {
    if (const auto reason = find_unsupported_reason(line)) {
      add_omission(fmt::format("{} {}: {}", line.type, line.name, *reason));
      continue;
    }
    if (class_of(line) != nullptr) continue;
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
  const std::string muscles = muscles_text() + springs_text() + limits_text();
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
    import_.imported.push_back(fmt::format("ligament {}: {} lines", bundle.name, bundle.lines.size()));
  }
  return text + muscles;
}

/// [s] the time of motion and loads that becomes t = 0; in a section, files are used as they are.
double Importer::motion_start() const {
  return import_options_.motion && !import_options_.in_section ? import_options_.motion->table.times().front() : 0.0;
}

/// [s] of the scenario of a whole model
double Importer::end_time() const {
  const double end = import_options_.motion ? import_options_.motion->table.times().back() - motion_start() : 1.0;
  return end > 0.0 ? end : 1.0;
}

/// The columns from the start of the motion on.
std::string Importer::load_data(const std::vector<std::string>& headings) const {
  const MotionTable& data = import_options_.external_loads->data;
  std::string text = fmt::format("time,{}\n", fmt::join(headings, ","));
  for (std::size_t row = 0; row < data.rows(); ++row) {
    text += fmt::format("{}", data.times()[row] - motion_start());
    for (const std::string& heading : headings) text += fmt::format(",{}", data.column(heading)[row]);
    text += "\n";
  }
  return text;
}

/// One load of the scenario. @param file  of the columns, quoted
std::string Importer::load_text(const ExternalForce& force, const std::string& file) {
  const MotionTable& data = import_options_.external_loads->data;
  const auto require_body = [&](const std::string& body, const char* key, bool with_ground) {
    std::vector<std::string> names = bodies_;
    if (with_ground) names.emplace_back("ground");
    if (std::ranges::find(names, body) != names.end()) return;
    throw error_at("external_loads", "ExternalForce '{}': expected {} to be a body of the model ({}), found '{}'",
                   force.name, key, fmt::join(names, ", "), body);
  };
  require_body(force.body, "applied_to_body", false);
  require_body(force.axes, "force_expressed_in_body", true);
  require_body(force.point_frame, "point_expressed_in_body", true);
  const auto frame = [](const std::string& body) { return body == "ground" ? std::string("world") : plain(body); };
  std::string text =
      fmt::format("  {}:\n    body: {}\n    frame: {}\n", plain(force.name), plain(force.body), frame(force.axes));
  if (!force.force.empty() && !force.point.empty())
    text += fmt::format("    point_frame: {}\n", frame(force.point_frame));
  const std::string time = import_options_.in_section ? data.headings.front() : "time";
  for (const auto& [identifier, component] :
       {std::pair(&force.force, 'f'), std::pair(&force.torque, 't'), std::pair(&force.point, 'p')}) {
    if (identifier->empty() || (component == 'p' && force.force.empty())) continue;
    const auto headings = component_headings(data, *identifier, force);
    for (std::size_t k = 0; k < 3; ++k) {
      text += fmt::format("    {}{}: {{file: {{name: {}, column: {}, time: {}}}}}\n", component, "xyz"[k], file,
                          nlohmann::json(headings[k]).dump(), nlohmann::json(time).dump());
    }
  }
  import_.imported.push_back(fmt::format("external load {} on body {}", force.name, force.body));
  return text;
}

std::string Importer::loads_text() {
  if (!import_options_.external_loads) return "";
  const MeasuredLoads& measured = *import_options_.external_loads;
  if (!is_whole()) {
    throw error_at("external_loads",
                   "expected the whole model, found {}; the loads of the rest of the body are unknown",
                   option_name("subset"));
  }
  const auto& times = measured.data.times();
  if (import_options_.motion && (times.front() > motion_start() || times.back() < motion_start() + end_time())) {
    throw input_error(
        "external_loads_data",
        fmt::format("{}: expected times that cover the motion, {} to {} s, found {} to {} s; both files "
                    "must be of one recording",
                    measured.data.file_name, motion_start(), motion_start() + end_time(), times.front(), times.back()));
  }
  const std::string copy = measured.data_file.stem().string() + ".csv";
  const std::string file = nlohmann::json(import_options_.in_section ? measured.data_file.string() : copy).dump();
  std::vector<std::string> used;
  std::string text;
  for (const ExternalForce& force : measured.loads.forces) {
    if (!force.applies) {
      add_omission(fmt::format("ExternalForce {}: it is disabled", force.name));
      continue;
    }
    text += load_text(force, file);
    for (const std::string* identifier : {&force.force, &force.torque, &force.point}) {
      if (identifier->empty()) continue;
      for (const std::string& heading : component_headings(measured.data, *identifier, force)) {
        if (std::ranges::find(used, heading) == used.end()) used.push_back(heading);
      }
    }
  }
  for (const std::string& line : measured.loads.unsupported) add_omission("external loads: " + line);
  if (text.empty()) return "";
  if (!import_options_.in_section) import_.meshes.push_back({.from = {}, .to = copy, .content = load_data(used)});
  return "loads:\n" + text + "\n";
}

/// Empty for none.
fs::path Importer::found(const std::string& name, const std::string& file, std::vector<std::string>& searched) const {
  std::vector<fs::path> candidates;
  if (const auto other = import_options_.meshes.find(name); other != import_options_.meshes.end()) {
    candidates.push_back(other->second);
  } else {
    for (const fs::path& folder : import_options_.folders) candidates.push_back(folder / file);
  }
  for (const fs::path& candidate : candidates) {
    searched.push_back(candidate.string());
    if (fs::is_regular_file(import_options_.resolve_path ? import_options_.resolve_path(candidate) : candidate))
      return candidate;
  }
  return {};
}

/// Name of a file in the scenario: its copy in the scenario's folder or, on request, the file itself.
/// @param to  name of the copy
std::string Importer::named(const fs::path& from, const std::string& to) {
  if (import_options_.resolve_path) return nlohmann::json(from.string()).dump();
  if (std::ranges::find(import_.meshes, to, &ImportedMesh::to) == import_.meshes.end()) {
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
    throw input_error("meshes", fmt::format("contact mesh '{}': expected the file '{}', found none of {}; specify its "
                                            "folder with {} or another file with {}, or skip its contact with {}",
                                            mesh.name, mesh.file, fmt::join(searched, ", "), option_name("geometry"),
                                            other_file(mesh.name), option_name("exclude")));
  }
  return mesh_file(mesh.name, from);
}

/// Thickness of a layer: a constant, or the distance between its two surfaces.
std::string Importer::layer_text(const ContactMesh& mesh, const std::string& thickness_key,
                                 const std::string& back_key) {
  std::string constant = fmt::format("      {}: {}\n", thickness_key, mesh.thickness);
  if (!mesh.variable_thickness) return constant;
  std::vector<std::string> searched;
  const std::string name = mesh.name + ".back";
  const fs::path from = found(name, mesh.back_file, searched);
  if (!from.empty()) return fmt::format("      {}: {}\n", back_key, mesh_file(mesh.name + "_back", from));
  if (import_options_.meshes.contains(name)) {
    throw input_error("meshes", fmt::format("contact mesh '{}': expected the file of {}, found no '{}'", mesh.name,
                                            other_file(name), searched.front()));
  }
  add_omission(fmt::format(
      "contact mesh {}: its variable thickness, because {} is missing ({}); the constant thickness {} m is used",
      mesh.name, mesh.back_file, other_file(name), mesh.thickness));
  return constant;
}

std::string Importer::side_text(const ContactMesh& mesh) {
  const Frame at = in_merged_body(mesh.frame);
  std::string scale;
  if (!mesh.scale.isApprox(Vector3::Constant(mesh.scale.x()))) {
    add_omission(fmt::format("contact mesh {}: its scale factors, which differ", mesh.name));
  } else if (mesh.scale.x() != 1.0) {
    scale = fmt::format("length_scale: {}, ", mesh.scale.x());
  }
  return fmt::format(
      "      body: {}\n      surface: {{mesh: {{file: {}, {}position: {}, orientation: {}}}}}\n      material: "
      "{{youngs_modulus: {}, poissons_ratio: {}}}\n",
      plain(at.body), mesh_name(mesh), scale, list(at.X_BF.p), quaternion(at.X_BF.R), mesh.youngs_modulus,
      mesh.poissons_ratio);
}

std::string Importer::pair_text(const ContactForce& contact, const ContactMesh& target, const ContactMesh& casting) {
  import_.imported.push_back(fmt::format("contact {}: {} on {}", contact.name, casting.name, target.name));
  const std::string main = side_text(casting);
  const std::string partner = side_text(target);
  std::string layers = layer_text(casting, "thickness", "back_file");
  layers += layer_text(target, "partner_thickness", "partner_back_file");
  if (layers.find("back_file") != std::string::npos) {
    double least = 0.0;
    for (const ContactMesh* mesh : {&casting, &target}) {
      if (mesh->variable_thickness) least = std::max(least, mesh->min_thickness);
    }
    if (least > 0.0) layers += fmt::format("      back_min_thickness: {}\n", least);
  }
  return fmt::format(
      "  {}:\n    main:\n{}    partner:\n{}    backend: elastic_foundation\n    parameters:\n{}      layers: {}\n     "
      " strain: {}\n      springs: centres\n      direction: normal\n      normals: facets\n",
      plain(contact.name), main, partner, layers, contact.lumped ? "lumped" : "series",
      contact.nonlinear ? "large" : "small");
}

/// Requires that every replaced mesh is in the model.
void Importer::check_mesh_names() const {
  std::vector<std::string> known;
  for (const ContactMesh& mesh : model_.meshes) known.insert(known.end(), {mesh.name, mesh.name + ".back"});
  for (const auto& [name, file] : import_options_.meshes) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw error_at("meshes", "expected names of contact meshes of the model ({}), found '{}'", fmt::join(known, ", "),
                   name);
  }
}

std::string Importer::contact_text() {
  std::string pairs;
  for (const ContactForce& contact : model_.contacts) {
    const auto target = std::ranges::find(model_.meshes, contact.target, &ContactMesh::name);
    const auto casting = std::ranges::find(model_.meshes, contact.casting, &ContactMesh::name);
    const std::string name = fmt::format("contact {}", contact.name);
    if (omitted_.contains(contact.name)) {
      add_omission(fmt::format("{}: excluded ({})", name, option_name("exclude")));
    } else if (!contact.applies) {
      add_omission(name + ": it is disabled (appliesForce)");
    } else if (target == model_.meshes.end() || casting == model_.meshes.end()) {
      add_omission(fmt::format("{}: its mesh {}, which is missing in the model", name,
                               target == model_.meshes.end() ? contact.target : contact.casting));
    } else if (!is_imported(target->frame.body) || !is_imported(casting->frame.body)) {
      add_omission(fmt::format("{}: it is attached to {}", name,
                               is_imported(target->frame.body) ? casting->frame.body : target->frame.body));
    } else if (in_merged_body(target->frame).body == in_merged_body(casting->frame).body) {
      add_omission(fmt::format("{}: both of its meshes are in {}", name, in_merged_body(target->frame).body));
    } else {
      pairs += pair_text(contact, *target, *casting);
    }
  }
  return pairs.empty() ? "" : "contact:\n" + pairs;
}

void Importer::report_omissions() {
  for (const Body& body : model_.bodies) {
    if (!is_imported(body.name)) add_omission(fmt::format("body {}: it is not in the subset", body.name));
  }
  for (const Joint& joint : model_.joints) {
    const bool welds = joint.type == "WeldJoint" && is_imported(joint.parent.body) && is_imported(joint.child.body);
    if (!welds && std::ranges::find(joints_, &joint) == joints_.end()) {
      add_omission(fmt::format("joint {}: it is not in the subset", joint.name));
    }
  }
  for (const Joint* joint : joints_) {
    for (const Coordinate& c : joint->coordinates) {
      if (c.prescribed && !is_whole()) add_omission(fmt::format("coordinate {}: its prescribed function", c.name));
    }
  }
  std::map<std::string, std::vector<std::string>> others;
  for (const Other& other : model_.others) others[other.kind].push_back(other.name);
  for (const auto& [kind, names] : others) add_omission(fmt::format("{} {}", kind, fmt::join(names, ", ")));
  std::vector<std::string> idle;
  for (const WrapObject& wrap : model_.wraps) {
    if (!used_wraps_.contains(&wrap)) idle.push_back(wrap.name);
  }
  if (!idle.empty()) add_omission(fmt::format("wrap objects without an imported line: {}", fmt::join(idle, ", ")));
  for (const std::string& note : model_.notes) add_omission(note);
  for (const std::string& elements : model_.unused) add_omission("unused, " + elements);
}

Import Importer::run() {
  check_mesh_names();
  check_radians();
  scale();
  begin_motion();
  set_coordinates();
  follow_couplers();
  lock_joints();
  apply_locked();
  choose_joints();
  if (!is_whole()) merge_welded();
  choose_driven_joint();
  leave_out();
  for (const std::string& name : bodies_) import_.imported.push_back(fmt::format("body {}", name));
  const std::string joints = joints_text();
  if (driven_joint_ != nullptr) prescribe_flexion();
  if (is_whole()) drive_coordinates();
  const std::string loads = loads_text();
  const std::string forces = forces_text();
  const std::string contact = contact_text();
  report_omissions();
  import_.scenario = fmt::format(
      "# From the OpenSim model {}; NOT_IMPORTED.txt lists the parts that were not imported.\nheelstrike: 1\ngravity: "
      "{}\n\n{}{}\n{}{}\n{}{}"
      "{}\n{}\n{}",
      plain(model_.name), list(R_axes_ * model_.gravity), bodies_text(), flexed_body_, joints, flexed_joint_, driver_,
      loads, forces, contact, analysis_text());
  return std::move(import_);
}

}  // namespace

MeasuredLoads read_measured_loads(
    const fs::path& file, const fs::path& data_file,
    const std::function<std::string(const std::string& file, const char* option)>& text_in) {
  constexpr const char* option = "external_loads";
  MeasuredLoads result{.file = file,
                       .loads = read_external_loads(text_in(file.string(), option), file.string()),
                       .data_file = data_file,
                       .data = {}};
  if (data_file.empty() && result.loads.data_file.empty()) {
    throw input_error(option, fmt::format("{}: expected the element `datafile`, found none; add the name of the file "
                                          "with the columns, or specify it beside this file",
                                          file.string()));
  }
  if (data_file.empty()) result.data_file = file.parent_path() / result.loads.data_file;
  const std::string name = result.data_file.string();
  try {
    result.data = read_motion_table(text_in(name, data_file.empty() ? option : "external_loads_data"), name);
  } catch (const Error& error) {
    if (!data_file.empty() || error.code() == ErrorCode::cancelled) throw;
    throw Error(error.code(),
                fmt::format("{} (data file of {}; name another one by external_loads_data or --external-loads-data)",
                            error.what(), file.string()),
                option);
  }
  return result;
}

std::vector<fs::path> mesh_folders(std::vector<fs::path> given, const fs::path& model) {
  given.push_back(model.parent_path());
  given.push_back(model.parent_path() / "Geometry");
  return given;
}

Import import_model(Model model, const ImportOptions& import_options) {
  const std::string file = model.file;
  try {
    return Importer(std::move(model), import_options).run();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (file.empty() || what.find(file) != std::string::npos) throw;
    // Faults of the model name its file first; faults of options and other files name those.
    throw Error(error.code(), error.field() == "model" ? file + ": " + what : fmt::format("{} ({})", what, file),
                error.field(), error.retryable());
  }
}

}  // namespace heelstrike::osim
