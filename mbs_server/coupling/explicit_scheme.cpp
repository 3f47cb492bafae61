#include "mbs_server/coupling/coupling_scheme.hpp"

#include <algorithm>
#include <array>

#include "mbs_server/coupling/extrapolation.hpp"
#include "mbs_server/coupling/macro_step_scheme.hpp"

namespace heelstrike::mbs {
namespace {

/// Forces are extrapolated from past exchanges.
class GaussSeidel : public MacroStepScheme {
 public:
  GaussSeidel(MacroStepOptions options, ContactExchange& exchange)
      : MacroStepScheme(std::move(options), exchange), watts_(exchange.n_pairs()) {}

 private:
  void prepare(double /*t*/, double /*end*/, TrialMotion& /*trial*/) override {}
  void act(std::size_t pair, double t, const PairState& state, Response& response) const override {
    past_.act(pair, t, state, response);
  }
  [[nodiscard]] bool will_act(std::size_t pair) const override { return past_.acts(pair); }
  [[nodiscard]] int degree() const override;
  [[nodiscard]] double energy_error(double t, double end, TrialMotion& trial) override;

  std::vector<double> watts_;
};

int GaussSeidel::degree() const {
  int lowest = 2;
  bool any = false;
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    if (!past_.in_contact(i)) continue;
    lowest = std::min(lowest, past_.degree(i));
    any = true;
  }
  return any ? lowest : 0;
}

/// The mismatch vanishes at the exchange at the start and is evaluated at the end. Between them it is proportional to
/// the product of the distances from the exchanges, tau (tau + H) ...: its integral over a macro step is a known
/// fraction of H times its value at the end. The tangent's error is proportional to tau^2.
double GaussSeidel::energy_error(double t, double end, TrialMotion& trial) {
  constexpr std::array<double, 3> part = {1.0 / 2.0, 5.0 / 12.0, 3.0 / 8.0};
  trial.restart(end);
  power_mismatch(end, trial.state_at(end), watts_);
  double sum = 0.0;
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    sum += part[static_cast<std::size_t>(past_.degree(i))] * (end - t) * watts_[i];
  }
  return sum;
}

/// As GaussSeidel, but the partner is evaluated at predicted states.
class Jacobi final : public GaussSeidel {
 public:
  Jacobi(const MacroStepOptions& options, ContactExchange& exchange)
      : GaussSeidel(options, exchange),
        // The tangent extrapolates from the predicted state; its force is accurate to order 1.
        motion_(options.extrapolation.tangent ? 1 : options.extrapolation.degree, exchange.n_q()) {}

 private:
  std::span<const Response> exchange(double t, const ConstVector& q, const ConstVector& qd) override;
  void save_scheme_state(NumberWriter& to) const override { motion_.save(to); }
  void restore_scheme_state(NumberReader& from) override;

  MotionPrediction motion_;
  bool started_ = false;
  VectorX q_, qd_;  ///< predicted
};

std::span<const Response> Jacobi::exchange(double t, const ConstVector& q, const ConstVector& qd) {
  if (!started_) {
    q_ = q;
    qd_ = qd;
    started_ = true;
  } else {
    // The data at the start of the macro step do not change within it, so that the result is the same as there.
    motion_.predict(t, q_, qd_);
  }
  const auto responses = exchange_.commit(t, q_, qd_);
  const bool switched = std::ranges::any_of(responses, [&, i = std::size_t{0}](const Response& r) mutable {
    return past_.in_contact(i++) != touching(r.gap, r.gap_rate);
  });
  if (switched) motion_.forget();
  motion_.add_exchange(t, q, qd);
  return responses;
}

void Jacobi::restore_scheme_state(NumberReader& from) {
  MotionPrediction motion = motion_;
  motion.restore(from);
  from.require_end();
  motion_ = motion;
  started_ = true;
}

template <typename Scheme>
CouplingSchemeEntry explicit_entry(const char* name, const char* meaning) {
  CouplingSchemeEntry entry;
  entry.name = name;
  entry.meaning = meaning;
  entry.keys = macro_step_keys();
  entry.keys.push_back(extrapolation_key(
      true,
      "force until the next exchange: the last force (0), the polynomial of degree 1 or 2 through the last forces "
      "since the onset of contact, or the force that follows pose and twist by the partner's tangent",
      "0"));
  entry.check = check_macro_steps;
  entry.make = [](const Scenario& scenario, ContactExchange& exchange, const ContactStates& /*states*/) {
    return std::make_unique<Scheme>(read_macro_steps(scenario), exchange);
  };
  return entry;
}

}  // namespace

CouplingSchemeEntry gauss_seidel() {
  return explicit_entry<GaussSeidel>(
      "gauss_seidel", "explicit, sequential: the response at the end of each macro step acts in the next one");
}

CouplingSchemeEntry jacobi() {
  return explicit_entry<Jacobi>(
      "jacobi",
      "explicit, parallel: as gauss_seidel, but the partner is evaluated at a state predicted a macro step ahead");
}

}  // namespace heelstrike::mbs
