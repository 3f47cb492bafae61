// Coulomb friction of boxes on a plane: mu times the force across the plane, at any inclination of their faces and any
// division into triangles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "common/contact/preparation.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/backends/elastic_foundation/friction_load.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

constexpr double friction_coefficient = 0.4;
constexpr double dragged_edge = 0.1;  // [m]

/// A box of rubber with a layer of 10 mm on a rigid partner. @param cells  along an edge; 0 = a block by its dimensions
std::unique_ptr<ContactBackend> box_on(const Surface& partner, const Vector3& lengths, int cells,
                                       ParameterMap parameters) {
  Assets assets;
  assets.add("box", box_of_cells(lengths, std::max(cells, 1)));
  parameters.try_emplace("thickness", 0.01);
  parameters.try_emplace("friction", friction_coefficient);
  PairSpec pair = layer_pair(cells > 0 ? mesh_named("box") : Surface(BlockSurface{.lengths = lengths}), partner,
                             std::move(parameters));
  pair.main.materials = {material(1e6, 0.3)};
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.box.parameters");
  entry.check(pair);
  return entry.make(pair, assets.context());
}

std::unique_ptr<ContactBackend> box_on_floor(const Vector3& lengths, int cells, ParameterMap parameters) {
  return box_on(PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()}, lengths, cells,
                std::move(parameters));
}

const double floor_stiffness = LayerLaw::confined_modulus_factor(0.3) * 1e6 / 0.01;  // [Pa/m]

/// Of the floor in the frame of a body in the world.
PairState floor_state(const Pose& X_WC) {
  PairState state;
  state.X_AB = X_WC.inverse();
  return state;
}

/// A cube rotated about the axis of y, its lowest edge `depth` below the floor.
Pose tilted_cube(double angle, double depth) {
  return {.R = rotation_from_vector({0.0, angle, 0.0}),
          .p = {0.0, 0.0, 0.5 * dragged_edge * (std::cos(angle) + std::sin(angle)) - depth}};
}

/// Cells along an edge; 0 = a block by its dimensions.
constexpr std::array<int, 4> divisions{1, 3, 6, 0};
const std::array<std::pair<std::string, std::string>, 6> settings{{{"energy", "ray"},
                                                                   {"energy", "nearest"},
                                                                   {"normal", "ray"},
                                                                   {"normal", "nearest"},
                                                                   {"midsurface", "ray"},
                                                                   {"midsurface", "nearest"}}};

// A cube with one of its edges towards the floor, dragged along this edge: mu times the force across the floor, and the
// energy dissipated is its work. With limits of mu times the positive spring forces, along the springs, the ratios
// ranged from 0.145 to 0.50.
TEST(FoundationFriction, DraggedCubeHasTheRatioMu) {
  constexpr double step = 0.05;  // [m]
  for (const double angle :
       {0.0, 0.01, 0.05, 0.2, std::numbers::pi / 9.0, std::numbers::pi / 6.0, std::numbers::pi / 4.0}) {
    for (const int cells : divisions) {
      for (const auto& [direction, penetration] : settings) {
        const auto backend = box_on_floor(Vector3::Constant(dragged_edge), cells,
                                          {{"direction", direction}, {"penetration", penetration}});
        const std::string what = fmt::format("{} rad, {} cells, {} {}", angle, cells, direction, penetration);
        Pose X_WC = tilted_cube(angle, angle < 0.1 ? 2e-4 : 1e-3);
        Committed committed = backend->commit(*backend->initial_history(), floor_state(X_WC));
        for (int i = 0; i < 3; ++i) {
          X_WC.p.y() += step;
          committed = backend->commit(*committed.history, floor_state(X_WC));
        }
        const Vector3 force = X_WC.R * committed.response.F_A.force;
        EXPECT_NEAR(-force.y() / force.z(), friction_coefficient, 1e-9) << what;
        EXPECT_NEAR(committed.response.dissipated_increment / (-force.y() * step), 1.0, 1e-9) << what;
      }
    }
  }
}

// Springs in the centres of the triangles, fine enough to detect the edge of the cube.
TEST(FoundationFriction, CentresHaveTheRatioMu) {
  for (const double angle : {0.2, std::numbers::pi / 4.0}) {
    for (const auto& [direction, penetration] : settings) {
      const auto backend =
          box_on_floor(Vector3::Constant(dragged_edge), 40,
                       {{"direction", direction}, {"penetration", penetration}, {"springs", "centres"}});
      Pose X_WC = tilted_cube(angle, 3e-3);
      Committed committed = backend->commit(*backend->initial_history(), floor_state(X_WC));
      for (int i = 0; i < 2; ++i) {
        X_WC.p.y() += 0.1;
        committed = backend->commit(*committed.history, floor_state(X_WC));
      }
      const Vector3 force = X_WC.R * committed.response.F_A.force;
      EXPECT_NEAR(-force.y() / force.z(), friction_coefficient, 1e-9)
          << angle << " " << direction << " " << penetration;
    }
  }
}

/// Speeds along a slope at half the time and at the end, of a block that starts at rest on it. Semi-implicit Euler in
/// the plane of the slope: motions along and across it, and rotation.
std::array<double, 2> slide_down(const ContactBackend& backend, double angle, double height, double time) {
  constexpr double dt = 1e-4;  // [s] a tenth of a radian of the stiffest vibration
  constexpr double width = 0.1, g = 9.81;
  const double inertia = (width * width + height * height) / 12.0;  // [m^2] of 1 kg
  Vector3 velocity = Vector3::Zero();                               // along x, z, and rotation about y
  Vector3 position(0.0, 0.5 * height, 0.0);
  std::array<double, 2> speeds{};
  Committed committed{.history = backend.initial_history(), .response = {}};
  const int steps = static_cast<int>(std::lround(time / dt));
  for (int i = 0; i < steps; ++i) {
    PairState state =
        floor_state({.R = rotation_from_vector({0.0, position[2], 0.0}), .p = {position[0], 0.0, position[1]}});
    // Of the floor in the frame of the block.
    const Matrix3 R_CW = state.X_AB.R;
    const Vector3 w = -R_CW * Vector3(0.0, velocity[2], 0.0);
    state.V_AB = {.w = w, .v = -(R_CW * Vector3(velocity[0], 0.0, velocity[1])) + w.cross(state.X_AB.p)};
    committed = backend.commit(*committed.history, state);
    const Vector3 force = R_CW.transpose() * committed.response.F_A.force;
    velocity += dt * Vector3(force.x() + g * std::sin(angle), force.z() - g * std::cos(angle),
                             committed.response.F_A.torque.y() / inertia);
    position += dt * velocity;
    if (2 * (i + 1) == steps) speeds[0] = velocity[0];
  }
  speeds[1] = velocity[0];
  return speeds;
}

// A block on a slope of 15 degrees, tangent 0.268, on which it leans on its lower edge: with 0.26 it slides with 0.075
// m/s^2, with 0.27 it rests. The twelve triangles of a mesh had a friction of up to 0.3 N and rested with 0.26.
TEST(FoundationFriction, BlockOnASlope) {
  constexpr double height = 0.2, time = 0.5;
  const double angle = std::numbers::pi / 12.0;
  for (const int cells : {1, 6}) {
    for (const double mu : {0.24, 0.26, 0.27}) {
      const auto backend = box_on_floor({0.1, 0.1, height}, cells, {{"friction", mu}, {"dissipation", 20.0}});
      const auto [middle, end] = slide_down(*backend, angle, height, time);
      const double expected = 9.81 * (std::sin(angle) - mu * std::cos(angle));
      // Some vibration of the landing lasts beyond the middle.
      if (expected > 0.0) {
        EXPECT_NEAR((end - middle) / (0.5 * time), expected, 0.003) << mu << ", cells " << cells;
      } else {
        EXPECT_NEAR(end, 0.0, 0.01) << "cells " << cells;
      }
    }
  }
}

/// [N m] of a square pressed on the floor that spins about its centre: mu times pressure times distance, summed over
/// small cells. The middle of the tilted face is beside the axis. @param slope  [-] by which the depth increases along
/// x from `depth` [m] in the middle
double spinning_torque(double depth, double slope) {
  constexpr int n = 1000;
  constexpr double cell = dragged_edge / n;
  double torque = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double x = cell * (i + 0.5) - 0.5 * dragged_edge, y = cell * (j + 0.5) - 0.5 * dragged_edge;
      torque += std::max(0.0, depth + slope * x) * std::hypot(x - 0.5 * dragged_edge * slope, y);
    }
  }
  return friction_coefficient * floor_stiffness * cell * cell * torque;
}

// A spinning cube, pressed flat and tilted until a quarter of its face is free: the torque converges with the
// triangles, whose corners and centres are the points of friction.
TEST(FoundationFriction, SpinningSquare) {
  constexpr double depth = 2e-4;
  for (const double slope : {0.0, 0.002, 0.008}) {
    const double expected = spinning_torque(depth, slope);
    for (const auto& [cells, tolerance] :
         {std::pair(1, 0.4), std::pair(3, 0.05), std::pair(6, 0.02), std::pair(24, 2e-3), std::pair(0, 2e-3)}) {
      const auto backend = box_on_floor(Vector3::Constant(dragged_edge), cells, {});
      const Matrix3 tilt = rotation_from_vector({0.0, std::asin(slope), 0.0});
      Committed committed{.history = backend->initial_history(), .response = {}};
      Pose X_WC;
      for (int i = 0; i <= 30; ++i) {
        X_WC = {.R = rotation_from_vector({0.0, 0.0, 0.03 * i}) * tilt,
                .p = {0.0, 0.0, 0.5 * dragged_edge * std::sqrt(1.0 - slope * slope) - depth}};
        committed = backend->commit(*committed.history, floor_state(X_WC));
      }
      const double torque = (X_WC.R * committed.response.F_A.torque).z();
      fmt::print("slope {} cells {}: {:.5f}\n", slope, cells, -torque / expected - 1.0);
      EXPECT_NEAR(-torque / expected, 1.0, tolerance) << "slope " << slope << ", cells " << cells;
    }
  }
}

/// Compares the tangents with differences. Several steps: until one contains no spring that begins to slide.
void expect_tangents(const ContactBackend& backend, const History& history, const PairState& state,
                     const std::string& what) {
  const Response r = backend.evaluate(history, state);
  const auto at_pose = [&](const Vector6& x) -> Vector6 {
    return backend.evaluate(history, moved(state, x)).F_A.vector();
  };
  const auto at_twist = [&](const Vector6& v) -> Vector6 {
    return backend.evaluate(history, with_twist(state, v)).F_A.vector();
  };
  double best = 1.0;
  for (const double h : {1e-6, 3e-7, 1e-7, 3e-8}) {
    best = std::min(best, relative_error(r.dF_A_dX, differences(at_pose, h)));
  }
  EXPECT_LT(best, 1e-6) << what;
  const Matrix6 by_twist = differences(at_twist, 1e-5);
  const double rounding = 1e-7 * r.F_A.vector().norm();
  EXPECT_LE((r.dF_A_dV - by_twist).cwiseAbs().maxCoeff(), 1e-6 * by_twist.cwiseAbs().maxCoeff() + rounding) << what;
}

// Derivatives by pose and twist on coarse faces with loads that end within triangles, sticking and sliding.
TEST(FoundationFriction, TangentsAreDerivatives) {
  for (const double angle : {0.02, 0.2, std::numbers::pi / 4.0}) {
    for (const int cells : {1, 3}) {
      for (const auto& [direction, penetration] : settings) {
        for (const double dissipation : {0.0, 20.0}) {
          const auto backend =
              box_on_floor(Vector3::Constant(dragged_edge), cells,
                           {{"direction", direction}, {"penetration", penetration}, {"dissipation", dissipation}});
          Pose X_WC = tilted_cube(angle, 1e-3);
          X_WC.R = rotation_from_vector({0.03, 0.0, 0.01}) * X_WC.R;
          const auto history = backend->commit(*backend->initial_history(), floor_state(X_WC)).history;
          for (const double slip : {1.3e-5, 0.3}) {
            X_WC.p += Vector3(0.6 * slip, slip, -1e-5);
            X_WC.R = rotation_from_vector({1e-4, 2e-4, -1e-4}) * X_WC.R;
            PairState state = floor_state(X_WC);
            state.V_AB = {.w = {0.01, -0.02, 0.03}, .v = {0.02, 0.01, -0.01}};
            expect_tangents(*backend, *history, state,
                            fmt::format("{} rad, {} cells, {} {}, dissipation {}, slip {}", angle, cells, direction,
                                        penetration, dissipation, slip));
          }
        }
      }
    }
  }
}

// The same for a cube that overhangs the edge of a block.
TEST(FoundationFriction, TangentsOverAnEdge) {
  const Surface block = BlockSurface{.lengths = {0.3, 0.3, 0.1}, .center = {0.14, 0.0, -0.05}};
  for (const int cells : {1, 3}) {
    for (const double dissipation : {0.0, 20.0}) {
      const auto backend = box_on(block, Vector3::Constant(dragged_edge), cells, {{"dissipation", dissipation}});
      Pose X_WC = tilted_cube(0.0, 1e-3);
      X_WC.R = rotation_from_vector({0.004, 0.003, 0.1});
      const auto history = backend->commit(*backend->initial_history(), floor_state(X_WC)).history;
      for (const double slip : {1.3e-5, 0.005}) {
        X_WC.p += Vector3(0.6 * slip, slip, -1e-5);
        PairState state = floor_state(X_WC);
        state.V_AB = {.w = {0.01, -0.02, 0.03}, .v = {0.02, 0.01, -0.01}};
        expect_tangents(*backend, *history, state,
                        fmt::format("{} cells, dissipation {}, slip {}", cells, dissipation, slip));
      }
    }
  }
}

/// Work on a ball that moves and rotates in a dish, less the energy stored and dissipated, relative to the latter.
double curved_energy_error(const ContactBackend& backend, int steps) {
  const auto at = [&](int i) {
    const double t = static_cast<double>(i) / steps;
    PairState state;
    state.X_AB.p = {0.003 * std::sin(6.0 * t), 0.002 * std::sin(4.0 * t),
                    0.0151 - 0.0004 * std::sin(std::numbers::pi * t)};
    state.X_AB.R = rotation_from_vector({0.1 * std::sin(5.0 * t), 0.15 * std::sin(3.0 * t), 0.2 * t});
    return state;
  };
  PairState last = at(0);
  Committed committed = backend.commit(*backend.initial_history(), last);
  double work = 0.0, dissipated = 0.0;
  for (int i = 1; i <= steps; ++i) {
    const PairState state = at(i);
    const Vector6 before = committed.response.F_A.vector();
    committed = backend.commit(*committed.history, state);
    const Eigen::AngleAxisd rotation(Matrix3(state.X_AB.R * last.X_AB.R.transpose()));
    const Vector3 angle = rotation.angle() * rotation.axis();
    Vector6 motion;
    motion << angle, state.X_AB.p - last.X_AB.p - angle.cross(0.5 * (state.X_AB.p + last.X_AB.p));
    work += 0.5 * (before + committed.response.F_A.vector()).dot(motion);
    dissipated += committed.response.dissipated_increment;
    last = state;
  }
  return (work - committed.response.stored_energy - dissipated) / dissipated;
}

// On curved surfaces, too, work is stored or dissipated, to the square of the steps.
TEST(FoundationFriction, WorkOnCurvedSurfaces) {
  PairSpec pair =
      layer_pair(SphereSurface{.radius = -0.04, .center = {0.0, 0.0, 0.04}},
                 SphereSurface{.radius = 0.025, .center = {0.0, 0.0, 0.01}}, {{"friction", 0.2}, {"refine", 2.0}});
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.ball.parameters");
  const auto backend = entry.make(pair, Assets().context());
  const double coarse = curved_energy_error(*backend, 50), fine = curved_energy_error(*backend, 100);
  EXPECT_LT(std::abs(fine), 2e-3);
  EXPECT_LT(std::abs(fine), 0.35 * std::abs(coarse));
}

// Shares are not negative, have the sum and the moments of the corner forces and, below a load that covers the
// triangle, the values of the spring forces.
TEST(FoundationFriction, SharesOfATriangle) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int i = 0; i < 200; ++i) {
    std::array<NormalForce, 3> corners;
    for (NormalForce& corner : corners) {
      corner.value = i % 4 == 0 ? 1.0 + unit(random) : 0.01 + std::pow(unit(random), 6);
      for (Eigen::Index k = 0; k < 6; ++k) corner.dX[k] = unit(random) - 0.5;
    }
    const double sum = corners[0].value + corners[1].value + corners[2].value;
    const auto shares = friction_shares(corners, cubature_weights[3]);
    const auto forces = spring_forces(corners, cubature_weights[3]);
    const bool is_covered = std::ranges::none_of(forces, [](const NormalForce& f) { return f.value < 0.0; });
    double total = 0.0;
    RowVector6 change = RowVector6::Zero();
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_GE(shares[k].value, -1e-15);
      total += shares[k].value;
      change += shares[k].dX;
      if (k < 3) {
        EXPECT_NEAR(sum * (shares[k].value + shares[3].value / 3.0), corners[k].value, 1e-14);
      }
      if (is_covered) {
        EXPECT_NEAR(sum * shares[k].value, forces[k].value, 1e-14);
      }
    }
    EXPECT_NEAR(total, 1.0, 1e-14);
    EXPECT_LT(change.norm(), 1e-12 / sum);
    constexpr double h = 1e-7;
    const auto moved_by = [&](double by) {
      auto moved = corners;
      for (NormalForce& corner : moved) corner.value += by * corner.dX[0];
      return friction_shares(moved, cubature_weights[3]);
    };
    const auto after = moved_by(h * sum), before = moved_by(-h * sum);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR((after[k].value - before[k].value) / (2.0 * h), sum * shares[k].dX[0], 1e-5);
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
