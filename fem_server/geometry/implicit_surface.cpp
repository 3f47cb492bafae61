#include "fem_server/geometry/implicit_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr double snap_tolerance = 0.2;  ///< [-] of an edge: crossings closer to a grid point are snapped to it

/// Cuts the tetrahedra of a regular grid along value = 0 and the top layer of triangles along z = top.
class MarchingTetrahedra {
 public:
  MarchingTetrahedra(const ImplicitBody& body, double size) : body_(body) {
    for (std::size_t k = 0; k < 3; ++k) {
      const auto axis = static_cast<Eigen::Index>(k);
      // An integer number of steps of at most `size`, so that the grid ends exactly on the cut plane.
      n_[k] = static_cast<std::size_t>(std::max(1.0, std::ceil((body.high[axis] - body.low[axis]) / size)));
      step_[axis] = (body.high[axis] - body.low[axis]) / static_cast<double>(n_[k]);
    }
    constexpr double most = 5e7;
    const double n_points =
        static_cast<double>(n_[0] + 1) * static_cast<double>(n_[1] + 1) * static_cast<double>(n_[2] + 1);
    if (n_points > most)
      throw limit_error("size", fmt::format("size = {} m gives {:.3g} grid points, at most {:.3g} are allowed", size,
                                            n_points, most));
    sample();
    snap_to_grid();
  }

  SurfaceMesh extract_isosurface() {
    // Six tetrahedra around the diagonal 0-7, identical in all cells: faces of adjacent cells match, and the surface is
    // closed without a case table.
    static constexpr std::array<std::array<std::size_t, 4>, 6> kuhn{
        {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}}};
    mesh_.group_names = {"skin", "cap"};
    for (std::size_t k = 0; k < n_[2]; ++k) {
      for (std::size_t j = 0; j < n_[1]; ++j) {
        for (std::size_t i = 0; i < n_[0]; ++i) {
          std::array<std::size_t, 8> c{};
          for (std::size_t b = 0; b < 8; ++b) c[b] = index(i + b % 2, j + b / 2 % 2, k + b / 4);
          for (const auto& t : kuhn) cut_tetrahedron({c[t[0]], c[t[1]], c[t[2]], c[t[3]]});
          // Faces of these tetrahedra in the top plane: 4-5-7 and 4-7-6.
          if (k + 1 == n_[2]) {
            clip_top({c[4], c[5], c[7]});
            clip_top({c[4], c[7], c[6]});
          }
        }
      }
    }
    return std::move(mesh_);
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t i, std::size_t j, std::size_t k) const {
    return (k * (n_[1] + 1) + j) * (n_[0] + 1) + i;
  }
  [[nodiscard]] Vector3 position(std::size_t p) const {
    const std::size_t i = p % (n_[0] + 1);
    const std::size_t j = p / (n_[0] + 1) % (n_[1] + 1);
    const std::size_t k = p / (n_[0] + 1) / (n_[1] + 1);
    Vector3 q =
        body_.low + step_.cwiseProduct(Vector3(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k)));
    if (k == n_[2]) q.z() = body_.high.z();
    return q;
  }

  void sample() {
    values_.resize((n_[0] + 1) * (n_[1] + 1) * (n_[2] + 1));
    for (std::size_t p = 0; p < values_.size(); ++p) values_[p] = body_.value(position(p));
  }

  /// A grid point within the fraction `snap` of an edge from a crossing gets the value 0, which counts as outside.
  void snap_to_grid() {
    std::vector<bool> on_surface(values_.size(), false);
    const auto visit = [&](std::size_t a, std::size_t b) {
      if ((values_[a] < 0.0) == (values_[b] < 0.0)) return;
      // Linear along the edge; signs differ, so that the denominator is nonzero.
      const double t = values_[a] / (values_[a] - values_[b]);
      if (t < snap_tolerance) on_surface[a] = true;
      if (t > 1.0 - snap_tolerance) on_surface[b] = true;
    };
    for (std::size_t k = 0; k <= n_[2]; ++k) {
      for (std::size_t j = 0; j <= n_[1]; ++j) {
        for (std::size_t i = 0; i <= n_[0]; ++i) {
          for (std::size_t b = 1; b < 8; ++b) {
            const std::array<std::size_t, 3> q{i + b % 2, j + b / 2 % 2, k + b / 4};
            if (q[0] <= n_[0] && q[1] <= n_[1] && q[2] <= n_[2]) visit(index(i, j, k), index(q[0], q[1], q[2]));
          }
        }
      }
    }
    for (std::size_t p = 0; p < values_.size(); ++p) {
      if (on_surface[p]) values_[p] = 0.0;
    }
  }

  [[nodiscard]] bool inside(std::size_t p) const { return values_[p] < 0.0; }

  /// Vertex where the surface crosses the edge from the inner point `a` to the outer point `b`.
  std::uint32_t crossing(std::size_t a, std::size_t b) {
    // Snapped: all crossings at this point share one vertex, which eliminates the slivers between them.
    if (values_[b] == 0.0) return grid_vertex(b);
    const auto key = std::minmax(a, b);
    const auto [entry, fresh] = vertices_.emplace(key, static_cast<std::uint32_t>(mesh_.vertices.size()));
    if (fresh) {
      const double t = values_[a] / (values_[a] - values_[b]);
      mesh_.vertices.push_back(position(a) + t * (position(b) - position(a)));
    }
    return entry->second;
  }
  std::uint32_t grid_vertex(std::size_t p) {
    const auto [entry, fresh] = vertices_.emplace(std::pair(p, p), static_cast<std::uint32_t>(mesh_.vertices.size()));
    if (fresh) mesh_.vertices.push_back(position(p));
    return entry->second;
  }

  void add(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t group) {
    if (a == b || b == c || c == a) return;
    mesh_.triangles.push_back({a, b, c});
    mesh_.triangle_groups.push_back(group);
  }

  /// Corners with positive volume.
  void cut_tetrahedron(std::array<std::size_t, 4> p) {
    const auto n_inside =
        static_cast<std::size_t>(std::count_if(p.begin(), p.end(), [&](std::size_t q) { return inside(q); }));
    if (n_inside == 0 || n_inside == 4) return;
    // Even permutations move the corner with the different sign to the front and preserve orientation.
    const auto bring_to_front = [&](std::size_t i) {
      if (i == 1) p = {p[1], p[0], p[3], p[2]};
      if (i == 2) p = {p[2], p[3], p[0], p[1]};
      if (i == 3) p = {p[3], p[2], p[1], p[0]};
    };
    if (n_inside == 1) {
      for (std::size_t i = 1; i < 4; ++i) {
        if (inside(p[i])) {
          bring_to_front(i);
          break;
        }
      }
      add(crossing(p[0], p[1]), crossing(p[0], p[2]), crossing(p[0], p[3]), 0);
    } else if (n_inside == 3) {
      for (std::size_t i = 1; i < 4; ++i) {
        if (!inside(p[i])) {
          bring_to_front(i);
          break;
        }
      }
      add(crossing(p[1], p[0]), crossing(p[3], p[0]), crossing(p[2], p[0]), 0);
    } else {
      if (!inside(p[0])) {
        for (std::size_t i = 1; i < 4; ++i) {
          if (inside(p[i])) {
            bring_to_front(i);
            break;
          }
        }
      }
      // Now p[0] is inside; rotate the other three until p[1] is the second one.
      while (!inside(p[1])) p = {p[0], p[2], p[3], p[1]};
      const std::uint32_t a = crossing(p[0], p[2]);
      const std::uint32_t b = crossing(p[0], p[3]);
      const std::uint32_t c = crossing(p[1], p[3]);
      const std::uint32_t d = crossing(p[1], p[2]);
      add(a, b, c, 0);
      add(a, c, d, 0);
    }
  }

  /// Part of a counterclockwise triangle of the top plane that lies inside.
  void clip_top(const std::array<std::size_t, 3>& p) {
    std::vector<std::uint32_t> polygon;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t from = p[i];
      const std::size_t to = p[(i + 1) % 3];
      if (inside(from)) polygon.push_back(grid_vertex(from));
      if (inside(from) && !inside(to)) polygon.push_back(crossing(from, to));
      if (!inside(from) && inside(to)) polygon.push_back(crossing(to, from));
    }
    for (std::size_t i = 2; i < polygon.size(); ++i) add(polygon[0], polygon[i - 1], polygon[i], 1);
  }

  const ImplicitBody& body_;
  std::array<std::size_t, 3> n_{};
  Vector3 step_ = Vector3::Zero();
  std::vector<double> values_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> vertices_;
  SurfaceMesh mesh_;
};

/// Laplacian smoothing with projection back onto the surface; the rim remains a rim and the cap remains flat.
class Smoother {
 public:
  Smoother(const ImplicitBody& body, double size, SurfaceMesh& mesh) : body_(body), size_(size), mesh_(mesh) {
    std::vector<std::set<std::uint32_t>> neighbours(mesh.vertices.size());
    std::vector<std::array<bool, 2>> groups(mesh.vertices.size(), {false, false});
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      const Triangle& c = mesh.triangles[t];
      for (std::size_t i = 0; i < 3; ++i) {
        groups[c[i]][mesh.triangle_groups[t]] = true;
        neighbours[c[i]].insert(c[(i + 1) % 3]);
        neighbours[c[i]].insert(c[(i + 2) % 3]);
      }
    }
    for (std::uint32_t v = 0; v < mesh.vertices.size(); ++v) {
      kind_.push_back(groups[v][0] && groups[v][1] ? Kind::rim : (groups[v][1] ? Kind::cap : Kind::boundary));
      neighbours_.emplace_back(neighbours[v].begin(), neighbours[v].end());
    }
    // Rim vertices use rim neighbours only.
    for (std::uint32_t v = 0; v < mesh.vertices.size(); ++v) {
      if (kind_[v] != Kind::rim) continue;
      std::erase_if(neighbours_[v], [&](std::uint32_t other) { return kind_[other] != Kind::rim; });
    }
  }

  void run(int n_rounds) {
    for (std::uint32_t v = 0; v < mesh_.vertices.size(); ++v) project(v);
    for (int round = 0; round < n_rounds; ++round) {
      const std::vector<Vector3> old = mesh_.vertices;
      for (std::uint32_t v = 0; v < old.size(); ++v) {
        if (kind_[v] == Kind::rim && neighbours_[v].size() != 2) continue;
        Vector3 mean = Vector3::Zero();
        for (const std::uint32_t other : neighbours_[v]) mean += old[other];
        if (neighbours_[v].empty()) continue;
        mean /= static_cast<double>(neighbours_[v].size());
        // A full step may oscillate between two positions, because neighbours move simultaneously.
        constexpr double damping = 0.6;
        mesh_.vertices[v] = old[v] + damping * (mean - old[v]);
        project(v);
      }
    }
  }

 private:
  enum class Kind { boundary, rim, cap };

  /// Newton steps along the gradient, in the plane of the cap for its rim.
  void project(std::uint32_t v) {
    Vector3& p = mesh_.vertices[v];
    if (kind_[v] != Kind::boundary) p.z() = body_.high.z();
    if (kind_[v] == Kind::cap) return;
    // The error of forward differences is h over the radius of curvature, 1e-4 where the radius is one `size`, far
    // above rounding.
    const double h = 1e-4 * size_;
    for (int i = 0; i < 4; ++i) {
      const double value = body_.value(p);
      Vector3 gradient;
      for (Eigen::Index k = 0; k < 3; ++k) {
        Vector3 q = p;
        q[k] += h;
        gradient[k] = (body_.value(q) - value) / h;
      }
      if (kind_[v] == Kind::rim) gradient.z() = 0.0;
      const double square = gradient.squaredNorm();
      if (square < 1e-6) return;  // direction undefined
      Vector3 step = -value / square * gradient;
      const double length = step.norm();
      // The value only approximates a distance; a longer step could pass a neighbouring vertex.
      if (length > 0.3 * size_) step *= 0.3 * size_ / length;
      p += step;
      if (kind_[v] == Kind::boundary) p.z() = std::min(p.z(), body_.high.z());
    }
  }

  const ImplicitBody& body_;
  double size_;
  SurfaceMesh& mesh_;
  std::vector<Kind> kind_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
};

}  // namespace

SurfaceMesh triangulate(const ImplicitBody& body, double size) {
  if (!(size > 0.0) || !std::isfinite(size)) {
    throw input_error("size", fmt::format("size: expected a length above 0 m, found {} m", size));
  }
  SurfaceMesh mesh = MarchingTetrahedra(body, size).extract_isosurface();
  constexpr int n_rounds = 8;
  Smoother(body, size, mesh).run(n_rounds);
  return mesh;
}

}  // namespace heelstrike::fem
