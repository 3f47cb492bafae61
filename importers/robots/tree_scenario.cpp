#include "importers/robots/tree_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "common/errors/error.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

namespace {

using Kind = JointDof::Kind;

/// Axes and points of a file have about seven digits; values that agree to six are taken as equal. Lengths are compared
/// relative to those of the points.
constexpr double same_direction = 1e-6;

bool parallel(const Vector3& a, const Vector3& b) {
  return a.cross(b).norm() < same_direction;
}

/// True if the axes of two rotations intersect.
bool meet(const JointDof& a, const JointDof& b) {
  const double apart = std::abs((b.point - a.point).dot(a.axis.cross(b.axis)));
  return apart <= same_direction * (a.point.norm() + b.point.norm());
}

/// The intersection of the axes of two rotations.
Vector3 crossing(const JointDof& a, const JointDof& b) {
  const Vector3 n = a.axis.cross(b.axis);
  return a.point + (b.point - a.point).cross(b.axis).dot(n) / n.squaredNorm() * a.axis;
}

struct Sorted {
  std::vector<JointDof> rotations, translations;
  int balls = 0, free = 0;
};

Sorted sorted(std::span<const JointDof> dofs) {
  Sorted all;
  for (const JointDof& f : dofs) {
    if (f.kind == Kind::revolute) all.rotations.push_back(f);
    if (f.kind == Kind::prismatic) all.translations.push_back(f);
    all.balls += f.kind == Kind::spherical ? 1 : 0;
    all.free += f.kind == Kind::free ? 1 : 0;
  }
  return all;
}

/// True if three directions span space.
bool span(const std::vector<JointDof>& three) {
  Matrix3 axes;
  for (int i = 0; i < 3; ++i) axes.col(i) = three[static_cast<std::size_t>(i)].axis;
  return std::abs(axes.determinant()) > same_direction;
}

std::optional<ScenarioJoint> make_joint_of_rotations(const std::vector<JointDof>& rotations) {
  const JointDof& first = rotations.front();
  if (rotations.size() == 1)
    return ScenarioJoint{.type = "revolute", .point = first.point, .axes = {first.axis}, .angle = true};
  if (parallel(first.axis, rotations[1].axis) || !meet(first, rotations[1])) return std::nullopt;
  const Vector3 point = crossing(first, rotations[1]);
  if (rotations.size() == 2) {
    if (std::abs(first.axis.dot(rotations[1].axis)) > same_direction) return std::nullopt;
    return ScenarioJoint{.type = "universal", .point = point, .axes = {first.axis, rotations[1].axis}};
  }
  const Vector3 off = rotations[2].axis.cross(point - rotations[2].point);
  if (rotations.size() != 3 || !span(rotations) ||
      off.norm() > same_direction * (point.norm() + rotations[2].point.norm())) {
    return std::nullopt;
  }
  return ScenarioJoint{.type = "spherical", .point = point};
}

/// None when no joint type of a scenario matches.
std::optional<ScenarioJoint> one_joint(std::span<const JointDof> dofs) {
  const Sorted all = sorted(dofs);
  const std::size_t rotations = all.rotations.size(), translations = all.translations.size();
  if (all.free > 0) return ScenarioJoint{.type = "free"};
  if (translations == 3 && span(all.translations) && (all.balls == 1 || (rotations == 3 && span(all.rotations)))) {
    return ScenarioJoint{.type = "free"};
  }
  if (all.balls == 1 && rotations + translations == 0)
    return ScenarioJoint{.type = "spherical", .point = dofs.front().point};
  if (all.balls > 0) return std::nullopt;
  if (translations == 0 && rotations > 0) return make_joint_of_rotations(all.rotations);
  if (translations == 1 && rotations == 0)
    return ScenarioJoint{.type = "prismatic", .axes = {all.translations[0].axis}};
  if (translations == 1 && rotations == 1 && parallel(all.translations[0].axis, all.rotations[0].axis)) {
    return ScenarioJoint{.type = "cylindrical", .point = all.rotations[0].point, .axes = {all.rotations[0].axis}};
  }
  if (translations == 2 && rotations == 1 && !parallel(all.translations[0].axis, all.translations[1].axis) &&
      parallel(all.translations[0].axis.cross(all.translations[1].axis).normalized(), all.rotations[0].axis)) {
    return ScenarioJoint{.type = "planar", .point = all.rotations[0].point, .axes = {all.rotations[0].axis}};
  }
  return std::nullopt;
}

/// True if the coordinate of the degree of freedom needs a name: for a coupling, or for its rotor.
bool is_named(const JointDof& dof) {
  return dof.coupled || dof.armature > 0.0;
}

/// True if the coordinate of the degree of freedom appears in the scenario.
bool has_own_joint(const JointDof& dof) {
  const bool has_resistance = dof.stiffness != 0.0 || dof.damping != 0.0;
  return is_named(dof) || (has_resistance && (dof.kind == Kind::revolute || dof.kind == Kind::prismatic));
}

/// True if the joint becomes a custom one, whose coordinate has a name for couplings, rotors and springs.
bool is_custom(const JointDof& dof) {
  return is_named(dof) || (has_own_joint(dof) && dof.kind == Kind::prismatic);
}

}  // namespace

std::vector<ScenarioJoint> make_joints(std::span<const JointDof> dofs) {
  std::vector<ScenarioJoint> joints;
  const bool one_by_one = dofs.size() > 1 && std::ranges::any_of(dofs, has_own_joint);
  while (!dofs.empty()) {
    std::size_t count = one_by_one ? 1 : dofs.size();
    std::optional<ScenarioJoint> joint;
    // A single degree of freedom always has a joint type.
    while (!(joint = one_joint(dofs.first(count)))) --count;
    joint->dofs.assign(dofs.begin(), dofs.begin() + static_cast<std::ptrdiff_t>(count));
    joints.push_back(std::move(*joint));
    dofs = dofs.subspan(count);
  }
  return joints;
}

namespace {

std::string ball_text(double radius, const Vector3& center) {
  return fmt::format("{{sphere: {{radius: {}, center: {}}}}}", radius, list(center));
}

std::string cylinder_text(const Shape& shape) {
  return fmt::format("{{cylinder: {{radius: {}, length: {}, axis: {}, center: {}}}}}", shape.size.x(),
                     2.0 * shape.size.y(), list(shape.X_BS.R.col(2)), list(shape.X_BS.p));
}

std::string mesh_text(const Shape& shape) {
  const std::string scale = shape.length_scale == 1.0 ? "" : fmt::format(", length_scale: {}", shape.length_scale);
  return fmt::format("{{mesh: {{file: {}{}, position: {}, orientation: {}}}}}", shape.mesh->to, scale,
                     list(shape.X_BS.p), quaternion(shape.X_BS.R));
}

std::vector<ScenarioSurface> of_capsule(const Shape& shape) {
  const Vector3 half = shape.size.y() * shape.X_BS.R.col(2);
  return {{ball_text(shape.size.x(), shape.X_BS.p + half), shape.what + ", first end"},
          {ball_text(shape.size.x(), shape.X_BS.p - half), shape.what + ", second end"},
          {cylinder_text(shape), shape.what + ", lateral surface"}};
}

}  // namespace

bool is_axis_aligned(const Pose& X_BS) {
  // The cosine of 1.4e-6 rad: angles of files have about seven digits.
  constexpr double straight = 1.0 - 1e-12;
  return (X_BS.R.cwiseAbs().colwise().maxCoeff().array() >= straight).all();
}

std::vector<ScenarioSurface> make_surfaces(const Shape& shape) {
  const Pose& X = shape.X_BS;
  switch (shape.kind) {
    case Shape::Kind::none:
      return {};
    case Shape::Kind::plane:
      return {{fmt::format("{{plane: {{normal: {}, point: {}}}}}", list(X.R.col(2)), list(X.p)), shape.what}};
    case Shape::Kind::sphere:
      return {{ball_text(shape.size.x(), X.p), shape.what}};
    case Shape::Kind::cylinder:
      return {{cylinder_text(shape), shape.what}};
    case Shape::Kind::capsule:
      return of_capsule(shape);
    case Shape::Kind::box:
      return {
          {fmt::format("{{block: {{lengths: {}, center: {}}}}}", list(2.0 * (X.R * shape.size).cwiseAbs()), list(X.p)),
           shape.what}};
    case Shape::Kind::mesh:
      return {{mesh_text(shape), shape.what}};
  }
  return {};
}

ImportedMesh box_mesh(const Vector3& half_lengths, const std::string& name) {
  std::string text = "# a box, [m]\n";
  for (int corner = 0; corner < 8; ++corner) {
    const auto side = [&](int axis) { return ((corner >> axis) & 1) != 0 ? half_lengths[axis] : -half_lengths[axis]; };
    text += fmt::format("v {} {} {}\n", side(0), side(1), side(2));
  }
  // Corners are numbered by their signs; all faces are counterclockwise from outside.
  constexpr std::array<std::array<int, 4>, 6> faces{
      {{1, 3, 4, 2}, {5, 6, 8, 7}, {1, 2, 6, 5}, {3, 7, 8, 4}, {1, 5, 7, 3}, {2, 4, 8, 6}}};
  for (const auto& face : faces) text += fmt::format("f {} {} {} {}\n", face[0], face[1], face[2], face[3]);
  return {.from = {}, .to = fmt::format("meshes/{}.obj", name), .content = std::move(text)};
}

namespace {

/// Moments and points of files have about seven digits.
constexpr double rounding = 1e-6;

/// Fraction of the mass and of the largest moment of the carried body, for intermediate bodies of a chain and massless
/// links between joints: accelerations change by at most this fraction, which is far above rounding for a body of mass
/// 1.
constexpr double light = 1e-9;
/// Minimum mass accepted by a scenario. [kg]
constexpr double min_mass_of_scenario = 1e-12;

/// "joint knee", or all joints of one body.
std::string names_of_joints(std::span<const JointDof> dofs) {
  std::set<std::string> names;
  for (const JointDof& dof : dofs) names.insert(dof.name);
  return fmt::format("joint{} {}", names.size() > 1 ? "s" : "", fmt::join(names, ", "));
}

Vector3 principal_moments(const Matrix3& inertia) {
  return Eigen::SelfAdjointEigenSolver<Matrix3>(inertia).eigenvalues();
}

/// For any mass distribution the largest moment is at most the sum of the others; equality holds for a flat body.
bool is_impossible_inertia(const Vector3& moments) {
  return moments[2] > (moments[0] + moments[1]) * (1.0 + rounding);
}

/// A light body with negligible influence on the motion of `carried`.
MassProperties make_massless_body(const MassProperties& carried, const Vector3& point) {
  const double moment = light * principal_moments(carried.inertia)[2];
  return {.mass = std::max(light * carried.mass, min_mass_of_scenario),
          .center_of_mass = point,
          .inertia = moment * Matrix3::Identity()};
}

/// Location of a model link in the scenario.
struct Place {
  std::string body;  ///< name in the scenario, or `ground`
  Pose X_BL;
  std::optional<std::size_t> mover = {};  ///< moving link that contains it
};

/// A link moved by joints.
struct MovingLink {
  std::size_t link;
  std::vector<ScenarioJoint> joints;
  std::vector<std::string> bodies;  ///< at the end of each joint; the last one is the link
};

/// A body whose rotation about a fixed axis equals the coordinate of a joint: the armature of the joint, with its
/// kinetic energy and with no other effect, since its centre rests and its moments of inertia are equal.
struct Rotor {
  std::string body;
  JointDof joint;  ///< the one that moves the rotor
};

/// Mass properties with which a link cannot move.
struct InertiaError {
  std::string what;
  std::string remedy;  ///< stated once for all links
};

class TreeImporter {
 public:
  TreeImporter(const TreeModel& model, const InertiaRepair& repair) : model_(model), repair_(repair) {}

  [[nodiscard]] Import run();

 private:
  void place_links();
  [[nodiscard]] std::string new_name(const std::string& preferred, const std::string& what);
  [[nodiscard]] MassProperties repaired(std::size_t link, MassProperties mass);
  [[nodiscard]] std::optional<InertiaError> find_inertia_error(std::size_t link, const MassProperties& mass) const;
  [[nodiscard]] std::vector<MassProperties> masses();
  [[nodiscard]] const MassProperties* find_carried_mass(std::size_t mover,
                                                        const std::vector<MassProperties>& masses) const;
  [[nodiscard]] std::string bodies_text();
  void add_moving_link(const MovingLink& mover);
  void add_joint(const std::string& a, const Pose& X_AL, const std::string& b, const ScenarioJoint& joint);
  void add_custom_joint(const std::string& a, const Pose& X_AL, const std::string& b, const JointDof& dof);
  void add_coupling(const Coupling& coupling);
  void add_rotor(const Rotor& rotor);
  void add_loop(const Loop& loop);
  [[nodiscard]] std::string surfaces_text();
  void add_surface(const Place& place, const std::string& link, Shape shape, std::string& text);

  [[nodiscard]] Place location_of(const std::optional<std::size_t>& link) const {
    return link ? places_[*link] : Place{.body = "ground", .X_BL = {}};
  }
  [[nodiscard]] Pose pose_of(const std::optional<std::size_t>& link) const { return link ? poses_[*link] : Pose{}; }
  void add_omission(std::string text) { import_.omissions.push_back(std::move(text)); }

  const TreeModel& model_;
  const InertiaRepair& repair_;
  Import import_;
  std::vector<Place> places_;
  std::vector<Pose> poses_;  ///< of links in the world
  std::vector<MovingLink> moving_links_;
  std::vector<Rotor> rotors_;
  std::set<std::string> names_ = {"ground"};
  std::map<std::string, std::string> coordinates_;  ///< of coupled joints, by their names in the file
  std::string joints_, forces_;
  bool has_joints_ = false;  ///< false: joints_ has only comments, and such a YAML section is not a map
};

/// A unique name in the scenario.
std::string TreeImporter::new_name(const std::string& preferred, const std::string& what) {
  std::string name = plain(preferred);
  for (int i = 2; names_.contains(name); ++i) name = fmt::format("{}_{}", plain(preferred), i);
  names_.insert(name);
  if (name != preferred) add_omission(fmt::format("{} '{}': renamed to {}", what, preferred, name));
  return name;
}

void TreeImporter::place_links() {
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    const Link& link = model_.links[i];
    poses_.push_back(pose_of(link.parent) * link.X_PL);
    if (link.dofs.empty()) {
      const Place parent = location_of(link.parent);
      places_.push_back({.body = parent.body, .X_BL = parent.X_BL * link.X_PL, .mover = parent.mover});
      const std::string by = link.joint.empty() ? "" : fmt::format(", to which {} welds it", link.joint);
      import_.imported.push_back(parent.body == "ground"
                                     ? fmt::format("body {} as part of the ground{}", link.name, by)
                                     : fmt::format("body {} as part of {}{}", link.name, parent.body, by));
      continue;
    }
    MovingLink mover{.link = i, .joints = make_joints(link.dofs), .bodies = {}};
    const std::string name = new_name(link.name, "body");
    for (std::size_t k = 0; k + 1 < mover.joints.size(); ++k) {
      mover.bodies.push_back(new_name(fmt::format("{}_{}", name, mover.joints[k].dofs.front().name), "body"));
    }
    mover.bodies.push_back(name);
    places_.push_back({.body = name, .X_BL = {}, .mover = moving_links_.size()});
    for (const JointDof& dof : link.dofs) {
      if (dof.armature > 0.0) rotors_.push_back({.body = new_name(dof.name + "_rotor", "body"), .joint = dof});
    }
    moving_links_.push_back(std::move(mover));
    import_.imported.push_back(fmt::format("body {}", name));
  }
  if (moving_links_.empty()) {
    throw input_error(
        "model",
        fmt::format("{}: model '{}': expected at least one body moved by a joint, found none{}", model_.file,
                    model_.name,
                    model_.root_is_fixed ? "; use --base free for a root link that moves relative to the ground" : ""));
  }
}

/// Applies the requested corrections and reports changes.
MassProperties TreeImporter::repaired(std::size_t link, MassProperties mass) {
  const std::string& name = model_.links[link].name;
  if (mass.mass < repair_.min_mass) {
    add_omission(fmt::format("link {}: its mass of {} kg; set to {} kg", name, mass.mass, repair_.min_mass));
    mass.mass = repair_.min_mass;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix3> principal(mass.inertia);
  const Vector3 found = principal.eigenvalues();
  Vector3 moments = found;
  if (repair_.balance && is_impossible_inertia(moments)) moments.setConstant(moments.mean());
  if (repair_.min_moment > 0.0) moments = moments.cwiseMax(repair_.min_moment);
  if (moments == found) return mass;
  add_omission(fmt::format("link {}: its principal moments of inertia, {} kg m^2; set to {} kg m^2", name, list(found),
                           list(moments)));
  mass.inertia = principal.eigenvectors() * moments.asDiagonal() * principal.eigenvectors().transpose();
  return mass;
}

/// None for valid mass properties.
std::optional<InertiaError> TreeImporter::find_inertia_error(std::size_t link, const MassProperties& mass) const {
  const Link& moving = model_.links[link];
  const std::string why = fmt::format("joint '{}' moves it", moving.joint);
  if (!(mass.mass > 0.0)) {
    return InertiaError{
        .what = fmt::format("link '{}': expected an inertia with a mass above 0 kg, since {}, found {}", moving.name,
                            why, moving.mass ? fmt::format("{} kg", mass.mass) : "none"),
        .remedy = "specify masses in the model, weld the links to others, or set --bound-mass and --bound-inertia"};
  }
  const Vector3 moments = principal_moments(mass.inertia);
  if (!(moments.minCoeff() > 0.0)) {
    return InertiaError{
        .what = fmt::format("link '{}': expected principal moments of inertia above 0 kg m^2, since {}, found {}",
                            moving.name, why, list(moments)),
        .remedy = "correct the moments, or set --bound-inertia"};
  }
  if (!is_impossible_inertia(moments)) return std::nullopt;
  return InertiaError{
      .what = fmt::format("link '{}': expected principal moments of inertia, none of which exceeds the sum "
                          "of the others, found {} kg m^2",
                          moving.name, list(moments)),
      .remedy = "correct the moments, or use --balance-inertia"};
}

/// The mass properties of the body carried by a moving link; null if there is none.
const MassProperties* TreeImporter::find_carried_mass(std::size_t mover,
                                                      const std::vector<MassProperties>& masses) const {
  std::set<std::size_t> beyond = {moving_links_[mover].link};
  for (std::size_t i = moving_links_[mover].link + 1; i < model_.links.size(); ++i) {
    if (const auto& parent = model_.links[i].parent; parent && beyond.contains(*parent)) beyond.insert(i);
  }
  for (std::size_t k = mover + 1; k < moving_links_.size(); ++k) {
    if (masses[k].mass > 0.0 && beyond.contains(moving_links_[k].link)) return &masses[k];
  }
  return nullptr;
}

/// Mass properties of all moving links. @throws Error with all invalid links
std::vector<MassProperties> TreeImporter::masses() {
  std::vector<MassProperties> all(moving_links_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (!place.mover || !model_.links[i].mass) continue;
    all[*place.mover] = welded(all[*place.mover], expressed_in(place.X_BL, *model_.links[i].mass));
  }
  for (std::size_t k = 0; k < moving_links_.size(); ++k) all[k] = repaired(moving_links_[k].link, all[k]);
  std::vector<std::string> errors;
  std::set<std::string> remedies;
  for (std::size_t k = 0; k < moving_links_.size(); ++k) {
    const Link& link = model_.links[moving_links_[k].link];
    const MassProperties* carried = all[k].mass == 0.0 ? find_carried_mass(k, all) : nullptr;
    if (carried != nullptr) {
      all[k] = make_massless_body(*carried, Vector3::Zero());
      add_omission(fmt::format("link {}: its missing mass; set to {} kg, {} of the carried mass", link.name,
                               all[k].mass, light));
    } else if (auto error = find_inertia_error(moving_links_[k].link, all[k])) {
      errors.push_back(std::move(error->what));
      remedies.insert(std::move(error->remedy));
    }
  }
  if (errors.empty()) return all;
  const bool is_one = errors.size() == 1;
  throw input_error(
      "model",
      fmt::format("{}: {}{}{}{}", model_.file, is_one ? "" : fmt::format("{} links are invalid: ", errors.size()),
                  fmt::join(errors, "\n  "), is_one ? "; " : "\n  ", fmt::join(remedies, "\n  ")));
}

std::string TreeImporter::bodies_text() {
  std::string text = "bodies:\n";
  const std::vector<MassProperties> all = masses();
  for (std::size_t k = 0; k < moving_links_.size(); ++k) {
    const MovingLink& mover = moving_links_[k];
    for (std::size_t j = 0; j + 1 < mover.bodies.size(); ++j) {
      const MassProperties mass = make_massless_body(all[k], mover.joints[j].point);
      text += body_text(mover.bodies[j], mass, poses_[mover.link]);
      add_omission(fmt::format("body {}: intermediate body between joints of {}, with {} of its mass", mover.bodies[j],
                               mover.bodies.back(), light));
    }
    text += body_text(mover.bodies.back(), all[k], poses_[mover.link]);
  }
  for (const Rotor& rotor : rotors_) {
    const double armature = rotor.joint.armature;
    text += body_text(rotor.body, {.mass = armature, .inertia = armature * Matrix3::Identity()}, {});
  }
  return text;
}

/// @param X_AL  pose of the frame of the joint's axes, which is that of b
void TreeImporter::add_joint(const std::string& a, const Pose& X_AL, const std::string& b, const ScenarioJoint& joint) {
  const std::string names = names_of_joints(joint.dofs);
  for (const JointDof& dof : joint.dofs) {
    if (joint.angle || is_custom(dof)) break;
    if (dof.stiffness != 0.0) add_omission(fmt::format("joint {}: its stiffness {}", dof.name, dof.stiffness));
    if (dof.damping != 0.0) add_omission(fmt::format("joint {}: its damping {}", dof.name, dof.damping));
  }
  const JointDof& first = joint.dofs.front();
  if (is_custom(first)) return add_custom_joint(a, X_AL, b, first);
  if (joint.type == "free") {
    import_.imported.push_back(fmt::format("{}: free relative motion of its bodies", names));
    joints_ += fmt::format("  # {}: {} moves freely relative to {}\n", plain(first.name), b, a);
    return;
  }
  const std::string name = new_name(first.name, "joint");
  has_joints_ = true;
  joints_ += fmt::format("  {}: {{type: {}, bodies: [{}, {}], points: [{}, {}]", name, joint.type, a, b,
                         list(X_AL * joint.point), list(joint.point));
  if (!joint.axes.empty()) {
    joints_ += fmt::format(", axes: [{}, {}]", list(X_AL.R * joint.axes.front()), list(joint.axes.back()));
  }
  joints_ += "}\n";
  import_.imported.push_back(fmt::format("{} as a {} joint", names, joint.type));
  if (!joint.angle || (first.stiffness == 0.0 && first.damping == 0.0)) return;
  forces_ += fmt::format(
      "  {0}-resistance: {{type: torsional_spring, joint: {0}, stiffness: {1}, damping: {2}, neutral: {3}}}\n", name,
      first.stiffness, first.damping, first.neutral);
  import_.imported.push_back(fmt::format("joint {}: its stiffness and damping", first.name));
}

/// A joint whose coordinate has a name, for couplings. Its frames have the axis as x.
void TreeImporter::add_custom_joint(const std::string& a, const Pose& X_AL, const std::string& b, const JointDof& dof) {
  const std::string name = new_name(dof.name, "joint");
  has_joints_ = true;
  coordinates_.emplace(dof.name, name);
  Pose X_LF{.R = {}, .p = dof.point};
  X_LF.R.col(0) = dof.axis;
  X_LF.R.col(1) = dof.axis.unitOrthogonal();
  X_LF.R.col(2) = dof.axis.cross(X_LF.R.col(1));
  const bool is_rotation = dof.kind == Kind::revolute;
  const Vector3 back = -dof.initial * Vector3::UnitX();
  const Pose X_AF = X_AL * X_LF *
                    (is_rotation ? Pose{.R = rotation_from_vector(back), .p = Vector3::Zero()}
                                 : Pose{.R = Matrix3::Identity(), .p = back});
  joints_ += fmt::format(
      "  {0}:\n    type: custom\n    bodies: [{1}, {2}]\n    points: [{3}, {4}]\n    orientations: [{5}, {6}]\n"
      "    coordinates: {{{0}: {{initial: {7}}}}}\n"
      "    {8}: [{{axis: [1, 0, 0], of: {{{0}: {{polynomial: [0, 1]}}}}}}, {{axis: [0, 1, 0]}}, {{axis: [0, 0, 1]}}]\n",
      name, a, b, list(X_AF.p), list(X_LF.p), quaternion(X_AF.R), quaternion(X_LF.R), dof.initial,
      is_rotation ? "rotations" : "translations");
  import_.imported.push_back(fmt::format("joint {} as a custom joint, whose coordinate has a name", dof.name));
  if (dof.stiffness == 0.0 && dof.damping == 0.0) return;
  forces_ += fmt::format(
      "  {0}-resistance: {{type: coordinate_spring, coordinate: {0}, stiffness: {1}, damping: {2}, neutral: {3}}}\n",
      name, dof.stiffness, dof.damping, dof.initial + dof.neutral);
  import_.imported.push_back(fmt::format("joint {}: its stiffness and damping", dof.name));
}

void TreeImporter::add_coupling(const Coupling& coupling) {
  joints_ += fmt::format("  {}: {{type: coupler, coordinate: {}, of: {{{}: {{polynomial: [{}]}}}}}}\n",
                         new_name(coupling.name, "coupling"), coordinates_.at(coupling.dependent),
                         coordinates_.at(coupling.independent), fmt::join(coupling.polynomial, ", "));
  import_.imported.push_back(
      fmt::format("{}: joint {} follows joint {}", coupling.what, coupling.dependent, coupling.independent));
}

void TreeImporter::add_rotor(const Rotor& rotor) {
  const std::string& name = rotor.joint.name;
  const JointDof spin{.name = name + "_rotor", .initial = rotor.joint.initial};
  add_custom_joint("ground", {}, rotor.body, spin);
  add_coupling({.what = "armature of joint " + name,
                .name = name + "_armature",
                .dependent = spin.name,
                .independent = name,
                .polynomial = {0.0, 1.0}});
  import_.imported.push_back(
      fmt::format("joint {}: its armature {} as the inertia of the body {}, whose angle follows its "
                  "coordinate",
                  name, rotor.joint.armature, rotor.body));
}

void TreeImporter::add_moving_link(const MovingLink& mover) {
  const Link& link = model_.links[mover.link];
  const Place parent = location_of(link.parent);
  for (std::size_t j = 0; j < mover.joints.size(); ++j) {
    // Within a chain all frames coincide with the link's at the initial pose.
    add_joint(j == 0 ? parent.body : mover.bodies[j - 1], j == 0 ? parent.X_BL * link.X_PL : Pose{}, mover.bodies[j],
              mover.joints[j]);
  }
}

void TreeImporter::add_loop(const Loop& loop) {
  const Place a = location_of(loop.a), b = location_of(loop.b);
  const std::string what = fmt::format("equality {}", loop.name);
  if (a.body == b.body) return add_omission(fmt::format("{}: both of its bodies are merged", what));
  const Vector3 at_a = pose_of(loop.a) * loop.X_AJ.p, at_b = pose_of(loop.b) * loop.X_BJ.p;
  const double apart = (at_a - at_b).norm();
  if (apart > rounding * (at_a.norm() + at_b.norm())) {
    return add_omission(fmt::format("{}: its points are {} m apart at the initial pose", what, apart));
  }
  const double turn = Eigen::Quaterniond(pose_of(loop.a).R * loop.X_AJ.R)
                          .angularDistance(Eigen::Quaterniond(pose_of(loop.b).R * loop.X_BJ.R));
  if (loop.kind == Loop::Kind::weld && turn > rounding) {
    return add_omission(fmt::format("{}: its frames are turned by {:.3g} rad at the initial pose", what, turn));
  }
  const std::string name = new_name(loop.name, "equality");
  has_joints_ = true;
  if (loop.kind == Loop::Kind::weld) {
    joints_ += fmt::format("  {}: {{type: fixed, bodies: [{}, {}]}}\n", name, a.body, b.body);
  } else {
    joints_ += fmt::format("  {}: {{type: spherical, bodies: [{}, {}], points: [{}, {}]}}\n", name, a.body, b.body,
                           list(a.X_BL * loop.X_AJ.p), list(b.X_BL * loop.X_BJ.p));
  }
  import_.imported.push_back(
      fmt::format("{} as a {} joint", what, loop.kind == Loop::Kind::weld ? "fixed" : "spherical"));
}

void TreeImporter::add_surface(const Place& place, const std::string& link, Shape shape, std::string& text) {
  shape.X_BS = place.X_BL * shape.X_BS;
  if (shape.kind == Shape::Kind::box && !is_axis_aligned(shape.X_BS)) {
    shape.mesh = box_mesh(shape.size, fmt::format("{}_box_{}", place.body, import_.meshes.size()));
    shape.kind = Shape::Kind::mesh;
  }
  const std::vector<ScenarioSurface> surfaces = make_surfaces(shape);
  for (const ScenarioSurface& surface : surfaces) {
    text += fmt::format("#   {}: {}   # {}\n", place.body, surface.text, surface.what);
  }
  add_omission(
      surfaces.empty()
          ? fmt::format("{} of {}: no equivalent surface type", shape.what, link)
          : fmt::format(
                "{} of {}: no contact pair; its surface is written at the end of the scenario, for contact pairs",
                shape.what, link));
  if (shape.mesh && std::ranges::find(import_.meshes, shape.mesh->to, &ImportedMesh::to) == import_.meshes.end()) {
    import_.meshes.push_back(std::move(*shape.mesh));
  }
}

/// Surfaces as a comment for contact pairs, which robot files do not define.
std::string TreeImporter::surfaces_text() {
  std::string text;
  for (const Shape& shape : model_.ground_shapes) add_surface(location_of({}), "the world", shape, text);
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    for (const Shape& shape : model_.links[i].shapes) add_surface(places_[i], model_.links[i].name, shape, text);
  }
  return text.empty() ? "" : "\n# Surfaces of the bodies, for contact pairs (`contact.NAME.main.surface`):\n" + text;
}

Import TreeImporter::run() {
  place_links();
  const std::string bodies = bodies_text();
  for (const MovingLink& mover : moving_links_) add_moving_link(mover);
  for (const Coupling& coupling : model_.couplings) add_coupling(coupling);
  for (const Rotor& rotor : rotors_) add_rotor(rotor);
  for (const Loop& loop : model_.loops) add_loop(loop);
  for (const std::string& line : model_.omissions) add_omission(line);
  const std::string surfaces = surfaces_text();
  import_.scenario = fmt::format(
      "# From the {} model {}; NOT_IMPORTED.txt lists the parts that were not imported.\n{}heelstrike: 1\ngravity: "
      "{}\n\n{}\n{}{}\n{}"
      "analysis:\n  end_time: 1.0\n\noutput:\n  interval: 0.01\n{}",
      model_.kind, plain(model_.name),
      model_.root_is_fixed ? "# The root link is part of the ground; use --base free for a moving root link.\n" : "",
      list(model_.gravity), bodies, has_joints_ ? "joints:\n" : "", joints_,
      forces_.empty() ? "" : "forces:\n" + forces_ + "\n", surfaces);
  return std::move(import_);
}

}  // namespace

Import import_tree(const TreeModel& model, const InertiaRepair& repair) {
  return TreeImporter(model, repair).run();
}

Import import_tree(const TreeModel& model, const ModelInput& input) {
  return import_tree(model, InertiaRepair{.balance = input.has("--balance-inertia"),
                                          .min_mass = input.number("--bound-mass"),
                                          .min_moment = input.number("--bound-inertia")});
}

std::vector<ModelOption> robot_options(std::vector<ModelOption> own) {
  const Range bound{.min = 0.0, .max = 1e12};
  own.insert(own.end(),
             {{.name = "--skip-meshes", .value = {}, .description = "Skip mesh files, and list them"},
              {.name = "--balance-inertia",
               .value = {},
               .description = "Replace principal moments by their mean where one exceeds the sum of the others"},
              {.name = "--bound-mass",
               .value = "MASS",
               .description = "Minimum mass of every moving body [kg]",
               .range = bound},
              {.name = "--bound-inertia",
               .value = "MOMENT",
               .description = "Minimum principal moment of inertia of every moving body [kg m^2]",
               .range = bound}});
  return own;
}

}  // namespace heelstrike::models
