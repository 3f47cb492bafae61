// Scenarios with mutated numbers: every run of a scenario that passes the checks terminates: completed with finite
// numbers in every row, stopped on request, or failed with an error other than an internal one. The seeds are examples
// and the files of run_corpus; the mutations are reproducible. HEELSTRIKE_FUZZ_RUNS and HEELSTRIKE_FUZZ_FIRST select
// their number and the first one; the sanitizer presets run this test like all others. The current scenario is stored
// in the build folder, so that a crash leaves it behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "mbs_server/analysis/run.hpp"
#include "scenario/scenario.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// Time limit after which a run is requested to stop; a run that ignores the request is found by the time limit of the
/// test.
constexpr std::size_t max_rows = 60;
constexpr std::chrono::milliseconds longest_run{300};

/// Requests a run to stop after `longest_run`.
class Timer {
 public:
  explicit Timer(std::stop_source& stop)
      : thread_([this, &stop](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, done, longest_run, [] { return false; }) && !done.stop_requested()) {
            stop.request_stop();
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

class CheckingSink final : public RunSink {
 public:
  explicit CheckingSink(std::stop_source& stop) : stop_(stop) {}
  void on_schema(std::span<const Column> columns) override { columns_.assign(columns.begin(), columns.end()); }
  void on_row(std::span<const double> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      // The centre of pressure exists in contact only.
      if (std::isfinite(values[i]) || columns_.at(i).name.find(".cop") != std::string::npos) continue;
      ADD_FAILURE() << columns_[i].name << " = " << values[i] << " at t = " << values[0];
    }
    if (++n_rows_ == max_rows) stop_.request_stop();
  }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}

 private:
  std::stop_source& stop_;
  std::vector<Column> columns_;
  std::size_t n_rows_ = 0;
};

void expect_to_end_well(const Scenario& scenario) {
  std::stop_source stop;
  CheckingSink sink(stop);
  const Timer timer(stop);
  const mbs::RunInput input{
      .scenario = scenario, .assets = {}, .run_id = "fuzz", .scenario_digest = "fuzz", .resume_from = {}};
  RunSummary summary;
  try {
    summary = mbs::run_scenario(input, fem::open_local_contact, sink, stop.get_token());
  } catch (const Error& e) {
    // Errors that only the assembled model reveals are rejected before the run.
    EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
    return;
  }
  if (summary.status != "failed") return;
  ASSERT_TRUE(summary.error.has_value());
  EXPECT_NE(summary.error->code(), ErrorCode::internal) << summary.error->what();
  EXPECT_STRNE(summary.error->what(), "");
}

struct Token {
  std::size_t begin = 0, size = 0;
};

/// Numbers of the text that are values.
std::vector<Token> numbers_in(std::string_view text) {
  constexpr std::string_view inner = "0123456789+-.eE";
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    const bool starts = i == 0 || std::string_view(" [,:").find(text[i - 1]) != std::string_view::npos;
    if (!starts || std::string_view("0123456789-").find(text[i]) == std::string_view::npos) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && inner.find(text[end]) != std::string_view::npos) ++end;
    tokens.push_back({.begin = i, .size = end - i});
    i = end + 1;
  }
  return tokens;
}

/// Another number in place of `word`: nearby, of another magnitude, or at the limits of the ranges.
std::string changed_number(std::string_view word, std::minstd_rand& random) {
  double value = 0.0;
  (void)std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr std::array odd = {0.0,  1.0,  -1.0, 1e-12, 1e-9, 1e-6, 1e-3,  1e3, 1e6,   1e9,    1e12,  -1e12,
                              1e15, -1e6, -1e3, 0.5,   2.0,  10.0, 1e-18, 3.0, 1e155, -1e308, 1e-300};
  switch (random() % 5) {
    case 0:
    case 4:
      return fmt::format("{}", odd[random() % odd.size()]);
    case 1:
      return fmt::format("{}", value * std::pow(10.0, static_cast<double>(random() % 37) - 18.0));
    case 2:
      return fmt::format("{}", -value);
    default:
      return fmt::format("{}", value * (0.5 + static_cast<double>(random() % 1000) / 667.0));
  }
}

std::string mutated(std::string text, unsigned int seed) {
  std::minstd_rand random(seed);
  for (auto n = 1 + random() % 3; n > 0; --n) {
    const auto tokens = numbers_in(text);
    const Token token = tokens[random() % tokens.size()];
    text.replace(token.begin, token.size,
                 changed_number(std::string_view(text).substr(token.begin, token.size), random));
  }
  return text;
}

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const char* name : {"bouncing_ball", "bricard", "car_axis", "colliding_spheres", "double_pendulum", "four_bar_n",
                           "gait_chain", "governor", "simple_pendulum", "slider_crank", "slider_crank_ida"}) {
    texts.push_back(read_text(fmt::format(HEELSTRIKE_SOURCE_DIR "/examples/{}.yaml", name)));
  }
  for (const char* name : {"ball", "driven", "far_body", "pressed", "stiff_steps"}) {
    texts.push_back(read_text(fmt::format(HEELSTRIKE_SOURCE_DIR "/tests/fuzz/run_corpus/{}.yaml", name)));
  }
  return texts;
}

unsigned int number_from(const char* variable, unsigned int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned int>(std::stoul(text));
}

TEST(MutatedScenarios, TerminateWithoutCrash) {
  const auto texts = seeds();
  const Catalog catalog = mbs::scenario_catalog(local_backend_schemas());
  const auto folder = std::filesystem::path(HEELSTRIKE_BIN_DIR).parent_path() / "mutated_scenarios";
  std::filesystem::create_directories(folder);
  const unsigned int first = number_from("HEELSTRIKE_FUZZ_FIRST", 0);
  const unsigned int n_runs = number_from("HEELSTRIKE_FUZZ_RUNS", 160);
  unsigned int n_good = 0;
  for (unsigned int n = first; n < first + n_runs; ++n) {
    const std::string yaml = mutated(texts[n % texts.size()], 7919 * n + 1);
    const auto file = folder / "running.yaml";
    std::ofstream(file) << yaml;
    std::optional<Scenario> scenario;
    try {
      scenario = parse_scenario(yaml, "fuzz.yaml", catalog);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
      continue;
    }
    ++n_good;
    expect_to_end_well(*scenario);
    if (!HasFailure()) continue;
    std::filesystem::copy_file(file, folder / fmt::format("{}.yaml", n),
                               std::filesystem::copy_options::overwrite_existing);
    FAIL() << "see " << folder / fmt::format("{}.yaml", n);
  }
  // Mutations rejected by the checks test the checks only.
  EXPECT_GT(n_good, n_runs / 4);
}

}  // namespace
}  // namespace heelstrike::test
