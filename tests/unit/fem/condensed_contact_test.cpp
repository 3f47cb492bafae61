// Contact on the condensed surface: patch test, tangents, purity, history.
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/friction/solve_friction.hpp"
#include "fem_server/fem/body_model.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

using test::central_difference;
using test::make_block;

TEST(CondensedContact, PatchTestOfUniformPressure) {
  // A block under its own inertia is not in a uniform state; a laterally free clamp is: nu = 0 makes the clamp neutral.
  for (const bool quadratic : {false, true}) {
    const auto contact = make_block({.quadratic = quadratic, .poissons_ratio = 0.0}, std::make_shared<test::Plane>());
    PairState state;
    state.X_AB.p.z() = 1e-3;
    const Response r = contact->evaluate(*contact->initial_history(), state);
    const double pressure = 3.62e6 * 1e-3 / 0.03;
    const auto surface = contact->surface_state(*contact->initial_history(), state);
    double error = 0.0;
    for (const double p : surface.pressure) error = std::max(error, std::abs(p / pressure - 1.0));
    std::printf("patch test, %s: largest error of the pressure %.2e\n", quadratic ? "quadratic" : "linear", error);
    EXPECT_LT(error, 1e-8);  // required tolerance
    EXPECT_NEAR(r.F_A.force.z(), pressure * 0.04 * 0.04, 1e-8 * r.F_A.force.z());
    EXPECT_NEAR(r.area, 0.0016, 1e-12);
  }
}

TEST(CondensedContact, FrictionProblemReproducesItsForces) {
  const auto contact =
      make_block({.options = {.friction = 0.3, .max_penetration = 0.02}}, std::make_shared<test::Plane>());
  PairState state;
  state.X_AB.p.z() = 1e-3;
  auto history = contact->commit(*contact->initial_history(), state).history;
  state.t = 0.1;
  state.X_AB.p += Vector3(4e-4, -1e-4, 2e-4);  // some nodes stick, some slide
  const Response r = contact->evaluate(*history, state);
  const friction::LocalProblem problem = contact->local_problem(*history, state);
  friction::check_problem(problem, "block");
  // FCLIB's error is relative to q; errors of forces follow by the compliance of the stiffest mode, thousands of times
  // smaller.
  const friction::FrictionSolution solution = friction::solve_friction(problem, {.tolerance = 1e-13});
  Vector3 sum = Vector3::Zero();
  // All normals are z, and so are all frames.
  for (Eigen::Index i = 0; i < problem.n_contacts(); ++i) sum += solution.r.segment<3>(3 * i);
  std::printf("force %.6f N normal, %.6f N tangential; of the general solver %.6f, %.6f\n", r.F_A.force.z(),
              r.F_A.force.head<2>().norm(), sum.x(), sum.tail<2>().norm());
  EXPECT_NEAR(sum.x(), r.F_A.force.z(), 1e-6 * r.F_A.force.z());                            // required tolerance
  EXPECT_NEAR(sum.tail<2>().norm(), r.F_A.force.head<2>().norm(), 1e-6 * r.F_A.force.z());  // required tolerance
  EXPECT_LT(r.F_A.force.head<2>().norm(), 0.3 * r.F_A.force.z() * (1.0 - 1e-6)) << "nothing sticks";
}

TEST(CondensedContact, HasNoFrictionProblemWithoutFriction) {
  const auto contact = make_block({}, std::make_shared<test::Plane>());
  EXPECT_THROW((void)contact->local_problem(*contact->initial_history(), PairState{}), Error);
}

struct TangentCase {
  const char* name;
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  double tolerance;  // relative to the largest entry of the block
};

TEST(CondensedContact, TangentsAreDerivativesOfTheWrench) {
  const Surface ball = SphereSurface{.radius = 0.05, .center = Vector3(0.03, 0.0, -0.05)};
  const Surface roll = CylinderSurface{.radius = 0.05, .axis = Vector3::UnitY(), .center = Vector3(0.03, 0.0, -0.05)};
  const ContactOptions elastic{.max_penetration = 0.02};
  const ContactOptions damped{.hysteresis_factor = 0.8, .max_penetration = 0.02};
  const std::vector<TangentCase> cases{
      {"plane", std::make_shared<test::Plane>(), elastic, 1e-6},
      {"plane, damped", std::make_shared<test::Plane>(), damped, 1e-4},
      {"sphere", signed_distance(ball), elastic, 1e-4},
      {"sphere, damped", signed_distance(ball), damped, 1e-3},
      {"cylinder", signed_distance(roll), elastic, 1e-4},
  };
  for (const TangentCase& c : cases) {
    const auto contact = make_block({.options = c.options}, c.partner);
    const PairState state = test::tilted_state(2e-3);
    auto history = contact->initial_history();
    history = contact->commit(*history, state).history;  // stores the approach velocity
    const Response r = contact->evaluate(*history, state);
    const auto [dX, dV] = central_difference(*contact, *history, state, 1e-7, 1e-4);
    const double error_X = test::block_error(r.dF_A_dX, dX);
    const double error_V = test::block_error(r.dF_A_dV, dV);
    std::printf("%-16s %3d active, error of dF/dX %.1e, of dF/dV %.1e\n", c.name, r.statistics.active_points, error_X,
                error_V);
    EXPECT_LT(error_X, c.tolerance) << c.name << "\nanalytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(error_V, 1e-6) << c.name << "\nanalytic\n" << r.dF_A_dV << "\nnumeric\n" << dV;
  }
}

TEST(CondensedContact, FrictionTangentsAreDerivativesOfTheWrench) {
  const Surface ball = SphereSurface{.radius = 0.05, .center = Vector3(0.03, 0.0, -0.05)};
  struct Case {
    const char* name;
    std::shared_ptr<const SignedDistance> partner;
    double friction;
    double drag;  // [m] since the commit
  };
  const std::vector<Case> cases{{"plane, sticks", std::make_shared<test::Plane>(), 0.9, 1e-5},
                                {"plane, part slides", std::make_shared<test::Plane>(), 0.3, 2e-4},
                                {"plane, slides", std::make_shared<test::Plane>(), 0.2, 5e-3},
                                {"sphere, slides", signed_distance(ball), 0.2, 2e-3}};
  for (const Case& c : cases) {
    const auto contact =
        make_block({.options = {.friction = c.friction, .hysteresis_factor = 0.5, .max_penetration = 0.02}}, c.partner);
    const auto history = contact->commit(*contact->initial_history(), test::tilted_state(1.9e-3)).history;
    PairState state = test::tilted_state(2e-3);
    state.X_AB.p.x() += c.drag;
    const Response r = contact->evaluate(*history, state);
    const auto [dX, dV] = central_difference(*contact, *history, state, 1e-8, 1e-4);
    const double error_X = test::block_error(r.dF_A_dX, dX);
    const double error_V = test::block_error(r.dF_A_dV, dV);
    std::printf("%-20s %3d active, %2d iterations, Fx/Fz %.3f, error of dF/dX %.1e, of dF/dV %.1e\n", c.name,
                r.statistics.active_points, r.statistics.iterations, r.F_A.force.x() / r.F_A.force.z(), error_X,
                error_V);
    EXPECT_LT(error_X, 1e-4) << c.name << "\nanalytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
    EXPECT_LT(error_V, 1e-6) << c.name;
  }
}

TEST(CondensedContact, PenaltyFollowsItsLawAndConvergesToNoPenetration) {
  // nu = 0: every column of the block is a spring k = E / L per area in series with the penalty, so that
  // kappa s^2 = E (d - s) / L with the penetration s.
  constexpr double d = 1e-3;
  constexpr double stiffness = 3.62e6 / 0.03;
  PairState state;
  state.X_AB.p.z() = d;
  std::printf("%12s %14s %14s\n", "kappa", "force [N]", "closed form");
  double hard = 0.0;
  for (const double kappa : {1e9, 1e11, 1e19}) {
    const auto contact = make_block({.poissons_ratio = 0.0, .options = {.max_penetration = 0.02, .penalty = kappa}},
                                    std::make_shared<test::Plane>());
    const auto history = contact->initial_history();
    const Response r = contact->evaluate(*history, state);
    const double s = (std::sqrt(stiffness * stiffness + 4.0 * kappa * stiffness * d) - stiffness) / (2.0 * kappa);
    const double force = kappa * s * s * 0.0016;
    std::printf("%12.1e %14.8f %14.8f\n", kappa, r.F_A.force.z(), force);
    EXPECT_NEAR(r.F_A.force.z(), force, 1e-9 * force);
    EXPECT_NEAR(r.stored_energy, 0.0016 * (kappa * s * s * s / 3.0 + 0.5 * stiffness * (d - s) * (d - s)),
                1e-9 * r.stored_energy);
    hard = r.F_A.force.z();
  }
  EXPECT_NEAR(hard, stiffness * d * 0.0016, 1e-3 * hard) << "no penetration in the limit";
  const auto contact =
      make_block({.options = {.max_penetration = 0.02, .penalty = 1e11}}, std::make_shared<test::Plane>());
  const PairState tilted = test::tilted_state(2e-3);
  const auto history = contact->commit(*contact->initial_history(), tilted).history;
  const Response r = contact->evaluate(*history, tilted);
  const auto [dX, dV] = central_difference(*contact, *history, tilted, 1e-7, 1e-4);
  EXPECT_LT(test::block_error(r.dF_A_dX, dX), 1e-6) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
  EXPECT_THROW((void)make_block({.options = {.friction = 0.3, .max_penetration = 0.02, .penalty = 1e11}},
                                std::make_shared<test::Plane>()),
               Error);
}

TEST(CondensedContact, EvaluateIsPureAndHistoryIsRestored) {
  const auto contact = make_block({.options = {.friction = 0.3, .hysteresis_factor = 0.8, .max_penetration = 0.02}},
                                  std::make_shared<test::Plane>());
  const PairState first = test::tilted_state(1e-3);
  const PairState second = test::tilted_state(1.5e-3);
  const auto history = contact->commit(*contact->initial_history(), first).history;
  const Response before = contact->evaluate(*history, second);
  (void)contact->evaluate(*history, test::tilted_state(3e-3));
  (void)contact->commit(*history, test::tilted_state(0.5e-3));
  const Response after = contact->evaluate(*history, second);
  EXPECT_EQ(before.F_A.vector(), after.F_A.vector());
  EXPECT_EQ(before.dF_A_dX, after.dF_A_dX);
  const auto restored = contact->load_history(history->save());
  const Response again = contact->evaluate(*restored, second);
  EXPECT_EQ(before.F_A.vector(), again.F_A.vector());
  EXPECT_EQ(before.dF_A_dX, again.dF_A_dX);
  EXPECT_EQ(before.dF_A_dV, again.dF_A_dV);
  EXPECT_THROW((void)contact->load_history(history->save().substr(0, 40)), Error);
}

/// The same plane, as a distance: candidates far from it are excluded.
class DistancePlane final : public SignedDistance {
 public:
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override { return test::Plane().closest(p_BQ); }
  [[nodiscard]] bool is_distance() const override { return true; }
};

// Data stored with a committed state saves work and has no other effect. For one tilt, the other edge of the block is
// excluded; for the opposite tilt it is the one in contact.
TEST(CondensedContact, NeighbourhoodOfTheCommittedStateChangesNoResult) {
  for (const double friction : {0.0, 0.3}) {
    const ContactOptions options{.friction = friction, .max_penetration = 0.02};
    const auto all = test::make_block({.n = 8, .options = options}, std::make_shared<test::Plane>());
    const auto few = test::make_block({.n = 8, .options = options}, std::make_shared<DistancePlane>());
    const auto tilted = [](double angle, double x, double depth) {
      PairState state;
      state.X_AB.R = rotation_from_vector(Vector3(0.0, angle, 0.0));
      state.X_AB.p = Vector3(0.03 + x, 0.0, depth);
      return state;
    };
    const PairState committed = tilted(0.03, 0.0, -5e-4);  // 0.1 mm deep at one edge, 1.1 mm off at the other
    const auto total = all->commit(*all->initial_history(), committed).history;
    const auto of_few = few->commit(*few->initial_history(), committed).history;
    for (const PairState& state : {tilted(0.03, 1e-6, -4.99e-4), tilted(0.03, 1e-5, -4.5e-4), tilted(0.029, 0.0, -5e-4),
                                   tilted(0.03, 0.0, -1e-3), tilted(-0.03, 0.0, -5e-4), tilted(0.0, 0.0, 8e-4)}) {
      const Response a = all->evaluate(*total, state);
      const Response b = few->evaluate(*of_few, state);
      EXPECT_EQ(a.gap, b.gap);
      EXPECT_EQ(a.statistics.active_points, b.statistics.active_points);
      // Matrices of different sizes round differently; friction stops at 1e-10 of the depth.
      EXPECT_LE((a.F_A.vector() - b.F_A.vector()).norm(), 1e-8 * a.F_A.vector().norm());
      EXPECT_LE((a.dF_A_dX - b.dF_A_dX).norm(), 1e-5 * a.dF_A_dX.norm());
    }
  }
}

// Friction near a committed state starts from its matrix. With a distant next state it does not: both are solutions of
// one problem, independent of earlier evaluations.
TEST(CondensedContact, FrictionFromTheCommittedMatrixEqualsThatWithoutIt) {
  const auto block = test::make_block({.n = 9, .options = {.friction = 0.3, .max_penetration = 0.02}},
                                      std::make_shared<DistancePlane>());
  auto history = block->initial_history();
  for (const double depth : {1.6e-3, 1.8e-3, 1.9e-3}) {
    PairState state = test::tilted_state(depth);
    state.X_AB.p.x() += 0.2 * depth;
    history = block->commit(*history, state).history;
  }
  const auto restored = block->load_history(history->save());
  for (const auto& [depth, x] :
       {std::pair{1.9e-3, 3.8e-4}, std::pair{1.901e-3, 3.82e-4}, std::pair{1.95e-3, 4.5e-4}, std::pair{1.85e-3, 3.7e-4},
        std::pair{2.4e-3, 3.8e-4}, std::pair{1.9e-3, -4e-4}, std::pair{1.2e-3, 3.8e-4}}) {
    PairState state = test::tilted_state(depth);
    state.X_AB.p.x() += x;
    state.X_AB.R = state.X_AB.R * rotation_from_vector(Vector3(0.0, 0.0, x));
    const Response near = block->evaluate(*history, state);
    const Response again = block->evaluate(*restored, state);
    EXPECT_EQ(near.F_A.vector(), again.F_A.vector());
    EXPECT_EQ(near.dF_A_dX, again.dF_A_dX);
    const Response far = block->evaluate(*history, state, {.tangents = true, .keep_warm_start = false});
    EXPECT_EQ(near.statistics.active_points, far.statistics.active_points);
    // Friction stops at 1e-10 of the depth, tangents at 1e-5.
    EXPECT_LE((near.F_A.vector() - far.F_A.vector()).norm(), 1e-8 * far.F_A.vector().norm()) << depth << " " << x;
    EXPECT_LE((near.dF_A_dX - far.dF_A_dX).norm(), 5e-5 * far.dF_A_dX.norm()) << depth << " " << x;
  }
}

TEST(CondensedContact, IsExactlyZeroApartAndRejectsExcessivePenetration) {
  const auto contact = make_block({.options = {.max_penetration = 0.004}}, std::make_shared<test::Plane>());
  PairState state;
  state.X_AB.p.z() = -1e-3;
  const Response r = contact->evaluate(*contact->initial_history(), state);
  EXPECT_DOUBLE_EQ(r.gap, 1e-3);
  EXPECT_EQ(r.F_A.vector(), Vector6::Zero());
  EXPECT_EQ(r.dF_A_dX, Matrix6::Zero());
  state.X_AB.p.z() = 5e-3;
  try {
    (void)contact->evaluate(*contact->initial_history(), state);
    FAIL() << "5 mm overlap with a limit of 4 mm";
  } catch (const RecoverableError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("0.005 m"));
  }
}

}  // namespace
}  // namespace heelstrike::fem
