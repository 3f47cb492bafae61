#include "common/spatial/wrap_sequence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace heelstrike {
namespace {

/// Limits of OpenSim's GeometryPath.
constexpr int max_wrap_rounds = 8;
constexpr double wrap_round_tolerance = 5e-4;  // [m] of the length

/// A surface with segments of which at most one wraps.
struct SurfaceUse {
  std::size_t surface = 0;
  std::vector<std::size_t> segments;
};

constexpr std::size_t no_use = std::numeric_limits<std::size_t>::max();

/// A point of the path or a tangent point.
struct PathNode {
  Vector3 p;
  std::size_t segment = 0;   ///< that begins here or contains the tangent point
  std::size_t use = no_use;  ///< of a tangent point
  double arc = 0.0;          ///< [m] from here to the next node along a surface; 0 = straight
};

class WrapRounds {
 public:
  WrapRounds(const std::vector<Vector3>& points, const std::vector<PlacedSurface>& surfaces) : surfaces_(surfaces) {
    for (const Vector3& p : points) nodes_.push_back({.p = p, .segment = nodes_.size()});
    for (std::size_t s = 0; s < surfaces.size(); ++s) {
      if (surfaces[s].one_segment) uses_.push_back({s, surfaces[s].segments});
      for (const std::size_t segment : surfaces[s].segments) {
        if (!surfaces[s].one_segment) uses_.push_back({s, {segment}});
      }
    }
  }

  std::vector<std::vector<SurfaceContact>> run() {
    const std::size_t n_segments = nodes_.size() - 1;
    std::vector<std::size_t> order(uses_.size());
    std::iota(order.begin(), order.end(), 0U);
    double length = std::numeric_limits<double>::infinity();
    for (int round = 0; round < (uses_.size() > 1 ? max_wrap_rounds : 1); ++round) {
      std::vector<Attempt> attempts;
      for (const std::size_t use : order) attempts.push_back(place(use));
      const double before = std::exchange(length, path_length());
      if (std::abs(length - before) < wrap_round_tolerance) break;
      // The second surface found its end within the first, which did not wrap: it goes first.
      if (round > 0 || order.size() < 2 || attempts[0].wraps || !attempts[1].inside) continue;
      std::swap(order[0], order[1]);
    }
    std::vector<std::vector<SurfaceContact>> contacts(n_segments);
    for (std::size_t k = 0; k + 1 < nodes_.size(); ++k) {
      if (nodes_[k].use == no_use || nodes_[k].use != nodes_[k + 1].use) continue;
      contacts[nodes_[k].segment].push_back({uses_[nodes_[k].use].surface, nodes_[k].p, nodes_[k + 1].p});
    }
    return contacts;
  }

 private:
  struct Attempt {
    bool wraps = false, inside = false;
  };

  /// Removes the nodes of a use and inserts those of its present place.
  Attempt place(std::size_t use) {
    std::erase_if(nodes_, [&](const PathNode& node) { return node.use == use; });
    const auto& [surface, segments] = uses_[use];
    const WrapShape& shape = *surfaces_[surface].shape;
    const Pose X_SW = surfaces_[surface].X_WS.inverse();
    Attempt attempt;
    std::size_t best = 0;
    WrappedLine best_line;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k + 1 < nodes_.size(); ++k) {
      const PathNode& a = nodes_[k];
      const PathNode& b = nodes_[k + 1];
      const bool is_arc = a.use != no_use && a.use == b.use;
      if (is_arc || std::ranges::find(segments, a.segment) == segments.end()) continue;
      const Vector3 y1 = X_SW * a.p, y2 = X_SW * b.p;
      // The tangent points of other surfaces may lie inside of this one, whether or not points of the path may.
      attempt.inside =
          (a.use != no_use && wrap_level(shape, y1) < 1.0) || (b.use != no_use && wrap_level(shape, y2) < 1.0);
      if (attempt.inside) continue;
      const WrappedLine line = wrap(shape, y1, y2);
      if (!line.touches) continue;
      const bool decides = must_wrap(shape, y1, y2);
      const double increase = line.length - (y2 - y1).norm();
      if (!decides && !(increase < least)) continue;
      attempt.wraps = true;
      least = increase;
      best = k;
      best_line = line;
      if (decides) break;
    }
    if (!attempt.wraps) return attempt;
    const Pose& X_WS = surfaces_[surface].X_WS;
    const double straight =
        (best_line.first - X_SW * nodes_[best].p).norm() + (best_line.last - X_SW * nodes_[best + 1].p).norm();
    const std::size_t segment = nodes_[best].segment;
    const std::array<PathNode, 2> tangents = {
        PathNode{X_WS * best_line.first, segment, use, best_line.length - straight},
        PathNode{X_WS * best_line.last, segment, use}};
    nodes_.insert(nodes_.begin() + static_cast<std::ptrdiff_t>(best) + 1, tangents.begin(), tangents.end());
    return attempt;
  }

  [[nodiscard]] double path_length() const {
    double length = 0.0;
    for (std::size_t k = 0; k + 1 < nodes_.size(); ++k) {
      const bool is_arc = nodes_[k].use != no_use && nodes_[k].use == nodes_[k + 1].use;
      length += is_arc ? nodes_[k].arc : (nodes_[k + 1].p - nodes_[k].p).norm();
    }
    return length;
  }

  const std::vector<PlacedSurface>& surfaces_;
  std::vector<SurfaceUse> uses_;
  std::vector<PathNode> nodes_;
};

/// The segments of a surface that may touch it, without a search for the line.
std::vector<std::size_t> candidates(const std::vector<Vector3>& points, const PlacedSurface& surface) {
  const Pose X_SW = surface.X_WS.inverse();
  std::vector<std::size_t> found;
  for (const std::size_t i : surface.segments) {
    if (may_touch(*surface.shape, X_SW * points[i], X_SW * points[i + 1])) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::vector<SurfaceContact>> wrap_sequence(const std::vector<Vector3>& points,
                                                       const std::vector<PlacedSurface>& surfaces) {
  if (surfaces.size() == 1) {
    const std::vector<std::size_t> touching = candidates(points, surfaces[0]);
    // There is no choice, and the line itself determines whether it touches.
    if (!surfaces[0].one_segment || touching.size() < 2) {
      std::vector<std::vector<SurfaceContact>> contacts(points.size() - 1);
      for (const std::size_t i : touching) contacts[i].push_back({.surface = 0});
      return contacts;
    }
  }
  return WrapRounds(points, surfaces).run();
}

}  // namespace heelstrike
