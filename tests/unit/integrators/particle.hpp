/// A particle of mass 1 in the plane, free or on the unit circle, with the motion in closed form and all parts of a
/// Problem.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::test {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::VectorXd;

class Particle final : public mbs::Problem {
 public:
  /// Force [N] and its derivative [N/m] with respect to the position.
  std::function<Vector2d(const Vector2d&)> force = [](const Vector2d&) { return Vector2d(0.0, 0.0); };
  std::function<Matrix2d(const Vector2d&)> stiffness = [](const Vector2d&) { return Matrix2d(Matrix2d::Zero()); };
  bool on_circle = false;
  /// Each a function of time and state {x, y, vx, vy}.
  std::vector<std::function<double(double, const VectorXd&)>> watched;
  /// Called before every evaluation of the motion; may throw.
  std::function<void(double)> before_evaluation = [](double) {};

  [[nodiscard]] int size() const override { return 4; }
  [[nodiscard]] int n_positions() const override { return 2; }
  void rhs(double t, const ConstRef& y, MutableRef yd) override { stabilized_rhs(t, y, 0.0, 0.0, yd); }
  void stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) override;
  /// One: the integral of vx, which is the displacement in x.
  [[nodiscard]] int n_quadratures() const override { return 1; }
  void quadrature_rhs(double t, const ConstRef& y, MutableRef integrands) override;
  void project(double t, MutableRef y) override;
  void linearize(double t, const ConstRef& y) override;
  void factor_newton(double gamma) override;
  void solve_newton(MutableRef b) override;
  [[nodiscard]] int n_multipliers() const override { return on_circle ? 1 : 0; }
  void multipliers(double t, const ConstRef& y, MutableRef lambda) override;
  void index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) override;
  void factor_index2(double t, const ConstRef& x, double c) override;
  void solve_index2(MutableRef b) override;
  [[nodiscard]] int n_roots() const override { return static_cast<int>(watched.size()); }
  void roots(double t, const ConstRef& y, MutableRef values) override;

 private:
  /// Multiplier of the circle at the accelerations of (q, v).
  [[nodiscard]] double multiplier(const Vector2d& q, const Vector2d& v, double alpha, double beta) const;

  Eigen::Matrix4d J_;
  Eigen::PartialPivLU<Eigen::Matrix4d> newton_;
  Eigen::PartialPivLU<Eigen::MatrixXd> index2_;
};

/// A motion with its exact solution.
struct KnownMotion {
  std::unique_ptr<Particle> particle;
  std::function<VectorXd(double)> exact;  ///< {x, y, vx, vy}
};

/// Thrown at (0, 0) with (1, 2) m/s in gravity of 9.81 m/s^2 along -y.
[[nodiscard]] KnownMotion free_flight();
/// On the circle with the tangential force -omega^2 phi, omega = 3 rad/s: phi = 0.8 cos(omega t), exactly harmonic.
[[nodiscard]] KnownMotion oscillator_on_circle();
inline constexpr double oscillator_omega = 3.0;

/// The scenario's default for the method, with the fixed step given or a relative tolerance.
[[nodiscard]] IntegratorSpec spec_of(const mbs::IntegratorEntry& entry, double rtol = 1e-9, double step = 1e-3);

}  // namespace heelstrike::test
