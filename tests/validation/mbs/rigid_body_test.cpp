// One body about a fixed point, and a driven four-bar linkage, to 1e-8 of independent integrations and balances.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using Vector2 = Eigen::Vector2d;
using Vector3l = Eigen::Matrix<long double, 3, 1>;
using Vector7l = Eigen::Matrix<long double, 7, 1>;

/// Euler's equations about a fixed point in body axes and the quaternion (w, x, y, z) of the body, in extended
/// precision.
struct EulerBody {
  Vector3l inertia;         // about the fixed point
  Vector3l weight_arm;      // centre of mass times mass, body axes
  long double gravity = 0;  // downwards along world z

  [[nodiscard]] Vector7l rates(const Vector7l& y) const {
    const Vector3l w = y.tail<3>();
    const Eigen::Quaternion<long double> q(y[0], y[1], y[2], y[3]);
    const Vector3l down = q.conjugate() * Vector3l(0, 0, -gravity);
    const Vector3l momentum = inertia.cwiseProduct(w);
    const Vector3l w_rate = (weight_arm.cross(down) - w.cross(momentum)).cwiseQuotient(inertia);
    const Eigen::Quaternion<long double> q_rate = q * Eigen::Quaternion<long double>(0, w[0] / 2, w[1] / 2, w[2] / 2);
    Vector7l rate;
    rate << q_rate.w(), q_rate.x(), q_rate.y(), q_rate.z(), w_rate;
    return rate;
  }
  [[nodiscard]] Vector7l advanced(Vector7l y, long double duration, int n_steps) const {
    const long double h = duration / n_steps;
    for (int i = 0; i < n_steps; ++i) {
      const Vector7l k1 = rates(y), k2 = rates(y + h / 2 * k1), k3 = rates(y + h / 2 * k2), k4 = rates(y + h * k3);
      y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    y.head<4>().normalize();
    return y;
  }
};

/// Largest entry of the difference of the rotations over all rows.
double rotation_error(const RecordedRun& run, const std::string& body, const EulerBody& reference, Vector7l y,
                      double interval, int n_steps) {
  const auto w = run.column(body + ".qw"), x = run.column(body + ".qx");
  const auto v = run.column(body + ".qy"), z = run.column(body + ".qz");
  double error = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (i > 0) y = reference.advanced(y, static_cast<long double>(interval), n_steps);
    const Eigen::Quaterniond expected(static_cast<double>(y[0]), static_cast<double>(y[1]), static_cast<double>(y[2]),
                                      static_cast<double>(y[3]));
    const Eigen::Quaterniond found(w[i], x[i], v[i], z[i]);
    error = std::max(error, (expected.toRotationMatrix() - found.toRotationMatrix()).cwiseAbs().maxCoeff());
  }
  return error;
}

struct RigidMethod {
  const char* name;
  double rtol;
  double limit;
};

void compare_rotation(const char* title, const std::string& yaml, const std::string& body, const EulerBody& reference,
                      const Vector7l& start, double interval, std::initializer_list<RigidMethod> methods) {
  for (const RigidMethod& method : methods) {
    const auto run = run_local(scenario_from(yaml, {fmt::format("analysis.integrator.name={}", method.name),
                                                    fmt::format("analysis.integrator.rtol={}", method.rtol),
                                                    fmt::format("analysis.integrator.atol={}", 0.01 * method.rtol)}));
    ASSERT_EQ(run.summary.status, "completed") << method.name << ": " << run.summary.error->what();
    const double error = rotation_error(run, body, reference, start, interval, 500);
    fmt::print("{:18} {:13} rtol {:7.0e}  steps {:6}  largest error of the rotation {:8.1e}  |Phi| {:8.1e}\n", title,
               method.name, method.rtol, run.summary.integrator.steps, error, run.summary.max_position_violation);
    EXPECT_LT(error, method.limit) << title << " " << method.name;
    EXPECT_LT(run.summary.max_position_violation, 1e-10) << method.name;
    EXPECT_LT(run.summary.max_velocity_violation, 1e-8) << method.name;
  }
}

TEST(RigidBody, TorqueFreeMatchesEulersEquations) {
  const std::string yaml = R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  box: {mass: 2.0, inertia: [0.3, 0.2, 0.1], angular_velocity: [0.1, 5.0, 0.1]}
analysis: {end_time: 10, integrator: {rtol: 1.0e-12}}
output: {interval: 0.05, steps: none}
)";
  const EulerBody reference{.inertia = Vector3l(0.3L, 0.2L, 0.1L), .weight_arm = Vector3l::Zero()};
  Vector7l start;
  start << 1, 0, 0, 0, 0.1L, 5.0L, 0.1L;
  // It flips about its middle axis repeatedly: each time the error of the phase is magnified.
  // The Runge-Kutta methods reach 1e-8; the multistep formulas lose several digits to the rounding of their many steps.
  compare_rotation("torque-free body", yaml, "box", reference, start, 0.05,
                   {{"arkode_erk", 1e-12, 1e-8},
                    {"arkode_dirk", 1e-12, 1e-8},
                    {"cvode_index1", 1e-13, 5e-7},
                    {"ida_ggl", 1e-13, 2e-7}});
}

TEST(RigidBody, HeavyTopMatchesEulersEquations) {
  // 0.5 rad off the vertical, 50 rad/s about its axis: slow precession with nutation.
  const std::string yaml = fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  top:
    mass: 1
    center_of_mass: [0, 0, 0.2]
    inertia: [0.02, 0.02, 0.01]
    orientation: [{:.17g}, {:.17g}, 0, 0]
    angular_velocity: [0, {:.17g}, {:.17g}]
joints:
  tip: {{type: spherical, bodies: [ground, top], point: [0, 0, 0]}}
analysis: {{end_time: 2, integrator: {{rtol: 1.0e-12}}}}
output: {{interval: 0.01, steps: none}}
)",
                                       std::cos(0.25), std::sin(0.25), -50.0 * std::sin(0.5), 50.0 * std::cos(0.5));
  const EulerBody reference{
      .inertia = Vector3l(0.06L, 0.06L, 0.01L), .weight_arm = Vector3l(0, 0, 0.2L), .gravity = 9.81L};
  Vector7l start;
  start << std::cos(0.25L), std::sin(0.25L), 0, 0, 0, 0, 50.0L;
  compare_rotation("heavy top", yaml, "top", reference, start, 0.01,
                   {{"arkode_erk", 1e-12, 1e-8},
                    {"arkode_dirk", 1e-12, 1e-8},
                    {"cvode_index1", 1e-13, 2e-7},
                    {"ida_ggl", 1e-10, 2e-5}});
}

double cross(const Vector2& a, const Vector2& b) {
  return a.x() * b.y() - a.y() * b.x();
}
Vector2 direction(double angle) {
  return {std::cos(angle), std::sin(angle)};
}
Vector2 normal(double angle) {
  return {-std::sin(angle), std::cos(angle)};
}

/// Crank AB rotating at constant velocity, coupler BC, rocker DC; masses at the middle of uniform links, 2 kg per
/// metre.
struct FourBar {
  static constexpr double crank = 0.5, coupler = 1.5, rocker = 1.2, base = 1.6, speed = 4.0, start = 1.0;
  static constexpr double mass(double length) { return 2.0 * length; }
  static constexpr double inertia(double length) { return mass(length) * length * length / 12.0; }

  double angles[3] = {}, rates[3] = {}, accelerations[3] = {};
  Vector2 A{0.0, 0.0}, B, C, D{base, 0.0};

  explicit FourBar(double t) {
    angles[0] = start + speed * t;
    rates[0] = speed;
    B = crank * direction(angles[0]);
    // Two circles meet in C, above the line BD.
    const Vector2 BD = D - B;
    const double d = BD.norm();
    const double along = (d * d + coupler * coupler - rocker * rocker) / (2.0 * d);
    C = B + along / d * BD + std::sqrt(coupler * coupler - along * along) / d * Vector2(-BD.y(), BD.x());
    angles[1] = std::atan2(C.y() - B.y(), C.x() - B.x());
    angles[2] = std::atan2(C.y() - D.y(), C.x() - D.x());
    Eigen::Matrix2d M;
    M << coupler * normal(angles[1]), -rocker * normal(angles[2]);
    const Vector2 w = M.partialPivLu().solve(-crank * speed * normal(angles[0]));
    rates[1] = w[0];
    rates[2] = w[1];
    const Vector2 a = M.partialPivLu().solve(crank * speed * speed * direction(angles[0]) +
                                             coupler * w[0] * w[0] * direction(angles[1]) -
                                             rocker * w[1] * w[1] * direction(angles[2]));
    accelerations[1] = a[0];
    accelerations[2] = a[1];
  }

  /// Forces at A on the crank, B on the coupler, C on the rocker, D on the rocker.
  [[nodiscard]] std::array<Vector2, 4> reactions() const {
    const Vector2 g(0.0, -9.81);
    const auto at = [](double r, double angle, double rate, double acceleration) -> Vector2 {
      return r * (acceleration * normal(angle) - rate * rate * direction(angle));
    };
    const Vector2 a1 = at(0.5 * crank, angles[0], rates[0], 0.0);
    const Vector2 a2 = at(crank, angles[0], rates[0], 0.0) + at(0.5 * coupler, angles[1], rates[1], accelerations[1]);
    const Vector2 a3 = at(0.5 * rocker, angles[2], rates[2], accelerations[2]);
    const Vector2 half = 0.5 * (C - B);
    const Vector2 DC = C - D;
    // F_B - F_C = m (a - g); moments of the coupler about its middle, of the rocker about D.
    Eigen::Matrix4d M = Eigen::Matrix4d::Zero();
    M.block<2, 2>(0, 0).setIdentity();
    M.block<2, 2>(0, 2) = -Eigen::Matrix2d::Identity();
    M.row(2) << half.y(), -half.x(), half.y(), -half.x();
    M.row(3) << 0.0, 0.0, -DC.y(), DC.x();
    Eigen::Vector4d b;
    b << mass(coupler) * (a2 - g), inertia(coupler) * accelerations[1],
        mass(rocker) * rocker * rocker / 3.0 * accelerations[2] - cross(0.5 * DC, mass(rocker) * g);
    const Eigen::Vector4d F = M.partialPivLu().solve(b);
    const Vector2 F_B = F.head<2>(), F_C = F.tail<2>();
    return {mass(crank) * (a1 - g) + F_B, F_B, F_C, mass(rocker) * (a3 - g) - F_C};
  }
};

std::string four_bar_yaml() {
  const FourBar start(0.0);
  const auto link = [](const char* name, double length, const Vector2& from, double angle) {
    const Vector2 p = from + 0.5 * length * direction(angle);
    const double J = FourBar::inertia(length);
    return fmt::format(
        "  {}: {{mass: {:.17g}, inertia: [{:.17g}, {:.17g}, {:.17g}], position: [{:.17g}, {:.17g}, 0], orientation: "
        "[{:.17g}, 0, 0, {:.17g}]}}\n",
        name, FourBar::mass(length), 0.1 * J, J, J, p.x(), p.y(), std::cos(0.5 * angle), std::sin(0.5 * angle));
  };
  const auto pin = [](const char* name, const char* bodies, const Vector2& p) {
    return fmt::format(
        "  {}: {{type: revolute, bodies: [{}], point: [{:.17g}, {:.17g}, 0], axis: [0, 0, 1], reactions: true}}\n",
        name, bodies, p.x(), p.y());
  };
  return "heelstrike: 1\ngravity: [0, -9.81, 0]\nbodies:\n" + link("crank", FourBar::crank, start.A, start.angles[0]) +
         link("coupler", FourBar::coupler, start.B, start.angles[1]) +
         link("rocker", FourBar::rocker, start.D, start.angles[2]) + "joints:\n" + pin("A", "ground, crank", start.A) +
         pin("B", "crank, coupler", start.B) + pin("C", "coupler, rocker", start.C) +
         pin("D", "ground, rocker", start.D) +
         "drivers:\n  motor: {joint: A, angle: {polynomial: [0, 4]}}\n"
         "analysis: {end_time: 2, integrator: {name: arkode_erk, rtol: 1.0e-11, atol: 1.0e-13}}\n"
         "output: {interval: 0.01, steps: none}\n";
}

TEST(RigidBody, FourBarReactionsMatchNewtonEuler) {
  for (const auto* analysis : {"forward", "inverse"}) {
    const auto run = run_local(scenario_from(four_bar_yaml(), {fmt::format("analysis.type={}", analysis)}));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    const auto t = run.column("time_s");
    double error = 0.0, largest = 0.0;
    const char* pins[] = {"A", "B", "C", "D"};
    for (int k = 0; k < 4; ++k) {
      const auto fx = run.column(fmt::format("{}.fx_N", pins[k]));
      const auto fy = run.column(fmt::format("{}.fy_N", pins[k]));
      for (std::size_t i = 0; i < t.size(); ++i) {
        const Vector2 expected = FourBar(t[i]).reactions()[static_cast<std::size_t>(k)];
        error = std::max(error, (Vector2(fx[i], fy[i]) - expected).norm());
        largest = std::max(largest, expected.norm());
      }
    }
    fmt::print("four-bar {:8} largest error of a reaction {:.1e} N of {:.1f} N, {} rows\n", analysis, error, largest,
               t.size());
    EXPECT_GT(t.size(), 190U);
    EXPECT_LT(error, 1e-8 * largest) << analysis;
  }
}

}  // namespace
}  // namespace heelstrike::test
