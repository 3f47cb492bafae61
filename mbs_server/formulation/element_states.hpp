/// The own states s of all force elements of a system, ds/dt = f(t, q, qd, s), g = g(t, q, qd, s): their layout, their
/// rates, and their elimination from linear systems.
///
/// An element's states depend on no other element's, so that everything here is element by element, dense and small.
/// A linear system that contains
///
///   (rate - f_s) x_s = r + f_q x_q + f_qd x_qd        with rate = 1 / gamma of an implicit step, 0 at rest
///
/// gives x_s = E (r + f_q x_q + f_qd x_qd), E = (rate - f_s)^-1; what x_s adds to the forces, g_s x_s, then stands in
/// the tangents K + g_s E f_q and C + g_s E f_qd and in the constant part g_s E r. The systems of the bodies keep their
/// size and their pattern.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/formulation/force_element.hpp"

namespace heelstrike::mbs {

class ElementStates {
 public:
  /// Appends the states of the next force element; nothing when it has none. @param force  outlives this object
  void add(const ForceElement& force);

  /// Of all elements together.
  [[nodiscard]] int size() const { return size_; }
  /// The force element that an entry of s belongs to.
  [[nodiscard]] std::string name_of(Eigen::Index state) const;
  /// What one force element sees of a state. @param force  position in the order of add()
  [[nodiscard]] MotionState of_force(std::size_t force, const MotionState& at) const {
    MotionState own(at.t, at.q, at.qd, at.s.segment(first_[force], first_[force + 1] - first_[force]));
    own.allow_cached_contact = at.allow_cached_contact;
    return own;
  }

  void start(const MotionState& at, Eigen::Ref<VectorX> s) const;
  /// @throws RecoverableError that names the first element with a rate that is not finite
  void rates(const MotionState& at, Eigen::Ref<VectorX> f) const;

  /// Takes the tangents at a state, for all that follows.
  void linearize(const MotionState& at);
  /// Prepares E. @param rate  [1/s] >= 0. @throws RecoverableError that names the first element whose E does not exist
  void factor(double rate);
  /// K += g_s E f_q, C += g_s E f_qd.
  void add_condensed_tangents(SparseAssembler& K, SparseAssembler& C) const;
  /// g += g_s E r.
  void add_condensed_forces(const ConstVector& r, Eigen::Ref<VectorX> g) const;
  /// x = E (r + f_q x_q + f_qd x_qd), in place of r.
  void solve(const ConstVector& x_q, const ConstVector& x_qd, Eigen::Ref<VectorX> r) const;
  /// What small changes of the motion and of the states do: rates = f_q x_q + f_qd x_qd + f_s x_s, g += g_s x_s.
  void change(const ConstVector& x_q, const ConstVector& x_qd, const ConstVector& x_s, Eigen::Ref<VectorX> rates,
              Eigen::Ref<VectorX> g) const;
  /// Adds the blocks of a matrix that keeps the states as unknowns, each row and column in the coordinates q, qd, s
  /// that begin at `q0`, `v0`, `s0` of it: -scale_g g_s to the rows of the forces at `v0`, -scale_q f_q and -scale_v
  /// f_qd and 1 - scale_s f_s to those of the states.
  struct Scales {
    double g, q, v, s;
  };
  void add_blocks(SparseAssembler& matrix, int q0, int v0, int s0, const Scales& scales) const;

  /// Solves rate s = f(t, q, qd, s) + c for the states by Newton's method: a step of an implicit method along
  /// prescribed motion, or with rate = 0 and c = 0 their equilibrium. @param at  its `s` is not looked at
  /// @param s  start; the solution. @throws RecoverableError that names the element that has none
  void solve_along(const MotionState& at, double rate, const ConstVector& c, Eigen::Ref<VectorX> s);
  /// The states at `to` when the motion goes there from `from` with their values: one step of the trapezoidal rule,
  /// which is of second order in its length and stable for any. @param to  its `s` is not looked at
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
  std::vector<int> first_ = {0};  ///< per force element, and behind the last
  std::vector<Element> elements_;
};

}  // namespace heelstrike::mbs
