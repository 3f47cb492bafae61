#include "client/studies/trial_journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrialJournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heelstrike_journal_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }
  [[nodiscard]] fs::path file() const { return base_ / "trials"; }

  fs::path base_;
};

TEST_F(TrialJournalTest, ReadsEveryCompletelyWrittenTrial) {
  const CalibrationTrial first{
      .youngs_modulus = 1.0 / 3.0, .force = 0.1, .area = 1e-4, .peak_pressure = 2e5, .stiffness = 7e4, .seconds = 1.5};
  const CalibrationTrial second{.youngs_modulus = 2e6, .clamp_height = -0.02, .force = 622.0};
  {
    TrialJournal journal(file(), "foot");
    EXPECT_FALSE(journal.find(1.0 / 3.0, std::nullopt));
    journal.add(first);
    journal.add(second);
  }
  fs::resize_file(file(), fs::file_size(file()) - 5);  // its writer was killed
  {
    TrialJournal journal(file(), "foot");
    const auto found = journal.find(1.0 / 3.0, std::nullopt);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->force, 0.1);
    EXPECT_EQ(found->stiffness, 7e4);
    EXPECT_FALSE(journal.find(1.0 / 3.0, 0.0));
    EXPECT_FALSE(journal.find(2e6, -0.02)) << "was cut off";
    journal.add(second);
  }
  const TrialJournal journal(file(), "foot");
  EXPECT_EQ(journal.find(2e6, -0.02)->force, 622.0);
}

TEST_F(TrialJournalTest, RejectsTrialsOfAnotherProblem) {
  { const TrialJournal journal(file(), "foot"); }
  try {
    const TrialJournal journal(file(), "another foot");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), HasSubstr("--journal"));
  }
}

}  // namespace
}  // namespace heelstrike::client
