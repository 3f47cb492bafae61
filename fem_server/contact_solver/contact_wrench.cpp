#include "fem_server/contact_solver/contact_wrench.hpp"

#include <algorithm>

namespace heelstrike::fem {

namespace {

/// n + H u: the normal of the partner at the deformed position, to first order.
Vector3 deformed_normal(const ContactNodeState& node) {
  return node.surface.normal + node.surface.curvature * node.u;
}

Vector6 stack(const Vector3& angular, const Vector3& linear) {
  return (Vector6() << angular, linear).finished();
}

/// Derivative of H u along the gap's argument: - bend ((n.v) H u + (n.u) H v + n (u.H v)) for a plane, sphere or
/// cylinder.
Matrix3 curvature_change(const ContactNodeState& node) {
  const Vector3& n = node.surface.normal;
  const Vector3 Hu = node.surface.curvature * node.u;
  return -node.surface.bend * (Hu * n.transpose() + n.dot(node.u) * node.surface.curvature + n * Hu.transpose());
}

/// d (gap wrench) / d X at fixed u.
Matrix6 gap_wrench_derivative(const ContactNodeState& node, const Vector3& p_AB) {
  const Matrix36 dn = normal_rotation(node, p_AB);
  const Matrix3& H = node.surface.curvature;
  Matrix36 dn_deformed = dn;
  const Matrix3 T = curvature_change(node);
  dn_deformed.leftCols<3>() += -skew(H * node.u) + H * skew(node.u) + T * skew(node.x - p_AB);
  dn_deformed.rightCols<3>() -= T;
  Matrix36 dtorque = skew(node.x - p_AB) * dn_deformed + skew(node.u) * dn;
  dtorque.rightCols<3>() += skew(deformed_normal(node));
  Matrix6 result;
  result << dtorque, dn_deformed;
  return result;
}

/// Converts tangents of a wrench about B's origin to those of one about A's.
void move_tangents_to_A(const Vector3& p_AB, Response& response) {
  response.dF_A_dX.topRows<3>() += skew(p_AB) * response.dF_A_dX.bottomRows<3>();
  response.dF_A_dX.topRightCorner<3, 3>() -= skew(response.F_A.force);
  response.dF_A_dV.topRows<3>() += skew(p_AB) * response.dF_A_dV.bottomRows<3>();
}

}  // namespace

SurfacePoint surface_in_A(const SignedDistance& partner, const Pose& X_AB, const Vector3& p_AQ) {
  SurfacePoint point = partner.closest(X_AB.R.transpose() * (p_AQ - X_AB.p));
  point.normal = X_AB.R * point.normal;
  if (!point.curvature.isZero(0.0)) point.curvature = X_AB.R * point.curvature * X_AB.R.transpose();
  return point;
}

Vector6 gap_wrench(const ContactNodeState& node, const Vector3& p_AB) {
  const Vector3 n = deformed_normal(node);
  return stack((node.x - p_AB).cross(n) + node.u.cross(node.surface.normal), n);
}

Matrix36 normal_rotation(const ContactNodeState& node, const Vector3& p_AB) {
  Matrix36 dn;
  dn << -skew(node.surface.normal) + node.surface.curvature * skew(node.x - p_AB), -node.surface.curvature;
  return dn;
}

Matrix36 force_rotation(const ContactNodeState& node, const Vector3& p_AB) {
  const Matrix36 dn = normal_rotation(node, p_AB);
  Matrix36 df = node.lambda * dn;
  if (node.traction.isZero(0.0)) return df;
  Matrix36 bending = dn;  // change of the normal other than by B's rotation
  bending.leftCols<3>() += skew(node.surface.normal);
  df.leftCols<3>() -= skew(node.traction);
  df -= node.surface.normal * (node.traction.transpose() * bending);
  return df;
}

namespace {

/// Contribution of one active node to the wrench.
struct NodeWrench {
  Vector6 G;      ///< wrench of unit pressure
  Vector6 W;      ///< wrench before hysteresis
  Vector3 y;      ///< [m] point of action
  double rate;    ///< [m/s] of approach
  double factor;  ///< of the hysteresis, <= 0 = no force
};

NodeWrench node_wrench(const ContactNodeState& node, const PairState& state, const Hysteresis& hysteresis) {
  NodeWrench result;
  // The force acts at the displaced position of A, u + u_B: the normal rotates with the relative displacement.
  result.G = gap_wrench(node, state.X_AB.p) + stack(node.u_B.cross(node.surface.normal), Vector3::Zero());
  result.y = node.x + node.u + node.u_B;
  result.W = node.lambda * result.G + stack((result.y - state.X_AB.p).cross(node.traction), node.traction);
  result.rate = result.G.dot(state.V_AB.vector());
  result.factor = 1.0 + hysteresis.factor / hysteresis.speed * result.rate;
  return result;
}

void add_tangents(const ContactNodeState& node, const NodeDerivatives& derivatives, std::size_t i,
                  const PairState& state, const Hysteresis& hysteresis, const NodeWrench& own, Response& response) {
  const Vector3& p_AB = state.X_AB.p;
  const Matrix36 dn = normal_rotation(node, p_AB);
  Matrix6 dG = gap_wrench_derivative(node, p_AB);
  if (!derivatives.u.empty()) dG -= dn.transpose() * derivatives.u[i];
  if (!derivatives.u_B.empty()) {
    dG.topRows<3>() += skew(node.u_B) * dn - skew(node.surface.normal) * derivatives.u_B[i];
  }
  if (!derivatives.normal.empty()) {
    dG.topRows<3>() += skew(own.y - p_AB) * derivatives.normal[i];
    dG.bottomRows<3>() += derivatives.normal[i];
  }
  Matrix6 dW = own.G * derivatives.lambda[i] + node.lambda * dG;
  if (!derivatives.u.empty()) {
    Matrix36 arm = derivatives.u[i];
    arm.rightCols<3>() -= Matrix3::Identity();
    if (!derivatives.u_B.empty()) arm += derivatives.u_B[i];
    dW.topRows<3>() += skew(own.y - p_AB) * derivatives.traction[i] - skew(node.traction) * arm;
    dW.bottomRows<3>() += derivatives.traction[i];
  }
  const double slope = hysteresis.factor / hysteresis.speed;
  response.dF_A_dX += own.factor * dW + own.W * (slope * state.V_AB.vector().transpose() * dG);
  Vector6 dfactor_dV = slope * own.G;
  if (hysteresis.follows) dfactor_dV -= slope * own.rate / hysteresis.speed * hysteresis.approach;
  response.dF_A_dV += own.W * dfactor_dV.transpose();
}

}  // namespace

void fill_wrench(const std::vector<ContactNodeState>& nodes, const NodeDerivatives& derivatives, const PairState& state,
                 const Hysteresis& hysteresis, Response& response, std::vector<double>& normal_forces) {
  const bool differentiated = !derivatives.lambda.empty();
  Vector6 wrench = Vector6::Zero();
  Vector3 moment = Vector3::Zero();
  double normal_force = 0.0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ContactNodeState& node = nodes[i];
    const NodeWrench own = node_wrench(node, state, hysteresis);
    if (own.factor > 0.0) {
      wrench += own.factor * own.W;
      normal_force += own.factor * node.lambda;
      moment += own.factor * node.lambda * own.y;
      if (differentiated) add_tangents(node, derivatives, i, state, hysteresis, own, response);
    }
    normal_forces.push_back(std::max(own.factor, 0.0) * node.lambda);
    // The factor also applies to the traction; slip dissipation of the elastic traction is part of the increment.
    const double friction_power = node.traction.dot(point_velocity(state.V_AB, own.y - state.X_AB.p));
    response.dissipated_power += (std::max(own.factor, 0.0) - 1.0) * (node.lambda * own.rate + friction_power);
    response.stored_energy += 0.5 * node.u.dot(node.lambda * node.surface.normal + node.traction);
  }
  response.F_A = {.torque = wrench.head<3>(), .force = wrench.tail<3>()};
  if (normal_force > 0.0) response.p_ACop = moment / normal_force;
  response.statistics.active_points = static_cast<int>(nodes.size());
  if (differentiated) {
    if (derivatives.u.empty()) response.dF_A_dX -= derivatives.rotation_work;
    move_tangents_to_A(state.X_AB.p, response);
  }
  response.F_A.torque += state.X_AB.p.cross(response.F_A.force);
}

}  // namespace heelstrike::fem
