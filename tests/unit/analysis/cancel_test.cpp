// Cancelling a run takes effect immediately, not at the end of an integrator step of many rows.
#include <gtest/gtest.h>

#include <stop_token>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/run.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// Requests a stop after `n_rows` rows.
class ImpatientSink final : public RunSink {
 public:
  explicit ImpatientSink(int n_rows) : n_rows_(n_rows) {}
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> /*values*/) override {
    if (++rows == n_rows_) stop.request_stop();
  }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}

  int rows = 0;
  std::stop_source stop;

 private:
  int n_rows_;
};

TEST(Cancel, TakesEffectWithinAStep) {
  // At constant velocity the steps grow without bound: the last of them alone has most of the million rows.
  const Scenario scenario = scenario_from(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  drifter: {mass: 1.0, inertia: [0.1, 0.1, 0.1], velocity: [1, 0, 0]}
analysis: {end_time: 1.0e6}
output: {interval: 1.0}
)");
  constexpr int n_rows = 1000;
  ImpatientSink sink(n_rows);
  const mbs::RunInput input{
      .scenario = scenario, .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
  const RunSummary summary = mbs::run_scenario(input, fem::open_local_contact, sink, sink.stop.get_token());
  EXPECT_EQ(summary.status, "cancelled");
  // A stop waits for at most a thousand rows of the same step.
  EXPECT_LE(sink.rows, n_rows + 1000);
  EXPECT_LT(summary.simulated_time, 1.0e6);
}

/// Requests a stop at the end of the first contact.
class SinkOfFirstContact final : public RunSink {
 public:
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> /*values*/) override {}
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& episode) override {
    if (episode.end) stop.request_stop();
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { checkpoint_time = checkpoint.time; }

  double checkpoint_time = -1.0;
  std::stop_source stop;
};

TEST(Cancel, LeavesACheckpointOfTheLastState) {
  const Scenario scenario = scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"));
  SinkOfFirstContact sink;
  const mbs::RunInput input{
      .scenario = scenario, .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
  const RunSummary summary = mbs::run_scenario(input, fem::open_local_contact, sink, sink.stop.get_token());
  EXPECT_EQ(summary.status, "cancelled");
  EXPECT_GT(summary.simulated_time, 0.4);
  EXPECT_LT(summary.simulated_time, 0.5) << "it went on after the restart point";
  EXPECT_EQ(sink.checkpoint_time, summary.simulated_time) << "a resumed run repeats steps";
}

}  // namespace
}  // namespace heelstrike::test
