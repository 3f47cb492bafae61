// Checks and repairs of surfaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "fem_server/geometry/sliver_removal.hpp"
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

TEST(SurfaceCheck, ValidCube) {
  const SurfaceReport report = check_surface(cube());
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_TRUE(report.closed);
  EXPECT_EQ(report.n_components, 1U);
  EXPECT_DOUBLE_EQ(report.area, 6.0);
  EXPECT_DOUBLE_EQ(report.volume, 1.0);
  EXPECT_NO_THROW(require_valid(report, "cube"));
}

TEST(SurfaceCheck, OpenEdgesWithPositions) {
  SurfaceMesh mesh = cube();
  mesh.triangles.erase(mesh.triangles.begin());  // 0 2 3
  const SurfaceReport report = check_surface(mesh);
  EXPECT_FALSE(report.closed);
  ASSERT_EQ(report.count(SurfaceDefect::open_edge), 3U);
  EXPECT_THAT(report.findings[0].where, testing::Contains(Vector3(0.0, 0.5, 0.0)));
  try {
    require_valid(report, "cube.stl");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), testing::HasSubstr("3 open edges"));
  }
}

TEST(SurfaceCheck, WindingAndInsideOut) {
  SurfaceMesh one_reversed = cube();
  std::swap(one_reversed.triangles[0][0], one_reversed.triangles[0][1]);
  EXPECT_EQ(check_surface(one_reversed).count(SurfaceDefect::inconsistent_winding), 3U);
  EXPECT_EQ(check_surface(inside_out(cube())).count(SurfaceDefect::inside_out), 1U);
}

TEST(SurfaceCheck, CavityMustPointInward) {
  const SurfaceMesh inner = samples::moved(scaled(cube(), 0.5), {0.25, 0.25, 0.25});
  EXPECT_TRUE(check_surface(samples::joined(cube(), inside_out(inner))).valid());
  const SurfaceReport invalid = check_surface(samples::joined(cube(), inner));
  EXPECT_EQ(invalid.count(SurfaceDefect::inside_out), 1U);
  EXPECT_EQ(invalid.n_components, 2U);
}

TEST(SurfaceCheck, SelfIntersection) {
  const SurfaceMesh through = samples::joined(cube(), samples::moved(cube(), {0.5, 0.4, 0.3}));
  EXPECT_GT(check_surface(through).count(SurfaceDefect::self_intersection), 0U);
  // Slightly apart, and with a common face: no intersection of volumes, but coinciding faces overlap.
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
  // Separate corners, slightly apart; two triangles reversed, one missing, one twice, one flat.
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
  EXPECT_FALSE(check_surface(mesh).valid());
  const auto done = repair_surface(mesh, {.merge_tolerance = 1e-5,
                                          .remove_degenerate = true,
                                          .remove_duplicate = true,
                                          .reorient = true,
                                          .max_hole_edges = 3});
  const SurfaceReport report = check_surface(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_NEAR(report.volume, 1.0, 1e-4);  // corners moved by up to 1.1e-6 m: volume by at most 6 faces times that
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("vertices merged")));
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("1 holes")));
  EXPECT_THAT(done, testing::Contains(testing::HasSubstr("1 repeated")));
}

TEST(SurfaceRepair, NothingIsRepairedWithoutRequest) {
  SurfaceMesh mesh = cube();
  mesh.triangles.pop_back();
  EXPECT_TRUE(repair_surface(mesh, {}).empty());
  EXPECT_EQ(mesh.triangles.size(), 11U);
  EXPECT_TRUE(repair_surface(mesh, {.max_hole_edges = 2}).empty()) << "a hole of 3 edges is larger than requested";
}

TEST(SurfaceRepair, ReversesAnInvertedBody) {
  SurfaceMesh mesh = inside_out(cube());
  EXPECT_EQ(reorient_triangles(mesh), 12U);
  EXPECT_DOUBLE_EQ(signed_volume(mesh), 1.0);
}

/// Block 20 x 20 x 10 mm with a dished top, 1 mm deep; edges of about 1 mm.
SurfaceMesh dished_block() {
  constexpr int n = 20;
  SurfaceMesh mesh;
  const auto height = [](int i, int j) {
    const double r2 = 1e-6 * ((i - 10) * (i - 10) + (j - 10) * (j - 10));
    return r2 < 64e-6 ? 0.010 - 0.001 * (1.0 - r2 / 64e-6) : 0.010;
  };
  for (int side = 0; side < 2; ++side) {
    for (int j = 0; j <= n; ++j) {
      for (int i = 0; i <= n; ++i) mesh.vertices.emplace_back(1e-3 * i, 1e-3 * j, side == 0 ? 0.0 : height(i, j));
    }
  }
  const auto id = [](int side, int i, int j) { return static_cast<std::uint32_t>((side * (n + 1) + j) * (n + 1) + i); };
  const auto quad = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    mesh.triangles.push_back({a, b, c});
    mesh.triangles.push_back({a, c, d});
  };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      quad(id(0, i, j), id(0, i, j + 1), id(0, i + 1, j + 1), id(0, i + 1, j));
      quad(id(1, i, j), id(1, i + 1, j), id(1, i + 1, j + 1), id(1, i, j + 1));
    }
  }
  for (int i = 0; i < n; ++i) {
    quad(id(0, i, 0), id(0, i + 1, 0), id(1, i + 1, 0), id(1, i, 0));
    quad(id(0, i + 1, n), id(0, i, n), id(1, i, n), id(1, i + 1, n));
    quad(id(0, 0, i + 1), id(0, 0, i), id(1, 0, i), id(1, 0, i + 1));
    quad(id(0, n, i), id(0, n, i + 1), id(1, n, i + 1), id(1, n, i));
  }
  return mesh;
}

/// Divides the edge of a triangle from a corner to the next one in two, at `share` of its length.
void split_edge(SurfaceMesh& mesh, std::size_t t, std::size_t corner, double share) {
  const std::uint32_t a = mesh.triangles[t][corner];
  const std::uint32_t b = mesh.triangles[t][(corner + 1) % 3];
  const auto middle = static_cast<std::uint32_t>(mesh.vertices.size());
  mesh.vertices.emplace_back((1.0 - share) * mesh.vertices[a] + share * mesh.vertices[b]);
  const std::size_t n = mesh.triangles.size();
  for (std::size_t s = 0; s < n; ++s) {
    Triangle& triangle = mesh.triangles[s];
    if (std::ranges::find(triangle, a) == triangle.end() || std::ranges::find(triangle, b) == triangle.end()) continue;
    Triangle other = triangle;
    std::ranges::replace(triangle, b, middle);
    std::ranges::replace(other, a, middle);
    mesh.triangles.push_back(other);
  }
}

TEST(SliverRemoval, RemovesThinTrianglesAndMovesNoOtherVertex) {
  const SurfaceMesh clean = dished_block();
  SurfaceMesh mesh = clean;
  for (std::size_t k = 0; k < 60; ++k) {
    const std::size_t t = 25 * k + 3;
    // Needles: vertices 0.0003 mm from a corner. Caps: 0.0003 mm beside the middle of an edge.
    split_edge(mesh, t, k % 3, k % 2 == 0 ? 3e-4 : 0.5);
    if (k % 2 == 0) continue;
    const Triangle last = mesh.triangles[t];
    const auto middle = static_cast<std::uint32_t>(mesh.vertices.size() - 1);
    const auto other = std::ranges::find_if(last, [&](std::uint32_t v) { return v != middle; });
    mesh.vertices[middle] += 3e-7 * (mesh.vertices[*other] - mesh.vertices[middle]).normalized();
    split_edge(mesh, t, 0, 2e-4);
  }
  ASSERT_TRUE(check_surface(mesh).valid());
  ASSERT_LT(check_surface(mesh).min_edge_length, 5e-7);

  constexpr double thickness = 1e-5;
  const SliverOutcome outcome = remove_slivers(mesh, thickness, 2.0 * thickness);
  const SurfaceReport report = check_surface(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_TRUE(report.closed);
  EXPECT_TRUE(outcome.left.empty()) << outcome.left.size();
  EXPECT_GE(outcome.n_collapsed, 60U);
  EXPECT_GT(report.min_edge_length, thickness);
  EXPECT_LE(outcome.moved, 2.0 * thickness);
  // A layer of the distance over the whole surface bounds the change of the volume.
  EXPECT_NEAR(report.volume, check_surface(clean).volume, 2.0 * thickness * report.area);
}

TEST(SliverRemoval, KeepsRimsAndCleanSurfaces) {
  SurfaceMesh mesh = dished_block();
  const SurfaceMesh before = mesh;
  const SliverOutcome nothing = remove_slivers(mesh, 1e-5, 2e-5);
  EXPECT_EQ(nothing.n_collapsed + nothing.n_swapped, 0U);
  EXPECT_EQ(mesh.triangles, before.triangles);
  // An open strip: all its vertices lie on the rim.
  SurfaceMesh strip;
  strip.vertices = {{0, 0, 0}, {1e-6, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
  strip.triangles = {{0, 1, 3}, {1, 4, 3}, {1, 2, 4}};
  const SliverOutcome kept = remove_slivers(strip, 1e-5, 2e-5);
  EXPECT_EQ(strip.triangles.size(), 3U);
  EXPECT_EQ(kept.left.size(), 1U) << "reported, not hidden";
  EXPECT_THROW((void)remove_slivers(strip, 0.0, 1.0), Error);
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
