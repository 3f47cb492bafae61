/// Coupling schemes: times of the exchanges with the contact partner, and forces between exchanges.
///
/// There are two kinds. A scheme without macro steps evaluates the partner at every state of the integrator; onset and
/// separation are then roots of the gaps. A scheme with macro steps exchanges only at their ends and defines the forces
/// until the next exchange: held, extrapolated, or iterated. A Simulation treats both alike;
/// docs/developer/coupling.md describes the calls.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

/// The motion after the last accepted state under the forces of the scheme. It is neither stored nor reported; the
/// integrator repeats the same steps, bitwise equal, once the scheme has decided.
class TrialMotion {
 public:
  virtual ~TrialMotion() = default;

  /// Starts from the accepted state; may be repeated.
  /// @param t_end  [s] beyond the accepted state; the integrator ends a step there
  virtual void restart(double t_end) = 0;
  /// {q, qd, s} at a time from the accepted one to t_end; times of one trial do not fall. Valid until the next call.
  /// @throws Error{solver_failed} and RecoverableError when the integrator does not reach it
  [[nodiscard]] virtual const VectorX& state_at(double t) = 0;
};

class CouplingScheme {
 public:
  virtual ~CouplingScheme() = default;

  /// True if a pair exerts the force of responses(), else it exerts none; the partner is not evaluated if no pair acts.
  /// Constant within a step of the integrator.
  [[nodiscard]] virtual bool acts(std::size_t pair) const = 0;

  /// Forces at a state, one per pair, with tangents by pose and twist (zero for held forces). Pure: integrators call it
  /// in any order and discard results. Updates the kinematics of the exchange to the state. Hot: does not allocate.
  [[nodiscard]] virtual std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) = 0;

  /// As responses(), or the last responses if those were for a state of the same time.
  [[nodiscard]] virtual std::span<const Response> responses_at_time(double t, const ConstVector& q,
                                                                    const ConstVector& qd) {
    return responses(t, q, qd);
  }

  /// The integrator's step to this state has been accepted. Exchanges and commits where the scheme has an exchange.
  /// @returns the forces from here on; `dissipated_increment` is that of a commit, zero without commit
  virtual std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) = 0;

  /// True if bounds exclude, without evaluation, that a pair opens or closes between two states of a step; the
  /// relevant response of the partner is then known.
  [[nodiscard]] virtual bool has_constant_contact_state(double /*t*/, const ConstVector& /*q*/,
                                                        const ConstVector& /*qd*/, double /*t_end*/,
                                                        const ConstVector& /*q_end*/,
                                                        const ConstVector& /*qd_end*/) const {
    return false;
  }
  /// accept() without waiting for the partner, when no pair becomes active or inactive.
  virtual void accept_deferred(double t, const ConstVector& q, const ConstVector& qd) { accepted_ = accept(t, q, qd); }
  /// Waits for the result of the last accept_deferred(). @throws RejectedCommit when the partner has rejected it but
  /// may accept a smaller step
  [[nodiscard]] virtual std::span<const Response> accepted() { return accepted_; }

  /// Constant. Without macro steps none of the functions below is called.
  [[nodiscard]] virtual bool has_macro_steps() const { return false; }

  /// [s] constant length of macro steps, which end at its multiples; none if the scheme chooses the length.
  [[nodiscard]] virtual std::optional<double> fixed_macro_step() const { return std::nullopt; }

  /// Called before each step of the integrator, from the accepted state at `t`. At the end of a macro step the scheme
  /// determines the next one: its length and forces. It may run trial motions, evaluate their states (which is pure),
  /// and repeat with a shorter step or other forces until its criterion is satisfied.
  /// @param t_end  [s] end of the run or of an earlier interval; then a multiple of fixed_macro_step()
  /// @returns [s] end of the macro step that contains `t`, above t and not beyond t_end; the integrator ends a step
  /// there and restarts. @throws Error{solver_failed} when no macro step satisfies the criterion; after a
  /// RecoverableError it is called again, with a smaller bound on the integrator's steps
  [[nodiscard]] virtual double plan(double /*t*/, double t_end, TrialMotion& /*trial*/) { return t_end; }

  /// Statistics of the macro steps; none without macro steps.
  [[nodiscard]] virtual std::optional<CouplingStatistics> statistics() const { return std::nullopt; }

  /// State of responses(), plan() and accept() apart from the partner's history, as bytes for checkpoints.
  [[nodiscard]] virtual std::string save() const { return {}; }
  /// Restores saved bytes. @throws Error{invalid_input} for bytes of another scheme, without changes
  virtual void restore(const std::string& /*bytes*/) {}

 private:
  std::span<const Response> accepted_;  ///< of the last accept_deferred() of a scheme that waits
};

/// Description of a coupling scheme. A new one needs its file, its declaration here, and its line in
/// coupling_scheme.cpp.
struct CouplingSchemeEntry : ElementType {
  /// @param scenario  whose `coupling.keys` have been checked against `keys`
  /// @param exchange, states  of all pairs; outlive the scheme
  std::function<std::unique_ptr<CouplingScheme>(const Scenario& scenario, ContactExchange& exchange,
                                                const ContactStates& states)>
      make;
};

/// The partner is evaluated inside the integrator's iterations, with its tangent in the Newton matrix, and committed at
/// every accepted step. An open pair exerts no force, so that free flight is smooth and needs no contact evaluation;
/// the pair closes at a root of its gap. A closed pair acts until its gap has a rising root.
[[nodiscard]] CouplingSchemeEntry monolithic();
/// Explicit: the partner is evaluated at the state that the bodies have reached; its response acts in the next macro
/// step.
[[nodiscard]] CouplingSchemeEntry gauss_seidel();
/// Explicit: partner and bodies advance through a macro step in parallel: the partner is evaluated at a state predicted
/// at its start. Its forces differ from those of gauss_seidel() by the error of the prediction.
[[nodiscard]] CouplingSchemeEntry jacobi();
/// Implicit: the forces of a macro step agree with the partner's response to the motion under them. Iterates on trial
/// motions and pure evaluations; the partner commits once per macro step, as for explicit schemes.
[[nodiscard]] CouplingSchemeEntry implicit();

[[nodiscard]] std::span<const CouplingSchemeEntry> coupling_scheme_registry();

/// The scheme of a scenario; default: the first in the registry.
[[nodiscard]] const CouplingSchemeEntry& scheme_of(const Scenario& scenario);

}  // namespace heelstrike::mbs
