// The page as text: user text never becomes markup, and nothing is loaded from the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/markup.hpp"
#include "report/html.hpp"
#include "report/page.hpp"

namespace heelstrike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

RunData hostile_run() {
  RunData run{.label = "</script><script>alert(1)</script>",
              .folder = "a b<c",
              .summary = RunSummary{},
              .incomplete = "<b>stopped</b>",
              .scenario = "description: <img src=x onerror=alert(1)>",
              .scenario_digest = std::string(64, '0'),
              .model = {},
              .series = {},
              .measured = {},
              .prints = {},
              .fields = {},
              .shapes = {}};
  run.summary->scenario = "<script>";
  run.summary->backend = "flores & \"co\"";
  run.summary->status = "completed";
  run.fields = {};
  run.series.columns = {"time_s", "</script>.z_m", "</script>.gap_m"};
  run.series.values = {0.0, 1.0, 1.0, 0.1, 2.0, 2.0};
  return run;
}

TEST(RunPage, TextsOfUsersAreEscaped) {
  const std::string page = run_page(hostile_run());
  EXPECT_THAT(page, HasSubstr("<title>&lt;script&gt; with flores &amp; &quot;co&quot;</title>"));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>stopped")));
  EXPECT_THAT(page, HasSubstr("href=\"a%20b%3Cc/timeseries.csv\""));
}

TEST(RunPage, ShowsHowACancelledRunContinues) {
  RunData run = hostile_run();
  run.summary->status = "failed";
  EXPECT_THAT(run_page(run), Not(HasSubstr("heelstrike resume")));
  run.summary->status = "cancelled";
  EXPECT_THAT(run_page(run), HasSubstr("heelstrike resume with this folder continues it"));
}

TEST(RunPage, OmitsContactWithoutPairs) {
  RunData run = hostile_run();
  run.summary->scenario = "four_bar";
  run.summary->backend = "none";
  EXPECT_THAT(run_page(run), HasSubstr("id=\"contacts\"")) << "pairs without contact";
  run.series = {.columns = {"time_s", "crank.z_m"}, .values = {0.0, 1.0}};
  const std::string page = run_page(run);
  EXPECT_THAT(page, HasSubstr("<title>four_bar</title>"));
  EXPECT_THAT(page, Not(HasSubstr("id=\"contacts\"")));
  EXPECT_THAT(page, Not(HasSubstr("back-end</th>")));
}

TEST(RunPage, ListsPeakPressureAndAreaOfEveryContact) {
  RunData run = hostile_run();
  run.summary->simulated_time = 1.0;
  run.summary->contacts = {{.pair = "a", .onset = 0.0, .end = 0.4, .max_force = 2.0},
                           {.pair = "a", .onset = 0.6, .max_force = 1.0}};
  run.series = {.columns = {"time_s", "a.gap_m", "a.peak_pressure_Pa", "a.area_m2"},
                .values = {0.0, 0.0, 5e5, 1e-4, 0.5, 0.1, 0.0, 0.0, 1.0, 0.0, 2e5, 3e-4}};
  const std::string page = run_page(run);
  EXPECT_THAT(page, HasSubstr("data-label=\"peak pressure [kPa]\">500<"));
  EXPECT_THAT(page, HasSubstr("data-label=\"peak pressure [kPa]\">200<"));
  EXPECT_THAT(page, HasSubstr("data-label=\"peak area [cm²]\">3<"));
}

TEST(RunPage, OfARunWithoutStepsHasNoZeros) {
  RunData run = hostile_run();
  run.summary->status = "failed";
  EXPECT_THAT(run_page(run), Not(HasSubstr("id=\"cost\"")));
  EXPECT_THAT(run_page(run), Not(HasSubstr("id=\"energy\"")));
  run.summary->simulated_time = 0.1;
  EXPECT_THAT(run_page(run), HasSubstr("id=\"cost\""));
}

TEST(RunPage, OfARunThatFailsBeforeItsFirstRow) {
  RunData run = hostile_run();
  run.summary->status = "failed";
  run.series = {.columns = {"time_s", "a.gap_m", "a.fx_N", "a.peak_pressure_Pa"}, .values = {}};
  EXPECT_NO_THROW((void)charts_json(run, 1000));
  EXPECT_NO_THROW((void)run_page(run));
}

TEST(RunPage, ImpactsHaveNoIndentationAndNoForceOfRounding) {
  RunData run = hostile_run();
  run.summary->simulated_time = 1.0;
  run.summary->integrator.steps = 1000;
  run.summary->contacts = {
      {.pair = "a", .onset = 0.1, .end = 0.101, .max_force = 1e-9, .max_indentation = 2e-16, .max_impulse = 0.07}};
  run.series = {.columns = {"time_s", "a.gap_m", "a.indentation_m", "a.fx_N", "a.fy_N", "a.fz_N"},
                .values = {0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 2e-16, 0.0, 0.0, 1e-9}};
  const Json charts = charts_json(run, 1000);
  EXPECT_TRUE(charts["loops"].empty());
  for (const Json& column : charts["columns"]) {
    EXPECT_NE(column["quantity"], "indentation");
    if (column["quantity"] == "force") {
      EXPECT_EQ(column["packed"]["constant"], 0.0) << column["name"];
    }
  }
  EXPECT_THAT(run_page(run), Not(HasSubstr("peak indentation")));
}

TEST(RunPage, DetectsPrescribedMotionFromTheAnalysis) {
  RunData run = hostile_run();
  run.model.emplace();
  run.summary->integrator = {.name = "kinematic", .steps = 20};
  EXPECT_THAT(run_page(run), Not(HasSubstr("For prescribed motion"))) << "whatever an integrator is called";
  run.model->analysis.traits.prescribed = true;
  EXPECT_THAT(run_page(run), HasSubstr("For prescribed motion"));
}

TEST(RunPage, NeedsNothingFromTheNetwork) {
  const std::string page = run_page(hostile_run());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("<link rel=\"stylesheet\"")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_LT(page.size(), 1'000'000U) << "a page without data";
}

TEST(RunPage, ReportsTheUseOfWallTime) {
  RunData run = hostile_run();
  run.summary->wall_time = 10.0;
  run.summary->contact_evaluations = 5;
  EXPECT_THAT(run_page(run), Not(HasSubstr("Breakdown of the wall time"))) << "a folder of an earlier version";
  run.summary->wall_times = {.preparation = 1.0, .contact = 2.0, .transport = 3.0, .fields = 0.5};
  const std::string page = run_page(run);
  for (const char* cell : {"1 (10 %)", "2 (20 %)", "3 (30 %)", "0.5 (5 %)", "3.5 (35 %)"}) {
    EXPECT_THAT(page, HasSubstr(cell));
  }
}

TEST(RunPage, RoundingIsNoErrorOfTheEnergyBalance) {
  RunData run = hostile_run();
  run.summary->energy = {
      .initial = 2.0, .final = 2.0, .dissipated = 0.0, .external_work = 1e-15, .balance_error = -1e-15};
  EXPECT_THAT(run_page(run), Not(HasSubstr("100 %")));
  run.summary->energy.balance_error = -1e-3;
  run.summary->energy.dissipated = 1e-3;
  EXPECT_THAT(run_page(run), HasSubstr("100 %"));
}

TEST(RunPage, OmitsTheCostOfContactWithoutPairs) {
  RunData run = hostile_run();
  run.summary->rpc = RpcStatistics{.calls = 7, .p50_us = 2.1e6, .p99_us = 2.5e6};
  const std::string page = run_page(run);
  EXPECT_THAT(page, HasSubstr("contact evaluations"));
  EXPECT_THAT(page, HasSubstr("median time of an exchange [s]")) << "in a unit of its size";
  run.summary->scenario = "four_bar";
  run.summary->backend = "none";
  run.summary->rpc.reset();
  run.series = {.columns = {"time_s", "crank.z_m"}, .values = {0.0, 1.0}};
  EXPECT_THAT(run_page(run), Not(HasSubstr("contact evaluations")));
}

TEST(ScriptJson, CannotEndItsElement) {
  const Json json = {{"name", "</script><!--<script>"}, {"line", "a\u2028b"}};
  const std::string text = script_json(json);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_EQ(Json::parse(text), json);
}

TEST(Base64, EqualsTheVectorsOfRfc4648) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
}

TEST(Packed, ConstantIsOneNumber) {
  const std::vector<double> values(1000, 0.25);
  EXPECT_EQ(packed(values).dump(), R"({"n":1000,"constant":0.25})");
  const std::vector<double> nothing;
  EXPECT_EQ(packed(nothing)["n"], 0);
}

}  // namespace
}  // namespace heelstrike::report
