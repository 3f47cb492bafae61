#include "mbs_server/formulation/load_force.hpp"

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

Wrench LoadForce::prescribed_wrench(double t) const {
  Wrench wrench{.torque = load_.torque, .force = load_.force};
  for (std::size_t i = 0; i < load_.functions.size(); ++i) {
    if (!load_.functions[i]) continue;
    Vector3& part = i < 3 ? wrench.force : wrench.torque;
    part[static_cast<Eigen::Index>(i % 3)] += load_.functions[i]->at(t).f;
  }
  return wrench;
}

Wrench LoadForce::world_wrench(const Wrench& given, const Pose& X_WB) const {
  // Transfer from its point to the body's origin, the reference point of generalised forces.
  const Vector3 arm = X_WB.R * load_.point;
  const Vector3 force = load_.body_fixed ? Vector3(X_WB.R * given.force) : given.force;
  const Vector3 torque = load_.body_fixed ? Vector3(X_WB.R * given.torque) : given.torque;
  return {.torque = torque + arm.cross(force), .force = force};
}

void LoadForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  if (load_.body == ground) return;
  const auto first = coordinates_per_body * static_cast<Eigen::Index>(load_.body);
  const Vector12 q_b = at.q.segment<12>(first);
  const Vector12 g_b = generalized_force(q_b, world_wrench(prescribed_wrench(at.t), pose_from_coordinates(q_b)));
  g.segment<12>(first) += g_b;
  // g'qd is torque . w + force . v, with the angular velocity of twist_from_rates().
  energy.external_power += g_b.dot(at.qd.segment<12>(first));
}

void LoadForce::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& /*C*/) {
  if (load_.body == ground) return;
  const int first = coordinates_per_body * load_.body;
  const Vector12 q_b = at.q.segment<12>(first);
  const Pose X_WB = pose_from_coordinates(q_b);
  const Wrench given = prescribed_wrench(at.t);
  const Wrench F_W = world_wrench(given, X_WB);
  // Derivative of the world wrench by each column v_k of R: of the arm R point and, in body axes, of force and torque.
  Matrix6x12 dW = Matrix6x12::Zero();
  for (int k = 0; k < 3; ++k) {
    const auto column = 3 + 3 * k;
    dW.block<3, 3>(0, column) -= load_.point[k] * skew(F_W.force);
    if (load_.body_fixed) {
      dW.block<3, 3>(0, column) += given.torque[k] * Matrix3::Identity() + given.force[k] * skew(X_WB.R * load_.point);
      dW.block<3, 3>(3, column) = given.force[k] * Matrix3::Identity();
    }
  }
  // Product rule for B' W: both depend on q. A load does not depend on velocities.
  const Matrix12 tangent = generalized_force_tangent(F_W) + motion_map(q_b).transpose() * dW;
  K.add_block(first, first, tangent);
}

}  // namespace heelstrike::mbs
