#include "mbs_server/simulation/run_problem.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/checks.hpp"

namespace heelstrike::mbs {
namespace {

/// A gap results from some dozens of operations, each with a rounding error of the magnitude of the coordinates.
constexpr double operations = 64.0 * std::numeric_limits<double>::epsilon();

}  // namespace

double gap_rounding(const ConstVector& q) {
  // Axes of bodies are unit vectors, independent of the positions.
  return operations * (1.0 + q.lpNorm<Eigen::Infinity>());
}

double gap_rate_rounding(const ConstVector& qd) {
  return operations * qd.lpNorm<Eigen::Infinity>();
}

RunProblem::RunProblem(System& system, CouplingScheme& scheme, const ContactStates& states, RigidContactSet& rigid,
                       std::stop_token stop, std::int64_t max_evaluations)
    : system_(system),
      scheme_(scheme),
      states_(states),
      rigid_(rigid),
      unilateral_(system),
      stop_(std::move(stop)),
      max_evaluations_(max_evaluations) {
  ggl_.emplace(system);
}

void RunProblem::count_evaluation() {
  check_stop(stop_);
  if (++n_evaluations_ <= max_evaluations_) return;
  throw limit_error("analysis.budget.evaluations",
                    fmt::format("the equations of motion were evaluated {} times, as often as "
                                "analysis.budget.evaluations allows; raise it, or loosen the tolerances",
                                max_evaluations_));
}

void RunProblem::set_rates(const MotionState& at, const Accelerations& at_state, MutableRef yd) {
  const auto n = system_.n_q();
  yd.head(n) = at.qd;
  yd.segment(n, n) = at_state.qdd;
  system_.states().rates(at, yd.tail(system_.n_states()));
}

void RunProblem::rhs(double t, const ConstRef& y, MutableRef yd) {
  count_evaluation();
  const MotionState at = system_.state(t, y);
  set_rates(at, system_.accelerations(at), yd);
}

void RunProblem::stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) {
  count_evaluation();
  const MotionState at = system_.state(t, y);
  set_rates(at, system_.accelerations(at, {.alpha = alpha, .beta = beta}), yd);
}

void RunProblem::quadrature_rhs(double t, const ConstRef& y, MutableRef integrands) {
  // An implicit method evaluates the integrands at the end of its iteration, one correction away from the last contact
  // evaluation. The error of the power due to this correction is below that of the state; another evaluation would
  // double the cost of a step in contact.
  MotionState at = system_.state(t, y);
  at.allow_cached_contact = true;
  const EnergyTerms energy = system_.evaluate_energy(at);
  integrands[EnergyQuadrature::dissipated] = energy.dissipated_power;
  integrands[EnergyQuadrature::external_work] = energy.external_power;
}

void RunProblem::project(double t, MutableRef y) {
  check_stop(stop_);
  const auto n = system_.n_q();
  system_.project(t, y.head(n), y.segment(n, n));
}

void RunProblem::restore_rigid_bodies(MutableRef y) {
  const auto n = system_.n_q();
  system_.restore_rigid_bodies(y.head(n), y.segment(n, n));
}

void RunProblem::linearize(double t, const ConstRef& y) {
  check_stop(stop_);
  system_.linearize(system_.state(t, y));
}
void RunProblem::multipliers(double t, const ConstRef& y, MutableRef lambda) {
  lambda = system_.accelerations(system_.state(t, y)).lambda;
}

void RunProblem::index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) {
  count_evaluation();
  ggl_->residual(t, x, xd, r);
}
void RunProblem::reset_factorisation() {
  system_.reset_factorisation();
  ggl_->reset_factorisation();
}

void RunProblem::reset_force_patterns() {
  system_.reset_force_patterns();
  ggl_.emplace(system_);
}

void RunProblem::roots(double t, const ConstRef& y, MutableRef values) {
  const MotionState at = system_.state(t, y);
  if (unilateral_.any()) unilateral_.roots(at, values.tail(unilateral_.n_roots()));
  if (n_pair_roots() == 0) return;
  const auto responses = scheme_.responses(at.t, at.q, at.qd);
  using Kind = ContactRoot::Kind;
  const double rounding = gap_rounding(at.q);
  const double rate_rounding = gap_rate_rounding(at.qd);
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const bool closed = states_.closed(i);
    // A closed pair opens when its gap exceeds rounding, so that grazing contacts do not switch indefinitely. The rate
    // is a root function while a pair is open, because a dip within a step does not change the sign of the gap at its
    // ends; otherwise it is constant. Bodies in relative rest have a rate of rounding errors, whose sign changes are no
    // minimum of the gap; sliding requires a speed above that level.
    values[ContactRoot{.pair = i, .kind = Kind::gap}.index()] = responses[i].gap - (closed ? rounding : 0.0);
    values[ContactRoot{.pair = i, .kind = Kind::gap_rate}.index()] =
        closed ? 1.0 : responses[i].gap_rate - rate_rounding;
    const double slip = responses[i].slip_speed;
    values[ContactRoot{.pair = i, .kind = Kind::slip}.index()] = closed && slip != 0.0 ? slip - rate_rounding : 1.0;
  }
}

bool RunProblem::no_roots(double t, const ConstRef& y, double t_end, const ConstRef& y_end) const {
  if (unilateral_.any()) return false;
  const auto n = system_.n_q();
  return scheme_.has_constant_contact_state(t, y.head(n), y.segment(n, n), t_end, y_end.head(n), y_end.segment(n, n));
}

std::vector<int> RunProblem::root_directions() const {
  std::vector<int> directions;
  for (int root = 0; root < n_pair_roots(); ++root) {
    const auto [pair, kind] = ContactRoot::at(root);
    // The gap of an open pair falls to zero, that of a closed one rises beyond rounding; a rate that rises through zero
    // is a minimum of the gap, and sliding ends where its speed falls to zero.
    const bool falls = kind == ContactRoot::Kind::slip || (kind == ContactRoot::Kind::gap && !states_.closed(pair));
    directions.push_back(falls ? -1 : +1);
  }
  const std::vector<int> of_joints = unilateral_.directions();
  directions.insert(directions.end(), of_joints.begin(), of_joints.end());
  return directions;
}

}  // namespace heelstrike::mbs
