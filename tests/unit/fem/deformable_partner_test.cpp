// Two deformable bodies: springs in series, tangents, friction, and errors of the specification.
#include "fem_server/contact_solver/deformable_partner.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "common/errors/error.hpp"
#include "tests/unit/fem/test_contact.hpp"
#include "tests/unit/fem/two_bodies.hpp"

namespace heelstrike::fem {
namespace {

constexpr double height_A = 0.03;  // [m] of the block of make_block
constexpr double height_B = 0.05;
constexpr double modulus_A = 3.62e6;
constexpr double modulus_B = 1.5e6;

bool at_interface(const Vector3& p) {
  return p.z() == 0.0;
}

/// Block above z = 0 with the footprint of make_block, clamped at its top, against one below, clamped at its bottom.
std::unique_ptr<CondensedContact> two_blocks(double poissons_ratio, std::size_t n_B, const ContactOptions& options) {
  const test::SolidBody A = test::solid_body(test::block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, height_A}, 4, 4, 3),
                                             test::soft_material(poissons_ratio), "z1", at_interface);
  const test::SolidBody B =
      test::solid_body(test::block_mesh({0.01, -0.02, -height_B}, {0.05, 0.02, 0.0}, n_B, n_B, 4),
                       {.youngs_modulus = modulus_B, .poissons_ratio = poissons_ratio, .density = 1000.0, .set = ""},
                       "z0", at_interface);
  return test::two_bodies(A, B, options);
}

PairState moved_up(double x, double depth) {
  PairState state;
  state.X_AB.p = Vector3(x, 0.0, depth);
  return state;
}

// Columns without lateral strain are springs in series, on matching and non-matching meshes; body_interface_test.cpp
// has further patch tests.
TEST(DeformablePartner, ColumnsAreSpringsInSeries) {
  constexpr double area = 0.04 * 0.04;
  const double stiffness = area / (height_A / modulus_A + height_B / modulus_B);
  std::printf("%6s %10s %14s %14s\n", "n of B", "depth [mm]", "F [N]", "in series [N]");
  for (const std::size_t n_B : {4, 5, 8}) {
    const auto blocks = two_blocks(0.0, n_B, {.max_penetration = 0.02});
    for (const double depth : {1e-4, 1e-3}) {
      const Response r = blocks->evaluate(*blocks->initial_history(), moved_up(0.0, depth));
      std::printf("%6zu %10.2f %14.8f %14.8f\n", n_B, 1e3 * depth, r.F_A.force.z(), stiffness * depth);
      EXPECT_NEAR(r.F_A.force.z(), stiffness * depth, 1e-9 * stiffness * depth);
      EXPECT_NEAR(r.dF_A_dX(5, 5), r.F_A.force.z() / depth, 1e-6 * stiffness);
      EXPECT_NEAR(r.stored_energy, 0.5 * r.F_A.force.z() * depth, 1e-9 * r.stored_energy);
    }
  }
}

/// Bodies of curved surfaces with meshes of different sizes: caps of a parabola above z = 0 and of a flat block below.
std::unique_ptr<CondensedContact> cap_on_block(double penalty) {
  VolumeMesh cap = test::columns::above(8);
  for (Vector3& p : cap.nodes) p.z() += 10.0 * p.head<2>().squaredNorm() * (1.0 - p.z() / test::columns::length_A);
  const auto below_the_rim = [](const Vector3& p) { return p.z() < 0.005; };
  const test::SolidBody A = test::solid_body(std::move(cap), test::soft_material(0.3), "z1", below_the_rim);
  const test::SolidBody B = test::solid_body(test::columns::below(5), test::soft_material(0.3), "z0",
                                             [](const Vector3& p) { return p.z() > -1e-9; });
  return test::two_bodies(A, B, {.max_penetration = 0.02, .penalty = penalty});
}

void expect_tangents(const CondensedContact& bodies, const History& history, const PairState& state, const char* what,
                     double tolerance) {
  const Response r = bodies.evaluate(history, state);
  const auto [dX, dV] = test::central_difference(bodies, history, state, 1e-7, 1e-4);
  std::printf("%-12s %d active, error of dF/dX %.1e, of dF/dV %.1e\n", what, r.statistics.active_points,
              test::block_error(r.dF_A_dX, dX), test::block_error(r.dF_A_dV, dV));
  EXPECT_LT(test::block_error(r.dF_A_dX, dX), tolerance) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
  EXPECT_LT(test::block_error(r.dF_A_dV, dV), 1e-6);
}

TEST(DeformablePartner, TangentsAreDerivativesOfTheWrench) {
  PairState state = moved_up(2e-4, 1e-3);
  state.X_AB.R = rotation_from_vector(Vector3(0.01, -0.015, 0.02));
  state.V_AB = {.w = Vector3(0.2, -0.1, 0.3), .v = Vector3(0.01, 0.02, 0.1)};
  for (const double friction : {0.0, 0.3}) {
    const auto blocks = two_blocks(0.3, 4, {.friction = friction, .hysteresis_factor = 0.7, .max_penetration = 0.02});
    const auto history = blocks->commit(*blocks->initial_history(), moved_up(0.0, 5e-4)).history;
    // With friction the motion of the points with the pose is neglected, an effect of the size of the strains.
    expect_tangents(*blocks, *history, state, friction > 0.0 ? "friction" : "blocks", friction > 0.0 ? 0.05 : 1e-6);
    const auto restored = blocks->load_history(history->save());
    EXPECT_EQ(blocks->evaluate(*restored, state).F_A.vector(), blocks->evaluate(*history, state).F_A.vector());
  }
  state.X_AB.p.z() = 4e-3;
  for (const double penalty : {0.0, 1e11}) {
    const auto bodies = cap_on_block(penalty);
    const auto history = bodies->initial_history();
    expect_tangents(*bodies, *history, state, penalty > 0.0 ? "cap, penalty" : "cap", 1e-6);
  }
}

// Stick: two columns in shear are springs in series with G = E / 2 at nu = 0 (and bending, hence softer than that);
// slip: mu N, in both directions; the work that is not stored is dissipated.
TEST(DeformablePartner, SticksThenSlidesAndReverses) {
  constexpr double mu = 0.3;
  const auto blocks = two_blocks(0.0, 4, {.friction = mu, .max_penetration = 0.02});
  const auto rigid = test::make_block({.poissons_ratio = 0.0, .options = {.friction = mu, .max_penetration = 0.02}},
                                      std::make_shared<test::Plane>());
  constexpr double depth = 1e-3;
  auto history = blocks->commit(*blocks->initial_history(), moved_up(0.0, depth)).history;
  const auto rigid_history = rigid->commit(*rigid->initial_history(), moved_up(0.0, depth)).history;
  const double both = blocks->evaluate(*history, moved_up(1e-5, depth)).F_A.force.x();
  const double one = rigid->evaluate(*rigid_history, moved_up(1e-5, depth)).F_A.force.x();
  std::printf("stick at 0.01 mm: one body %.6f N, two bodies %.6f N\n", one, both);
  EXPECT_LT(both, 0.5 * one) << "B is longer and softer";
  EXPECT_GT(both, 0.05 * one);
  double x = 0.0;
  double work = 0.0;
  double dissipated = 0.0;
  double before = 0.0;
  double stored = 0.0;
  const double stored_before = blocks->evaluate(*history, moved_up(0.0, depth)).stored_energy;
  for (const double target : {4e-3, -4e-3}) {
    const double start = x;
    for (int i = 1; i <= 40; ++i) {
      const double next = start + (target - start) * i / 40.0;
      const Committed c = blocks->commit(*history, moved_up(next, depth));
      history = c.history;
      const Vector3& f = c.response.F_A.force;
      EXPECT_LE(f.head<2>().norm(), mu * f.z() * (1.0 + 1e-9));
      dissipated += c.response.dissipated_increment;
      work += 0.5 * (before + f.x()) * (next - x);
      before = f.x();
      x = next;
      if (i == 40) {
        std::printf("x %6.2f mm: Fx %.6f N, mu Fz %.6f N\n", 1e3 * x, f.x(), mu * f.z());
        EXPECT_NEAR(f.x(), (target > start ? 1.0 : -1.0) * mu * f.z(), 1e-5 * f.z()) << "fully sliding";
        stored = c.response.stored_energy - stored_before;
      }
    }
  }
  std::printf("work %.4e J, dissipated %.4e J, stored %.4e J\n", work, dissipated, stored);
  // The force omits the motion of the weights: an error of the size of the strain.
  EXPECT_NEAR(work, dissipated + stored, 0.05 * work);
}

TEST(DeformablePartner, ReportsThePlaceOutOfReach) {
  const test::SolidBody A = test::solid_body(test::block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, height_A}, 4, 4, 3),
                                             test::soft_material(0.3), "z1", at_interface);
  const auto near_one_corner = [](const Vector3& p) { return p.z() == 0.0 && p.x() < 0.02 && p.y() < -0.01; };
  const test::SolidBody B = test::solid_body(test::block_mesh({0.01, -0.02, -height_B}, {0.05, 0.02, 0.0}, 4, 4, 4),
                                             test::soft_material(0.3), "z0", near_one_corner);
  const auto contact = test::two_bodies(A, B, {.max_penetration = 0.02});
  try {
    (void)contact->evaluate(*contact->initial_history(), moved_up(0.0, 1e-4));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("partner has no contact nodes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::fem
