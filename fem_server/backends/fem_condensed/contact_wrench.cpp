#include "fem_server/backends/fem_condensed/contact_wrench.hpp"

#include <algorithm>

namespace heelstrike::fem {

namespace {

/// n + H u: the normal of the partner at the deformed position, to first order.
Vector3 deformed_normal(const TouchingNode& node) {
  return node.surface.normal + node.surface.curvature * node.u;
}

Vector6 stack(const Vector3& angular, const Vector3& linear) {
  return (Vector6() << angular, linear).finished();
}

/// Derivative of H u along the gap's argument: - bend ((n.v) H u + (n.u) H v + n (u.H v)) for a plane, sphere or
/// cylinder.
Matrix3 curvature_change(const TouchingNode& node) {
  const Vector3& n = node.surface.normal;
  const Vector3 Hu = node.surface.curvature * node.u;
  return -node.surface.bend * (Hu * n.transpose() + n.dot(node.u) * node.surface.curvature + n * Hu.transpose());
}

/// d (gap wrench) / d X at fixed u.
Matrix6 gap_wrench_derivative(const TouchingNode& node, const Vector3& p_AB) {
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

/// From a wrench about B's origin to one about A's.
void move_to_A(const Vector3& p_AB, Response& response) {
  const Vector3 force = response.F_A.force;
  response.F_A.torque += p_AB.cross(force);
  response.dF_A_dX.topRows<3>() += skew(p_AB) * response.dF_A_dX.bottomRows<3>();
  response.dF_A_dX.topRightCorner<3, 3>() -= skew(force);
  response.dF_A_dV.topRows<3>() += skew(p_AB) * response.dF_A_dV.bottomRows<3>();
}

}  // namespace

Vector6 gap_wrench(const TouchingNode& node, const Vector3& p_AB) {
  const Vector3 n = deformed_normal(node);
  return stack((node.x - p_AB).cross(n) + node.u.cross(node.surface.normal), n);
}

Matrix36 normal_rotation(const TouchingNode& node, const Vector3& p_AB) {
  Matrix36 dn;
  dn << -skew(node.surface.normal) + node.surface.curvature * skew(node.x - p_AB), -node.surface.curvature;
  return dn;
}

Matrix36 force_rotation(const TouchingNode& node, const Vector3& p_AB) {
  const Matrix36 dn = normal_rotation(node, p_AB);
  Matrix36 df = node.lambda * dn;
  if (node.traction.isZero(0.0)) return df;
  Matrix36 bending = dn;  // change of the normal other than by B's rotation
  bending.leftCols<3>() += skew(node.surface.normal);
  df.leftCols<3>() -= skew(node.traction);
  df -= node.surface.normal * (node.traction.transpose() * bending);
  return df;
}

void fill_wrench(const std::vector<TouchingNode>& nodes, const NodeDerivatives& derivatives, const PairState& state,
                 const Hysteresis& hysteresis, Response& response, std::vector<double>& pressures) {
  const Vector3& p_AB = state.X_AB.p;
  const Vector6 V = state.V_AB.vector();
  Vector6 wrench = Vector6::Zero();
  Vector3 moment = Vector3::Zero();
  double normal_force = 0.0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TouchingNode& node = nodes[i];
    // The force acts where A has been displaced to, which is u + u_B: the normal turns with the relative displacement.
    const Vector6 G = gap_wrench(node, p_AB) + stack(node.u_B.cross(node.surface.normal), Vector3::Zero());
    const Vector3 y = node.x + node.u + node.u_B;
    const Vector6 W = node.lambda * G + stack((y - p_AB).cross(node.traction), node.traction);
    const Matrix36 dn = normal_rotation(node, p_AB);
    Matrix6 dG = gap_wrench_derivative(node, p_AB);
    if (!derivatives.u.empty()) dG -= dn.transpose() * derivatives.u[i];
    if (!derivatives.u_B.empty()) {
      dG.topRows<3>() += skew(node.u_B) * dn - skew(node.surface.normal) * derivatives.u_B[i];
    }
    Matrix6 dW = G * derivatives.lambda[i] + node.lambda * dG;
    if (!derivatives.u.empty()) {
      Matrix36 arm = derivatives.u[i];
      arm.rightCols<3>() -= Matrix3::Identity();
      if (!derivatives.u_B.empty()) arm += derivatives.u_B[i];
      dW.topRows<3>() += skew(y - p_AB) * derivatives.traction[i] - skew(node.traction) * arm;
      dW.bottomRows<3>() += derivatives.traction[i];
    }

    const double rate = G.dot(V);
    const double slope = hysteresis.factor / hysteresis.speed;
    const double factor = 1.0 + slope * rate;
    if (factor > 0.0) {
      wrench += factor * W;
      response.dF_A_dX += factor * dW + W * (slope * V.transpose() * dG);
      Vector6 dfactor_dV = slope * G;
      if (hysteresis.follows) dfactor_dV -= slope * rate / hysteresis.speed * hysteresis.approach;
      response.dF_A_dV += W * dfactor_dV.transpose();
      normal_force += factor * node.lambda;
      moment += factor * node.lambda * y;
    }
    pressures.push_back(std::max(factor, 0.0) * node.lambda / node.area);
    response.dissipated_power += (std::max(factor, 0.0) - 1.0) * node.lambda * rate;
    response.stored_energy += 0.5 * node.u.dot(node.lambda * node.surface.normal + node.traction);
    response.area += node.area;
  }
  if (derivatives.u.empty()) response.dF_A_dX -= derivatives.turning_work;
  response.F_A = {.torque = wrench.head<3>(), .force = wrench.tail<3>()};
  if (normal_force > 0.0) response.p_ACop = moment / normal_force;
  response.statistics.active_points = static_cast<int>(nodes.size());
  move_to_A(p_AB, response);
}

}  // namespace heelstrike::fem
