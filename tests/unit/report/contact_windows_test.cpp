// Time windows of contacts in pages and pictures.
#include <gtest/gtest.h>

#include "report/contact_windows.hpp"

namespace heelstrike::report {
namespace {

/// A run of 2 s with contacts {onset, end, force}.
RunData run_with(const std::string& label, const std::vector<std::array<double, 3>>& contacts) {
  RunData run{.label = label,
              .folder = {},
              .summary = RunSummary{},
              .incomplete = {},
              .scenario = {},
              .scenario_digest = {},
              .model = {},
              .series = {.columns = {"time_s"}, .values = {0.0, 2.0}},
              .measured = {},
              .prints = {},
              .fields = {},
              .shapes = {}};
  for (const auto& [onset, end, force] : contacts) {
    ContactEpisode episode;
    episode.pair = "ball-ground";
    episode.onset = onset;
    episode.end = end;
    episode.max_force = force;
    run.summary->contacts.push_back(episode);
  }
  return run;
}

std::vector<std::string> labels(const ContactWindows& windows) {
  std::vector<std::string> all;
  for (const ContactWindow& window : windows.list) all.push_back(window.label);
  return all;
}

TEST(ContactWindows, OfOneRunOpenWithTheLargestForce) {
  const RunData run = run_with("flores", {{0.4, 0.41, 50.0}, {1.0, 1.01, 80.0}});
  const ContactWindows windows = contact_windows(std::span(&run, 1));
  EXPECT_EQ(labels(windows), (std::vector<std::string>{"contact 1", "contact 2"}));
  ASSERT_TRUE(windows.first);
  EXPECT_NEAR((*windows.first)[0], 0.997, 1e-12);
  EXPECT_NEAR((*windows.first)[1], 1.013, 1e-12);
  EXPECT_EQ(windows.whole, (TimeWindow{0.0, 2.0}));
}

TEST(ContactWindows, OfImpactsOpenWithTheWholeRun) {
  std::vector<RunData> runs = {run_with("rigid", {{0.4, 0.401, 0.0}})};
  runs[0].summary->contacts[0].max_impulse = 0.1;
  EXPECT_FALSE(contact_windows(runs).first);
  EXPECT_EQ(contact_windows(runs).list.size(), 1U);
  runs.push_back(run_with("flores", {{0.39, 0.41, 50.0}}));
  ASSERT_TRUE(contact_windows(runs).first);
  EXPECT_NEAR((*contact_windows(runs).first)[1], 0.416, 1e-12) << "the compliant run has a contact to show";
}

TEST(ContactWindows, OfSeveralRunsKeepContactsThatDoNotOverlap) {
  const std::vector<RunData> runs = {run_with("flores", {{0.4, 0.41, 5.0}, {1.0, 1.01, 4.0}, {1.4, 1.41, 3.0}}),
                                     run_with("hertz", {{0.4, 0.42, 5.0}, {1.2, 1.21, 5.0}})};
  const ContactWindows windows = contact_windows(runs);
  EXPECT_EQ(labels(windows), (std::vector<std::string>{"contact 1", "contact 2, all", "contact 2, flores",
                                                       "contact 2, hertz", "contact 3, flores"}));
  EXPECT_EQ(windows.list[1].contact, (TimeWindow{1.0, 1.21}));
  ASSERT_TRUE(windows.first);
  EXPECT_NEAR((*windows.first)[1], 0.426, 1e-12) << "the first contacts of all runs";
}

TEST(ContactWindows, LongContactIsShownWhole) {
  const RunData run = run_with("press", {{0.0, 2.0, 5.0}});
  EXPECT_FALSE(contact_windows(std::span(&run, 1)).first);
  const RunData none = run_with("free", {});
  EXPECT_TRUE(contact_windows(std::span(&none, 1)).list.empty());
}

}  // namespace
}  // namespace heelstrike::report
