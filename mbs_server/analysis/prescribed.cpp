#include "mbs_server/analysis/prescribed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/reaction_table.hpp"
#include "mbs_server/analysis/run_base.hpp"

namespace heelstrike::mbs {
namespace {

class PrescribedRun final : public RunBase {
 public:
  PrescribedRun(const RunInput& input, const Model& model, RunSink& sink, std::stop_token stop, bool with_loads)
      : RunBase(input, model, sink, std::move(stop)), with_loads_(with_loads) {}

 private:
  [[nodiscard]] bool solve() override;
  void add_statistics(IntegratorStatistics& statistics) const override {
    statistics.name = with_loads_ ? "inverse" : "kinematic";
    statistics.steps = n_frames_;
  }
  void add_columns(std::vector<Column>& columns) override;
  void add_to_row(double t, const Eigen::VectorXd& y, std::vector<double>& row) override;

  void require_prescribed_motion() const;
  void move_to(double t);
  [[nodiscard]] Eigen::Vector2d powers();

  bool with_loads_;
  ReactionTable loads_;
  std::int64_t n_frames_ = 0;
  Eigen::Vector2d powers_ = Eigen::Vector2d::Zero();  ///< [W] of the last frame, in the order of EnergyQuadrature
};

void PrescribedRun::add_columns(std::vector<Column>& columns) {
  if (!with_loads_) return;
  loads_ = ReactionTable(system_);
  const auto more = loads_.columns(system_);
  columns.insert(columns.end(), more.begin(), more.end());
}

void PrescribedRun::add_to_row(double t, const Eigen::VectorXd& y, std::vector<double>& row) {
  if (with_loads_) loads_.append(t, q(y), qd(y), system_, row);
}

void PrescribedRun::require_prescribed_motion() const {
  const int n_free = system_.n_q() - system_.n_constraints();
  if (n_free == 0) return;
  throw input_error(
      "analysis.type",
      fmt::format("analysis.type: expected joints and drivers that prescribe all motion, found {} degrees of freedom "
                  "left free; add drivers, or use `type: forward`",
                  n_free));
}

Eigen::Vector2d PrescribedRun::powers() {
  const EnergyTerms terms = system_.evaluate_energy(t_, q(y_), qd(y_));
  return {terms.dissipated_power, terms.external_power};
}

void PrescribedRun::move_to(double t) {
  const auto n = system_.n_q();
  const double h = t - t_;
  system_.solve_accelerations(t_, q(y_), qd(y_));
  y_.head(n) += h * (y_.tail(n) + 0.5 * h * system_.qdd());
  y_.tail(n) += h * system_.qdd();
  try {
    system_.project(t, y_.head(n), y_.tail(n));
  } catch (const RecoverableError& e) {
    const WorstConstraint worst = system_.worst_constraint(t, q(y_), qd(y_));
    throw Error(ErrorCode::solver_failed,
                fmt::format("no position satisfies joints and drivers at t = {} s, coming from t = {} s: {}; worst is "
                            "'{}'. Check that the prescribed motion can be reached, or reduce output.interval",
                            t, t_, e.what(), worst.name),
                e.field());
  }
  t_ = t;
}

bool PrescribedRun::solve() {
  if (input_.resume_from) {
    throw input_error("checkpoint",
                      "checkpoint: expected a forward analysis, found one of prescribed motion; start it "
                      "anew, it costs one linear solution per row");
  }
  require_prescribed_motion();
  y_.resize(2 * system_.n_q());
  y_ << assembled_.q, assembled_.qd;
  z_ = Eigen::VectorXd::Zero(EnergyQuadrature::n);
  system_.project(0.0, y_.head(system_.n_q()), y_.tail(system_.n_q()));
  commit_initial_state();
  powers_ = powers();
  for (std::int64_t frame = 1; t_ < end_time(); ++frame) {
    if (stop_.stop_requested()) return false;
    const double before = t_;
    const double grid = input_.scenario.output.interval * static_cast<double>(frame);
    // A grid that ends at the end time but for rounding has no extra frame there.
    const bool last = grid >= end_time() * (1.0 - 1e-12);
    move_to(last ? end_time() : grid);
    commit_given_state(t_);
    const Eigen::Vector2d now = powers();
    z_ += 0.5 * (t_ - before) * (powers_ + now);
    powers_ = now;
    note_violation();
    write_row(t_, y_, z_);
    // Fields lie on frames: those of the grid that have become due since the last one are written once.
    if (const auto due = fields_.next_time(); due && *due <= t_ * (1.0 + 1e-12)) {
      fields_.skip_to(t_ * (1.0 - 1e-9));
      write_fields(t_, y_);
    }
    ++n_frames_;
    tell_progress(t_ - before);
  }
  return true;
}

}  // namespace

RunSummary run_kinematic(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                         std::stop_token stop) {
  return PrescribedRun(input, build_model(input.scenario), sink, std::move(stop), false).run(open_contact);
}

RunSummary run_inverse(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop) {
  return PrescribedRun(input, build_model(input.scenario), sink, std::move(stop), true).run(open_contact);
}

}  // namespace heelstrike::mbs
