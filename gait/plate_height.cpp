#include "gait/plate_height.hpp"

namespace heelstrike {

std::optional<double> plate_height(const ForcePlate& plate, const Vector3& up) {
  double height = 0.0, n = 0.0;
  for (std::size_t i = 0; i < plate.times.size(); ++i) {
    if (plate.force[i].dot(up) < stance_threshold) continue;
    height += plate.point[i].dot(up);
    n += 1.0;
  }
  return n > 0.0 ? std::optional(height / n) : std::nullopt;
}

}  // namespace heelstrike
