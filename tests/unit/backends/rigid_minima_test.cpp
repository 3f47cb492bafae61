// Balls on meshes that are not convex: a point for each wall, and one for the seams of a floor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "fem_server/backends/rigid/mesh_minima.hpp"

namespace heelstrike::fem {
namespace {

constexpr double radius = 0.05, reach = 1e-4, margin = 1e-9;

/// A surface over a grid of n x n cells of a square of 0.4 m about the origin.
SurfaceMesh over_grid(int n, const std::function<Vector3(double, double)>& at) {
  SurfaceMesh mesh;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j <= n; ++j) mesh.vertices.push_back(at(0.4 * i / n - 0.2, 0.4 * j / n - 0.2));
  }
  const auto vertex = [&](int i, int j) { return static_cast<std::uint32_t>(i * (n + 1) + j); };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      mesh.triangles.push_back({vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1)});
      mesh.triangles.push_back({vertex(i, j), vertex(i + 1, j + 1), vertex(i, j + 1)});
    }
  }
  return mesh;
}

// Above faces, edges and vertices, exactly and up to a micrometre beside them.
TEST(RigidMinima, SeamsOfAFloorAreOnePlace) {
  const MeshMinima floor(over_grid(20, [](double x, double y) { return Vector3(x, y, 0.0); }));
  for (const double x : {0.0, 0.01, 0.0137, 0.02}) {
    for (const double y : {0.0, 0.01, 0.0137, -0.02}) {
      for (const double off : {0.0, 1e-17, 1e-12, 1e-9, 3e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4}) {
        const auto minima = floor.near({x + off, y, radius}, radius + reach, margin);
        ASSERT_EQ(minima.size(), 1U) << x << " " << y << " " << off;
        EXPECT_NEAR(minima[0].distance, radius, 1e-15);
        EXPECT_NEAR(minima[0].normal.z(), 1.0, 1e-12);
        EXPECT_EQ(minima[0].feature, 0);
      }
    }
  }
}

// The nearest point of a dome is unique, whatever its triangles.
TEST(RigidMinima, DomesAreTouchedOnce) {
  std::mt19937 generator(3);
  const auto random = [&] { return static_cast<double>(generator()) / 2147483648.0 - 1.0; };
  const MeshMinima dome(over_grid(40, [](double x, double y) { return Vector3(x, y, -(x * x + y * y)); }));
  for (int i = 0; i < 2000; ++i) {
    const double x = 0.1 * random(), y = 0.1 * random();
    const Vector3 n = Vector3(2.0 * x, 2.0 * y, 1.0).normalized();
    const Vector3 c = Vector3(x, y, -(x * x + y * y)) + radius * n;
    EXPECT_EQ(dome.near(c, radius + 1e-3, margin).size(), 1U) << i;
  }
}

// In a valley of two planes with a seam along y: both walls, with constant features along the way.
TEST(RigidMinima, WallsOfAValleyAreTwoPlaces) {
  for (const double slope : {0.1, 0.5, 1.0, 3.0}) {
    const MeshMinima valley(over_grid(10, [&](double x, double y) { return Vector3(x, y, slope * std::abs(x)); }));
    const double height = radius * std::sqrt(1.0 + slope * slope);
    std::vector<std::int64_t> features;
    for (int i = -100; i <= 100; ++i) {
      const auto minima = valley.near({1e-12 * (i % 3), 0.0011 * i, height}, radius + reach, margin);
      ASSERT_EQ(minima.size(), 2U) << slope << " " << i;
      for (const auto& minimum : minima) {
        EXPECT_NEAR(minimum.distance, radius, 1e-11);
        EXPECT_TRUE(minimum.on_face);
      }
      if (features.empty()) features = {minima[0].feature, minima[1].feature};
      EXPECT_EQ(minima[0].feature, features[0]);
      EXPECT_EQ(minima[1].feature, features[1]);
      EXPECT_GT(minima[0].normal.x() * (minima[0].feature == features[0] ? 1.0 : -1.0), 0.0);
    }
    // Away from the seam only one wall is near.
    EXPECT_EQ(valley.near({0.01, 0.0, height + 0.01 * slope}, radius + reach, margin).size(), 1U) << slope;
  }
}

// From behind an open surface there is none.
TEST(RigidMinima, BacksOfFacesAreNoPlaces) {
  const MeshMinima floor(over_grid(4, [](double x, double y) { return Vector3(x, y, 0.0); }));
  EXPECT_TRUE(floor.near({0.01, 0.02, -radius}, radius + reach, margin).empty());
}

}  // namespace
}  // namespace heelstrike::fem
