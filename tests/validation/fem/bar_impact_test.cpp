// Longitudinal impact of a bar on a rigid wall, compared with the wave equation.
//
// One-dimensional theory [goldsmith1960]: the wall force is rho c A v, c = sqrt(E / rho), until the wave returns from
// the free end after 2 L / c; the bar then separates with its approach velocity and without vibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::fem {
namespace {

constexpr double bar_length = 0.5;
constexpr double bar_breadth = 0.02;
constexpr double bar_density = 2500.0;
constexpr double bar_modulus = 2e9;
constexpr double speed = 1.0;

PairSpec bar_on_wall(double n_modes, const std::string& element = "from_mesh") {
  PairSpec pair;
  pair.name = "bar-wall";
  pair.backend = "fem_modal";
  pair.main.surface = BlockSurface{.lengths = Vector3(bar_breadth, bar_breadth, bar_length), .center = Vector3::Zero()};
  pair.main.materials = {{.youngs_modulus = bar_modulus, .poissons_ratio = 0.0, .density = bar_density, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"support", std::string("inertia_relief")},
                     {"element_size", 0.01},
                     {"element", element},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"contact_angle", 0.1},
                     {"modes", n_modes}};
  return pair;
}

/// [m/s]
const double bar_wave_speed = std::sqrt(bar_modulus / bar_density);

struct Bar {
  std::unique_ptr<ContactBackend> backend;
  double highest = 0.0;  ///< [Hz] of the kept modes
  double waves = 0.0;    ///< [-] modes along the force, and
  double missed = 0.0;   ///< [%] of duration and velocity, as reported
};

Bar bar_with(double n_modes, const std::string& element = "from_mesh") {
  Bar bar;
  PrepareContext context;
  context.on_progress = [&](std::string_view stage, double) {
    double lowest = 0.0;
    const std::string text(stage);
    (void)std::sscanf(text.c_str(), "vibration modes from %lf to %lf Hz", &lowest, &bar.highest);
    const auto read_number = [&](const char* before, double& number) {
      if (const auto at = text.find(before); at != std::string::npos) {
        number = std::strtod(text.c_str() + at + std::strlen(before), nullptr);
      }
    };
    read_number("equivalent to ", bar.waves);
    read_number("there and back is about ", bar.missed);
  };
  bar.backend = make_backend(bar_on_wall(n_modes, element), context);
  return bar;
}

PairState state_at(double t, double z, double v) {
  PairState state;
  state.t = t;
  state.X_AB.p = Vector3(0.0, 0.0, -z);
  state.V_AB.v = Vector3(0.0, 0.0, -v);
  return state;
}

constexpr EvaluateOptions next_near{.tangents = false, .keep_warm_start = true};

double push_of(const Response& response) {
  return response.gap < 0.0 ? response.F_A.force.z() : 0.0;
}

struct Impact {
  double duration = 0.0;    ///< [s]
  double speed_out = 0.0;   ///< [m/s]
  double mean_force = 0.0;  ///< [N]
};

/// @param on_release  called with history, time, position and velocity when the contact opens
using OnRelease = std::function<void(const History& history, double t, double z, double v)>;

/// The bar's centre moves along z by velocity Verlet.
Impact hit(const ContactBackend& bar, const OnRelease& on_release = {}) {
  const double mass = bar_density * bar_breadth * bar_breadth * bar_length;
  const double h = 2e-7;
  double z = 0.5 * bar_length;
  double v = -speed;
  auto history = bar.commit(*bar.initial_history(), state_at(0.0, z, v)).history;
  double force = 0.0;
  Impact impact;
  for (int i = 1; i <= 10'000; ++i) {
    const double t = h * i;
    z += h * v + 0.5 * h * h * force / mass;
    const Committed committed = bar.commit(*history, state_at(t, z, v + h * force / mass), next_near);
    const double now = push_of(committed.response);
    v += 0.5 * h * (force + now) / mass;
    if (on_release && force > 0.0 && now == 0.0) on_release(*committed.history, t, z, v);
    force = now;
    history = committed.history;
    if (force > 0.0) impact.duration = t;
  }
  impact.speed_out = v;
  impact.mean_force = mass * (speed + v) / impact.duration;
  return impact;
}

// The lowest modes of a bar bend and twist it: the number of modes along the force is reported when the pair is opened,
// with the resulting errors of duration and velocity.
TEST(BarImpact, TooFewModesAreReported) {
  const double T = 2.0 * bar_length / bar_wave_speed;
  for (const auto& [n_modes, element] :
       {std::pair{40.0, "from_mesh"}, std::pair{40.0, "hex8"}, std::pair{120.0, "hex8"}}) {
    const Bar bar = bar_with(n_modes, element);
    const Impact impact = hit(*bar.backend);
    std::printf("%4.0f modes, %-9s: %.2f along the push, misses about %.2f %%; duration %.4f, speed out %.4f\n",
                n_modes, element, bar.waves, bar.missed, impact.duration / T, impact.speed_out / speed);
    // A truncated mode contributes in part; elements have fewer modes than a bar, at too high frequencies.
    const double N = std::floor(bar.highest * T);
    EXPECT_NEAR(bar.waves, N, 1.0 + 0.1 * N) << n_modes << element;
    EXPECT_LT(std::abs(impact.duration / T - 1.0), 1.5 * bar.missed / 100.0) << n_modes << element;
    EXPECT_LT(std::abs(impact.speed_out / speed - 1.0), 1.5 * bar.missed / 100.0) << n_modes << element;
  }
}

// With 120 modes of hexahedra the end of the bar vibrates so much after the release that it touches the wall again 12
// us later. An integrator sees an open contact at both ends of a long step, whose state must therefore be rejected;
// with it, steps of 0.4 ms lost this contact, and the bar 17 % of its velocity.
TEST(BarImpact, AContactWithinAStepIsRejected) {
  const Bar bar = bar_with(120.0, "hex8");
  int n_rejected = 0, n_of_last = 0;
  (void)hit(*bar.backend, [&](const History& history, double t, double z, double v) {
    n_of_last = 0;
    if (v < 0.5 * speed) return;
    for (const double step : {2e-5, 5e-5, 4e-4}) {
      try {
        (void)bar.backend->evaluate(history, state_at(t + step, z + step * v, v));
      } catch (const RecoverableError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("it needs shorter steps"));
        ++n_rejected;
        ++n_of_last;
      }
    }
  });
  std::printf("%d steps rejected\n", n_rejected);
  EXPECT_GE(n_rejected, 1);
  EXPECT_EQ(n_of_last, 0) << "nothing follows the last release";
}

// The end of the bar of 160 modes touches the wall a second time. Its vibration counts as dissipated from the first
// release on and as stored again in the second contact: without the difference the balance had an error of 8.3 mJ, the
// energy of the vibration, 50 % of the dissipation.
TEST(BarImpact, EnergyBalancesOverASecondContact) {
  const heelstrike::test::RecordedRun run = heelstrike::test::run_local(heelstrike::test::scenario_from(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  bar: {mass: 0.5, inertia: [0.0104, 0.0104, 3.33e-5], position: [0, 0, 0.25001], velocity: [0, 0, -1]}
contact:
  bar-wall:
    main:
      body: bar
      surface: {block: {lengths: [0.02, 0.02, 0.5]}}
      material: {youngs_modulus: 2.0e9, poissons_ratio: 0.0, density: 2500}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: fem_modal
    parameters: {support: inertia_relief, element_size: 0.01, contact_direction: [0, 0, -1], contact_angle: 0.1, modes: 160}
analysis: {end_time: 1.3e-3}
output: {interval: 1.0e-5}
)"));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  EXPECT_EQ(run.episodes.size(), 2u);
  const EnergyBalance& energy = run.summary.energy;
  std::printf("dissipated %.4g J, error of the balance %.2g J\n", energy.dissipated, energy.balance_error);
  // 1 % of what was missing.
  EXPECT_LT(std::abs(energy.balance_error), 0.01 * 8.3e-3);
}

TEST(BarImpact, LastsForTheRoundTripOfAWave) {
  const double T = 2.0 * bar_length / bar_wave_speed;
  const double F = bar_density * bar_wave_speed * bar_breadth * bar_breadth * speed;
  std::printf("wave equation: 2 L / c = %.4g s, rho c A v = %.4g N\n  modes  N  duration c/2L  speed out  mean force\n",
              T, F);
  for (const double n_modes : {80.0, 160.0}) {
    const Bar bar = bar_with(n_modes);
    const Impact impact = hit(*bar.backend);
    // The kept modes along the bar have multiples of c / 2 L. N of them resolve a wave front over half a wave of the
    // highest one: 1 / N of the bar, which it passes in 1 / 2 N of the duration. That part, where the error of
    // velocities is at most the impact's, keeps 1 / N of the energy at most; the error of the separation velocity is
    // half of that.
    const double N = std::floor(bar.highest * T);
    std::printf("  %5.0f %2.0f  %13.4f  %9.4f  %10.4f\n", n_modes, N, impact.duration / T, impact.speed_out / speed,
                impact.mean_force / F);
    EXPECT_NEAR(impact.duration / T, 1.0, 0.5 / N) << n_modes;
    EXPECT_NEAR(impact.speed_out / speed, 1.0, 0.5 / N) << n_modes;
    EXPECT_NEAR(impact.mean_force / F, 1.0, 0.75 / N) << n_modes << ": momentum over duration";
  }
}

// Between commits the force is assumed linear, which transmits at the frequency omega the fraction sinc^2(omega h / 2),
// less by (omega h)^2 / 12: second order in the step, and the largest for the highest kept mode.
TEST(BarImpact, ErrorOfTheLinearForceIsOfSecondOrderInTheStep) {
  const Bar bar = bar_with(40.0);
  const double omega = 2.0 * std::numbers::pi * bar.highest;
  const double coarsest = 1.0 / omega;
  const double duration = 24.0 * coarsest;
  // The wall moves against the bar as it would without it: only the force has an error.
  const auto forces = [&](int n) {
    const double h = coarsest / n;
    auto history =
        bar.backend->commit(*bar.backend->initial_history(), state_at(0.0, 0.5 * bar_length, -speed)).history;
    Eigen::VectorXd at_coarsest(std::lround(duration / coarsest));
    for (int i = 1; i <= at_coarsest.size() * n; ++i) {
      const double t = h * i;
      const Committed now = bar.backend->commit(*history, state_at(t, 0.5 * bar_length - speed * t, -speed), next_near);
      history = now.history;
      if (i % n == 0) at_coarsest[i / n - 1] = push_of(now.response);
    }
    return at_coarsest;
  };
  const Eigen::VectorXd exact = forces(64);
  std::printf("highest kept mode %.4g Hz\n  omega h  error of the force  of the drive\n", bar.highest);
  double before = 0.0;
  for (const int n : {1, 2, 4, 8}) {
    const double error = (forces(n) - exact).norm() / exact.norm();
    const double of_the_drive = 1.0 / (12.0 * n * n);
    std::printf("  %7.3f  %18.3e  %16.3e  order %.2f\n", 1.0 / n, error, of_the_drive,
                n == 1 ? 0.0 : std::log2(before / error));
    // The terms after the leading one are smaller by omega h at least.
    if (n > 1) {
      EXPECT_NEAR(std::log2(before / error), 2.0, 1.0 / n) << n;
    }
    before = error;
  }
}

}  // namespace
}  // namespace heelstrike::fem
