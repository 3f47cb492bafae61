#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "client/models/tree_model.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client::models {
namespace {

using Kind = Freedom::Kind;

/// Axes and points of a file have about seven digits; what agrees to six is meant to be the same.
constexpr double same_direction = 1e-6;

bool parallel(const Vector3& a, const Vector3& b) {
  return a.cross(b).norm() < same_direction;
}

/// Whether the axes of two turns meet; lengths are compared with the distance of their points.
bool meet(const Freedom& a, const Freedom& b) {
  const Vector3 between = b.point - a.point;
  return std::abs(between.dot(a.axis.cross(b.axis))) <= same_direction * between.norm();
}

/// The point that the axes of two turns have in common.
Vector3 crossing(const Freedom& a, const Freedom& b) {
  const Vector3 n = a.axis.cross(b.axis);
  return a.point + (b.point - a.point).cross(b.axis).dot(n) / n.squaredNorm() * a.axis;
}

/// A joint of a scenario that allows what freedoms together allow. Axes and point are in the body's frame; the first
/// axis is carried by the parent.
struct JointOf {
  std::string type;
  Vector3 point = Vector3::Zero();
  std::vector<Vector3> axes = {};  ///< none, one that both carry, or one of each
  bool angle = false;              ///< a spring about its axis is possible
};

struct Sorted {
  std::vector<Freedom> turns, shifts;
  int balls = 0, free = 0;
};

Sorted sorted(const std::vector<Freedom>& freedoms) {
  Sorted all;
  for (const Freedom& f : freedoms) {
    if (f.kind == Kind::turn) all.turns.push_back(f);
    if (f.kind == Kind::shift) all.shifts.push_back(f);
    all.balls += f.kind == Kind::ball ? 1 : 0;
    all.free += f.kind == Kind::free ? 1 : 0;
  }
  return all;
}

/// Three directions that span space.
bool span(const std::vector<Freedom>& three) {
  Matrix3 axes;
  for (int i = 0; i < 3; ++i) axes.col(i) = three[static_cast<std::size_t>(i)].axis;
  return std::abs(axes.determinant()) > same_direction;
}

std::optional<JointOf> joint_of_turns(const std::vector<Freedom>& turns) {
  const Freedom& first = turns.front();
  if (turns.size() == 1) return JointOf{.type = "revolute", .point = first.point, .axes = {first.axis}, .angle = true};
  if (parallel(first.axis, turns[1].axis) || !meet(first, turns[1])) return std::nullopt;
  const Vector3 point = crossing(first, turns[1]);
  if (turns.size() == 2) {
    if (std::abs(first.axis.dot(turns[1].axis)) > same_direction) return std::nullopt;
    return JointOf{.type = "universal", .point = point, .axes = {first.axis, turns[1].axis}};
  }
  const Vector3 off = turns[2].axis.cross(point - turns[2].point);
  if (turns.size() != 3 || !span(turns) || off.norm() > same_direction * (point - turns[2].point).norm()) {
    return std::nullopt;
  }
  return JointOf{.type = "spherical", .point = point};
}

/// None when no joint of a scenario is like it. "free" has no equations.
std::optional<JointOf> joint_of(const std::vector<Freedom>& freedoms) {
  const Sorted all = sorted(freedoms);
  const std::size_t turns = all.turns.size(), shifts = all.shifts.size();
  if (all.free > 0) return JointOf{.type = "free"};
  if (shifts == 3 && span(all.shifts) && (all.balls == 1 || (turns == 3 && span(all.turns)))) {
    return JointOf{.type = "free"};
  }
  if (all.balls == 1 && turns + shifts == 0) {
    const auto ball = std::ranges::find(freedoms, Kind::ball, &Freedom::kind);
    return JointOf{.type = "spherical", .point = ball->point};
  }
  if (all.balls > 0) return std::nullopt;
  if (shifts == 0 && turns > 0) return joint_of_turns(all.turns);
  if (shifts == 1 && turns == 0) return JointOf{.type = "prismatic", .axes = {all.shifts[0].axis}};
  if (shifts == 1 && turns == 1 && parallel(all.shifts[0].axis, all.turns[0].axis)) {
    return JointOf{.type = "cylindrical", .point = all.turns[0].point, .axes = {all.turns[0].axis}};
  }
  if (shifts == 2 && turns == 1 && !parallel(all.shifts[0].axis, all.shifts[1].axis) &&
      parallel(all.shifts[0].axis.cross(all.shifts[1].axis).normalized(), all.turns[0].axis)) {
    return JointOf{.type = "planar", .point = all.turns[0].point, .axes = {all.turns[0].axis}};
  }
  return std::nullopt;
}

/// "joint knee", or all joints of one body.
std::string joints_of(const Link& link) {
  std::set<std::string> names;
  for (const Freedom& freedom : link.freedoms) names.insert(freedom.name);
  return fmt::format("joint{} {}", names.size() > 1 ? "s" : "", fmt::join(names, ", "));
}

/// Where a link of the model is in the scenario.
struct Place {
  std::string body;  ///< its name there, or `ground`
  Pose X_BL;
};

class TreeImporter {
 public:
  explicit TreeImporter(const TreeModel& model) : model_(model) {}

  [[nodiscard]] Import run();

 private:
  void place_links();
  [[nodiscard]] std::string new_name(const std::string& wanted, const std::string& what);
  [[nodiscard]] MassProperties mass_of(std::size_t link) const;
  void require_mass(std::size_t link, const MassProperties& mass) const;
  [[nodiscard]] std::string bodies_text();
  [[nodiscard]] std::string joint_text(std::size_t link);
  [[nodiscard]] std::string spring_text(const std::string& joint, const Freedom& freedom) const;
  [[nodiscard]] std::string surfaces_text();
  void tell_resistance(const Link& link, bool springs_are_taken);

  [[nodiscard]] const Place& parent_of(const Link& link) const {
    static const Place ground{.body = "ground", .X_BL = {}};
    return link.parent ? places_[*link.parent] : ground;
  }
  void miss(std::string text) { import_.not_taken.push_back(std::move(text)); }

  const TreeModel& model_;
  Import import_;
  std::vector<Place> places_;
  std::vector<Pose> poses_;          ///< of links in the world
  std::vector<std::size_t> bodies_;  ///< links that are bodies of the scenario
  std::set<std::string> names_ = {"ground"};
  bool has_joints_ = false;
  std::string forces_;
};

/// A name of the scenario that nothing else has.
std::string TreeImporter::new_name(const std::string& wanted, const std::string& what) {
  std::string name = plain(wanted);
  for (int i = 2; names_.contains(name); ++i) name = fmt::format("{}_{}", plain(wanted), i);
  names_.insert(name);
  if (name != wanted) miss(fmt::format("{} '{}': its name is {} here", what, wanted, name));
  return name;
}

void TreeImporter::place_links() {
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    const Link& link = model_.links[i];
    poses_.push_back(link.parent ? poses_[*link.parent] * link.X_PL : link.X_PL);
    if (link.freedoms.empty()) {
      const Place parent = parent_of(link);
      places_.push_back({.body = parent.body, .X_BL = parent.X_BL * link.X_PL});
      const std::string by = link.joint.empty() ? "" : fmt::format(", to which {} welds it", link.joint);
      import_.taken.push_back(parent.body == "ground"
                                  ? fmt::format("body {} as part of the ground{}", link.name, by)
                                  : fmt::format("body {} as part of {}{}", link.name, parent.body, by));
    } else {
      places_.push_back({.body = new_name(link.name, "body"), .X_BL = {}});
      bodies_.push_back(i);
      import_.taken.push_back(fmt::format("body {}", places_.back().body));
    }
  }
  if (bodies_.empty()) {
    throw input_error(
        "model", fmt::format("model '{}': expected at least one body that a joint lets move, found none", model_.name));
  }
}

MassProperties TreeImporter::mass_of(std::size_t link) const {
  MassProperties all;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].body != places_[link].body || !model_.links[i].mass) continue;
    all = welded(all, seen_from(places_[i].X_BL, *model_.links[i].mass));
  }
  return all;
}

void TreeImporter::require_mass(std::size_t link, const MassProperties& mass) const {
  const Link& moving = model_.links[link];
  const std::string why = fmt::format("joint '{}' lets it move", moving.joint);
  if (!(mass.mass > 0.0)) {
    throw input_error(
        "model",
        fmt::format("link '{}': expected an inertia with a mass above 0 kg, since {}, found {}; give it one in "
                    "the model, or weld it to another link",
                    moving.name, why, moving.mass ? fmt::format("{} kg", mass.mass) : "none"));
  }
  const Vector3 moments = Eigen::SelfAdjointEigenSolver<Matrix3>(mass.inertia).eigenvalues();
  if (!(moments.minCoeff() > 0.0)) {
    throw input_error("model",
                      fmt::format("link '{}': expected principal moments of inertia above 0 kg m^2, since {}, found {}",
                                  moving.name, why, list(moments)));
  }
  // Of masses of any distribution the largest moment is at most the sum of the others; equality is a flat body. Files
  // have rounded numbers.
  if (moments[2] > (moments[0] + moments[1]) * (1.0 + same_direction)) {
    throw input_error("model", fmt::format("link '{}': expected principal moments of inertia of which none exceeds the "
                                           "sum of the others, as those of every body, found {} kg m^2",
                                           moving.name, list(moments)));
  }
}

std::string TreeImporter::bodies_text() {
  std::string text = "bodies:\n";
  for (const std::size_t i : bodies_) {
    const MassProperties mass = mass_of(i);
    require_mass(i, mass);
    text += body_text(places_[i].body, mass, poses_[i]);
  }
  return text;
}

std::string TreeImporter::spring_text(const std::string& joint, const Freedom& freedom) const {
  return fmt::format(
      "  {0}-resistance: {{type: torsional_spring, joint: {0}, stiffness: {1}, damping: {2}, neutral: {3}}}\n", joint,
      freedom.stiffness, freedom.damping, freedom.neutral);
}

void TreeImporter::tell_resistance(const Link& link, bool springs_are_taken) {
  if (springs_are_taken) return;
  for (const Freedom& freedom : link.freedoms) {
    if (freedom.stiffness != 0.0) miss(fmt::format("joint {}: its stiffness {}", freedom.name, freedom.stiffness));
    if (freedom.damping != 0.0) miss(fmt::format("joint {}: its damping {}", freedom.name, freedom.damping));
  }
}

std::string TreeImporter::joint_text(std::size_t i) {
  const Link& link = model_.links[i];
  const Place& a = parent_of(link);
  const std::string& b = places_[i].body;
  const auto joint = joint_of(link.freedoms);
  const bool springs = joint && joint->angle;
  tell_resistance(link, springs);
  if (!joint || joint->type == "free") {
    import_.taken.push_back(fmt::format("{}: its bodies move freely against each other", joints_of(link)));
    if (!joint) {
      miss(fmt::format("{}: what the {} holds; no joint is like it, and its bodies move freely against each other",
                       joints_of(link), link.joint_type));
    }
    return fmt::format("  # {}: {} moves freely against {}\n", plain(link.joint), b, a.body);
  }
  const std::string name = new_name(link.joint, "joint");
  has_joints_ = true;
  const Pose X_AL = a.X_BL * link.X_PL;
  std::string text = fmt::format("  {}: {{type: {}, bodies: [{}, {}], points: [{}, {}]", name, joint->type, a.body, b,
                                 list(X_AL * joint->point), list(joint->point));
  if (!joint->axes.empty()) {
    text += fmt::format(", axes: [{}, {}]", list(X_AL.R * joint->axes.front()), list(joint->axes.back()));
  }
  import_.taken.push_back(fmt::format("{} as a {} joint", joints_of(link), joint->type));
  const Freedom& first = link.freedoms.front();
  if (springs && (first.stiffness != 0.0 || first.damping != 0.0)) {
    forces_ += spring_text(name, first);
    import_.taken.push_back(fmt::format("joint {}: its stiffness and its damping", link.joint));
  }
  return text + "}\n";
}

/// Surfaces are for contact pairs, which robot files do not have: they are written down to be taken from there.
std::string TreeImporter::surfaces_text() {
  std::string text;
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    for (const Shape& shape : model_.links[i].shapes) {
      if (shape.surface == Shape::Surface::none) {
        miss(fmt::format("{} of {}: no surface is like it", shape.what, model_.links[i].name));
        continue;
      }
      const Pose X_BS = places_[i].X_BL * shape.X_BS;
      const std::string surface = shape.surface == Shape::Surface::sphere
                                      ? fmt::format("{{sphere: {{{}, center: {}}}}}", shape.keys, list(X_BS.p))
                                      : fmt::format("{{mesh: {{{}, position: {}, orientation: {}}}}}", shape.keys,
                                                    list(X_BS.p), quaternion(X_BS.R));
      text += fmt::format("#   {}: {}   # {}\n", places_[i].body, surface, shape.what);
      miss(
          fmt::format("{} of {}: it touches nothing by itself; its surface is written at the end of the scenario, for "
                      "contact pairs",
                      shape.what, model_.links[i].name));
      if (shape.mesh && std::ranges::find(import_.meshes, shape.mesh->to, &MeshCopy::to) == import_.meshes.end()) {
        import_.meshes.push_back(*shape.mesh);
      }
    }
  }
  return text.empty() ? "" : "\n# Surfaces of the bodies, for contact pairs (`contact.NAME.main.surface`):\n" + text;
}

Import TreeImporter::run() {
  place_links();
  const std::string bodies = bodies_text();
  std::string joints;
  for (const std::size_t i : bodies_) joints += joint_text(i);
  for (const std::string& line : model_.not_taken) miss(line);
  const std::string surfaces = surfaces_text();
  import_.scenario = fmt::format(
      "# From the {} model {}; what of it is not here is in NOT_IMPORTED.txt.\nheelstrike: 1\ngravity: "
      "{}\n\n{}\n{}{}\n{}"
      "analysis:\n  end_time: 1.0\n\noutput:\n  interval: 0.01\n{}",
      model_.kind, plain(model_.name), list(model_.gravity), bodies, has_joints_ ? "joints:\n" : "", joints,
      forces_.empty() ? "" : "forces:\n" + forces_ + "\n", surfaces);
  return std::move(import_);
}

}  // namespace

Import import_tree(const TreeModel& model) {
  return TreeImporter(model).run();
}

}  // namespace heelstrike::client::models
