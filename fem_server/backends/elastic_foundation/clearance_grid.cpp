#include "fem_server/backends/elastic_foundation/clearance_grid.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace heelstrike::fem {

namespace {

/// The cells fit into the level-2 cache of a processor (256 kB).
constexpr double max_cells = 65536.0;
/// Much larger than the rounding of distances.
constexpr double shortened = 1.0 - 1e-6;
/// [-] of a cell's edge: much larger than the rounding of its centre and of distances from it.
constexpr double rounding = 1e-6;

}  // namespace

ClearanceGrid::ClearanceGrid(const Vector3& low, const Vector3& high,
                             std::function<double(const Vector3&, std::uint32_t)> clear)
    : low_(low),
      edge_(std::cbrt((high - low).prod() / max_cells)),
      cells_per_length_(1.0 / edge_),
      find_(std::move(clear)) {
  std::size_t n_cells = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    const double length = (high - low)[static_cast<Eigen::Index>(k)];
    n_[k] = static_cast<std::int32_t>(std::ceil(length / edge_));
    n_cells *= static_cast<std::size_t>(n_[k]);
  }
  clear_ = std::make_unique<std::atomic<float>[]>(n_cells);
  for (std::size_t i = 0; i < n_cells; ++i)
    clear_[i].store(std::numeric_limits<float>::quiet_NaN(), std::memory_order_relaxed);
}

std::optional<double> ClearanceGrid::about(const Vector3& q, std::uint32_t near) const {
  if (clear_ == nullptr) return std::nullopt;
  const Vector3 x = cells_per_length_ * (q - low_);
  if (!(x.minCoeff() >= 0.0 && x[0] < n_[0] && x[1] < n_[1] && x[2] < n_[2])) return std::nullopt;
  const std::array<std::int32_t, 3> cell{static_cast<std::int32_t>(x[0]), static_cast<std::int32_t>(x[1]),
                                         static_cast<std::int32_t>(x[2])};
  std::atomic<float>& here = clear_[static_cast<std::size_t>((cell[2] * n_[1] + cell[1]) * n_[0] + cell[0])];
  float known = here.load(std::memory_order_relaxed);
  if (std::isnan(known)) {
    const Vector3 centre = low_ + edge_ * (Vector3(cell[0], cell[1], cell[2]) + Vector3::Constant(0.5));
    known = std::nextafter(static_cast<float>(shortened * find_(centre, near) - rounding * edge_),
                           -std::numeric_limits<float>::max());
    here.store(known, std::memory_order_relaxed);
  }
  if (known <= 0.0F) return known;
  const Vector3 from_centre = x - Vector3(cell[0] + 0.5, cell[1] + 0.5, cell[2] + 0.5);
  return static_cast<double>(known) - edge_ * from_centre.norm();
}

}  // namespace heelstrike::fem
