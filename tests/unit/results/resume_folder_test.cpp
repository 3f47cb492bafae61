// A run folder that was interrupted, by a crash or by hand, continues from its last complete checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "common/errors/error.hpp"
#include "common/files/file_digests.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<Column> ball_columns = {{"time_s", "s", "time"}, {"ball.z_m", "m", "height"}};

class ResumeFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heelstrike_resume_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  [[nodiscard]] fs::path folder() const { return base_ / "ball"; }
  [[nodiscard]] std::string text(const char* name) const { return read_whole_file(folder() / name); }
  void write(const std::string& name, const std::string& content) const { std::ofstream(folder() / name) << content; }

  /// Rows n of [from, to) with fields, and a checkpoint after every third row.
  static void go(RunFolder& run, int from, int to) {
    run.start_table(ball_columns);
    for (int n = from; n < to; ++n) {
      run.add_row(std::vector{0.1 * n, 1.0 / (n + 1)});
      run.add_fields({.time = 0.1 * n, .pair = "p", .body = "b", .vtu = "frame " + std::to_string(n)});
      if (n % 3 == 2) run.add_checkpoint(n, "state " + std::to_string(n));
    }
  }
  void cut_off_after(int n_rows) const {
    RunFolder run(folder(), "heelstrike: 1\n", true,
                  {.scenario = "/somewhere/ball.yaml", .files = {{"a.stl", "12ab"}}});
    go(run, 0, n_rows);
  }
  static void finish(RunFolder& run) {
    RunSummary summary;
    summary.status = "completed";
    run.finish(summary);
  }
  /// Files of a resumed run and those of an uninterrupted one, without its log.
  void expect_bytes_of_uninterrupted_run() const {
    RunFolder whole(base_ / "whole", "heelstrike: 1\n", true);
    go(whole, 0, 12);
    finish(whole);
    for (const char* name :
         {"timeseries.csv", "kinematics.sto", "summary.json", "fields.pvd", "fields/p_b_00011.vtu"}) {
      EXPECT_EQ(text(name), read_whole_file(base_ / "whole" / name)) << name;
    }
  }
  Error rejection_error() const {
    try {
      (void)RunFolder::resume(folder());
    } catch (const Error& error) {
      return error;
    }
    return {ErrorCode::internal, "accepted"};
  }

  fs::path base_;
};

TEST_F(ResumeFolder, ContinuesFromTheLastOfTwoCheckpoints) {
  cut_off_after(11);
  EXPECT_FALSE(fs::exists(folder() / "checkpoints/step_00000002.ckpt")) << "the last two are kept";
  EXPECT_TRUE(fs::exists(folder() / "checkpoints/step_00000005.ckpt"));
  RunFolder run = RunFolder::resume(folder());
  EXPECT_EQ(run.checkpoint(), "state 8");
  EXPECT_EQ(run.origin().scenario, "/somewhere/ball.yaml");
  EXPECT_EQ(run.origin().files.at("a.stl"), "12ab");
  EXPECT_TRUE(run.notes().empty());
  go(run, 9, 12);
  finish(run);
  expect_bytes_of_uninterrupted_run();
}

TEST_F(ResumeFolder, UsesThePrecedingOfADamagedCheckpoint) {
  const std::pair<const char*, const char*> damages[] = {{"checkpoints/step_00000008.ckpt", "state 9"},
                                                         {"checkpoints/step_00000008.ckpt", ""},
                                                         {"checkpoints/step_00000008.json", "{\"format\": 3"}};
  for (const auto& [file, content] : damages) {
    SCOPED_TRACE(file);
    cut_off_after(11);
    write(file, content);
    RunFolder run = RunFolder::resume(folder());
    EXPECT_EQ(run.checkpoint(), "state 5");
    EXPECT_THAT(run.notes(), testing::ElementsAre(AllOf(HasSubstr("step_00000008.ckpt: "),
                                                        HasSubstr("resuming from step_00000005.ckpt"))));
    go(run, 6, 12);
    finish(run);
    expect_bytes_of_uninterrupted_run();
  }
}

TEST_F(ResumeFolder, UsesTheCheckpointBeforeATruncation) {
  cut_off_after(11);
  const std::string table = text("timeseries.csv");
  write("timeseries.csv", table.substr(0, table.find("0.7")));
  RunFolder run = RunFolder::resume(folder());
  EXPECT_EQ(run.checkpoint(), "state 5");
  EXPECT_THAT(run.notes().at(0), HasSubstr("timeseries.csv ends before it"));
}

TEST_F(ResumeFolder, RejectsRunsThatCannotContinue) {
  cut_off_after(11);
  const std::string table = text("timeseries.csv");
  write("timeseries.csv", "time_s,ball.z_m\n");
  EXPECT_THAT(rejection_error().what(), AllOf(HasSubstr("no usable checkpoint"), HasSubstr("--force")));
  write("timeseries.csv", table);
  write("scenario.yaml", "heelstrike: 1\n# changed\n");
  EXPECT_EQ(rejection_error().code(), ErrorCode::invalid_input);
  EXPECT_THAT(rejection_error().what(), AllOf(HasSubstr("scenario.yaml: it has changed"), HasSubstr("-o OTHER")));
  write("scenario.yaml", "heelstrike: 1\n");
  {
    const RunFolder other = RunFolder::resume(folder());
    EXPECT_THAT(rejection_error().what(), HasSubstr("another run writes to it"));
  }
  {
    RunFolder run = RunFolder::resume(folder());
    go(run, 9, 12);
    finish(run);
  }
  EXPECT_THAT(rejection_error().what(), HasSubstr("complete"));
}

TEST_F(ResumeFolder, RemovesTheFilesOfAKilledWriter) {
  cut_off_after(11);
  for (const char* name : {"fields.pvd.part", "checkpoints/step_00000010.ckpt.part", "fields/p_b_00011.vtu.part"}) {
    write(name, "half");
  }
  (void)RunFolder::resume(folder());
  for (const auto& entry : fs::recursive_directory_iterator(folder())) EXPECT_NE(entry.path().extension(), ".part");
}

// A checkpoint has two files; the position is written first.
TEST_F(ResumeFolder, IsCompleteAfterAKillBetweenTheFilesOfACheckpoint) {
  cut_off_after(11);
  fs::remove(folder() / "checkpoints/step_00000008.ckpt");
  RunFolder run = RunFolder::resume(folder());
  go(run, 6, 12);
  finish(run);
  EXPECT_THAT(check_run_folder(folder()).faults, testing::IsEmpty());
}

TEST_F(ResumeFolder, UsesThePrecedingOfADeeplyNestedCheckpoint) {
  cut_off_after(11);
  const int n = 1'000'000;
  std::string nested = "{\"format\":99,\"a\":";
  for (int i = 0; i < n; ++i) nested += "{\"a\":";
  write("checkpoints/step_00000008.json", nested + "1" + std::string(n + 1, '}'));
  RunFolder run = RunFolder::resume(folder());
  EXPECT_THAT(text("run.log"), HasSubstr("at most 100 nested levels"));
  go(run, 6, 12);
  finish(run);
  expect_bytes_of_uninterrupted_run();
}

TEST_F(ResumeFolder, RejectsALogThatIsAPipe) {
  cut_off_after(11);
  fs::remove(folder() / "run.log");
  ASSERT_EQ(::mkfifo((folder() / "run.log").c_str(), 0600), 0);
  EXPECT_EQ(rejection_error().code(), ErrorCode::file);
  EXPECT_THAT(rejection_error().what(), HasSubstr("run.log is no file"));
}

TEST_F(ResumeFolder, IsRewoundDuringTheRun) {
  RunFolder run(folder(), "heelstrike: 1\n", true);
  go(run, 0, 8);
  run.roll_back(5);
  go(run, 6, 10);
  run.roll_back(std::nullopt);
  go(run, 0, 10);
  run.roll_back(8);
  go(run, 9, 12);
  finish(run);
  expect_bytes_of_uninterrupted_run();
}

TEST_F(ResumeFolder, ReportsAnImpossibleRewind) {
  RunFolder run(folder(), "heelstrike: 1\n", true);
  go(run, 0, 8);
  try {
    run.roll_back(4711);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::file);
    EXPECT_THAT(error.what(), HasSubstr("step_00004711.ckpt"));
  }
}

}  // namespace
}  // namespace heelstrike
