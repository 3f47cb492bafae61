#include "client/studies/calibration.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>
#include <variant>

#include "common/errors/error.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::client {
namespace {

constexpr int max_trials = 30;
constexpr std::size_t clamp_index = 2;  // z of the low corner of clamped_box

class Calibration {
 public:
  Calibration(const CalibrationTask& task, const ContactFactory& open, const OpenContext& context,
              const std::function<void(const CalibrationTrial&)>& on_trial, const CachedTrial& known)
      : task_(task), open_(open), context_(context), on_trial_(on_trial), known_(known) {
    check();
  }

  CalibrationResult run() {
    const double E = task_.pairs[0].main.materials[0].youngs_modulus;
    CalibrationTrial found = task_.value == CalibratedValue::youngs_modulus ? find_modulus(E) : find_clamp(E);
    add_sensitivities(found);
    result_.found = found;
    return std::move(result_);
  }

 private:
  void check() {
    if (task_.pairs.size() != 1 || task_.pairs[0].main.materials.size() != 1) {
      throw input_error("contact", fmt::format("calibration needs one pair whose main body has one material, found {} "
                                               "pairs",
                                               task_.pairs.size()));
    }
    const auto box = task_.pairs[0].parameters.find("clamped_box");
    if (box != task_.pairs[0].parameters.end()) {
      const auto* values = std::get_if<std::vector<double>>(&box->second);
      if (values != nullptr && values->size() == 6) clamp_ = (*values)[clamp_index];
    }
    if (task_.value == CalibratedValue::clamp_height && (!clamp_ || task_.clamp_range.size() != 2)) {
      throw input_error("clamp",
                        "calibration of the clamp height requires a pair with clamped_box (six numbers) and a "
                        "range of heights");
    }
    if (task_.direction) {
      direction_ = task_.direction->normalized();
    } else if (const auto plane = PlaneSurface::of(task_.pairs[0].partner.surface)) {
      direction_ = task_.X_AB.R * plane->normal;
    } else {
      throw input_error("direction", "the partner is not a plane: specify the direction of its motion");
    }
  }

  [[nodiscard]] PairState state_at(double travel) const {
    PairState state;
    state.X_AB = task_.X_AB;
    state.X_AB.p += travel * direction_;
    return state;
  }

  /// Travel of the partner at which the undeformed shapes overlap by `depth`.
  double indent_to(Contact& contact, double depth) {
    std::vector<Response> response(1);
    const auto gap_at = [&](double travel) {
      const std::vector<PairState> states{state_at(travel)};
      contact.evaluate(0, 0, states, response);
      return response[0].gap;
    };
    double s0 = 0.0;
    double g0 = gap_at(s0);
    if (g0 < 0.0) {
      throw input_error("depth",
                        fmt::format("the shapes overlap by {} m at the start of the scenario; start them apart", -g0));
    }
    double s1 = g0 + 0.5 * depth;
    double g1 = gap_at(s1);
    for (int i = 0; i < max_trials && std::abs(g1 + depth) > 1e-9 * depth; ++i) {
      if (g1 == g0) break;
      const double next = s1 - (g1 + depth) * (s1 - s0) / (g1 - g0);
      s0 = std::exchange(s1, next);
      g0 = std::exchange(g1, gap_at(s1));
    }
    if (!(std::abs(g1 + depth) <= 1e-6 * depth)) {
      throw Error(ErrorCode::solver_failed,
                  fmt::format("moving the partner along ({:.3g}, {:.3g}, {:.3g}) does not make the shapes overlap "
                              "by {} m; check the direction",
                              direction_.x(), direction_.y(), direction_.z(), depth));
    }
    return s1;
  }

  CalibrationTrial trial(double E, std::optional<double> clamp) {
    auto known = known_ ? known_(E, clamp) : std::nullopt;
    const CalibrationTrial trial = known ? *known : solve(E, clamp);
    result_.trials.push_back(trial);
    if (on_trial_ && !known) on_trial_(trial);
    if (!(trial.force > 0.0)) {
      throw Error(ErrorCode::solver_failed, fmt::format("no force at {} m of depth with E = {} Pa", task_.depth, E));
    }
    return trial;
  }

  CalibrationTrial solve(double E, std::optional<double> clamp) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<PairSpec> pairs = task_.pairs;
    pairs[0].main.materials[0].youngs_modulus = E;
    if (clamp) std::get<std::vector<double>>(pairs[0].parameters.at("clamped_box"))[clamp_index] = *clamp;
    // Modulus and clamp change the prepared body: each trial opens a new contact.
    const auto contact = open_(pairs, task_.assets, context_);
    const double shallow = indent_to(*contact, task_.depth / task_.depth_steps);
    std::vector<Response> response(1);
    // Committed steps, because friction depends on the path to the depth.
    for (int step = 0; step < task_.depth_steps; ++step) {
      const double deeper = task_.depth * step / task_.depth_steps;
      const std::vector<PairState> states{state_at(shallow + deeper)};
      contact->commit(step, states, response);
    }
    const Response& r = response[0];
    return {.youngs_modulus = E,
            .clamp_height = clamp,
            .force = direction_.dot(r.F_A.force),
            .area = r.area,
            .peak_pressure = r.peak_pressure,
            .stiffness = direction_.dot(r.dF_A_dX.bottomRightCorner<3, 3>() * direction_),
            .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  }

  [[nodiscard]] bool good(const CalibrationTrial& t) const {
    return std::abs(t.force / task_.force - 1.0) <= task_.tolerance;
  }

  CalibrationTrial find_modulus(double E) {
    CalibrationTrial last = trial(E, clamp_);
    if (good(last)) return last;
    // The force increases with the modulus, proportionally for a linear body.
    CalibrationTrial now = trial(E * task_.force / last.force, clamp_);
    while (!good(now)) {
      if (result_.trials.size() > max_trials || now.force == last.force) break;
      const double slope = (now.force - last.force) / (now.youngs_modulus - last.youngs_modulus);
      const double next = now.youngs_modulus + (task_.force - now.force) / slope;
      if (!(next > 0.0)) break;  // the secant left the range of valid moduli
      last = std::exchange(now, trial(next, clamp_));
    }
    if (!good(now)) {
      throw Error(ErrorCode::solver_failed, fmt::format("no modulus after {} trials: the last one, {} Pa, gives {} N",
                                                        result_.trials.size(), now.youngs_modulus, now.force));
    }
    return now;
  }

  /// Bisection with regula falsi in the range: the force is discontinuous in the height, because nodes become clamped
  /// one by one.
  CalibrationTrial find_clamp(double E) {
    CalibrationTrial low = trial(E, task_.clamp_range[0]);
    CalibrationTrial high = trial(E, task_.clamp_range[1]);
    if ((low.force - task_.force) * (high.force - task_.force) > 0.0) {
      throw Error(ErrorCode::solver_failed,
                  fmt::format("no clamp height between {} and {} m gives {} N: the ends give {} and {} N; change "
                              "the range or the modulus",
                              task_.clamp_range[0], task_.clamp_range[1], task_.force, low.force, high.force));
    }
    CalibrationTrial best = std::abs(low.force - task_.force) < std::abs(high.force - task_.force) ? low : high;
    constexpr double finest = 1e-5;  // [m] below any element size
    while (!good(best) && *high.clamp_height - *low.clamp_height > finest && result_.trials.size() < max_trials) {
      const double middle = 0.5 * (*low.clamp_height + *high.clamp_height);
      const CalibrationTrial t = trial(E, middle);
      if (std::abs(t.force - task_.force) < std::abs(best.force - task_.force)) best = t;
      ((t.force - task_.force) * (low.force - task_.force) > 0.0 ? low : high) = t;
    }
    return best;
  }

  void add_sensitivities(const CalibrationTrial& found) {
    // The force is smooth in the modulus: a forward difference suffices. It is discontinuous in the clamp height: the
    // central difference averages over the step.
    const double dE = 0.01 * found.youngs_modulus;
    result_.force_by_modulus = (trial(found.youngs_modulus + dE, found.clamp_height).force - found.force) / dE;
    if (!found.clamp_height) return;
    const double z = *found.clamp_height;
    const double up = trial(found.youngs_modulus, z + task_.clamp_step).force;
    const double down = trial(found.youngs_modulus, z - task_.clamp_step).force;
    result_.force_by_clamp_height = (up - down) / (2.0 * task_.clamp_step);
  }

  const CalibrationTask& task_;
  const ContactFactory& open_;
  const OpenContext& context_;
  const std::function<void(const CalibrationTrial&)>& on_trial_;
  const CachedTrial& known_;
  std::optional<double> clamp_;
  Vector3 direction_ = Vector3::UnitZ();
  CalibrationResult result_;
};

}  // namespace

CalibrationResult calibrate(const CalibrationTask& task, const ContactFactory& open, const OpenContext& context,
                            const std::function<void(const CalibrationTrial&)>& on_trial, const CachedTrial& known) {
  return Calibration(task, open, context, on_trial, known).run();
}

}  // namespace heelstrike::client
