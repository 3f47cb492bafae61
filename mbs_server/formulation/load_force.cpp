#include "mbs_server/formulation/load_force.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {

GravityForce::GravityForce(const Model& model)
    : generalized_(VectorX::Zero(coordinates_per_body * static_cast<Eigen::Index>(model.bodies.size()))) {
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const auto& properties = model.bodies[i].mass_properties;
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(i);
    // g' = int rho a'C dV with C of docs/theory/multibody.md, section 1: mass times a on the origin, first moments
    // times a on the axes. It is constant and computed once; its potential is -g'q.
    generalized_.segment<3>(first) = properties.mass * model.gravity;
    for (int k = 0; k < 3; ++k) {
      generalized_.segment<3>(first + 3 + 3 * k) = properties.mass * properties.center_of_mass[k] * model.gravity;
    }
  }
}

void GravityForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  g += generalized_;
  energy.potential -= generalized_.dot(at.q);
}

void GravityForce::add_tangents(const MotionState& /*at*/, SparseAssembler& /*K*/, SparseAssembler& /*C*/) {}

LoadForce::LoadForce(const Load& load) : load_(load) {}

namespace {

Pose pose_at(const MotionState& at, BodyIndex body) {
  if (body == ground) return {};
  return pose_from_coordinates(at.q.segment<12>(coordinates_per_body * static_cast<Eigen::Index>(body)));
}

}  // namespace

LoadForce::Prescribed LoadForce::prescribed(double t) const {
  Prescribed result{.wrench = {.torque = load_.torque, .force = load_.force}, .point = load_.point};
  const std::array<Vector3*, 3> parts = {&result.wrench.force, &result.wrench.torque, &result.point};
  for (std::size_t i = 0; i < load_.functions.size(); ++i) {
    if (load_.functions[i]) (*parts[i / 3])[static_cast<Eigen::Index>(i % 3)] += load_.functions[i]->at(t).f;
  }
  return result;
}

Vector3 LoadForce::arm(const MotionState& at, const Vector3& point) const {
  const Pose X_WP = pose_at(at, point_body());
  return X_WP.R * point + (X_WP.p - pose_at(at, load_.body).p);
}

Wrench LoadForce::world_wrench(const MotionState& at, const Prescribed& given) const {
  const Matrix3 R_WA = pose_at(at, load_.axes_body).R;
  const Vector3 force = R_WA * given.wrench.force;
  // Transfer from its point to the body's origin, the reference point of generalised forces.
  return {.torque = R_WA * given.wrench.torque + arm(at, given.point).cross(force), .force = force};
}

void LoadForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  if (load_.body == ground) return;
  const auto first = coordinates_per_body * static_cast<Eigen::Index>(load_.body);
  const Vector12 g_b = generalized_force(at.q.segment<12>(first), world_wrench(at, prescribed(at.t)));
  g.segment<12>(first) += g_b;
  // g'qd is torque . w + force . v, with the angular velocity of twist_from_rates().
  energy.external_power += g_b.dot(at.qd.segment<12>(first));
}

void LoadForce::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& /*C*/) {
  if (load_.body == ground) return;
  const Prescribed given = prescribed(at.t);
  const Wrench F_W = world_wrench(at, given);
  const int first = coordinates_per_body * load_.body;
  const Vector12 q_b = at.q.segment<12>(first);
  const Eigen::Matrix<double, 12, 6> B = motion_map(q_b).transpose();
  // Derivatives of the world wrench by the coordinates of every body that it depends on. The same body may have
  // several roles; the world has no coordinates.
  std::vector<std::pair<BodyIndex, Matrix6x12>> dW = {{load_.body, Matrix6x12::Zero()}};
  const auto by = [&](BodyIndex body) -> Matrix6x12& {
    const auto found = std::ranges::find(dW, body, &std::pair<BodyIndex, Matrix6x12>::first);
    return found != dW.end() ? found->second : dW.emplace_back(body, Matrix6x12::Zero()).second;
  };
  if (point_body() != load_.body) {
    // The arm ends at the origin of the loaded body and begins in another one: opposite changes of the torque.
    by(load_.body).block<3, 3>(0, 0) = skew(F_W.force);
    if (point_body() != ground) by(point_body()).block<3, 3>(0, 0) = -skew(F_W.force);
  }
  const Vector3 p = arm(at, given.point);
  for (int k = 0; k < 3; ++k) {
    const auto column = 3 + 3 * k;
    if (point_body() != ground) by(point_body()).block<3, 3>(0, column) -= given.point[k] * skew(F_W.force);
    if (load_.axes_body == ground) continue;
    Matrix6x12& turned = by(load_.axes_body);
    turned.block<3, 3>(0, column) += given.wrench.torque[k] * Matrix3::Identity() + given.wrench.force[k] * skew(p);
    turned.block<3, 3>(3, column) += given.wrench.force[k] * Matrix3::Identity();
  }
  // Product rule for B' W: both depend on q. A load does not depend on velocities.
  for (const auto& [body, derivative] : dW) {
    Matrix12 tangent = B * derivative;
    if (body == load_.body) tangent += generalized_force_tangent(F_W);
    K.add_block(first, coordinates_per_body * body, tangent);
  }
}

}  // namespace heelstrike::mbs
