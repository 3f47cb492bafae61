#include "fem_server/backend_interface/slip_speed.hpp"

namespace heelstrike::fem {

namespace {

/// Of the limit: a point this near to it slides at once when it is pushed on.
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
