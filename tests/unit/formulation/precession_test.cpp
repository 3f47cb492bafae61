// Torque-free rotation of an asymmetric body, compared with Euler's solution in Jacobi elliptic functions (Landau and
// Lifshitz, Mechanics, section 37).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

struct Elliptic {
  double sn, cn, dn;
};

/// Jacobi elliptic functions by the descending Landen (arithmetic-geometric mean) sequence; m = k^2.
Elliptic jacobi(double u, double m) {
  double a[16] = {1.0};
  double c[16] = {std::sqrt(m)};
  double b = std::sqrt(1.0 - m);
  int n = 0;
  while (std::abs(c[n]) > 1e-17 && n < 15) {
    a[n + 1] = 0.5 * (a[n] + b);
    c[n + 1] = 0.5 * (a[n] - b);
    b = std::sqrt(a[n] * b);
    ++n;
  }
  double phi = std::ldexp(a[n] * u, n);
  for (; n > 0; --n) {
    phi = 0.5 * (phi + std::asin(c[n] * std::sin(phi) / a[n]));
  }
  return {std::sin(phi), std::cos(phi), std::sqrt(1.0 - m * std::sin(phi) * std::sin(phi))};
}

constexpr double I1 = 0.02;
constexpr double I2 = 0.03;
constexpr double I3 = 0.04;

Vector3 euler_solution(double t, double w1, double w3) {
  const double twice_energy = I1 * w1 * w1 + I3 * w3 * w3;
  const double momentum2 = I1 * I1 * w1 * w1 + I3 * I3 * w3 * w3;
  const double rate = std::sqrt((I3 - I2) * (momentum2 - twice_energy * I1) / (I1 * I2 * I3));
  const double m = (I2 - I1) * (twice_energy * I3 - momentum2) / ((I3 - I2) * (momentum2 - twice_energy * I1));
  const Elliptic e = jacobi(rate * t, m);
  const double amplitude2 = std::sqrt((twice_energy * I3 - momentum2) / (I2 * (I3 - I2)));
  return {w1 * e.cn, amplitude2 * e.sn, w3 * e.dn};
}

TEST(Precession, TorqueFreeAsymmetricBodyFollowsEulersSolution) {
  const double w1 = 2.0;
  const double w3 = 5.0;
  const auto run = run_local(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  body: {mass: 2.0, inertia: [0.02, 0.03, 0.04], angular_velocity: [2.0, 0, 5.0]}
analysis: {end_time: 2.0, integrator: {rtol: 1.0e-11, atol: 1.0e-13}}
output: {interval: 0.05}
)"));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  double worst = 0.0;
  const auto t = run.column("time_s");
  for (std::size_t i = 0; i < t.size(); ++i) {
    const Quaternion q(run.column("body.qw")[i], run.column("body.qx")[i], run.column("body.qy")[i],
                       run.column("body.qz")[i]);
    const Vector3 w_W(run.column("body.wx_rad_s")[i], run.column("body.wy_rad_s")[i], run.column("body.wz_rad_s")[i]);
    worst = std::max(worst, (q.toRotationMatrix().transpose() * w_W - euler_solution(t[i], w1, w3)).norm());
  }
  fmt::print(
      "largest error of the angular velocity over 2 s: {:.2e} rad/s of 5; steps {}; constraints {:.1e}, {:.1e}\n",
      worst, run.summary.integrator.steps, run.summary.max_position_violation, run.summary.max_velocity_violation);
  // Global error of a method with local tolerance 1e-11 over about a thousand steps.
  EXPECT_LT(worst, 1e-8 * 5.0);
  EXPECT_LT(run.summary.max_position_violation, 1e-12);
}

}  // namespace
}  // namespace heelstrike::test
