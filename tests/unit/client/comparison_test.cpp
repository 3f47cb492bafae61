// The numbers of a comparison: their contact, deviations, and the text of missing numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "client/studies/comparison.hpp"

namespace heelstrike::client {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ComparisonRow completed(const std::string& backend, double force) {
  ComparisonRow row;
  row.backend = backend;
  row.folder = backend;
  row.status = "completed";
  ContactEpisode first;
  first.onset = 0.5;
  first.end = 0.75;
  first.max_force = force;
  ContactEpisode second = first;
  second.max_force = 7.0 * force;
  RunSummary summary;
  summary.contacts = {first, second};
  row.quantities = quantities_of(summary);
  return row;
}

ComparisonRow failed(const std::string& backend) {
  ComparisonRow row;
  row.backend = backend;
  row.failure = "no parameter \"exponent\", at all";
  return row;
}

Comparison comparison() {
  return {.scenario = "ball", .reference = "hertz", .rows = {completed("hertz", 200.0), completed("flores", 150.0)}};
}

TEST(Comparison, ValuesAreOfTheFirstContactAndDeviationsFromTheReference) {
  const auto json = nlohmann::json::parse(comparison().json());
  EXPECT_EQ(json["reference"], "hertz");
  EXPECT_EQ(json["rows"][1]["max_force_N"], 150.0);
  EXPECT_EQ(json["rows"][1]["contact_duration_s"], 0.25);
  EXPECT_EQ(json["rows"][1]["max_force_N_relative_deviation"], -0.25);
  EXPECT_EQ(json["rows"][0]["max_force_N_relative_deviation"], 0.0);
  EXPECT_THAT(comparison().table().aligned(), HasSubstr("-25.00"));
}

TEST(Comparison, TableOfASweepHasTheVariedKeysAndNoZeros) {
  Comparison sweep{.scenario = "ball", .reference = "", .rows = {completed("e=0.2", 200.0), completed("e=0.4", 150.0)}};
  sweep.subject = "run";
  sweep.rows[0].parameters = {{"contact.e", "0.2"}, {"bodies.b.mass", "1"}};
  sweep.rows[1].parameters = {{"contact.e", "0.4"}, {"bodies.b.mass", "1"}};
  const Table table = sweep.table();
  EXPECT_EQ(table.header[0], "e");
  EXPECT_EQ(table.header[1], "mass");
  EXPECT_EQ(table.rows[1][0], "0.4");
  EXPECT_THAT(table.header, Not(Contains("max indentation m"))) << "zero in all runs";
  EXPECT_THAT(sweep.csv(), HasSubstr("max_indentation_m")) << "files keep it";
}

TEST(Comparison, ImpactsOfRigidBodiesHaveNoForceIndentationOrDuration) {
  RunSummary run;
  run.contacts = {{.pair = "ball", .onset = 0.1, .end = 0.100647, .separation_velocity = 0.8, .max_impulse = 0.13}};
  const Quantities known = quantities_of(run);
  EXPECT_FALSE(known.contains("max_force_N"));
  EXPECT_FALSE(known.contains("max_indentation_m"));
  EXPECT_FALSE(known.contains("contact_duration_s"));
  EXPECT_EQ(known.at("separation_velocity_m_s"), 0.8);
}

TEST(Comparison, SchemesAreComparedByPositionsAtCommonTimes) {
  const std::vector<std::string> columns = {"time_s", "ball.x_m", "ball.y_m", "ball.z_m", "ball.qw"};
  // The row at 0.15 s is a step of the reference only.
  const TimeSeries reference{columns, {0.0, 0, 0, 1, 1, 0.1, 0, 0, 3, 1, 0.15, 0, 0, 9, 1, 0.2, 0, 4, 1, 1}};
  const TimeSeries run{columns, {0.0, 0, 0, 1, 1, 0.1, 0.3, 0.4, 3, 1, 0.2, 0, 4, 1.1, 1}};
  const PositionError error = position_error(run, reference);
  EXPECT_DOUBLE_EQ(error.largest, 0.5);
  EXPECT_DOUBLE_EQ(error.relative, 0.5 / 8.0);
  const TimeSeries other{{"time_s", "block.x_m", "block.y_m"}, {0.0, 0, 0}};
  EXPECT_THROW((void)position_error(other, reference), Error);

  Comparison one = comparison();
  EXPECT_THAT(one.csv(), Not(HasSubstr("exchanges"))) << "back-ends have none";
  one.subject = "coupling scheme";
  one.rows[1].position_error = error;
  RunSummary coupled;
  coupled.coupling = {.scheme = "implicit", .exchanges = 11, .rejected_macro_steps = 0, .iterations = 33};
  one.rows[1].quantities = quantities_of(coupled);
  const auto row = nlohmann::json::parse(one.json())["rows"][1];
  EXPECT_EQ(row["position_error_m"], 0.5);
  EXPECT_EQ(row["exchanges"], 11);
  EXPECT_EQ(row["coupling_iterations"], 33);
  EXPECT_THAT(one.table().aligned(), HasSubstr("position error m"));
  EXPECT_THAT(one.markdown(), HasSubstr("comparison of coupling schemes"));
}

TEST(Comparison, OpenContactHasNoDuration) {
  RunSummary open;
  open.contacts.emplace_back().max_force = 150.0;
  Comparison one = comparison();
  one.rows[1].quantities = quantities_of(open);
  EXPECT_TRUE(nlohmann::json::parse(one.json())["rows"][1]["contact_duration_s"].is_null());
}

TEST(Comparison, FailureIsARowWithItsReason) {
  Comparison one = comparison();
  one.rows.push_back(failed("hooke"));
  EXPECT_EQ(one.exit_code(), ExitCode::run_failed);
  const auto row = nlohmann::json::parse(one.json())["rows"][2];
  EXPECT_EQ(row["status"], "failed");
  EXPECT_TRUE(row["max_force_N"].is_null());
  EXPECT_THAT(one.csv(), HasSubstr("\"no parameter \"\"exponent\"\", at all\"")) << "quoted as required by CSV";
  EXPECT_THAT(one.markdown(), HasSubstr("**hooke**: no parameter"));
}

// Requirement: an incomplete run is never shown as complete.
TEST(Comparison, IncompleteRunIsMarkedAndNotCompared) {
  Comparison one = comparison();
  EXPECT_EQ(one.exit_code(), ExitCode::ok);
  RunSummary broken;
  broken.contacts.emplace_back().max_force = 150.0;
  broken.energy.balance_error = std::numeric_limits<double>::quiet_NaN();
  one.rows[1].status = "incomplete";
  one.rows[1].quantities = quantities_of(broken);
  one.rows[1].failure = "14 of 20 frames have no solution";
  EXPECT_EQ(one.exit_code(), ExitCode::incomplete);
  const auto row = nlohmann::json::parse(one.json())["rows"][1];
  EXPECT_EQ(row["status"], "incomplete");
  EXPECT_EQ(row["max_force_N"], 150.0);
  EXPECT_TRUE(row["max_force_N_relative_deviation"].is_null());
  const std::string table = one.table().aligned();
  EXPECT_THAT(table, HasSubstr("flores (incomplete)"));
  EXPECT_THAT(table + one.csv(), Not(HasSubstr("nan")));
  ASSERT_EQ(one.failures().size(), 1U);
  EXPECT_THAT(one.failures()[0], HasSubstr("flores: incomplete: 14 of 20 frames"));
  one.rows.push_back(failed("hooke"));
  EXPECT_EQ(one.exit_code(), ExitCode::run_failed) << "a failure is worse";
}

TEST(Comparison, FailedReferenceLeavesNoDeviations) {
  Comparison one = comparison();
  one.rows[0] = failed("hertz");
  const auto row = nlohmann::json::parse(one.json())["rows"][1];
  EXPECT_EQ(row["max_force_N"], 150.0);
  EXPECT_TRUE(row["max_force_N_relative_deviation"].is_null());
}

}  // namespace
}  // namespace heelstrike::client
