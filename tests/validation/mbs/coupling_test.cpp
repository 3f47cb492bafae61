// Coupling schemes with macro steps, compared with closed forms and the tables of docs/theory/coupling.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/coupling_case.hpp"

namespace heelstrike::test {
namespace {

using Vector5 = Eigen::Matrix<double, 5, 1>;
using Matrix5 = Eigen::Matrix<double, 5, 5>;

/// Motion of u over a macro step under a contact force k (p0 + p1 t + p2 t^2) beyond equilibrium: exact.
/// @param t  [s] of the macro step at which the state is evaluated
std::array<double, 2> moved(const TwoMasses& masses, double u, double v, const std::array<double, 3>& p, double t) {
  Matrix5 A = Matrix5::Zero();  // of {u, u', f, f', f''}
  A(0, 1) = 1.0;
  A(1, 1) = -masses.damping;
  A(1, 2) = -masses.omega2();
  A(2, 3) = A(3, 4) = 1.0;
  Vector5 y;
  y << u, v, p[0], p[1], 2.0 * p[2];
  Vector5 end = y, term = y;  // the exponential series, for omega t of the order of 1
  for (int k = 1; k <= 40; ++k) end += term = (A * term * (t / k)).eval();
  return {end[0], end[1]};
}

/// One macro step of an explicit scheme as a linear map of {u, v, f_n, f_(n-1), f_(n-2), v_(n-1), v_(n-2)}, where f is
/// the partner's response over k.
using MapState = Eigen::Matrix<double, 7, 1>;

MapState macro_map(const TwoMasses& masses, bool predicts, int degree, double H, const MapState& s) {
  const double f0 = s[2], f1 = s[3], f2 = s[4];
  std::array<double, 3> p{f0, 0.0, 0.0};
  if (degree == 1) p[1] = (f0 - f1) / H;
  if (degree == 2) {
    p[1] = (1.5 * f0 - 2.0 * f1 + 0.5 * f2) / H;
    p[2] = (0.5 * f0 - f1 + 0.5 * f2) / (H * H);
  }
  const auto [u, v] = moved(masses, s[0], s[1], p, H);
  // Adams and Bashforth, from the velocities at the exchanges.
  double predicted = s[0] + H * s[1];
  if (degree == 1) predicted = s[0] + H * (1.5 * s[1] - 0.5 * s[5]);
  if (degree == 2) predicted = s[0] + H * (23.0 * s[1] - 16.0 * s[5] + 5.0 * s[6]) / 12.0;
  MapState next;
  next << u, v, predicts ? predicted : u, f0, f1, s[1], s[5];
  return next;
}

double spectral_radius(const TwoMasses& masses, bool predicts, int degree, double H) {
  Eigen::Matrix<double, 7, 7> M;
  for (int i = 0; i < 7; ++i) M.col(i) = macro_map(masses, predicts, degree, H, MapState::Unit(i));
  return M.eigenvalues().cwiseAbs().maxCoeff();
}

/// [s] The first macro step at which the spectral radius passes 1.
double limit_of(const TwoMasses& masses, bool predicts, int degree) {
  double below = 1e-4, above = 1e-4;
  while (spectral_radius(masses, predicts, degree, above) <= 1.0) above *= 1.05;
  below = above / 1.05;
  while (above - below > 1e-12) {
    const double middle = 0.5 * (below + above);
    (spectral_radius(masses, predicts, degree, middle) <= 1.0 ? below : above) = middle;
  }
  return below;
}

struct Motion {
  std::vector<double> u, v;  ///< at the exchanges
  CouplingStatistics statistics;
};

/// @param n  macro steps
Motion run_masses(const TwoMasses& masses, const std::string& coupling, double H, int n) {
  const auto input = coupling_input(masses.yaml(coupling, H * n, H / 16.0));
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  Motion motion;
  for (int i = 0; i <= n; ++i) {
    EXPECT_TRUE(simulation.advance_to(std::min(H * i, simulation.end_time())));
    motion.u.push_back(masses.u(simulation));
    motion.v.push_back(TwoMasses::rate(simulation));
  }
  motion.statistics = *simulation.model().scheme().statistics();
  return motion;
}

std::string section(const char* scheme, const std::string& extrapolation, double H, const std::string& more = {}) {
  return fmt::format("{{scheme: {}, macro_step: {}, extrapolation: {}{}}}", scheme, H, extrapolation, more);
}

/// [-] Order from the errors of two runs whose macro steps differ by a factor of two.
double order(double coarse, double fine) {
  return std::log2(coarse / fine);
}

TEST(CouplingSchemes, OrderOfConvergenceOfTheTwoMassOscillator) {
  const TwoMasses masses;  // 30 rad/s
  const double T = 0.2;    // about a period
  const double exact = masses.start * std::cos(std::sqrt(masses.omega2()) * T);
  struct Case {
    const char* scheme;
    std::string extrapolation, more;
    int order;
  };
  const std::vector<Case> cases = {
      {"gauss_seidel", "0", "", 1},
      {"gauss_seidel", "1", "", 2},
      {"gauss_seidel", "2", "", 3},
      {"jacobi", "0", "", 1},
      {"jacobi", "1", "", 2},
      {"jacobi", "2", "", 3},
      {"implicit", "1", ", relative_tolerance: 1e-13, force_tolerance: 1e-13", 2},
      {"implicit", "1", ", relative_tolerance: 1e-13, force_tolerance: 1e-13, interpolation: quadratic, substeps: 2",
       4}};
  fmt::print("{:13} {:13} {:>10} {:>10} {:>10} {:>7} {:>7}\n", "scheme", "extrapolation", "H = T/50", "T/100", "T/200",
             "order", "order");
  for (const Case& c : cases) {
    std::array<double, 3> errors{};
    for (int i = 0; i < 3; ++i) {
      const int n = 50 << i;
      const Motion motion = run_masses(masses, section(c.scheme, c.extrapolation, T / n, c.more), T / n, n);
      errors[static_cast<std::size_t>(i)] = std::abs(motion.u.back() - exact) / masses.start;
    }
    fmt::print("{:13} {:13} {:10.2e} {:10.2e} {:10.2e} {:7.3f} {:7.3f}\n", c.scheme, c.extrapolation, errors[0],
               errors[1], errors[2], order(errors[0], errors[1]), order(errors[1], errors[2]));
    // The next term of the error is smaller by omega H, 0.03 at T / 200; its factor is that of the started formula.
    EXPECT_NEAR(order(errors[1], errors[2]), c.order, 0.15) << c.scheme << ' ' << c.extrapolation;
  }
  // The law is linear: its tangent is exact at any macro step, also where the partner evaluated a predicted state. The
  // remaining error is that of 160 Runge-Kutta steps, (omega h)^5 / 120 of the motion each.
  for (const char* scheme : {"gauss_seidel", "jacobi"}) {
    const Motion motion = run_masses(masses, section(scheme, "tangent", T / 10), T / 10, 10);
    EXPECT_NEAR(motion.u.back(), exact,
                masses.start * 160.0 * std::pow(std::sqrt(masses.omega2()) * T / 160, 5.0) / 120.0)
        << scheme;
  }
}

TEST(CouplingSchemes, StabilityLimitOfTheTwoMassOscillatorFollowsTheory) {
  TwoMasses masses;
  masses.damping = 6.0;
  masses.start = 1e-7;  // so small that growth does not separate the bodies, 10 mm pressed together
  fmt::print("{:13} {:13} {:>12} {:>14} {:>14}\n", "scheme", "extrapolation", "limit s", "growth, 0.97",
             "growth, 1.03");
  for (const bool predicts : {false, true}) {
    for (const int degree : {0, 1, 2}) {
      const char* scheme = predicts ? "jacobi" : "gauss_seidel";
      const double limit = limit_of(masses, predicts, degree);
      std::array<double, 2> growth{};
      for (int side = 0; side < 2; ++side) {
        const double H = (side == 0 ? 0.97 : 1.03) * limit;
        constexpr int n = 160;
        const Motion motion = run_masses(masses, section(scheme, fmt::to_string(degree), H), H, n);
        // The map, with the short histories of the start: there the implementation begins with lower degrees.
        MapState s = MapState::Zero();
        s[0] = s[2] = masses.start;
        double worst = 0.0, size = 0.0;
        for (int i = 1; i <= n; ++i) {
          s = macro_map(masses, predicts, std::min(degree, i - 1), H, s);
          worst = std::max(worst, std::abs(s[0] - motion.u[static_cast<std::size_t>(i)]));
          size = std::max(size, std::abs(s[0]));
        }
        // Error of the Runge-Kutta steps: 16 per macro step, each (omega h)^5 / 120 of the motion.
        const double h = H / 16.0;
        const double accuracy = n * 16.0 * std::pow(std::sqrt(masses.omega2()) * h + masses.damping * h, 5.0) / 120.0;
        EXPECT_LT(worst, size * accuracy + 1e-15) << scheme << ' ' << degree;
        const auto peak = [&](int from, int to) {
          double most = 0.0;
          for (int i = from; i < to; ++i) most = std::max(most, std::abs(motion.u[static_cast<std::size_t>(i)]));
          return most;
        };
        growth[static_cast<std::size_t>(side)] = peak(n - 40, n) / peak(40, 80);
      }
      fmt::print("{:13} {:13} {:12.6f} {:14.4f} {:14.4f}\n", scheme, degree, limit, growth[0], growth[1]);
      EXPECT_LT(growth[0], 1.0) << scheme << ' ' << degree;
      EXPECT_GT(growth[1], 1.0) << scheme << ' ' << degree;
    }
  }
}

TEST(CouplingSchemes, StabilityLimitOfConstantForcesInClosedForm) {
  TwoMasses masses;
  masses.damping = 6.0;
  // docs/theory/coupling.md: the determinant of the map of {u, v} passes 1.
  const double a = masses.damping, g = masses.omega2();
  const auto determinant = [&](double H) {
    const double e = std::exp(-a * H), b = (1.0 - e) / a;
    return e * (1.0 - g * (H - b) / a) + g * b * b;
  };
  const double limit = limit_of(masses, false, 0);
  EXPECT_NEAR(determinant(limit), 1.0, 1e-9);  // bisected to 1e-12 s, slope about 10 / s
  fmt::print("held forces: limit {:.6f} s, of small macro steps 2 a / omega^2 = {:.6f} s\n", limit, 2.0 * a / g);
}

TEST(CouplingSchemes, StepControlBoundsTheDriftOfEnergy) {
  const TwoMasses masses;
  const double omega = std::sqrt(masses.omega2());
  const double energy = 0.5 * masses.stiffness * masses.start * masses.start;
  const double tolerance = 1e-5 * energy;  // [J]
  const double H = 1e-3;
  constexpr int n = 400;
  const auto energy_of = [&](double u, double v) {
    return 0.5 * masses.stiffness * u * u + 0.5 * masses.reduced_mass() * v * v;
  };
  fmt::print("energy over that of the start, less 1\n{:8} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "t s", "held",
             "linear", "held, ctrl", "linear, ctrl", "tangent");
  const std::string control = fmt::format(", step_control: {{energy_tolerance: {}}}", tolerance);
  std::vector<Motion> runs;
  for (const char* extrapolation : {"0", "1"}) {
    runs.push_back(run_masses(masses, section("gauss_seidel", extrapolation, H), H, n));
  }
  for (const char* extrapolation : {"0", "1"}) {
    runs.push_back(run_masses(masses, section("gauss_seidel", extrapolation, H, control), H, n));
  }
  runs.push_back(run_masses(masses, section("gauss_seidel", "tangent", H), H, n));
  const auto drift = [&](const Motion& motion, int i) {
    const auto k = static_cast<std::size_t>(i);
    return energy_of(motion.u[k], motion.v[k]) / energy - 1.0;
  };
  for (int i = 0; i <= n; i += n / 8) {
    fmt::print("{:8.3f}", H * i);
    for (const Motion& run : runs) fmt::print(" {:12.4e}", drift(run, i));
    fmt::print("\n");
  }
  // Constant forces create energy without bound, e^(omega^2 H t / 2) (docs/theory/coupling.md). The energy of the exact
  // motion differs from the invariant of the map: by fractions omega H over a period.
  const double created = std::log1p(drift(runs[0], n));
  EXPECT_NEAR(created, 0.5 * omega * omega * H * H * n, omega * H);
  for (const int controlled : {2, 3}) {
    const Motion& run = runs[static_cast<std::size_t>(controlled)];
    fmt::print("with control: {} exchanges, {} macro steps repeated\n", run.statistics.exchanges,
               run.statistics.rejected_macro_steps);
    // No more than the tolerance per macro step; the estimate is accurate to the next order in omega H.
    EXPECT_LT(std::abs(drift(run, n)) * energy,
              tolerance * static_cast<double>(run.statistics.exchanges) * (1.0 + omega * H));
  }
  EXPECT_LT(std::abs(drift(runs[2], n)), 0.2 * drift(runs[0], n)) << "else the control would have done nothing";
}

/// A ball at onset, with Flores' law.
struct Impact {
  double restitution, deepest;
};

Impact frozen_impact(double H, double c_r) {
  const double speed = std::sqrt(2.0 * 9.81 * 0.9);
  const auto input = coupling_input(fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {{mass: 1, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.1], velocity: [0, 0, -{}]}}
contact:
  ball-ground:
    main: {{body: ball, surface: {{sphere: {{radius: 0.1}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: flores
    parameters: {{stiffness: 1.4e8, exponent: 1.5, restitution: {}}}
coupling: {{scheme: gauss_seidel, macro_step: {}}}
analysis: {{end_time: 3.0e-3, integrator: {{name: rk4, step: {}}}}}
output: {{interval: 1.0e-3}}
)yaml",
                                                speed, c_r, H, H));
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  double v = -speed;
  Impact impact{.restitution = 0.0, .deepest = 0.0};
  for (int i = 1; H * i <= simulation.end_time(); ++i) {
    EXPECT_TRUE(simulation.advance_to(H * i));
    const double z_end = simulation.output("ball.z_m"), v_end = simulation.output("ball.vz_m_s");
    // Under a constant force the motion is a parabola.
    const double a = (v_end - v) / H;
    impact.deepest = std::max(impact.deepest, 0.1 - z_end);
    if (z_end > 0.1 && v_end > 0.0) {
      impact.restitution = std::sqrt(v_end * v_end - 2.0 * a * (z_end - 0.1)) / speed;
      return impact;
    }
    v = v_end;
  }
  ADD_FAILURE() << "the ball does not return";
  return impact;
}

TEST(CouplingSchemes, RestitutionOfTheBouncingBallWithConstantForces) {
  // Computed independently with a force constant over H, the first exchange exactly at onset, exact motion between.
  struct Row {
    double H, hertz_e, hertz_deepest_mm, flores_08, flores_02;
  };
  const std::vector<Row> table = {
      {1e-4, 1.233659, 2.06810, 0.946079, 0.154505}, {5e-5, 1.110548, 1.98139, 0.863215, 0.154282},
      {2e-5, 1.042868, 1.93467, 0.817004, 0.153999}, {1e-5, 1.021199, 1.91905, 0.802341, 0.153879},
      {5e-6, 1.010534, 1.91102, 0.795145, 0.153814}, {1e-6, 1.002096, 1.90467, 0.789448, 0.153760}};
  fmt::print("{:>7} {:>10} {:>12} {:>12} {:>12}   (expected below)\n", "H s", "Hertz e", "Hertz d mm", "Flores 0.8",
             "Flores 0.2");
  for (const Row& row : table) {
    const Impact hertz = frozen_impact(row.H, 1.0);
    const Impact flores_08 = frozen_impact(row.H, 0.8);
    const Impact flores_02 = frozen_impact(row.H, 0.2);
    fmt::print("{:7.0e} {:10.6f} {:12.5f} {:12.6f} {:12.6f}\n        {:10.6f} {:12.5f} {:12.6f} {:12.6f}\n", row.H,
               hertz.restitution, 1e3 * hertz.deepest, flores_08.restitution, flores_02.restitution, row.hertz_e,
               row.hertz_deepest_mm, row.flores_08, row.flores_02);
    // The deepest point is that of the exchanges. Half a unit of the last printed digit, and the same again for the
    // roundings of both computations.
    EXPECT_NEAR(hertz.restitution, row.hertz_e, 1e-6);
    EXPECT_NEAR(1e3 * hertz.deepest, row.hertz_deepest_mm, 1e-5);
    EXPECT_NEAR(flores_08.restitution, row.flores_08, 1e-6);
    EXPECT_NEAR(flores_02.restitution, row.flores_02, 1e-6);
  }
}

/// Macro steps, and iterations per macro step, of a case until its end; the reason when it fails.
struct Effort {
  double per_step = 0.0;
  std::string failure;
};

Effort effort_of(const std::string& yaml) {
  const RecordedRun run = run_local(scenario_from(yaml));
  if (run.summary.status != "completed") return {.failure = run.summary.error->what()};
  const CouplingStatistics& s = *run.summary.coupling;
  return {.per_step = static_cast<double>(s.iterations) / static_cast<double>(s.exchanges - 1), .failure = {}};
}

/// A rubber block of finite elements on a plane, pressed and pushed with friction.
std::string loaded_block(const std::string& coupling) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {{mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.00998]}}
loads:
  press: {{body: block, force: [1.0, 0, -8.0]}}
contact:
  block-ground:
    main:
      body: block
      surface: {{block: {{lengths: [0.04, 0.03, 0.02]}}}}
      material: {{youngs_modulus: 2.0e6, poissons_ratio: 0.3, density: 1100}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: fem_condensed
    parameters: {{element_size: 0.01, clamped_set: top, contact_set: bottom, friction: 0.5}}
coupling: {}
analysis: {{end_time: 0.039, integrator: {{name: rk4, step: 3.25e-4}}}}
output: {{interval: 0.01}}
)yaml",
                     coupling);
}

TEST(CouplingSchemes, AccelerationsConvergeWhereTheFixedPointDiverges) {
  fmt::print("iterations per macro step\n{:34} {:>10} {:>10} {:>10} {:>14}\n", "pair", "none", "aitken", "iqn_ils",
             "iqn_ils, reuse");
  const auto row = [&](const char* pair, const auto& yaml) {
    std::array<Effort, 4> efforts;
    const std::array<std::string, 4> accelerations = {"none", "aitken", "iqn_ils", "iqn_ils, reused_steps: 3"};
    for (std::size_t i = 0; i < 4; ++i) efforts[i] = effort_of(yaml(", acceleration: " + accelerations[i]));
    fmt::print("{:34}", pair);
    for (const Effort& effort : efforts) {
      fmt::print(" {:>10}", effort.failure.empty() ? fmt::format("{:.2f}", effort.per_step) : "fails");
    }
    fmt::print("\n");
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(efforts[i].failure, "") << pair << ' ' << accelerations[i];
    return efforts;
  };
  // The response at the end of a macro step to a change of the force there is -omega^2 H^2 / 6 of it: 1.8 with this H.
  // Beyond 2 the converged scheme itself is unstable (docs/theory/coupling.md).
  const TwoMasses masses;
  const double H = 0.11;
  const auto linear = row("two masses, omega^2 H^2 / 6 = 1.8", [&](const std::string& acceleration) {
    return masses.yaml(section("implicit", "0", H, acceleration), 10 * H, H / 64.0);
  });
  EXPECT_NE(linear[0].failure.find("has not converged"), std::string::npos) << linear[0].failure;
  // One relaxed iteration, one exact one, and the one that confirms it: the law is linear and the force one number.
  EXPECT_LE(linear[1].per_step, 3.0);
  EXPECT_LE(linear[2].per_step, 3.0);
  EXPECT_LT(linear[3].per_step, linear[2].per_step);
  const auto block = row("rubber block of finite elements", [](const std::string& acceleration) {
    return loaded_block(section("implicit", "1", 2.6e-3, acceleration));
  });
  EXPECT_NE(block[0].failure, "");
  // Contact opens and slips in the first macro step, where least squares have to restart; a single factor converges
  // there as well. Columns of earlier macro steps help in both cases.
  EXPECT_LT(block[3].per_step, block[2].per_step);
}

TEST(CouplingSchemes, StepControlFindsTheRestitutionOfTheBouncingBall) {
  // The fall, the impact and the flight; macro steps of a millisecond in flight.
  const std::string yaml = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  fmt::print("{:40} {:>10} {:>10} {:>9} {:>10}\n", "coupling", "e", "exchanges", "repeated", "evaluations");
  constexpr double expected = 0.788033;  // of the law
  for (const char* coupling :
       {"coupling={scheme: gauss_seidel, macro_step: 1.0e-3, step_control: {energy_tolerance: 1.0e-3}}",
        "coupling={scheme: gauss_seidel, macro_step: 1.0e-3, extrapolation: tangent, step_control: {energy_tolerance: "
        "1.0e-3}}",
        "coupling={scheme: implicit, macro_step: 1.0e-3, step_control: {energy_tolerance: 1.0e-3}}"}) {
    const RecordedRun run = run_local(scenario_from(yaml, {"analysis.end_time=0.45", coupling}));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    ASSERT_EQ(run.episodes.size(), 1U);
    const CouplingStatistics& s = *run.summary.coupling;
    const double e = *run.episodes[0].effective_restitution;
    fmt::print("{:40.40} {:10.6f} {:10} {:9} {:10}\n", coupling + 10, e, s.exchanges, s.rejected_macro_steps,
               run.summary.contact_evaluations);
    EXPECT_GT(s.rejected_macro_steps, 0) << "a macro step of flight cannot be right in an impact";
    // Energy created by the exchanges in contact, at most in all of them: e^2 of m v^2 / 2 = 8.829 J.
    EXPECT_NEAR(e * e, expected * expected, 1e-3 * static_cast<double>(s.exchanges - 400) / 8.829) << coupling;
  }
}

}  // namespace
}  // namespace heelstrike::test
