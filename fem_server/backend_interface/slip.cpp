#include "fem_server/backend_interface/slip.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::fem {

namespace {

/// Fraction of the limit: a point this close to its limit slides as soon as it is pushed further.
constexpr double incipient_slip_ratio = 0.99;

}  // namespace

void SlipSpeed::add(const Vector3& traction, double limit, const Vector3& velocity) {
  total_ += limit;
  const double size = traction.norm();
  if (!(size > 0.0) || size < incipient_slip_ratio * limit) return;
  sliding_ += limit;
  power_ += limit * (traction.dot(velocity) / size);
}

namespace {

/// Fraction theta of the step with |traction + theta (trial - traction)| = limit_before + theta (limit -
/// limit_before): the root of a theta^2 + 2 b theta + c with c <= 0 at which the polynomial increases. It exists
/// because the point slips at the end.
double find_slip_onset(const SlipStep& step) {
  const Vector3 change = step.trial - step.traction;
  const double limit_change = step.limit - step.limit_before;
  const double a = change.squaredNorm() - limit_change * limit_change;
  const double b = step.traction.dot(change) - step.limit_before * limit_change;
  const double c = std::min(0.0, step.traction.squaredNorm() - step.limit_before * step.limit_before);
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  if (b < 0.0) return a > 0.0 ? std::min(1.0, (root - b) / a) : 1.0;
  return b + root > 0.0 ? std::min(1.0, -c / (b + root)) : 0.0;
}

}  // namespace

double slip_work(const SlipStep& step) {
  if (!(step.slip > 0.0)) return 0.0;
  const double limit_at_start = step.limit_before + find_slip_onset(step) * (step.limit - step.limit_before);
  return 0.5 * (limit_at_start + step.limit) * step.slip;
}

}  // namespace heelstrike::fem
