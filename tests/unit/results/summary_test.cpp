#include "common/results/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace heelstrike {
namespace {

RunSummary full_summary() {
  RunSummary s;
  s.scenario = "bouncing_ball";
  s.backend = "flores";
  s.status = "failed";
  s.simulated_time = 0.1 + 0.2;  // 17 digits
  s.wall_time = 0.5;
  s.integrator = {.name = "cvode_index1",
                  .steps = 1,
                  .rejected_steps = 2,
                  .rhs_evaluations = 3,
                  .jacobian_evaluations = 4,
                  .restarts = 5};
  s.contact_evaluations = 6;
  s.contact_commits = 7;
  s.coupling = {.scheme = "implicit", .exchanges = 11, .rejected_macro_steps = 12, .iterations = 13};
  s.rpc = {.calls = 8, .p50_us = 9.5, .p99_us = 10.5, .round_trip_time = 0.25, .server_time = 0.125};
  s.energy = {
      .initial = 1.0 / 3.0, .final = 2.0 / 3.0, .dissipated = 5e-324, .external_work = -1.0, .balance_error = 1e-300};
  s.contacts.push_back({.pair = "ball-ground",
                        .onset = 0.428,
                        .end = 0.429,
                        .max_force = 1.0,
                        .max_force_time = 2.0,
                        .max_indentation = 3.0,
                        .max_indentation_time = 4.0,
                        .approach_velocity = 5.0,
                        .separation_velocity = 6.0,
                        .effective_restitution = 0.7,
                        .max_impulse = 8.0});
  s.contacts.push_back(
      {.pair = "ball-ground", .onset = 1.0, .end = {}, .separation_velocity = {}, .effective_restitution = {}});
  s.error.emplace(ErrorCode::solver_failed, "gave up", "analysis", true);
  s.max_position_violation = 1e-12;
  s.max_velocity_violation = 1e-11;
  s.wall_times = {.preparation = 0.01, .contact = 0.02, .transport = 0.03, .fields = 0.04};
  return s;
}

/// A run that fails deep in a contact has no last energy: null in the file, which remains readable.
TEST(Summary, UnknownValuesAreNullAndReadable) {
  RunSummary s = full_summary();
  s.energy.final = std::numeric_limits<double>::quiet_NaN();
  s.contacts[0].max_force = std::numeric_limits<double>::quiet_NaN();
  const std::string json = summary_json(s);
  EXPECT_TRUE(nlohmann::json::parse(json).at("energy").at("final_J").is_null()) << json;
  const RunSummary read = parse_summary(json, "summary.json");
  EXPECT_TRUE(std::isnan(read.energy.final));
  EXPECT_TRUE(std::isnan(read.contacts[0].max_force));
  EXPECT_EQ(read.energy.initial, s.energy.initial);
}

/// The documented names, used by tools.
TEST(Summary, HasTheDocumentedKeys) {
  const auto json = nlohmann::json::parse(summary_and_timing_json(full_summary()));
  for (const char* key : {"scenario", "backend", "status", "simulated_time_s", "wall_time_s", "real_time_factor"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key : {"name", "steps", "rejected_steps", "rhs_evaluations", "jacobian_evaluations"}) {
    EXPECT_TRUE(json.at("integrator").contains(key)) << key;
  }
  for (const char* key : {"evaluations", "commits"}) EXPECT_TRUE(json.at("contact").contains(key)) << key;
  for (const char* key : {"calls", "p50_us", "p99_us"}) EXPECT_TRUE(json.at("rpc").contains(key)) << key;
  for (const char* key : {"initial_J", "final_J", "dissipated_J", "balance_error_J"}) {
    EXPECT_TRUE(json.at("energy").contains(key)) << key;
  }
  for (const char* key : {"pair", "onset_s", "end_s", "max_force_N", "max_indentation_m", "approach_velocity_m_s",
                          "separation_velocity_m_s", "effective_restitution", "max_impulse_N_s"}) {
    EXPECT_TRUE(json.at("contacts").at(0).contains(key)) << key;
  }
  for (const char* key : {"code", "message", "field"}) EXPECT_TRUE(json.at("error").contains(key)) << key;
  for (const char* key : {"preparation_s", "contact_s", "transport_s", "fields_s"}) {
    EXPECT_TRUE(json.at("wall_times").contains(key)) << key;
  }
  EXPECT_EQ(json.at("real_time_factor"), (0.1 + 0.2) / 0.5);
  EXPECT_TRUE(json.at("contacts").at(1).at("end_s").is_null());
}

TEST(Summary, LocalRunHasNoRpc) {
  RunSummary s = full_summary();
  s.rpc.reset();
  s.error.reset();
  EXPECT_TRUE(nlohmann::json::parse(timing_json(s)).at("rpc").is_null());
  EXPECT_TRUE(nlohmann::json::parse(summary_json(s)).at("error").is_null());
}

TEST(Summary, ReadsBackBitForBit) {
  const std::string text = summary_json(full_summary());
  const RunSummary back = parse_summary(text, "summary.json");
  EXPECT_EQ(summary_json(back), text);
  EXPECT_EQ(back.simulated_time, 0.1 + 0.2);
  EXPECT_EQ(back.energy.dissipated, 5e-324);
  EXPECT_EQ(back.contacts.at(0).end, 0.429);
  EXPECT_FALSE(back.contacts.at(1).end.has_value());
  ASSERT_TRUE(back.error.has_value());
  EXPECT_EQ(back.error->code(), ErrorCode::solver_failed);
  EXPECT_EQ(back.error->field(), "analysis");
  EXPECT_TRUE(back.error->retryable());
}

/// Two runs of one scenario have the same summary, whatever their duration.
TEST(Summary, WallTimesAreInASeparateFile) {
  const RunSummary s = full_summary();
  RunSummary slow = s;
  slow.wall_time *= 2.0;
  slow.wall_times.contact += 1.0;
  slow.rpc->calls += 1;
  slow.rpc->p99_us += 1.0;
  EXPECT_EQ(summary_json(slow), summary_json(s));
  RunSummary back = parse_summary(summary_json(slow), "summary.json");
  EXPECT_FALSE(back.rpc.has_value());
  parse_timing(timing_json(slow), "timing.json", back);
  EXPECT_EQ(timing_json(back), timing_json(slow));
  EXPECT_EQ(back.wall_times.contact, slow.wall_times.contact);
  // A folder of an earlier version has both in one file.
  EXPECT_EQ(timing_json(parse_summary(summary_and_timing_json(slow), "summary.json")), timing_json(slow));
  try {
    parse_timing("{}", "x/timing.json", back);
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::file);
    EXPECT_THAT(e.what(), testing::StartsWith("x/timing.json: expected the wall times of a run"));
  }
}

TEST(Summary, OtherFilesAreRejectedByName) {
  for (const std::string text : {"", "{}", "[1, 2", "{\"scenario\": 3}"}) {
    try {
      (void)parse_summary(text, "x/summary.json");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::file);
      EXPECT_THAT(e.what(), testing::StartsWith("x/summary.json: expected the summary of a run"));
    }
  }
}

}  // namespace
}  // namespace heelstrike
