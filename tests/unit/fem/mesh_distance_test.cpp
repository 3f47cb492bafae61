// The signed distance to a triangle mesh, compared with a loop over all its triangles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

/// A block with a triangulated surface: faces, edges and corners, closed.
SurfaceMesh block_surface() {
  return boundary_surface(test::block_mesh({-0.02, -0.02, -0.01}, {0.02, 0.02, 0.01}, 5, 4, 3)).surface;
}

std::vector<Vector3> points_around() {
  std::vector<Vector3> points;
  for (int i = 0; i < 2000; ++i)
    points.emplace_back(3e-5 * i - 0.03, 0.0037 * (i % 17) - 0.03, 0.0051 * (i % 11) - 0.025);
  for (const double s : {-1.0, 1.0}) {  // directly outside of corners and edges, and on the surface
    points.emplace_back(s * 0.03, s * 0.03, s * 0.02);
    points.emplace_back(s * 0.03, s * 0.03, 0.001);
    points.emplace_back(s * 0.02, s * 0.02, s * 0.01);
    points.emplace_back(0.0031, 0.0017, s * 0.01);
    points.emplace_back(0.0031, 0.0017, s * (0.01 + 1e-12));
  }
  return points;
}

/// The smallest index of the nearest triangles, and its nearest point.
std::pair<std::size_t, Vector3> nearest(const SurfaceMesh& mesh, const Vector3& q) {
  std::pair<std::size_t, Vector3> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const Triangle& c = mesh.triangles[t];
    const Vector3 point = closest_on_triangle(q, mesh.vertices[c[0]], mesh.vertices[c[1]], mesh.vertices[c[2]]);
    if ((q - point).squaredNorm() >= least) continue;
    least = (q - point).squaredNorm();
    best = {t, point};
  }
  return best;
}

/// Pseudonormals by definition: weights are angles at vertices, and equal for the faces of an edge [baerentzen2005].
class Pseudonormals {
 public:
  explicit Pseudonormals(const SurfaceMesh& mesh) : mesh_(mesh), of_vertex_(mesh.vertices.size(), Vector3::Zero()) {
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      const Triangle& c = mesh.triangles[t];
      const Vector3 face = triangle_cross(mesh, t).normalized();
      for (std::size_t k = 0; k < 3; ++k) {
        const Vector3 a = (mesh.vertices[c[(k + 1) % 3]] - mesh.vertices[c[k]]).normalized();
        const Vector3 b = (mesh.vertices[c[(k + 2) % 3]] - mesh.vertices[c[k]]).normalized();
        of_vertex_[c[k]] += std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * face;
        of_edge_.try_emplace(std::minmax(c[k], c[(k + 1) % 3]), Vector3::Zero()).first->second += face;
      }
    }
  }
  [[nodiscard]] Vector3 at(std::size_t t, const Vector3& point) const {
    const Triangle& c = mesh_.triangles[t];
    const Vector3 cross = triangle_cross(mesh_, t);
    Vector3 weights;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3 p = mesh_.vertices[c[(k + 1) % 3]] - point;
      const Vector3 q = mesh_.vertices[c[(k + 2) % 3]] - point;
      weights[static_cast<Eigen::Index>(k)] = p.cross(q).dot(cross) / cross.squaredNorm();
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (weights[static_cast<Eigen::Index>(k)] > 1.0 - 1e-9) return of_vertex_[c[k]].normalized();
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (weights[static_cast<Eigen::Index>(k)] >= 1e-9) continue;
      return of_edge_.at(std::minmax(c[(k + 1) % 3], c[(k + 2) % 3])).normalized();
    }
    return cross.normalized();
  }

 private:
  const SurfaceMesh& mesh_;
  std::vector<Vector3> of_vertex_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Vector3> of_edge_;
};

TEST(MeshDistance, EqualsThatToAllTrianglesBitForBit) {
  const SurfaceMesh mesh = block_surface();
  const auto distance = mesh_distance(mesh);
  const Pseudonormals normals(mesh);
  int inside = 0;
  for (const Vector3& q : points_around()) {
    const auto [t, point] = nearest(mesh, q);
    const Vector3 away = q - point;
    const Vector3 pseudonormal = normals.at(t, point);
    const double gap = (away.dot(pseudonormal) < 0.0 ? -1.0 : 1.0) * std::sqrt(away.squaredNorm());
    const SurfacePoint found = distance->closest(q);
    ASSERT_EQ(found.gap, gap) << q.transpose();
    // Away from the surface the normal is the direction to the closest point.
    const Vector3 normal =
        std::abs(gap) > 1e-8 ? Vector3((gap < 0.0 ? -1.0 : 1.0) / std::abs(gap) * away) : pseudonormal;
    ASSERT_EQ(found.normal, normal) << q.transpose();
    inside += gap < 0.0 ? 1 : 0;
  }
  EXPECT_GT(inside, 20);
}

TEST(MeshDistance, GapsOfFarPointsAreBounds) {
  const auto distance = mesh_distance(block_surface());
  int bounds = 0;
  for (const Vector3& q : points_around()) {
    const double exact = distance->closest(q).gap;
    for (const double reach : {0.0, 0.004}) {
      const double gap = distance->gap(q, reach);
      ASSERT_LE(gap, exact) << q.transpose();
      if (gap == exact) continue;
      ASSERT_GT(gap, reach) << "within reach it is the gap itself; " << q.transpose();
      ++bounds;
    }
  }
  EXPECT_GT(bounds, 500) << "outside of the box around the mesh nothing is searched";
}

TEST(MeshDistance, AcceptsAnOpenSurfaceWithoutForceBesideIt) {
  const auto open = mesh_distance(test::ball_cap(0.02, -0.005));
  const double sag = 0.02 * (1.0 - std::cos(std::numbers::pi / 20));  // of the coarsest facets, about
  // Below the cap outside, above it inside, at the distance of the ball.
  EXPECT_NEAR(open->closest({0.001, 0.002, -0.025}).gap, std::hypot(0.001, 0.002, 0.025) - 0.02, sag);
  EXPECT_NEAR(open->closest({0.001, 0.002, -0.019}).gap, std::hypot(0.001, 0.002, 0.019) - 0.02, sag);
  EXPECT_LT(open->closest({0.001, 0.002, -0.019}).gap, 0.0);
  EXPECT_EQ(open->gap({0.001, 0.002, -0.019}, 0.0), open->closest({0.001, 0.002, -0.019}).gap);
  // Behind the sheet, outside of its bounding box: no lower bound may be positive there.
  EXPECT_LT(open->gap({0.0, 0.0, -0.004}, 0.0), 0.0);
  // Beside the rim, behind the cone of its normals: the unsigned distance.
  const SurfacePoint beside = open->closest({0.021, 0.0, -0.004});
  EXPECT_GT(beside.gap, 0.0);
  EXPECT_FALSE(open->is_distance()) << "the gap jumps beside the rim";
  EXPECT_TRUE(mesh_distance(block_surface())->is_distance());
}

TEST(MeshDistance, RejectsOtherDefectsThanOpenEdges) {
  SurfaceMesh twice = test::ball_cap(0.02, -0.005);
  twice.triangles.push_back(twice.triangles.front());
  EXPECT_THROW((void)mesh_distance(twice), Error);
  EXPECT_THROW((void)mesh_distance(SurfaceMesh{}), Error);
}

}  // namespace
}  // namespace heelstrike::fem
