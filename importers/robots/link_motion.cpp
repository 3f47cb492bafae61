#include "importers/robots/link_motion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heelstrike::models {
namespace {

using Kind = JointDof::Kind;

/// Motion of a link by one of its degrees of freedom, in the link's frame.
Pose motion_of(const JointDof& dof, const double* q) {
  const auto about_point = [&](const Matrix3& R) { return Pose{.R = R, .p = dof.point - R * dof.point}; };
  switch (dof.kind) {
    case Kind::revolute:
      return about_point(rotation_from_vector(*q * dof.axis));
    case Kind::prismatic:
      return {.R = Matrix3::Identity(), .p = *q * dof.axis};
    case Kind::spherical:
      return about_point(Quaternion(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix());
    case Kind::free:
      return {.R = Quaternion(q[3], q[4], q[5], q[6]).normalized().toRotationMatrix(), .p = Vector3(q[0], q[1], q[2])};
  }
  return {};
}

/// A degree of freedom with one coordinate.
struct SingleDof {
  Link* link = nullptr;
  std::size_t dof = 0;
  [[nodiscard]] JointDof& operator*() const { return link->dofs[dof]; }
};

/// @returns no link for the name of no joint, or of one with several coordinates
SingleDof find_joint(TreeModel& model, const std::string& name) {
  SingleDof found;
  for (Link& link : model.links) {
    for (std::size_t k = 0; k < link.dofs.size(); ++k) {
      const JointDof& dof = link.dofs[k];
      if (dof.name != name) continue;
      const bool is_single = dof.kind == Kind::revolute || dof.kind == Kind::prismatic;
      if (!is_single || found.link != nullptr) return {};
      found = {.link = &link, .dof = k};
    }
  }
  return found;
}

void move_to(const SingleDof& joint, double coordinate) {
  const double change = coordinate - (*joint).initial;
  if (change != 0.0) displace(*joint.link, joint.dof, &change);
}

double value_at(const std::vector<double>& polynomial, double u) {
  double value = 0.0;
  for (auto c = polynomial.rbegin(); c != polynomial.rend(); ++c) value = value * u + *c;
  return value;
}

/// The reason why a coupling is not imported; empty for one that is.
/// @param followed  the joint that each coupled joint follows
std::string rejection_of(const Coupling& coupling, TreeModel& model,
                         const std::map<std::string, std::string>& followed) {
  for (const std::string& name : {coupling.dependent, coupling.independent}) {
    if (!name.empty() && find_joint(model, name).link == nullptr)
      return fmt::format("'{}' is no joint with one coordinate", name);
  }
  if (followed.contains(coupling.dependent)) return fmt::format("{} is coupled already", coupling.dependent);
  std::string name = coupling.independent;
  for (auto next = followed.find(name); name != coupling.dependent && next != followed.end();
       next = followed.find(name)) {
    name = next->second;
  }
  return name == coupling.dependent ? fmt::format("{} would follow itself", name) : "";
}

}  // namespace

void displace(Link& link, std::size_t dof, const double* q) {
  JointDof& moved = link.dofs[dof];
  const Pose X = motion_of(moved, q);
  // A free joint sets the pose of the body; others move it relative to the parent, the first one outermost.
  link.X_PL = (moved.kind == Kind::free ? Pose{} : link.X_PL) * X;
  const Matrix3 R = X.R.transpose();
  for (std::size_t k = 0; k <= dof; ++k) {
    link.dofs[k].axis = R * link.dofs[k].axis;
    link.dofs[k].point = X.inverse() * link.dofs[k].point;
  }
  if (moved.kind != Kind::revolute && moved.kind != Kind::prismatic) return;
  moved.initial += *q;
  moved.neutral -= *q;
}

void follow_couplings(TreeModel& model) {
  std::vector<Coupling> kept;
  std::map<std::string, std::string> followed;
  for (Coupling& coupling : model.couplings) {
    if (const std::string why = rejection_of(coupling, model, followed); !why.empty()) {
      model.omissions.push_back(
          fmt::format("{}: {}; joint {} does not follow it", coupling.what, why, coupling.dependent));
      continue;
    }
    followed.emplace(coupling.dependent, coupling.independent);
    const SingleDof dependent = find_joint(model, coupling.dependent);
    if (coupling.independent.empty()) {
      move_to(dependent, coupling.polynomial.front());
      dependent.link->dofs.erase(dependent.link->dofs.begin() + static_cast<std::ptrdiff_t>(dependent.dof));
      continue;
    }
    (*dependent).coupled = (*find_joint(model, coupling.independent)).coupled = true;
    kept.push_back(std::move(coupling));
  }
  model.couplings = std::move(kept);
  // Couplings may be chained, in any order: as many rounds as there are couplings resolve any chain.
  for (std::size_t round = 0; round < model.couplings.size(); ++round) {
    for (const Coupling& coupling : model.couplings) {
      move_to(find_joint(model, coupling.dependent),
              value_at(coupling.polynomial, (*find_joint(model, coupling.independent)).initial));
    }
  }
}

}  // namespace heelstrike::models
