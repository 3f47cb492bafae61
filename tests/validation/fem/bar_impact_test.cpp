// A bar that hits a rigid wall lengthwise, against the wave equation.
//
// One-dimensional theory [goldsmith1960]: the wall pushes with rho c A v, c = sqrt(E / rho), until the wave comes back
// from the free end after 2 L / c; the bar then leaves with the speed that it came with and is at rest in itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "common/surfaces/block.hpp"
#include "common/surfaces/plane.hpp"
#include "fem_server/backends/backend.hpp"

namespace heelstrike::fem {
namespace {

constexpr double length = 0.5;
constexpr double breadth = 0.02;
constexpr double density = 2500.0;
constexpr double modulus = 2e9;
constexpr double speed = 1.0;

PairSpec bar_on_wall(double n_modes) {
  PairSpec pair;
  pair.name = "bar-wall";
  pair.backend = "fem_modal";
  pair.main.surface = BlockSurface{.lengths = Vector3(breadth, breadth, length), .center = Vector3::Zero()};
  pair.main.materials = {{.youngs_modulus = modulus, .poissons_ratio = 0.0, .density = density, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"support", std::string("inertia_relief")},
                     {"element_size", 0.01},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"contact_angle", 0.1},
                     {"modes", n_modes}};
  return pair;
}

struct Impact {
  double duration = 0.0;    ///< [s]
  double speed_out = 0.0;   ///< [m/s]
  double mean_force = 0.0;  ///< [N]
};

/// The bar's centre moves along z by velocity Verlet.
Impact hit(double n_modes) {
  PrepareContext context;
  context.on_progress = [](std::string_view, double) {};
  const auto backend = make_backend(bar_on_wall(n_modes), context);
  const double mass = density * breadth * breadth * length;
  const double h = 2e-7;
  const auto state_at = [](double t, double z, double v) {
    PairState state;
    state.t = t;
    state.X_AB.p = Vector3(0.0, 0.0, -z);
    state.V_AB.v = Vector3(0.0, 0.0, -v);
    return state;
  };
  double z = 0.5 * length;
  double v = -speed;
  auto history = backend->commit(*backend->initial_history(), state_at(0.0, z, v)).history;
  double force = 0.0;
  Impact impact;
  for (int i = 1; i <= 10'000; ++i) {
    const double t = h * i;
    z += h * v + 0.5 * h * h * force / mass;
    const Committed committed =
        backend->commit(*history, state_at(t, z, v + h * force / mass), {.tangents = false, .next_state_near = true});
    const double now = committed.response.gap < 0.0 ? committed.response.F_A.force.z() : 0.0;
    v += 0.5 * h * (force + now) / mass;
    force = now;
    history = committed.history;
    if (force > 0.0) impact.duration = t;
  }
  impact.speed_out = v;
  impact.mean_force = mass * (speed + v) / impact.duration;
  return impact;
}

TEST(BarImpact, LastsForTheTimeThatAWaveTakesThereAndBack) {
  const double wave_speed = std::sqrt(modulus / density);
  const double T = 2.0 * length / wave_speed;
  const double F = density * wave_speed * breadth * breadth * speed;
  std::printf("wave equation: 2 L / c = %.4g s, rho c A v = %.4g N\n  modes  duration c/2L  speed out  mean force\n", T,
              F);
  for (const auto& [n_modes, accuracy] : {std::pair{80.0, 0.03}, std::pair{160.0, 0.02}}) {
    const Impact impact = hit(n_modes);
    std::printf("  %5.0f  %13.4f  %9.4f  %10.4f\n", n_modes, impact.duration / T, impact.speed_out / speed,
                impact.mean_force / F);
    EXPECT_NEAR(impact.duration / T, 1.0, accuracy) << n_modes;
    EXPECT_NEAR(impact.speed_out / speed, 1.0, accuracy) << n_modes;
    EXPECT_NEAR(impact.mean_force / F, 1.0, accuracy) << n_modes;
  }
}

}  // namespace
}  // namespace heelstrike::fem
