#include "mbs_server/integrators/lazy_roots.hpp"

namespace heelstrike::mbs {

void LazyRoots::evaluate(Problem& problem, double t, const Problem::ConstRef& y, double* values) {
  const int n = problem.n_roots();
  Eigen::Map<Problem::Vector> all(values, n);
  const bool starts = lower_ == nullptr;
  if (starts) lower_ = values;
  // Inside a bracket, and at its lower end, the solver wants the true values.
  const bool at_end = !starts && values != lower_ && t > t_;
  if (at_end && problem.no_roots(t_, y_, t, y)) {
    all.setOnes();
    // A search that has begun goes from end to end: the lower values follow suit, for a sign that stays.
    if (!stand_ins_) Eigen::Map<Problem::Vector>(lower_, n).setOnes();
    stand_ins_ = true;
  } else {
    if (at_end && stand_ins_) problem.roots(t_, y_, Eigen::Map<Problem::Vector>(lower_, n));
    problem.roots(t, y, all);
    if (starts || at_end) stand_ins_ = false;
  }
  if (!starts && !at_end) return;
  t_ = t;
  y_ = y;
}

}  // namespace heelstrike::mbs
