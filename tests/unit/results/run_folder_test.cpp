#include "common/results/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<Column> columns = {{"time_s", "s", "time"},
                                     {"ball.z_m", "m", "height"},
                                     {"ball-ground.force_z_N", "N", "normal force"},
                                     {"energy_J", "J", "total energy"}};

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heelstrike_results_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  [[nodiscard]] fs::path folder() const { return base_ / "runs" / "ball"; }
  [[nodiscard]] std::string text(const char* name) const { return read_whole_file(folder() / name); }

  template <typename Action>
  std::string file_error_of(Action&& action) {
    try {
      action();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::file) << e.what();
      return e.what();
    }
    return "no error";
  }

  fs::path base_;
};

RunSummary completed() {
  RunSummary summary;
  summary.scenario = "ball";
  summary.status = "completed";
  return summary;
}

void write_run(RunFolder& run) {
  RunFolderSink sink(run, {}, [](const Checkpoint& c) { return "state of " + c.engine; });
  sink.on_schema(columns);
  sink.on_row(std::vector<double>{0.0, 1.0, 0.0, 9.81});
  sink.on_row(std::vector<double>{0.1, 1.0 / 3.0, -0.0, 1e-300});
  sink.on_row(std::vector<double>{0.1, 0.1 + 0.2, 1e22, 5e-324});  // the same time: after an event
  sink.on_log("warning", "something");
  Checkpoint checkpoint;
  checkpoint.step = 42;
  checkpoint.engine = "the engine";
  sink.on_checkpoint(checkpoint);
}

TEST_F(RunFolderTest, ContainsEverythingAndIsCompleteAtTheEnd) {
  RunFolder run(folder(), "heelstrike: 1\n", false);
  EXPECT_THAT(incomplete_reason(folder()), HasSubstr("has not ended"));
  write_run(run);
  EXPECT_THAT(incomplete_reason(folder()), HasSubstr("has not ended"));
  run.finish(completed());
  EXPECT_EQ(incomplete_reason(folder()), "");
  EXPECT_EQ(text("scenario.yaml"), "heelstrike: 1\n");
  EXPECT_EQ(text("timeseries.csv"),
            "time_s,ball.z_m,ball-ground.force_z_N,energy_J\n0,1,0,9.81\n0.1,0.3333333333333333,-0,1e-300\n"
            "0.1,0.30000000000000004,1e+22,5e-324\n");
  EXPECT_EQ(text("forces.sto"),
            "forces\nversion=1\nnRows=2\nnColumns=2\ninDegrees=no\nendheader\n"
            "time\tball-ground.force_z\n0\t0\n0.1\t1e+22\n");
  EXPECT_EQ(text("kinematics.sto"),
            "kinematics\nversion=1\nnRows=2\nnColumns=2\ninDegrees=no\nendheader\n"
            "time\tball.z\n0\t1\n0.1\t0.30000000000000004\n");
  EXPECT_EQ(text("run.log"), "warning: something\n");
  EXPECT_EQ(text("checkpoints/step_00000042.ckpt"), "state of the engine");
  EXPECT_EQ(read_summary(folder()).scenario, "ball");
  for (const auto& entry : fs::recursive_directory_iterator(base_)) {
    EXPECT_NE(entry.path().extension(), ".part") << "temporary file left: " << entry.path();
  }
}

TEST_F(RunFolderTest, MusclesAndCoordinatesHaveStoragesUnderTheirNames) {
  const std::vector<Column> muscles = {{"time_s", "s", "time"},
                                       {"biceps.activation", "-", "activation"},
                                       {"biceps.force_N", "N", "tension"},
                                       {"rope.force_N", "N", "tension"},
                                       {"flexion.value_rad", "rad", "coordinate"}};
  RunFolder run(folder(), "heelstrike: 1\n", false);
  run.start_table(muscles);
  run.add_row(std::vector{0.0, 0.25, 10.0, 3.0, 0.5});
  run.finish(completed());
  const std::string header = "\nversion=1\nnRows=1\nnColumns=2\ninDegrees=no\nendheader\ntime\t";
  EXPECT_EQ(text("activations.sto"), "activations" + header + "biceps\n0\t0.25\n");
  EXPECT_EQ(text("muscle_forces.sto"), "muscle_forces" + header + "biceps\n0\t10\n");
  EXPECT_EQ(text("coordinates.sto"), "coordinates" + header + "flexion\n0\t0.5\n");
}

TEST_F(RunFolderTest, RowsReadBackBitForBit) {
  RunFolder run(folder(), "", false);
  write_run(run);
  const TimeSeries series = read_timeseries(folder());  // during the run
  EXPECT_EQ(series.rows(), 3u);
  EXPECT_THAT(series.column("ball.z_m"), ElementsAre(1.0, 1.0 / 3.0, 0.1 + 0.2));
  EXPECT_THAT(series.column("energy_J"), ElementsAre(9.81, 1e-300, 5e-324));
  EXPECT_TRUE(std::signbit(series.column("ball-ground.force_z_N")[1]));
  try {
    (void)series.column("ball.y_m");
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'ball.z_m'?"));
  }
}

/// A centre of pressure without contact: an empty cell in the table; OpenSim's storages use "nan".
TEST_F(RunFolderTest, MissingValueIsAnEmptyCell) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  RunFolder run(folder(), "", false);
  run.start_table(columns);
  run.add_row(std::vector{0.0, none, 1.0, 2.0});
  run.add_row(std::vector{0.1, 0.5, 1.0, none});
  run.finish(completed());
  EXPECT_THAT(text("timeseries.csv"), testing::EndsWith("\n0,,1,2\n0.1,0.5,1,\n"));
  EXPECT_THAT(text("kinematics.sto"), testing::EndsWith("\n0\tnan\n0.1\t0.5\n"));
  const TimeSeries series = read_timeseries(folder());
  EXPECT_THAT(series.column("ball.z_m"), ElementsAre(testing::IsNan(), 0.5));
  EXPECT_THAT(series.column("energy_J"), ElementsAre(2.0, testing::IsNan()));
}

TEST_F(RunFolderTest, ReceivedRowsSurviveAKill) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RunFolder run(folder(), "", false);
    write_run(run);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_timeseries(folder()).rows(), 3u);
  EXPECT_THAT(incomplete_reason(folder()), HasSubstr("killed"));
  EXPECT_FALSE(fs::exists(folder() / "summary.json"));
}

TEST_F(RunFolderTest, FailedRunIsMarked) {
  RunFolder run(folder(), "", false);
  write_run(run);
  RunSummary summary;
  summary.status = "failed";
  summary.simulated_time = 0.1;
  summary.error.emplace(ErrorCode::unavailable, "contact server is gone");
  run.finish(summary);
  EXPECT_EQ(incomplete_reason(folder()), "The run failed at t = 0.1 s: contact server is gone");
  EXPECT_EQ(read_summary(folder()).error->code(), ErrorCode::unavailable);
  EXPECT_EQ(read_timeseries(folder()).rows(), 3u);
}

TEST_F(RunFolderTest, RunWithoutSomeFramesReportsTheirCount) {
  RunFolder run(folder(), "", false);
  write_run(run);
  RunSummary summary;
  summary.status = "incomplete";
  summary.error.emplace(ErrorCode::solver_failed,
                        "14 of 20 frames have no solution; the first, at t = 0.3 s: too deep");
  run.finish(summary);
  EXPECT_EQ(incomplete_reason(folder()),
            "The run is incomplete: 14 of 20 frames have no solution; the first, at t = 0.3 s: too deep");
  EXPECT_EQ(read_summary(folder()).status, "incomplete");
}

TEST_F(RunFolderTest, RunThatFailedBeforeItsFirstRowHasASummary) {
  RunFolder run(folder(), "", false);
  RunSummary summary;
  summary.status = "cancelled";
  run.finish(summary);
  EXPECT_EQ(read_summary(folder()).status, "cancelled");
  EXPECT_EQ(incomplete_reason(folder()), "The run was cancelled at t = 0 s: stopped on request");
}

TEST_F(RunFolderTest, ExistingFolderIsRejectedUnlessForced) {
  {
    RunFolder run(folder(), "first", false);
    write_run(run);
    run.finish(completed());
  }
  std::ofstream(folder() / "notes.txt") << "mine";
  EXPECT_THAT(file_error_of([&] { RunFolder again(folder(), "second", false); }),
              AllOf(StartsWith(folder().string()), HasSubstr("found an existing one"), HasSubstr("--force")));
  EXPECT_EQ(text("scenario.yaml"), "first");
  RunFolder forced(folder(), "second", true);
  EXPECT_EQ(text("scenario.yaml"), "second");
  EXPECT_FALSE(fs::exists(folder() / "summary.json")) << "of the earlier run";
  EXPECT_FALSE(fs::exists(folder() / "checkpoints/step_00000042.ckpt")) << "of the earlier run";
  EXPECT_EQ(text("notes.txt"), "mine") << "files of the user remain";
}

TEST_F(RunFolderTest, FolderThatCannotBeMadeIsAnError) {
  std::ofstream(base_ / "file") << "x";
  EXPECT_THAT(file_error_of([&] { RunFolder run(base_ / "file", "", false); }), HasSubstr("a file of this name"));
  EXPECT_THAT(file_error_of([&] { RunFolder run(base_ / "file" / "sub", "", false); }), HasSubstr("--output"));
  EXPECT_THAT(file_error_of([&] { RunFolder run("/proc/heelstrike", "", true); }), HasSubstr("--output"));
}

TEST_F(RunFolderTest, FullDiskIsAnError) {
  OutputFile full("/dev/full");
  EXPECT_THAT(file_error_of([&] { full.write("x"); }), AllOf(HasSubstr("No space left"), HasSubstr("free space")));
}

/// A size limit of the process simulates a disk that fills up during the run: the write is incomplete, the next one
/// fails.
TEST_F(RunFolderTest, FullDiskKeepsTheRowsBefore) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int exit_code = 1;
    try {
      RunFolder run(folder(), "", false);
      run.start_table(columns);
      for (int i = 0; i < 1000; ++i) run.add_row(std::vector<double>{i * 1e-3, 1.0, 2.0, 3.0});
    } catch (const Error& e) {
      exit_code = e.code() == ErrorCode::file && std::string(e.what()).find("free space") != std::string::npos ? 42 : 2;
    }
    std::_Exit(exit_code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42) << "1: no error, 2: another error";
  const TimeSeries series = read_timeseries(folder());
  // "0.001,1,2,3\n" and the like: at least 60 rows fit into 1000 bytes; the truncated row is not read.
  EXPECT_GT(series.rows(), 60u);
  EXPECT_EQ(series.column("energy_J").back(), 3.0);
  EXPECT_NE(incomplete_reason(folder()), "");
}

TEST_F(RunFolderTest, DamagedTableIsRejectedWithItsLine) {
  fs::create_directories(folder());
  std::ofstream(folder() / "timeseries.csv") << "time_s,a\n0,1\n1\n";
  EXPECT_THAT(file_error_of([&] { (void)read_timeseries(folder()); }),
              HasSubstr("timeseries.csv:3: expected 2 values"));
  std::ofstream(folder() / "timeseries.csv") << "time_s,a\n0,x\n";
  EXPECT_THAT(file_error_of([&] { (void)read_timeseries(folder()); }), HasSubstr("expected a number, found 'x'"));
  EXPECT_THAT(file_error_of([&] { (void)read_summary(folder()); }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace heelstrike
