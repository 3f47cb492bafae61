#include "mbs_server/formulation/element_states.hpp"

#include <fmt/format.h>

#include <Eigen/LU>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

void ElementStates::add(const ForceElement& force) {
  if (const InternalStates* states = force.internal_states()) {
    elements_.push_back(
        {.force = &force, .states = states, .first = size_, .n = states->n_states(), .tangents = {}, .E = {}});
    size_ += states->n_states();
  }
  first_.push_back(size_);
}

std::string ElementStates::name_of(Eigen::Index state) const {
  for (const Element& e : elements_) {
    if (state < e.first + e.n) return e.force->name();
  }
  return {};
}

void ElementStates::start(const MotionState& at, Eigen::Ref<VectorX> s) const {
  for (const Element& e : elements_) e.states->start_states(at, s.segment(e.first, e.n));
}

void ElementStates::rates(const MotionState& at, Eigen::Ref<VectorX> f) const {
  for (const Element& e : elements_) {
    e.states->state_rates(of(e, at), f.segment(e.first, e.n));
    if (f.segment(e.first, e.n).allFinite()) continue;
    throw RecoverableError(
        fmt::format("the rates of the states of '{}' are not finite at t = {} s", e.force->name(), at.t));
  }
}

void ElementStates::linearize(const MotionState& at) {
  for (Element& e : elements_) e.states->state_tangents(of(e, at), e.tangents);
}

void ElementStates::factor(double rate) {
  for (Element& e : elements_) {
    // Elements have few states, so that complete pivoting is cheap; it detects singular matrices reliably. The inverse
    // is stored because it multiplies matrices and vectors in every solve of the step.
    e.E = -e.tangents.f_s;
    e.E.diagonal().array() += rate;
    const Eigen::FullPivLU<Eigen::MatrixXd> lu(e.E);
    if (!lu.isInvertible()) {
      throw RecoverableError(fmt::format("the states of '{}' {}", e.force->name(),
                                         rate > 0.0 ? "make the Newton matrix of the step singular"
                                                    : "have no unique steady state: they change without bound, or stay "
                                                      "at any value"));
    }
    e.E = lu.inverse();
  }
}

void ElementStates::add_condensed_tangents(SparseAssembler& K, SparseAssembler& C) const {
  for (const Element& e : elements_) {
    // Schur complement of the states: effect of a change of the motion on the forces through the states.
    const Eigen::MatrixXd g_s_E = e.tangents.g_s * e.E;
    K.add_dense(e.states->coordinates(), g_s_E * e.tangents.f_q);
    C.add_dense(e.states->coordinates(), g_s_E * e.tangents.f_qd);
  }
}

void ElementStates::add_condensed_forces(const ConstVector& r, Eigen::Ref<VectorX> g) const {
  for (const Element& e : elements_) {
    g(e.states->coordinates()) += e.tangents.g_s * (e.E * r.segment(e.first, e.n));
  }
}

void ElementStates::solve(const ConstVector& x_q, const ConstVector& x_qd, Eigen::Ref<VectorX> r) const {
  for (const Element& e : elements_) {
    const auto& at = e.states->coordinates();
    // Back substitution with the changes of the motion from the reduced system.
    const VectorX sum = r.segment(e.first, e.n) + e.tangents.f_q * x_q(at) + e.tangents.f_qd * x_qd(at);
    r.segment(e.first, e.n) = e.E * sum;
  }
}

void ElementStates::change(const ConstVector& x_q, const ConstVector& x_qd, const ConstVector& x_s,
                           Eigen::Ref<VectorX> rates, Eigen::Ref<VectorX> g) const {
  for (const Element& e : elements_) {
    const auto& at = e.states->coordinates();
    const auto x = x_s.segment(e.first, e.n);
    rates.segment(e.first, e.n) = e.tangents.f_q * x_q(at) + e.tangents.f_qd * x_qd(at) + e.tangents.f_s * x;
    g(at) += e.tangents.g_s * x;
  }
}

void ElementStates::add_blocks(SparseAssembler& matrix, int q0, int v0, int s0, const Scales& scales) const {
  for (const Element& e : elements_) {
    const auto& at = e.states->coordinates();
    for (int i = 0; i < e.n; ++i) {
      const int row = s0 + e.first + i;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const auto c = static_cast<Eigen::Index>(k);
        // Signs of a residual: forces and rates are on the left side with a minus.
        matrix.add(v0 + at[k], row, -scales.g * e.tangents.g_s(c, i));
        matrix.add(row, q0 + at[k], -scales.q * e.tangents.f_q(i, c));
        matrix.add(row, v0 + at[k], -scales.v * e.tangents.f_qd(i, c));
      }
      for (int j = 0; j < e.n; ++j) {
        matrix.add(row, s0 + e.first + j, (i == j ? 1.0 : 0.0) - scales.s * e.tangents.f_s(i, j));
      }
    }
  }
}

void ElementStates::solve_along(const MotionState& at, double rate, const ConstVector& c, Eigen::Ref<VectorX> s) {
  if (size_ == 0) return;
  // Newton's method converges quadratically: after a correction of 1e-8 the error is rounding.
  constexpr double last_correction = 1e-8;
  constexpr int max_iterations = 50;
  VectorX f(size_);
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    const MotionState now{at.t, at.q, at.qd, s};
    rates(now, f);
    linearize(now);
    factor(rate);
    // f becomes the negative residual of rate s - f - c = 0.
    f += c - rate * s;
    double correction = 0.0;
    for (const Element& e : elements_) {
      const VectorX step = e.E * f.segment(e.first, e.n);
      s.segment(e.first, e.n) += step;
      // Absolute tolerances of states are never smaller than the square of 1e-8.
      correction = std::max(correction, step.lpNorm<Eigen::Infinity>() /
                                            (s.segment(e.first, e.n).lpNorm<Eigen::Infinity>() + last_correction));
    }
    if (correction <= last_correction) return;
  }
  throw RecoverableError(
      fmt::format("the states of force elements did not converge in {} iterations at t = {} s", max_iterations, at.t));
}

VectorX ElementStates::advance(const MotionState& from, const MotionState& to) {
  VectorX s = from.s;
  if (size_ == 0 || to.t == from.t) return s;
  VectorX c(size_);
  rates(from, c);
  // s1 - s0 = h/2 (f0 + f1), solved for s1: (2/h) s1 = f1 + f0 + (2/h) s0.
  const double rate = 2.0 / (to.t - from.t);
  c += rate * s;
  solve_along(to, rate, c, s);
  return s;
}

}  // namespace heelstrike::mbs
