/// What all analyses share: opening the contact, rows, episodes, progress, the energy balance and the summary. An
/// analysis derives from it and brings solve().
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/analysis/episode_tracker.hpp"
#include "mbs_server/analysis/field_output.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/analysis/run_state.hpp"
#include "mbs_server/coupling/contact_coupling.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Entries of the quadratures that every analysis keeps beside its state.
struct EnergyQuadrature {
  static constexpr Eigen::Index dissipated = 0;     ///< [J] by rate-dependent terms
  static constexpr Eigen::Index external_work = 1;  ///< [J] by loads and drivers
  static constexpr Eigen::Index n = 2;
};

class RunBase {
 public:
  RunBase(const RunInput& input, const Model& model, RunSink& sink, std::stop_token stop);
  virtual ~RunBase() = default;
  RunBase(const RunBase&) = delete;
  RunBase& operator=(const RunBase&) = delete;

  /// The whole run; failures end in the summary.
  [[nodiscard]] RunSummary run(const ContactFactory& open_contact);

 protected:
  using Clock = std::chrono::steady_clock;

  /// From the initial state to the end. @returns false when the run was asked to stop. A run that reaches its end
  /// without some of its rows leaves the reason in summary_.error, and is "incomplete".
  [[nodiscard]] virtual bool solve() = 0;
  virtual void add_statistics(IntegratorStatistics& /*statistics*/) const {}
  /// Columns of this analysis after those that all have, and their values.
  virtual void add_columns(std::vector<Column>& /*columns*/) {}
  virtual void add_to_row(double /*t*/, const Eigen::VectorXd& /*y*/, std::vector<double>& /*row*/) {}

  /// Evaluates and commits the contact at the state y_ of a motion that does not depend on it, and opens and closes
  /// the pairs.
  void commit_given_state(double t);
  /// Opens and closes the pairs of the state y_ of such a motion, which has been committed with these responses.
  void take_given_state(double t, std::span<const Response> responses);
  /// Commits y_ at `t` as step 0, opens the episodes of pairs that touch already, writes the first row.
  void commit_initial_state(double t = 0.0);
  /// The same, of a state that has been committed with these responses.
  void take_initial_state(double t, std::span<const Response> responses);
  /// Fields, when the grid of the scenario has a time up to `t` (rounding aside) and the state is at that time.
  void write_fields(double t, const Eigen::VectorXd& y);
  /// Fields of one pair at an event of its contact, where the scenario asks for them.
  void write_event_fields(std::size_t pair, double t, const Eigen::VectorXd& y);
  void write_row(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z);
  void note_violation();
  void tell_progress(double step_size);
  [[nodiscard]] double total_energy(const Eigen::VectorXd& y);
  [[nodiscard]] double end_time() const { return input_.scenario.analysis.end_time; }
  [[nodiscard]] auto q(const Eigen::VectorXd& y) const { return y.head(system_.n_q()); }
  [[nodiscard]] auto qd(const Eigen::VectorXd& y) const { return y.tail(system_.n_q()); }

  const RunInput& input_;
  RunSink& sink_;
  std::stop_token stop_;
  Clock::time_point started_, last_progress_;
  RunSummary summary_;

  System system_;
  Start assembled_;  ///< state at the start of the scenario
  std::unique_ptr<Contact> contact_;
  ContactCoupling* coupling_ = nullptr;  ///< owned by system_
  RunState state_;
  std::vector<EpisodeTracker> trackers_;
  FieldOutputWriter fields_;
  double t_ = 0.0;         ///< last committed time
  Eigen::VectorXd y_, z_;  ///< last committed state {q, qd} and quadratures

 private:
  void open(const ContactFactory& open_contact);
  void switch_given_pair(std::size_t pair, double t, const Response& response);
  void tell_differentiation(const DriverSpec& driver);
  void finish();
  void finish_energy();
  void finish_wall_times();
  void tell_preparation(std::string_view stage, double fraction);
  [[nodiscard]] double wall_time() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  std::vector<double> row_;
  std::string preparation_stage_;
  Clock::duration fields_time_{};  ///< spent on fields
};

}  // namespace heelstrike::mbs
