/// The internal states s of all force elements of a system, ds/dt = f(t, q, qd, s), g = g(t, q, qd, s): their layout,
/// their rates, and their elimination from linear systems.
///
/// The states of an element do not depend on those of other elements, so that all matrices are small dense blocks per
/// element. A linear system that contains
///
///   (rate - f_s) x_s = r + f_q x_q + f_qd x_qd        with rate = 1 / gamma of an implicit step, 0 in equilibrium
///
/// gives x_s = E (r + f_q x_q + f_qd x_qd), E = (rate - f_s)^-1; the contribution g_s x_s to the forces enters the
/// tangents K + g_s E f_q and C + g_s E f_qd and the constant part g_s E r. The systems of the bodies keep their size
/// and pattern.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/formulation/force_element.hpp"

namespace heelstrike::mbs {

class ElementStates {
 public:
  /// Appends the states of the next force element, if any. @param force  outlives this object
  void add(const ForceElement& force);

  /// Total number of states.
  [[nodiscard]] int size() const { return size_; }
  /// Name of the force element with an entry of s.
  [[nodiscard]] std::string name_of(Eigen::Index state) const;
  /// The state restricted to one force element. @param force  index in the order of add()
  [[nodiscard]] MotionState of_force(std::size_t force, const MotionState& at) const {
    MotionState own(at.t, at.q, at.qd, at.s.segment(first_[force], first_[force + 1] - first_[force]));
    own.allow_cached_contact = at.allow_cached_contact;
    return own;
  }

  void start(const MotionState& at, Eigen::Ref<VectorX> s) const;
  /// @throws RecoverableError with the first element that has a non-finite rate
  void rates(const MotionState& at, Eigen::Ref<VectorX> f) const;

  /// Evaluates the tangents at a state for the functions below.
  void linearize(const MotionState& at);
  /// Computes E. @param rate  [1/s] >= 0. @throws RecoverableError with the first element whose E does not exist
  void factor(double rate);
  /// K += g_s E f_q, C += g_s E f_qd.
  void add_condensed_tangents(SparseAssembler& K, SparseAssembler& C) const;
  /// g += g_s E r.
  void add_condensed_forces(const ConstVector& r, Eigen::Ref<VectorX> g) const;
  /// x = E (r + f_q x_q + f_qd x_qd), in place of r.
  void solve(const ConstVector& x_q, const ConstVector& x_qd, Eigen::Ref<VectorX> r) const;
  /// Effect of small changes of motion and states: rates = f_q x_q + f_qd x_qd + f_s x_s, g += g_s x_s.
  void change(const ConstVector& x_q, const ConstVector& x_qd, const ConstVector& x_s, Eigen::Ref<VectorX> rates,
              Eigen::Ref<VectorX> g) const;
  /// Adds the blocks of a matrix with the states as unknowns, whose rows and columns of q, qd, s start at `q0`, `v0`,
  /// `s0`: -scale_g g_s in the rows of the forces at `v0`; -scale_q f_q, -scale_v f_qd and 1 - scale_s f_s in the rows
  /// of the states.
  struct Scales {
    double g, q, v, s;
  };
  void add_blocks(SparseAssembler& matrix, int q0, int v0, int s0, const Scales& scales) const;

  /// Solves rate s = f(t, q, qd, s) + c for the states by Newton's method: a step of an implicit method along
  /// prescribed motion, or with rate = 0 and c = 0 their equilibrium. @param at  its `s` is not used
  /// @param s  initial guess; the solution. @throws RecoverableError with the element that has no solution
  void solve_along(const MotionState& at, double rate, const ConstVector& c, Eigen::Ref<VectorX> s);
  /// The states at `to` from those at `from` along the motion between them: one step of the trapezoidal rule, of second
  /// order and A-stable. @param to  its `s` is not used
  [[nodiscard]] VectorX advance(const MotionState& from, const MotionState& to);

 private:
  struct Element {
    const ForceElement* force;
    const InternalStates* states;
    int first;
    int n;
    StateTangents tangents;
    Eigen::MatrixXd E;
  };
  [[nodiscard]] MotionState of(const Element& element, const MotionState& at) const {
    return {at.t, at.q, at.qd, at.s.segment(element.first, element.n)};
  }

  int size_ = 0;
  std::vector<int> first_ = {0};  ///< per force element, plus the total
  std::vector<Element> elements_;
};

}  // namespace heelstrike::mbs
