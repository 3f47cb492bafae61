// The layer between two surfaces: volume, sets, fit of the prisms, and rejected input.
#include "fem_server/geometry/layer_mesh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"

namespace heelstrike::fem {
namespace {

using testing::HasSubstr;

/// A square patch of 40 mm around the origin, n x n quads, normals up.
SurfaceMesh patch(int n, double size, const std::function<double(double, double)>& height) {
  SurfaceMesh mesh;
  for (int j = 0; j <= n; ++j) {
    for (int i = 0; i <= n; ++i) {
      const double x = size * (static_cast<double>(i) / n - 0.5);
      const double y = size * (static_cast<double>(j) / n - 0.5);
      mesh.vertices.emplace_back(x, y, height(x, y));
    }
  }
  const auto id = [&](int i, int j) { return static_cast<std::uint32_t>(j * (n + 1) + i); };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      mesh.triangles.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
      mesh.triangles.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
    }
  }
  return mesh;
}

double dish(double x, double y) {
  return 10.0 * (x * x + y * y);  // 50 mm radius, like a tibial plateau
}

TEST(LayerMesh, FillsADishedLayer) {
  const auto outer = [](double x, double y) { return dish(x, y) + 0.003; };
  // The bone is coarser and smaller: the rim of the layer extends beyond it.
  const LayerMesh layer = mesh_layer(patch(40, 0.04, outer), patch(31, 0.037, dish), {.layers = 3});
  const VolumeReport report = check_volume(layer.mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_EQ(report.n_pieces, 1U);
  EXPECT_EQ(report.n_elements, 40U * 40U * 2U * 3U * 3U);
  EXPECT_GT(layer.n_beyond_rim, 0U);
  EXPECT_EQ(layer.n_min_thickness, 0U);
  // 3 mm along z on the projected area, and 3 mm times the mean curvature of 20 /m more, because the layer widens
  // downwards; at the rim, inclined by 0.4, the curvature is a fifth smaller, which is two hundredths of the volume.
  const double volume = 0.04 * 0.04 * 0.003 * 1.06;
  EXPECT_NEAR(report.volume, volume, 0.03 * volume);
  EXPECT_NEAR(layer.min_thickness, 0.003, 0.0005);
  EXPECT_GT(report.min_quality, 0.2);
  const VolumeMesh& mesh = layer.mesh;
  EXPECT_EQ(mesh.face_sets.at("outer").size(), 3200U);
  EXPECT_EQ(mesh.face_sets.at("inner").size(), 3200U);
  EXPECT_EQ(mesh.face_sets.at("rim").size(), 4U * 40U * 3U * 2U);
  EXPECT_EQ(mesh.node_sets.at("inner").size(), 41U * 41U);
  EXPECT_TRUE(check_surface(boundary_surface(mesh).surface).valid()) << "the prisms do not fit each other";
}

TEST(LayerMesh, HasAConstantThicknessWithoutInnerSurface) {
  constexpr double radius = 0.03;
  constexpr double thickness = 0.003;
  const SurfaceMesh cap =
      patch(40, 0.03, [](double x, double y) { return std::sqrt(radius * radius - x * x - y * y); });
  const LayerMesh layer = mesh_layer(cap, thickness, {.layers = 2});
  const VolumeReport report = check_volume(layer.mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_NEAR(layer.mean_thickness, thickness, 1e-12);
  // The inner nodes lie on the concentric sphere, but for the normals at the rim, which triangles on one side average.
  double largest = 0.0;
  for (const std::uint32_t node : layer.mesh.node_sets.at("inner")) {
    largest = std::max(largest, std::abs(layer.mesh.nodes[node].norm() - (radius - thickness)));
  }
  EXPECT_LT(largest, 2e-6);
  const double t = thickness / radius;
  const double volume = check_surface(cap).area * thickness * (1.0 - t + t * t / 3.0);
  // Normals at the rim, which has triangles on one side only, are inclined by an edge over the radius at most: 0.025.
  EXPECT_NEAR(report.volume, volume, 0.5 * thickness * (0.025 * thickness) * 0.12);
  EXPECT_EQ(layer.mesh.face_sets.at("outer").size(), cap.triangles.size());
  try {
    (void)mesh_layer(cap, 0.0, {});
    FAIL() << "a layer without thickness";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("thickness: expected a length above 0 m, found 0 m"));
  }
}

TEST(LayerMesh, IsThickenedWhereTheSurfacesCross) {
  const auto outer = [](double x, double y) { return dish(x, y) + 0.002 * (1.0 - x / 0.019); };
  const LayerMesh layer = mesh_layer(patch(40, 0.04, outer), patch(40, 0.044, dish), {.min_thickness = 3e-4});
  EXPECT_TRUE(check_volume(layer.mesh).valid());
  EXPECT_LT(layer.min_thickness, 0.0);
  EXPECT_GT(layer.n_min_thickness, 41U);
}

TEST(LayerMesh, ReportsMismatch) {
  const SurfaceMesh inner = patch(10, 0.04, dish);
  const auto above = [](double height) {
    return patch(10, 0.04, [height](double x, double y) { return dish(x, y) + height; });
  };
  const auto message = [](const std::function<void()>& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([&] { (void)mesh_layer(above(-0.003), inner, {}); }), HasSubstr("in front of the outer one"));
  EXPECT_THAT(message([&] { (void)mesh_layer(above(0.1), inner, {}); }), HasSubstr("search_distance = 0.01 m"));
  EXPECT_THAT(message([&] { (void)mesh_layer(above(3.0), inner, {.search_distance = 0.01}); }), HasSubstr("unit"));
  EXPECT_THAT(message([&] { (void)mesh_layer(above(0.003), inner, {.layers = 0}); }), HasSubstr("layers"));
  EXPECT_THAT(message([&] { (void)mesh_layer(above(0.003), inner, {.min_thickness = -1.0}); }),
              HasSubstr("min_thickness"));
  SurfaceMesh twice = above(0.003);
  twice.triangles.push_back(twice.triangles.front());
  EXPECT_THAT(message([&] { (void)mesh_layer(twice, inner, {}); }), HasSubstr("duplicate"));
}

}  // namespace
}  // namespace heelstrike::fem
