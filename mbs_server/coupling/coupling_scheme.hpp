/// When a run asks its contact partner, and what acts on the bodies in between.
///
/// There are two kinds. A scheme without macro steps asks at every state that the integrator looks at; onset and
/// separation are then roots of the gaps. A scheme with macro steps exchanges at times of its own only and says itself
/// what acts until the next one: what it holds, extrapolates, or has found by iteration. A Simulation steps both
/// without knowing which it has; docs/developer/coupling.md goes through the calls.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "scenario/catalog.hpp"
#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"

namespace heelstrike::mbs {

/// The motion that would follow the last accepted state under what the scheme says that acts. Nothing of it is kept or
/// told to anybody; the integrator takes the same steps again, with the same bits, once the scheme has decided.
class TrialMotion {
 public:
  virtual ~TrialMotion() = default;

  /// Starts from the accepted state, as often as a scheme wants to try.
  /// @param t_end  [s] beyond the accepted state; the integrator ends a step there
  virtual void restart(double t_end) = 0;
  /// {q, qd, s} at a time from the accepted one to t_end; times of one trial do not fall. Valid until the next call.
  /// @throws Error{solver_failed} and RecoverableError when the integrator does not get there
  [[nodiscard]] virtual const VectorX& state_at(double t) = 0;
};

class CouplingScheme {
 public:
  virtual ~CouplingScheme() = default;

  /// Whether a pair exerts what responses() says of it; else it exerts nothing, and where no pair acts, nobody is
  /// asked. Does not change within a step of the integrator.
  [[nodiscard]] virtual bool acts(std::size_t pair) const = 0;

  /// What acts at a state, one per pair, with its tangents by pose and twist (zero for what is held). Pure: integrators
  /// ask in any order and throw answers away. Takes the kinematics of the exchange to the state. Hot: allocates
  /// nothing.
  [[nodiscard]] virtual std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) = 0;

  /// The same, or what was answered last, when that was for a state of the same time.
  [[nodiscard]] virtual std::span<const Response> responses_at_time(double t, const ConstVector& q,
                                                                 const ConstVector& qd) {
    return responses(t, q, qd);
  }

  /// The integrator's step to this state has been accepted. Exchanges and commits where the scheme has an exchange.
  /// @returns what acts from here on; `dissipated_increment` is that of a commit, zero where none was made
  virtual std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) = 0;

  /// Whether it is certain, without asking anybody, that no pair begins or ends to touch on the way between two states
  /// of a step. What the partner would answer there is known as far as it matters.
  [[nodiscard]] virtual bool keeps_contact_state(double /*t*/, const ConstVector& /*q*/, const ConstVector& /*qd*/,
                                         double /*t_end*/, const ConstVector& /*q_end*/,
                                         const ConstVector& /*qd_end*/) const {
    return false;
  }
  /// accept() without waiting for the partner, where no pair begins or ends to act.
  virtual void accept_deferred(double t, const ConstVector& q, const ConstVector& qd) { accepted_ = accept(t, q, qd); }
  /// What accept() would have returned at the last accept_deferred(); waits. @throws RejectedCommit when the partner has
  /// refused it but may accept a smaller step
  [[nodiscard]] virtual std::span<const Response> accepted() { return accepted_; }

  /// Constant. Without macro steps none of the functions below is called.
  [[nodiscard]] virtual bool has_macro_steps() const { return false; }

  /// [s] when all macro steps are of one length, whose multiples they end at; none where the scheme chooses.
  [[nodiscard]] virtual std::optional<double> fixed_macro_step() const { return std::nullopt; }

  /// Called before each step of the integrator, from the accepted state at `t`. When the last macro step is over the
  /// scheme decides on the next one: its length, and what will act. It may try motions, ask the exchange for responses
  /// to their states (which is pure), and try again, shorter or with other forces, until it is content.
  /// @param t_end  [s] end of the run, or where something else changes before it: a multiple of fixed_macro_step() then
  /// @returns [s] end of the macro step that `t` lies in, above t and not beyond t_end; the integrator ends a step
  /// there and starts anew. @throws Error{solver_failed} when no macro step contents the scheme; after a
  /// RecoverableError it is asked again, with a smaller bound on the integrator's steps
  [[nodiscard]] virtual double plan(double /*t*/, double t_end, TrialMotion& /*trial*/) { return t_end; }

  /// What macro steps there have been; none without macro steps.
  [[nodiscard]] virtual std::optional<CouplingStatistics> statistics() const { return std::nullopt; }

  /// All that responses(), plan() and accept() depend on besides the history of the partner, as bytes for checkpoints.
  [[nodiscard]] virtual std::string save() const { return {}; }
  /// Goes on from saved bytes. @throws Error{invalid_input} for bytes of another scheme; nothing has changed then
  virtual void restore(const std::string& /*bytes*/) {}

 private:
  std::span<const Response> accepted_;  ///< of the last accept_deferred() of a scheme that waits
};

/// What describes a coupling scheme. A new one is its file and its line in coupling_scheme.cpp.
struct CouplingSchemeEntry : ElementType {
  /// @param scenario  with what it says of the coupling: `coupling.keys` has been checked against `keys`
  /// @param exchange, states  of all pairs; outlive the scheme
  std::function<std::unique_ptr<CouplingScheme>(const Scenario& scenario, ContactExchange& exchange,
                                                const ContactStates& states)>
      make;
};

[[nodiscard]] std::span<const CouplingSchemeEntry> coupling_scheme_registry();

/// The scheme that a scenario is run with: the first in the registry, where the scenario does not say.
[[nodiscard]] const CouplingSchemeEntry& scheme_of(const Scenario& scenario);

}  // namespace heelstrike::mbs
