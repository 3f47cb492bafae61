/// What schemes with macro steps share: when exchanges are, the repetition of macro steps, counts, checkpoints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/coupling/force_extrapolation.hpp"
#include "mbs_server/coupling/step_control.hpp"

namespace heelstrike::mbs {

struct MacroStepOptions {
  std::string scheme;       ///< name
  double macro_step = 0.0;  ///< [s] the first one; all of them without step control
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

  /// Decides what acts in a macro step from the last exchange, at `t`, to `end`; as often as the step is repeated.
  /// Leaves nothing behind when it throws.
  /// @throws Error{solver_failed} and RecoverableError when it finds nothing
  virtual void prepare(double t, double end, TrialMotion& trial) = 0;
  /// What acts in the macro step that was prepared, or, before one is, right after the last exchange. Hot.
  virtual void act(std::size_t pair, double t, const PairState& state, Response& response) const = 0;
  [[nodiscard]] virtual bool will_act(std::size_t pair) const = 0;
  /// [J] Sum over the pairs of the energy, without sign, that the prepared macro step creates or destroys.
  [[nodiscard]] virtual double energy_error(double t, double end, TrialMotion& trial) = 0;
  /// Degree in time to which the forces of the prepared macro step are right.
  [[nodiscard]] virtual int degree() const = 0;
  /// The exchange at the end of a macro step. @returns what the partner answered, valid until it is asked again
  virtual std::span<const Response> exchange(double t, const ConstVector& q, const ConstVector& qd) {
    return exchange_.commit(t, q, qd);
  }
  /// Of the derived class, as save() and restore(), when the rest is there. restore_scheme_state() reads to the end of `from`,
  /// or throws Error{invalid_input} and leaves what it had.
  virtual void save_scheme_state(NumberWriter& /*to*/) const {}
  virtual void restore_scheme_state(NumberReader& from) { from.require_end(); }

  [[nodiscard]] std::size_t n_pairs() const { return acts_.size(); }
  /// [s] End of the macro step that is under way; the time of the last exchange otherwise.
  [[nodiscard]] double end() const { return progress_.end; }
  /// After what acts has changed within prepare(): asks will_act() anew.
  void update_acts();
  void count_iteration() { ++progress_.statistics.iterations; }
  /// [W] that the forces of the prepared macro step do in a state beyond those that the partner answers there, without
  /// sign, per pair.
  void power_mismatch(double t, const VectorX& y, std::span<double> watts);

  ContactExchange& exchange_;
  ForceExtrapolation past_;

 private:
  struct Progress {
    double end = 0.0;             ///< [s] of the macro step that is under way, or that is over
    double length = 0.0;          ///< [s] of the next macro step, with control
    std::int64_t n_accepted = 0;  ///< macro steps: without control exchanges are at multiples, which do not drift
    CouplingStatistics statistics;
    std::vector<Response> now;  ///< one per pair
  };
  static void restore_progress(NumberReader& from, Progress& to);

  [[nodiscard]] double next_end(double t, double t_end) const;
  /// @returns whether the macro step was content; otherwise it is to be tried again, shorter
  [[nodiscard]] bool try_macro_step(double t, double end, TrialMotion& trial);
  void reject(double t, double length, double next_length, const std::string& why);

  MacroStepOptions options_;
  Progress progress_;
  std::vector<char> acts_;
};

/// The keys `macro_step` and `step_control`.
[[nodiscard]] std::vector<config::KeySchema> macro_step_keys();
/// The key `extrapolation`. @param with_tangent  whether `tangent` is among the choices
[[nodiscard]] config::KeySchema extrapolation_key(bool with_tangent, const std::string& meaning,
                                                  const std::string& fallback);
/// Refuses macro steps that the analysis cannot have.
void check_macro_steps(const config::Field& coupling, const Scenario& scenario);
[[nodiscard]] MacroStepOptions read_macro_steps(const Scenario& scenario);

}  // namespace heelstrike::mbs
