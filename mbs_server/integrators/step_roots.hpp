/// Location of roots of the root functions within the finished steps of an integrator.
///
/// A function has a root where it changes its sign in its direction. A function that starts at zero leaves its root,
/// one that ends at zero has reached it: functions that are identically zero, as the rate of a gap between bodies at
/// rest, have none. (The search of CVODE and IDA ends a run at such a function: CV_ILL_INPUT, "root found at and very
/// near t".) A sign change between the ends of a step is bracketed by the Illinois variant of false position
/// ([dowell1971]) on the dense output, down to rounding; the result lies just after the root, where the function has
/// its new sign.
///
///     begin(t, y)                         at a restart
///     repeat:  set_step(t_end, y_end)     once at_end(): the integrator has finished a step
///              repeat:  advance(dense)    to each root, then to the end of the step
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mbs_server/integrators/problem.hpp"

namespace heelstrike::mbs {

class StepRoots {
 public:
  /// y at a time inside the step.
  using Dense = std::function<void(double t, Problem::Vector& y)>;

  explicit StepRoots(Problem& problem) : problem_(problem) {}

  /// @param directions  per function: -1 falling, +1 rising, 0 both; empty = 0
  void set_directions(std::span<const int> directions);
  /// A restart at (t, y). Evaluates the functions there.
  void begin(double t, const Problem::ConstRef& y);
  /// Sets the step from the last end to this one. Nothing is evaluated if Problem::no_roots() returns true.
  void set_step(double t_end, const Problem::ConstRef& y_end);
  /// Advances to the next root, or to the end of the step. @returns the functions that vanish there
  std::vector<int> advance(const Dense& dense);

  [[nodiscard]] double time() const { return t_; }            ///< [s] current time
  [[nodiscard]] double end() const { return t_end_; }         ///< [s] of the step
  [[nodiscard]] bool at_end() const { return t_ == t_end_; }  ///< of the step, or at a restart

 private:
  void evaluate(double t, const Problem::ConstRef& y, Problem::Vector& values);
  [[nodiscard]] bool crosses(int root, const Problem::Vector& before, const Problem::Vector& after) const;
  [[nodiscard]] std::vector<int> crossings(const Problem::Vector& before, const Problem::Vector& after) const;
  std::vector<int> locate(const Dense& dense);

  Problem& problem_;
  std::vector<int> directions_;
  double t_ = 0.0, t_end_ = 0.0;
  Problem::Vector y_end_;
  Problem::Vector g_, g_end_;        ///< values at t_ and at the end of the step
  bool placeholder_values_ = false;  ///< values are placeholders; their signs do not change in the step
};

}  // namespace heelstrike::mbs
