#include "common/spatial/extents.hpp"

namespace heelstrike {

Vector3 extents_of(const std::vector<Vector3>& points) {
  Vector3 low = points.front();
  Vector3 high = low;
  for (const Vector3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  return high - low;
}

}  // namespace heelstrike
