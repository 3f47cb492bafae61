// Nearest points and crossings of open and closed triangle surfaces, compared with a search of all triangles.
#include <gtest/gtest.h>

#include <random>

#include "fem_server/surfaces/target_surface.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {
namespace {

/// A wavy sheet with a rim: n x n cells over one metre.
SurfaceMesh sheet(int n) {
  SurfaceMesh mesh;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j <= n; ++j) {
      const double x = static_cast<double>(i) / n - 0.5;
      const double y = static_cast<double>(j) / n - 0.5;
      mesh.vertices.emplace_back(x, y, 0.05 * std::sin(7.0 * x) * std::cos(5.0 * y));
    }
  }
  const auto at = [n](int i, int j) { return static_cast<std::uint32_t>(i * (n + 1) + j); };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
      mesh.triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  }
  return mesh;
}

/// Points around the sheet, some beside it.
std::vector<Vector3> points(int count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> across(-0.7, 0.7);
  std::uniform_real_distribution<double> height(-0.2, 0.2);
  std::vector<Vector3> result;
  for (int i = 0; i < count; ++i) result.emplace_back(across(random), across(random), height(random));
  return result;
}

bool same(const NearestOnSurface& a, const NearestOnSurface& b) {
  return a.triangle == b.triangle && a.surface.gap == b.surface.gap && a.surface.normal == b.surface.normal &&
         a.beside == b.beside;
}

// The start of a search affects its time only.
TEST(TriangleSurface, ResultsDoNotDependOnTheSearchStart) {
  const TriangleSurface surface(sheet(12));
  const auto n = static_cast<std::uint32_t>(surface.mesh().triangles.size());
  for (const Vector3& q : points(200)) {
    const NearestOnSurface first = surface.closest(q, 0);
    const auto down = surface.crossing(q, -Vector3::UnitZ(), 1.0, false, 0);
    for (std::uint32_t near = 1; near < n; near += 37) {
      EXPECT_TRUE(same(surface.closest(q, near), first));
      const auto again = surface.crossing(q, -Vector3::UnitZ(), 1.0, false, near);
      ASSERT_EQ(again.has_value(), down.has_value());
      if (down) {
        EXPECT_TRUE(again->ray_distance == down->ray_distance && again->triangle == down->triangle);
      }
    }
  }
}

TEST(TriangleSurface, CrossingsEqualThoseOfAllTriangles) {
  const SurfaceMesh mesh = sheet(12);
  const TriangleSurface surface(mesh);
  const Vector3 direction = Vector3(0.3, -0.2, -0.9).normalized();
  int in_contact = 0;
  for (const Vector3& q : points(300)) {
    for (const bool leaving : {false, true}) {
      double nearest = 2.0;
      for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
        const auto& [a, b, c] = mesh.triangles[t];
        const Vector3 normal = triangle_cross(mesh, t);
        const double through = normal.dot(direction);
        if (leaving != (through > 0.0)) continue;
        const double ray_distance = normal.dot(mesh.vertices[a] - q) / through;
        const Vector3 p = q + ray_distance * direction;
        const bool inside = (mesh.vertices[b] - mesh.vertices[a]).cross(p - mesh.vertices[a]).dot(normal) >= 0.0 &&
                            (mesh.vertices[c] - mesh.vertices[b]).cross(p - mesh.vertices[b]).dot(normal) >= 0.0 &&
                            (mesh.vertices[a] - mesh.vertices[c]).cross(p - mesh.vertices[c]).dot(normal) >= 0.0;
        if (inside && ray_distance >= 0.0 && ray_distance <= 1.0) nearest = std::min(nearest, ray_distance);
      }
      const auto found = surface.crossing(q, direction, 1.0, leaving, 5);
      ASSERT_EQ(found.has_value(), nearest <= 1.0);
      if (!found) continue;
      ++in_contact;
      EXPECT_NEAR(found->ray_distance, nearest, 1e-12);
    }
  }
  EXPECT_GT(in_contact, 50);
}

// Above the rim a point has no side; behind the middle it is behind.
TEST(TriangleSurface, RimAndSides) {
  const TriangleSurface surface(sheet(12));
  EXPECT_FALSE(surface.closed());
  EXPECT_TRUE(surface.closest({0.8, 0.1, -0.1}, 0).beside);
  EXPECT_FALSE(surface.closest({0.1, 0.1, -0.2}, 0).beside);
  EXPECT_LT(surface.closest({0.1, 0.1, -0.2}, 0).surface.gap, 0.0);
  EXPECT_GT(surface.closest({0.1, 0.1, 0.2}, 0).surface.gap, 0.0);
}

// Differences of second order with h = 1e-5 m: truncation 1e-10 / distance^2, rounding 1e-16 / h.
TEST(TriangleSurface, CurvatureAndInterpolatedNormalAreDerivatives) {
  const TriangleSurface surface(sheet(12));
  const double h = 1e-5;
  for (const Vector3& q : points(100)) {
    const NearestOnSurface at = surface.closest(q, 0);
    Matrix3 numeric;
    bool smooth = std::abs(at.surface.gap) > 0.01;
    for (int k = 0; k < 3; ++k) {
      const NearestOnSurface up = surface.closest(q + h * Vector3::Unit(k), 0);
      const NearestOnSurface down = surface.closest(q - h * Vector3::Unit(k), 0);
      numeric.col(k) = (up.surface.normal - down.surface.normal) / (2.0 * h);
      EXPECT_NEAR((up.surface.gap - down.surface.gap) / (2.0 * h), at.surface.normal[k], 1e-3);
      // Another face, edge or vertex: the normal has a kink there.
      smooth =
          smooth && (up.surface.curvature - down.surface.curvature).norm() < 1e-2 * (1.0 + at.surface.curvature.norm());
    }
    if (smooth) {
      EXPECT_LT((numeric - at.surface.curvature).norm(), 1e-4 * (1.0 + at.surface.curvature.norm()));
    }
  }
  const SurfaceMesh& mesh = surface.mesh();
  const auto& [a, b, c] = mesh.triangles[40];
  const Vector3 p = 0.2 * mesh.vertices[a] + 0.5 * mesh.vertices[b] + 0.3 * mesh.vertices[c];
  const Vector3 along = mesh.vertices[b] - mesh.vertices[a];
  const Vector3 change =
      (surface.interpolated_normal(40, p + h * along).normal - surface.interpolated_normal(40, p - h * along).normal) /
      (2.0 * h);
  EXPECT_LT((surface.interpolated_normal(40, p).gradient * along - change).norm(), 1e-8);
}

/// Two sheets, one 0.06 m below the other.
SurfaceMesh two_sheets(int n) {
  SurfaceMesh mesh = sheet(n);
  const auto first = static_cast<std::uint32_t>(mesh.vertices.size());
  const SurfaceMesh above = mesh;
  for (const Vector3& p : above.vertices) mesh.vertices.push_back(p - 0.06 * Vector3::UnitZ());
  for (const Triangle& t : above.triangles) mesh.triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  return mesh;
}

// Bounds from a walk agree with searches: the side of the nearest point, and the first crossing bit for bit.
TEST(SurfaceSheets, ResultsEqualThoseOfSearches) {
  for (const SurfaceMesh& mesh : {sheet(24), two_sheets(24)}) {
    const TriangleSurface surface(mesh);
    const SurfaceSheets sheets(surface, 0.3);
    std::mt19937 random(11);
    std::uniform_real_distribution<double> unit(-1.0, 1.0);
    int proven = 0;
    for (int i = 0; i < 4000; ++i) {
      const Vector3 q(0.6 * unit(random), 0.6 * unit(random), -0.03 + 0.12 * unit(random));
      const Vector3 down = Vector3(0.4 * unit(random), 0.4 * unit(random), -1.0).normalized();
      const NearestOnSurface nearest = surface.closest(q, 0);
      const auto walked = sheets.leaving(q, -down, nearest.triangle);
      if (!walked) continue;
      ++proven;
      const bool behind = walked->ray_distance > 0.0;
      EXPECT_FALSE(nearest.beside);
      EXPECT_EQ(nearest.surface.gap < 0.0, behind) << q.transpose();
      const auto searched = surface.crossing(q, behind ? Vector3(-down) : down, 1.0, behind, 0);
      ASSERT_TRUE(searched);
      EXPECT_EQ(searched->ray_distance, std::abs(walked->ray_distance));
      EXPECT_EQ(searched->triangle, walked->triangle);
    }
    EXPECT_GT(proven, 500);
  }
}

}  // namespace
}  // namespace heelstrike::fem
