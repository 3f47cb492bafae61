// Plan and results of a sweep on the disk: what was damaged, truncated or written twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/sweeps/sweep_plan.hpp"
#include "client/sweeps/sweep_queue.hpp"
#include "common/files/output_file.hpp"
#include "library/servers/private_folder.hpp"

namespace heelstrike::client {
namespace {

using Event = nlohmann::ordered_json;
using testing::HasSubstr;

Event ended(std::size_t run) {
  return {{"run", run}, {"event", "ended"}, {"status", "completed"}, {"quantities", {{"max_force_N", 0.1}}}};
}

Event lost(std::size_t run, const char* checkpoint) {
  return {{"run", run}, {"event", "lost"}, {"worker", "a"}, {"running", "k.b"}, {"checkpoint", checkpoint}};
}

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app) << text;
}

TEST(SweepQueue, EveryChangedByteOfAResultIsNoticed) {
  const std::string line = event_line(ended(3));
  const std::string content = line.substr(0, line.size() - 1);
  ASSERT_TRUE(read_event(content));
  EXPECT_EQ(read_event(content)->at("run"), 3);
  EXPECT_EQ(nlohmann::json::parse(content).at("quantities").at("max_force_N"), 0.1) << "a line is JSON";
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string damaged = content;
    damaged[i] = damaged[i] == '1' ? '2' : '1';
    EXPECT_FALSE(read_event(damaged)) << damaged;
    EXPECT_FALSE(read_event(content.substr(0, i))) << i;
  }
}

TEST(SweepQueue, LinesAreReadWhenTheyAreCompleteAndResultsOnce) {
  const PrivateFolder folder;
  make_queue_folders(folder.path());
  SweepResults results(folder.path(), 4);
  const auto file = folder.path() / "results" / "a.jsonl";
  const std::string line = event_line(ended(2));
  append(file, line.substr(0, 20));
  results.refresh();
  EXPECT_EQ(results.n_ended(), 0U);
  append(file, line.substr(20));
  append(folder.path() / "results" / "b.jsonl",
         line + "half a line of a worker that was killed\n" + event_line(ended(9)));
  std::size_t n = 0;
  results.refresh([&](const Event&) { ++n; });
  results.refresh([&](const Event&) { ++n; });
  EXPECT_EQ(n, 1U) << "two workers ended run 2, and there is no run 9";
  EXPECT_TRUE(results.run(2).ended);
  EXPECT_EQ(results.n_ended(), 1U);
  EXPECT_EQ(results.n_damaged(), 1U);
}

TEST(SweepQueue, LossesCountWhileTheCheckpointDoesNotAdvance) {
  const PrivateFolder folder;
  make_queue_folders(folder.path());
  SweepResults results(folder.path(), 1);
  const auto file = folder.path() / "results" / "a.jsonl";
  append(file, event_line(lost(1, "")) + event_line(lost(1, "")));
  results.refresh();
  EXPECT_EQ(results.run(1).losses, 2);
  EXPECT_EQ(results.unfinished(1), "k.b");
  append(file, event_line(lost(1, "step_00000010.ckpt")));
  results.refresh();
  EXPECT_EQ(results.run(1).losses, 1);
  // Stops at a walltime count in the same way; those before the plan have no worker.
  Event stopped = lost(1, "step_00000010.ckpt");
  stopped["event"] = "stopped";
  append(file, event_line(stopped));
  stopped.erase("worker");
  append(file, event_line(stopped));
  results.refresh();
  EXPECT_EQ(results.run(1).losses, 2);
  append(file, event_line(ended(1)));
  results.refresh();
  EXPECT_EQ(results.unfinished(1), "");
}

TEST(SweepPlan, IsReadAsWrittenOrNotAtAll) {
  const PrivateFolder folder;
  const auto points = sweep_points({parse_variation("contact.restitution=0.2,0.4"), parse_variation("a.b=x,y")});
  SweepHeader header{.version = "1", .scenario = "/a/b.yaml", .identity = "i"};
  header.overrides.backend = "hertz";
  SweepPlan::write(folder.path(), header, points);
  const SweepPlan plan(folder.path());
  ASSERT_EQ(plan.size(), 4U);
  for (std::size_t p = 4; p-- > 0;) {
    const SweepRun run = plan.run(p + 1);
    EXPECT_EQ(run.number, p + 1);
    EXPECT_EQ(run.key, SweepPlan::key_of(header, points[p]));
    EXPECT_EQ(run.point.label, points[p].label);
    EXPECT_EQ(run.point.folder, points[p].folder);
    EXPECT_EQ(run.point.assignments, points[p].assignments);
  }
  EXPECT_NE(plan.run(1).key, plan.run(2).key);
  SweepHeader other = header;
  other.overrides.backend = "hooke";
  EXPECT_NE(SweepPlan::key_of(other, points[0]), plan.run(1).key);
  const std::string text = read_whole_file(folder.path() / "plan.jsonl");
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, text.size() / 2, text.size() - 1}) {
    write_whole_file(folder.path() / "plan.jsonl", text.substr(0, length));
    try {
      (void)SweepPlan(folder.path());
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file);
      EXPECT_THAT(error.what(), HasSubstr("expected the plan of a sweep"));
    }
  }
}

}  // namespace
}  // namespace heelstrike::client
