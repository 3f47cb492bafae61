// Schemes with macro steps: rejected input, checkpoints, histories, and their components. Their accuracy and stability:
// tests/validation/mbs/coupling_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/coupling/acceleration.hpp"
#include "mbs_server/coupling/extrapolation.hpp"
#include "mbs_server/coupling/step_control.hpp"
#include "tests/support/coupling_case.hpp"
#include "tests/support/forwarding_contact.hpp"

namespace heelstrike::test {
namespace {

using mbs::VectorX;
using testing::HasSubstr;

// ---- rejected input

/// The message for a section `coupling`.
std::string rejection_error(const std::string& coupling, const std::vector<std::string>& overrides = {}) {
  try {
    (void)scenario_from(TwoMasses{}.yaml(coupling, 0.1, 1e-3), overrides);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    return e.what();
  }
  return "accepted";
}

TEST(CouplingSection, EveryErrorIsReportedWithItsRemedy) {
  const auto expect = [](const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_THAT(message, HasSubstr(part));
  };
  expect(rejection_error("{scheme: jakobi, macro_step: 2e-3}"),
         {"coupling.scheme", "jakobi", "gauss_seidel", "did you mean", "jacobi"});
  expect(rejection_error("{scheme: implicit, macro_step: 2e-3, acceleration: aitkn}"),
         {"coupling.acceleration", "aitkn", "iqn_ils", "did you mean"});
  expect(rejection_error("{scheme: jacobi}"), {"coupling.macro_step", "missing", "[s]"});
  expect(rejection_error("{scheme: jacobi, macro_step: 0}"), {"coupling.macro_step", "[s]", "found 0"});
  expect(rejection_error("{scheme: jacobi, macro_step: 5e-4}"),
         {"coupling.macro_step", "at least the step of the integrator, 0.001 s", "0.0005 s", "increase it"});
  expect(rejection_error("{scheme: jacobi, macro_step: 0.2}"),
         {"coupling.macro_step", "at most the whole run, 0.1 s", "0.2 s"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3}",
                         {"analysis.budget.steps=20", "analysis.integrator={name: arkode_erk}"}),
         {"coupling.macro_step", "20 macro steps", "analysis.budget.steps"});
  expect(rejection_error("{scheme: implicit, macro_step: 2e-3, max_iterations: 0}"),
         {"coupling.max_iterations", "[1, 10000]", "found 0", "give a value in this range"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3, acceleration: aitken}"),
         {"coupling.acceleration", "unknown key of 'jacobi'", "belongs to `scheme: implicit`"});
  expect(rejection_error("{scheme: monolithic, macro_step: 2e-3}"),
         {"coupling.macro_step", "unknown key of 'monolithic'", "`scheme: jacobi`"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3, extrapolation: 3}"),
         {"coupling.extrapolation", "tangent", "found 3"});
  expect(rejection_error("{scheme: implicit, macro_step: 2e-3, extrapolation: tangent}"),
         {"coupling.extrapolation", "0, 1, 2"});
  expect(rejection_error("{scheme: implicit, macro_step: 2e-3, interpolation: quadratic}"),
         {"coupling.substeps", "at least 2", "parabola"});
  expect(rejection_error("{scheme: implicit, macro_step: 2e-3, acceleration: aitken, reused_steps: 2}"),
         {"coupling.reused_steps", "iqn_ils", "remove it"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3, step_control: {max_step: 4e-3}}"),
         {"coupling.step_control", "energy_tolerance", "power_tolerance", "neither"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3, step_control: {energy_tolerance: 1, min_step: 3e-3}}"),
         {"coupling.step_control.min_step", "at most macro_step, 0.002 s"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3, step_control: {energy_tolerance: 1, max_step: 1e-3}}"),
         {"coupling.step_control.max_step", "at least macro_step, 0.002 s"});
  expect(rejection_error("{scheme: jacobi, macro_step: 2e-3}", {"analysis.type=static"}),
         {"coupling.scheme", "without time integration", "analysis.type: static"});
  EXPECT_EQ(rejection_error("{scheme: monolithic}"), "accepted");
  EXPECT_EQ(rejection_error("{scheme: jacobi, macro_step: 2e-3}"), "accepted");
}

// ---- runs

std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

class EveryScheme : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Coupling, EveryScheme,
    testing::Values("{scheme: gauss_seidel, macro_step: 4e-3, extrapolation: 2}",
                    "{scheme: gauss_seidel, macro_step: 4e-3, extrapolation: tangent}",
                    "{scheme: jacobi, macro_step: 4e-3, extrapolation: 2}",
                    "{scheme: jacobi, macro_step: 4e-3, extrapolation: 1, step_control: {energy_tolerance: 1e-8}}",
                    "{scheme: implicit, macro_step: 4e-3, acceleration: aitken, interpolation: quadratic, substeps: 3}",
                    "{scheme: implicit, macro_step: 4e-3, reused_steps: 2, step_control: {power_tolerance: 1e-5}}"),
    [](const auto& info) { return fmt::format("case{}", info.index); });

TEST_P(EveryScheme, RunRestoredWithinAMacroStepContinuesWithTheSameBits) {
  const mbs::RunInput input = coupling_input(TwoMasses{}.yaml(GetParam(), 0.2, 1e-3));
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(0.0621));
  const std::int64_t exchanges = simulation.model().scheme().statistics()->exchanges;
  const Checkpoint checkpoint = simulation.save();
  EXPECT_EQ(simulation.model().scheme().statistics()->exchanges, exchanges) << "saving is no exchange";
  mbs::RunInput resumed = input;
  resumed.resume_from = checkpoint;
  mbs::Simulation other(resumed);
  other.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(0.2));
  ASSERT_TRUE(other.advance_to(0.2));
  const auto a = simulation.output_values();
  const auto b = other.output_values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bits_of(a[i]), bits_of(b[i])) << simulation.outputs()[i].name;
  }
  EXPECT_EQ(*simulation.model().scheme().statistics(), *other.model().scheme().statistics());
  EXPECT_GT(simulation.model().scheme().statistics()->exchanges, exchanges);
}

TEST(CouplingCheckpoint, OfAnotherSchemeIsRejectedWithoutSideEffects) {
  const TwoMasses masses;
  const auto jacobi = coupling_input(masses.yaml("{scheme: jacobi, macro_step: 4e-3, extrapolation: 1}", 0.2, 1e-3));
  const auto implicit = coupling_input(masses.yaml("{scheme: implicit, macro_step: 4e-3}", 0.2, 1e-3));
  mbs::Simulation a(jacobi), b(implicit);
  a.initialise(fem::open_local_contact);
  b.initialise(fem::open_local_contact);
  ASSERT_TRUE(a.advance_to(0.05));
  ASSERT_TRUE(b.advance_to(0.05));
  mbs::CouplingScheme& scheme = a.model().scheme();
  const std::string before = scheme.save();
  EXPECT_THROW(scheme.restore(b.model().scheme().save()), Error);
  EXPECT_THROW(scheme.restore(before.substr(0, before.size() - 8)), Error);
  EXPECT_THROW(scheme.restore(before + std::string(8, '\0')), Error);
  EXPECT_EQ(scheme.save(), before);
}

/// Compares the history before and after every evaluation, and stores it at every commit.
class WatchedContact final : public ForwardingContact {
 public:
  struct Record {
    int evaluations = 0;
    std::vector<std::vector<std::string>> committed;
    std::vector<std::vector<PairState>> states;
  };
  WatchedContact(std::unique_ptr<Contact> inner, Record& record)
      : ForwardingContact(std::move(inner)), record_(record) {}
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    ++record_.evaluations;
    ForwardingContact::evaluate(step, iteration, states, responses);
    if (!record_.committed.empty()) {
      EXPECT_EQ(save_state(), record_.committed.back()) << "an evaluation had a side effect";
    }
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    ForwardingContact::commit(step, states, responses);
    record_.committed.push_back(save_state());
    record_.states.emplace_back(states.begin(), states.end());
  }

 private:
  Record& record_;
};

ContactFactory watched(WatchedContact::Record& record) {
  return [&record](auto pairs, auto assets, const OpenContext& context) {
    return std::make_unique<WatchedContact>(fem::open_local_contact(pairs, assets, context), record);
  };
}

/// The rubber block of examples/block_friction.yaml, coarse, set down and pushed over the plane.
std::string pushed_block(const std::string& coupling) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {{mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.01], velocity: [0.2, 0, -0.02]}}
loads:
  press: {{body: block, force: [0, 0, -8.0]}}
contact:
  block-ground:
    main:
      body: block
      surface: {{block: {{lengths: [0.04, 0.03, 0.02]}}}}
      material: {{youngs_modulus: 2.0e6, poissons_ratio: 0.3, density: 1100}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: fem_condensed
    parameters: {{element_size: 0.01, clamped_set: top, contact_set: bottom, friction: 0.5}}
coupling: {}
analysis: {{end_time: 4.0e-3, integrator: {{name: rk4, step: 2.0e-5}}}}
output: {{interval: 1.0e-3}}
)yaml",
                     coupling);
}

TEST(MacroSteps, RejectedMacroStepMovesNoStickPoint) {
  for (const char* coupling :
       {"{scheme: gauss_seidel, macro_step: 5e-4, step_control: {energy_tolerance: 2e-8}}",
        "{scheme: implicit, macro_step: 1e-3, substeps: 2, step_control: {energy_tolerance: 1e-7}}"}) {
    const auto input = coupling_input(pushed_block(coupling));
    WatchedContact::Record record;
    mbs::Simulation simulation(input);
    simulation.initialise(watched(record));
    ASSERT_TRUE(simulation.advance_to(simulation.end_time()));
    const CouplingStatistics statistics = *simulation.model().scheme().statistics();
    EXPECT_GT(statistics.rejected_macro_steps, 0) << coupling;
    EXPECT_EQ(static_cast<std::size_t>(statistics.exchanges), record.committed.size());
    // A partner that receives only the accepted ends has the same history, byte for byte.
    std::vector<PairSpec> specs;
    for (const auto& pair : input.scenario.pairs) specs.push_back(pair.spec);
    const auto fresh = fem::open_local_contact(specs, {}, {.run_id = "test", .on_progress = {}, .stop = {}});
    std::vector<Response> responses(1);
    bool moved = false;
    for (std::size_t i = 0; i < record.states.size(); ++i) {
      fresh->commit(static_cast<std::int64_t>(i), record.states[i], responses);
      EXPECT_EQ(fresh->save_state(), record.committed[i]) << coupling << ", commit " << i;
      moved = moved || record.committed[i] != record.committed.front();
    }
    EXPECT_TRUE(moved) << "the block slides: its stick points move";
    fmt::print("{}: {} exchanges, {} macro steps repeated, {} evaluations\n", coupling, statistics.exchanges,
               statistics.rejected_macro_steps, record.evaluations);
  }
}

std::string failure_of(const std::string& yaml) {
  const RecordedRun run = run_local(scenario_from(yaml));
  EXPECT_EQ(run.summary.status, "failed");
  if (!run.summary.error) return {};
  EXPECT_EQ(run.summary.error->code(), ErrorCode::solver_failed);
  return run.summary.error->what();
}

TEST(MacroSteps, DivergedIterationIsReportedWithResidualAndRemedy) {
  const std::string failure = failure_of(
      TwoMasses{}.yaml("{scheme: implicit, macro_step: 0.11, acceleration: none, max_iterations: 7}", 0.22, 1e-3));
  for (const char* part :
       {"has not converged after 7 iterations", "from t = 0 s to 0.11 s", "force of contact 'spring'", " N, and ",
        "is allowed", "reduce coupling.macro_step", "iqn_ils", "raise max_iterations"}) {
    EXPECT_THAT(failure, HasSubstr(part));
  }
}

TEST(MacroSteps, UnreachableToleranceEndsTheRunAtTheMinimumStep) {
  const std::string failure = failure_of(TwoMasses{}.yaml(
      "{scheme: gauss_seidel, macro_step: 8e-3, step_control: {energy_tolerance: 1e-15, min_step: 2e-3}}", 0.1, 1e-3));
  for (const char* part : {"not longer than coupling.step_control.min_step", "creates or destroys", "allows 1e-15 J",
                           "loosen the tolerance"}) {
    EXPECT_THAT(failure, HasSubstr(part));
  }
}

TEST(MacroSteps, StepControlShortensStepsWhereThePlainFixedPointDiverges) {
  const auto run = run_local(scenario_from(TwoMasses{}.yaml(
      "{scheme: implicit, macro_step: 0.11, acceleration: none, step_control: {energy_tolerance: 1}}", 0.44, 1e-3)));
  EXPECT_EQ(run.summary.status, "completed") << run.summary.error->what();
  EXPECT_GT(run.summary.coupling->rejected_macro_steps, 0);
}

// ---- components

/// x = A x + b, whose fixed point diverges: eigenvalues of A are -3 and 5 and so on.
TEST(Acceleration, LeastSquaresSolvesALinearProblemInAsManyIterationsAsUnknowns) {
  constexpr Eigen::Index n = 6;
  VectorX diagonal(n), b(n);
  diagonal << -3.0, 5.0, -0.5, 2.0, -8.0, 0.25;
  b << 1.0, -2.0, 3.0, 0.5, 4.0, -1.0;
  const auto result = [&](const VectorX& x) { return VectorX(diagonal.cwiseProduct(x) + b); };
  const VectorX exact = b.cwiseQuotient(VectorX::Ones(n) - diagonal);
  for (const mbs::AccelerationEntry& entry : mbs::acceleration_registry()) {
    const auto method = entry.make({.size = n, .relaxation = 0.5, .filter = 1e-9, .reused_steps = 0});
    method->start(VectorX::Ones(n));
    VectorX x = VectorX::Zero(n);
    for (Eigen::Index i = 0; i <= n; ++i) x = method->next(x, result(x));
    const double error = (x - exact).norm();
    fmt::print("{:8} error after {} guesses {:.2e}\n", entry.name, n + 1, error);
    // Rounding, times the condition of the columns: at most the ratio of the eigenvalues of A - 1 to the sixth.
    if (entry.has_columns) {
      EXPECT_LT(error, 1e-16 * std::pow(12.0, 6.0));
    } else {
      EXPECT_GT(error, 1e-3);
    }
  }
}

TEST(Acceleration, ColumnsDependentOnNewerOnesAreOmitted) {
  // One unknown is significant, the others follow it: after two iterations every further column is a multiple of the
  // first, up to rounding, which unfiltered columns would amplify.
  const VectorX follows = VectorX::LinSpaced(4, 1.0, 4.0);
  const auto result = [&](const VectorX& x) { return VectorX(follows * (-9.0 * x[0] + 2.0)); };
  const VectorX exact = follows * 0.2;
  const auto& entry = mbs::acceleration_registry().back();
  const auto method = entry.make({.size = 4, .relaxation = 0.5, .filter = 1e-3, .reused_steps = 1});
  for (int step = 0; step < 2; ++step) {
    method->start(VectorX::Constant(4, 1e10));  // a tolerance of 1e-10
    VectorX x = VectorX::Zero(4);
    for (int i = 0; i < 6; ++i) {
      x = method->next(x, result(x));
      // In the second macro step the columns of the preceding one suffice immediately.
      if (i >= 2 || step == 1) {
        EXPECT_LT((x - exact).norm(), 1e-12) << "guess " << i << " of macro step " << step;
      }
    }
    method->accept();
  }
}

TEST(ForceExtrapolation, TangentsOfTheExtrapolatedForceEqualDifferences) {
  std::srand(7);
  Response response;
  response.F_A = {.torque = Vector3::Random(), .force = Vector3::Random()};
  response.dF_A_dX = Matrix6::Random();
  response.dF_A_dV = Matrix6::Random();
  response.gap = -1.0;
  PairState exchanged{
      .t = 0.0, .X_AB = {.R = rotation_from_vector(Vector3(0.3, -0.2, 0.5)), .p = Vector3::Random()}, .V_AB = {}};
  mbs::ForceExtrapolation past({.degree = 0, .tangent = true}, 1);
  past.add_exchange(0.0, std::span(&response, 1), std::span(&exchanged, 1));
  const auto force = [&](const PairState& state) {
    Response r;
    past.act(0, 1.0, state, r);
    return r;
  };
  EXPECT_EQ(force(exchanged).F_A.vector(), response.F_A.vector());
  for (const double angle : {1e-5, 0.8}) {
    PairState state = exchanged;
    state.X_AB.R = rotation_from_vector(angle * Vector3(0.5, 0.7, -0.4)) * exchanged.X_AB.R;
    state.V_AB = {.w = Vector3::Random(), .v = Vector3::Random()};
    const Response at = force(state);
    constexpr double h = 1e-6;
    for (int i = 0; i < 6; ++i) {
      Vector6 change = Vector6::Unit(i) * h;
      const auto moved = [&](double sign) {
        PairState s = state;
        s.X_AB.R = rotation_from_vector(sign * change.head<3>()) * state.X_AB.R;
        s.X_AB.p += sign * change.tail<3>();
        return force(s).F_A.vector();
      };
      const Vector6 difference = (moved(1.0) - moved(-1.0)) / (2.0 * h);
      // h^2 of the third derivatives and 1e-16 / h of rounding.
      EXPECT_LT((difference - at.dF_A_dX.col(i)).norm(), 1e-8) << angle << ' ' << i;
    }
    EXPECT_EQ(at.dF_A_dV, response.dF_A_dV);
  }
}

TEST(PairPower, EqualsThatOfBothBodiesInTheWorld) {
  std::srand(3);
  const Pose X_WA{.R = rotation_from_vector(Vector3::Random()), .p = Vector3::Random()};
  const Pose X_WB{.R = rotation_from_vector(Vector3::Random()), .p = Vector3::Random()};
  const Twist V_WA{.w = Vector3::Random(), .v = Vector3::Random()},
      V_WB{.w = Vector3::Random(), .v = Vector3::Random()};
  const Wrench F_A{.torque = Vector3::Random(), .force = Vector3::Random()};
  const PairState state{.t = 0.0, .X_AB = X_WA.inverse() * X_WB, .V_AB = relative_twist(X_WA, V_WA, X_WB, V_WB)};
  const Wrench on_A = mbs::in_world(X_WA.R, F_A);
  const Wrench on_B = mbs::opposite_in_world(on_A, X_WB.p - X_WA.p);
  const double world = on_A.vector().dot(V_WA.vector()) + on_B.vector().dot(V_WB.vector());
  EXPECT_NEAR(mbs::pair_power(F_A, state), world, 1e-14);
}

}  // namespace
}  // namespace heelstrike::test
