/// Predicts the coordinates of all bodies at the end of a macro step from past exchanges.
#pragma once

#include <array>

#include "mbs_server/coupling/lagrange.hpp"
#include "mbs_server/coupling/saved_numbers.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Velocities follow the polynomial through those of the last exchanges, and coordinates its integral from the last
/// one: the Adams-Bashforth formula with variable steps. With k + 1 exchanges the coordinates are accurate to order
/// k + 1, the velocities to order k.
class MotionPrediction {
 public:
  /// @param degree  of the polynomial, 0 to 2; fewer exchanges give a lower one
  MotionPrediction(int degree, Eigen::Index n_q);

  void add_exchange(double t, const ConstVector& q, const ConstVector& qd);
  /// Must be called at onset or separation: earlier velocities do not predict later ones.
  void forget() { n_ = 0; }
  /// @pre take()
  void predict(double t, VectorX& q, VectorX& qd) const;

  void save(NumberWriter& to) const;
  /// @throws Error{invalid_input}
  void restore(NumberReader& from);

 private:
  std::size_t max_samples_;
  std::size_t n_ = 0;                        ///< velocities kept, newest first
  std::array<double, max_samples> times_{};  ///< [s] of these exchanges
  std::array<VectorX, max_samples> qd_;
  VectorX q_;  ///< at the newest
};

}  // namespace heelstrike::mbs
