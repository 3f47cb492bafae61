#include "tests/unit/integrators/particle.hpp"

#include <cmath>

namespace heelstrike::test {

double Particle::multiplier(const Vector2d& q, const Vector2d& v, double alpha, double beta) const {
  // q . (f - q lambda) = gamma for Phi = (q . q - 1) / 2.
  const double gamma = -v.dot(v) - 2.0 * alpha * q.dot(v) - beta * beta * 0.5 * (q.dot(q) - 1.0);
  return (q.dot(force(q)) - gamma) / q.dot(q);
}

void Particle::stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) {
  before_evaluation(t);
  const Vector2d q = y.head<2>();
  const Vector2d v = y.tail<2>();
  yd.head<2>() = v;
  yd.tail<2>() = force(q);
  if (on_circle) yd.tail<2>() -= q * multiplier(q, v, alpha, beta);
}

void Particle::quadrature_rhs(double /*t*/, const ConstRef& y, MutableRef integrands) {
  integrands[0] = y[2];
}

void Particle::project(double /*t*/, MutableRef y) {
  if (!on_circle) return;
  y.head<2>().normalize();
  const Vector2d normal = y.head<2>();
  y.tail<2>() -= normal * normal.dot(y.tail<2>());
}

void Particle::linearize(double t, const ConstRef& y) {
  before_evaluation(t);
  const Vector2d q = y.head<2>();
  const Vector2d v = y.tail<2>();
  J_.setZero();
  J_.topRightCorner<2, 2>().setIdentity();
  J_.bottomLeftCorner<2, 2>() = stiffness(q);
  if (!on_circle) return;
  // lambda = (q . f + v . v) / (q . q).
  const double lambda = multiplier(q, v, 0.0, 0.0);
  const Vector2d lambda_q = (force(q) + stiffness(q).transpose() * q - 2.0 * lambda * q) / q.dot(q);
  J_.bottomLeftCorner<2, 2>() -= q * lambda_q.transpose() + lambda * Matrix2d::Identity();
  J_.bottomRightCorner<2, 2>() = -q * (2.0 / q.dot(q) * v).transpose();
}

void Particle::factor_newton(double gamma) {
  newton_.compute(Eigen::Matrix4d::Identity() - gamma * J_);
}

void Particle::solve_newton(MutableRef b) {
  const Eigen::Vector4d x = newton_.solve(Eigen::Vector4d(b));
  b = x;
}

void Particle::multipliers(double /*t*/, const ConstRef& y, MutableRef lambda) {
  if (on_circle) lambda[0] = multiplier(y.head<2>(), y.tail<2>(), 0.0, 0.0);
}

void Particle::index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) {
  before_evaluation(t);
  const Vector2d q = x.head<2>();
  const Vector2d v = x.segment<2>(2);
  r.head<2>() = xd.head<2>() - v;
  r.segment<2>(2) = xd.segment<2>(2) - force(q);
  if (!on_circle) return;
  r.head<2>() += q * x[5];
  r.segment<2>(2) += q * x[4];
  r[4] = 0.5 * (q.dot(q) - 1.0);
  r[5] = q.dot(v);
}

void Particle::factor_index2(double /*t*/, const ConstRef& x, double c) {
  const Vector2d q = x.head<2>();
  const Vector2d v = x.segment<2>(2);
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(x.size(), x.size());
  A.topLeftCorner<4, 4>() = c * Eigen::Matrix4d::Identity();
  A.block<2, 2>(0, 2) = -Matrix2d::Identity();
  A.block<2, 2>(2, 0) = -stiffness(q);
  if (on_circle) {
    A.block<2, 2>(0, 0) += x[5] * Matrix2d::Identity();
    A.block<2, 2>(2, 0) += x[4] * Matrix2d::Identity();
    A.block<2, 1>(0, 5) = q;
    A.block<2, 1>(2, 4) = q;
    A.block<1, 2>(4, 0) = q.transpose();
    A.block<1, 2>(5, 0) = v.transpose();
    A.block<1, 2>(5, 2) = q.transpose();
  }
  index2_.compute(A);
}

void Particle::solve_index2(MutableRef b) {
  const VectorXd x = index2_.solve(VectorXd(b));
  b = x;
}

void Particle::roots(double t, const ConstRef& y, MutableRef values) {
  for (std::size_t i = 0; i < watched.size(); ++i) values[static_cast<Eigen::Index>(i)] = watched[i](t, y);
}

KnownMotion free_flight() {
  constexpr double g = 9.81;
  auto particle = std::make_unique<Particle>();
  particle->force = [](const Vector2d&) { return Vector2d(0.0, -g); };
  return {.particle = std::move(particle),
          .exact = [](double t) { return VectorXd(Eigen::Vector4d(t, 2.0 * t - 0.5 * g * t * t, 1.0, 2.0 - g * t)); }};
}

KnownMotion oscillator_on_circle() {
  constexpr double omega2 = oscillator_omega * oscillator_omega;
  constexpr double amplitude = 0.8;
  auto particle = std::make_unique<Particle>();
  particle->on_circle = true;
  particle->force = [](const Vector2d& q) {
    return Vector2d(-omega2 * std::atan2(q.y(), q.x()) * Vector2d(-q.y(), q.x()));
  };
  particle->stiffness = [](const Vector2d& q) {
    const Vector2d rotated(-q.y(), q.x());
    Matrix2d rotation;
    rotation << 0.0, -1.0, 1.0, 0.0;
    return Matrix2d(-omega2 * (rotated * rotated.transpose() / q.dot(q) + std::atan2(q.y(), q.x()) * rotation));
  };
  return {.particle = std::move(particle), .exact = [](double t) {
            const double phi = amplitude * std::cos(oscillator_omega * t);
            const double rate = -amplitude * oscillator_omega * std::sin(oscillator_omega * t);
            return VectorXd(Eigen::Vector4d(std::cos(phi), std::sin(phi), -std::sin(phi) * rate, std::cos(phi) * rate));
          }};
}

IntegratorSpec spec_of(const mbs::IntegratorEntry& entry, double rtol, double step) {
  IntegratorSpec spec;
  spec.name = entry.name;
  spec.rtol = rtol;
  spec.atol = 1e-2 * rtol;
  if (entry.fixed_step) spec.step = step;
  return spec;
}

}  // namespace heelstrike::test
