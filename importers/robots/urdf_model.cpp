#include "importers/robots/urdf_model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/text/markup.hpp"
#include "importers/model_numbers.hpp"
#include "importers/robots/link_motion.hpp"

namespace heelstrike::models {
namespace {

namespace fs = std::filesystem;
using Kind = JointDof::Kind;
using Node = pugi::xml_node;

/// Root link that is the ground.
const std::string ground_link = "world";

/// The first attribute with a value of xacro, "${length}" or "$(find package)"; null for none.
pugi::xml_attribute substitution_of(Node node) {
  for (const pugi::xml_attribute attribute : node.attributes()) {
    const std::string_view value = attribute.value();
    if (value.find("${") != std::string_view::npos || value.find("$(") != std::string_view::npos) return attribute;
  }
  return {};
}

/// Folders listed in an environment variable, with `below` appended to each.
std::vector<fs::path> listed_folders(const char* variable, const fs::path& below) {
  std::vector<fs::path> folders;
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): never modified
  std::istringstream all(value == nullptr ? "" : value);
  for (std::string folder; std::getline(all, folder, ':');) folders.push_back(fs::path(folder) / below);
  return folders;
}

/// Decodes the percent-encoding of a URL.
std::string unescaped_url(const std::string& text) {
  std::string plain_text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() && std::sscanf(text.c_str() + i + 1, "%2x", &value) == 1) {  // NOLINT
      plain_text += static_cast<char>(value);
      i += 2;
    } else {
      plain_text += text[i];
    }
  }
  return plain_text;
}

bool is_package(const fs::path& folder, const std::string& name) {
  pugi::xml_document document;
  return fs::is_regular_file(folder / "package.xml") && document.load_file((folder / "package.xml").c_str()) &&
         document.child("package").child_value("name") == name;
}

class UrdfReader {
 public:
  UrdfReader(const fs::path& file, const UrdfOptions& import_options)
      : file_(file), import_options_(import_options), files_(import_options.meshes) {}

  [[nodiscard]] TreeModel read(const std::string& content);

 private:
  [[noreturn]] void reject(const std::string& what) const {
    throw input_error("model", fmt::format("{}: {}", file_.string(), what));
  }
  [[nodiscard]] std::vector<double> numbers(Node node, const char* attribute, std::size_t count,
                                            const std::string& where) const;
  [[nodiscard]] double number(Node node, const char* attribute, double fallback, const std::string& where) const;
  [[nodiscard]] Vector3 vector(Node node, const char* attribute, const Vector3& fallback,
                               const std::string& where) const;
  [[nodiscard]] Pose origin(Node parent, const std::string& where) const;
  void collect(Node robot);
  [[nodiscard]] std::string known_links() const;
  [[nodiscard]] std::string root_link() const;
  void add_tree(const std::string& root);
  void add_link(const std::string& name, Node joint, std::optional<std::size_t> parent);
  [[nodiscard]] std::optional<MassProperties> mass_of(Node inertial, const std::string& where) const;
  [[nodiscard]] std::vector<JointDof> dofs_of(Node joint, const std::string& where) const;
  void report_joint_omissions(Node joint, const std::string& where);
  [[nodiscard]] Shape shape_of(Node collision, const std::string& where);
  [[nodiscard]] std::optional<fs::path> package_folder(const std::string& name, const fs::path& rest) const;
  [[nodiscard]] std::optional<fs::path> file_of(const std::string& name, const std::string& where);
  void reject_substitutions(Node robot) const;
  void print_repeat_counts(Node robot);
  void add_omission(std::string text) { model_.omissions.push_back(std::move(text)); }

  const fs::path& file_;
  const UrdfOptions& import_options_;
  MeshFiles files_;
  TreeModel model_;
  std::map<std::string, Node> links_;
  std::map<std::string, std::vector<Node>> joints_from_;  ///< joints by parents, in the order of the file
  std::map<std::string, Node> joint_to_;                  ///< by children
};

std::vector<double> UrdfReader::numbers(Node node, const char* attribute, std::size_t count,
                                        const std::string& where) const {
  const pugi::xml_attribute found = node.attribute(attribute);
  if (!found) return {};
  auto values = numbers_in(found.value());
  if (values && values->size() == count) return std::move(*values);
  reject(fmt::format("{}: expected {} finite number{} in '{}' of {}, found '{}'", where, count, count > 1 ? "s" : "",
                     attribute, node.name(), printable(found.value(), 60)));
}

double UrdfReader::number(Node node, const char* attribute, double fallback, const std::string& where) const {
  const std::vector<double> found = numbers(node, attribute, 1, where);
  return found.empty() ? fallback : found[0];
}

Vector3 UrdfReader::vector(Node node, const char* attribute, const Vector3& fallback, const std::string& where) const {
  const std::vector<double> found = numbers(node, attribute, 3, where);
  return found.empty() ? fallback : Vector3(found[0], found[1], found[2]);
}

/// Roll, pitch, yaw: rotations about the fixed axes x, y, z in this order.
Pose UrdfReader::origin(Node parent, const std::string& where) const {
  const Node node = parent.child("origin");
  const Vector3 rpy = vector(node, "rpy", Vector3::Zero(), where);
  const auto rotation = [&](int axis) { return Eigen::AngleAxisd(rpy[axis], Vector3::Unit(axis)); };
  return {.R = (rotation(2) * rotation(1) * rotation(0)).toRotationMatrix(),
          .p = vector(node, "xyz", Vector3::Zero(), where)};
}

/// Collects links and joints by name. @throws for missing or duplicate names
void UrdfReader::collect(Node robot) {
  for (const Node link : robot.children("link")) {
    const std::string name = link.attribute("name").value();
    if (name.empty()) reject("expected a name of every link, found none");
    if (!links_.emplace(name, link).second)
      reject(fmt::format("link '{}': expected this name once, found it twice", name));
  }
  std::set<std::string> names;
  for (const Node joint : robot.children("joint")) {
    const std::string name = joint.attribute("name").value();
    const std::string parent = joint.child("parent").attribute("link").value();
    const std::string child = joint.child("child").attribute("link").value();
    if (name.empty() || !names.insert(name).second) {
      reject(fmt::format("joint '{}': expected a unique joint name", name));
    }
    // Other readers take an undeclared `world` as the ground.
    if (parent == ground_link) links_.emplace(parent, Node());
    for (const auto& [role, link] : {std::pair("parent", parent), std::pair("child", child)}) {
      if (links_.contains(link)) continue;
      reject(fmt::format("joint '{}': expected a link of the file as its {}, found '{}'; the links are {}", name, role,
                         printable(link), known_links()));
    }
    const auto [other, is_new] = joint_to_.emplace(child, joint);
    if (!is_new) {
      reject(fmt::format("link '{}': expected one parent joint, found '{}' and '{}'", child,
                         other->second.attribute("name").value(), name));
    }
    joints_from_[parent].push_back(joint);
  }
}

/// "'a', 'b', ...", for messages.
std::string UrdfReader::known_links() const {
  constexpr std::size_t max_listed = 10;
  std::string names;
  std::size_t n = 0;
  for (const auto& [name, link] : links_) {
    if (n++ == max_listed) return fmt::format("{} and {} more", names, links_.size() - max_listed);
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(name));
  }
  return names;
}

std::string UrdfReader::root_link() const {
  std::string roots;
  for (const auto& [name, link] : links_) {
    if (joint_to_.contains(name)) continue;
    roots += (roots.empty() ? "" : "', '") + name;
  }
  if (roots.empty() || roots.find("', '") != std::string::npos) {
    reject(fmt::format("expected a URDF model with one root link, found {}", links_.empty() ? "no link"
                                                                             : roots.empty()
                                                                                 ? "none"
                                                                                 : fmt::format("'{}'", roots)));
  }
  return roots;
}

std::optional<MassProperties> UrdfReader::mass_of(Node inertial, const std::string& where) const {
  if (!inertial) return std::nullopt;
  const Node inertia = inertial.child("inertia");
  for (const auto& [node, key] : {std::pair(inertial.child("mass"), "value"), std::pair(inertia, "ixx"),
                                  std::pair(inertia, "iyy"), std::pair(inertia, "izz")}) {
    if (!node.attribute(key)) reject(fmt::format("{}: expected '{}' in its inertial, found none", where, key));
  }
  const auto entry = [&](const char* key) { return number(inertia, key, 0.0, where); };
  Matrix3 I;
  I << entry("ixx"), entry("ixy"), entry("ixz"), entry("ixy"), entry("iyy"), entry("iyz"), entry("ixz"), entry("iyz"),
      entry("izz");
  return expressed_in(origin(inertial, where),
                      {.mass = number(inertial.child("mass"), "value", 0.0, where), .inertia = I});
}

std::vector<JointDof> UrdfReader::dofs_of(Node joint, const std::string& where) const {
  const std::string type = joint.attribute("type").value(), name = joint.attribute("name").value();
  if (type == "fixed") return {};
  if (type == "floating") return {{.kind = Kind::free, .name = name}};
  // Not in the standard, but read by Bullet and others.
  if (type == "spherical") {
    return {{.kind = Kind::spherical, .name = name, .damping = number(joint.child("dynamics"), "damping", 0.0, where)}};
  }
  const Vector3 axis = vector(joint.child("axis"), "xyz", Vector3::UnitX(), where);
  if (!(axis.norm() > 0.0)) reject(fmt::format("{}: expected a nonzero axis, found {}", where, list(axis)));
  JointDof along{.kind = Kind::revolute, .name = name, .axis = axis.normalized()};
  along.damping = number(joint.child("dynamics"), "damping", 0.0, where);
  if (type == "revolute" || type == "continuous") return {along};
  if (type == "prismatic") {
    along.kind = Kind::prismatic;
    return {along};
  }
  if (type != "planar") {
    reject(fmt::format(
        "{}: expected revolute, continuous, prismatic, fixed, floating, planar or spherical in 'type', found '{}'",
        where, printable(type, 60)));
  }
  const Vector3 first = along.axis.unitOrthogonal();
  return {{.kind = Kind::prismatic, .name = name, .axis = first},
          {.kind = Kind::prismatic, .name = name, .axis = along.axis.cross(first)},
          along};
}

/// Reports properties of a joint that are not imported.
void UrdfReader::report_joint_omissions(Node joint, const std::string& where) {
  const std::string name = fmt::format("joint {}", joint.attribute("name").value());
  if (const Node limit = joint.child("limit")) {
    const auto value = [&](const char* key) { return number(limit, key, 0.0, where); };
    const std::string_view type = joint.attribute("type").value();
    if (type == "revolute" || type == "prismatic") {
      add_omission(fmt::format("{}: its limits, {} to {}", name, value("lower"), value("upper")));
    }
    if (value("effort") != 0.0 || value("velocity") != 0.0) {
      add_omission(
          fmt::format("{}: its limits of effort and velocity, {} and {}", name, value("effort"), value("velocity")));
    }
  }
  if (const double friction = number(joint.child("dynamics"), "friction", 0.0, where); friction != 0.0) {
    add_omission(fmt::format("{}: its friction {}", name, friction));
  }
  if (const Node mimic = joint.child("mimic")) {
    const std::string own = joint.attribute("name").value();
    const double offset = number(mimic, "offset", 0.0, where), multiplier = number(mimic, "multiplier", 1.0, where);
    model_.couplings.push_back({.what = fmt::format("mimic of {}", name),
                                .name = own + "_mimic",
                                .dependent = own,
                                .independent = mimic.attribute("joint").value(),
                                .polynomial = {offset, multiplier}});
  }
  if (joint.child("safety_controller")) add_omission(name + ": its safety controller");
  if (joint.child("calibration")) add_omission(name + ": its calibration");
}

std::optional<fs::path> UrdfReader::package_folder(const std::string& name, const fs::path& rest) const {
  if (const auto given = import_options_.packages.find(name); given != import_options_.packages.end())
    return given->second;
  const fs::path model = fs::absolute(file_).lexically_normal().parent_path();
  for (fs::path folder = model; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == name || is_package(folder, name)) return folder;
    if (fs::is_directory(folder / name)) return folder / name;
  }
  std::vector<fs::path> others = listed_folders("ROS_PACKAGE_PATH", name);
  const std::vector<fs::path> shared = listed_folders("AMENT_PREFIX_PATH", fs::path("share") / name);
  others.insert(others.end(), shared.begin(), shared.end());
  for (const fs::path& folder : others) {
    if (fs::is_directory(folder)) return folder;
  }
  // A copy of the package may have another folder name.
  for (fs::path folder = model; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / rest)) return folder;
  }
  return std::nullopt;
}

/// Path of a mesh, or the last searched path; none for a mesh of a missing package.
std::optional<fs::path> UrdfReader::file_of(const std::string& name, const std::string& where) {
  const auto scheme = name.find("://");
  const std::string kind = scheme == std::string::npos ? "" : name.substr(0, scheme);
  std::string rest = scheme == std::string::npos ? name : unescaped_url(name.substr(scheme + 3));
  if (kind == "package" || kind == "model") {
    // A third slash is ignored, as in readers that replace `package:/` by a folder.
    if (rest.starts_with('/')) rest.erase(0, 1);
    const auto slash = rest.find('/');
    if (slash == std::string::npos || slash == 0) {
      reject(fmt::format("{}: expected package://NAME/FILE, found '{}'", where, printable(name)));
    }
    const fs::path inside = fs::path(rest.substr(slash + 1)).lexically_normal();
    if (inside.is_absolute() || inside.empty() || *inside.begin() == "..") {
      reject(fmt::format("{}: expected a mesh inside the package '{}', found '{}', which is outside of it", where,
                         rest.substr(0, slash), printable(name)));
    }
    const auto folder = package_folder(rest.substr(0, slash), inside);
    if (folder) return *folder / inside;
    files_.add_missing(fmt::format("{} of {} (no package '{}' above the model; specify it with --package {}=FOLDER)",
                                   printable(name), where, rest.substr(0, slash), rest.substr(0, slash)));
    return std::nullopt;
  }
  if (!kind.empty() && kind != "file") {
    reject(fmt::format("{}: expected a file name, file:// or package://, found '{}'", where, printable(name)));
  }
  const fs::path file = rest.starts_with("localhost/") ? rest.substr(9) : rest;
  const fs::path beside = file_.parent_path() / file;
  if (file.is_absolute() || fs::is_regular_file(beside)) return beside;
  // Some paths are relative to a folder above that of the model.
  for (fs::path folder = fs::absolute(file_).lexically_normal().parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / file)) return folder / file;
  }
  return beside;
}

namespace {

bool has_extent(const Shape& shape) {
  const bool is_sphere = shape.kind == Shape::Kind::sphere;
  const bool is_box = shape.kind == Shape::Kind::box;
  return shape.size.x() > 0.0 && (is_sphere || shape.size.y() > 0.0) && (!is_box || shape.size.z() > 0.0);
}

}  // namespace

Shape UrdfReader::shape_of(Node collision, const std::string& where) {
  const Node geometry = collision.child("geometry");
  const auto length = [&](Node node, const char* key) {
    const double value = number(node, key, 0.0, where);
    // Points of contact are written as spheres of radius 0; such a shape has no surface, but the robot moves.
    if (!(value > 0.0) && !(value == 0.0 && node.attribute(key)))
      reject(fmt::format("{}: expected '{}' of its collision above 0 m, found {}", where, key, value));
    return value;
  };
  Shape shape{.X_BS = origin(collision, where)};
  if (const Node mesh = geometry.child("mesh")) {
    const std::string name = mesh.attribute("filename").value();
    shape.what = fmt::format("collision mesh {}", printable(name));
    const Vector3 factors = vector(mesh, "scale", Vector3::Ones(), where);
    if (factors.cwiseAbs().minCoeff() == 0.0) {
      reject(fmt::format("{}: expected nonzero factors in 'scale', found {}", where, list(factors)));
    }
    const auto file = import_options_.meshes.leave_out ? fs::path(name) : file_of(name, where);
    if (file) files_.use(shape, *file, where, factors);
  } else if (const Node sphere = geometry.child("sphere")) {
    shape.kind = Shape::Kind::sphere;
    shape.size.x() = length(sphere, "radius");
    shape.what = fmt::format("collision sphere of radius {} m", shape.size.x());
  } else if (const Node box = geometry.child("box")) {
    shape.kind = Shape::Kind::box;
    shape.size = 0.5 * vector(box, "size", Vector3::Zero(), where);
    shape.what = fmt::format("collision box {} m", list(2.0 * shape.size));
    if (!(shape.size.minCoeff() >= 0.0) || !box.attribute("size"))
      reject(fmt::format("{}: expected lengths above 0, found a {}", where, shape.what));
  } else if (const Node round = geometry.find_child([](Node n) {
               return std::string_view(n.name()) == "cylinder" || std::string_view(n.name()) == "capsule";
             })) {
    const bool capsule = std::string_view(round.name()) == "capsule";
    shape.kind = capsule ? Shape::Kind::capsule : Shape::Kind::cylinder;
    shape.size = Vector3(length(round, "radius"), 0.5 * length(round, "length"), 0.0);
    shape.what =
        fmt::format("collision {} of radius {} m and length {} m", round.name(), shape.size.x(), 2.0 * shape.size.y());
  } else {
    shape.what = fmt::format("collision {}", printable(geometry.first_child().name()));
  }
  if (shape.kind != Shape::Kind::none && shape.kind != Shape::Kind::mesh && !has_extent(shape))
    shape.kind = Shape::Kind::none;
  return shape;
}

/// @param joint  parent joint; none for the root
void UrdfReader::add_link(const std::string& name, Node joint, std::optional<std::size_t> parent) {
  const Node node = links_.at(name);
  const std::string where = fmt::format("link '{}'", name);
  Link link{.name = name, .mass = mass_of(node.child("inertial"), where), .parent = parent, .X_PL = {}};
  for (const Node collision : node.children("collision")) link.shapes.push_back(shape_of(collision, where));
  if (node.child("visual")) add_omission(fmt::format("visual geometry of {}", name));
  if (joint) {
    link.joint = joint.attribute("name").value();
    const std::string at = fmt::format("joint '{}'", link.joint);
    link.X_PL = origin(joint, at);
    link.dofs = dofs_of(joint, at);
    report_joint_omissions(joint, at);
  } else if (import_options_.base_is_free && name != ground_link) {
    link.joint = "base";
    link.dofs = {{.kind = Kind::free, .name = "base"}};
  } else if (name != ground_link) {
    model_.root_is_fixed = true;
    add_omission(
        fmt::format("root link {}: URDF does not define whether it moves; it is part of the ground; use --base free "
                    "for a moving root link",
                    name));
  }
  model_.links.push_back(std::move(link));
}

/// Depth-first without recursion, because chains may be long.
void UrdfReader::add_tree(const std::string& root) {
  struct Next {
    std::string link;
    Node joint;
    std::optional<std::size_t> parent;
  };
  std::vector<Next> stack{{.link = root, .joint = {}, .parent = {}}};
  while (!stack.empty()) {
    const Next next = std::move(stack.back());
    stack.pop_back();
    add_link(next.link, next.joint, next.parent);
    const std::size_t index = model_.links.size() - 1;
    const std::vector<Node>& joints = joints_from_[next.link];
    for (auto joint = joints.rbegin(); joint != joints.rend(); ++joint) {
      stack.push_back({.link = joint->child("child").attribute("link").value(), .joint = *joint, .parent = index});
    }
  }
  if (model_.links.size() == links_.size()) return;
  reject(fmt::format("expected all links to descend from '{}', found {} of {} in cycles of joints", root,
                     links_.size() - model_.links.size(), links_.size()));
}

/// Reports unsupported elements.
void UrdfReader::print_repeat_counts(Node robot) {
  const auto unknown = [this](Node parent, std::initializer_list<std::string_view> known, const std::string& where) {
    for (const Node node : parent.children()) {
      if (node.type() != pugi::node_element || std::ranges::find(known, std::string_view(node.name())) != known.end()) {
        continue;
      }
      const std::string name = node.attribute("name").as_string();
      const std::string reference = node.attribute("reference").as_string();
      add_omission(fmt::format("{}{}{}{}", where, node.name(), name.empty() ? "" : " " + name,
                               reference.empty() ? "" : " of " + reference));
    }
  };
  unknown(robot, {"link", "joint", "material"}, "");
  for (const Node link : robot.children("link")) {
    unknown(link, {"inertial", "visual", "collision"}, fmt::format("link {}: ", link.attribute("name").as_string()));
  }
  for (const Node joint : robot.children("joint")) {
    unknown(joint,
            {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"},
            fmt::format("joint {}: ", joint.attribute("name").as_string()));
  }
}

/// Rejects values that xacro would substitute: in links and joints, since plugins may have substitutions of their own.
void UrdfReader::reject_substitutions(Node robot) const {
  for (const Node part : robot.children()) {
    const std::string_view kind = part.name();
    if (kind != "link" && kind != "joint") continue;
    const Node found =
        substitution_of(part) ? part : part.find_node([](Node node) { return bool(substitution_of(node)); });
    if (!found) continue;
    const pugi::xml_attribute attribute = substitution_of(found);
    reject(
        fmt::format("{} '{}': expected values, found '{}' in '{}' of {}, which xacro substitutes; expand the file "
                    "first: xacro MODEL > MODEL.urdf",
                    kind, printable(part.attribute("name").value()), printable(attribute.value(), 60), attribute.name(),
                    found.name()));
  }
}

TreeModel UrdfReader::read(const std::string& content) {
  const std::string text = strict_xml(content);
  check_xml_nesting(text, file_.string(), "model");
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) {
    reject(fmt::format("line {}: expected a URDF model in XML, found: {}",
                       line_of_offset(text, static_cast<std::size_t>(result.offset)), result.description()));
  }
  const Node robot = document.child("robot");
  if (!robot) reject("expected a URDF model (<robot>), found other XML");
  if (const Node macro = robot.find_node([](Node n) { return std::string_view(n.name()).starts_with("xacro:"); })) {
    reject(fmt::format("expected a URDF model, found macros ({}); expand them first: xacro MODEL > MODEL.urdf",
                       macro.name()));
  }
  reject_substitutions(robot);
  model_.kind = "URDF";
  model_.file = file_.string();
  model_.name = robot.attribute("name").value();
  collect(robot);
  add_tree(root_link());
  follow_couplings(model_);
  add_omission("gravity: URDF does not define it; set to 9.81 m/s^2 along -z");
  print_repeat_counts(robot);
  files_.throw_missing(file_.string());
  return std::move(model_);
}

std::map<std::string, fs::path> packages_of(const std::vector<std::string>& texts) {
  std::map<std::string, fs::path> packages;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error("package", fmt::format("--package: expected NAME=FOLDER, found '{}'", text));
    }
    packages[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return packages;
}

}  // namespace

TreeModel read_urdf(const std::string& text, const fs::path& file, const UrdfOptions& import_options) {
  return UrdfReader(file, import_options).read(text);
}

ModelFormat urdf_format() {
  return {.name = "URDF",
          .description = "URDF",
          .root = "robot",
          .example = "leg.urdf --base free -o leg",
          .options = robot_options({{.name = "--package",
                                     .value = "NAME=FOLDER",
                                     .description = "Folder of a package of a URDF model, for its meshes; repeatable",
                                     .repeatable = true},
                                    {.name = "--base",
                                     .value = "BASE",
                                     .description = "Root link of a URDF model: fixed to the ground, or free",
                                     .choices = {"fixed", "free"}}}),
          .import = [](const ModelInput& input) {
            UrdfOptions options{
                .base_is_free = input.value("--base") == "free", .packages = {}, .meshes = mesh_import_options(input)};
            const auto given = input.options.find("--package");
            if (given != input.options.end()) options.packages = packages_of(given->second);
            return import_tree(read_urdf(input.text, input.file, options), input);
          }};
}

}  // namespace heelstrike::models
