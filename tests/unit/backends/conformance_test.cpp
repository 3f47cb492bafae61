// Requirements on every back-end of the registry, on every geometry it accepts. A new back-end is tested without a
// change of this file if example_pair has parameters for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "common/errors/error.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using testing_support::bits_of;
using testing_support::differences;
using testing_support::example_geometries;
using testing_support::example_pair;
using testing_support::ExampleGeometry;
using testing_support::expect_pure;
using testing_support::expect_same_bits_from_threads;
using testing_support::expect_saved_history_continues;
using testing_support::expect_zero;
using testing_support::make_example;
using testing_support::moved;
using testing_support::placed;
using testing_support::relative_error;
using testing_support::with_twist;

using Case = std::tuple<std::string, ExampleGeometry>;

class Conformance : public testing::TestWithParam<Case> {
 protected:
  static constexpr double depth = 2e-4;  // [m]

  void SetUp() override {
    geometry = std::get<1>(GetParam());
    pair = example_pair(std::get<0>(GetParam()), geometry);
    backend = make_example(pair);
    fresh = backend->initial_history();
    latched = backend->commit(*fresh, at(1e-9, 0.5)).history;
  }

  [[nodiscard]] PairState at(double depth_m, double closing) const {
    return placed(pair, geometry.X_AB, depth_m, closing);
  }

  /// Approach without and with a stored velocity, below and above the minimum, rest, and restitution before and after
  /// the tensile cut-off.
  [[nodiscard]] std::vector<std::pair<const History*, PairState>> states() const {
    return {{fresh.get(), at(depth, 0.4)},    {fresh.get(), at(depth, 2e-4)},   {fresh.get(), at(depth, -0.01)},
            {latched.get(), at(depth, 0.45)}, {latched.get(), at(depth, 0.01)}, {latched.get(), at(depth, -0.3)},
            {latched.get(), at(depth, -9.0)}, {latched.get(), at(1e-6, 0.5)}};
  }

  ExampleGeometry geometry;
  PairSpec pair;
  std::unique_ptr<ContactBackend> backend;
  std::shared_ptr<const History> fresh, latched;
};

// Step h: (h/depth)^6 = 1.6e-8 times a seventh derivative over 140 leaves truncation below 1e-9; gaps round at 1e-16 m,
// over h = 5e-8 m (the shallowest state) that is 2e-9. Both are far below the required 1e-6.
TEST_P(Conformance, PoseTangentIsTheDerivativeOfTheWrench) {
  for (const auto& [history, state] : states()) {
    const Response r = backend->evaluate(*history, state);
    const double h = -r.gap / 20.0;
    const Matrix6 numeric = differences(
        [&, h = history, s = state](const Vector6& x) { return backend->evaluate(*h, moved(s, x)).F_A.vector(); }, h);
    EXPECT_LT(relative_error(r.dF_A_dX, numeric), 1e-6) << "gap " << r.gap << " rate " << r.gap_rate << "\nanalytic\n"
                                                        << r.dF_A_dX << "\nnumeric\n"
                                                        << numeric;
  }
}

// The wrench is linear in the twist between kinks (the cut-off, the minimum of 1e-3 m/s): h stays within 2e-5 m/s of
// the state.
TEST_P(Conformance, TwistTangentIsTheDerivativeOfTheWrench) {
  for (const auto& [history, state] : states()) {
    const Response r = backend->evaluate(*history, state);
    const Matrix6 numeric = differences(
        [&, h = history, s = state](const Vector6& v) { return backend->evaluate(*h, with_twist(s, v)).F_A.vector(); },
        1e-5);
    // Without damping both are zero up to the rounding of the force, 1e-13 of 400 N, over h.
    const double floor = 1e-13 * r.F_A.vector().cwiseAbs().maxCoeff() / 1e-5;
    EXPECT_LE((r.dF_A_dV - numeric).cwiseAbs().maxCoeff(), 1e-6 * numeric.cwiseAbs().maxCoeff() + floor)
        << "gap " << r.gap << " rate " << r.gap_rate << "\nanalytic\n"
        << r.dF_A_dV << "\nnumeric\n"
        << numeric;
  }
}

TEST_P(Conformance, EvaluationIsPure) {
  expect_pure(*backend, states(), *latched, at(1e-3, 3.0));
}

TEST_P(Conformance, PrescribedMotionMatchesSingleCommits) {
  testing_support::expect_prescribed_motion_consistent(*backend, states(), 0.0);
}

TEST_P(Conformance, BatchMatchesSingleEvaluations) {
  testing_support::expect_batch_consistent(*backend, states(), nullptr);
}

TEST_P(Conformance, ZeroOutsideContact) {
  for (const double gap : {1e-12, 1e-6, 0.01}) expect_zero(backend->evaluate(*latched, at(-gap, 0.5)));
}

// A bound reduced to two thirds is violated by motions along the normal.
TEST_P(Conformance, GapStaysWithinItsBound) {
  int refuted = 0, answered = 0;
  for (const double gap : {-depth, 1e-3, 0.05, 0.5}) {
    PairState separated;
    try {
      separated = at(-gap, 0.5);
      ASSERT_TRUE(backend->evaluate(*latched, separated).bound.known);
    } catch (const RecoverableError&) {
      continue;  // half a metre from one side of a socket is deep in the other
    }
    ++answered;
    EXPECT_EQ(testing_support::gaps_outside_of_bounds(*backend, *latched, separated, 1.0, 1.0), 0) << "gap " << gap;
    refuted += testing_support::gaps_outside_of_bounds(*backend, *latched, separated, 1.0, 1.5);
  }
  EXPECT_GE(answered, 3);
  EXPECT_GT(refuted, 0);
}

TEST_P(Conformance, PushesTheBodiesApart) {
  const PairState state = at(depth, 0.4);
  const Response r = backend->evaluate(*latched, state);
  PairState apart = state;
  apart.X_AB.p -= 1e-5 * r.F_A.force.normalized();  // B against the force on A
  EXPECT_GT(backend->evaluate(*latched, apart).gap, r.gap) << "force on A points towards B";
  EXPECT_GT(r.F_A.force.norm(), 0.0);
  EXPECT_GT(r.area, 0.0);
  EXPECT_GT(r.peak_pressure, 0.0);
  EXPECT_NEAR(r.gap, -depth, 1e-15);
  EXPECT_NEAR(r.gap_rate, -0.4, 1e-14);
}

// Bodies exchanged: the wrench on the former B must be the opposite of the wrench on A. Gaps round at 1e-16 m of 2e-4
// m.
TEST_P(Conformance, ActionIsReactionWithBodiesSwapped) {
  PairSpec swapped = pair;
  std::swap(swapped.main, swapped.partner);
  const auto other = make_example(swapped);
  for (const double closing : {0.4, -0.2}) {
    const PairState s = at(depth, closing);
    const Matrix3 R_BA = s.X_AB.R.transpose();
    const PairState t{.t = s.t,
                      .X_AB = s.X_AB.inverse(),
                      .V_AB = {.w = -(R_BA * s.V_AB.w), .v = -(R_BA * (s.V_AB.v - s.V_AB.w.cross(s.X_AB.p)))}};
    const auto other_latched = other->load_history(latched->save());
    const Response a = backend->evaluate(*latched, s);
    const Response b = other->evaluate(*other_latched, t);
    const Vector6 expected = opposite_wrench(a.F_A, s.X_AB).vector();
    EXPECT_LE((b.F_A.vector() - expected).norm(), 1e-9 * expected.norm()) << expected << "\n\n" << b.F_A.vector();
    EXPECT_LT((s.X_AB * b.p_ACop - a.p_ACop).norm(), 1e-14);
    EXPECT_NEAR(a.gap, b.gap, 1e-15);
    EXPECT_NEAR(a.gap_rate, b.gap_rate, 1e-13);
  }
}

// Power of the motion into the contact = rate of stored energy + dissipated power, in every phase, the cut-off
// included.
TEST_P(Conformance, EnergyBalanceCloses) {
  for (const auto& [history, state] : states()) {
    const Response r = backend->evaluate(*history, state);
    const Vector6 about_B = shift_wrench(r.F_A, state.X_AB.p).vector();
    const double power_in = about_B.dot(state.V_AB.vector());
    const auto stored_after = [&, h = history, s = state](double dt) {
      return backend->evaluate(*h, moved(s, dt * s.V_AB.vector())).stored_energy;
    };
    const double dt = -r.gap / 20.0 / std::max(1.0, std::abs(r.gap_rate));
    const double stored_rate =
        (45.0 * (stored_after(dt) - stored_after(-dt)) - 9.0 * (stored_after(2 * dt) - stored_after(-2 * dt)) +
         stored_after(3 * dt) - stored_after(-3 * dt)) /
        (60.0 * dt);
    const double scale = std::abs(stored_rate) + std::abs(power_in) + r.stored_energy;
    EXPECT_NEAR(power_in, stored_rate + r.dissipated_power, 1e-7 * scale) << "gap rate " << r.gap_rate;
    EXPECT_GE(r.dissipated_power, 0.0);
  }
}

TEST_P(Conformance, SavedHistoryContinuesBitForBit) {
  expect_saved_history_continues(*backend, states(), *latched, 5);
}

// A back-end with another value of a tunable parameter continues with the stored history and responds as if it had had
// the value from the start: only the approach velocity of this history has an effect.
TEST_P(Conformance, HistoriesRemainValidUnderTunableParameters) {
  const BackendEntry& entry = find_backend(pair.backend);
  ASSERT_FALSE(entry.tunable.empty());
  for (const std::string& name : entry.tunable) {
    const auto schema = std::ranges::find(entry.parameters, name, &ParameterSchema::name);
    ASSERT_NE(schema, entry.parameters.end()) << name;
    ASSERT_EQ(schema->kind, ParameterKind::number) << name;
    PairSpec tuned = pair;
    const auto now = backend->traits().parameters.find(name);
    const double before = now == backend->traits().parameters.end() ? 1e5 : std::get<double>(now->second);
    tuned.parameters[name] = before == 0.0 ? 0.25 : 0.8 * before;
    if (name == "exponent") tuned.parameters["stiffness"] = backend->traits().parameters.at("stiffness");
    std::unique_ptr<ContactBackend> other;
    try {
      other = make_example(tuned);
    } catch (const Error&) {
      continue;  // profiles have no friction
    }
    const auto taken = other->load_history(latched->save());
    const auto own = other->commit(*other->initial_history(), at(1e-9, 0.5)).history;
    for (const double closing : {0.45, 0.01, -0.3}) {
      const Response a = other->evaluate(*taken, at(depth, closing));
      const Response b = other->evaluate(*own, at(depth, closing));
      EXPECT_LE((a.F_A.vector() - b.F_A.vector()).norm(), 1e-9 * b.F_A.vector().norm()) << name << " " << closing;
      const Vector6 committed = other->commit(*taken, at(depth, closing)).response.F_A.vector();
      EXPECT_LE((committed - b.F_A.vector()).norm(), 1e-9 * b.F_A.vector().norm()) << name << " " << closing;
    }
  }
}

TEST_P(Conformance, CorruptedHistoryIsRejected) {
  testing_support::expect_altered_history_is_rejected(*backend, *latched, at(1e-9, 0.5).X_AB);
}

TEST_P(Conformance, HistoryOfAnotherContactIsRejected) {
  const std::string other = pair.backend == "hertz" ? "hooke" : "hertz";
  const auto foreign = make_example(example_pair(other, geometry))->initial_history()->save();
  EXPECT_THROW((void)backend->load_history(foreign), Error);
}

TEST_P(Conformance, CommitRespondsWithTheNewHistory) {
  for (const auto& [history, state] : states()) {
    const Committed c = backend->commit(*history, state);
    EXPECT_EQ(bits_of(c.response), bits_of(backend->evaluate(*c.history, state)));
  }
}

TEST_P(Conformance, ConcurrentEvaluationsGiveTheSameBits) {
  expect_same_bits_from_threads(*backend, states(), 4, 200);
}

TEST_P(Conformance, ExcessivePenetrationIsRecoverable) {
  // The smallest convex radius of the examples is 0.06 m, the largest 0.1 m. placed() would fail in the same way.
  PairState state = at(0.03, 0.1);
  const Response r = backend->evaluate(*latched, state);
  state.X_AB.p += 0.075 * r.F_A.force.normalized();
  EXPECT_THROW((void)backend->evaluate(*latched, state), RecoverableError);
}

/// Every back-end of the registry on the examples that it accepts.
std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const auto& entry : backend_registry()) {
    // Back-ends without a stiffness need a mesh, layers or a material: tests/unit/fem and tests/unit/elastic_foundation
    // make the same checks for them.
    if (std::ranges::none_of(entry.parameters, [](const auto& schema) { return schema.name == "stiffness"; })) continue;
    for (const ExampleGeometry& geometry : example_geometries()) {
      const std::string shapes = geometry.main.kind + "-" + geometry.partner.kind;
      if (std::ranges::find(entry.surface_pairs, shapes) != entry.surface_pairs.end()) {
        cases.emplace_back(entry.name, geometry);
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Registry, Conformance, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace heelstrike::fem
