// A run watched while its folder is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/errors/error.hpp"
#include "common/results/summary.hpp"
#include "report/live/live_view.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LiveFolder : public testing::Test {
 protected:
  LiveFolder() {
    fs::create_directories(path_);
    append("scenario.yaml", "analysis: {end_time: 2.0}\n");
    append("INCOMPLETE", "The run has not ended, or its client was killed.\n");
  }
  ~LiveFolder() override { fs::remove_all(path_); }
  void append(const char* name, const std::string& text) const { std::ofstream(path_ / name, std::ios::app) << text; }

  fs::path path_ = fs::temp_directory_path() / ("heelstrike-live-" + std::to_string(::getpid()));
};

TEST_F(LiveFolder, IncompleteRowWaitsForItsEnd) {
  LiveView view(path_);
  view.read();
  EXPECT_EQ(view.rows(), 0U);
  append("timeseries.csv", "time_s,p.fz_N\n0,0\n0.5,12");
  view.read();
  EXPECT_EQ(view.rows(), 1U);
  append("timeseries.csv", "5\n");
  view.read();
  EXPECT_EQ(view.rows(), 2U);
  EXPECT_EQ(view.time(), 0.5);
  EXPECT_FALSE(view.over());
  EXPECT_THAT(view.text(), HasSubstr("t = 0.5 of 2 s, 25 %"));
  EXPECT_THAT(view.text(), HasSubstr("p.fz_N"));
  EXPECT_THAT(view.text(), HasSubstr("125"));
}

TEST_F(LiveFolder, EndIsDetected) {
  LiveView view(path_);
  fs::remove(path_ / "INCOMPLETE");
  RunSummary summary;
  summary.status = "completed";
  append("summary.json", summary_json(summary));
  view.read();
  EXPECT_TRUE(view.over());
  EXPECT_THAT(view.text(), HasSubstr("completed"));
}

TEST_F(LiveFolder, FailedRunIsNotCalledIncomplete) {
  LiveView view(path_);
  fs::remove(path_ / "INCOMPLETE");
  append("INCOMPLETE", "The run failed at t = 1 s: too deep\n");
  RunSummary summary;
  summary.status = "failed";
  append("summary.json", summary_json(summary));
  view.read();
  EXPECT_TRUE(view.over());
  EXPECT_THAT(view.text(), HasSubstr("failed: The run failed at t = 1 s: too deep"));
}

TEST_F(LiveFolder, PeakOfOneRowAmongManyStaysInTheThinnedCurve) {
  std::string rows = "time_s,p.fz_N\n";
  for (int i = 0; i < 10'000; ++i) rows += std::to_string(i) + (i == 5'000 ? ",1000\n" : ",1\n");
  append("timeseries.csv", rows);
  LiveView view(path_);
  view.read();
  EXPECT_EQ(view.rows(), 10'000U);
  EXPECT_THAT(view.text(), HasSubstr("█"));
}

TEST(LiveView, FolderWithoutARunIsRejected) {
  EXPECT_THROW(LiveView("/nonexistent"), Error);
}

}  // namespace
}  // namespace heelstrike
