// Surfaces with fewer triangles, for display.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

/// Around (1, 2, 3) m; n * n / 2 * 2 triangles, needles at the poles.
SurfaceMesh ball(double radius, int n) {
  SurfaceMesh mesh;
  const auto vertex = [&](int i, int k) {
    return static_cast<std::uint32_t>(k == 0 ? 0 : k == n / 2 ? 1 : 2 + (k - 1) * n + i % n);
  };
  const auto point = [&](double theta, double phi) -> Vector3 {
    return Vector3(1, 2, 3) +
           radius * Vector3(std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta));
  };
  mesh.vertices = {point(0, 0), point(std::numbers::pi, 0)};
  for (int k = 1; k < n / 2; ++k) {
    for (int i = 0; i < n; ++i)
      mesh.vertices.push_back(point(2.0 * std::numbers::pi * k / n, 2.0 * std::numbers::pi * i / n));
  }
  for (int k = 0; k < n / 2; ++k) {
    for (int i = 0; i < n; ++i) {
      if (k > 0) mesh.triangles.push_back({vertex(i, k), vertex(i, k + 1), vertex(i + 1, k)});
      if (k < n / 2 - 1) mesh.triangles.push_back({vertex(i + 1, k), vertex(i, k + 1), vertex(i + 1, k + 1)});
    }
  }
  return mesh;
}

TEST(SimplifiedSurface, KeepsTheShapeWithinTheTargetCount) {
  const double radius = 0.04;
  const SurfaceMesh fine = ball(radius, 240);
  ASSERT_TRUE(check_surface(fine).valid()) << describe(check_surface(fine));
  for (const std::size_t most : {500U, 5'000U, 20'000U}) {
    const SurfaceMesh coarse = simplified_surface(fine, most);
    EXPECT_LE(coarse.triangles.size(), most);
    EXPECT_GT(coarse.triangles.size(), most / 2) << "as fine as the number allows";
    // A cell has the area of two triangles or less: the centroids of the points in it are below the ball by its sagitta
    // over one cell at most.
    const double cell =
        std::sqrt(4.0 * std::numbers::pi * radius * radius / static_cast<double>(coarse.triangles.size()) * 2.0);
    const double sagitta = std::pow(cell * std::sqrt(3.0), 2) / (8.0 * radius);
    for (const Vector3& vertex : coarse.vertices) {
      const double r = (vertex - Vector3(1, 2, 3)).norm();
      EXPECT_LE(r, radius * (1.0 + 1e-12));
      EXPECT_GE(r, radius - sagitta);
    }
    EXPECT_NEAR(surface_area(coarse), surface_area(fine), 0.05 * surface_area(fine)) << most;
    EXPECT_NEAR(signed_volume(coarse), signed_volume(fine), 0.05 * signed_volume(fine))
        << "outward, and without holes: " << most;
  }
}

TEST(SimplifiedSurface, SmallSurfacesAreUnchanged) {
  const SurfaceMesh cube = samples::cube();
  const SurfaceMesh same = simplified_surface(cube, cube.triangles.size());
  EXPECT_EQ(same.vertices, cube.vertices);
  EXPECT_EQ(same.triangles, cube.triangles);
}

TEST(SimplifiedSurface, EndsWithoutAnAdmissibleCollapse) {
  EXPECT_LE(simplified_surface(samples::cube(), 1).triangles.size(), 1U);
  SurfaceMesh point = samples::cube();
  for (Vector3& vertex : point.vertices) vertex = Vector3(1, 1, 1);
  EXPECT_TRUE(simplified_surface(point, 2).triangles.empty());
}

}  // namespace
}  // namespace heelstrike::fem
