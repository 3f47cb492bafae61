#include "client/runs/registration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "client/runs/ground_reactions.hpp"
#include "common/config/motion_columns.hpp"
#include "common/errors/error.hpp"
#include "common/motion/grf_comparison.hpp"

namespace heelstrike::client {
namespace {

const std::array<RegistrationParameter, 6> known_parameters{{
    {"pitch", "rad", 0.01, 0.07},
    {"roll", "rad", 0.01, 0.07},
    {"yaw", "rad", 0.01, 0.07},
    {"lateral", "m", 0.002, 0.015},
    {"forward", "m", 0.002, 0.015},
    {"toe_angle", "rad", 0.02, 0.15},
}};

double& value_of(FootRegistration& registration, const std::string& name) {
  if (name == "roll") return registration.angles.x();
  if (name == "pitch") return registration.angles.y();
  if (name == "yaw") return registration.angles.z();
  if (name == "forward") return registration.position.x();
  if (name == "lateral") return registration.position.y();
  return registration.toe_angle;
}

/// Keeps the rows of a run.
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

struct Foot {
  std::string motion, name;
  std::string file;  ///< of its plate
  ForcePlate measured;
  Vector3 up = Vector3::Zero();
  std::vector<std::string> pairs;  ///< of its bodies
  FootRegistrationResult result;
};

/// Centres of pressure of one run, of one foot, at its frames that count.
struct Centers {
  std::vector<double> times;
  std::vector<Vector3> error;
  double peak_pressure = 0.0;
};

class Fit {
 public:
  Fit(const RegistrationTask& task, Runner& runner, std::stop_token stop,
      const std::function<void(int, std::span<const double>)>& on_run)
      : task_(task), runner_(runner), stop_(std::move(stop)), on_run_(on_run) {
    check();
    for (const MarkerMotionSpec& motion : task.request.scenario.motions) {
      for (const FootSpec& foot : motion.feet) {
        if (foot.registration && !foot.plate.empty()) add_foot(motion, foot);
      }
    }
    if (feet_.empty()) {
      throw input_error("motion",
                        "expected a foot with `registration` and `plate`, found "
                        "none; add the constants to "
                        "start from, e.g. registration: {position: [0, 0, -0.03]}");
    }
  }

  std::vector<FootRegistrationResult> run() {
    std::vector<Centers> now = evaluate();
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      feet_[f].result.rms_before = feet_[f].result.rms = rms(now[f]);
      feet_[f].result.n_frames = now[f].error.size();
    }
    for (int i = 0; i < task_.max_iterations; ++i) {
      (void)differences(now);
      if (!improve(now)) break;
    }
    report(now, differences(now));
    std::vector<FootRegistrationResult> results;
    for (Foot& foot : feet_) results.push_back(std::move(foot.result));
    return results;
  }

 private:
  void check() const {
    for (const std::string& name : task_.free) {
      std::vector<std::string> names;
      for (const auto& p : known_parameters) names.push_back(p.name);
      if (std::ranges::find(names, name) != names.end()) continue;
      const auto near = nearest_name(name, names);
      throw input_error("free", fmt::format("--free: expected names among {}, found '{}'{}", fmt::join(names, ", "),
                                            name, near ? fmt::format("; did you mean '{}'?", *near) : ""));
    }
    if (task_.request.scenario.analysis.type != "hybrid") {
      throw input_error("analysis.type", fmt::format("expected a hybrid analysis, in which the "
                                                     "height does not matter, found '{}'; add "
                                                     "--set analysis.type=hybrid",
                                                     task_.request.scenario.analysis.type));
    }
  }

  void add_foot(const MarkerMotionSpec& motion, const FootSpec& spec) {
    Foot foot{
        .motion = motion.name, .name = spec.name, .file = motion.plates, .measured = {}, .pairs = {}, .result = {}};
    const auto plates = read_force_plates(read_motion_table(*content_of(motion.plates), motion.plates));
    foot.measured = *std::ranges::find(plates, spec.plate, &ForcePlate::name);
    foot.up = vertical_axis(plates);
    foot.result.foot = motion.name + "." + spec.name;
    foot.result.before = foot.result.found = *spec.registration;
    for (const Stance& stance : stances(foot.measured, foot.up)) {
      if (!stance.complete()) foot.result.stances.push_back(stance);
    }
    if (foot.result.stances.empty()) {
      throw input_error("plates", fmt::format("{}: expected a stance of foot '{}' that the recording "
                                              "cuts off, found "
                                              "complete ones only, which are kept for validation",
                                              motion.plates, spec.name));
    }
    const auto follows = [&](const std::string& body) {
      return std::ranges::any_of(task_.request.scenario.drivers, [&](const DriverSpec& driver) {
        return driver.body == body && driver.follow.starts_with(foot.result.foot + ".");
      });
    };
    for (const PairModel& pair : task_.request.scenario.pairs) {
      if (follows(pair.main_body) || follows(pair.partner_body)) foot.pairs.push_back(pair.spec.name);
    }
    feet_.push_back(std::move(foot));
  }

  [[nodiscard]] const std::string* content_of(const std::string& name) const {
    const auto file = std::ranges::find(task_.request.files, name, &NamedFile::name);
    return file == task_.request.files.end() ? nullptr : &file->content;
  }

  /// The run with the present constants of all feet.
  std::vector<Centers> evaluate() {
    RunRequest request = task_.request;
    for (const Foot& foot : feet_) {
      request.yaml = with_override(request.yaml, request.file_name,
                                   fmt::format("motion.{}.feet.{}.registration={}", foot.motion, foot.name,
                                               registration_text(foot.result.found)));
    }
    RowSink sink;
    const RunSummary summary = runner_.run(request, sink, stop_);
    if (summary.error) throw_typed(*summary.error);
    if (summary.status != "completed") throw Error(ErrorCode::cancelled, "stopped");
    ++n_runs_;
    const std::string text =
        ground_reactions(request.scenario, sink.series, [&](const std::string& name) { return content_of(name); });
    const auto predicted = read_force_plates(read_motion_table(text, "ground reactions"));
    std::vector<Centers> all;
    std::vector<double> errors;
    for (const Foot& foot : feet_) {
      all.push_back(centers(foot, *std::ranges::find(predicted, foot.measured.name, &ForcePlate::name), sink.series));
      errors.push_back(rms(all.back()));
    }
    if (on_run_) on_run_(n_runs_, errors);
    return all;
  }

  [[nodiscard]] Centers centers(const Foot& foot, const ForcePlate& predicted, const TimeSeries& series) const {
    Centers result;
    for (std::size_t i = 0; i < predicted.times.size(); ++i) {
      const double t = predicted.times[i];
      const bool counts =
          std::ranges::any_of(foot.result.stances, [&](const Stance& s) { return t >= s.start && t <= s.end; });
      if (!counts || !(predicted.force[i].dot(foot.up) > 0.0)) continue;
      if (interpolated(foot.measured.times, foot.measured.force, t).dot(foot.up) < task_.least_force) continue;
      Vector3 error = predicted.point[i] - interpolated(foot.measured.times, foot.measured.point, t);
      error -= error.dot(foot.up) * foot.up;
      result.times.push_back(t);
      result.error.push_back(error);
    }
    for (const std::string& pair : foot.pairs) {
      const auto pressure = series.column(pair + ".peak_pressure_Pa");
      result.peak_pressure = std::max(result.peak_pressure, *std::ranges::max_element(pressure));
    }
    return result;
  }

  [[nodiscard]] static double rms(const Centers& centers) {
    double sum = 0.0;
    for (const Vector3& e : centers.error) sum += e.squaredNorm();
    return centers.error.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(centers.error.size()));
  }

  [[nodiscard]] static const RegistrationParameter& parameter(const std::string& name) {
    return *std::ranges::find(known_parameters, name, &RegistrationParameter::name);
  }

  /// Runs with one parameter changed in all feet.
  std::vector<std::vector<Centers>> differences(const std::vector<Centers>& now) {
    std::vector<std::vector<Centers>> changed;
    for (const std::string& name : task_.free) {
      const double step = parameter(name).step;
      for (Foot& foot : feet_) value_of(foot.result.found, name) += step;
      changed.push_back(evaluate());
      for (Foot& foot : feet_) value_of(foot.result.found, name) -= step;
    }
    for (std::size_t f = 0; f < feet_.size(); ++f) jacobians_[f] = jacobian(now[f], changed, f);
    return changed;
  }

  /// d error / d parameter; frames that a changed run does not have count as
  /// insensitive.
  [[nodiscard]] Eigen::MatrixXd jacobian(const Centers& now, const std::vector<std::vector<Centers>>& changed,
                                         std::size_t f) const {
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * static_cast<Eigen::Index>(now.error.size()),
                                              static_cast<Eigen::Index>(task_.free.size()));
    for (std::size_t p = 0; p < task_.free.size(); ++p) {
      const Centers& other = changed[p][f];
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

  [[nodiscard]] static Eigen::VectorXd stacked(const Centers& centers) {
    Eigen::VectorXd r(3 * static_cast<Eigen::Index>(centers.error.size()));
    for (std::size_t i = 0; i < centers.error.size(); ++i) {
      r.segment<3>(3 * static_cast<Eigen::Index>(i)) = centers.error[i];
    }
    return r;
  }

  /// One damped step of every foot; a foot that got worse goes back. @returns
  /// whether any foot gained a percent
  bool improve(std::vector<Centers>& now) {
    std::vector<FootRegistration> before;
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      before.push_back(feet_[f].result.found);
      const Eigen::MatrixXd& J = jacobians_[f];
      Eigen::MatrixXd A = J.transpose() * J;
      // Parameters that the stances hardly show stay where they are: a prior as
      // wide as the largest change.
      for (Eigen::Index p = 0; p < A.rows(); ++p) {
        const double width = parameter(task_.free[static_cast<std::size_t>(p)]).largest;
        A(p, p) += std::pow(prior_error / width, 2);
      }
      const Eigen::VectorXd step = -A.ldlt().solve(J.transpose() * stacked(now[f]));
      for (std::size_t p = 0; p < task_.free.size(); ++p) {
        const double limit = parameter(task_.free[p]).largest;
        value_of(feet_[f].result.found, task_.free[p]) += std::clamp(step[static_cast<Eigen::Index>(p)], -limit, limit);
      }
    }
    std::vector<Centers> next = evaluate();
    bool gained = false;
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      const double error = rms(next[f]);
      FootRegistrationResult& result = feet_[f].result;
      gained = gained || error < 0.99 * result.rms;
      if (error < result.rms) {
        result.rms = error;
        now[f] = std::move(next[f]);
      } else {
        result.found = before[f];
      }
    }
    return gained;
  }

  void report(const std::vector<Centers>& now, const std::vector<std::vector<Centers>>& changed) {
    const auto n = static_cast<Eigen::Index>(task_.free.size());
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      const Eigen::MatrixXd& J = jacobians_[f];
      const double freedoms = std::max(2.0 * static_cast<double>(now[f].error.size()) - static_cast<double>(n), 1.0);
      const double variance = stacked(now[f]).squaredNorm() / freedoms;
      const Eigen::MatrixXd covariance =
          variance * (J.transpose() * J).ldlt().solve(Eigen::MatrixXd::Identity(n, n)).eval();
      FootRegistrationResult& result = feet_[f].result;
      for (std::size_t p = 0; p < task_.free.size(); ++p) {
        const auto k = static_cast<Eigen::Index>(p);
        result.deviation.push_back(std::sqrt(std::max(covariance(k, k), 0.0)));
        Vector3 mean = Vector3::Zero();
        for (Eigen::Index i = 0; i < J.rows(); i += 3) mean += J.block<3, 1>(i, k);
        result.center_by.push_back(mean / std::max<double>(static_cast<double>(J.rows()) / 3.0, 1.0));
        result.peak_pressure_by.push_back((changed[p][f].peak_pressure - now[f].peak_pressure) /
                                          parameter(task_.free[p]).step);
      }
    }
  }

  static constexpr double prior_error = 0.005;  ///< [m] of the centre of pressure that a full change must explain

  const RegistrationTask& task_;
  Runner& runner_;
  std::stop_token stop_;
  const std::function<void(int, std::span<const double>)>& on_run_;
  std::vector<Foot> feet_;
  std::map<std::size_t, Eigen::MatrixXd> jacobians_;
  int n_runs_ = 0;
};

}  // namespace

std::span<const RegistrationParameter> registration_parameters() {
  return known_parameters;
}

std::vector<FootRegistrationResult> fit_registration(const RegistrationTask& task, Runner& runner,
                                                     const std::stop_token& stop,
                                                     const std::function<void(int, std::span<const double>)>& on_run) {
  return Fit(task, runner, stop, on_run).run();
}

double registration_value(const FootRegistration& registration, const std::string& name) {
  FootRegistration copy = registration;
  return value_of(copy, name);
}

std::string registration_text(const FootRegistration& r) {
  return fmt::format(
      "{{position: [{:.6g}, {:.6g}, {:.6g}], angles: [{:.6g}, "
      "{:.6g}, {:.6g}], toe_angle: {:.6g}}}",
      r.position.x(), r.position.y(), r.position.z(), r.angles.x(), r.angles.y(), r.angles.z(), r.toe_angle);
}

}  // namespace heelstrike::client
