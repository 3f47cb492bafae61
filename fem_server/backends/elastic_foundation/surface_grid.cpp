#include "fem_server/backends/elastic_foundation/surface_grid.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
/// The projection lines start this fraction of the extent outside the surface.
constexpr double outside = 0.1;
/// The outermost grid lines lie inside the rim by this fraction of the extent: a line exactly through the rim may round
/// to either side.
constexpr double rim_inset = 1e-6;

/// Grid points and the crossings of their projection lines with the surface.
class Projection {
 public:
  Projection(const SurfaceMesh& mesh, const SurfaceGrid& grid)
      : surface_(mesh), grid_(grid), low_(mesh.vertices.front()), high_(low_) {
    for (const Vector3& p : mesh.vertices) {
      low_ = low_.cwiseMin(p);
      high_ = high_.cwiseMax(p);
    }
    const Vector3 margin = rim_inset * (high_ - low_);
    low_ += margin;
    high_ -= margin;
    direction_[grid.axis] = -grid.side;
    const double height = high_[grid.axis] - low_[grid.axis];
    const double reach = (high_ - low_).norm();
    start_ = (grid.side > 0.0 ? high_ : low_)[grid.axis] + grid.side * outside * reach;
    reach_ = height + 2.0 * outside * reach;
  }

  struct GridProjection {
    Vector3 point;
    std::uint32_t triangle;
  };
  /// @param i, j  in cells; half-integers are centres
  [[nodiscard]] std::optional<GridProjection> at(double i, double j) {
    const Eigen::Index first = (grid_.axis + 1) % 3;
    const Eigen::Index second = (grid_.axis + 2) % 3;
    Vector3 q;
    q[grid_.axis] = start_;
    q[first] = low_[first] + i / static_cast<double>(grid_.cells[0]) * (high_[first] - low_[first]);
    q[second] = low_[second] + j / static_cast<double>(grid_.cells[1]) * (high_[second] - low_[second]);
    const auto found = surface_.crossing(q, direction_, reach_, /*leaving=*/false, near_);
    if (!found) return std::nullopt;
    near_ = found->triangle;
    return GridProjection{.point = q + found->ray_distance * direction_, .triangle = found->triangle};
  }

 private:
  TriangleSurface surface_;
  const SurfaceGrid& grid_;
  Vector3 low_, high_;
  Vector3 direction_ = Vector3::Zero();
  double start_ = 0.0;
  double reach_ = 0.0;
  std::uint32_t near_ = 0;
};

}  // namespace

SurfaceMesh over_grid(const SurfaceMesh& surface, const SurfaceGrid& grid, const std::string& where) {
  Projection projection(surface, grid);
  const auto [n, m] = grid.cells;
  SurfaceMesh result;
  result.group_names = surface.group_names;
  std::vector<std::uint32_t> corners((n + 1) * (m + 1), none);
  for (std::size_t j = 0; j <= m; ++j) {
    for (std::size_t i = 0; i <= n; ++i) {
      const auto hit = projection.at(static_cast<double>(i), static_cast<double>(j));
      if (!hit) continue;
      corners[j * (n + 1) + i] = static_cast<std::uint32_t>(result.vertices.size());
      result.vertices.push_back(hit->point);
    }
  }
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = j * (n + 1) + i;
      std::array<std::uint32_t, 4> cell{corners[at], corners[at + 1], corners[at + n + 2], corners[at + n + 1]};
      if (std::ranges::find(cell, none) != cell.end()) continue;
      const auto centre = projection.at(static_cast<double>(i) + 0.5, static_cast<double>(j) + 0.5);
      if (!centre) continue;
      if (grid.side < 0.0) std::swap(cell[1], cell[3]);  // seen from the other side
      result.triangles.push_back({cell[0], cell[1], cell[2]});
      result.triangles.push_back({cell[0], cell[2], cell[3]});
      if (surface.triangle_groups.empty()) continue;
      result.triangle_groups.insert(result.triangle_groups.end(), 2, surface.triangle_groups[centre->triangle]);
    }
  }
  if (!result.triangles.empty()) return result;
  throw input_error(where, fmt::format("{}: expected a grid over the casting surface, found none of {} x {} cells "
                                       "with all corners on it; use more cells, or project from another side with "
                                       "grid_side",
                                       where, n, m));
}

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
