#include "mbs_server/formulation/gear_constraint.hpp"

#include <cmath>
#include <cstdlib>
#include <numbers>

namespace heelstrike::mbs {

GearEquation::GearEquation(const Joint& first, const Joint& second, int teeth_first, int teeth_second,
                           const ConstVector& q0)
    : teeth_(std::abs(static_cast<double>(teeth_second))) {
  wheels_.push_back({.angle = JointAngle(first), .factor = -static_cast<double>(teeth_first)});
  wheels_.push_back({.angle = JointAngle(second), .factor = static_cast<double>(teeth_second)});
  constant_ = turned(q0);
}

double GearEquation::turned(const ConstVector& q) const {
  double sum = 0.0;
  for (const auto& wheel : wheels_) sum += wheel.factor * wheel.angle.angle(q);
  return sum;
}

double GearEquation::residual(double /*t*/, const ConstVector& q) const {
  // Both angles have a jump of 2 pi, hence their sum one of 2 pi times a whole number of teeth, which the remainder
  // removes. The division gives an angle of the second wheel, so that the tolerances apply as to other constraints.
  return std::remainder(turned(q) - constant_, 2.0 * std::numbers::pi) / teeth_;
}

double GearEquation::velocity_rhs(double /*t*/, const ConstVector& /*q*/) const {
  return 0.0;
}

double GearEquation::acceleration_rhs(double /*t*/, const ConstVector& q, const ConstVector& qd) const {
  // d2/dt2 of the sum of factor phi gives -factor qd' phi_qq qd on the right; the constant and whole turns have zero
  // derivatives.
  double gamma = 0.0;
  for (const auto& wheel : wheels_) gamma -= wheel.factor / teeth_ * wheel.angle.curvature(q, qd).value;
  return gamma;
}

void GearEquation::add_jacobian(double /*t*/, const ConstVector& q, int row, SparseAssembler& Phi_q) const {
  for (const auto& wheel : wheels_) {
    const VectorX gradient = wheel.angle.derivatives(q).gradient;
    const auto& at = wheel.angle.indices();
    for (std::size_t k = 0; k < at.size(); ++k) {
      Phi_q.add(row, at[k], wheel.factor / teeth_ * gradient[static_cast<Eigen::Index>(k)]);
    }
  }
}

void GearEquation::add_velocity_tangent(double /*t*/, const ConstVector& q, const ConstVector& qd, int row,
                                        SparseAssembler& V_q) const {
  for (const auto& wheel : wheels_) {
    // (Phi_q qd)_q = phi_qq qd; nu is zero.
    const VectorX bent = wheel.factor / teeth_ * (wheel.angle.derivatives(q).hessian * wheel.angle.local(qd));
    const auto& at = wheel.angle.indices();
    for (std::size_t k = 0; k < at.size(); ++k) V_q.add(row, at[k], bent[static_cast<Eigen::Index>(k)]);
  }
}

void GearEquation::add_force_tangent(double /*t*/, const ConstVector& q, double lambda, SparseAssembler& K) const {
  for (const auto& wheel : wheels_) {
    // -(Phi_q' lambda)_q = -lambda phi_qq, symmetric.
    const Eigen::MatrixXd hessian = wheel.angle.derivatives(q).hessian;
    const auto& at = wheel.angle.indices();
    for (std::size_t k = 0; k < at.size(); ++k) {
      for (std::size_t l = 0; l < at.size(); ++l) {
        K.add(at[k], at[l],
              -lambda * wheel.factor / teeth_ * hessian(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(l)));
      }
    }
  }
}

void GearEquation::add_acceleration_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd,
                                             const ConstVector& qdd, int row, SparseAssembler& G_q,
                                             SparseAssembler& G_v) const {
  for (const auto& wheel : wheels_) {
    // G_q = (gamma - Phi_q qdd)_q needs the third derivatives of the angle, by_q; G_v = gamma_qd = -2 qd' phi_qq.
    const double factor = -wheel.factor / teeth_;
    const auto curvature = wheel.angle.curvature(q, qd);
    const VectorX bent = wheel.angle.derivatives(q).hessian * wheel.angle.local(qdd);
    const auto& at = wheel.angle.indices();
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      G_q.add(row, at[k], factor * (curvature.by_q[i] + bent[i]));
      G_v.add(row, at[k], factor * curvature.by_qd[i]);
    }
  }
}

}  // namespace heelstrike::mbs
