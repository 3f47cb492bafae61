// Two deformable bodies of full order: patch test, against fem_condensed, against a plane by symmetry, energy,
// tangents.
#include "fem_server/backends/fem_full/full_bodies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "tests/unit/fem/test_contact.hpp"
#include "tests/unit/fem/two_bodies.hpp"

namespace heelstrike::fem {
namespace {

using test::SolidBody;

using namespace test::columns;

bool at_plane(const Vector3& p) {
  return std::abs(p.z()) < 1e-9;
}

PairState pressed_by(double depth) {
  PairState state;
  state.X_AB.p.z() = depth;
  return state;
}

/// [Pa] first Piola-Kirchhoff stress in a neo-Hookean column without Poisson's effect, and its slope.
double column_stress(double E, double strain) {
  const double s = 1.0 - strain;
  return 0.5 * E * (1.0 / s - s);
}

/// [Pa] with which two columns are `depth` shorter, strains by bisection.
double column_pressure(double depth, bool finite) {
  if (!finite) return depth / (length_A / E_A + length_B / E_B);
  double low = 0.0;
  double high = depth / length_A;  // strain of A
  for (int i = 0; i < 200; ++i) {
    const double strain = 0.5 * (low + high);
    const double of_B = (depth - strain * length_A) / length_B;
    (column_stress(E_A, strain) < column_stress(E_B, of_B) ? low : high) = strain;
  }
  return column_stress(E_A, low);
}

// A uniform stress passes the interface of meshes that do not match, at 12 % strain too: without Poisson's effect the
// force of a neo-Hookean column is known.
TEST(FullBodies, UniformPressurePassesAnyInterface) {
  std::printf("%4s %4s %4s %12s %10s %12s %12s %6s\n", "A", "B", "law", "depth [mm]", "F error", "p least", "p largest",
              "steps");
  struct Case {
    std::uint32_t corners_A, corners_B;
    std::size_t n_A, n_B;
    bool finite;
    double depth;
  };
  for (const Case& c : {Case{4, 4, 4, 5, false, 2e-4}, Case{4, 4, 5, 3, false, 0.01}, Case{4, 4, 4, 5, true, 0.01},
                        Case{8, 6, 3, 4, true, 0.01}}) {
    const SolidBody A = test::solid_body(above(c.n_A, c.corners_A), material(E_A), "z1", at_plane);
    const SolidBody B = test::solid_body(below(c.n_B, c.corners_B), material(E_B), "z0", at_plane);
    const MaterialLaw& law = c.finite ? MaterialLaw::neo_hookean : MaterialLaw::linear;
    const auto contact = test::two_full_bodies(A, B, law, law, {.depth_limit = 0.02});
    const Response r = contact->evaluate(*contact->initial_history(), pressed_by(c.depth), {.tangents = false});
    const double pressure = column_pressure(c.depth, c.finite);
    const double expected = pressure * side * side;
    const std::vector<double> found = contact->pressure(*contact->initial_history(), pressed_by(c.depth));
    const auto [least, largest] = std::ranges::minmax(found);
    std::printf("%4zu %4zu %4d %12.2f %10.2e %12.9f %12.9f %6d\n", c.n_A, c.n_B, c.finite, 1e3 * c.depth,
                r.F_A.force.z() / expected - 1.0, least / pressure, largest / pressure, r.statistics.iterations);
    // The steps end at 1e-9 of the depth.
    EXPECT_LT((r.F_A.force - Vector3(0.0, 0.0, expected)).norm(), 1e-8 * expected);
    EXPECT_NEAR(least, pressure, 1e-8 * pressure);
    EXPECT_NEAR(largest, pressure, 1e-8 * pressure);
    EXPECT_NEAR(r.peak_pressure, pressure, 1e-8 * pressure);
    EXPECT_NEAR(r.area, side * side, 1e-8 * side * side);
    EXPECT_EQ(r.gap, -c.depth);
  }
}

/// A block on a wider one, both with Poisson's effect: at its edges the surfaces slide on one another.
std::pair<SolidBody, SolidBody> blocks() {
  const auto wide = test::irregular_box({-0.03, -0.028, -0.03}, {0.03, 0.031, 0.0}, 5, 2, 4);
  return {test::solid_body(above(4), material(E_A, 0.3), "z1", at_plane),
          test::solid_body(wide, material(E_B, 0.3), "z0", at_plane)};
}

PairState block_on_block(double depth) {
  PairState state;
  state.X_AB.R = rotation_from_vector(Vector3(0.3 * depth, -0.2 * depth, 3.0 * depth) / 0.01);
  state.X_AB.p = Vector3(0.0, 0.0, depth);
  state.V_AB = {.w = Vector3(0.2, -0.1, 0.3), .v = Vector3(0.01, 0.02, 0.1)};
  return state;
}

// Linear laws: what the condensed bodies leave out is the motion of their surfaces, an effect of the size of the
// strains.
TEST(FullBodies, LinearBodiesTendToCondensedOnesWithTheDepth) {
  const auto [A, B] = blocks();
  const ContactOptions options{.depth_limit = 0.01};
  const auto condensed = test::two_bodies(A, B, options);
  const auto full = test::two_full_bodies(A, B, MaterialLaw::linear, MaterialLaw::linear, options);
  const EvaluateOptions forces{.tangents = false};
  double before = 0.0;
  double order = 0.0;
  std::printf("%10s %12s %12s %10s %10s %6s %6s\n", "depth[um]", "condensed", "full", "difference", "peak", "order",
              "steps");
  for (const double depth : {1e-3, 2.5e-4, 6.25e-5, 1.5625e-5}) {
    const PairState state = block_on_block(depth);
    const Response a = condensed->evaluate(*condensed->initial_history(), state, forces);
    const Response b = full->evaluate(*full->initial_history(), state, forces);
    const double difference = (a.F_A.vector() - b.F_A.vector()).norm() / a.F_A.vector().norm();
    order = 0.5 * std::log2(before / difference);
    std::printf("%10.2f %12.8f %12.8f %10.2e %10.2e %6.2f %6d\n", 1e6 * depth, a.F_A.force.z(), b.F_A.force.z(),
                difference, b.peak_pressure / a.peak_pressure - 1.0, order, b.statistics.iterations);
    EXPECT_EQ(a.gap, b.gap);
    before = difference;
  }
  EXPECT_GT(order, 0.8);
  EXPECT_LT(before, 1e-3);
}

// Both are kept: what one of them may take is what the other leaves.
TEST(FullBodies, BothCountTowardsTheMemoryThatIsAllowed) {
  const SolidBody A = test::solid_body(above(4), material(E_A), "z1", at_plane);
  const SolidBody B = test::solid_body(below(4), material(E_B), "z0", at_plane);
  const auto open = [&](double bytes) {
    return test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean, {.depth_limit = 0.02},
                                 {.bytes = bytes});
  };
  // From above: the second body is the first one that finds too little left.
  double bytes = 1e8;
  std::string said;
  while (said.empty()) {
    try {
      (void)open(bytes *= 0.9);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::limit);
      said = error.what();
    }
  }
  EXPECT_NE(said.find("are taken"), std::string::npos) << said;
}

/// Turned over: z becomes -z, elements the other way round.
VolumeMesh mirrored(VolumeMesh mesh) {
  for (Vector3& p : mesh.nodes) p.z() = -p.z();
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) std::swap(mesh.connectivity[4 * e], mesh.connectivity[4 * e + 1]);
  return mesh;
}

// Large strain: between two bodies that are mirror images lies a plane, half of the depth deep in each of them.
TEST(FullBodies, EqualBodiesMeetInTheRigidPlaneBetweenThem) {
  for (const double depth : {1e-3, 4e-3}) {
    const SolidBody A = test::solid_body(above(5), material(E_A, 0.3), "z1", at_plane);
    const SolidBody B = test::solid_body(mirrored(above(5)), material(E_A, 0.3), "z1", at_plane);
    const ContactOptions options{.depth_limit = 0.02};
    const auto two = test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean, options);
    const FullContact one("fem_full",
                          PreparedBody{.body = A.body,
                                       .support = A.support,
                                       .contact = A.contact,
                                       .pressure = PressureRecovery(A.body.mesh(), A.contact),
                                       .partner = std::make_shared<test::Plane>(),
                                       .options = options},
                          MaterialLaw::neo_hookean, ParameterMap{});
    const Response both = two->evaluate(*two->initial_history(), pressed_by(2.0 * depth));
    const Response half = one.evaluate(*one.initial_history(), pressed_by(depth));
    const auto force_at = [&](double more) {
      const PairState moved = pressed_by(2.0 * depth + more);
      return two->evaluate(*two->initial_history(), moved, {.tangents = false}).F_A.force.z();
    };
    const double slope = (force_at(1e-6) - force_at(-1e-6)) / 2e-6;
    std::printf(
        "strain %.1f %%: plane %.9f N, two bodies %.9f N, difference %.2e; energy %.2e; stiffness by "
        "differences %.8g, of two %.8g, of one %.8g; %d steps\n",
        100.0 * depth / length_A, half.F_A.force.z(), both.F_A.force.z(), both.F_A.force.z() / half.F_A.force.z() - 1.0,
        both.stored_energy / (2.0 * half.stored_energy) - 1.0, slope, both.dF_A_dX(5, 5), 0.5 * half.dF_A_dX(5, 5),
        both.statistics.iterations);
    EXPECT_LT((both.F_A.vector() - half.F_A.vector()).norm(), 1e-7 * half.F_A.vector().norm());
    EXPECT_NEAR(both.stored_energy, 2.0 * half.stored_energy, 1e-7 * both.stored_energy);
    EXPECT_NEAR(both.dF_A_dX(5, 5), slope, 1e-6 * slope);
  }
}

Vector3 sum_of(std::span<const Vector3> forces) {
  Vector3 sum = Vector3::Zero();
  for (const Vector3& f : forces) sum += f;
  return sum;
}

TEST(FullBodies, EnergyForceAndTangentsBelongTogetherAndActionIsReaction) {
  const auto [A, B] = blocks();
  for (const bool finite : {false, true}) {
    const MaterialLaw& law = finite ? MaterialLaw::neo_hookean : MaterialLaw::linear;
    const auto contact = test::two_full_bodies(A, B, law, law, {.hysteresis_factor = 0.7, .depth_limit = 0.01});
    const auto history = contact->commit(*contact->initial_history(), block_on_block(1.4e-3)).history;
    const PairState state = block_on_block(1.5e-3);
    const Response r = contact->evaluate(*history, state);
    const auto [dX, dV] = test::central_difference(*contact, *history, state, 1e-6, 1e-4);
    PairState still = state;
    still.V_AB = {};
    const auto energy_at = [&](double dz) {
      PairState moved = still;
      moved.X_AB.p.z() += dz;
      return contact->evaluate(*history, moved, {.tangents = false}).stored_energy;
    };
    constexpr double h = 1e-5;
    const double slope = (energy_at(h) - energy_at(-h)) / (2.0 * h);
    const Response rest = contact->evaluate(*history, still);
    const auto forces = contact->nodal_forces(*history, still);
    const Vector3 on_A = sum_of(forces[0]);
    const Vector3 on_B = state.X_AB.R * sum_of(forces[1]);
    std::printf("%s: F %.6f N, dE/dz %.6f N (%.2e), tangents %.1e, %.1e; sums of nodal forces %.1e, %.1e; %d steps\n",
                finite ? "neo-Hookean" : "linear", rest.F_A.force.z(), slope, slope / rest.F_A.force.z() - 1.0,
                test::block_error(r.dF_A_dX, dX), test::block_error(r.dF_A_dV, dV), (on_A - rest.F_A.force).norm(),
                (on_B + rest.F_A.force).norm(), r.statistics.iterations);
    // The mean normal of a function leaves out what is of second order in the angles and gaps within it.
    EXPECT_NEAR(slope, rest.F_A.force.z(), 1e-3 * slope);
    EXPECT_LT(test::block_error(r.dF_A_dX, dX), 1e-6) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(test::block_error(r.dF_A_dV, dV), 1e-6);
    EXPECT_LT((on_A - rest.F_A.force).norm(), 1e-12 * slope);
    EXPECT_LT((on_B + rest.F_A.force).norm(), 1e-12 * slope);
  }
}

}  // namespace
}  // namespace heelstrike::fem
