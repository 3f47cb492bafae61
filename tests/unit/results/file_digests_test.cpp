// Content of an existing run folder is verified: any changed bit is reported with the name of its file, or repaired.
#include "common/files/file_digests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

#include "common/errors/error.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::vector<Column> height_columns = {{"time_s", "s", "time"}, {"ball.z_m", "m", "height"}};

class FileDigestsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heelstrike_digests_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    whole_ = base_ / "whole";
    RunFolder run(whole_, "heelstrike: 1\n", false);
    go(run, 0);
    finish(run);
  }
  void TearDown() override { fs::remove_all(base_); }

  static void go(RunFolder& run, int from) {
    run.start_table(height_columns);
    for (int n = from; n < 12; ++n) step(run, n);
  }
  static void step(RunFolder& run, int n) {
    run.add_row(std::vector{0.1 * n, 1.0 / (n + 1)});
    run.add_fields({.time = 0.1 * n, .pair = "p", .body = "b", .vtu = "frame " + std::to_string(n)});
    if (n % 3 == 2) run.add_checkpoint(n, "state " + std::to_string(n));
  }
  static void finish(RunFolder& run) {
    RunSummary summary;
    summary.status = "completed";
    run.finish(summary);
  }
  /// A run of which 11 of 12 rows were written; checkpoints after rows 5 and 8.
  void cut_off(const fs::path& folder) const {
    RunFolder run(folder, "heelstrike: 1\n", true);
    run.start_table(height_columns);
    for (int n = 0; n < 11; ++n) step(run, n);
  }
  static std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }
  static void flip(const fs::path& file, std::size_t bit) {
    std::string bytes = read_whole_file(file);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(file, std::ios::binary) << bytes;
  }
  void expect_the_bytes_of_the_whole(const fs::path& folder) const {
    for (const fs::path& file : files_in(whole_)) {
      const std::string name = fs::relative(file, whole_).string();
      if (name.starts_with("checkpoints") || name == "run.log" || name == "timing.json") continue;
      EXPECT_EQ(read_whole_file(folder / name), read_whole_file(file)) << name;
    }
  }

  fs::path base_;
  fs::path whole_;
};

TEST_F(FileDigestsTest, FinishedRunEqualsItsDigests) {
  const FolderCheck check = check_run_folder(whole_);
  EXPECT_THAT(check.faults, IsEmpty());
  // The table, two storages, the scenario, twelve fields and their index; summary and timing; two checkpoints with
  // their additional files.
  EXPECT_EQ(check.n_files, 4U + 13U + 2U + 4U);
}

TEST_F(FileDigestsTest, EveryBitOfAFinishedRunIsVerified) {
  std::mt19937 random(20263);
  for (const fs::path& file : files_in(whole_)) {
    if (file.filename() == "run.log") continue;  // the log, not a result
    const std::string name = fs::relative(file, whole_).string();
    const std::string before = read_whole_file(file);
    for (int i = 0; i < 12; ++i) {
      flip(file, random() % (8 * before.size()));
      EXPECT_THAT(check_run_folder(whole_).faults, Contains(StartsWith(name))) << read_whole_file(file);
      std::ofstream(file, std::ios::binary) << before;
    }
  }
  fs::remove(whole_ / "fields/p_b_00003.vtu");
  EXPECT_THAT(check_run_folder(whole_).faults, Contains(HasSubstr("fields/p_b_00003.vtu: expected a file")));
}

TEST_F(FileDigestsTest, DamagedFolderIsRepairedOrRejectedByName) {
  std::mt19937 random(20264);
  const fs::path folder = base_ / "cut";
  const fs::path pristine = base_ / "pristine";
  cut_off(pristine);
  int n_rejected = 0;
  for (const fs::path& original : files_in(pristine)) {
    if (original.filename() == "run.log" || original.filename() == "INCOMPLETE") continue;
    const fs::path file = folder / fs::relative(original, pristine);
    for (int i = 0; i < 2; ++i) {
      fs::remove_all(folder);
      fs::copy(pristine, folder, fs::copy_options::recursive);
      flip(file, random() % (8 * fs::file_size(file)));
      SCOPED_TRACE(file.string());
      try {
        RunFolder run = RunFolder::resume(folder);
        go(run, run.checkpoint() == "state 8" ? 9 : 6);
        finish(run);
        expect_the_bytes_of_the_whole(folder);
        EXPECT_THAT(check_run_folder(folder).faults, IsEmpty());
      } catch (const Error& error) {
        ++n_rejected;
        EXPECT_THAT(error.what(), HasSubstr(file.filename().string()));
      }
    }
  }
  EXPECT_GT(n_rejected, 6) << "rows and fields before both checkpoints cannot be made good";
}

TEST_F(FileDigestsTest, RunWithoutACheckpointRestarts) {
  const fs::path folder = base_ / "cut";
  {
    RunFolder run(folder, "heelstrike: 1\n", false, {.scenario = "/somewhere/ball.yaml", .files = {{"a.stl", "12ab"}}});
    run.start_table(height_columns);
    step(run, 0);
    step(run, 1);
  }
  RunFolder run = RunFolder::resume(folder);
  EXPECT_EQ(run.checkpoint(), "");
  EXPECT_EQ(run.origin().scenario, "/somewhere/ball.yaml");
  EXPECT_EQ(run.origin().files.at("a.stl"), "12ab");
  go(run, 0);
  finish(run);
  expect_the_bytes_of_the_whole(folder);
}

TEST_F(FileDigestsTest, RowsChangedOnDiskDuringTheRunAreReported) {
  const fs::path folder = base_ / "run";
  RunFolder run(folder, "heelstrike: 1\n", false);
  go(run, 0);
  flip(folder / "timeseries.csv", 300);
  try {
    finish(run);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::file);
    EXPECT_THAT(error.what(), HasSubstr("timeseries.csv"));
  }
}

TEST_F(FileDigestsTest, LaterFilesAreIncluded) {
  std::ofstream(whole_ / "report.html") << "a page";
  record_file_digests(whole_, std::array<std::string, 1>{"report.html"});
  EXPECT_THAT(check_run_folder(whole_).faults, IsEmpty());
  std::ofstream(whole_ / "report.html") << "another";
  EXPECT_THAT(check_run_folder(whole_).faults, Contains(StartsWith("report.html: ")));
}

TEST_F(FileDigestsTest, PipesAndDeepNestingAreFaults) {
  for (const char* name : {"summary.json", "timeseries.csv", "timing.json"}) {
    const fs::path copy = base_ / "copy";
    fs::remove_all(copy);
    fs::copy(whole_, copy, fs::copy_options::recursive);
    fs::remove(copy / name);
    ASSERT_EQ(::mkfifo((copy / name).c_str(), 0600), 0);
    EXPECT_THAT(check_run_folder(copy).faults, Contains(testing::AllOf(HasSubstr(name), HasSubstr("a pipe")))) << name;
  }
  const int n = 1'000'000;
  std::string nested;
  for (int i = 0; i < n; ++i) nested += "{\"a\":";
  std::ofstream(whole_ / "summary.json") << nested << 1 << std::string(n, '}');
  EXPECT_THAT(check_run_folder(whole_).faults, Contains(HasSubstr("at most 100 nested levels")));
}

TEST_F(FileDigestsTest, NothingOfAnEarlierRunStaysInItsFolder) {
  const char* const earlier[] = {"contact_regions.csv",
                                 "plantar_regions.csv",
                                 "plantar_summary.csv",
                                 "pictures/forces.png",
                                 "compare-grf/report.html",
                                 "timeseries.h5",
                                 "checkpoints/step_00000007.ckpt",
                                 "fields/other_00000.vtu",
                                 "fields/x.vtu.part"};
  for (const char* name : earlier) {
    fs::create_directories((whole_ / name).parent_path());
    std::ofstream(whole_ / name) << "of an earlier run";
  }
  std::ofstream(whole_ / "notes.txt") << "mine";
  std::ofstream(whole_ / "fields/notes.txt") << "mine";
  const RunFolder forced(whole_, "heelstrike: 1\n# another\n", true, {}, std::array<std::string, 1>{"timeseries.h5"});
  for (const char* name : earlier) EXPECT_FALSE(fs::exists(whole_ / name)) << name;
  EXPECT_TRUE(fs::exists(whole_ / "notes.txt"));
  EXPECT_TRUE(fs::exists(whole_ / "fields/notes.txt"));
}

}  // namespace
}  // namespace heelstrike
