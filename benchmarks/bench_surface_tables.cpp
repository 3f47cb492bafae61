// Indentation of a sphere in another surface from precomputed tables of surface points, as in Machado's thesis (81 to
// 998,001 points of a sphere), compared with the tree of triangles over the same points: error relative to the analytic
// sphere and time of a query. A point slides 0.5 mm outside of the surface in steps of 1/100 of the radius.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {
namespace {

constexpr double radius = 0.021;     // [m] of a medial condyle
constexpr double distance = 0.5e-3;  // [m]
constexpr int n_queries = 400;
constexpr int window = 2;  // searched rows and columns on each side of the last closest point

/// n x n points over the polar and azimuth angles, without the poles, where triangles degenerate.
struct Table {
  int n;
  std::vector<Vector3> points;

  explicit Table(int size) : n(size) {
    for (int i = 0; i < n; ++i) {
      const double polar = std::numbers::pi * (0.1 + 0.8 * i / (n - 1));
      for (int k = 0; k < n; ++k) {
        const double azimuth = 2.0 * std::numbers::pi * k / n;
        points.emplace_back(radius * std::sin(polar) * std::cos(azimuth), radius * std::sin(polar) * std::sin(azimuth),
                            radius * std::cos(polar));
      }
    }
  }
  [[nodiscard]] const Vector3& at(int row, int column) const {
    return points[static_cast<std::size_t>(row * n + (column + n) % n)];
  }
  [[nodiscard]] double nearest(const Vector3& p) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Vector3& point : points) least = std::min(least, (p - point).squaredNorm());
    return std::sqrt(least);
  }
  /// Moves the window until its centre is the closest point.
  [[nodiscard]] double nearest_from(int& row, int& column, const Vector3& p) const {
    double least = (p - at(row, column)).squaredNorm();
    for (bool moved = true; moved;) {
      moved = false;
      const int from_row = row;
      const int from_column = column;
      for (int i = std::max(0, from_row - window); i <= std::min(n - 1, from_row + window); ++i) {
        for (int k = from_column - window; k <= from_column + window; ++k) {
          const double squared = (p - at(i, k)).squaredNorm();
          if (squared >= least) continue;
          least = squared;
          row = i;
          column = (k + n) % n;
          moved = true;
        }
      }
    }
    return std::sqrt(least);
  }
  [[nodiscard]] SurfaceMesh mesh() const {
    SurfaceMesh result;
    result.vertices = points;
    const auto number = [&](int i, int k) { return static_cast<std::uint32_t>(i * n + k % n); };
    for (int i = 0; i + 1 < n; ++i) {
      for (int k = 0; k < n; ++k) {
        result.triangles.push_back({number(i, k), number(i + 1, k), number(i + 1, k + 1)});
        result.triangles.push_back({number(i, k), number(i + 1, k + 1), number(i, k + 1)});
      }
    }
    // Caps close the surface; queries avoid them.
    for (const int i : {0, n - 1}) {
      result.vertices.emplace_back(0.0, 0.0, points[static_cast<std::size_t>(i * n)].z());
      const auto pole = static_cast<std::uint32_t>(result.vertices.size() - 1);
      for (int k = 0; k < n; ++k) {
        if (i == 0) result.triangles.push_back({pole, number(i, k), number(i, k + 1)});
        if (i != 0) result.triangles.push_back({pole, number(i, k + 1), number(i, k)});
      }
    }
    return result;
  }
};

Vector3 query(int q) {
  const double azimuth = 0.01 * q;
  const double polar = std::numbers::pi * (0.5 + 0.2 * std::sin(0.7 * azimuth));
  return (radius + distance) *
         Vector3(std::sin(polar) * std::cos(azimuth), std::sin(polar) * std::sin(azimuth), std::cos(polar));
}

template <class Find>
void measure(const char* method, const Table& table, int n, const Find& find) {
  double worst = 0.0;
  const double begin = bench::thread_seconds();
  for (int q = 0; q < n; ++q) worst = std::max(worst, std::abs(find(query(q)) - distance));
  const double time = (bench::thread_seconds() - begin) / n;
  std::printf("%9zu  %-22s  %9.3g  %9.3g\n", table.points.size(), method, 1e6 * worst, 1e9 * time);
}

}  // namespace
}  // namespace heelstrike::fem

int main() {
  using namespace heelstrike::fem;
  std::printf("   points  method                  error um   time ns\n");
  for (const int n : {9, 33, 333, 999}) {
    const Table table(n);
    measure("table, all points", table, n > 100 ? 40 : n_queries, [&](const auto& p) { return table.nearest(p); });
    int row = n / 2;
    int column = 0;
    measure("table, moving window", table, n_queries,
            [&](const auto& p) { return table.nearest_from(row, column, p); });
    const std::shared_ptr<const heelstrike::SignedDistance> tree = mesh_distance(table.mesh());
    measure("tree of triangles", table, n_queries, [&](const auto& p) { return tree->closest(p).gap; });
  }
  return 0;
}
