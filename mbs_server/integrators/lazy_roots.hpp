/// Root functions for a solver that looks for their changes of sign at the ends of its steps, evaluated only where
/// there may be one.
///
/// SUNDIALS keeps the values at the lower end of its bracket in an array of its own, and steps from them towards the
/// root. At the end of a step on which Problem::no_roots() is certain it gets values that do not change their sign.
/// Should the next step have a root, these must not enter its search: the true values are then written where the solver
/// keeps them, so that it takes the same way as if it had had them from the beginning. That place is the array of the
/// first call after a (re)start.
#pragma once

#include "mbs_server/integrators/problem.hpp"

namespace heelstrike::mbs {

class LazyRoots {
 public:
  /// To be called at restarts of the solver.
  void forget() { lower_ = nullptr; }
  /// @param values  of all root functions; the solver's own array
  void evaluate(Problem& problem, double t, const Problem::ConstRef& y, double* values);

 private:
  double* lower_ = nullptr;  ///< values at the lower end, in the solver; null = restarted
  bool stand_ins_ = false;   ///< those values are not the true ones; they belong to `t_` and `y_`
  double t_ = 0.0;           ///< [s] end of the last step looked at
  Problem::Vector y_;
};

}  // namespace heelstrike::mbs
