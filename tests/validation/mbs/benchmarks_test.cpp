// Published multibody benchmarks, solved from the scenario files in examples/ and compared with references that do not
// use the code under test: closed forms, published digits, or a Runge-Kutta integration in minimal coordinates here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

std::string example(const std::string& name) {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/" + name + ".yaml");
}

template <std::size_t n>
using Values = std::array<double, n>;

/// Classical Runge-Kutta step of y' = f(t, y).
template <std::size_t n, typename F>
Values<n> rk4_step(const F& f, double t, const Values<n>& y, double h) {
  const auto along = [&](const Values<n>& k, double factor) {
    Values<n> moved = y;
    for (std::size_t i = 0; i < n; ++i) moved[i] += factor * k[i];
    return moved;
  };
  const auto k1 = f(t, y);
  const auto k2 = f(t + 0.5 * h, along(k1, 0.5 * h));
  const auto k3 = f(t + 0.5 * h, along(k2, 0.5 * h));
  const auto k4 = f(t + h, along(k3, h));
  Values<n> next = y;
  for (std::size_t i = 0; i < n; ++i) next[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
  return next;
}

/// Values at the regular times 0, interval, 2 interval, ... with `n_steps` steps in each interval.
template <std::size_t n, typename F>
std::vector<Values<n>> reference_rows(const F& f, Values<n> y, double interval, std::size_t n_rows, int n_steps) {
  std::vector<Values<n>> rows = {y};
  for (std::size_t row = 1; row < n_rows; ++row) {
    for (int i = 0; i < n_steps; ++i) {
      y = rk4_step<n>(f, interval * (static_cast<double>(row - 1) + static_cast<double>(i) / n_steps), y,
                      interval / n_steps);
    }
    rows.push_back(y);
  }
  return rows;
}

struct Quality {
  double energy = 0.0;  ///< largest error of the balance, relative to the peak kinetic energy
  double position = 0.0, velocity = 0.0;
};

Quality quality_of(const RecordedRun& run) {
  const auto kinetic = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  const auto dissipated = run.column("energy.dissipated_J");
  const auto external = run.column("energy.external_work_J");
  Quality quality{
      .energy = 0.0, .position = run.summary.max_position_violation, .velocity = run.summary.max_velocity_violation};
  for (std::size_t i = 0; i < kinetic.size(); ++i) {
    const double error =
        kinetic[i] + potential[i] + dissipated[i] - external[i] - kinetic[0] - potential[0] - dissipated[0];
    quality.energy = std::max(quality.energy, std::abs(error));
  }
  quality.energy /= *std::ranges::max_element(kinetic);
  return quality;
}

void print_head() {
  fmt::print("{:20} {:13} {:>7} {:>7} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8}\n", "problem", "integrator", "rtol",
             "steps", "rhs", "error", "energy", "|Phi|", "|Phid|", "wall s");
}

/// One problem with one integrator; fills the table and checks the common conditions.
struct Case {
  std::string problem;     ///< for the table
  std::string example;     ///< scenario file without folder and suffix
  std::string integrator;  ///< empty = the scenario's
  double rtol = 1e-8;
  double error_limit = 1e-6;
  double energy_limit = 1e-7;
};

RecordedRun solve(const Case& c, std::vector<std::string> overrides = {}) {
  if (!c.integrator.empty()) overrides.push_back("analysis.integrator.name=" + c.integrator);
  overrides.push_back(fmt::format("analysis.integrator.rtol={}", c.rtol));
  overrides.push_back(fmt::format("analysis.integrator.atol={}", 0.01 * c.rtol));
  auto run = run_local(scenario_from(example(c.example), overrides));
  EXPECT_EQ(run.summary.status, "completed")
      << c.problem << ": " << (run.summary.error ? run.summary.error->what() : "");
  return run;
}

void judge(const Case& c, const RecordedRun& run, double error) {
  const Quality quality = quality_of(run);
  const auto& s = run.summary.integrator;
  fmt::print("{:20} {:13} {:7.0e} {:7} {:8} {:10.1e} {:10.1e} {:10.1e} {:10.1e} {:8.2f}\n", c.problem, s.name, c.rtol,
             s.steps, s.rhs_evaluations, error, quality.energy, quality.position, quality.velocity,
             run.summary.wall_time);
  const std::string what = c.problem + " with " + s.name;
  EXPECT_LT(error, c.error_limit) << what;
  EXPECT_LT(quality.energy, c.energy_limit) << what;
  EXPECT_LT(quality.position, 1e-10) << what;
  EXPECT_LT(quality.velocity, 1e-8) << what;
}

/// Jacobi's sn(u, k), cn, dn by the arithmetic-geometric mean (Abramowitz and Stegun, 16.4).
std::array<double, 3> jacobi(double u, double k) {
  std::vector<double> a = {1.0}, c = {k};
  double b = std::sqrt(1.0 - k * k);
  while (std::abs(c.back()) > 1e-16) {
    const double mean = 0.5 * (a.back() + b);
    c.push_back(0.5 * (a.back() - b));
    b = std::sqrt(a.back() * b);
    a.push_back(mean);
  }
  double phi = std::ldexp(a.back() * u, static_cast<int>(a.size()) - 1);
  for (std::size_t n = a.size() - 1; n > 0; --n) phi = 0.5 * (phi + std::asin(c[n] / a[n] * std::sin(phi)));
  return {std::sin(phi), std::cos(phi), std::sqrt(1.0 - std::pow(k * std::sin(phi), 2))};
}

TEST(Benchmarks, A01SimplePendulum) {
  print_head();
  // Released at 90 degrees: sin(theta / 2) = k cd(w t, k), k = sin(45 deg), w^2 = g / (l + I / (m l)).
  const double k = std::sqrt(0.5);
  const double w = std::sqrt(9.81 / 1.01);
  for (const Case& c : {Case{"A01 pendulum", "simple_pendulum", "arkode_erk"},
                        {"A01 pendulum", "simple_pendulum", "arkode_dirk"},
                        {"A01 pendulum", "simple_pendulum", "cvode_index1", 1e-8, 1e-5, 1e-5},
                        {"A01 pendulum", "simple_pendulum", "ida_ggl", 1e-8, 1e-5, 1e-5},
                        // Errors of a dissipative formula have one sign: over 6000 steps they accumulate to 6000 rtol.
                        {"A01 pendulum", "simple_pendulum", "cvode_index1", 1e-11, 6e-8},
                        {"A01 pendulum", "simple_pendulum", "ida_ggl", 1e-11, 6e-8}}) {
    const auto run = solve(c);
    const auto t = run.column("time_s");
    const auto x = run.column("bob.x_m");
    const auto y = run.column("bob.y_m");
    double error = 0.0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const auto [sn, cn, dn] = jacobi(w * t[i], k);
      const double half = k * cn / dn;  // sin(theta / 2), theta from straight down
      error = std::max({error, std::abs(y[i] + 1.0 - 2.0 * half * half),
                        std::abs(x[i] + 2.0 * half * std::sqrt(1.0 - half * half))});
    }
    judge(c, run, error);
  }
}

TEST(Benchmarks, A02FourBars) {
  print_head();
  for (const int n : {2, 40}) {
    // Cranks rotate by theta from the top, couplers move without rotation: one degree of freedom.
    const double inertia = (n + 1) / 3.0 + n;
    const double weight = 9.81 * ((n + 1) / 2.0 + n);
    const auto motion = [&](double, const Values<2>& y) -> Values<2> {
      return {y[1], weight / inertia * std::sin(y[0])};
    };
    const auto rows = reference_rows<2>(motion, {0.0, 1.0}, 0.01, 1001, 20);
    const std::string name = n == 2 ? "four_bar_n" : "four_bar_40";
    // Each of the 14 crossings of the flat pose restarts from an extrapolated state: an error of the phase with little
    // effect on the energy.
    std::vector<Case> cases = {{fmt::format("A02 N = {}", n), name, "arkode_dirk", 1e-8, 2e-5}};
    if (n == 2) {
      cases.push_back({"A02 N = 2", name, "arkode_erk", 1e-8, 2e-5});
      cases.push_back({"A02 N = 2", name, "cvode_index1", 1e-8, 2e-4, 1e-6});
      cases.push_back({"A02 N = 2", name, "cvode_index1", 1e-10, 2e-5, 2e-7});
      cases.push_back({"A02 N = 2", name, "ida_ggl", 1e-8, 2e-4, 1e-6});
    }
    for (const Case& c : cases) {
      const auto run = solve(c);
      // The frame of the first coupler is in its middle: B0 half a metre to the left of it.
      const auto x = run.column("coupler0.x_m");
      const auto y = run.column("coupler0.y_m");
      ASSERT_GE(x.size(), rows.size());
      double error = 0.0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        error = std::max({error, std::abs(x[i] - 0.5 - std::sin(rows[i][0])), std::abs(y[i] - std::cos(rows[i][0]))});
      }
      judge(c, run, error);
    }
  }
}

TEST(Benchmarks, A04Bricard) {
  print_head();
  // No closed form and no published digits: the reference is the same model with another method at 1e-12.
  const Case tight{"A04 reference", "bricard", "arkode_dirk", 1e-12, 1.0, 1e-9};
  const auto reference = solve(tight);
  judge(tight, reference, 0.0);
  for (const Case& c : {Case{"A04 Bricard", "bricard", "arkode_erk"},
                        {"A04 Bricard", "bricard", "arkode_dirk"},
                        {"A04 Bricard", "bricard", "cvode_index1", 1e-10, 1e-5},
                        {"A04 Bricard", "bricard", "ida_ggl", 1e-10, 1e-5}}) {
    const auto run = solve(c);
    double error = 0.0;
    for (const char* name : {"rod3.x_m", "rod3.y_m", "rod3.z_m"}) {
      const auto values = run.column(name);
      const auto expected = reference.column(name);
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) error = std::max(error, std::abs(values[i] - expected[i]));
    }
    judge(c, run, error);
  }
}

/// Governor in the angle theta of the rods from straight down, its rate, and height and velocity of the slider; the
/// rotation follows from the angular momentum.
struct Governor {
  static constexpr double ball = 5.0, rod = 0.3, slider = 3.0, offset = 0.05, g = 9.81;
  static constexpr double stiffness = 8e5, damping = 4e4, rest = 0.5;
  static constexpr double mass = ball + rod;
  static constexpr double center = (0.5 * rod + ball) / mass;
  static constexpr double across =
      rod * (1.0 + 1e-4) / 12.0 + rod * (center - 0.5) * (center - 0.5) + ball * (1.0 - center) * (1.0 - center);
  static constexpr double along = 5e-6;

  static double rotational_inertia(double theta) {
    const double s = std::sin(theta), c = std::cos(theta);
    return 5e-6 + 0.005 + 2.0 * (across * s * s + along * c * c + mass * std::pow(offset + center * s, 2));
  }
  static double rotational_inertia_slope(double theta) {
    const double s = std::sin(theta), c = std::cos(theta);
    return 4.0 * ((across - along) * s * c + mass * (offset + center * s) * center * c);
  }
  static Values<4> rates(const Values<4>& y, double momentum) {
    const auto [theta, rate, height, speed] = y;
    const double s = std::sin(theta), c = std::cos(theta);
    const double dx = 0.5 * s, dy = 1.0 - 0.5 * c - height;  // from the slider's pin to the rod's middle
    const double length = std::hypot(dx, dy);
    const double stretch_rate = (dx * 0.5 * c * rate + dy * (0.5 * s * rate - speed)) / length;
    const double pull = stiffness * (length - rest) + damping * stretch_rate;
    const double spin = momentum / rotational_inertia(theta);
    const double torque = spin * spin * rotational_inertia_slope(theta) / 2.0 - 2.0 * mass * g * center * s -
                          2.0 * pull * (dx * 0.5 * c + dy * 0.5 * s) / length;
    return {rate, torque / (2.0 * (across + mass * center * center)), speed, 2.0 * pull * dy / length / slider - g};
  }
};

TEST(Benchmarks, A05Governor) {
  print_head();
  const double theta = std::numbers::pi / 3.0;
  const double momentum = 2.0 * std::numbers::pi * Governor::rotational_inertia(theta);
  // The dampers' rate is near 1e4 1/s: 5 us is well inside the stable steps.
  const auto rows = reference_rows<4>([&](double, const Values<4>& y) { return Governor::rates(y, momentum); },
                                      Values<4>{theta, 0.0, 0.5, 0.0}, 0.01, 1001, 2000);
  for (const Case& c : {Case{"A05 governor", "governor", "cvode_index1", 1e-8, 2e-5, 2e-5},
                        {"A05 governor", "governor", "cvode_index1", 1e-10, 1e-7, 1e-6},
                        {"A05 governor", "governor", "ida_ggl", 1e-8, 1e-5, 2e-5}}) {
    const auto run = solve(c);
    const auto height = run.column("slider.y_m");
    ASSERT_GE(height.size(), rows.size());
    double error = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) error = std::max(error, std::abs(height[i] - rows[i][2]));
    judge(c, run, error);
    for (const std::size_t i : {0U, 100U, 200U, 500U, 1000U}) {
      fmt::print("    s({:4.1f} s) = {:.8f} m, reference {:.8f} m\n", 0.01 * static_cast<double>(i), height[i],
                 rows[i][2]);
    }
  }
}

TEST(Benchmarks, CarAxis) {
  print_head();
  // Quadruple-precision digits of the test set at t = 3: positions and velocities of the two ends.
  constexpr double expected[] = {0.0493455784275402809122, 0.496989460230171153861,   1.04174252488542151681,
                                 0.373911027265361256927,  -0.0770583684040972357970, 0.00744686658723778553466,
                                 0.0175568157537232222276, 0.770341043779251976443};
  // Multipliers of the base's normal and of the axle: forces lambda_1 (x_b, y_b) and 2 lambda_2 (x_l - x_r, y_l - y_r).
  constexpr double multipliers[] = {-0.00473688659084893324729, -0.00110468033125734368808};
  for (const Case& c : {Case{"car axis", "car_axis", "arkode_erk", 1e-10, 1e-8, 1e-6},
                        {"car axis", "car_axis", "arkode_dirk", 1e-10, 1e-8, 1e-6},
                        {"car axis", "car_axis", "cvode_index1", 1e-10, 1e-6, 1e-5},
                        {"car axis", "car_axis", "ida_ggl", 1e-10, 1e-6, 1e-5}}) {
    const auto run = solve(c);
    double error = 0.0;
    int i = 0;
    for (const char* name : {"left.x_m", "left.y_m", "right.x_m", "right.y_m", "left.vx_m_s", "left.vy_m_s",
                             "right.vx_m_s", "right.vy_m_s"}) {
      error = std::max(error, std::abs(run.column(name).back() - expected[i++]));
    }
    judge(c, run, error);
    const double yb = 0.1 * std::sin(30.0), xb = std::sqrt(1.0 - yb * yb);
    const double first = run.column("normal.fx_N").back() * xb + run.column("normal.fy_N").back() * yb;
    // The axle's force is given on its second body, the right mass.
    const double second = (run.column("axle.fx_N").back() * (expected[2] - expected[0]) +
                           run.column("axle.fy_N").back() * (expected[3] - expected[1])) /
                          2.0;
    fmt::print("    multipliers {:.12f} {:.12f}, reference {:.12f} {:.12f}\n", first, second, multipliers[0],
               multipliers[1]);
    EXPECT_NEAR(first, multipliers[0], c.error_limit);
    EXPECT_NEAR(second, multipliers[1], c.error_limit);
  }
}

/// The SUNDIALS slider-crank in its crank angle and rate.
Values<2> slider_crank_rates(const Values<2>& y) {
  constexpr double a = 0.5;
  const double s1 = std::sin(y[0]), c1 = std::cos(y[0]);
  const double s2 = -a * s1, c2 = std::sqrt(1.0 - s2 * s2);
  const double dp = -a * c1 / c2;                   // d p / d q
  const double ddp = (a * s1 + s2 * dp * dp) / c2;  // from c2 p'' - s2 p'^2 = a s1
  const double dx = -s2 * dp - a * s1;
  const double ddx = -c2 * dp * dp - s2 * ddp - a * c1;
  const double x = c2 + a * c1;
  // Spring between the middle of the crank and the middle of the pinned half of the rod.
  const double ux = x - 0.5 * c2 - 0.5 * a * c1, uy = -0.5 * s2 - 0.5 * a * s1;
  const double dux = dx + 0.5 * s2 * dp + 0.5 * a * s1, duy = -0.5 * c2 * dp - 0.5 * a * c1;
  const double length = std::hypot(ux, uy);
  const double slope = (ux * dux + uy * duy) / length;
  const double pull = (length - 1.0) + slope * y[1];
  const double push = dx - s2 * dp;  // d / d q of x + cos p
  const double inertia = 1.0 + dx * dx + 2.0 * dp * dp;
  const double inertia_slope = 2.0 * dx * ddx + 4.0 * dp * ddp;
  return {y[1], (push - pull * slope - 0.5 * inertia_slope * y[1] * y[1]) / inertia};
}

TEST(Benchmarks, SundialsSliderCrank) {
  print_head();
  const auto rows = reference_rows<2>([](double, const Values<2>& y) { return slider_crank_rates(y); },
                                      {0.5 * std::numbers::pi, 0.0}, 0.25, 41, 1000);
  // The digits that the program of SUNDIALS prints at rtol = 1e-6.
  EXPECT_NEAR(rows.back()[0], 1.2757, 1e-4);
  // Balance of a damped system: it includes the error of the integral of the dissipated power.
  for (const Case& c : {Case{"IDA slider-crank", "slider_crank_ida", "ida_ggl", 1e-6, 1e-4, 1e-4},
                        {"IDA slider-crank", "slider_crank_ida", "ida_ggl", 1e-8, 1e-6, 1e-6},
                        {"IDA slider-crank", "slider_crank_ida", "cvode_index1", 1e-8, 1e-5, 1e-5},
                        {"IDA slider-crank", "slider_crank_ida", "arkode_erk", 1e-8, 1e-6, 1e-6},
                        {"IDA slider-crank", "slider_crank_ida", "arkode_dirk", 1e-8, 1e-6, 1e-5}}) {
    const auto run = solve(c);
    const auto x = run.column("rod.x_m");
    const auto qw = run.column("crank.qw");
    const auto qz = run.column("crank.qz");
    ASSERT_GE(x.size(), rows.size());
    double error = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double q = rows[i][0];
      error = std::max({error, std::abs(x[i] - 0.5 * std::cos(q) - std::sqrt(1.0 - std::pow(0.5 * std::sin(q), 2))),
                        std::abs(std::remainder(2.0 * std::atan2(qz[i], qw[i]) - q, 2.0 * std::numbers::pi))});
    }
    judge(c, run, error);
  }
}

}  // namespace
}  // namespace heelstrike::test
