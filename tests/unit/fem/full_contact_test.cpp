// Full order against condensed on the same mesh, tangents, load stepping.
#include "fem_server/backends/fem_full/full_contact.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

std::unique_ptr<FullContact> make_full(MaterialLaw law, const ContactOptions& options,
                                       std::shared_ptr<const SignedDistance> partner, bool inertia_relief = false) {
  VolumeMesh mesh = test::block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, 4, 4, 3);
  BodyModel body(std::move(mesh), std::vector<Material>{test::soft_material(0.3)});
  Support support{.inertia_relief = inertia_relief, .clamped_nodes = {}};
  if (!inertia_relief) support.clamped_nodes = body.mesh().node_sets.at("z1");
  ContactNodes contact = contact_nodes(body, test::bottom_faces(body.mesh()));
  PressureRecovery pressure(body.mesh(), contact);
  return std::make_unique<FullContact>("fem_full",
                                       PreparedBody{.body = std::move(body),
                                                    .support = std::move(support),
                                                    .contact = std::move(contact),
                                                    .pressure = std::move(pressure),
                                                    .partner = std::move(partner),
                                                    .options = options},
                                       law, ParameterMap{});
}

TEST(FullContact, LinearEqualsCondensed) {
  const ContactOptions options{.max_penetration = 0.02};
  const auto plane = std::make_shared<test::Plane>();
  const auto full = make_full(MaterialLaw::linear, options, plane);
  const auto finite = make_full(MaterialLaw::neo_hookean, options, plane);
  const auto condensed = test::make_block({.options = options}, plane);
  std::printf("%10s %14s %14s %14s %10s\n", "depth[mm]", "condensed [N]", "full [N]", "neo-Hooke [N]", "difference");
  for (const double depth : {0.2e-3, 1e-3, 3e-3, 6e-3}) {
    const PairState state = test::tilted_state(depth);
    const Response a = condensed->evaluate(*condensed->initial_history(), state);
    const Response b = full->evaluate(*full->initial_history(), state);
    const Response c = finite->evaluate(*finite->initial_history(), state);
    const double error = (a.F_A.vector() - b.F_A.vector()).norm() / a.F_A.vector().norm();
    std::printf("%10.2f %14.6f %14.6f %14.6f %10.2e\n", 1e3 * depth, a.F_A.force.z(), b.F_A.force.z(), c.F_A.force.z(),
                error);
    EXPECT_LT(error, 1e-6) << "issue: condensed-linear equals full-linear";
    EXPECT_EQ(a.statistics.active_points, b.statistics.active_points);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-6 * a.peak_pressure);
    EXPECT_NEAR(a.stored_energy, b.stored_energy, 1e-6 * a.stored_energy);
    EXPECT_LT(test::block_error(a.dF_A_dX, b.dF_A_dX), 1e-6);
    if (depth < 0.5e-3) {
      EXPECT_NEAR(c.F_A.force.z(), a.F_A.force.z(), 0.03 * a.F_A.force.z()) << "strain below 1 %";
    }
  }
}

/// A ball of triangles of 3 mm on the block: the nodes slide over several of them.
TEST(FullContact, LinearEqualsCondensedOnAnOpenCurvedPartner) {
  const ContactOptions options{.max_penetration = 0.02};
  const std::shared_ptr<const SignedDistance> ball = mesh_distance(test::ball_cap(0.04, -0.01));
  const auto full = make_full(MaterialLaw::linear, options, ball);
  const auto linearised = test::make_block({.options = options}, ball);
  const auto iterated = test::make_block({.options = options, .deformed_gap = true}, ball);
  for (const double depth : {0.5e-3, 2e-3, 4e-3}) {
    PairState state;
    // The ball lies below the block: inverted, its cap points up.
    state.X_AB.R = rotation_from_vector(Vector3(3.1, 0.02, -0.05));
    state.X_AB.p = Vector3(0.032, 0.001, depth - 0.04);
    const Response a = iterated->evaluate(*iterated->initial_history(), state);
    const Response b = full->evaluate(*full->initial_history(), state);
    const Response c = linearised->evaluate(*linearised->initial_history(), state);
    const double error = (a.F_A.vector() - b.F_A.vector()).norm() / b.F_A.vector().norm();
    const double before = (c.F_A.vector() - b.F_A.vector()).norm() / b.F_A.vector().norm();
    std::printf(
        "%5.1f mm: %9.4f N, peak %9.1f Pa, full %9.1f Pa; force off by %.1e, linearised by %.1e, %d iterations\n",
        1e3 * depth, a.F_A.force.z(), a.peak_pressure, b.peak_pressure, error, before, a.statistics.iterations);
    EXPECT_LT(error, 1e-6);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-6 * b.peak_pressure);
    // Shallow contacts stay above the facets on which they began; in the deepest nodes change theirs.
    if (depth > 3e-3) {
      EXPECT_GT(before, 1e-4) << "the test shows nothing";
    }
    // From a different initial guess: the same problem.
    PairState beside = state;
    beside.X_AB.p += Vector3(0.004, -0.003, -0.0003);
    const auto history = iterated->commit(*iterated->initial_history(), beside).history;
    const Response warm = iterated->evaluate(*history, state);
    EXPECT_EQ(warm.F_A.vector(), a.F_A.vector());
    EXPECT_EQ(warm.peak_pressure, a.peak_pressure);
    const std::vector<PairState> states{state, beside};
    const auto batch = iterated->evaluate_all(*iterated->initial_history(), states);
    ASSERT_FALSE(batch[0].error || batch[1].error);
    EXPECT_NEAR((batch[0].response.F_A.vector() - a.F_A.vector()).norm(), 0.0, 1e-9 * a.F_A.vector().norm());
    // Central differences of a force that is smooth between changes of the active set and of the facets.
    const auto [dX, dV] = test::central_difference(*iterated, *iterated->initial_history(), state, 1e-8, 1e-4);
    EXPECT_LT(test::block_error(a.dF_A_dX, dX), 1e-4);
  }
}

TEST(FullContact, DraggedClampedBlockEqualsCondensed) {
  // Pressed, dragged to and fro: nodes stick, slide and reverse; friction carries its history along. Both solve the
  // same equations for a linear body, so that they differ by the tolerances of the solvers only.
  const ContactOptions options{.friction = 0.3, .max_penetration = 0.02};
  const auto plane = std::make_shared<test::Plane>();
  const auto full = make_full(MaterialLaw::linear, options, plane);
  const auto finite = make_full(MaterialLaw::neo_hookean, options, plane);
  const auto condensed = test::make_block({.options = options}, plane);
  auto of_full = full->initial_history();
  auto of_finite = finite->initial_history();
  auto of_condensed = condensed->initial_history();
  std::printf("%8s %13s %13s %13s %11s %11s %11s\n", "x [mm]", "condensed [N]", "full [N]", "neo-Hooke [N]", "force",
              "dissipated", "its neo");
  for (const double x : {0.0, 0.05e-3, 0.2e-3, 0.6e-3, 1.5e-3, 1.4e-3, 1e-3, 0.0, -1.5e-3}) {
    PairState state;
    state.X_AB.p = Vector3(x, 0.0, 5e-4);
    const Committed a = condensed->commit(*of_condensed, state);
    const Committed b = full->commit(*of_full, state);
    const Committed c = finite->commit(*of_finite, state);
    of_condensed = a.history;
    of_full = b.history;
    of_finite = c.history;
    const Vector6 force = a.response.F_A.vector();
    const double error = (force - b.response.F_A.vector()).norm() / force.norm();
    const double heat = a.response.dissipated_increment - b.response.dissipated_increment;
    std::printf("%8.3f %13.6f %13.6f %13.6f %11.1e %11.1e %11d\n", 1e3 * x, a.response.F_A.force.x(),
                b.response.F_A.force.x(), c.response.F_A.force.x(), error, heat, c.response.statistics.iterations);
    EXPECT_LT(error, 1e-6) << "condensed-linear equals full-linear, with friction";
    EXPECT_LT(std::abs(heat), 1e-6 * a.response.stored_energy);
    EXPECT_LT(test::block_error(a.response.dF_A_dX, b.response.dF_A_dX), 1e-4);
    // 0.5 mm on 30 mm: strains of 2 %, and the sheared block is longer than its height.
    EXPECT_NEAR(c.response.F_A.force.x(), a.response.F_A.force.x(), 0.1 * 0.3 * a.response.F_A.force.z());
    EXPECT_LE(c.response.F_A.force.head<2>().norm(), 0.3 * c.response.F_A.force.z() * (1.0 + 1e-6));
  }
}

TEST(FullContact, TangentsWithFrictionAreDerivativesOfTheWrench) {
  const ContactOptions options{.friction = 0.3, .max_penetration = 0.02};
  const Surface ball = SphereSurface{.radius = 0.05, .center = Vector3(0.03, 0.0, -0.05)};
  for (const bool curved : {false, true}) {
    const std::shared_ptr<const SignedDistance> partner =
        curved ? std::shared_ptr<const SignedDistance>(signed_distance(ball)) : std::make_shared<test::Plane>();
    const auto full = make_full(MaterialLaw::neo_hookean, options, partner);
    auto history = full->commit(*full->initial_history(), test::tilted_state(2e-3)).history;
    PairState state = test::tilted_state(2.1e-3);
    state.X_AB.p.x() += 0.3e-3;
    const Response r = full->evaluate(*history, state);
    const auto [dX, dV] = test::central_difference(*full, *history, state, 1e-6, 1e-4);
    const double error = test::block_error(r.dF_A_dX, dX);
    std::printf("%s: %d active, %d iterations, error of dF/dX %.1e\n", curved ? "sphere" : "plane",
                r.statistics.active_points, r.statistics.iterations, error);
    EXPECT_LT(error, 1e-4) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
  }
}

TEST(FullContact, TangentsAreDerivativesOfTheWrench) {
  const Surface ball = SphereSurface{.radius = 0.05, .center = Vector3(0.03, 0.0, -0.05)};
  const ContactOptions options{.hysteresis_factor = 0.8, .max_penetration = 0.02};
  for (const bool curved : {false, true}) {
    const std::shared_ptr<const SignedDistance> partner =
        curved ? std::shared_ptr<const SignedDistance>(signed_distance(ball)) : std::make_shared<test::Plane>();
    const auto full = make_full(MaterialLaw::neo_hookean, options, partner);
    const PairState state = test::tilted_state(2e-3);
    const auto history = full->commit(*full->initial_history(), state).history;
    const Response r = full->evaluate(*history, state);
    const auto [dX, dV] = test::central_difference(*full, *history, state, 1e-6, 1e-4);
    const double error_X = test::block_error(r.dF_A_dX, dX);
    std::printf("%s: %d active, error of dF/dX %.1e, of dF/dV %.1e\n", curved ? "sphere" : "plane",
                r.statistics.active_points, error_X, test::block_error(r.dF_A_dV, dV));
    EXPECT_LT(error_X, 1e-4) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(test::block_error(r.dF_A_dV, dV), 1e-6);
    const auto restored = full->load_history(history->save());
    EXPECT_EQ(full->evaluate(*restored, state).F_A.vector(), r.F_A.vector());
  }
}

// The next evaluation would read beyond the end of such a history.
TEST(FullContact, RejectsDisplacementsWithoutTheirMultipliers) {
  const auto full = make_full(MaterialLaw::linear, {.max_penetration = 0.02}, std::make_shared<test::Plane>());
  const auto history = full->commit(*full->initial_history(), test::tilted_state(2e-3)).history;
  const auto& own = dynamic_cast<const FullHistory&>(*history);
  std::string bytes = history->save();
  // After the multipliers: three counts or flags of one number each (tau, stick points, pose) and a pose of twelve.
  const std::size_t n = 8 * static_cast<std::size_t>(own.lambda.size());
  const std::size_t count = bytes.size() - 8 * (3 + 12) - n - 8;
  bytes.erase(count, 8 + n);
  bytes.insert(count, 8, '\0');
  try {
    (void)full->load_history(bytes);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
  }
}

TEST(FullContact, InertiaReliefEqualsCondensed) {
  for (const double friction : {0.0, 0.3}) {
    const ContactOptions options{.friction = friction, .max_penetration = 0.02};
    const auto plane = std::make_shared<test::Plane>();
    const auto full = make_full(MaterialLaw::linear, options, plane, true);
    const auto finite = make_full(MaterialLaw::neo_hookean, options, plane, true);
    const auto condensed = test::make_block({.inertia_relief = true, .options = options}, plane);
    for (const double depth : {0.2e-3, 2e-3}) {
      const PairState state = test::tilted_state(depth);
      const Response a = condensed->evaluate(*condensed->initial_history(), state);
      const Response b = full->evaluate(*full->initial_history(), state);
      const Response c = finite->evaluate(*finite->initial_history(), state);
      const double error = (a.F_A.vector() - b.F_A.vector()).norm() / a.F_A.vector().norm();
      std::printf("mu %.1f, depth %.1f mm: condensed %.6f N, full linear %.6f N, neo-Hookean %.6f N, difference %.1e\n",
                  friction, 1e3 * depth, a.F_A.force.z(), b.F_A.force.z(), c.F_A.force.z(), error);
      EXPECT_LT(error, 1e-6);
      EXPECT_LT(test::block_error(a.dF_A_dX, b.dF_A_dX), 1e-4);
      EXPECT_NEAR(c.F_A.force.z(), a.F_A.force.z(), (depth < 1e-3 ? 0.1 : 0.3) * a.F_A.force.z());
    }
  }
}

TEST(FullContact, ReportsTheSixRigidModesOfAnUnsupportedBody) {
  VolumeMesh mesh = test::block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, 2, 2, 2);
  BodyModel body(std::move(mesh), std::vector<Material>{test::soft_material(0.3)});
  const ContactNodes contact = contact_nodes(body, test::bottom_faces(body.mesh()));
  try {
    (void)FullContact("fem_full",
                      PreparedBody{.body = std::move(body),
                                   .support = {},
                                   .contact = contact,
                                   .partner = std::make_shared<test::Plane>(),
                                   .options = {.max_penetration = 0.02}},
                      MaterialLaw::linear, ParameterMap{});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("translations along x, y, z"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::fem
