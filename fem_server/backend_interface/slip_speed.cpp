#include "fem_server/backend_interface/slip_speed.hpp"

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

}  // namespace heelstrike::fem
