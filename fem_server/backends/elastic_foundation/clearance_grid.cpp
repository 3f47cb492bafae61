#include "fem_server/backends/elastic_foundation/clearance_grid.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Cells fit into the second level of a processor's cache (256 kB).
constexpr double most_cells = 65536.0;
/// Larger than the rounding of distances, by far, and of the cell's centre.
constexpr double shortened = 1.0 - 1e-6;

}  // namespace

ClearanceGrid::ClearanceGrid(const Vector3& low, const Vector3& high,
                             std::function<double(const Vector3&, std::uint32_t)> clear)
    : low_(low),
      edge_(std::cbrt((high - low).prod() / most_cells)),
      cells_per_length_(1.0 / edge_),
      find_(std::move(clear)) {
  std::size_t n_cells = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    const double length = (high - low)[static_cast<Eigen::Index>(k)];
    n_[k] = static_cast<std::size_t>(std::ceil(length / edge_));
    n_cells *= n_[k];
  }
  clear_ = std::make_unique<std::atomic<float>[]>(n_cells);
  for (std::size_t i = 0; i < n_cells; ++i)
    clear_[i].store(std::numeric_limits<float>::quiet_NaN(), std::memory_order_relaxed);
}

Vector3 ClearanceGrid::centre(const std::array<std::size_t, 3>& cell) const {
  Vector3 p = low_;
  for (std::size_t k = 0; k < 3; ++k) p[static_cast<Eigen::Index>(k)] += edge_ * (static_cast<double>(cell[k]) + 0.5);
  return p;
}

std::optional<double> ClearanceGrid::about(const Vector3& q, std::uint32_t near) const {
  if (clear_ == nullptr) return std::nullopt;
  const Vector3 along = cells_per_length_ * (q - low_);
  std::array<std::size_t, 3> cell{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double x = along[static_cast<Eigen::Index>(k)];
    if (!(x >= 0.0 && x < static_cast<double>(n_[k]))) return std::nullopt;
    cell[k] = static_cast<std::size_t>(x);
  }
  std::atomic<float>& here = clear_[(cell[2] * n_[1] + cell[1]) * n_[0] + cell[0]];
  float known = here.load(std::memory_order_relaxed);
  const Vector3 middle = centre(cell);
  if (std::isnan(known)) {
    known = std::nextafter(static_cast<float>(shortened * find_(middle, near)), -std::numeric_limits<float>::max());
    here.store(known, std::memory_order_relaxed);
  }
  return static_cast<double>(known) - (q - middle).norm();
}

}  // namespace heelstrike::fem
