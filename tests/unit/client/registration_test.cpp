// The registration fit reproduces the constants of a recording, and never uses complete stances. The model is a formula
// in place of a run: the test covers the fit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "client/studies/registration.hpp"
#include "common/errors/error.hpp"
#include "common/results/run_folder.hpp"
#include "gait/ground_reactions.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {
namespace {

/// Three stances: cut off at the start (to 0.35 s), complete (0.5 to 0.8 s), cut off at the end (from 0.95 s).
double load(double t) {
  if (t > 0.36 && t < 0.5) return 0.0;
  if (t > 0.8 && t < 0.95) return 0.0;
  return 600.0;
}

/// Constants of a run: of the incomplete stances, and of the complete one, which has a wrong value on purpose.
struct Truth {
  FootRegistration incomplete, complete;
};

/// Rows of a foot with the load load(t) less 1e5 N per metre of height, and whose centre of pressure is moved by pitch
/// (slightly nonlinear, so that more than one iteration is needed) and by the lateral offset.
TimeSeries rows_of(const Truth& truth) {
  TimeSeries series;
  series.columns = {"time_s",
                    "foot.x_m",
                    "foot.y_m",
                    "foot.z_m",
                    "sole.fx_N",
                    "sole.fy_N",
                    "sole.fz_N",
                    "sole.tx_Nm",
                    "sole.ty_Nm",
                    "sole.tz_Nm",
                    "sole.peak_pressure_Pa"};
  for (int i = 0; i <= 120; ++i) {
    const double t = 0.01 * i;
    const FootRegistration& r = t > 0.4 && t < 0.9 ? truth.complete : truth.incomplete;
    const double pitch = r.angles.y();
    const double force = load(t) > 0.0 ? std::max(load(t) - 1e5 * r.position.z() * (1.0 + 0.3 * t), 0.0) : 0.0;
    const double x = 0.1 * t + (0.5 + 0.2 * t) * pitch + 2.0 * pitch * pitch, y = r.position.y();
    for (const double v : {t, 0.0, 0.0, 0.0, 0.0, 0.0, force, y * force, -x * force, 0.0, 1e5 + 1e6 * pitch}) {
      series.values.push_back(v);
    }
  }
  return series;
}

class FormulaRunner final : public Runner {
 public:
  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token /*stop*/) override {
    ++n_runs;
    static const std::regex numbers(R"(position:\s*\[(.*?)\][^\[]*angles:\s*\[(.*?)\])");
    std::smatch found;
    std::string flat = request.yaml;
    std::ranges::replace(flat, '\n', ' ');
    if (!std::regex_search(flat, found, numbers)) throw std::logic_error("no registration in " + request.yaml);
    FootRegistration r;
    // NOLINTNEXTLINE(cert-err34-c): the text is the fit's own
    std::sscanf(found[1].str().c_str(), "%lf, %lf, %lf", &r.position.x(), &r.position.y(), &r.position.z());
    std::sscanf(found[2].str().c_str(), "%lf, %lf, %lf", &r.angles.x(), &r.angles.y(), &r.angles.z());
    const TimeSeries series = rows_of({r, r});
    std::vector<Column> columns;
    for (const auto& name : series.columns) columns.push_back({name, "", ""});
    sink.on_schema(columns);
    for (std::size_t i = 0; i < series.rows(); ++i) {
      sink.on_row(std::span(series.values).subspan(i * columns.size(), columns.size()));
    }
    RunSummary summary;
    summary.status = "completed";
    return summary;
  }
  int n_runs = 0;
};

RegistrationTask task_for(const std::string& type, std::vector<std::string> free, const Truth& truth) {
  RegistrationTask task;
  task.free = std::move(free);
  RunRequest& request = task.request;
  request.file_name = "fit.yaml";
  request.yaml = "motion:\n  walk:\n    feet:\n      right: {registration: {position: [0, 0, 0], angles: [0, 0, 0]}}\n";
  Scenario& scenario = request.scenario;
  scenario.analysis.type = type;
  scenario.analysis.traits = config::type_named(scenario_catalog().analyses, type).traits;
  scenario.gravity = Vector3(0, 0, -9.81);
  MarkerMotionSpec motion;
  motion.name = "walk";
  motion.plates = "grf.mot";
  motion.axes = {"x", "y", "z"};
  FootSpec foot;
  foot.name = "right";
  foot.plate = "ground_force";
  foot.registration = FootRegistration{};
  motion.feet.push_back(foot);
  scenario.motions.push_back(motion);
  DriverSpec driver;
  driver.body = "foot";
  driver.follow = "walk.right.hindfoot";
  scenario.drivers.push_back(driver);
  PairModel pair;
  pair.spec.name = "sole";
  pair.main_body = "foot";
  pair.partner_body = "belt";
  scenario.pairs.push_back(pair);
  // Made by the same formula; the plane of a plate's centre of pressure must be known in advance: z = 0.
  const std::string flat =
      "p\nversion=1\nnRows=1\nnColumns=10\ninDegrees=no\nendheader\ntime\tground_force_vx\tground_force_vy\t"
      "ground_force_vz\tground_force_px\tground_force_py\tground_force_pz\tground_torque_x\tground_torque_y\t"
      "ground_torque_z\n0\t0\t0\t600\t0\t0\t0\t0\t0\t0\n";
  const std::string measured =
      ground_reactions(scenario, rows_of(truth), [&](const std::string& /*name*/) { return &flat; });
  request.files.push_back({.sha256 = {}, .name = "grf.mot", .content = measured});
  return task;
}

FootRegistration constants(double pitch, double lateral, double height) {
  FootRegistration r;
  r.angles.y() = pitch;
  r.position.y() = lateral;
  r.position.z() = height;
  return r;
}

TEST(Registration, PitchAndLateralOffsetFollowFromCentresOfPressure) {
  FormulaRunner runner;
  const Truth truth{constants(0.06, -0.012, 0.0), constants(-0.2, 0.05, 0.0)};
  const auto found = fit_registration(task_for("hybrid", {"pitch", "lateral"}, truth), runner, {}, {});
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].stances.size(), 2U) << "the complete stance is for validation";
  // The prior pulls by (0.005 m / largest change)^2 against the squared sensitivities of 62 frames: below 1e-3 of the
  // change per iteration, corrected by the next iterations; they end when the error falls by less than a percent.
  EXPECT_NEAR(found[0].found.angles.y(), 0.06, 2e-4);
  EXPECT_NEAR(found[0].found.position.y(), -0.012, 2e-4);
  EXPECT_EQ(found[0].found.position.z(), 0.0) << "not free";
  EXPECT_LT(found[0].rms, 2e-4);
  EXPECT_NEAR(found[0].rms_before, std::hypot(0.0435, 0.012), 0.004) << "(0.5 + 0.2 t) 0.06 + 2 0.06^2, and 12 mm";
  ASSERT_EQ(found[0].mean_by.size(), 2U);
  EXPECT_NEAR(found[0].mean_by[1].y(), 1.0, 1e-6) << "a metre sideways is a metre";
  EXPECT_NEAR(found[0].peak_pressure_by[0], 1e6, 1.0);
}

TEST(Registration, HeightFollowsFromVerticalForces) {
  FormulaRunner runner;
  const Truth truth{constants(0.0, 0.0, 0.0021), constants(0.0, 0.0, -0.004)};
  const auto found = fit_registration(task_for("kinematic", {"height"}, truth), runner, {}, {});
  ASSERT_EQ(found.size(), 1U);
  // As above: the prior weighs (30 N / 5 mm)^2 against 62 (1e5 N/m)^2.
  EXPECT_NEAR(found[0].found.position.z(), 0.0021, 1e-5);
  EXPECT_LT(found[0].rms, 1.0) << "N";
  EXPECT_GT(found[0].rms_before, 200.0);
  EXPECT_NEAR(found[0].mean_by[0].z(), -1e5 * 1.18, 3e3) << "mean of 1 + 0.3 t over the frames used";
}

TEST(Registration, OnlyNamedStancesEnterTheFit) {
  FormulaRunner runner;
  // All stances but the named one have other constants: one frame of them would move the result.
  const Truth truth{constants(0.2, 0.05, 0.0), constants(0.03, 0.004, 0.0)};
  RegistrationTask task = task_for("hybrid", {"pitch", "lateral"}, truth);
  task.request.scenario.motions[0].calibration.stances = {0.6};
  const auto found = fit_registration(task, runner, {}, {});
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].stances.size(), 1U);
  EXPECT_NEAR(found[0].stances[0].start, 0.5, 0.02);
  EXPECT_NEAR(found[0].found.angles.y(), 0.03, 2e-4);
  EXPECT_NEAR(found[0].found.position.y(), 0.004, 2e-4);
}

TEST(Registration, ATrialForValidationIsRejected) {
  FormulaRunner runner;
  const Truth truth{constants(0, 0, 0), constants(0, 0, 0)};
  RegistrationTask task = task_for("hybrid", {"pitch"}, truth);
  MarkerMotionSpec& motion = task.request.scenario.motions[0];
  motion.markers = "second.trc";
  motion.calibration.markers = "first.trc";
  try {
    (void)fit_registration(task, runner, {}, {});
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("first.trc"), testing::HasSubstr("second.trc"),
                                         testing::HasSubstr("reserved for validation")));
  }
  EXPECT_EQ(runner.n_runs, 0);
}

TEST(Registration, HeightOfAHybridAnalysisAndUnknownNamesAreRejected) {
  FormulaRunner runner;
  const Truth truth{constants(0, 0, 0), constants(0, 0, 0)};
  const auto message = [&](const std::string& type, const std::string& name) {
    try {
      (void)fit_registration(task_for(type, {name}, truth), runner, {}, {});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_THAT(message("hybrid", "height"), testing::HasSubstr("analysis.type=kinematic"));
  EXPECT_THAT(message("hybrid", "pich"), testing::HasSubstr("did you mean 'pitch'?"));
  EXPECT_THAT(message("forward", "pitch"), testing::HasSubstr("found 'forward'"));
  EXPECT_EQ(runner.n_runs, 0);
}

}  // namespace
}  // namespace heelstrike::client
