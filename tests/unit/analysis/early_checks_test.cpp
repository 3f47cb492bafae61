// Errors that do not depend on the contact are reported before its preparation, which may take minutes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/run.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

constexpr const char* pendulum = R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  bob: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}
joints:
  pin: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 1, 0]}
contact:
  touch:
    main: {body: bob, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {point: [0, 0, -2]}}}
    backend: hertz
    parameters: {stiffness: 1.0e6, exponent: 1.5}
analysis: {end_time: 0.1}
output: {interval: 0.05, checkpoint_interval: 0.02}
)";

struct Rejection {
  const char* name;
  std::function<void(Scenario&, std::optional<Checkpoint>&)> spoil;
  const char* said;
};
void PrintTo(const Rejection& rejection_error, std::ostream* out) {
  *out << rejection_error.name;
}

class EarlyChecks : public testing::TestWithParam<Rejection> {};

TEST_P(EarlyChecks, RejectBeforeTheContactIsOpened) {
  Scenario scenario = scenario_from(pendulum);
  std::optional<Checkpoint> resume = {};
  GetParam().spoil(scenario, resume);
  const RecordedRun run = run_with(
      scenario,
      [](auto, auto, const OpenContext&) -> std::unique_ptr<Contact> {
        throw Error(ErrorCode::internal, "the contact was asked for");
      },
      resume);
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_EQ(run.summary.error->code(), ErrorCode::invalid_input) << run.summary.error->what();
  EXPECT_THAT(run.summary.error->what(), testing::HasSubstr(GetParam().said));
}

// A host that steps a scenario would otherwise receive another motion than that of the analysis.
TEST(SteppedByAHost, OnlyAnalysesThatAdvanceInTime) {
  for (const mbs::AnalysisType& type : mbs::analysis_types()) {
    Scenario scenario = scenario_from(pendulum);
    scenario.analysis.type = type.name;
    const bool is_accepted = type.traits.steppable && type.check_model == nullptr;
    // The pendulum has a coordinate that no driver prescribes.
    const char* said = type.traits.steppable ? "1 degrees of freedom" : "heelstrike.run";
    try {
      mbs::check_steppable(scenario);
      EXPECT_TRUE(is_accepted) << type.name;
    } catch (const Error& error) {
      EXPECT_FALSE(is_accepted) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_EQ(error.field(), "analysis.type");
      EXPECT_THAT(error.what(), testing::HasSubstr(said));
    }
  }
}

/// With a rod that cannot reach the ground from the position of the pin.
Scenario with_conflict() {
  std::string yaml = pendulum;
  yaml.insert(
      yaml.find("contact:"),
      "  rod: {type: distance, bodies: [ground, bob], point: [10, 0, 0], second_point: [1, 0, 0], length: 1}\n");
  return scenario_from(yaml);
}

Checkpoint saved() {
  return run_local(scenario_from(pendulum)).checkpoints.front();
}

INSTANTIATE_TEST_SUITE_P(
    Issues, EarlyChecks,
    testing::Values(
        Rejection{"Assembly", [](Scenario& s, auto&) { s = with_conflict(); }, "satisfies all joints and drivers"},
        Rejection{"PrescribedMotion", [](Scenario& s, auto&) { s.analysis.type = "kinematic"; },
                  "1 degrees of freedom"},
        Rejection{"Integrator", [](Scenario& s, auto&) { s.analysis.integrator.name = "rk4"; }, "fixed step of rk4"},
        Rejection{"CheckpointOfAnother",
                  [](Scenario&, std::optional<Checkpoint>& resume) {
                    resume = saved();
                    resume->scenario_digest = "another";
                  },
                  "another scenario"},
        Rejection{"DamagedCheckpoint",
                  [](Scenario&, std::optional<Checkpoint>& resume) {
                    resume = saved();
                    resume->step += 1;
                  },
                  "damaged"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heelstrike::test
