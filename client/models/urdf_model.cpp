#include "client/models/urdf_model.hpp"

#include <console_bridge/console.h>
#include <fmt/format.h>
#include <urdf_model/model.h>
#include <urdf_parser/urdf_parser.h>
#include <algorithm>
#include <array>
#include <map>
#include <pugixml.hpp>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike::client::models {
namespace {

namespace fs = std::filesystem;
using Kind = Freedom::Kind;
using Surface = Shape::Surface;

/// What urdfdom says while it reads; it would print it.
class Overheard : public console_bridge::OutputHandler {
 public:
  Overheard() { console_bridge::useOutputHandler(this); }
  ~Overheard() override { console_bridge::restorePreviousOutputHandler(); }
  Overheard(const Overheard&) = delete;
  Overheard& operator=(const Overheard&) = delete;

  void log(const std::string& text, console_bridge::LogLevel level, const char* /*file*/, int /*line*/) override {
    if (level == console_bridge::CONSOLE_BRIDGE_LOG_ERROR) errors += (errors.empty() ? "" : "; ") + text;
    if (level == console_bridge::CONSOLE_BRIDGE_LOG_WARN) warnings.push_back(text);
  }

  std::string errors;
  std::vector<std::string> warnings;
};

Vector3 vector(const urdf::Vector3& v) {
  return {v.x, v.y, v.z};
}

Pose pose(const urdf::Pose& origin) {
  const urdf::Rotation& q = origin.rotation;
  return {.R = Quaternion(q.w, q.x, q.y, q.z).normalized().toRotationMatrix(), .p = vector(origin.position)};
}

class UrdfReader {
 public:
  UrdfReader(const fs::path& file, const UrdfWish& wish) : file_(file), wish_(wish) {}

  [[nodiscard]] TreeModel read(const std::string& text);

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw input_error("model", fmt::format("{}: {}", file_.string(), what));
  }
  void add_link(const urdf::Link& link, std::optional<std::size_t> parent);
  [[nodiscard]] std::vector<Freedom> freedoms_of(const urdf::Joint& joint) const;
  void tell_joint(const urdf::Joint& joint);
  [[nodiscard]] Shape shape_of(const urdf::Collision& collision, const std::string& link);
  [[nodiscard]] Shape mesh_of(const urdf::Mesh& mesh, const std::string& link);
  [[nodiscard]] fs::path package_folder(const std::string& name, const std::string& mesh) const;
  [[nodiscard]] fs::path file_of(const std::string& name, const std::string& link) const;
  void tell_rest(const pugi::xml_node& robot);
  void miss(std::string text) { model_.not_taken.push_back(std::move(text)); }

  const fs::path& file_;
  const UrdfWish& wish_;
  TreeModel model_;
  std::map<std::string, fs::path> meshes_;  ///< files by their names in the scenario's folder
};

std::vector<Freedom> UrdfReader::freedoms_of(const urdf::Joint& joint) const {
  const Vector3 axis = vector(joint.axis);
  const bool has_axis = joint.type == urdf::Joint::REVOLUTE || joint.type == urdf::Joint::CONTINUOUS ||
                        joint.type == urdf::Joint::PRISMATIC || joint.type == urdf::Joint::PLANAR;
  if (has_axis && !(axis.norm() > 0.0)) {
    refuse(fmt::format("joint '{}': expected an axis other than zero, found {}", joint.name, list(axis)));
  }
  Freedom along{.kind = Kind::turn, .name = joint.name, .axis = axis.normalized()};
  if (joint.dynamics) along.damping = joint.dynamics->damping;
  switch (joint.type) {
    case urdf::Joint::REVOLUTE:
    case urdf::Joint::CONTINUOUS:
      return {along};
    case urdf::Joint::PRISMATIC:
      along.kind = Kind::shift;
      return {along};
    case urdf::Joint::FLOATING:
      return {{.kind = Kind::free, .name = joint.name}};
    case urdf::Joint::PLANAR: {
      const Vector3 first = along.axis.unitOrthogonal();
      return {{.kind = Kind::shift, .name = joint.name, .axis = first},
              {.kind = Kind::shift, .name = joint.name, .axis = along.axis.cross(first)},
              along};
    }
    case urdf::Joint::FIXED:
      return {};
    default:
      refuse(fmt::format("joint '{}': expected a type of joint of URDF, found none", joint.name));
  }
}

/// What a joint has besides its axis.
void UrdfReader::tell_joint(const urdf::Joint& joint) {
  const std::string name = fmt::format("joint {}", joint.name);
  if (joint.limits) {
    const urdf::JointLimits& l = *joint.limits;
    if (joint.type == urdf::Joint::REVOLUTE || joint.type == urdf::Joint::PRISMATIC) {
      miss(fmt::format("{}: its limits, {} to {}", name, l.lower, l.upper));
    }
    if (l.effort != 0.0 || l.velocity != 0.0) {
      miss(fmt::format("{}: its limits of effort and velocity, {} and {}", name, l.effort, l.velocity));
    }
  }
  if (joint.dynamics && joint.dynamics->friction != 0.0) {
    miss(fmt::format("{}: its friction {}", name, joint.dynamics->friction));
  }
  if (joint.mimic) miss(fmt::format("{}: that it mimics {}; it moves on its own", name, joint.mimic->joint_name));
  if (joint.safety) miss(name + ": its safety controller");
  if (joint.calibration) miss(name + ": its calibration");
}

/// The folder of a package: as it was given, or the nearest one of its name above the model.
fs::path UrdfReader::package_folder(const std::string& name, const std::string& mesh) const {
  if (const auto given = wish_.packages.find(name); given != wish_.packages.end()) return given->second;
  for (fs::path folder = fs::absolute(file_).parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == name) return folder;
    if (fs::is_directory(folder / name)) return folder / name;
  }
  refuse(
      fmt::format("mesh '{}': expected the package '{}' in a folder of this name above the model, found none; "
                  "give its folder with --package {}=FOLDER",
                  mesh, name, name));
}

fs::path UrdfReader::file_of(const std::string& name, const std::string& link) const {
  constexpr std::string_view package = "package://", plain_file = "file://";
  fs::path folder = file_.parent_path(), found;
  std::string what = "the model's folder";
  if (name.starts_with(package)) {
    const std::string rest = name.substr(package.size());
    const auto slash = rest.find('/');
    if (slash == std::string::npos || slash == 0) {
      refuse(fmt::format("link '{}': expected package://NAME/FILE, found '{}'", link, name));
    }
    what = fmt::format("the package '{}'", rest.substr(0, slash));
    folder = package_folder(rest.substr(0, slash), name);
    found = folder / rest.substr(slash + 1);
  } else {
    found = folder / (name.starts_with(plain_file) ? name.substr(plain_file.size()) : name);
  }
  if (folder.empty()) folder = ".";
  // Where links and ".." lead to counts.
  const fs::path inside = fs::weakly_canonical(found).lexically_relative(fs::weakly_canonical(folder));
  if (inside.empty() || *inside.begin() == "..") {
    refuse(fmt::format("link '{}': expected a mesh inside {} ({}), found '{}', which leads outside; copy it there",
                       link, what, folder.string(), name));
  }
  if (!fs::is_regular_file(found)) {
    refuse(fmt::format("link '{}': expected the mesh '{}', found no file {}", link, name, found.string()));
  }
  return found;
}

Shape UrdfReader::mesh_of(const urdf::Mesh& mesh, const std::string& link) {
  Shape shape{.what = fmt::format("collision mesh {}", mesh.filename)};
  const Vector3 scale = vector(mesh.scale);
  const fs::path from = file_of(mesh.filename, link);
  std::string ending = from.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  constexpr std::array readable = {".stl", ".obj", ".ply", ".vtp"};
  const bool same = (scale - scale.x() * Vector3::Ones()).norm() == 0.0 && scale.x() > 0.0;
  if (std::ranges::find(readable, ending) == readable.end()) {
    shape.what += fmt::format(", a file of kind {} (convert it to STL, OBJ or PLY)", ending);
    return shape;
  }
  if (!same) {
    shape.what += fmt::format(", scaled by {} (only equal positive factors are possible)", list(scale));
    return shape;
  }
  std::string to = "meshes/" + plain(from.stem().string()) + ending;
  for (int i = 2; meshes_.contains(to) && meshes_[to] != from; ++i) {
    to = fmt::format("meshes/{}_{}{}", plain(from.stem().string()), i, ending);
  }
  meshes_[to] = from;
  shape.mesh = MeshCopy{.from = from, .to = to};
  shape.surface = Surface::mesh;
  shape.keys = fmt::format("file: {}", to);
  if (scale.x() != 1.0) shape.keys += fmt::format(", length_scale: {}", scale.x());
  return shape;
}

Shape UrdfReader::shape_of(const urdf::Collision& collision, const std::string& link) {
  Shape shape;
  if (const auto mesh = std::dynamic_pointer_cast<urdf::Mesh>(collision.geometry)) {
    shape = mesh_of(*mesh, link);
  } else if (const auto sphere = std::dynamic_pointer_cast<urdf::Sphere>(collision.geometry)) {
    shape.what = fmt::format("collision sphere of radius {} m", sphere->radius);
    shape.surface = Surface::sphere;
    shape.keys = fmt::format("radius: {}", sphere->radius);
  } else if (const auto box = std::dynamic_pointer_cast<urdf::Box>(collision.geometry)) {
    shape.what = fmt::format("collision box {} m", list(vector(box->dim)));
  } else if (const auto tube = std::dynamic_pointer_cast<urdf::Cylinder>(collision.geometry)) {
    shape.what = fmt::format("collision cylinder of radius {} m and length {} m", tube->radius, tube->length);
  }
  shape.X_BS = pose(collision.origin);
  return shape;
}

void UrdfReader::add_link(const urdf::Link& link, std::optional<std::size_t> parent) {
  Link added{.name = link.name, .mass = {}, .X_PL = {}};
  if (link.inertial) {
    const urdf::Inertial& i = *link.inertial;
    Matrix3 inertia;
    inertia << i.ixx, i.ixy, i.ixz, i.ixy, i.iyy, i.iyz, i.ixz, i.iyz, i.izz;
    added.mass = seen_from(pose(i.origin), {.mass = i.mass, .inertia = inertia});
  }
  for (const auto& collision : link.collision_array) added.shapes.push_back(shape_of(*collision, link.name));
  if (!link.visual_array.empty()) miss(fmt::format("visual geometry of {}", link.name));
  const bool is_root = !link.parent_joint;
  if (!is_root) {
    const urdf::Joint& joint = *link.parent_joint;
    added.parent = parent;
    added.X_PL = pose(joint.parent_to_joint_origin_transform);
    added.freedoms = freedoms_of(joint);
    added.joint = joint.name;
    added.joint_type = "joint";
    tell_joint(joint);
  } else if (wish_.base_is_free && link.name != "world") {
    added.joint = "base";
    added.freedoms = {{.kind = Kind::free, .name = "base"}};
  } else if (link.name != "world") {
    miss(
        fmt::format("root link {}: URDF does not say whether it moves; it is part of the ground, and --base free lets "
                    "it move",
                    link.name));
  }
  model_.links.push_back(std::move(added));
  const std::size_t index = model_.links.size() - 1;
  for (const auto& child : link.child_links) add_link(*child, index);
}

/// Elements that urdfdom passes over.
void UrdfReader::tell_rest(const pugi::xml_node& robot) {
  const auto unknown = [this](const pugi::xml_node& parent, std::initializer_list<std::string_view> known,
                              const std::string& where) {
    for (const pugi::xml_node node : parent.children()) {
      if (node.type() != pugi::node_element || std::ranges::find(known, std::string_view(node.name())) != known.end()) {
        continue;
      }
      const std::string name = node.attribute("name").as_string();
      const std::string reference = node.attribute("reference").as_string();
      miss(fmt::format("{}{}{}{}", where, node.name(), name.empty() ? "" : " " + name,
                       reference.empty() ? "" : " of " + reference));
    }
  };
  unknown(robot, {"link", "joint", "material"}, "");
  for (const pugi::xml_node link : robot.children("link")) {
    unknown(link, {"inertial", "visual", "collision"}, fmt::format("link {}: ", link.attribute("name").as_string()));
  }
  for (const pugi::xml_node joint : robot.children("joint")) {
    unknown(joint,
            {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"},
            fmt::format("joint {}: ", joint.attribute("name").as_string()));
  }
}

TreeModel UrdfReader::read(const std::string& text) {
  urdf::ModelInterfaceSharedPtr robot;
  Overheard overheard;
  robot = urdf::parseURDF(text);
  // urdfdom goes on after some of its errors, with a part of the link missing.
  if (!robot || !robot->getRoot() || !overheard.errors.empty()) {
    refuse(fmt::format("expected a URDF model, found: {}",
                       overheard.errors.empty() ? "no link without a parent" : overheard.errors));
  }
  model_.kind = "URDF";
  model_.name = robot->getName();
  add_link(*robot->getRoot(), std::nullopt);
  miss("gravity: URDF does not have it; it is 9.81 m/s^2 against z");
  for (const std::string& warning : overheard.warnings) miss("urdfdom: " + warning);
  pugi::xml_document document;
  document.load_buffer(text.data(), text.size());
  tell_rest(document.child("robot"));
  return std::move(model_);
}

}  // namespace

TreeModel read_urdf(const std::string& text, const fs::path& file, const UrdfWish& wish) {
  return UrdfReader(file, wish).read(text);
}

}  // namespace heelstrike::client::models
