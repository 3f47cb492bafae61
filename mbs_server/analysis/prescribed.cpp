/// Analyses of prescribed motion: drivers and joints determine every coordinate.
///
/// At each time of the regular output grid: positions by Newton on Phi(q, t) = 0 from the extrapolated last frame,
/// velocities from Phi_q qd = nu, accelerations and multipliers from M qdd + Phi_q' lambda = g. The contact is
/// evaluated at the frame and committed there, with a history also between the frames (contact_path.hpp). A frame for
/// which the contact fails (too deep, not converged) is reported with its reason, counted as a rejected step, and has
/// no row; the next one starts from the last commit. A run with such frames ends as "incomplete"; its energies are
/// those of its rows, with linear powers across gaps. Without history-dependent pairs (no friction), kinematic and
/// inverse analyses evaluate many frames in one batch, which the partner processes in parallel, bitwise equal to
/// sequential evaluation. Powers are integrated between the frames by an adaptive rule, of pairs that depend on no
/// history also that of their damping.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/analysis_state.hpp"
#include "mbs_server/analysis/contact_path.hpp"
#include "mbs_server/analysis/run_base.hpp"
#include "mbs_server/analysis/vertical_balance.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/checks.hpp"
#include "mbs_server/simulation/run_table.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

enum class Kind { kinematic, inverse, hybrid };

/// Batch size of evaluations: large enough to use all threads, small enough for cancellation and progress reports.
constexpr std::size_t n_prefetched_frames = 256;
/// Batch size of commits: initially few, then adapted to the time of a call. The maximum exceeds two gait cycles at
/// 60 Hz, so that both feet have equal work.
constexpr std::size_t first_frames = 8;
constexpr std::size_t max_frames = 256;
constexpr double call_time = 10.0;  // [s]

using Powers = Eigen::Vector2d;  ///< [W] in the order of EnergyQuadrature

/// Tolerances of the integral of a power over an interval, relative to its largest value times the interval: without
/// contact that of the integrators. A jump of the power within the smallest step h / 2^k has an error of up to
/// h / (6 * 2^k) of the power: the tolerance of contact needs k = 14. Each halving at a jump costs two evaluations.
struct WorkAccuracy {
  double tolerance;
  int max_halvings;
};
constexpr WorkAccuracy free_accuracy{1e-8, 8};
constexpr WorkAccuracy contact_accuracy{1e-5, 14};

/// Integral over [a, b] by adaptive Simpson's rule, bisected until both rules agree to `tolerance`, with extrapolation
/// of the remainder: of order 6. @param f_a, f_m, f_b  at the ends and in the middle
Powers integral(const std::function<Powers(double)>& f, double a, const Powers& f_a, const Powers& f_m, double b,
                const Powers& f_b, double tolerance, int halvings) {
  const double m = 0.5 * (a + b);
  const Powers f_am = f(0.5 * (a + m));
  const Powers f_mb = f(0.5 * (m + b));
  const Powers whole = (b - a) / 6.0 * (f_a + 4.0 * f_m + f_b);
  const Powers halves = (b - a) / 12.0 * (f_a + 4.0 * f_am + 2.0 * f_m + 4.0 * f_mb + f_b);
  const Powers rest = (halves - whole) / 15.0;
  if (halvings == 0 || rest.lpNorm<Eigen::Infinity>() <= tolerance) return halves + rest;
  return integral(f, a, f_a, f_am, m, f_m, 0.5 * tolerance, halvings - 1) +
         integral(f, m, f_m, f_mb, b, f_b, 0.5 * tolerance, halvings - 1);
}

GapPoint gap_point_at(double t, const Response& response) {
  return {.t = t, .gap = response.gap, .gap_rate = response.gap_rate};
}

class PrescribedRun final : public RunBase {
 public:
  PrescribedRun(const RunInput& input, CoupledModel& model, RunSink& sink, std::stop_token stop, Kind kind)
      : RunBase(input, model, sink, std::move(stop), kind == Kind::inverse) {
    if (kind == Kind::hybrid) balance_.emplace(input.scenario, system_.model());
  }

 private:
  [[nodiscard]] bool solve() override;
  [[nodiscard]] Checkpoint save() override {
    AnalysisState state;
    exchange_state(state);
    return save_with(state);
  }
  void begin();
  /// Writes the members besides the committed state, or reads them.
  void exchange_state(AnalysisState& state);
  void require_frames();
  void add_statistics(IntegratorStatistics& statistics) const override {
    statistics.name = input_.scenario.analysis.type;
    statistics.steps = n_frames_;
    statistics.rejected_steps = n_failed_;
  }
  [[nodiscard]] std::vector<Column> columns() override;
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row) override;

  using Frame = ContactExchange::PrescribedState;
  void move_to(double t);
  [[nodiscard]] const VectorX& prescribed_accelerations();
  template <typename Function>
  auto without_contact(const Function& f);
  [[nodiscard]] Powers free_powers(double t, const VectorX& y);
  /// The frame before the committed one.
  struct LastFrame {
    double t;
    VectorX y;
  };
  /// The motion between two frames is known: the cubic through both, projected onto the prescribed pose.
  [[nodiscard]] Frame frame_between(const LastFrame& last, const Frame& next, double t);
  [[nodiscard]] VectorX state_between(const LastFrame& last, double t);
  [[nodiscard]] Powers work(const LastFrame& last, const Powers& before, const Powers& now,
                            const WorkAccuracy& accuracy, const std::function<Powers(double, const VectorX&)>& power,
                            std::span<const double> divisions = {});
  [[nodiscard]] std::vector<Response> responses_between(double t, const VectorX& y);
  [[nodiscard]] double contact_damping(double t, const VectorX& y);

  /// Evaluation of frames by the contact: sequential, in batches, or committed in batches.
  enum class EvaluationMode { sequential, batched, committed };
  [[nodiscard]] EvaluationMode choose_evaluation_mode() const;
  /// Advances by up to `n` frames of the grid; with a history-dependent contact no further than the next fields, which
  /// need the history of their frame. A frame that cannot be reached ends the list.
  /// @param failure  receives the error of that frame
  [[nodiscard]] std::vector<Frame> next_frames(std::size_t n, std::exception_ptr& failure);
  /// Evaluates the frames and accepts them in sequence. @return false when stopped
  [[nodiscard]] bool take(std::span<Frame> frames);
  /// Commits frames and adapts the size of the next call to the time needed. @return number of frames that were
  /// committed or rejected
  std::size_t commit(std::span<Frame> frames);
  void process(const Frame& frame, bool batched);
  void add_shift_work();
  void leave_out(const Frame& frame, const RecoverableError& reason) {
    if (n_failed_++ == 0) first_reason_ = fmt::format("at t = {} s: {}", frame.t, reason.what());
    sink_.on_log("warning", fmt::format("frame at t = {} s skipped: {}", frame.t, reason.what()));
  }
  /// Energy stored and dissipated by active pairs at a frame.
  struct ContactEnergy {
    double stored = 0.0;            ///< [J]
    double dissipated_power = 0.0;  ///< [W]
    double dissipated = 0.0;        ///< [J] since the preceding frame
    struct Pair {
      GapPoint gap;
      double dissipated_power = 0.0;  ///< [W]
    };
    std::vector<Pair> pairs{};  ///< all
  };
  [[nodiscard]] ContactEnergy contact_energy(std::span<const Response> responses) const;
  [[nodiscard]] std::optional<ContactEnergy> place_frame(const Frame& frame, bool batched);
  void add_energy(const LastFrame& last, const Powers& powers, const ContactEnergy& contact);
  /// [J] of contact damping since the preceding frame.
  [[nodiscard]] double damping_work(const LastFrame& last, const ContactEnergy& contact);
  [[nodiscard]] std::vector<double> damping_divisions(const LastFrame& last, const ContactEnergy& contact);
  [[nodiscard]] double contact_time(const LastFrame& last, std::size_t pair, GapPoint near);
  void sample_damping(double work, double power);
  void warn_of_sampled_damping();
  void warn_of_path_error();

  EvaluationMode evaluation_mode_ = EvaluationMode::sequential;
  std::size_t frames_per_call_ = 1;
  Eigen::VectorXd motion_;    ///< {q, qd} as prescribed at motion_t_; committed_ is the last frame that was
  double motion_t_ = 0.0;     ///< [s]
  VectorX motion_turns_;      ///< references of angles at motion_t_, see System::turn_references
  VectorX committed_turns_;   ///< at committed_t_
  VectorX start_states_;      ///< of force elements, at the start: the motion does not depend on them
  double committed_t_ = 0.0;  ///< [s] of committed_, also while it is being replaced
  std::optional<VerticalBalance> balance_;
  std::vector<double> last_shifts_;  ///< [m] of the last frame, by group of the balance
  std::int64_t next_frame_ = 0;      ///< of the grid
  bool started_frames_ = false;      ///< a frame has been committed
  Violation worst_;
  std::int64_t n_frames_ = 0;        ///< after the first
  std::int64_t n_failed_ = 0;        ///< frames for which the contact failed
  std::string first_reason_;         ///< error of the first of them, with its time
  Powers powers_ = Powers::Zero();   ///< of the last frame, without contact
  ContactEnergy contact_;            ///< of the last frame
  std::optional<ContactPath> path_;  ///< of contact with a history
  double path_damping_ = 0.0;        ///< [J] since the preceding frame
  /// Dissipation of contact that is known at the frames only, by the trapezoidal rule over all frames and over every
  /// second one: a third of the difference is the error of the former.
  struct SampledDamping {
    double work = 0.0;                          ///< [J]
    double coarse_work = 0.0;                   ///< [J] until coarse_t
    double coarse_t = 0.0, coarse_power = 0.0;  ///< of the last frame of the coarse rule
    double work_at_coarse = 0.0;                ///< [J] until coarse_t, by the fine rule
  };
  SampledDamping sampled_;
};

std::vector<Column> PrescribedRun::columns() {
  std::vector<Column> columns = RunBase::columns();
  if (balance_) {
    for (const auto& balance : input_.scenario.analysis.balance) {
      columns.push_back({balance.name + ".shift_m", "m", "height of the bodies above their prescribed position"});
    }
  }
  return columns;
}

std::shared_ptr<const PendingRequest> PrescribedRun::begin_row(double t, const VectorX& y, const VectorX& z,
                                                               std::vector<double>& row) {
  auto request = RunBase::begin_row(t, y, z, row);
  if (balance_) row.insert(row.end(), balance_->shifts().begin(), balance_->shifts().end());
  return request;
}

template <typename Function>
auto PrescribedRun::without_contact(const Function& f) {
  std::vector<bool> closed;
  for (std::size_t i = 0; i < states_.n_pairs(); ++i) {
    closed.push_back(states_.closed(i));
    states_.set_closed(i, false);
  }
  struct Close {
    ContactStates& states;
    const std::vector<bool>& closed;
    ~Close() {
      for (std::size_t i = 0; i < closed.size(); ++i) states.set_closed(i, closed[i]);
    }
  } const close{states_, closed};
  return f();
}

/// Constraints alone determine the accelerations of prescribed motion: the contact, which may fail at the pose, is not
/// evaluated.
const VectorX& PrescribedRun::prescribed_accelerations() {
  return *without_contact([&] {
    // With the states of the last accepted frame the rounding would depend on the batch size.
    return &system_.accelerations({motion_t_, q(motion_), qd(motion_), start_states_}).qdd;
  });
}

Powers PrescribedRun::free_powers(double t, const VectorX& y) {
  const EnergyTerms terms = without_contact([&] { return system_.evaluate_energy(model_.state(t, y)); });
  return {terms.dissipated_power, terms.external_power};
}

PrescribedRun::Frame PrescribedRun::frame_between(const LastFrame& last, const Frame& next, double t) {
  const double h = next.t - last.t;
  const double s = (t - last.t) / h;
  Frame between{.t = t, .q = {}, .qd = {}};
  between.q = (1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s) * q(last.y) + s * s * (3.0 - 2.0 * s) * next.q +
              h * s * (1.0 - s) * ((1.0 - s) * qd(last.y) - s * next.qd);
  between.qd = (1.0 - s) * qd(last.y) + s * next.qd;
  system_.project(t, between.q, between.qd);
  return between;
}

VectorX PrescribedRun::state_between(const LastFrame& last, double t) {
  const VectorX& y = committed_.y;
  const Frame frame = frame_between(last, {.t = committed_.t, .q = q(y), .qd = qd(y)}, t);
  VectorX between(y.size());
  between << frame.q, frame.qd, system_.states().advance(model_.state(last.t, last.y), {t, frame.q, frame.qd});
  return between;
}

/// [J] Since the preceding frame. As accurate as in an integrated run, so that it does not depend on the number of
/// frames. @param before, now  powers at both frames
/// @param divisions  [s] ascending, where the power is not smooth
Powers PrescribedRun::work(const LastFrame& last, const Powers& before, const Powers& now, const WorkAccuracy& accuracy,
                           const std::function<Powers(double, const VectorX&)>& power,
                           std::span<const double> divisions) {
  struct Piece {
    double begin, end;
    Powers f_begin, f_middle, f_end;
  };
  const double t = committed_.t;
  const double h = t - last.t;
  const auto power_at = [&](double at) { return power(at, state_between(last, at)); };
  try {
    std::vector<Piece> pieces;
    double largest = 0.0;
    for (std::size_t k = 0; k <= divisions.size(); ++k) {
      Piece piece{.begin = k == 0 ? last.t : divisions[k - 1],
                  .end = k == divisions.size() ? t : divisions[k],
                  .f_begin = before,
                  .f_middle = {},
                  .f_end = now};
      // The limit from within where the power jumps; the omitted part is below the tolerance.
      const double inset = 0.1 * accuracy.tolerance * (piece.end - piece.begin);
      if (k > 0) piece.f_begin = power_at(piece.begin += inset);
      if (k < divisions.size()) piece.f_end = power_at(piece.end -= inset);
      piece.f_middle = power_at(0.5 * (piece.begin + piece.end));
      for (const Powers& f : {piece.f_begin, piece.f_middle, piece.f_end}) {
        largest = std::max(largest, f.lpNorm<Eigen::Infinity>());
      }
      pieces.push_back(piece);
    }
    Powers sum = Powers::Zero();
    for (const Piece& piece : pieces) {
      sum += integral(power_at, piece.begin, piece.f_begin, piece.f_middle, piece.end, piece.f_end,
                      accuracy.tolerance * (piece.end - piece.begin) * largest, accuracy.max_halvings);
    }
    return sum;
  } catch (const RecoverableError&) {
    return 0.5 * h * (before + now);  // discontinuous frames, without motion or contact between them
  }
}

/// Of all pairs at a state between two frames.
std::vector<Response> PrescribedRun::responses_between(double t, const VectorX& y) {
  Frame frame{.t = t, .q = q(y), .qd = qd(y)};
  exchange_.evaluate_batch({&frame, 1});
  if (frame.error) throw_typed(*frame.error);
  return std::move(frame.responses);
}

/// [W] The same.
double PrescribedRun::contact_damping(double t, const VectorX& y) {
  double power = 0.0;
  for (const Response& response : responses_between(t, y)) power += response.dissipated_power;
  return power;
}

PrescribedRun::ContactEnergy PrescribedRun::contact_energy(std::span<const Response> responses) const {
  ContactEnergy sum;
  for (std::size_t i = 0; i < states_.n_pairs(); ++i) {
    sum.dissipated += responses[i].dissipated_increment;
    sum.pairs.push_back({gap_point_at(committed_t_, responses[i]), responses[i].dissipated_power});
    if (!states_.closed(i)) continue;
    sum.stored += responses[i].stored_energy;
    sum.dissipated_power += responses[i].dissipated_power;
  }
  return sum;
}

void PrescribedRun::move_to(double t) {
  // Depends only on the last frame, so that resumed runs and other batch sizes are bitwise equal.
  system_.reset_factorisation();
  const auto n = system_.n_q();
  const double h = t - motion_t_;
  const VectorX& qdd = prescribed_accelerations();
  system_.advance_turn_references(q(motion_), qd(motion_), h);
  motion_.head(n) += h * (motion_.tail(n) + 0.5 * h * qdd);
  motion_.tail(n) += h * qdd;
  try {
    system_.project(t, motion_.head(n), motion_.tail(n));
  } catch (const RecoverableError& e) {
    const MaxResidual worst = system_.find_max_residual(t, q(motion_), qd(motion_));
    throw Error(ErrorCode::solver_failed,
                fmt::format("no position satisfies joints and drivers at t = {} s, coming from t = {} s: {}; worst is "
                            "'{}'. Check that the prescribed motion can be reached, or reduce output.interval",
                            t, motion_t_, e.what(), worst.name),
                e.field());
  }
  if (const std::string driver = system_.find_reversed_driver(t, q(motion_)); !driver.empty()) {
    throw Error(
        ErrorCode::solver_failed,
        fmt::format("'{}' rotates by more than a quarter turn between t = {} s and t = {} s, so that the pose half "
                    "a turn away was found; reduce output.interval",
                    driver, motion_t_, t));
  }
  system_.accept_turn_references(q(motion_));
  motion_t_ = t;
}

std::vector<PrescribedRun::Frame> PrescribedRun::next_frames(std::size_t n, std::exception_ptr& failure) {
  std::vector<Frame> frames;
  system_.set_turn_references(motion_turns_);
  while (frames.size() < n && (next_frame_ == 0 || motion_t_ < end_time())) {
    check_stop(stop_);
    const double grid = input_.scenario.output.interval * static_cast<double>(next_frame_);
    // A grid that ends at the end time up to rounding has no additional frame there.
    const bool last = grid >= end_time() * (1.0 - 1e-12);
    try {
      if (next_frame_ > 0) move_to(last ? end_time() : grid);
    } catch (...) {
      // The preceding frames have yet to be written.
      failure = std::current_exception();
      break;
    }
    ++next_frame_;
    const Violation violation = system_.violation(motion_t_, q(motion_), qd(motion_));
    worst_.position = std::max(worst_.position, violation.position);
    worst_.velocity = std::max(worst_.velocity, violation.velocity);
    frames.push_back({.t = motion_t_, .q = q(motion_), .qd = qd(motion_)});
    if (evaluation_mode_ == EvaluationMode::committed && fields_due(motion_t_)) break;
  }
  motion_turns_ = system_.turn_references();
  system_.set_turn_references(committed_turns_);
  return frames;
}

/// Evaluates and commits a frame; a frame for which the contact fails is reported and skipped.
std::optional<PrescribedRun::ContactEnergy> PrescribedRun::place_frame(const Frame& frame, bool batched) {
  const VectorX before = committed_.y;
  VectorX& y = committed_.y;
  try {
    // States of force elements advance with the frames, as energies do.
    const MotionState from = model_.state(committed_t_, before);
    system_.accept_turn_references(frame.q);
    y << frame.q, frame.qd, system_.states().advance(from, {frame.t, frame.q, frame.qd});
    if (batched && frame.error) throw_typed(*frame.error);
    if (balance_) balance_->move(frame.t, exchange_, y.head(system_.n_q()), frame.qd);
    const auto responses = batched ? exchange_.accept(frame) : exchange_.commit(frame.t, q(y), qd(y));
    if (balance_) add_shift_work();
    if (started_frames_) {
      accept_prescribed_state(responses);
    } else {
      accept_initial_state(responses);
    }
    committed_t_ = frame.t;
    committed_turns_ = system_.turn_references();
    return contact_energy(responses);
  } catch (const RecoverableError& e) {
    y = before;
    system_.set_turn_references(committed_turns_);
    leave_out(frame, e);
    return std::nullopt;
  }
}

/// The support that holds the bodies at the height of the balance does work on their weight when the height changes.
/// The energy stored in the contact along that motion is included in the contact energy.
void PrescribedRun::add_shift_work() {
  const std::vector<double> weights = balance_->balance_forces(q(committed_.y), {});
  const auto shifts = balance_->shifts();
  for (std::size_t g = 0; g < last_shifts_.size(); ++g) {
    committed_.z[EnergyQuadrature::external_work] += weights[g] * (shifts[g] - last_shifts_[g]);
  }
  last_shifts_.assign(shifts.begin(), shifts.end());
}

void PrescribedRun::process(const Frame& frame, bool batched) {
  system_.reset_factorisation();
  const LastFrame last{std::exchange(committed_.t, frame.t), committed_.y};
  path_damping_ = path_ && !frame.error ? path_->accept() : 0.0;
  // As in move_to(), which may be many frames ahead.
  if (started_frames_) system_.advance_turn_references(q(last.y), qd(last.y), frame.t - last.t);
  if (const auto contact = place_frame(frame, batched)) {
    const bool first = !std::exchange(started_frames_, true);
    const Powers powers = free_powers(committed_.t, committed_.y);
    if (first) {
      sampled_.coarse_t = committed_.t;
      sampled_.coarse_power = contact->dissipated_power;
    } else {
      add_energy(last, powers, *contact);
    }
    powers_ = powers;
    contact_ = *contact;
    system_.reset_factorisation();
    if (!first) {
      write_row(committed_.t, committed_.y, committed_.z);
      write_due_fields(committed_.t, committed_.y);
      ++n_frames_;
    }
  } else {
    // The run ends, also in its energy, with the last frame that has a solution.
    committed_.t = last.t;
  }
  report_progress(input_.scenario.output.interval);
}

/// [s] Between two frames, where a damped contact begins or ends, or turns between both. A contact that touches at a
/// frame without damping has none.
std::vector<double> PrescribedRun::damping_divisions(const LastFrame& last, const ContactEnergy& contact) {
  std::vector<double> divisions;
  for (std::size_t i = 0; i < contact.pairs.size(); ++i) {
    const auto& [a, power_a] = contact_.pairs[i];
    const auto& [b, power_b] = contact.pairs[i];
    const bool is_open = a.gap > 0.0 && b.gap > 0.0;
    if (!is_open && power_a == 0.0 && power_b == 0.0) continue;
    for (const GapPoint& division : contact_divisions(a, b)) {
      const bool turns = division.gap_rate == 0.0;
      divisions.push_back(turns ? division.t : contact_time(last, i, division));
    }
  }
  std::ranges::sort(divisions);
  divisions.erase(std::ranges::unique(divisions).begin(), divisions.end());
  std::erase_if(divisions, [&](double t) { return !(t > last.t && t < committed_.t); });
  return divisions;
}

/// [s] Where the gap of a pair vanishes, by Newton's method from the root of the cubic through it at two frames.
double PrescribedRun::contact_time(const LastFrame& last, std::size_t pair, GapPoint near) {
  // The error of the cubic is of fourth order in the interval between the frames; two steps square it twice.
  constexpr int n_steps = 2;
  for (int k = 0; k < n_steps; ++k) {
    try {
      near = gap_point_at(near.t, responses_between(near.t, state_between(last, near.t))[pair]);
    } catch (const RecoverableError&) {
      break;
    }
    const double step = near.gap_rate == 0.0 ? 0.0 : -near.gap / near.gap_rate;
    if (!(near.t + step > last.t && near.t + step < committed_.t)) break;
    near.t += step;
  }
  return near.t;
}

/// Where the contact between two frames is unknown, because it depends on the height of a balance, its power is assumed
/// linear.
double PrescribedRun::damping_work(const LastFrame& last, const ContactEnergy& contact) {
  if (path_) return path_damping_;
  const Powers before{contact_.dissipated_power, 0.0};
  const Powers now{contact.dissipated_power, 0.0};
  const double linear = 0.5 * (committed_.t - last.t) * (before + now)[0];
  if (balance_) {
    sample_damping(linear, contact.dissipated_power);
    return linear;
  }
  const std::vector<double> divisions = damping_divisions(last, contact);
  if (linear == 0.0 && divisions.empty()) return 0.0;
  return work(
      last, before, now, contact_accuracy,
      [&](double t, const VectorX& y) {
        return Powers{contact_damping(t, y), 0.0};
      },
      divisions)[0];
}

void PrescribedRun::sample_damping(double work, double power) {
  sampled_.work += work;
  if (n_frames_ % 2 == 0) return;
  sampled_.coarse_work += 0.5 * (committed_.t - sampled_.coarse_t) * (sampled_.coarse_power + power);
  sampled_.coarse_t = committed_.t;
  sampled_.coarse_power = power;
  sampled_.work_at_coarse = sampled_.work;
}

void PrescribedRun::warn_of_sampled_damping() {
  const double error = std::abs(sampled_.work_at_coarse - sampled_.coarse_work) / 3.0;
  if (!(error > 0.01 * sampled_.work)) return;
  sink_.on_log("warning", fmt::format("the {:.3g} J dissipated by contact damping are known to about {:.1g} J only, "
                                      "because this contact is evaluated at the rows alone; reduce output.interval",
                                      sampled_.work, error));
}

void PrescribedRun::warn_of_path_error() {
  if (!path_ || !(path_->error() > 0.01 * path_->exchanged())) return;
  sink_.on_log(
      "warning",
      fmt::format("the {:.3g} J dissipated in contact are known to about {:.1g} J only; reduce output.interval",
                  path_->dissipated(), path_->error()));
}

/// The work done on the contact is the increase of its stored energy plus its dissipation, of which the rate-dependent
/// part is not in the responses to commits.
void PrescribedRun::add_energy(const LastFrame& last, const Powers& powers, const ContactEnergy& contact) {
  const double dissipated = damping_work(last, contact);
  committed_.z +=
      work(last, powers_, powers, free_accuracy, [&](double t, const VectorX& y) { return free_powers(t, y); });
  committed_.z[EnergyQuadrature::dissipated] += dissipated;
  committed_.z[EnergyQuadrature::external_work] += contact.stored - contact_.stored + contact.dissipated + dissipated;
}

PrescribedRun::EvaluationMode PrescribedRun::choose_evaluation_mode() const {
  if (balance_) return EvaluationMode::sequential;
  if (exchange_.history_independent()) return EvaluationMode::batched;
  return exchange_.n_pairs() > 0 ? EvaluationMode::committed : EvaluationMode::sequential;
}

std::size_t PrescribedRun::commit(std::span<Frame> frames) {
  const auto begin = std::chrono::steady_clock::now();
  const LastFrame last{committed_t_, committed_.y};
  const auto motion = [&](double t) {
    system_.set_turn_references(committed_turns_);
    system_.advance_turn_references(q(last.y), qd(last.y), t - last.t);
    return frame_between(last, frames[0], t);
  };
  system_.reset_factorisation();
  const std::size_t n = path_->commit(frames, motion, stop_);
  system_.set_turn_references(committed_turns_);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - begin;
  const double fitting = static_cast<double>(n) * call_time / std::max(duration.count(), 1e-9);
  frames_per_call_ = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(max_frames)));
  return n;
}

bool PrescribedRun::take(std::span<Frame> frames) {
  if (evaluation_mode_ == EvaluationMode::batched) exchange_.evaluate_batch(frames);
  std::size_t n_evaluations_requested = evaluation_mode_ == EvaluationMode::committed ? 0 : frames.size();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (stop_.stop_requested()) return false;
    if (i == n_evaluations_requested) {
      try {
        // A rejected frame ends the call and is reported; the motion continues after it.
        n_evaluations_requested += commit(frames.subspan(i));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled && stop_.stop_requested()) return false;
        throw;
      }
    }
    process(frames[i], evaluation_mode_ != EvaluationMode::sequential);
  }
  return true;
}

void PrescribedRun::begin() {
  motion_.resize(2 * system_.n_q());
  motion_ << model_.start().q, model_.start().qd;
  committed_.z = VectorX::Zero(EnergyQuadrature::n);
  system_.project(0.0, motion_.head(system_.n_q()), motion_.tail(system_.n_q()));
  system_.accept_turn_references(q(motion_));
  motion_turns_ = system_.turn_references();
  committed_.y = system_.start_y(0.0, q(motion_), qd(motion_));
  start_states_ = committed_.y.tail(system_.n_states());
}

void PrescribedRun::exchange_state(AnalysisState& state) {
  state.exchange("motion", entries(motion_));
  if (motion_turns_.size() > 0) state.exchange("motion_turns", entries(motion_turns_));
  state.exchange("motion_t", motion_t_);
  state.exchange("committed_t", committed_t_);
  state.exchange("next_frame", next_frame_);
  state.exchange("frames", n_frames_);
  state.exchange("failed", n_failed_);
  state.exchange("first_reason", first_reason_);
  std::array<double, 2> worst{worst_.position, worst_.velocity};
  state.exchange("worst", worst);
  worst_ = {.position = worst[0], .velocity = worst[1]};
  state.exchange("powers", entries(powers_));
  std::array<double, 2> contact{contact_.stored, contact_.dissipated_power};
  state.exchange("contact", contact);
  contact_.stored = contact[0];
  contact_.dissipated_power = contact[1];
  contact_.pairs.resize(states_.n_pairs());
  for (std::size_t i = 0; i < contact_.pairs.size(); ++i) {
    auto& [gap, power] = contact_.pairs[i];
    std::array<double, 4> values{gap.t, gap.gap, gap.gap_rate, power};
    state.exchange(("pair_" + std::to_string(i)).c_str(), values);
    gap = {.t = values[0], .gap = values[1], .gap_rate = values[2]};
    power = values[3];
  }
  std::array<double, 5> sampled{sampled_.work, sampled_.coarse_work, sampled_.coarse_t, sampled_.coarse_power,
                                sampled_.work_at_coarse};
  state.exchange("sampled", sampled);
  sampled_ = {sampled[0], sampled[1], sampled[2], sampled[3], sampled[4]};
  if (path_) path_->exchange_state(state);
  if (balance_) {
    last_shifts_.resize(balance_->shifts().size());
    state.exchange("shifts", balance_->shifts());
    state.exchange("slides", balance_->slides());
    state.exchange("last_shifts", last_shifts_);
  }
}

bool PrescribedRun::solve() {
  begin();
  evaluation_mode_ = choose_evaluation_mode();
  frames_per_call_ = evaluation_mode_ == EvaluationMode::sequential ? 1
                     : evaluation_mode_ == EvaluationMode::batched  ? n_prefetched_frames
                                                                    : first_frames;
  if (evaluation_mode_ == EvaluationMode::committed) path_.emplace(system_.model(), exchange_);
  if (resumed_) {
    AnalysisState state(resumed_->analysis);
    exchange_state(state);
    started_frames_ = true;
    restore_resumed();
  }
  committed_turns_ = system_.turn_references();
  while (next_frame_ == 0 || motion_t_ < end_time()) {
    std::exception_ptr failure;
    std::vector<Frame> frames = next_frames(frames_per_call_, failure);
    if (!take(frames)) return false;
    if (failure) std::rethrow_exception(failure);
    if (started_frames_ && motion_t_ < end_time()) at_restart_point();
  }
  require_frames();
  return true;
}

void PrescribedRun::require_frames() {
  warn_of_sampled_damping();
  warn_of_path_error();
  // Of the prescribed motion: a balance intentionally moves bodies away from it.
  model_.totals().max_position_violation = worst_.position;
  model_.totals().max_velocity_violation = worst_.velocity;
  if (!started_frames_) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("none of {} frames has a solution; the first, {}", n_failed_, first_reason_));
  }
  if (n_failed_ > 0) {
    summary_.error = Error(ErrorCode::solver_failed, fmt::format("{} of {} frames have no solution; the first, {}",
                                                                 n_failed_, next_frame_, first_reason_));
  }
}

void require_prescribed_motion(int degrees_of_freedom) {
  if (degrees_of_freedom == 0) return;
  throw input_error(
      "analysis.type",
      fmt::format("analysis.type: expected joints and drivers that prescribe all motion, found {} degrees of freedom "
                  "remaining; add drivers, or use `type: forward`",
                  degrees_of_freedom));
}

void check_balances(const config::Field& field, const Scenario& scenario) {
  if (scenario.analysis.balance.empty()) {
    field["balance"].reject("at least one entry", "none", "specify which bodies are supported by which force");
  }
  if (!(scenario.gravity.norm() > 0.0)) {
    field["type"].reject("gravity, which defines the vertical", "[0, 0, 0]", "give e.g. gravity: [0, 0, -9.81]");
  }
}

template <Kind kind>
RunSummary run_prescribed(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                          std::stop_token stop) {
  return run_with_model<PrescribedRun>(input, open_contact, sink, std::move(stop), kind);
}

}  // namespace

/// Motion and contact wrench.
AnalysisType kinematic_analysis() {
  return {
      {{.name = "kinematic", .meaning = "contact in a motion prescribed by drivers", .keys = {config::balance_keys()}},
       {.prescribed = true, .steppable = true}},
      run_prescribed<Kind::kinematic>,
      require_prescribed_motion};
}

/// As kinematic, with the loads required by the motion: for every joint and driver and each body on which it acts, its
/// force and its torque about the body's origin, in the world.
AnalysisType inverse_analysis() {
  return {{{.name = "inverse",
            .meaning = "as kinematic, with the loads of joints and drivers",
            .keys = {config::balance_keys()}},
           {.prescribed = true, .loads = true}},
          run_prescribed<Kind::inverse>,
          require_prescribed_motion};
}

/// Kinematic, except that the bodies of `analysis.balance` are shifted along the vertical in every frame until the
/// ground supports them with the prescribed force (vertical_balance.hpp). Twists are those of the prescribed motion.
AnalysisType hybrid_analysis() {
  return {{{.name = "hybrid",
            .meaning = "as kinematic, with the height of some bodies determined by the supporting force",
            .keys = {config::required(config::balance_keys())},
            .check = check_balances},
           {.prescribed = true, .balances = true}},
          run_prescribed<Kind::hybrid>,
          require_prescribed_motion};
}

}  // namespace heelstrike::mbs
