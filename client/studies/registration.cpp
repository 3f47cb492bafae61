#include "client/studies/registration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "gait/grf_comparison.hpp"
#include "gait/ground_reactions.hpp"
#include "gait/marker_drivers.hpp"
#include "gait/motion_columns.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {

namespace {

const std::array<RegistrationParameter, 7> known_parameters{{
    {"pitch", "rad", 0.01, 0.07},
    {"roll", "rad", 0.01, 0.07},
    {"yaw", "rad", 0.01, 0.07},
    {"lateral", "m", 0.002, 0.015},
    {"forward", "m", 0.002, 0.015},
    {"height", "m", 0.0005, 0.005},
    {"toe_angle", "rad", 0.02, 0.15},
}};

constexpr int min_step_length = 3;  ///< reductions of an unsuccessful step, each to a third

double& value_of(FootRegistration& registration, const std::string& name) {
  if (name == "roll") return registration.angles.x();
  if (name == "pitch") return registration.angles.y();
  if (name == "yaw") return registration.angles.z();
  if (name == "forward") return registration.position.x();
  if (name == "lateral") return registration.position.y();
  if (name == "height") return registration.position.z();
  return registration.toe_angle;
}

const RegistrationParameter& parameter(const std::string& name) {
  return *std::ranges::find(known_parameters, name, &RegistrationParameter::name);
}

/// Scale of the error for the prior: [m] of the centre of pressure, [N] of the force.
double prior_error(RegistrationTarget target) {
  return target == RegistrationTarget::center_of_pressure ? 0.005 : 30.0;
}

void check(const RegistrationTask& task) {
  for (const std::string& name : task.free) {
    std::vector<std::string> names;
    for (const auto& p : known_parameters) names.push_back(p.name);
    if (std::ranges::find(names, name) == names.end()) {
      const std::string near = suggestion(name, names, "");
      throw input_error("free", fmt::format("--free: expected names among {}, found '{}'{}", fmt::join(names, ", "),
                                            name, near.empty() ? "" : "; " + near));
    }
    if (name == "height" && registration_target(task) == RegistrationTarget::center_of_pressure) {
      throw input_error("free",
                        "--free: expected constants that a hybrid analysis depends on, found 'height', which the "
                        "vertical force determines there; remove it, or add --set analysis.type=kinematic");
    }
  }
}

Eigen::VectorXd stacked(const FrameErrors& errors) {
  Eigen::VectorXd r(3 * static_cast<Eigen::Index>(errors.error.size()));
  for (std::size_t i = 0; i < errors.error.size(); ++i) {
    r.segment<3>(3 * static_cast<Eigen::Index>(i)) = errors.error[i];
  }
  return r;
}

class Fit {
 public:
  Fit(const RegistrationTask& task, Runner& runner, std::stop_token stop,
      const std::function<void(int, std::span<const double>)>& on_run)
      : task_(task), on_run_(on_run), target_(registration_target(task)), runs_(task, runner, std::move(stop)) {}

  std::vector<FootRegistrationResult> run() {
    std::vector<FrameErrors> now = evaluate();
    for (std::size_t f = 0; f < feet().size(); ++f) {
      feet()[f].result.rms_before = feet()[f].result.rms = now[f].rms();
      feet()[f].result.n_frames = now[f].error.size();
    }
    for (int i = 0; i < task_.max_iterations; ++i) {
      (void)differences(now);
      if (!improve(now)) break;
    }
    report(now, differences(now));
    std::vector<FootRegistrationResult> results;
    for (RegisteredFoot& foot : feet()) results.push_back(std::move(foot.result));
    return results;
  }

 private:
  using Changed = std::vector<std::vector<FrameErrors>>;  ///< per free parameter, per foot

  [[nodiscard]] std::vector<RegisteredFoot>& feet() { return runs_.feet(); }

  std::vector<FrameErrors> evaluate() {
    std::vector<FrameErrors> all = runs_.evaluate();
    std::vector<double> rms;
    for (const FrameErrors& errors : all) rms.push_back(errors.rms());
    if (on_run_) on_run_(runs_.n_runs(), rms);
    return all;
  }

  /// One run per parameter, changed in all feet; computes the Jacobians.
  Changed differences(const std::vector<FrameErrors>& now) {
    Changed changed;
    for (const std::string& name : task_.free) {
      const double step = parameter(name).step;
      for (RegisteredFoot& foot : feet()) value_of(foot.result.found, name) += step;
      changed.push_back(evaluate());
      for (RegisteredFoot& foot : feet()) value_of(foot.result.found, name) -= step;
    }
    jacobians_.clear();
    for (std::size_t f = 0; f < now.size(); ++f) jacobians_.push_back(jacobian(now[f], changed, f));
    return changed;
  }

  /// d error / d parameter; zero for frames that are missing in a changed run.
  [[nodiscard]] Eigen::MatrixXd jacobian(const FrameErrors& now, const Changed& changed, std::size_t f) const {
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * static_cast<Eigen::Index>(now.error.size()),
                                              static_cast<Eigen::Index>(task_.free.size()));
    for (std::size_t p = 0; p < task_.free.size(); ++p) {
      const FrameErrors& other = changed[p][f];
      for (std::size_t i = 0; i < now.times.size(); ++i) {
        const auto same = std::ranges::find(other.times, now.times[i]);
        if (same == other.times.end()) continue;
        const Vector3 change = other.error[static_cast<std::size_t>(same - other.times.begin())] - now.error[i];
        J.block<3, 1>(3 * static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p)) =
            change / parameter(task_.free[p]).step;
      }
    }
    return J;
  }

  [[nodiscard]] Eigen::VectorXd gauss_newton(const FrameErrors& now, std::size_t f) const {
    const Eigen::MatrixXd& J = jacobians_[f];
    Eigen::MatrixXd A = J.transpose() * J;
    // A prior of the width of the largest change regularises parameters to which the stances are insensitive.
    for (Eigen::Index p = 0; p < A.rows(); ++p) {
      const double width = parameter(task_.free[static_cast<std::size_t>(p)]).max_change;
      A(p, p) += std::pow(prior_error(target_) / width, 2);
    }
    return -A.ldlt().solve(J.transpose() * stacked(now));
  }

  [[nodiscard]] FootRegistration moved(FootRegistration from, const Eigen::VectorXd& step, double scale) const {
    for (std::size_t p = 0; p < task_.free.size(); ++p) {
      const double limit = parameter(task_.free[p]).max_change;
      value_of(from, task_.free[p]) += scale * std::clamp(step[static_cast<Eigen::Index>(p)], -limit, limit);
    }
    return from;
  }

  /// One damped step of every foot. A step that does not reduce the error or loses a frame (penetration too deep) is
  /// reduced and finally rolled back. @returns true when the error of any foot decreases by 1 %
  bool improve(std::vector<FrameErrors>& now) {
    const std::size_t n = feet().size();
    std::vector<FootRegistration> before;
    std::vector<Eigen::VectorXd> steps;
    for (std::size_t f = 0; f < n; ++f) {
      before.push_back(feet()[f].result.found);
      steps.push_back(gauss_newton(now[f], f));
    }
    std::vector<char> done(n, 0);
    bool gained = false;
    double scale = 1.0;
    for (int i = 0; i < min_step_length && std::ranges::count(done, 0) > 0; ++i, scale /= 3.0) {
      for (std::size_t f = 0; f < n; ++f) {
        if (!done[f]) feet()[f].result.found = moved(before[f], steps[f], scale);
      }
      std::vector<FrameErrors> next = evaluate();
      for (std::size_t f = 0; f < n; ++f) {
        FootRegistrationResult& result = feet()[f].result;
        if (done[f] || next[f].rms() >= result.rms || next[f].error.size() < now[f].error.size()) continue;
        gained = gained || next[f].rms() < 0.99 * result.rms;
        result.rms = next[f].rms();
        result.n_frames = next[f].error.size();
        now[f] = std::move(next[f]);
        done[f] = 1;
      }
    }
    for (std::size_t f = 0; f < n; ++f) {
      if (!done[f]) feet()[f].result.found = before[f];
    }
    return gained;
  }

  void report(const std::vector<FrameErrors>& now, const Changed& changed) {
    const auto n = static_cast<Eigen::Index>(task_.free.size());
    // Residual components per frame.
    const double per_frame = target_ == RegistrationTarget::center_of_pressure ? 2.0 : 1.0;
    for (std::size_t f = 0; f < now.size(); ++f) {
      const Eigen::MatrixXd& J = jacobians_[f];
      const double frames = static_cast<double>(now[f].error.size());
      const double dofs = std::max(per_frame * frames - static_cast<double>(n), 1.0);
      const double variance = stacked(now[f]).squaredNorm() / dofs;
      const Eigen::MatrixXd covariance =
          variance * (J.transpose() * J).ldlt().solve(Eigen::MatrixXd::Identity(n, n)).eval();
      FootRegistrationResult& result = feet()[f].result;
      for (std::size_t p = 0; p < task_.free.size(); ++p) {
        const auto k = static_cast<Eigen::Index>(p);
        result.deviation.push_back(std::sqrt(std::max(covariance(k, k), 0.0)));
        Vector3 mean = Vector3::Zero();
        for (Eigen::Index i = 0; i < J.rows(); i += 3) mean += J.block<3, 1>(i, k);
        result.mean_by.push_back(mean / std::max(frames, 1.0));
        result.peak_pressure_by.push_back((changed[p][f].peak_pressure - now[f].peak_pressure) /
                                          parameter(task_.free[p]).step);
      }
    }
  }

  const RegistrationTask& task_;
  const std::function<void(int, std::span<const double>)>& on_run_;
  RegistrationTarget target_;
  RegistrationRuns runs_;
  std::vector<Eigen::MatrixXd> jacobians_;  ///< per foot
};

}  // namespace

std::span<const RegistrationParameter> registration_parameters() {
  return known_parameters;
}

RegistrationTarget registration_target(const RegistrationTask& task) {
  const AnalysisSpec& analysis = task.request.scenario.analysis;
  if (analysis.traits.balances) return RegistrationTarget::center_of_pressure;
  if (analysis.traits.prescribed && !analysis.traits.loads) return RegistrationTarget::vertical_force;
  throw input_error("analysis.type",
                    fmt::format("expected a hybrid analysis for a fit to the centres of pressure, or a kinematic "
                                "one for a fit to the vertical forces, found '{}'; add --set analysis.type=hybrid",
                                analysis.type));
}

std::vector<FootRegistrationResult> fit_registration(const RegistrationTask& task, Runner& runner,
                                                     const std::stop_token& stop,
                                                     const std::function<void(int, std::span<const double>)>& on_run) {
  check(task);
  return Fit(task, runner, stop, on_run).run();
}

double registration_value(const FootRegistration& registration, const std::string& name) {
  FootRegistration copy = registration;
  return value_of(copy, name);
}

std::string registration_text(const FootRegistration& r) {
  return fmt::format("{{position: [{:.6g}, {:.6g}, {:.6g}], angles: [{:.6g}, {:.6g}, {:.6g}], toe_angle: {:.6g}}}",
                     r.position.x(), r.position.y(), r.position.z(), r.angles.x(), r.angles.y(), r.angles.z(),
                     r.toe_angle);
}

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
  const CalibrationSpec& calibration = motion.calibration;
  if (!calibration.markers.empty() && calibration.markers != motion.markers) {
    throw input_error("calibration",
                      fmt::format("{}: expected the trial of the calibration, {}, found {}, which is reserved for "
                                  "validation; fit to the former, or change motion.{}.calibration",
                                  motion.where, calibration.markers, motion.markers, motion.name));
  }
  const auto plates = measured_loads(task_.request.scenario, motion, content_in(task_.request.files));
  foot.measured = *std::ranges::find(plates, spec.columns(), &ForcePlate::name);
  foot.up = vertical_axis(plates);
  foot.result.foot = motion.name + "." + spec.name;
  foot.result.before = foot.result.found = *spec.registration;
  for (const Stance& stance : stances(foot.measured, foot.up)) {
    const auto within = [&](double t) { return t >= stance.start && t <= stance.end; };
    const bool named = std::ranges::any_of(calibration.stances, within);
    if (calibration.stances.empty() ? !stance.complete() : named) foot.result.stances.push_back(stance);
  }
  // A fit without one foot leaves its constants as they are.
  if (foot.result.stances.empty() && !calibration.stances.empty()) return;
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
  const Catalog catalog = scenario_catalog();
  for (const RegisteredFoot& foot : feet_) {
    request.change_text(with_override(
        request.yaml, request.file_name,
        fmt::format("motion.{}.feet.{}.registration={}", foot.motion, foot.name, registration_text(foot.result.found)),
        catalog));
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

namespace {

/// The text of the scenario with this modulus in the material of every main body.
RunRequest with_modulus(RunRequest request, double modulus) {
  for (const PairModel& pair : request.scenario.pairs) {
    if (pair.spec.main.materials.size() != 1) {
      throw input_error("moduli",
                        fmt::format("--moduli: expected one material of the main body of every pair, found {} "
                                    "in '{}'; add `material` there",
                                    pair.spec.main.materials.size(), pair.spec.name));
    }
    request.change_text(with_override(
        request.yaml, request.file_name,
        fmt::format("contact.{}.main.material.youngs_modulus={:.6g}", pair.spec.name, modulus), scenario_catalog()));
  }
  return request;
}

/// Starts the next fit from the last result.
void initialise_from(RegistrationTask& task, const std::vector<FootRegistrationResult>& feet) {
  for (MarkerMotionSpec& motion : task.request.scenario.motions) {
    for (FootSpec& foot : motion.feet) {
      const auto found = std::ranges::find(feet, motion.name + "." + foot.name, &FootRegistrationResult::foot);
      if (found != feet.end()) foot.registration = found->found;
    }
  }
}

/// Sum over the frames of all feet, so that every frame has the same weight.
double square_sum(const ModulusTrial& trial) {
  double sum = 0.0;
  for (const auto& foot : trial.feet) sum += foot.rms * foot.rms * static_cast<double>(foot.n_frames);
  return sum;
}

double n_frames(const ModulusTrial& trial) {
  double n = 0.0;
  for (const auto& foot : trial.feet) n += static_cast<double>(foot.n_frames);
  return n;
}

/// In the logarithm of the modulus, so that the minimum is positive.
Parabola parabola_at(const std::vector<ModulusTrial>& trials, std::size_t middle) {
  std::array<double, 3> x{}, y{};
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = std::log(trials[middle + i - 1].modulus);
    y[i] = square_sum(trials[middle + i - 1]);
  }
  return parabola_through(x, y);
}

std::size_t best_of(const std::vector<ModulusTrial>& trials) {
  return static_cast<std::size_t>(std::ranges::min_element(trials, {}, &ModulusTrial::rms) - trials.begin());
}

void check(std::span<const double> moduli) {
  const bool ascending = std::ranges::adjacent_find(moduli, std::greater_equal<>()) == moduli.end();
  if (moduli.size() >= 3 && ascending && moduli.front() > 0.0) return;
  throw input_error("moduli", fmt::format("--moduli: expected at least three ascending values > 0 in Pa, e.g. "
                                          "2e5,4e5,8e5, found {} values{}",
                                          moduli.size(), ascending ? "" : " that do not ascend"));
}

}  // namespace

Parabola parabola_through(std::span<const double, 3> x, std::span<const double, 3> y) {
  const double left = (y[1] - y[0]) / (x[1] - x[0]);
  const double right = (y[2] - y[1]) / (x[2] - x[1]);
  const double curvature = 2.0 * (right - left) / (x[2] - x[0]);
  return {.minimum = 0.5 * (x[0] + x[1]) - left / curvature, .curvature = curvature};
}

ModulusScan scan_modulus(const RegistrationTask& task, std::span<const double> moduli, Runner& runner,
                         const std::stop_token& stop, const std::function<void(const ModulusTrial&)>& on_trial,
                         const std::function<void(int, std::span<const double>)>& on_run) {
  check(moduli);
  RegistrationTask next = task;
  const auto attempt = [&](double modulus) {
    next.request = with_modulus(std::move(next.request), modulus);
    ModulusTrial trial{.modulus = modulus, .rms = 0.0, .feet = fit_registration(next, runner, stop, on_run)};
    trial.rms = std::sqrt(square_sum(trial) / std::max(n_frames(trial), 1.0));
    initialise_from(next, trial.feet);
    if (on_trial) on_trial(trial);
    return trial;
  };
  ModulusScan scan;
  for (const double modulus : moduli) scan.trials.push_back(attempt(modulus));
  scan.best = best_of(scan.trials);
  scan.at_end = scan.best == 0 || scan.best + 1 == scan.trials.size();
  if (scan.at_end) return scan;
  const Parabola parabola = parabola_at(scan.trials, scan.best);
  initialise_from(next, scan.trials[scan.best].feet);
  const ModulusTrial refined = attempt(std::exp(parabola.minimum));
  const auto place = std::ranges::lower_bound(scan.trials, refined.modulus, {}, &ModulusTrial::modulus);
  scan.trials.insert(place, refined);
  scan.best = best_of(scan.trials);
  const ModulusTrial& best = scan.trials[scan.best];
  const double n_unknowns = 1.0 + static_cast<double>(task.free.size() * best.feet.size());
  const double variance = square_sum(best) / std::max(2.0 * n_frames(best) - n_unknowns, 1.0);
  scan.relative_deviation = std::sqrt(2.0 * variance / parabola.curvature);
  return scan;
}

}  // namespace heelstrike::client
