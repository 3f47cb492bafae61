// A body that vibrates in contact: the exact step of a mode, and the contact response.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/fem_modal/modal_oscillator.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ModeStep, OfALinearForceIsExactForAnyDivision) {
  for (const double zeta : {0.0, 0.05, 0.7}) {
    for (const double h : {1e-7, 0.9e-3, 1.1e-3, 0.3}) {  // omega h on both sides of the switch to series
      const double omega = 100.0;
      const ModeState start{.q = 0.2, .v = -30.0, .g = 500.0};
      const double g_end = -900.0;
      const ModeState whole = ModeStep(omega, zeta, h).after(start, g_end);
      ModeState parts = start;
      double dissipated = 0.0;
      const ModeStep tenth(omega, zeta, h / 10.0);
      for (int i = 1; i <= 10; ++i) {
        const ModeState before = parts;
        parts = tenth.after(before, start.g + (g_end - start.g) * i / 10.0);
        dissipated += tenth.dissipated(before, parts);
      }
      EXPECT_NEAR(whole.q, parts.q, 1e-13 * (0.2 + 30.0 / omega)) << zeta << " " << h;
      EXPECT_NEAR(whole.v, parts.v, 1e-12 * (30.0 + 0.2 * omega)) << zeta << " " << h;
      const ModeStep step(omega, zeta, h);
      EXPECT_NEAR(step.dissipated(start, whole), dissipated, 1e-9 * step.energy(start));
      EXPECT_GE(step.modal_compliance(), 0.0);
    }
  }
}

TEST(ModeStep, AtRestConvergesToTheStaticResponse) {
  const ModeStep step(40.0, 0.5, 1e6);
  EXPECT_NEAR(step.modal_compliance() * 40.0 * 40.0, 1.0, 1e-6);
  const ModeState end = step.after({.q = 0.0, .v = 0.0, .g = 1600.0}, 1600.0);
  EXPECT_NEAR(end.q, 1.0, 1e-12);
  EXPECT_NEAR(end.v, 0.0, 1e-9);
}

/// Soft block of 40 x 40 x 30 mm, clamped at its top or free, over a ball or a plane.
class VibratingBlock : public testing::Test {
 protected:
  VibratingBlock() {
    pair_.name = "block-partner";
    pair_.backend = "fem_modal";
    pair_.main.surface = BlockSurface{.lengths = Vector3(0.04, 0.04, 0.03), .center = Vector3(0.0, 0.0, 0.015)};
    pair_.main.materials = {test::soft_material(0.3)};
    pair_.partner.surface = SphereSurface{.radius = 0.06, .center = Vector3(0.0, 0.0, -0.06)};
    pair_.parameters = {{"element_size", 0.01},
                        {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0299, 1.0, 1.0, 1.0}},
                        {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                        {"modes", 12.0}};
  }
  [[nodiscard]] std::unique_ptr<ContactBackend> make() const {
    PrepareContext context;
    context.on_progress = [](std::string_view, double) {};
    return make_backend(pair_, context);
  }
  [[nodiscard]] static PairState at(double t, double depth) {
    PairState state;
    state.t = t;
    state.X_AB.R = rotation_from_vector(Vector3(0.01, -0.015, 0.02));
    state.X_AB.p = Vector3(1e-3, -5e-4, depth);
    state.V_AB.v = Vector3(0.01, 0.02, 0.4);
    return state;
  }
  [[nodiscard]] std::string rejection_error() const {
    try {
      (void)make();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  PairSpec pair_;
};

TEST_F(VibratingBlock, WithoutModesEqualsTheCondensedBody) {
  pair_.parameters["modes"] = 0.0;
  const auto modal = make();
  pair_.backend = "fem_condensed";
  pair_.parameters.erase("modes");
  pair_.parameters["contact_nodes"] = std::string("all");
  const auto condensed = make();
  for (const double depth : {-1e-3, 1e-4, 6e-4}) {
    const Response a = modal->evaluate(*modal->initial_history(), at(0.0, depth));
    const Response b = condensed->evaluate(*condensed->initial_history(), at(0.0, depth));
    EXPECT_NEAR(a.gap, b.gap, 1e-15);
    EXPECT_LT((a.F_A.vector() - b.F_A.vector()).norm(), 1e-11 * (1e-9 + b.F_A.force.norm()));
    EXPECT_LT((a.dF_A_dX - b.dF_A_dX).norm(), 1e-9 * (1e-9 + b.dF_A_dX.norm()));
    EXPECT_NEAR(a.stored_energy, b.stored_energy, 1e-11 * b.stored_energy);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-10 * b.peak_pressure);
  }
}

// Exchanged back-ends report equal gap and depth, for any modal motion in contact; out of contact the gap is that of
// the vibrating body.
TEST_F(VibratingBlock, ReportsTheGapOfTheUndeformedShapesInContact) {
  const auto modal = make();
  pair_.parameters["max_penetration"] = 5.5e-4;
  const auto limited = make();
  pair_.parameters.erase("max_penetration");
  pair_.backend = "fem_condensed";
  pair_.parameters.erase("modes");
  const auto condensed = make();
  auto history = modal->commit(*modal->initial_history(), at(0.0, 5e-4)).history;
  for (int i = 1; i <= 20; ++i) {
    const PairState state = at(1e-4 * i, 6e-4);
    const Committed committed = modal->commit(*history, state);
    const Response expected = condensed->evaluate(*condensed->initial_history(), state);
    ASSERT_GT(committed.response.F_A.force.z(), 0.0);
    EXPECT_EQ(committed.response.gap, expected.gap);
    EXPECT_EQ(committed.response.gap_rate, expected.gap_rate);
    history = committed.history;
  }
  const auto at_rest = limited->commit(*limited->initial_history(), at(0.0, 5e-4)).history;
  EXPECT_THROW((void)limited->evaluate(*at_rest, at(1e-2, 6e-4)), RecoverableError);
  // Immediately after separation the indentation has not recovered: the undeformed shapes overlap, the bodies are
  // apart.
  const Response apart = modal->evaluate(*history, at(2e-3 + 1e-6, 1e-5));
  EXPECT_EQ(apart.F_A.vector(), Vector6::Zero());
  EXPECT_GT(apart.gap, 0.0);
}

TEST_F(VibratingBlock, StartsAtRestUnderItsLoadAndIsStifferUnderSuddenChange) {
  pair_.partner.surface = PlaneSurface{};  // where moved nodes have the linear gap to the last digit
  const auto modal = make();
  const auto fresh = modal->initial_history();
  const Response still = modal->evaluate(*fresh, at(0.0, 6e-4));
  const auto committed = modal->commit(*fresh, at(0.0, 6e-4)).history;
  const Response later = modal->evaluate(*committed, at(1.0, 6e-4));
  EXPECT_LT((later.F_A.vector() - still.F_A.vector()).norm(), 1e-9 * still.F_A.force.norm());
  EXPECT_NEAR(later.stored_energy, still.stored_energy, 1e-9 * still.stored_energy);
  const double slow = modal->evaluate(*fresh, at(0.0, 7e-4)).F_A.force.z();
  const double sudden = modal->evaluate(*committed, at(1e-7, 7e-4)).F_A.force.z();
  EXPECT_GT(sudden - still.F_A.force.z(), 1.05 * (slow - still.F_A.force.z()));
}

TEST_F(VibratingBlock, TangentsAreDerivativesOfItsForce) {
  const auto modal = make();
  const auto committed = modal->commit(*modal->initial_history(), at(0.0, 5e-4)).history;
  const PairState state = at(3e-4, 6e-4);
  const Response response = modal->evaluate(*committed, state);
  for (int k = 0; k < 6; ++k) {
    Vector6 step = Vector6::Zero();
    step[k] = k < 3 ? 1e-6 : 1e-8;
    const auto moved = [&](double sign) {
      PairState other = state;
      other.X_AB.R = rotation_from_vector(sign * step.head<3>()) * state.X_AB.R;
      other.X_AB.p += sign * step.tail<3>();
      return modal->evaluate(*committed, other).F_A.vector();
    };
    const Vector6 difference = (moved(1.0) - moved(-1.0)) / (2.0 * step.norm());
    EXPECT_LT((difference - response.dF_A_dX.col(k)).norm(), 1e-5 * response.dF_A_dX.col(k).norm()) << k;
  }
}

TEST_F(VibratingBlock, EnergyBalanceClosesOverRepeatedContact) {
  pair_.parameters["modal_damping"] = 0.02;
  const auto modal = make();
  auto history = modal->initial_history();
  double stored = 0.0;
  double dissipated = 0.0;
  double work = 0.0;
  double most = 0.0;
  const auto depth = [](double t) { return -2e-4 + 6e-4 * std::abs(std::sin(2e3 * t)); };  // three contacts
  PairState before = at(0.0, depth(0.0));
  Response last = modal->commit(*history, before).response;
  history = modal->commit(*history, before).history;
  int onsets = 0;
  for (int i = 1; i <= 20'000; ++i) {
    const double t = 2.5e-7 * i;
    const PairState state = at(t, depth(t));
    const Committed committed = modal->commit(*history, state);
    const Response& now = committed.response;
    onsets += now.gap < 0.0 && last.gap >= 0.0 ? 1 : 0;
    // B only translates: its wrench is opposite.
    work -= 0.5 * -(now.F_A.force + last.F_A.force).dot(state.X_AB.p - before.X_AB.p);
    stored = now.gap < 0.0 ? now.stored_energy : 0.0;
    dissipated += now.dissipated_increment;
    most = std::max(most, stored);
    last = now;
    history = committed.history;
    before = state;
  }
  EXPECT_GE(onsets, 3);
  EXPECT_GT(dissipated, 0.0);
  EXPECT_NEAR(work, stored + dissipated, 2e-3 * most) << stored << " " << dissipated;
}

TEST_F(VibratingBlock, ResumesBitForBitAfterRestore) {
  const auto modal = make();
  const auto committed = modal->commit(*modal->initial_history(), at(0.0, 5e-4)).history;
  const auto vibrating = modal->commit(*committed, at(1e-4, -1e-4)).history;
  const auto restored = modal->load_history(vibrating->save());
  const Response a = modal->evaluate(*vibrating, at(2e-4, 1e-5));
  const Response b = modal->evaluate(*restored, at(2e-4, 1e-5));
  EXPECT_EQ(a.gap, b.gap);
  EXPECT_EQ(a.F_A.vector(), b.F_A.vector());
  // It still vibrates: the smallest gap is not that of the shape at rest, and no bound is given.
  EXPECT_NE(a.gap, modal->evaluate(*modal->initial_history(), at(2e-4, 1e-5)).gap);
  EXPECT_FALSE(a.bound.known);
  EXPECT_TRUE(modal->evaluate(*modal->initial_history(), at(2e-4, -1e-3)).bound.known);
}

TEST_F(VibratingBlock, ReportsUnsupportedInput) {
  const auto modal = make();
  const auto committed = modal->commit(*modal->initial_history(), at(1.0, 5e-4)).history;
  EXPECT_THROW((void)modal->evaluate(*committed, at(0.5, 5e-4)), Error);
  const PairSpec is_valid = pair_;
  pair_.parameters["friction"] = 0.3;
  EXPECT_THAT(rejection_error(), HasSubstr("friction"));
  pair_ = is_valid;
  pair_.parameters["modes"] = 2.5;
  EXPECT_THAT(rejection_error(), HasSubstr("expected a whole number, found 2.5"));
  pair_.parameters["modes"] = -1.0;
  EXPECT_THAT(rejection_error(), HasSubstr("modes"));
  pair_ = is_valid;
  pair_.parameters["modal_damping"] = 1.0;
  EXPECT_THAT(rejection_error(), HasSubstr("modal_damping"));
  pair_ = is_valid;
  pair_.main.materials.front().density = 0.0;
  EXPECT_THAT(rejection_error(), HasSubstr("contact." + pair_.name + ".main.material.density: expected"));
  pair_ = is_valid;
  pair_.parameters["modes"] = 9'999.0;
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("contact." + pair_.name), HasSubstr("unknowns of the body")));
  pair_ = is_valid;
  pair_.partner.materials = {test::soft_material(0.3)};
  EXPECT_THAT(rejection_error(), HasSubstr("fem_modal has a rigid partner"));
}

}  // namespace
}  // namespace heelstrike::fem
