// Two deformable bodies of full order: patch test, against fem_condensed, against a plane by symmetry, energy,
// tangents, friction, relaxation.
#include "fem_server/backends/fem_full/full_bodies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "tests/unit/fem/test_contact.hpp"
#include "tests/unit/fem/two_bodies.hpp"

namespace heelstrike::fem {
namespace {

using test::SolidBody;

using namespace test::columns;

bool at_plane(const Vector3& p) {
  return std::abs(p.z()) < 1e-9;
}

PairState at_penetration(double depth) {
  PairState state;
  state.X_AB.p.z() = depth;
  return state;
}

/// [Pa] first Piola-Kirchhoff stress in a neo-Hookean column with zero Poisson's ratio, and its slope.
double column_stress(double E, double strain) {
  const double s = 1.0 - strain;
  return 0.5 * E * (1.0 / s - s);
}

/// [Pa] at which two columns are `depth` shorter, strains by bisection.
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

// A uniform stress passes the interface of non-matching meshes, also at 12 % strain: with zero Poisson's ratio the
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
    const auto contact = test::two_full_bodies(A, B, law, law, {.max_penetration = 0.02});
    const Response r = contact->evaluate(*contact->initial_history(), at_penetration(c.depth), {.tangents = false});
    const double pressure = column_pressure(c.depth, c.finite);
    const double expected = pressure * side * side;
    const std::vector<double> found = contact->pressure(*contact->initial_history(), at_penetration(c.depth));
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

/// A block on a wider one, both with nonzero Poisson's ratio: at its edges the surfaces slide on one another.
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

// Linear laws: the condensed bodies neglect the motion of their surfaces, an effect of the size of the strains.
TEST(FullBodies, LinearBodiesConvergeToCondensedOnesWithTheDepth) {
  const auto [A, B] = blocks();
  const ContactOptions options{.max_penetration = 0.01};
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

// Both are stored: the limit of one of them is what remains of the other.
TEST(FullBodies, BothBodiesCountTowardsTheMemoryLimit) {
  const SolidBody A = test::solid_body(above(4), material(E_A), "z1", at_plane);
  const SolidBody B = test::solid_body(below(4), material(E_B), "z0", at_plane);
  const auto open = [&](double bytes) {
    return test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean, {.max_penetration = 0.02},
                                 {.bytes = bytes});
  };
  // From above: the second body is the first one that finds too little memory.
  double bytes = 1e8;
  std::string message;
  while (message.empty()) {
    try {
      (void)open(bytes *= 0.9);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::limit);
      message = error.what();
    }
  }
  EXPECT_NE(message.find("are in use"), std::string::npos) << message;
}

/// Inverted: z becomes -z, elements with reversed orientation.
VolumeMesh mirrored(VolumeMesh mesh) {
  for (Vector3& p : mesh.nodes) p.z() = -p.z();
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) std::swap(mesh.connectivity[4 * e], mesh.connectivity[4 * e + 1]);
  return mesh;
}

FullContact on_plane(const SolidBody& A, const MaterialLaws& laws, const ContactOptions& options) {
  return {"fem_full",
          PreparedBody{.body = A.body,
                       .support = A.support,
                       .contact = A.contact,
                       .pressure = PressureRecovery(A.body.mesh(), A.contact),
                       .partner = std::make_shared<test::Plane>(),
                       .options = options},
          laws, ParameterMap{}};
}

// Large strain: between two mirrored bodies lies a plane, half of the depth deep in each of them.
TEST(FullBodies, EqualBodiesTouchInTheRigidPlaneBetweenThem) {
  for (const double depth : {1e-3, 4e-3}) {
    const SolidBody A = test::solid_body(above(5), material(E_A, 0.3), "z1", at_plane);
    const SolidBody B = test::solid_body(mirrored(above(5)), material(E_A, 0.3), "z1", at_plane);
    const ContactOptions options{.max_penetration = 0.02};
    const auto two = test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean, options);
    const FullContact one = on_plane(A, MaterialLaw::neo_hookean, options);
    const Response both = two->evaluate(*two->initial_history(), at_penetration(2.0 * depth));
    const Response half = one.evaluate(*one.initial_history(), at_penetration(depth));
    const auto force_at = [&](double more) {
      const PairState moved = at_penetration(2.0 * depth + more);
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

TEST(FullBodies, EnergyForceAndTangentsAreConsistentAndActionIsReaction) {
  const auto [A, B] = blocks();
  for (const bool finite : {false, true}) {
    const MaterialLaw& law = finite ? MaterialLaw::neo_hookean : MaterialLaw::linear;
    const auto contact = test::two_full_bodies(A, B, law, law, {.hysteresis_factor = 0.7, .max_penetration = 0.01});
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
    // The mean normal of a function neglects terms of second order in the angles and gaps within it.
    EXPECT_NEAR(slope, rest.F_A.force.z(), 1e-3 * slope);
    EXPECT_LT(test::block_error(r.dF_A_dX, dX), 1e-6) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(test::block_error(r.dF_A_dV, dV), 1e-6);
    EXPECT_LT((on_A - rest.F_A.force).norm(), 1e-12 * slope);
    EXPECT_LT((on_B + rest.F_A.force).norm(), 1e-12 * slope);
  }
}

// A column under uniform stress, 10 % shorter, is cut by an oblique plane that sticks: its response is that of the
// uncut column, for any division of the path. Just below the slope the plane slides.
TEST(FullBodies, ObliqueCutBelowTheFrictionLimitEqualsTheWholeBody) {
  constexpr double slope = 0.25;
  constexpr double depth = 0.1 * (length_A + length_B);
  const auto leans = [](const Vector3& p) { return std::abs(p.z() - slope * p.x()) < 1e-9; };
  const SolidBody A = test::solid_body(leaning(above(4), length_A, slope), material(E_A), "z1", leans);
  const SolidBody B = test::solid_body(leaning(below(5), -length_B, slope), material(E_A), "z0", leans);
  const auto opened = [&](double friction) {
    return test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean,
                                 {.friction = friction, .max_penetration = 0.02});
  };
  const auto contact = opened(0.3);
  for (const std::vector<double>& parts : {std::vector<double>{1.0}, {0.3, 0.55, 1.0}}) {
    auto history = contact->commit(*contact->initial_history(), at_penetration(0.0)).history;
    for (const double part : parts) {
      const Committed c = contact->commit(*history, at_penetration(part * depth));
      history = c.history;
      const double expected = column_stress(E_A, 0.1 * part) * side * side;
      const Vector3& f = c.response.F_A.force;
      std::printf("%5.1f %% shorter: error of F %.2e, dissipated %.1e J of %.1e J; %d steps\n", 10.0 * part,
                  (f - Vector3(0.0, 0.0, expected)).norm() / expected, c.response.dissipated_increment,
                  c.response.stored_energy, c.response.statistics.iterations);
      // The steps end at 1e-9 of the depth.
      EXPECT_LT((f - Vector3(0.0, 0.0, expected)).norm(), 1e-7 * expected);
      EXPECT_NEAR(c.response.dissipated_increment, 0.0, 1e-7 * c.response.stored_energy);
    }
  }
  const auto slippery = opened(0.2);
  const auto touching = slippery->commit(*slippery->initial_history(), at_penetration(0.0)).history;
  const Response r = slippery->evaluate(*touching, at_penetration(depth));
  EXPECT_GT(r.dissipated_increment, 0.01 * r.stored_energy);
  EXPECT_LT(r.F_A.force.z(), 0.99 * column_stress(E_A, 0.1) * side * side);
}

// Coulomb's law between two blocks, one of them wider: a dragged block sticks below mu N, and then carries mu N.
TEST(FullBodies, DraggedBlockSticksBelowTheLimitAndCarriesItInSlip) {
  constexpr double friction = 0.3;
  constexpr double depth = 1e-4;  // the faces incline by strains of 1e-3, and the force with them
  const auto [A, B] = blocks();
  const auto contact = test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean,
                                             {.friction = friction, .max_penetration = 0.01});
  auto history = contact->commit(*contact->initial_history(), at_penetration(depth)).history;
  const double stored = contact->evaluate(*history, at_penetration(depth)).stored_energy;
  Vector3 before = contact->evaluate(*history, at_penetration(depth)).F_A.force;
  double x = 0.0;
  double work = 0.0;
  double heat = 0.0;
  double lost = 0.0;
  std::printf("%10s %10s %10s %10s %12s\n", "drag [um]", "N [N]", "T / N", "W - Q - E", "Q [J]");
  for (const double step : {1e-6, 2.9e-5, 3e-5, 3e-5, 3e-5, 3e-5, 3e-5}) {
    x += step;
    PairState state = at_penetration(depth);
    state.X_AB.p.x() = x;
    const Committed c = contact->commit(*history, state);
    history = c.history;
    const Vector3& f = c.response.F_A.force;
    work += 0.5 * (f.x() + before.x()) * step;
    heat += c.response.dissipated_increment;
    lost = work - heat - (c.response.stored_energy - stored);
    std::printf("%10.1f %10.4f %10.7f %10.2e %12.4e\n", 1e6 * x, f.z(), f.x() / f.z(), lost / work, heat);
    if (x < 2e-6) {
      EXPECT_LT(f.x(), 0.2 * friction * f.z());
      EXPECT_GT(f.x(), 0.0);
    }
    before = f;
  }
  EXPECT_NEAR(before.x(), friction * before.z(), 5e-3 * friction * before.z());
  EXPECT_NEAR(lost, 0.0, 0.01 * work);
}

// As without friction: the condensed bodies neglect terms of the size of the strains. All functions are in contact from
// the start: where others become active within a step the two use different estimates of the first contact.
TEST(FullBodies, LinearBodiesWithFrictionConvergeToCondensedOnesWithTheDepth) {
  const auto [A, B] = blocks();
  const ContactOptions options{.friction = 0.3, .max_penetration = 0.01};
  const auto condensed = test::two_bodies(A, B, options);
  const auto full = test::two_full_bodies(A, B, MaterialLaw::linear, MaterialLaw::linear, options);
  const EvaluateOptions forces{.tangents = false};
  double before = 0.0;
  double order = 0.0;
  for (const double depth : {1e-3, 2.5e-4, 6.25e-5, 1.5625e-5}) {
    PairState state = at_penetration(depth);
    const auto of_condensed = condensed->commit(*condensed->initial_history(), state, forces).history;
    const auto of_full = full->commit(*full->initial_history(), state, forces).history;
    state.X_AB.p += depth * Vector3(0.3, 0.1, 0.0);
    const Response a = condensed->evaluate(*of_condensed, state, forces);
    const Response b = full->evaluate(*of_full, state, forces);
    const double difference = (a.F_A.vector() - b.F_A.vector()).norm() / a.F_A.vector().norm();
    order = 0.5 * std::log2(before / difference);
    std::printf(
        "%10.2f um: (%.6f, %.6f, %.6f) N, full (%.6f, %.6f, %.6f) N, difference %.2e, order %.2f; heat %.6e, "
        "%.6e J\n",
        1e6 * depth, a.F_A.force.x(), a.F_A.force.y(), a.F_A.force.z(), b.F_A.force.x(), b.F_A.force.y(),
        b.F_A.force.z(), difference, order, a.dissipated_increment, b.dissipated_increment);
    before = difference;
  }
  EXPECT_GT(order, 0.8);
  EXPECT_LT(before, 2e-3);
}

MaterialLaw viscoelastic() {
  return material_of({.isotropic = StretchLaw::mooney_rivlin(0.2), .prony = PronySeries({0.3, 0.2}, {0.1, 2.0})});
}

PairState at_time(double t, PairState state) {
  state.t = t;
  return state;
}

// Where some functions stick and others slide, tilted bodies of any law.
TEST(FullBodies, TangentsWithFrictionAndRelaxationAreDerivatives) {
  const auto [A, B] = blocks();
  struct Case {
    const char* name;
    MaterialLaw law;
    double friction;
  };
  for (const Case& c : {Case{"linear", MaterialLaw::linear, 0.3}, Case{"neo-Hookean", MaterialLaw::neo_hookean, 0.3},
                        Case{"relaxing", viscoelastic(), 0.0}, Case{"relaxing", viscoelastic(), 0.3}}) {
    const auto contact = test::two_full_bodies(
        A, B, c.law, c.law, {.friction = c.friction, .hysteresis_factor = 0.7, .max_penetration = 0.01});
    const auto history = contact->commit(*contact->initial_history(), block_on_block(1.2e-3)).history;
    PairState state = at_time(0.05, block_on_block(1.5e-3));
    state.X_AB.p += Vector3(2e-4, -1e-4, 0.0);
    const Response r = contact->evaluate(*history, state);
    const auto [dX, dV] = test::central_difference(*contact, *history, state, 1e-7, 1e-4);
    std::printf("%s, friction %.1f: F (%.4f, %.4f, %.4f) N, heat %.3e J, tangents %.1e, %.1e\n", c.name, c.friction,
                r.F_A.force.x(), r.F_A.force.y(), r.F_A.force.z(), r.dissipated_increment,
                test::block_error(r.dF_A_dX, dX), test::block_error(r.dF_A_dV, dV));
    EXPECT_LT(test::block_error(r.dF_A_dX, dX), 1e-5) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(test::block_error(r.dF_A_dV, dV), 1e-6);
    EXPECT_GT(r.dissipated_increment, 0.0);
  }
}

// Of an incompressible body all stiffness is shear, so that at a constant depth the force relaxes as the series for any
// shape; two bodies of the same series too. Within an element the points change their volume against 2/3 mu, which does
// not relax: 4e-3 of the force here, for any ratio.
TEST(FullBodies, IncompressibleBodiesRelaxAsTheirSeries) {
  constexpr double nu = 0.4999;
  const SolidBody A = test::solid_body(above(4, 8), material(E_A, nu), "z1", at_plane, PressureKind::element);
  const SolidBody B = test::solid_body(below(3, 8), material(E_B, nu), "z0", at_plane, PressureKind::element);
  const auto contact =
      test::two_full_bodies(A, B, viscoelastic(), viscoelastic(), {.friction = 0.3, .max_penetration = 0.01});
  const PairState relaxed = at_penetration(1e-5);
  Committed c = contact->commit(*contact->initial_history(), relaxed);
  const double sudden = c.response.F_A.force.z();
  for (const double t : {0.02, 0.1, 0.5, 3.0, 100.0}) {
    c = contact->commit(*c.history, at_time(t, relaxed));
    const double left = 1.0 + 0.3 * std::expm1(-t / 0.1) + 0.2 * std::expm1(-t / 2.0);
    std::printf("%7.2f s: F / F(0) %.6f, series %.6f\n", t, c.response.F_A.force.z() / sudden, left);
    EXPECT_NEAR(c.response.F_A.force.z() / sudden, left, 5e-3) << t;
    EXPECT_GT(c.response.dissipated_increment, 0.0);
  }
}

// At any time, pressed, kept, released, dented and recovered, two mirror images are twice one on a rigid plane.
TEST(FullBodies, EqualRelaxingBodiesTouchInTheRigidPlaneBetweenThem) {
  const SolidBody A = test::solid_body(above(4), material(E_A, 0.3), "z1", at_plane);
  const SolidBody B = test::solid_body(mirrored(above(4)), material(E_A, 0.3), "z1", at_plane);
  const ContactOptions options{.max_penetration = 0.02};
  const auto two = test::two_full_bodies(A, B, viscoelastic(), viscoelastic(), options);
  const FullContact one = on_plane(A, viscoelastic(), options);
  auto of_two = two->initial_history();
  auto of_one = one.initial_history();
  std::printf("%8s %8s %12s %10s %12s %12s %12s\n", "t [s]", "depth", "F [N]", "F error", "gap [m]", "gap error",
              "heat [J]");
  for (const auto& [t, depth] : std::vector<std::pair<double, double>>{{0.0, 2e-3},
                                                                       {0.05, 2.5e-3},
                                                                       {1.0, 2.5e-3},
                                                                       {1.001, -5e-4},
                                                                       {1.01, 1e-4},
                                                                       {1.5, 1e-3},
                                                                       {1.6, -5e-4},
                                                                       {10.0, -5e-4},
                                                                       {1e3, -5e-4},
                                                                       {1e6, -5e-4},
                                                                       {1e6 + 1.0, 1e-3}}) {
    const Committed both = two->commit(*of_two, at_time(t, at_penetration(2.0 * depth)));
    const Committed half = one.commit(*of_one, at_time(t, at_penetration(depth)));
    of_two = two->load_history(both.history->save());
    of_one = half.history;
    const Response& a = both.response;
    const Response& b = half.response;
    std::printf("%8.3f %8.4f %12.6f %10.1e %12.4e %12.1e %12.4e\n", t, 1e3 * depth, a.F_A.force.z(),
                (a.F_A.vector() - b.F_A.vector()).norm() / (b.F_A.force.norm() + 1e-300), a.gap, a.gap - 2.0 * b.gap,
                a.dissipated_increment);
    EXPECT_LE((a.F_A.vector() - b.F_A.vector()).norm(), 1e-6 * b.F_A.vector().norm()) << t;
    EXPECT_NEAR(a.stored_energy, 2.0 * b.stored_energy, 1e-6 * a.stored_energy) << t;
    EXPECT_NEAR(a.dissipated_increment, 2.0 * b.dissipated_increment, 1e-6 * a.dissipated_increment) << t;
    EXPECT_NEAR(a.dF_A_dX(5, 5), 0.5 * b.dF_A_dX(5, 5), 1e-5 * a.dF_A_dX(5, 5)) << t;
    // The nearest point of a dent need not lie directly opposite.
    EXPECT_NEAR(a.gap, 2.0 * b.gap, 1e-4 * std::abs(a.gap)) << t;
  }
}

// Each body has its own history, from which a repeated or restored commit responds with the same bits.
TEST(FullBodies, HistoryIsRestoredBitForBit) {
  const auto [A, B] = blocks();
  const auto contact =
      test::two_full_bodies(A, B, viscoelastic(), MaterialLaw::neo_hookean, {.friction = 0.3, .max_penetration = 0.01});
  const auto first = contact->commit(*contact->initial_history(), block_on_block(1e-3)).history;
  PairState next = at_time(0.1, block_on_block(1.3e-3));
  next.X_AB.p.x() += 2e-4;
  const auto restored = contact->load_history(first->save());
  const Committed once = contact->commit(*first, next);
  const Committed again = contact->commit(*restored, next);
  EXPECT_EQ(once.response.F_A.vector(), again.response.F_A.vector());
  EXPECT_EQ(once.response.dF_A_dX, again.response.dF_A_dX);
  EXPECT_EQ(once.history->save(), again.history->save());
  const Response same = contact->evaluate(*once.history, next);
  EXPECT_LT((same.F_A.vector() - once.response.F_A.vector()).norm(), 1e-7 * same.F_A.vector().norm());
  EXPECT_THROW((void)contact->evaluate(*once.history, at_time(0.09, next)), Error) << "a time before the commit";
  const auto elastic = test::two_full_bodies(A, B, MaterialLaw::neo_hookean, MaterialLaw::neo_hookean,
                                             {.friction = 0.3, .max_penetration = 0.01});
  EXPECT_THROW((void)elastic->load_history(first->save()), Error) << "the memory of another material";
  auto torn = std::make_shared<FullBodiesHistory>(FullBodiesHistory::from(*first));
  torn->X_AB.reset();
  EXPECT_THROW((void)contact->load_history(torn->save()), Error) << "displacements without the pose of their commit";
  const auto smooth = test::two_full_bodies(A, B, viscoelastic(), MaterialLaw::neo_hookean, {.max_penetration = 0.01});
  const auto frictionless = smooth->commit(*smooth->initial_history(), block_on_block(1e-3)).history;
  EXPECT_GT(contact->evaluate(*contact->load_history(frictionless->save()), next).F_A.force.z(), 0.0)
      << "the past of bodies that did not rub, in which there are no tangential forces";
}

}  // namespace
}  // namespace heelstrike::fem
