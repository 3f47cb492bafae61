#include "mbs_server/integrators/step_roots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace heelstrike::mbs {

void StepRoots::set_directions(std::span<const int> directions) {
  directions_.assign(directions.begin(), directions.end());
  directions_.resize(static_cast<std::size_t>(problem_.n_roots()), 0);
}

void StepRoots::evaluate(double t, const Problem::ConstRef& y, Problem::Vector& values) {
  values.resize(problem_.n_roots());
  if (values.size() > 0) problem_.roots(t, y, values);
}

void StepRoots::begin(double t, const Problem::ConstRef& y) {
  t_ = t_end_ = t;
  y_end_ = y;
  placeholder_values_ = false;
  evaluate(t, y, g_end_);
}

void StepRoots::set_step(double t_end, const Problem::ConstRef& y_end) {
  t_ = std::exchange(t_end_, t_end);
  g_ = g_end_;
  if (g_.size() > 0 && problem_.no_roots(t_, y_end_, t_end, y_end)) {
    g_.setOnes();
    g_end_.setOnes();
    placeholder_values_ = true;
  } else {
    // A search starts from the true values at both ends.
    if (std::exchange(placeholder_values_, false)) evaluate(t_, y_end_, g_);
    evaluate(t_end, y_end, g_end_);
  }
  y_end_ = y_end;
}

bool StepRoots::crosses(int root, const Problem::Vector& before, const Problem::Vector& after) const {
  // A function that starts at zero leaves its root.
  if (before[root] == 0.0) return false;
  const bool rising = before[root] < 0.0;
  // A function that ends at zero has its root at the end of the step, where the next step starts.
  if (rising ? after[root] < 0.0 : after[root] > 0.0) return false;
  const int direction = directions_[static_cast<std::size_t>(root)];
  return direction == 0 || (direction > 0) == rising;
}

std::vector<int> StepRoots::crossings(const Problem::Vector& before, const Problem::Vector& after) const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(before.size()); ++i) {
    if (crosses(i, before, after)) found.push_back(i);
  }
  return found;
}

std::vector<int> StepRoots::advance(const Dense& dense) {
  if (!crossings(g_, g_end_).empty()) return locate(dense);
  t_ = t_end_;
  g_ = g_end_;
  return {};
}

/// Brackets the first root in [t_, end of the step]; sets t_ and g_ just after it.
std::vector<int> StepRoots::locate(const Dense& dense) {
  Problem::Vector low = g_;
  Problem::Vector high = g_end_;
  Problem::Vector middle, y;
  double t_low = t_;
  double t_high = t_end_;
  // Weights of the Illinois variant: that of a retained end decreases each time.
  double weight_low = 1.0;
  double weight_high = 1.0;
  int last_side = 0;
  // Rounding error of times.
  const double tolerance = 4.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t_low), std::abs(t_high));
  constexpr int max_iterations = 100;
  for (int iteration = 0; iteration < max_iterations && t_high - t_low > tolerance; ++iteration) {
    // The first root of the linear interpolants.
    double fraction = 1.0;
    for (const int i : crossings(low, high)) {
      const double a = weight_low * std::abs(low[i]);
      const double b = weight_high * std::abs(high[i]);
      fraction = std::min(fraction, a / (a + b));
    }
    // Every third iteration bisects, so that flat functions converge.
    if (iteration % 3 == 2) fraction = 0.5;
    // A guess at an end would not narrow the bracket.
    const double edge = std::min(0.25, 0.5 * tolerance / (t_high - t_low));
    const double t = t_low + std::clamp(fraction, edge, 1.0 - edge) * (t_high - t_low);
    if (t <= t_low || t >= t_high) break;
    dense(t, y);
    evaluate(t, y, middle);
    const bool before = crossings(low, middle).empty();
    const int side = before ? -1 : +1;
    // Plain false position retains one end of a convex function; halving the value of an end retained twice gives the
    // order 1.44 [dowell1971].
    weight_low = side > 0 && last_side > 0 ? 0.5 * weight_low : 1.0;
    weight_high = side < 0 && last_side < 0 ? 0.5 * weight_high : 1.0;
    last_side = side;
    (before ? t_low : t_high) = t;
    (before ? low : high).swap(middle);
  }
  t_ = t_high;
  g_ = high;
  return crossings(low, high);
}

}  // namespace heelstrike::mbs
