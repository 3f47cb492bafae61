// Runs watched in progress: bounded curves, and the local page that serves them.
// clang-format off
#include "report/live/live_page.hpp"  // before httplib, whose resolv.h defines _res: a name that Eigen uses
// clang-format on

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/errors/error.hpp"
#include "report/live/live_run.hpp"

namespace heelstrike {
namespace {

using testing::HasSubstr;

TEST(SampleHistory, StaysSmallWithAllExtremes) {
  SampleHistory history(1000);
  for (int i = 0; i < 1'000'000; ++i) {
    const double spike = i == 123'456 ? 50.0 : i == 777'777 ? -70.0 : std::sin(1e-4 * i);
    history.add(1e-6 * i, spike);
  }
  EXPECT_LE(history.samples().size(), 1000U);
  for (const auto& samples : {history.samples(), history.thinned(100)}) {
    double low = 0.0;
    double high = 0.0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      low = std::min(low, samples[i].value);
      high = std::max(high, samples[i].value);
      if (i > 0) {
        EXPECT_LT(samples[i - 1].time, samples[i].time);
      }
    }
    EXPECT_EQ(high, 50.0);
    EXPECT_EQ(low, -70.0);
    EXPECT_EQ(samples.front().time, 0.0);
    EXPECT_EQ(samples.back().time, 1e-6 * 999'999);
  }
  EXPECT_LE(history.thinned(100).size(), 102U);
}

void start(LiveRun& run) {
  const std::vector<Column> columns = {{"time_s", "s", ""}, {"p.fz_N", "N", ""}, {"ball.z_m", "m", ""}};
  run.on_schema(columns);
}

void add_rows(LiveRun& run, int from, int to) {
  for (int i = from; i < to; ++i) run.on_row(std::vector{1e-3 * i, 100.0 * std::sin(0.01 * i), 1.0});
}

class Runs final : public LiveRuns {
 public:
  [[nodiscard]] std::string source() const override { return "<test>"; }
  [[nodiscard]] std::vector<LiveRunEntry> list() override { return {{"run-1", "<script>", run->state()}}; }
  [[nodiscard]] std::shared_ptr<LiveRun> find(const std::string& id) override {
    if (id != "run-1") throw not_found_error("there is no run '" + id + "' here");
    return run;
  }
  [[nodiscard]] bool can_cancel() const override { return true; }
  void cancel(const std::string& id) override { cancelled = id; }

  std::shared_ptr<LiveRun> run = std::make_shared<LiveRun>();
  std::string cancelled;
};

class Page : public testing::Test {
 protected:
  Page() { start(*runs_.run); }
  nlohmann::json get(const std::string& path) {
    httplib::Client client("127.0.0.1", page_.port());
    const auto response = client.Get(path.c_str());
    EXPECT_TRUE(response) << path;
    return response && response->status == 200 ? nlohmann::json::parse(response->body) : nlohmann::json();
  }

  Runs runs_;
  LivePage page_{runs_, {.port = 0, .allow_stop = true}};
};

std::size_t n_entries(const char* folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

TEST_F(Page, GrowsWithTheRunAndReportsWhenUnchanged) {
  add_rows(*runs_.run, 0, 10);
  const auto first = get("/api/runs/run-1");
  EXPECT_EQ(first.at("curves").at(0).at("value").size(), 10U);
  add_rows(*runs_.run, 10, 30);
  const auto second = get("/api/runs/run-1?have=" + std::to_string(first.at("version").get<int>()));
  EXPECT_EQ(second.at("curves").at(0).at("value").size(), 30U);
  EXPECT_EQ(second.at("state").at("rows"), 30);
  httplib::Client client("127.0.0.1", page_.port());
  const auto nothing = client.Get(("/api/runs/run-1?have=" + std::to_string(second.at("version").get<int>())).c_str());
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->status, 204);
}

TEST_F(Page, LateReaderGetsThinnedCurvesWithTheirPeaks) {
  add_rows(*runs_.run, 0, 1);
  runs_.run->on_row(std::vector{0.5e-3, 9000.0, 1.0});
  add_rows(*runs_.run, 1, 200'000);
  const auto late = get("/api/runs/run-1");
  const auto& values = late.at("curves").at(0).at("value");
  EXPECT_LT(values.size(), 700U);
  EXPECT_EQ(late.at("state").at("rows"), 200'001);
  EXPECT_THAT(values.get<std::vector<double>>(), testing::Contains(9000.0));
}

TEST_F(Page, StopsARunWithTheTokenOnly) {
  httplib::Client client("127.0.0.1", page_.port());
  const auto without = client.Post("/api/runs/run-1/cancel", "", "text/plain");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->status, 403);
  const auto invalid =
      client.Post("/api/runs/run-1/cancel", {{"X-Heelstrike-Token", std::string(32, '0')}}, "", "text/plain");
  ASSERT_TRUE(invalid);
  EXPECT_EQ(invalid->status, 403);
  EXPECT_EQ(runs_.cancelled, "");
  const std::string url = page_.url();
  const auto at = url.find("#token=");
  ASSERT_NE(at, std::string::npos) << url;
  const auto right =
      client.Post("/api/runs/run-1/cancel", {{"X-Heelstrike-Token", url.substr(at + 7)}}, "", "text/plain");
  ASSERT_TRUE(right);
  EXPECT_EQ(right->status, 200);
  EXPECT_EQ(runs_.cancelled, "run-1");
}

TEST_F(Page, IsReadOnlyByDefault) {
  const LivePage page(runs_, {});
  EXPECT_EQ(page.url().find("token"), std::string::npos);
  httplib::Client client("127.0.0.1", page.port());
  const auto response = client.Post("/api/runs/run-1/cancel", {{"X-Heelstrike-Token", ""}}, "", "text/plain");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 403);
  EXPECT_THAT(response->body, HasSubstr("--allow-stop"));
  EXPECT_EQ(runs_.cancelled, "");
}

TEST_F(Page, RespondsUnderItsHostNameOnly) {
  // A name of a foreign site that its owner lets point to this machine.
  httplib::Client client("127.0.0.1", page_.port());
  for (const char* path : {"/", "/api/runs", "/api/runs/run-1"}) {
    const auto response = client.Get(path, {{"Host", "evil.example:" + std::to_string(page_.port())}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 403) << path;
  }
  const auto own = client.Get("/");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->status, 200);
  EXPECT_THAT(own->get_header_value("Content-Security-Policy"), HasSubstr("default-src 'none'"));
}

TEST_F(Page, UnknownRunsAndExternalTextsAreHandled) {
  httplib::Client client("127.0.0.1", page_.port());
  const auto unknown = client.Get("/api/runs/run-2");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->status, 404);
  const auto list = get("/api/runs");
  EXPECT_EQ(list.at("runs").at(0).at("label"), "<script>");  // the page writes it as text
  EXPECT_EQ(list.at("can_stop"), true);
}

TEST_F(Page, HundredVisitsLeaveNothingBehind) {
  get("/api/runs");
  const auto settled = [] { return std::pair(n_entries("/proc/self/task"), n_entries("/proc/self/fd")); };
  const auto before = settled();
  for (int i = 0; i < 100; ++i) {
    httplib::Client client("127.0.0.1", page_.port());
    client.set_keep_alive(i % 2 == 0);
    ASSERT_TRUE(client.Get("/api/runs/run-1"));
  }
  // An idle connection is closed after a second; half a minute guards against hanging.
  for (int i = 0; i < 3000 && (settled().first > before.first || settled().second > before.second); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  const auto after = settled();
  EXPECT_LE(after.first, before.first) << "threads";
  EXPECT_LE(after.second, before.second) << "open files";
}

TEST(LiveRun, TextReportsProgressPaceAndForces) {
  LiveRun run;
  start(run);
  add_rows(run, 0, 100);
  run.on_progress({.time = 0.1, .end_time = 1.0, .step = 7, .step_size = 2e-4, .wall_time = 0.05});
  const std::string text = run.text("ball");
  EXPECT_THAT(text, HasSubstr("ball: t = 0.1 of 1 s, 10 %"));
  EXPECT_THAT(text, HasSubstr("step 0.0002 s"));
  EXPECT_THAT(text, HasSubstr("2x real time"));
  EXPECT_THAT(text, HasSubstr("p.fz_N"));
  EXPECT_EQ(text.find("ball.z_m"), std::string::npos) << text;
  run.finish("failed", "the server is gone");
  EXPECT_THAT(run.text("ball"), HasSubstr("failed: the server is gone"));
}

}  // namespace
}  // namespace heelstrike
