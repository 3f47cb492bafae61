// Checks and repairs of surfaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

using samples::cube;

SurfaceMesh inside_out(SurfaceMesh mesh) {
  for (Triangle& t : mesh.triangles) std::swap(t[1], t[2]);
  return mesh;
}

SurfaceMesh scaled(SurfaceMesh mesh, double factor) {
  for (Vector3& v : mesh.vertices) v *= factor;
  return mesh;
}

TEST(SurfaceCheck, SoundCube) {
  const SurfaceReport report = check_surface(cube());
  EXPECT_TRUE(report.sound()) << describe(report);
  EXPECT_TRUE(report.closed);
  EXPECT_EQ(report.n_components, 1U);
  EXPECT_DOUBLE_EQ(report.area, 6.0);
  EXPECT_DOUBLE_EQ(report.volume, 1.0);
  EXPECT_NO_THROW(require_sound(report, "cube"));
}

TEST(SurfaceCheck, OpenEdgesWithPositions) {
  SurfaceMesh mesh = cube();
  mesh.triangles.erase(mesh.triangles.begin());  // 0 2 3
  const SurfaceReport report = check_surface(mesh);
  EXPECT_FALSE(report.closed);
  ASSERT_EQ(report.count(SurfaceDefect::open_edge), 3U);
  EXPECT_THAT(report.findings[0].where, testing::Contains(Vector3(0.0, 0.5, 0.0)));
  try {
    require_sound(report, "cube.stl");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), testing::HasSubstr("3 open edges"));
  }
}

TEST(SurfaceCheck, WindingAndInsideOut) {
  SurfaceMesh one_turned = cube();
  std::swap(one_turned.triangles[0][0], one_turned.triangles[0][1]);
  EXPECT_EQ(check_surface(one_turned).count(SurfaceDefect::inconsistent_winding), 3U);
  EXPECT_EQ(check_surface(inside_out(cube())).count(SurfaceDefect::inside_out), 1U);
}

TEST(SurfaceCheck, CavityMustPointInward) {
  const SurfaceMesh inner = samples::moved(scaled(cube(), 0.5), {0.25, 0.25, 0.25});
  EXPECT_TRUE(check_surface(samples::joined(cube(), inside_out(inner))).sound());
  const SurfaceReport wrong = check_surface(samples::joined(cube(), inner));
  EXPECT_EQ(wrong.count(SurfaceDefect::inside_out), 1U);
  EXPECT_EQ(wrong.n_components, 2U);
}

TEST(SurfaceCheck, SelfIntersection) {
  const SurfaceMesh through = samples::joined(cube(), samples::moved(cube(), {0.5, 0.4, 0.3}));
  EXPECT_GT(check_surface(through).count(SurfaceDefect::self_intersection), 0U);
  // Apart by a hair, and touching in a face: no intersection of volumes, but coinciding faces overlap.
  EXPECT_EQ(check_surface(samples::joined(cube(), samples::moved(cube(), {1.0 + 1e-9, 0, 0})))
                .count(SurfaceDefect::self_intersection),
            0U);
  EXPECT_GT(check_surface(samples::joined(cube(), samples::moved(cube(), {1.0, 0.25, 0.25})))
                .count(SurfaceDefect::self_intersection),
            0U);
}

TEST(SurfaceCheck, FoldedNeighbours) {
  SurfaceMesh fold;
  fold.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.5, 0}};
  fold.triangles = {{0, 1, 2}, {1, 0, 3}};
  EXPECT_TRUE(triangles_intersect(fold, 0, 1));
  fold.vertices[3] = {0.3, -0.5, 0};
  EXPECT_FALSE(triangles_intersect(fold, 0, 1));
}

TEST(SurfaceCheck, DegenerateDuplicateAndNonManifold) {
  SurfaceMesh mesh = cube();
  mesh.triangles.push_back(mesh.triangles[0]);
  mesh.triangles.push_back({0, 1, 1});
  const SurfaceReport report = check_surface(mesh);
  EXPECT_EQ(report.count(SurfaceDefect::duplicate_triangle), 1U);
  EXPECT_EQ(report.count(SurfaceDefect::degenerate_triangle), 1U);
  EXPECT_EQ(report.count(SurfaceDefect::nonmanifold_edge), 3U);
}

TEST(SurfaceRepair, EveryRepairRestoresTheCube) {
  SurfaceMesh mesh;
  // Corners of their own, a little apart; two triangles turned, one missing, one twice, one flat.
  const SurfaceMesh source = cube();
  for (std::size_t t = 0; t < source.triangles.size(); ++t) {
    Triangle triangle{};
    for (std::size_t i = 0; i < 3; ++i) {
      triangle[i] = static_cast<std::uint32_t>(mesh.vertices.size());
      mesh.vertices.push_back(source.vertices[source.triangles[t][i]] +
                              Vector3::Constant(1e-7 * static_cast<double>(t)));
    }
    if (t == 3 || t == 8) std::swap(triangle[0], triangle[1]);
    if (t != 5) mesh.triangles.push_back(triangle);
  }
  mesh.triangles.push_back(mesh.triangles[0]);
  mesh.triangles.push_back({0, 1, 0});
  EXPECT_FALSE(check_surface(mesh).sound());
  const auto done = repair_surface(mesh, {.merge_tolerance = 1e-5,
                                          .drop_degenerate = true,
                                          .drop_duplicate = true,
                                          .reorient = true,
                                          .max_hole_edges = 3});
  const SurfaceReport report = check_surface(mesh);
  EXPECT_TRUE(report.sound()) << describe(report);
  EXPECT_NEAR(report.volume, 1.0, 1e-4);  // corners moved by up to 1.1e-6 m: volume by at most 6 faces times that
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("vertices merged")));
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("1 holes")));
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("1 repeated")));
}

TEST(SurfaceRepair, NothingUnasked) {
  SurfaceMesh mesh = cube();
  mesh.triangles.pop_back();
  EXPECT_TRUE(repair_surface(mesh, {}).empty());
  EXPECT_EQ(mesh.triangles.size(), 11U);
  EXPECT_TRUE(repair_surface(mesh, {.max_hole_edges = 2}).empty()) << "a hole of 3 edges is larger than asked for";
}

TEST(SurfaceRepair, TurnsAnInsideOutBody) {
  SurfaceMesh mesh = inside_out(cube());
  EXPECT_EQ(reorient_triangles(mesh), 12U);
  EXPECT_DOUBLE_EQ(signed_volume(mesh), 1.0);
}

TEST(TriangleTree, ClosestPointAgreesWithAllTriangles) {
  const SurfaceMesh mesh = samples::joined(cube(), samples::moved(scaled(cube(), 0.3), {2, 1, -1}));
  const TriangleTree tree(mesh);
  for (int i = 0; i < 500; ++i) {
    const Vector3 q(0.013 * i - 2.0, 0.37 * (i % 17) - 2.0, 0.51 * (i % 11) - 2.0);
    double best = 1e9;
    for (const Triangle& t : mesh.triangles) {
      best = std::min(
          best, (q - closest_on_triangle(q, mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]])).norm());
    }
    ASSERT_EQ(tree.closest(q).distance, best) << q.transpose();
  }
}

}  // namespace
}  // namespace heelstrike::fem
