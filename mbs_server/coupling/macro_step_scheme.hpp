/// Common base of schemes with macro steps: exchange times, repetition of macro steps, statistics, checkpoints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/coupling/extrapolation.hpp"
#include "mbs_server/coupling/step_control.hpp"

namespace heelstrike::mbs {

struct MacroStepOptions {
  std::string scheme;       ///< name
  double macro_step = 0.0;  ///< [s] the initial one; constant without step control
  Extrapolation extrapolation;
  std::optional<StepControl> control;
};

class MacroStepScheme : public CouplingScheme {
 public:
  [[nodiscard]] bool acts(std::size_t pair) const final { return acts_[pair] != 0; }
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) final;
  std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) final;
  [[nodiscard]] bool has_macro_steps() const final { return true; }
  [[nodiscard]] std::optional<double> fixed_macro_step() const final {
    return options_.control ? std::nullopt : std::optional(options_.macro_step);
  }
  [[nodiscard]] double plan(double t, double t_end, TrialMotion& trial) final;
  [[nodiscard]] std::optional<CouplingStatistics> statistics() const final { return progress_.statistics; }
  [[nodiscard]] std::string save() const final;
  void restore(const std::string& bytes) final;

 protected:
  MacroStepScheme(MacroStepOptions options, ContactExchange& exchange);

  /// Determines the forces in a macro step from the last exchange, at `t`, to `end`; called for each repetition.
  /// Strong exception guarantee.
  /// @throws Error{solver_failed} and RecoverableError when it fails
  virtual void prepare(double t, double end, TrialMotion& trial) = 0;
  /// Force in the prepared macro step, or right after the last exchange if none is prepared. Hot.
  virtual void act(std::size_t pair, double t, const PairState& state, Response& response) const = 0;
  [[nodiscard]] virtual bool will_act(std::size_t pair) const = 0;
  /// [J] Sum over the pairs of the absolute energy that the prepared macro step creates or destroys.
  [[nodiscard]] virtual double energy_error(double t, double end, TrialMotion& trial) = 0;
  /// Degree in time to which the forces of the prepared macro step are exact.
  [[nodiscard]] virtual int degree() const = 0;
  /// The exchange at the end of a macro step. @returns responses, valid until the next request
  virtual std::span<const Response> exchange(double t, const ConstVector& q, const ConstVector& qd) {
    return exchange_.commit(t, q, qd);
  }
  /// State of the derived class, as save() and restore(), called after the base part. restore_scheme_state() reads to
  /// the end of `from`, or throws Error{invalid_input} without changes.
  virtual void save_scheme_state(NumberWriter& /*to*/) const {}
  virtual void restore_scheme_state(NumberReader& from) { from.require_end(); }

  [[nodiscard]] std::size_t n_pairs() const { return acts_.size(); }
  /// [s] End of the current macro step; otherwise the time of the last exchange.
  [[nodiscard]] double end() const { return progress_.end; }
  /// Must be called after a change of the forces within prepare(): evaluates will_act() again.
  void update_acts();
  void count_iteration() { ++progress_.statistics.iterations; }
  /// [W] absolute difference between the power of the forces of the prepared macro step and of the partner's response
  /// at a state, per pair.
  void power_mismatch(double t, const VectorX& y, std::span<double> watts);

  ContactExchange& exchange_;
  ForceExtrapolation past_;

 private:
  struct Progress {
    double end = 0.0;             ///< [s] of the current or last macro step
    double length = 0.0;          ///< [s] of the next macro step, with control
    std::int64_t n_accepted = 0;  ///< macro steps: without control exchanges are at multiples, without drift
    CouplingStatistics statistics;
    std::vector<Response> now;  ///< one per pair
  };
  /// First line of the saved state: the scheme and the members of a response.
  [[nodiscard]] std::string state_kind() const;
  static void restore_progress(NumberReader& from, Progress& to);

  [[nodiscard]] double next_end(double t, double t_end) const;
  /// @returns true if the criterion is satisfied; otherwise the macro step is repeated with a shorter length
  [[nodiscard]] bool try_macro_step(double t, double end, TrialMotion& trial);
  void reject_step(double t, double length, double next_length, const std::string& why);

  MacroStepOptions options_;
  Progress progress_;
  std::vector<char> acts_;
};

/// The keys `macro_step` and `step_control`.
[[nodiscard]] std::vector<config::KeySchema> macro_step_keys();
/// The key `extrapolation`. @param with_tangent  true if `tangent` is available
[[nodiscard]] config::KeySchema extrapolation_key(bool with_tangent, const std::string& meaning,
                                                  const std::string& fallback);
/// Rejects macro steps that the analysis does not support.
void check_macro_steps(const config::Field& coupling, const Scenario& scenario);
[[nodiscard]] MacroStepOptions read_macro_steps(const Scenario& scenario);

}  // namespace heelstrike::mbs
