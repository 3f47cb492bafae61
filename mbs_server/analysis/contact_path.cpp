#include "mbs_server/analysis/contact_path.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/coupling/pair_kinematics.hpp"

namespace heelstrike::mbs {

namespace {

/// Of the work in an interval between two rows, relative to the largest energy exchanged in one, and of the approach
/// velocity. Each committed state costs a solution of the contact, and its histories are accurate to first order.
constexpr double path_tolerance = 1e-3;
/// The smallest steps are 1/256 of the interval between two rows: each costs a commit.
constexpr int max_path_halvings = 8;
/// A halving reduces errors of first order to a half, of second order to a quarter. If two of them leave more than this
/// of the error and hardly change the work, it is not that of the grid: for example that of the solver of the contact.
/// One alone may have divided other steps than those of the error.
constexpr double min_reduction = 0.75;
constexpr int max_failed_halvings = 2;

/// Error of the trapezoidal rule over [x0, x1] of a function with this second divided difference.
double trapezoidal_error(double h, double divided_difference) {
  return h * h * h / 6.0 * std::abs(divided_difference);
}

}  // namespace

ContactPath::Work& ContactPath::Work::operator+=(const Work& other) {
  damping += other.damping;
  slip += other.slip;
  exchanged += other.exchanged;
  error += other.error;
  return *this;
}

ContactPath::Points ContactPath::points_of(const State& state) const {
  Points points;
  for (std::size_t i = 0; i < model_.pairs.size(); ++i) {
    const Response& r = state.responses[i];
    const PairState pair = pair_state(model_.pairs[i], state.t, state.q, state.qd);
    const double power =
        r.F_A.force.dot(point_velocity(pair.V_AB, Vector3(-pair.X_AB.p))) + r.F_A.torque.dot(pair.V_AB.w);
    points.push_back({.gap = {.t = state.t, .gap = r.gap, .gap_rate = r.gap_rate},
                      .stored = r.stored_energy,
                      .damping = r.dissipated_power,
                      .power = power,
                      .force = r.F_A.force.norm(),
                      .slip_work = r.dissipated_increment});
  }
  return points;
}

double ContactPath::allowed_error(double largest, const Work& work) {
  return path_tolerance * std::max(largest, work.exchanged);
}

/// The contact begins or ends at the root of the cubic, with an unknown force: half of the end that is known.
ContactPath::Step ContactPath::step_between(const Point& a, const Point& b) {
  const double middle = 0.5 * (a.gap.t + b.gap.t);
  Step step{.begin = a.gap.t, .end = b.gap.t, .work = {}, .next = middle, .turn = middle};
  const bool a_touches = a.gap.gap <= 0.0;
  const bool b_touches = b.gap.gap <= 0.0;
  double duration = a_touches || b_touches ? step.end - step.begin : 0.0;
  if (a_touches != b_touches) {
    const GapPoint root = gap_root(a.gap, b.gap);
    duration = a_touches ? root.t - step.begin : step.end - root.t;
    // Within the contact, so that the next root is before or after it.
    step.next = root.t + (a_touches ? -1.0 : 1.0) * path_tolerance * duration;
    step.divides = b_touches && std::abs(root.gap_rate - b.gap.gap_rate) > path_tolerance * std::abs(b.gap.gap_rate);
    step.work.error = 0.5 * duration * (a_touches ? a.damping : b.damping);
  } else if (a_touches) {
    const double force = std::max(a.force, b.force);
    if (const auto low = lowest_between(a.gap, b.gap)) {
      step.turn = low->t;
      step.turn_work = force * (std::min(a.gap.gap, b.gap.gap) - low->gap);
    }
    const auto high = highest_between(a.gap, b.gap);
    const double high_work = high ? force * (high->gap - std::max(a.gap.gap, b.gap.gap)) : 0.0;
    if (high_work > step.turn_work) {
      step.turn = high->t;
      step.turn_work = high_work;
    }
  } else if (const auto low = lowest_between(a.gap, b.gap); low && low->gap < 0.0) {
    step.next = low->t;
    step.divides = true;
  }
  step.work.damping = 0.5 * duration * (a.damping + b.damping);
  step.work.slip = b.slip_work;
  const double dissipated = step.work.dissipated();
  const double stored = b.stored - a.stored;
  step.work.exchanged = std::abs(stored) + std::abs(dissipated);
  step.work.error += std::abs(0.5 * duration * (a.power + b.power) - stored - dissipated);
  return step;
}

ContactPath::Work ContactPath::work_along(const Points& from, std::span<const Points> path, double largest,
                                          std::vector<double>& times) const {
  std::vector<Step> steps;
  Work sum;
  for (std::size_t pair = 0; pair < from.size(); ++pair) {
    const auto point = [&](std::size_t k) -> const Point& { return k == 0 ? from[pair] : path[k - 1][pair]; };
    const auto touches = [&](std::size_t k) { return k <= path.size() && point(k).gap.gap <= 0.0; };
    const auto slope = [&](std::size_t k) {
      return (point(k + 1).damping - point(k).damping) / (point(k + 1).gap.t - point(k).gap.t);
    };
    const auto curvature = [&](std::size_t k) {  // of the points k, k + 1, k + 2
      return (slope(k + 1) - slope(k)) / (point(k + 2).gap.t - point(k).gap.t);
    };
    for (std::size_t k = 0; k < path.size(); ++k) {
      Step& step = steps.emplace_back(step_between(point(k), point(k + 1)));
      step.work.error = std::max(0.0, step.work.error - unexplained_ * step.work.exchanged);
      const double h = step.end - step.begin;
      if (touches(k) && touches(k + 1)) {
        const bool before = k > 0 && touches(k - 1);
        const bool after = touches(k + 2);
        double error = 0.0;
        if (before) error = trapezoidal_error(h, curvature(k - 1));
        if (after) error = std::max(error, trapezoidal_error(h, curvature(k)));
        // One step alone shows no curvature; that of a course which starts or ends flat.
        if (!before && !after) error = 0.25 * h * std::abs(point(k + 1).damping - point(k).damping);
        step.work.error += error;
      }
      sum += step.work;
    }
  }
  const double allowed = allowed_error(largest, sum);
  const double duration = path.back().front().gap.t - from.front().gap.t;
  times.clear();
  for (const Step& step : steps) {
    const bool inaccurate = sum.error > allowed && step.work.error > allowed * (step.end - step.begin) / duration;
    const bool turns = step.turn_work > allowed;
    if (!(step.divides || inaccurate || turns)) continue;
    const double next = turns ? step.turn : step.next;
    if (next > step.begin && next < step.end) times.push_back(next);
  }
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  return sum;
}

std::size_t ContactPath::commit_rows(std::span<State> rows, const std::stop_token& stop) {
  for (State& row : rows) row.responses.clear();
  return exchange_.commit_motion(rows, stop);
}

std::size_t ContactPath::commit(std::span<State> rows, const Motion& motion, const std::stop_token& stop) {
  const std::span<State> attempted = rows.first(std::min(n_attempted_, rows.size()));
  const std::vector<std::string> history = exchange_.save_history();
  const std::size_t n = commit_rows(attempted, stop);
  double largest = largest_;
  std::vector<double> times;
  for (std::size_t k = 0; k < n; ++k) {
    Row row{.points = points_of(attempted[k]), .work = {}};
    if (n_accepted_ > 0 || k > 0) {
      row.work = work_along(k == 0 ? last_ : rows_.back().points, {&row.points, 1}, largest, times);
    }
    if (!times.empty()) {
      n_attempted_ = 1;
      if (n > 1) {
        exchange_.restore_history(history);
        (void)commit_rows(attempted.first(std::max<std::size_t>(k, 1)), stop);
      }
      if (k > 0) return k;
      refine(attempted[0], motion, history, stop);
      return 1;
    }
    largest = std::max(largest, row.work.exchanged);
    rows_.push_back(std::move(row));
  }
  n_attempted_ = 2 * attempted.size();
  return std::min(n + 1, attempted.size());
}

/// @pre rows[0] is committed without intermediate states
void ContactPath::refine(State& row, const Motion& motion, const std::vector<std::string>& history,
                         const std::stop_token& stop) {
  std::vector<State> states{row};
  std::vector<Points> path{points_of(row)};
  std::vector<double> times;
  Work work = work_along(last_, path, largest_, times);
  int n_failed = 0;
  for (int halving = 0; halving < max_path_halvings && !times.empty(); ++halving) {
    std::vector<State> next = states;
    try {
      for (const double t : times) next.push_back(motion(t));
    } catch (const RecoverableError&) {
      break;  // discontinuous rows, without motion between them
    }
    std::ranges::sort(next, {}, &State::t);
    exchange_.restore_history(history);
    if (commit_rows(next, stop) < next.size()) {
      // A state between the rows was rejected: as a rule the interval has rejected rows, which are reported themselves.
      exchange_.restore_history(history);
      (void)commit_rows(states, stop);
      work.error = 0.0;
      break;
    }
    states = std::move(next);
    path.clear();
    for (const State& state : states) path.push_back(points_of(state));
    const Work before = std::exchange(work, work_along(last_, path, largest_, times));
    const double change = std::abs(work.dissipated() - before.dissipated());
    const bool failed = work.error > min_reduction * before.error && change <= allowed_error(largest_, work);
    n_failed = failed ? n_failed + 1 : 0;
    if (n_failed < max_failed_halvings) continue;
    if (work.exchanged > 0.0) unexplained_ = std::min(1.0, unexplained_ + work.error / work.exchanged);
    work.error = change;
    break;
  }
  row = std::move(states.back());
  for (std::size_t pair = 0; pair < model_.pairs.size(); ++pair) {
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      row.responses[pair].dissipated_increment += path[k][pair].slip_work;
    }
  }
  rows_.push_back({.points = std::move(path.back()), .work = work});
}

double ContactPath::accept() {
  const Row row = std::move(rows_.front());
  rows_.pop_front();
  last_ = row.points;
  ++n_accepted_;
  largest_ = std::max(largest_, row.work.exchanged);
  dissipated_ += row.work.dissipated();
  error_ += row.work.error;
  exchanged_ += row.work.exchanged;
  return row.work.damping;
}

void ContactPath::exchange_state(AnalysisState& state) {
  state.exchange("path_rows", n_accepted_);
  std::array<double, 5> sums{largest_, dissipated_, error_, exchanged_, unexplained_};
  state.exchange("path", sums);
  largest_ = sums[0];
  dissipated_ = sums[1];
  error_ = sums[2];
  exchanged_ = sums[3];
  unexplained_ = sums[4];
  for (std::size_t i = 0; i < last_.size(); ++i) {
    Point& p = last_[i];
    std::array<double, 7> values{p.gap.t, p.gap.gap, p.gap.gap_rate, p.stored, p.damping, p.power, p.force};
    state.exchange(("path_" + std::to_string(i)).c_str(), values);
    p = {.gap = {.t = values[0], .gap = values[1], .gap_rate = values[2]},
         .stored = values[3],
         .damping = values[4],
         .power = values[5],
         .force = values[6]};
  }
}

}  // namespace heelstrike::mbs
