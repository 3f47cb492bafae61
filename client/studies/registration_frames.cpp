#include "client/studies/registration_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "gait/grf_comparison.hpp"
#include "gait/ground_reactions.hpp"
#include "gait/marker_drivers.hpp"
#include "gait/motion_columns.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {
namespace {

/// Stores the rows of a run.
class RowSink final : public RunSink {
 public:
  void on_schema(std::span<const Column> columns) override {
    for (const Column& column : columns) series.columns.push_back(column.name);
  }
  void on_row(std::span<const double> values) override {
    series.values.insert(series.values.end(), values.begin(), values.end());
  }
  void on_progress(const Progress&) override {}
  void on_log(std::string_view, std::string_view) override {}
  void on_episode(const ContactEpisode&) override {}
  void on_checkpoint(const Checkpoint&) override {}

  TimeSeries series;
};

}  // namespace

double FrameErrors::rms() const {
  double sum = 0.0;
  for (const Vector3& e : error) sum += e.squaredNorm();
  return error.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(error.size()));
}

RegistrationRuns::RegistrationRuns(const RegistrationTask& task, Runner& runner, std::stop_token stop)
    : task_(task), runner_(runner), stop_(std::move(stop)), target_(registration_target(task)) {
  for (const MarkerMotionSpec& motion : task.request.scenario.motions) {
    for (const FootSpec& foot : motion.feet) {
      if (foot.registration && !foot.plate.empty()) add_foot(motion, foot);
    }
  }
  if (feet_.empty()) {
    throw input_error("motion",
                      "expected a foot with `registration` and `plate`, found none; add the constants to start from, "
                      "e.g. registration: {position: [0, 0, -0.03]}");
  }
}

void RegistrationRuns::add_foot(const MarkerMotionSpec& motion, const FootSpec& spec) {
  RegisteredFoot foot{.motion = motion.name, .name = spec.name, .measured = {}, .pairs = {}, .result = {}};
  const auto plates =
      read_force_plates(read_motion_table(*content_in(task_.request.files)(motion.plates), motion.plates));
  foot.measured = *std::ranges::find(plates, spec.plate, &ForcePlate::name);
  foot.up = vertical_axis(plates);
  foot.result.foot = motion.name + "." + spec.name;
  foot.result.before = foot.result.found = *spec.registration;
  for (const Stance& stance : stances(foot.measured, foot.up)) {
    if (!stance.complete()) foot.result.stances.push_back(stance);
  }
  if (foot.result.stances.empty()) {
    throw input_error("plates", fmt::format("{}: expected a stance of foot '{}' that the recording cuts off, found "
                                            "complete ones only, which are reserved for validation",
                                            motion.plates, spec.name));
  }
  const auto follows = [&](const std::string& body) {
    return followed_segment(task_.request.scenario, body).starts_with(foot.result.foot + ".");
  };
  for (const PairModel& pair : task_.request.scenario.pairs) {
    if (follows(pair.main_body) || follows(pair.partner_body)) foot.pairs.push_back(pair.spec.name);
  }
  feet_.push_back(std::move(foot));
}

TimeSeries RegistrationRuns::run() {
  RunRequest request = task_.request;
  request.text_changed = true;
  const Catalog catalog = scenario_catalog();
  for (const RegisteredFoot& foot : feet_) {
    request.yaml = with_override(
        request.yaml, request.file_name,
        fmt::format("motion.{}.feet.{}.registration={}", foot.motion, foot.name, registration_text(foot.result.found)),
        catalog);
  }
  RowSink sink;
  const RunSummary summary = runner_.run(request, sink, stop_);
  // Frames without a solution have no rows and do not enter the fit; the last run reports them.
  const bool has_end = summary.status == "completed" || summary.status == "incomplete";
  if (summary.error && !has_end) throw_typed(*summary.error);
  if (!has_end) throw Error(ErrorCode::cancelled, "stopped");
  ++n_runs_;
  return std::move(sink.series);
}

std::vector<FrameErrors> RegistrationRuns::evaluate() {
  const TimeSeries series = run();
  const std::string text = ground_reactions(task_.request.scenario, series, content_in(task_.request.files));
  const auto predicted = read_force_plates(read_motion_table(text, "ground reactions"));
  std::vector<FrameErrors> all;
  for (const RegisteredFoot& foot : feet_) {
    all.push_back(errors(foot, *std::ranges::find(predicted, foot.measured.name, &ForcePlate::name), series));
  }
  return all;
}

FrameErrors RegistrationRuns::errors(const RegisteredFoot& foot, const ForcePlate& predicted,
                                     const TimeSeries& series) const {
  FrameErrors result;
  for (std::size_t i = 0; i < predicted.times.size(); ++i) {
    const double t = predicted.times[i];
    const auto within = [&](const Stance& s) { return t >= s.start && t <= s.end; };
    if (std::ranges::none_of(foot.result.stances, within)) continue;
    const double measured = interpolated(foot.measured.times, foot.measured.force, t).dot(foot.up);
    const double force = predicted.force[i].dot(foot.up);
    Vector3 error = (force - measured) * foot.up;
    if (target_ == RegistrationTarget::center_of_pressure) {
      if (!(force > 0.0) || measured < task_.min_force) continue;
      error = predicted.point[i] - interpolated(foot.measured.times, foot.measured.point, t);
      error -= error.dot(foot.up) * foot.up;
    }
    result.times.push_back(t);
    result.error.push_back(error);
  }
  for (const std::string& pair : foot.pairs) {
    const auto pressure = series.column(pair + ".peak_pressure_Pa");
    result.peak_pressure = std::max(result.peak_pressure, *std::ranges::max_element(pressure));
  }
  return result;
}

}  // namespace heelstrike::client
