#include "fem_server/backends/elastic_foundation/clearance_grid.hpp"

#include <cmath>
#include <limits>

namespace heelstrike::fem {

namespace {

/// Cells fit into the second level of a processor's cache (256 kB), and cost fewer searches than two poses of as many
/// springs.
constexpr double most_cells = 65536.0;
/// Larger than the rounding of distances, by far, and of the cell's centre.
constexpr double shortened = 1.0 - 1e-6;

}  // namespace

ClearanceGrid::ClearanceGrid(const Vector3& low, const Vector3& high,
                             const std::function<double(const Vector3&)>& clear)
    : low_(low), edge_(std::cbrt((high - low).prod() / most_cells)), cells_per_length_(1.0 / edge_) {
  std::size_t n_cells = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    const double length = (high - low)[static_cast<Eigen::Index>(k)];
    n_[k] = static_cast<std::size_t>(std::ceil(length / edge_));
    n_cells *= n_[k];
  }
  clear_.reserve(n_cells);
  for (std::size_t z = 0; z < n_[2]; ++z) {
    for (std::size_t y = 0; y < n_[1]; ++y) {
      for (std::size_t x = 0; x < n_[0]; ++x) {
        const double known = shortened * clear(centre({x, y, z}));
        clear_.push_back(std::nextafter(static_cast<float>(known), -std::numeric_limits<float>::max()));
      }
    }
  }
}

Vector3 ClearanceGrid::centre(const std::array<std::size_t, 3>& cell) const {
  Vector3 p = low_;
  for (std::size_t k = 0; k < 3; ++k) p[static_cast<Eigen::Index>(k)] += edge_ * (static_cast<double>(cell[k]) + 0.5);
  return p;
}

std::optional<double> ClearanceGrid::about(const Vector3& q) const {
  if (clear_.empty()) return std::nullopt;
  const Vector3 along = cells_per_length_ * (q - low_);
  std::array<std::size_t, 3> cell{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double x = along[static_cast<Eigen::Index>(k)];
    if (!(x >= 0.0 && x < static_cast<double>(n_[k]))) return std::nullopt;
    cell[k] = static_cast<std::size_t>(x);
  }
  const double known = static_cast<double>(clear_[(cell[2] * n_[1] + cell[1]) * n_[0] + cell[0]]);
  return known - (q - centre(cell)).norm();
}

}  // namespace heelstrike::fem
