#include "mbs_server/formulation/joint_angle.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>

namespace heelstrike::mbs {

QuadraticEquation joint_sine(const Joint& joint) {
  return dot_equation(body_direction(joint.b.body, joint.b.X_BF.R.col(0)),
                      body_direction(joint.a.body, joint.a.X_BF.R.col(1)));
}

QuadraticEquation joint_cosine(const Joint& joint) {
  return dot_equation(body_direction(joint.b.body, joint.b.X_BF.R.col(0)),
                      body_direction(joint.a.body, joint.a.X_BF.R.col(0)));
}

QuadraticEquation joint_displacement(const Joint& joint) {
  return dot_equation(body_direction(joint.a.body, joint.a.X_BF.R.col(2)),
                      body_point(joint.b.body, joint.b.X_BF.p) - body_point(joint.a.body, joint.a.X_BF.p));
}

JointAngle::JointAngle(const Joint& joint) {
  const QuadraticEquation s = joint_sine(joint);
  const QuadraticEquation c = joint_cosine(joint);
  // At most 18 of the 24 coordinates of two bodies: angles do not depend on the origins. All derivatives are dense in
  // these coordinates.
  for (const auto* equation : {&s, &c}) {
    for (const auto& term : equation->quadratic) indices_.insert(indices_.end(), {term.i, term.j});
    for (const auto& term : equation->linear) indices_.push_back(term.i);
  }
  std::ranges::sort(indices_);
  indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
  sine_ = dense(s);
  cosine_ = dense(c);
}

JointAngle::Form JointAngle::dense(const QuadraticEquation& equation) const {
  const auto n = static_cast<Eigen::Index>(indices_.size());
  const auto place = [&](int i) { return std::ranges::lower_bound(indices_, i) - indices_.begin(); };
  Form form{.constant = equation.constant, .b = VectorX::Zero(n), .H = Eigen::MatrixXd::Zero(n, n)};
  for (const auto& term : equation.linear) form.b[place(term.i)] += term.b;
  for (const auto& term : equation.quadratic) {
    // x'Hx/2 contains every pair twice, and c x_i^2 has the second derivative 2 c.
    form.H(place(term.i), place(term.j)) += term.c;
    form.H(place(term.j), place(term.i)) += term.c;
  }
  return form;
}

VectorX JointAngle::local(const ConstVector& x) const {
  return x(indices_);
}

double JointAngle::angle(const ConstVector& q) const {
  const VectorX x = local(q);
  return std::atan2(sine_.value(x), cosine_.value(x));
}

// phi = Im log z with z = c + i s: all partial derivatives are real or imaginary parts of powers of 1/z.
JointAngle::Derivatives JointAngle::derivatives(const ConstVector& q) const {
  const VectorX x = local(q);
  const std::complex<double> z(cosine_.value(x), sine_.value(x));
  const auto z1 = 1.0 / z;
  const auto z2 = z1 * z1;
  const VectorX s_q = sine_.gradient(x);
  const VectorX c_q = cosine_.gradient(x);
  Derivatives d{.angle = std::arg(z), .gradient = z1.real() * s_q + z1.imag() * c_q, .hessian = {}};
  d.hessian = z1.real() * sine_.H + z1.imag() * cosine_.H +
              z2.imag() * (s_q * s_q.transpose() - c_q * c_q.transpose()) -
              z2.real() * (s_q * c_q.transpose() + c_q * s_q.transpose());
  return d;
}

JointAngle::Curvature JointAngle::curvature(const ConstVector& q, const ConstVector& qd) const {
  const VectorX x = local(q);
  const VectorX v = local(qd);
  const std::complex<double> z(cosine_.value(x), sine_.value(x));
  const auto z1 = 1.0 / z;
  const auto z2 = z1 * z1;
  const auto z3 = z2 * z1;
  // Partial derivatives of Im log(c + i s): each derivative by s adds a factor i, with the powers 1/z, -1/z^2,
  // 2/z^3. The formulas are exact also off the constraints, where |z| != 1.
  const double f_s = z1.real(), f_c = z1.imag(), f_ss = z2.imag(), f_cc = -z2.imag(), f_sc = -z2.real();
  const double f_sss = -2.0 * z3.real(), f_ssc = -2.0 * z3.imag(), f_scc = 2.0 * z3.real(), f_ccc = 2.0 * z3.imag();
  const VectorX s_q = sine_.gradient(x), c_q = cosine_.gradient(x);
  const VectorX s_v = sine_.H * v, c_v = cosine_.H * v;
  // Chain rule: v' phi_qq v with the first derivatives a, b and the second ones hs, hc of s and c along v. hs and hc do
  // not depend on q, because s and c are quadratic.
  const double a = s_q.dot(v), b = c_q.dot(v), hs = v.dot(s_v), hc = v.dot(c_v);
  Curvature w;
  w.value = f_s * hs + f_c * hc + f_ss * a * a + 2.0 * f_sc * a * b + f_cc * b * b;
  w.by_q = (f_ss * hs + f_sc * hc + f_sss * a * a + 2.0 * f_ssc * a * b + f_scc * b * b) * s_q +
           (f_sc * hs + f_cc * hc + f_ssc * a * a + 2.0 * f_scc * a * b + f_ccc * b * b) * c_q +
           (2.0 * f_ss * a + 2.0 * f_sc * b) * s_v + (2.0 * f_sc * a + 2.0 * f_cc * b) * c_v;
  w.by_qd = 2.0 * (f_s * s_v + f_c * c_v) + 2.0 * (f_ss * a + f_sc * b) * s_q + 2.0 * (f_sc * a + f_cc * b) * c_q;
  return w;
}

double CountedAngle::counted(double angle) const {
  constexpr double turn = 2.0 * std::numbers::pi;
  return angle + turn * std::nearbyint((reference_[0] - angle) / turn);
}

JointAngle::Derivatives CountedAngle::derivatives(const ConstVector& q) const {
  JointAngle::Derivatives d = angle_.derivatives(q);
  d.angle = counted(d.angle);
  return d;
}

VectorX CountedAngle::reference_at(const ConstVector& q) const {
  return VectorX::Constant(1, counted(angle_.angle(q)));
}

VectorX CountedAngle::reference_rates(const ConstVector& q, const ConstVector& qd) const {
  return VectorX::Constant(1, angle_.derivatives(q).gradient.dot(angle_.local(qd)));
}

GearEquation::GearEquation(const Joint& first, const Joint& second, int teeth_first, int teeth_second,
                           const ConstVector& q0)
    : teeth_(std::abs(static_cast<double>(teeth_second))) {
  wheels_.push_back({.angle = JointAngle(first), .factor = -static_cast<double>(teeth_first)});
  wheels_.push_back({.angle = JointAngle(second), .factor = static_cast<double>(teeth_second)});
  constant_ = rotated(q0);
}

double GearEquation::rotated(const ConstVector& q) const {
  double sum = 0.0;
  for (const auto& wheel : wheels_) sum += wheel.factor * wheel.angle.angle(q);
  return sum;
}

double GearEquation::residual(double /*t*/, const ConstVector& q) const {
  // Both angles have a jump of 2 pi, hence their sum one of 2 pi times a whole number of teeth, which the remainder
  // removes. The division gives an angle of the second wheel, so that the tolerances apply as to other constraints.
  return std::remainder(rotated(q) - constant_, 2.0 * std::numbers::pi) / teeth_;
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
