// Terminal output: tables and bars that fit, messages without repetitions, colours on terminals only.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <sstream>

#include "common/text/table.hpp"
#include "library/runs/execute.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(SummaryText, OmitsTheStatisticsOfARunWithoutSteps) {
  RunSummary summary;
  summary.status = "failed";
  EXPECT_THAT(summary_text(summary, {}, "out"), Not(HasSubstr("integrator")));
  summary.simulated_time = 0.1;
  EXPECT_THAT(summary_text(summary, {}, "out"), HasSubstr("integrator"));
}

TEST(Table, WordsAreWrappedWithoutLoss) {
  Table table{.header = {"parameter", "unit", "default", "meaning"}, .rows = {}};
  table.rows.push_back(
      {"contact_box", "m", "0.25", "contact only on faces with their centre in this box (lower corner, then upper)"});
  table.rows.push_back({"depth", "m", "17", "deepest overlap that is solved, as a share of the smallest extent of it"});
  for (const std::size_t width : {50U, 72U, 80U}) {
    const std::string text = table.fitted(width);
    EXPECT_THAT(lines_of(text), Each(SizeIs(testing::Le(width)))) << text;
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) {
        std::istringstream words(cell);
        for (std::string word; words >> word;) EXPECT_THAT(text, HasSubstr(word));
      }
    }
  }
  EXPECT_EQ(table.fitted(0), table.aligned());
  EXPECT_EQ(lines_of(table.aligned()).size(), 3U);
}

TEST(Table, WordsAreNotCut) {
  Table table{.header = {"component", "unit", "origin", "measured"},
              .rows = {{"anterior-posterior (vx)", "N", "predicted", "765.8"},
                       {"mediolateral (vy)", "N", "prescribed in the run", "12.1"}}};
  for (const std::size_t width : {40U, 50U}) {
    const std::string text = table.fitted(width);
    for (const std::string word : {"anterior-posterior", "mediolateral", "prescribed"}) {
      EXPECT_THAT(text, HasSubstr(word)) << text;
    }
  }
  EXPECT_EQ(wrapped_lines("clamped_box of fem_condensed", 20).front(), "clamped_box of") << "identifiers are words";
}

TEST(Table, NumbersThatDoNotFitFollowBelow) {
  Table table{.header = {"back-end"}, .rows = {{"fem_condensed"}, {"flores"}}};
  for (int c = 0; c < 9; ++c) {
    table.header.push_back(fmt::format("quantity {}", c));
    for (auto& row : table.rows) row.push_back(fmt::format("{}", 1234.5 + c));
  }
  const std::string text = table.fitted(80);
  EXPECT_THAT(lines_of(text), Each(SizeIs(testing::Le(80U)))) << text;
  for (int c = 0; c < 9; ++c) EXPECT_THAT(text, HasSubstr(fmt::format("quantity {}", c)));
  std::size_t n = 0;
  for (const std::string& line : lines_of(text)) n += line.starts_with("fem_condensed") ? 1 : 0;
  EXPECT_EQ(n, 2U) << text;
}

TEST(Progress, LineFitsAndTheBarShrinksFirst) {
  const std::string words = progress_text({.time = 0.84, .end_time = 2.0}, 12.0);
  for (std::size_t width = 20; width < 200; ++width) {
    EXPECT_LT(progress_line("foot_press fem_condensed", words, 0.42, width).size(), width);
  }
  EXPECT_THAT(progress_line("run", words, 0.42, 120), HasSubstr("[############.................."));
  EXPECT_THAT(progress_line("foot_press fem_condensed", words, 0.42, 75), Not(HasSubstr("[")));
}

TEST(RepeatedMessages, OnesThatDifferInNumbersOnlyAreReportedOnce) {
  RepeatedMessages messages;
  EXPECT_TRUE(messages.is_first("warning", "frame at t = 0.1 s left out: 3.2e-2 m deep"));
  EXPECT_FALSE(messages.is_first("warning", "frame at t = 0.25 s left out: 4.0e-2 m deep"));
  EXPECT_TRUE(messages.is_first("warning", "marker R.Heel jumps at t = 0.25 s"));
  EXPECT_TRUE(messages.is_first("error", "frame at t = 0.3 s left out: 3.2e-2 m deep"));
  testing::internal::CaptureStderr();
  messages.print_repeat_counts("out/run.log");
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_THAT(message, HasSubstr("1 more like \"frame at t = 0.1 s left out"));
  EXPECT_THAT(message, HasSubstr("out/run.log"));
  EXPECT_EQ(lines_of(message).size(), 1U);
}

/// Output of `write` to a terminal of 80 columns.
std::string on_terminal(const std::function<void()>& write) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    write();
    std::fflush(stdout);
    std::fflush(stderr);
    ::_exit(0);
  }
  std::string text;
  char buffer[4096];
  // At the end of the child the terminal is closed, which is an error for the reader.
  for (ssize_t n = ::read(terminal, buffer, sizeof(buffer)); n > 0; n = ::read(terminal, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST(Screen, DetectsTheWidthOfATerminal) {
  EXPECT_THAT(on_terminal([] { fmt::print("{} columns", screen_width(Stream::out)); }), HasSubstr("80 columns"));
}

TEST(Screen, ColoursAreForTerminalsThatSupportThem) {
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  const auto warn = [] { print_message("warning", "too deep"); };
  EXPECT_THAT(on_terminal(warn), HasSubstr("\033[33mwarning\033[0m"));
  testing::internal::CaptureStderr();
  warn();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "heelstrike: warning: too deep\n") << "not in a file";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_THAT(on_terminal(warn), Not(HasSubstr("\033[")));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_THAT(on_terminal(warn), Not(HasSubstr("\033[")));
}

}  // namespace
}  // namespace heelstrike::client
