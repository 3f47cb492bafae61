// Limits of a run, and its messages when they are reached or when steps become too small.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/simulation/run_diagnostics.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunSummary run_ball(const std::vector<std::string>& overrides) {
  return run_local(scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"), overrides)).summary;
}

void expect_limit(const RunSummary& summary, const std::string& key) {
  EXPECT_EQ(summary.status, "failed");
  ASSERT_TRUE(summary.error.has_value());
  EXPECT_EQ(summary.error->code(), ErrorCode::limit) << summary.error->what();
  EXPECT_EQ(summary.error->field(), key);
  EXPECT_THAT(summary.error->what(), AllOf(HasSubstr(key), HasSubstr("raise it")));
}

TEST(Budget, StepsRowsAndEvaluationsAreLimited) {
  expect_limit(run_ball({"analysis.budget.steps=100"}), "analysis.budget.steps");
  expect_limit(run_ball({"analysis.budget.evaluations=300"}), "analysis.budget.evaluations");
  // The grid alone has 4 rows; steps in contact are reported as well.
  expect_limit(run_ball({"output.steps=all", "output.interval=0.5", "analysis.budget.rows=200"}),
               "analysis.budget.rows");
}

TEST(Budget, GridAboveTheLimitIsRejectedBeforeTheRun) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{"output.interval=1e-12"},
        std::vector<std::string>{"analysis.integrator.name=rk4", "analysis.integrator.step=1e-9"},
        std::vector<std::string>{"analysis.integrator.max_step=1e-9"}}) {
    try {
      (void)run_ball(overrides);
      ADD_FAILURE() << "accepted " << overrides.back();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_input);
      EXPECT_THAT(e.what(), AllOf(HasSubstr(overrides.back()), HasSubstr("at least"), HasSubstr("analysis.budget.")));
    }
  }
}

TEST(Budget, TooSmallStepsAreReportedWithTheirCause) {
  AnalysisSpec analysis;
  analysis.end_time = 1.0;
  analysis.budget.stalled_steps = 1000;
  const auto end_of = [&](bool switching, std::int64_t rejected) -> std::string {
    mbs::StallDetector watch(analysis, {"heel", "toe"}, 0.0);
    IntegratorStatistics statistics;
    try {
      // Steps of 1e-40 s from t = 0 on: the rounding error of t is smaller still.
      for (int i = 1; i <= 1000; ++i) {
        if (switching) watch.count_switch(1);
        statistics.rejected_steps += rejected;
        watch.count_step(1e-40 * i, statistics);
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::solver_failed);
      return e.what();
    }
    return "it went on";
  };
  EXPECT_THAT(end_of(true, 0), AllOf(HasSubstr("no progress"), HasSubstr("contact 'toe' began or ended 1000 times")));
  EXPECT_THAT(end_of(false, 3), HasSubstr("3000 steps were rejected"));
  EXPECT_THAT(end_of(false, 0), HasSubstr("the motion is that fast"));
  mbs::StallDetector watch(analysis, {}, 0.0);
  for (int i = 1; i <= 5000; ++i) EXPECT_NO_THROW(watch.count_step(1e-8 * i, {}));
}

// Steps shorter than the periods of the vibrations of atoms resolve no motion of bodies; those of a short impact in a
// long run are longer, and those of a short run advance it.
TEST(Budget, StepsBelowAnyMotionOfBodiesAreReported) {
  const auto ends = [](double end_time, double step) {
    AnalysisSpec analysis;
    analysis.end_time = end_time;
    analysis.budget.stalled_steps = 1000;
    mbs::StallDetector watch(analysis, {}, 0.0);
    constexpr double start = 2.5e-6;
    try {
      for (int i = 1; i <= 3000; ++i) watch.count_step(start + step * i, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::solver_failed);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(ends(2e-3, 2e-14));
  EXPECT_FALSE(ends(2e-3, 2e-13));
  EXPECT_FALSE(ends(1e-5, 2e-14));
  EXPECT_FALSE(ends(10.0, 1e-10));
}

TEST(Stop, IsDetectedDuringTheSearchForDependentRows) {
  std::stop_source stop;
  stop.request_stop();
  mbs::SparseMatrix A(3, 3);
  A.setIdentity();
  try {
    (void)mbs::independent_rows(A, stop.get_token());
    FAIL() << "went on";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::cancelled);
  }
}

TEST(IndependentRows, FirstOfSeveralDependentRowsIsKept) {
  // Rows 0 and 1 span row 2; row 3 is new by 1e-7, row 4 by less than 1e-9; row 5 is zero.
  mbs::SparseMatrix A(6, 4);
  const double rows[6][4] = {{1, 2, 0, 0},     {0, 1, -1, 0},     {1, 3, -1, 0},
                             {1, 3, -1, 1e-7}, {2, 5, -1, 1e-10}, {0, 0, 0, 0}};
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (rows[i][j] != 0.0) A.insert(i, j) = rows[i][j];
    }
  }
  EXPECT_EQ(mbs::independent_rows(A), (std::vector<int>{0, 1, 3}));
}

}  // namespace
}  // namespace heelstrike::test
