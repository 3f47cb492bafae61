#include "client/osim/osim_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
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
  void hold_joints();
  void choose_joints();
  void absorb_welded();
  [[nodiscard]] std::string bodies_text() const;
  [[nodiscard]] std::string joints_text();
  void prescribe_flexion();
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
  [[nodiscard]] std::string mesh_name(const ContactMesh& mesh);
  void tell_others();
  [[nodiscard]] std::vector<std::string> joint_names() const;

  [[nodiscard]] bool kept(const std::string& body) const { return home_.contains(body); }
  /// A frame of the model in the body of the scenario that carries it.
  [[nodiscard]] Frame at_home(const Frame& frame) const {
    const Frame& home = home_.at(frame.body);
    return {.body = home.body, .X_BF = home.X_BF * frame.X_BF};
  }
  void miss(std::string text) { import_.not_taken.push_back(std::move(text)); }

  Model model_;
  const ImportWish& wish_;
  Import import_;
  std::vector<const Joint*> joints_;
  std::set<const WrapObject*> used_wraps_;
  std::string flexed_body_, flexed_joint_, driver_;  ///< what bends the joint; empty = nothing
  std::vector<std::string> bodies_;                  ///< of the scenario, in the order of the model
  std::map<std::string, Frame> home_;  ///< bodies of the model, welded ones too, by their place in the scenario's
};

/// A joint that is held is a weld where its coordinates have their defaults.
void Importer::hold_joints() {
  for (const std::string& name : wish_.held) {
    const auto joint = std::ranges::find(model_.joints, name, &Joint::name);
    if (joint == model_.joints.end()) {
      throw input_error("hold", fmt::format("--hold: expected names of joints of the model ({}), found '{}'",
                                            fmt::join(joint_names(), ", "), name));
    }
    joint->parent.X_BF = joint->parent.X_BF * joint_pose(*joint);
    joint->type = "WeldJoint";
    import_.taken.push_back(fmt::format("joint {} held at the defaults of its coordinates", name));
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
      throw input_error("subset", fmt::format("--subset: expected names of joints of the model ({}), found '{}'",
                                              fmt::join(joint_names(), ", "), name));
    }
    joints_.push_back(&*joint);
    wanted.insert({joint->parent.body, joint->child.body});
  }
  for (const Body& body : model_.bodies) {
    if (!wanted.contains(body.name)) continue;
    bodies_.push_back(body.name);
    home_[body.name] = {.body = body.name, .X_BF = {}};
  }
  if (bodies_.empty()) throw input_error("subset", "--subset: expected at least one joint with bodies, found none");
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
    text += models::body_text(plain(name), mass, default_pose(model_, name));
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
    for (const Axis& axis : joint->axes) {
      if (axis.unknown.empty()) continue;
      miss(fmt::format("joint {}: a function of kind {} is not evaluated; it counts as 0 in the initial pose",
                       joint->name, axis.unknown));
    }
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

/// A body that turns with the flexion and goes where the bent body goes: a universal joint at that one's origin leaves
/// the two other turns and the three shifts of the model's joint free.
void Importer::prescribe_flexion() {
  const auto joint = std::ranges::find_if(joints_, [&](const Joint* j) {
    return is_free(*j) && j->type != "FreeJoint" && kept(j->parent.body) && kept(j->child.body);
  });
  if (joint == joints_.end()) {
    throw input_error("flexion", "--flexion: expected a joint in --subset with six coordinates of its own, found none");
  }
  const Axis& bend = (*joint)->axes[0];
  const Frame a = at_home((*joint)->parent), b = at_home((*joint)->child);
  const Matrix3 R_WP = default_pose(model_, a.body).R * a.X_BF.R;
  int k = 0;
  const double along = bend.direction.cwiseAbs().maxCoeff(&k);
  if (!R_WP.isApprox(Matrix3::Identity(), 1e-6) || along < 1.0 - 1e-6) {
    throw input_error("flexion",
                      fmt::format("--flexion: expected joint {} to turn first about x, y or z of the model's "
                                  "ground, found another axis: prescribe it in the scenario",
                                  (*joint)->name));
  }
  const double sign = bend.slope * bend.direction[k];
  const auto coordinate = std::ranges::find((*joint)->coordinates, bend.coordinate, &Coordinate::name);
  const double start = sign * coordinate->value + bend.offset * bend.direction[k];
  const Pose X_WB = default_pose(model_, b.body) * b.X_BF;
  flexed_body_ = models::body_text("flexed", {0.01, Vector3::Zero(), 1e-5 * Matrix3::Identity()},
                                   {.R = Eigen::AngleAxisd(start, Vector3::Unit(k)).toRotationMatrix(), .p = X_WB.p});
  flexed_joint_ = fmt::format(
      "  others: {{type: universal, bodies: [flexed, {}], points: [[0, 0, 0], {}], axes: [{}, {}]}}\n", plain(b.body),
      list(b.X_BF.p), list((*joint)->axes[1].direction), list(b.X_BF.R * (*joint)->axes[2].direction));
  driver_ = "drivers:\n  flexion:\n    body: flexed   # as far as it turns the joint does\n";
  for (int i = 0; i < 3; ++i) {
    driver_ += fmt::format("    r{}: {{polynomial: [{}]}}\n", "xyz"[i],
                           i == k ? fmt::format("{}, {}", start, sign * (*wish_.flexion - coordinate->value)) : "0");
  }
  driver_ += "\n";
  import_.taken.push_back(fmt::format("coordinate {} of {}: bent from {:.4g} to {:.4g} rad in equilibria",
                                      bend.coordinate, (*joint)->name, coordinate->value, *wish_.flexion));
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
  const Vector3 y =
      (default_pose(model_, wrap.body) * wrap.X_BS).inverse() * (default_pose(model_, point.body) * point.X_BF.p);
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
  std::string text = fmt::format(
      "  {}:\n    type: muscle\n    curves: {}\n    tendon: {}\n    max_isometric_force: {}\n    "
      "optimal_fiber_length: {}\n    tendon_slack_length: {}\n    pennation_angle: {}\n    max_contraction_velocity: "
      "{}\n    fiber_damping: {}\n    minimum_activation: {}\n    activation_time: {}\n    deactivation_time: {}\n",
      plain(line.name), *curves_of(line), m.rigid_tendon || wish_.flexion ? "rigid" : "elastic", m.max_force,
      m.optimal_length, m.tendon_length, m.pennation, m.max_velocity, m.fiber_damping, m.least_activation, m.rise,
      m.fall);
  if (m.passive_strain) text += fmt::format("    passive_strain: {}\n", *m.passive_strain);
  if (!used.empty()) text += fmt::format("    surfaces:\n      {}\n", wrap_text(*used.front()));
  if (wish_.flexion && !m.rigid_tendon)
    miss(fmt::format("muscle {}: its elastic tendon; rigid in equilibria", line.name));
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
  const std::string muscles = muscles_text();
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

std::string Importer::mesh_name(const ContactMesh& mesh) {
  fs::path found;
  std::vector<std::string> searched;
  if (const auto other = wish_.meshes.find(mesh.name); other != wish_.meshes.end()) {
    searched.push_back(other->second.string());
    if (fs::is_regular_file(other->second)) found = other->second;
  } else {
    for (const fs::path& folder : wish_.folders) {
      searched.push_back((folder / mesh.file).string());
      if (found.empty() && fs::is_regular_file(folder / mesh.file)) found = folder / mesh.file;
    }
  }
  if (found.empty()) {
    throw input_error("meshes",
                      fmt::format("contact mesh '{}': expected the file '{}', found none of {}; give its folder "
                                  "with --geometry or another file with --mesh {}=FILE",
                                  mesh.name, mesh.file, fmt::join(searched, ", "), mesh.name));
  }
  const std::string name = "meshes/" + plain(mesh.name) + found.extension().string();
  if (std::ranges::find(import_.meshes, name, &MeshCopy::to) == import_.meshes.end()) {
    import_.meshes.push_back({.from = found, .to = name});
  }
  return name;
}

std::string Importer::side_text(const ContactMesh& mesh) {
  const Frame at = at_home(mesh.frame);
  if (mesh.variable_thickness) {
    miss(fmt::format("contact mesh {}: its variable thickness; it has the constant one, {} m", mesh.name,
                     mesh.thickness));
  }
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
  return fmt::format(
      "  {}:\n    main:\n{}    partner:\n{}    backend: elastic_foundation\n    parameters:\n      thickness: {}\n     "
      " "
      "partner_thickness: {}\n      layers: {}\n      strain: {}\n      springs: centres\n      direction: normal\n    "
      "  normals: facets\n",
      plain(contact.name), main, partner, casting.thickness, target.thickness, contact.lumped ? "lumped" : "series",
      contact.nonlinear ? "large" : "small");
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
  hold_joints();
  choose_joints();
  absorb_welded();
  for (const std::string& name : bodies_) import_.taken.push_back(fmt::format("body {}", name));
  const std::string joints = joints_text();
  if (wish_.flexion) prescribe_flexion();
  const std::string forces = forces_text();
  const std::string contact = contact_text();
  tell_others();
  import_.scenario = fmt::format(
      "# From the OpenSim model {}; what of it is not here is in NOT_IMPORTED.txt.\nheelstrike: 1\ngravity: "
      "{}\n\n{}{}\n{}{}\n{}"
      "{}\n{}\n{}",
      plain(model_.name), list(model_.gravity), bodies_text(), flexed_body_, joints, flexed_joint_, driver_, forces,
      contact,
      wish_.flexion ? "analysis:\n  type: static\n  end_time: 1\n\noutput:\n  interval: 0.05\n"
                    : "# Nothing drives it: `import-osim --flexion ANGLE` bends the joint in equilibria.\nanalysis:\n  "
                      "end_time: 0.01\n\noutput:\n  interval: 0.001\n");
  return std::move(import_);
}

}  // namespace

Import import_model(Model model, const ImportWish& wish) {
  return Importer(std::move(model), wish).run();
}

}  // namespace heelstrike::client::osim
