#include "fem_server/bodies/contact_reach.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <thread>

#include "common/errors/error.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

constexpr int finest_level = 6;
/// Fraction of max_penetration, larger than the rounding of poses and gaps.
constexpr double reach_tolerance = 1e-9;
/// More candidates than this hardly hide more points: protruding ones and an even selection suffice.
constexpr std::size_t max_obstacles = 3000;
/// With fewer points, a thread costs more than it saves.
constexpr std::size_t min_points_per_thread = 500;

/// Square of directions on a face of the cube [-1, 1]^3: two coordinates around (u, v).
struct Cell {
  int face = 0;  ///< 2 axis + (0 for +, 1 for -)
  double u = 0.0;
  double v = 0.0;
  int level = 0;

  [[nodiscard]] double half() const { return std::ldexp(1.0, -level); }
  /// Projection on the unit sphere shortens distances between points outside it: half a diagonal of the square.
  [[nodiscard]] double radius() const { return std::numbers::sqrt2 * half(); }
  [[nodiscard]] Vector3 direction() const {
    const Eigen::Index axis = face / 2;
    Vector3 p;
    p[axis] = face % 2 == 0 ? 1.0 : -1.0;
    p[(axis + 1) % 3] = u;
    p[(axis + 2) % 3] = v;
    return p.normalized();
  }
  [[nodiscard]] Cell child(int quarter) const {
    const double step = 0.5 * half();
    return {.face = face,
            .u = u + (quarter % 2 == 0 ? -step : step),
            .v = v + (quarter / 2 == 0 ? -step : step),
            .level = level + 1};
  }
};

/// A candidate that may lie between the partner and a point.
struct Obstacle {
  Vector3 e;            ///< [m] from the point
  double length = 0.0;  ///< [m]
  double bound = 0.0;   ///< [m] of n . e
};

/// Searches a direction from which the partner reaches one point; reused for many points.
class DirectionSearch {
 public:
  DirectionSearch(std::span<const Vector3> obstacles, const PartnerReachability& reach)
      : points_(obstacles), reach_(reach), active_(finest_level + 2) {}

  /// @param first  tried before the search
  [[nodiscard]] bool finds(const Vector3& x, const Vector3& first) {
    const auto is_behind_plane = [&](const Vector3& y) { return first.dot(y - x) <= bound((y - x).squaredNorm()); };
    if (std::ranges::all_of(points_, is_behind_plane) && !first.isZero(0.0)) return true;
    active_[0].clear();
    for (const Vector3& y : points_) {
      const Vector3 e = y - x;
      const Obstacle obstacle{.e = e, .length = e.norm(), .bound = bound(e.squaredNorm())};
      if (obstacle.length > obstacle.bound) active_[0].push_back(obstacle);
    }
    std::array<int, 6> faces{};
    std::iota(faces.begin(), faces.end(), 0);
    std::ranges::sort(faces, std::ranges::greater(), [&](int f) { return Cell{.face = f}.direction().dot(first); });
    return std::ranges::any_of(faces, [&](int f) { return is_open(Cell{.face = f}); });
  }

 private:
  /// Right-hand side of (2), divided by R. @param squared  [m^2] e . e
  [[nodiscard]] double bound(double squared) const {
    const double kd = reach_.curvature * reach_.max_penetration;
    const double bend = 0.5 * reach_.curvature * squared;
    const double outer = (2.0 * reach_.max_penetration + bend) / (1.0 + kd);
    return std::max(outer, bend / (1.0 - kd)) + reach_tolerance * reach_.max_penetration;
  }

  [[nodiscard]] bool is_open(const Cell& cell) {
    const auto level = static_cast<std::size_t>(cell.level);
    const Vector3 n = cell.direction();
    const double radius = cell.radius();
    auto& inside = active_[level + 1];
    inside.clear();
    double worst = 0.0;
    for (const Obstacle& obstacle : active_[level]) {
      const double excess = n.dot(obstacle.e) - obstacle.bound;
      const double spread = radius * obstacle.length;
      if (excess > spread) return false;
      worst = std::max(worst, excess);
      if (excess > -spread) inside.push_back(obstacle);
    }
    if (worst <= 0.0 || cell.level == finest_level) return true;
    for (int quarter = 0; quarter < 4; ++quarter) {
      if (is_open(cell.child(quarter))) return true;
    }
    return false;
  }

  std::span<const Vector3> points_;
  PartnerReachability reach_;
  std::vector<std::vector<Obstacle>> active_;  ///< per level: those that may close one of its cells
};

/// All points or, of many, those that protrude in some direction and an even selection. Fewer obstacles hide less.
std::vector<Vector3> select_obstacles(std::span<const Vector3> points) {
  if (points.size() <= max_obstacles) return {points.begin(), points.end()};
  std::vector<bool> chosen(points.size(), false);
  for (std::size_t k = 0; k < max_obstacles; ++k) chosen[k * points.size() / max_obstacles] = true;
  constexpr int n_side = 16;
  for (int face = 0; face < 6; ++face) {
    for (int k = 0; k < n_side * n_side; ++k) {
      const auto coordinate = [](int i) { return (2.0 * i + 1.0) / n_side - 1.0; };
      const Vector3 n = Cell{.face = face, .u = coordinate(k % n_side), .v = coordinate(k / n_side)}.direction();
      const auto farthest = std::ranges::max_element(points, {}, [&](const Vector3& p) { return n.dot(p); });
      chosen[static_cast<std::size_t>(farthest - points.begin())] = true;
    }
  }
  std::vector<Vector3> result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (chosen[i]) result.push_back(points[i]);
  }
  return result;
}

/// No point of a body lies farther below its convex hull than half of its smallest extent.
bool is_all_reachable(std::span<const Vector3> points, const PartnerReachability& reach) {
  if (reach.curvature != 0.0 || points.empty()) return points.empty();
  Vector3 low = points.front();
  Vector3 high = low;
  for (const Vector3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  return 2.0 * reach.max_penetration >= 0.5 * (high - low).minCoeff();
}

}  // namespace

std::optional<PartnerReachability> partner_reach(const ContactBody& partner, double max_penetration) {
  if (!partner.materials.empty()) return std::nullopt;
  const SurfaceKind& kind = kind_of(partner.surface);
  const std::optional<double> curvature = kind.curvature == nullptr ? std::nullopt : kind.curvature(partner.surface);
  if (!curvature || std::abs(*curvature) * max_penetration >= 1.0) return std::nullopt;
  return PartnerReachability{.curvature = *curvature, .max_penetration = max_penetration};
}

std::vector<bool> reachable_points(std::span<const Vector3> points, std::span<const Vector3> normals,
                                   const PartnerReachability& reach, const std::stop_token& stop) {
  if (is_all_reachable(points, reach)) return std::vector<bool>(points.size(), true);
  const std::vector<Vector3> obstacles = select_obstacles(points);
  std::vector<char> found(points.size(), 0);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    DirectionSearch search(obstacles, reach);
    for (std::size_t i = next++; i < points.size() && !stop.stop_requested(); i = next++) {
      found[i] = search.finds(points[i], normals[i]) ? 1 : 0;
    }
  };
  {
    const std::size_t useful = std::max<std::size_t>(1, points.size() / min_points_per_thread);
    const std::size_t n = std::min<std::size_t>(useful, std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::jthread> helpers;
    for (std::size_t thread = 1; thread < n; ++thread) helpers.emplace_back(work);
    work();
  }
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "selection of contact nodes stopped on request");
  return {found.begin(), found.end()};
}

}  // namespace heelstrike::fem
