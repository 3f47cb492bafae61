// Random convex bodies with edges of any sharpness, overlapping or apart, against their separating axes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fem_server/geometry/triangle_tree.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

/// The convex hull of a few points.
struct Polyhedron {
  std::vector<Vector3> vertices;
  std::vector<std::array<std::size_t, 3>> triangles;  ///< counter-clockwise from outside
  std::vector<Vector3> normals;                       ///< [-] one per plane
  std::vector<std::array<std::size_t, 2>> edges;
  std::vector<double> edge_angles;  ///< [rad] between the normals of their faces
};

/// Corners of one face, counter-clockwise about its normal.
std::vector<std::size_t> in_order(const std::vector<Vector3>& vertices, std::vector<std::size_t> face,
                                  const Vector3& n) {
  Vector3 middle = Vector3::Zero();
  for (const std::size_t i : face) middle += vertices[i] / static_cast<double>(face.size());
  const Vector3 x = n.unitOrthogonal(), y = n.cross(x);
  std::ranges::sort(face, {}, [&](std::size_t i) {
    const Vector3 arm = vertices[i] - middle;
    return std::atan2(arm.dot(y), arm.dot(x));
  });
  return face;
}

/// By trying all planes through three points.
Polyhedron hull_of(const std::vector<Vector3>& points) {
  constexpr double on_plane = 1e-9;
  Polyhedron body{.vertices = points, .triangles = {}, .normals = {}, .edges = {}, .edge_angles = {}};
  std::map<std::array<std::size_t, 2>, std::vector<Vector3>> faces_of_edge;
  const std::size_t n = points.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = j + 1; k < n; ++k) {
        if (i == j || i == k) continue;
        const Vector3 normal = (points[j] - points[i]).cross(points[k] - points[i]).normalized();
        const auto above = [&](const Vector3& p) { return normal.dot(p - points[i]); };
        if (std::ranges::any_of(points, [&](const Vector3& p) { return above(p) > on_plane; })) continue;
        if (std::ranges::any_of(body.normals, [&](const Vector3& m) { return (m - normal).norm() < on_plane; }))
          continue;
        std::vector<std::size_t> face;
        for (std::size_t v = 0; v < n; ++v) {
          if (above(points[v]) > -on_plane) face.push_back(v);
        }
        face = in_order(points, face, normal);
        body.normals.push_back(normal);
        for (std::size_t v = 0; v < face.size(); ++v) {
          if (v >= 2) body.triangles.push_back({face[0], face[v - 1], face[v]});
          const std::size_t a = face[v], b = face[(v + 1) % face.size()];
          faces_of_edge[{std::min(a, b), std::max(a, b)}].push_back(normal);
        }
      }
    }
  }
  for (const auto& [edge, faces] : faces_of_edge) {
    body.edges.push_back(edge);
    body.edge_angles.push_back(std::acos(std::clamp(faces[0].dot(faces[1]), -1.0, 1.0)));
  }
  return body;
}

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double unit() { return static_cast<double>(generator_()) / 4294967296.0; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  Vector3 any() { return {between(-1.0, 1.0), between(-1.0, 1.0), between(-1.0, 1.0)}; }
  Matrix3 rotation() { return Eigen::AngleAxisd(std::numbers::pi * unit(), any().normalized()).toRotationMatrix(); }

 private:
  std::mt19937 generator_;
};

Polyhedron tetrahedron(Random& random) {
  return hull_of({0.06 * random.any(), 0.06 * random.any(), 0.06 * random.any(), 0.06 * random.any()});
}

/// A wedge whose faces at the edge along y include 20 to 89 degrees.
Polyhedron wedge(Random& random) {
  const double angle = random.between(20.0, 89.0) * std::numbers::pi / 180.0, half = random.between(0.02, 0.08);
  const double one = random.between(0.04, 0.1), other = random.between(0.04, 0.1);
  std::vector<Vector3> points;
  for (const double y : {-half, half}) {
    points.insert(points.end(), {{0.0, y, 0.0}, {one, y, 0.0}, {other * std::cos(angle), y, other * std::sin(angle)}});
  }
  return hull_of(points);
}

/// A pyramid on three to six corners; high and narrow ones are needles.
Polyhedron pyramid(Random& random, double radius, double height) {
  const int n = 3 + static_cast<int>(3.999 * random.unit());
  std::vector<Vector3> points{{0.0, 0.0, height}};
  for (int i = 0; i < n; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / n;
    points.emplace_back(radius * std::cos(angle), radius * std::sin(angle), 0.0);
  }
  return hull_of(points);
}

/// A box without one corner.
Polyhedron cut_box(Random& random) {
  const Vector3 half = Vector3(0.025, 0.025, 0.025) + 0.05 * random.any().cwiseAbs();
  const Vector3 cut = half.cwiseProduct(Vector3(1.0, 1.0, 1.0) + 0.4 * random.any());
  std::vector<Vector3> points;
  for (int i = 0; i < 7; ++i) {
    points.push_back(half.cwiseProduct(Vector3(i & 1 ? 1.0 : -1.0, i & 2 ? 1.0 : -1.0, i & 4 ? 1.0 : -1.0)));
  }
  for (Eigen::Index axis = 0; axis < 3; ++axis) points.emplace_back(half - cut[axis] * Vector3::Unit(axis));
  return hull_of(points);
}

/// [rad] Flatter edges count as none, and rounding.
constexpr double flat = 1.1e-3;

/// One of the kinds above, with sharp edges only.
Polyhedron any_body(Random& random) {
  for (;;) {
    const double kind = random.unit();
    Polyhedron body = kind < 0.3   ? tetrahedron(random)
                      : kind < 0.5 ? wedge(random)
                      : kind < 0.7 ? pyramid(random, random.between(0.03, 0.08), random.between(0.02, 0.1))
                      : kind < 0.8 ? pyramid(random, random.between(0.006, 0.012), random.between(0.08, 0.15))
                                   : cut_box(random);
    const bool is_thick = std::ranges::all_of(body.normals, [&](const Vector3& n) {
      double low = 0.0, high = 0.0;
      for (const Vector3& p : body.vertices) {
        low = std::min(low, n.dot(p - body.vertices[0]));
        high = std::max(high, n.dot(p - body.vertices[0]));
      }
      return high - low > 0.008;
    });
    if (is_thick && std::ranges::all_of(body.edge_angles, [](double angle) { return angle > flat; })) return body;
  }
}

std::string obj_of(const Polyhedron& body) {
  std::string text;
  for (const Vector3& p : body.vertices) text += fmt::format("v {:.17g} {:.17g} {:.17g}\n", p.x(), p.y(), p.z());
  for (const auto& t : body.triangles) text += fmt::format("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
  return text;
}

/// Files by name.
using Files = std::map<std::string, AssetContent>;

Surface mesh_in(Files& files, const std::string& name, const Polyhedron& body) {
  files[name] = {.sha256 = {}, .name = name, .content = obj_of(body)};
  MeshSurface surface;
  surface.asset_name = name;
  return surface;
}

std::unique_ptr<ContactBackend> backend_of(const Surface& main, const Surface& partner, const Files& files) {
  const PairSpec pair{.name = "pair",
                      .backend = "rigid",
                      .parameters = {},
                      .main = {.name = "A", .surface = main, .materials = {}},
                      .partner = {.name = "B", .surface = partner, .materials = {}}};
  PrepareContext context = testing_support::no_context();
  context.asset = [&](const AssetKey& key) -> const AssetContent& { return files.at(key.name); };
  return make_backend(pair, context);
}

std::unique_ptr<ContactBackend> backend_of(const Polyhedron& A, const Polyhedron& B) {
  Files files;
  const Surface main = mesh_in(files, "A.obj", A), partner = mesh_in(files, "B.obj", B);
  return backend_of(main, partner, files);
}

std::unique_ptr<ContactBackend> backend_of(const Polyhedron& A, const CylinderSurface& B) {
  Files files;
  const Surface main = mesh_in(files, "A.obj", A);
  return backend_of(main, B, files);
}

std::vector<Vector3> vertices_at(const Polyhedron& body, const Pose& X) {
  std::vector<Vector3> moved;
  for (const Vector3& p : body.vertices) moved.push_back(X * p);
  return moved;
}

/// The smallest motion of B that separates the bodies, negative if one of the axes that may separate them does.
double smallest_overlap(const Polyhedron& A, const Polyhedron& B, const Pose& X_AB) {
  const std::vector<Vector3> of_B = vertices_at(B, X_AB);
  double overlap = std::numeric_limits<double>::infinity();
  const auto check = [&](const Vector3& axis) {
    const double length = axis.norm();
    if (length < 1e-9) return;
    double low_A = std::numeric_limits<double>::infinity(), high_A = -low_A, low_B = low_A, high_B = -low_A;
    for (const Vector3& p : A.vertices) {
      low_A = std::min(low_A, axis.dot(p));
      high_A = std::max(high_A, axis.dot(p));
    }
    for (const Vector3& p : of_B) {
      low_B = std::min(low_B, axis.dot(p));
      high_B = std::max(high_B, axis.dot(p));
    }
    overlap = std::min({overlap, (high_A - low_B) / length, (high_B - low_A) / length});
  };
  for (const Vector3& n : A.normals) check(n);
  for (const Vector3& n : B.normals) check(X_AB.R * n);
  for (const auto& [a, b] : A.edges) {
    const Vector3 d = (A.vertices[b] - A.vertices[a]).normalized();
    for (const auto& [c, e] : B.edges) check(d.cross((of_B[e] - of_B[c]).normalized()));
  }
  return overlap;
}

double distance_of_segments(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& e) {
  const Vector3 d = b - a, f = e - c, r = a - c;
  const double dd = d.dot(d), ff = f.dot(f), df = d.dot(f), determinant = dd * ff - df * df;
  double s = determinant > 1e-12 * dd * ff ? std::clamp((df * f.dot(r) - d.dot(r) * ff) / determinant, 0.0, 1.0) : 0.0;
  const double t = std::clamp((df * s + f.dot(r)) / ff, 0.0, 1.0);
  s = std::clamp((df * t - d.dot(r)) / dd, 0.0, 1.0);
  return (r + s * d - t * f).norm();
}

/// Of bodies apart: the smallest distance of any corner from a triangle or of two edges.
double distance_between(const Polyhedron& A, const Polyhedron& B, const Pose& X_AB) {
  const std::vector<Vector3> of_B = vertices_at(B, X_AB);
  double distance = std::numeric_limits<double>::infinity();
  const auto corners = [&](const std::vector<Vector3>& points, const Polyhedron& body,
                           const std::vector<Vector3>& vertices) {
    for (const Vector3& p : points) {
      for (const auto& [i, j, k] : body.triangles) {
        distance = std::min(distance, (p - closest_on_triangle(p, vertices[i], vertices[j], vertices[k])).norm());
      }
    }
  };
  corners(A.vertices, B, of_B);
  corners(of_B, A, A.vertices);
  for (const auto& [a, b] : A.edges) {
    for (const auto& [c, e] : B.edges) {
      distance = std::min(distance, distance_of_segments(A.vertices[a], A.vertices[b], of_B[c], of_B[e]));
    }
  }
  return distance;
}

/// B moved along a random direction until the bodies overlap by `depth` [m].
Pose overlapping(const Polyhedron& A, const Polyhedron& B, double depth, Random& random) {
  Pose X_AB{.R = random.rotation(), .p = Vector3::Zero()};
  const auto centre = [](const Polyhedron& body) {
    Vector3 sum = Vector3::Zero();
    for (const Vector3& p : body.vertices) sum += p / static_cast<double>(body.vertices.size());
    return sum;
  };
  const Vector3 start = centre(A) - X_AB.R * centre(B), path = random.any().normalized();
  double far = 0.5, near = 0.0;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (far + near);
    X_AB.p = start + middle * path;
    (smallest_overlap(A, B, X_AB) > depth ? near : far) = middle;
  }
  return X_AB;
}

/// Poses between bodies of two kinds: gaps and depths of 10 nm to 1 mm.
void expect_separating_axes(unsigned seed, int n_shapes, int poses_per_shape) {
  Random random(seed);
  int in_contact = 0, apart = 0;
  for (int shape = 0; shape < n_shapes; ++shape) {
    const Polyhedron A = any_body(random), B = any_body(random);
    const auto backend = backend_of(A, B);
    const auto history = backend->initial_history();
    for (int i = 0; i < poses_per_shape; ++i) {
      const double size = std::pow(10.0, random.between(-8.0, -3.0));
      PairState state;
      state.X_AB = overlapping(A, B, random.unit() < 0.2 ? -size : size, random);
      const double overlap = smallest_overlap(A, B, state.X_AB);
      const Response r = backend->evaluate(*history, state);
      const double expected = overlap > 0.0 ? -overlap : distance_between(A, B, state.X_AB);
      EXPECT_NEAR(r.gap, expected, 1e-9 + 1e-6 * std::abs(expected)) << shape << " " << i;
      ++(overlap > 0.0 ? in_contact : apart);
      if (overlap > 0.0) {
        EXPECT_FALSE(r.points.empty()) << shape << " " << i;
      }
    }
  }
  EXPECT_GT(in_contact, n_shapes * poses_per_shape / 2);
  EXPECT_GT(apart, n_shapes * poses_per_shape / 10);
}

// The deepest point is the penetration depth, for points of deeper facets of the Minkowski difference do not exist; the
// gap of bodies apart is their distance.
TEST(Rigid, TenThousandPairsOfPolyhedraAgreeWithTheirSeparatingAxes) {
  expect_separating_axes(17, 500, 20);
}

/// A prism along y with a section of four corners in x and z, of which the third is concave: an arrowhead of 30 degrees
/// with its tip in the origin, pointing down, leaning about y by `lean` [rad].
Polyhedron arrowhead(double lean) {
  const double half = std::numbers::pi / 12.0, side = 0.1;
  const auto at = [&](double length, double angle) {
    return Vector3(length * std::sin(angle), 0.0, length * std::cos(angle));
  };
  const std::array<Vector3, 4> section{Vector3(0.0, 0.0, 0.0), at(side, lean - half), at(0.5 * side, lean),
                                       at(side, lean + half)};
  Polyhedron body{.vertices = {}, .triangles = {}, .normals = {}, .edges = {}, .edge_angles = {}};
  for (const double y : {-0.1, 0.1}) {
    for (const Vector3& p : section) body.vertices.push_back(p + y * Vector3::UnitY());
  }
  body.triangles = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t j = (i + 1) % 4;
    body.triangles.push_back({i, j, j + 4});
    body.triangles.push_back({i, j + 4, i + 4});
  }
  return body;
}

// Two edges of 30 degrees of bodies that are not convex, crosswise and leaning so far that each point lies outside the
// other body: the overlap is that along the common normal. Where one edge ends before the other there is none.
TEST(Rigid, SharpEdgesOfBodiesThatAreNotConvexCross) {
  for (const double lean : {0.0, 0.5, 1.0, -1.0}) {
    const auto backend = backend_of(arrowhead(lean), arrowhead(-lean));
    // A about y, upside down; B about y too, then rotated by 90 degrees about z.
    const Matrix3 R_WA = Eigen::AngleAxisd(std::numbers::pi, Vector3::UnitX()).toRotationMatrix();
    const Matrix3 R_WB = Eigen::AngleAxisd(0.5 * std::numbers::pi, Vector3::UnitZ()).toRotationMatrix();
    for (const double gap : {1e-3, 1e-5, -1e-7, -1e-5, -1e-4}) {
      for (const double along : {0.0, 0.05, 0.11}) {
        PairState state;
        state.X_AB = {.R = R_WA.transpose() * R_WB, .p = R_WA.transpose() * Vector3(0.0, along, gap)};
        const Response r = backend->evaluate(*backend->initial_history(), state);
        const std::string where = fmt::format("lean {} gap {} along {}", lean, gap, along);
        if (along > 0.1) {
          EXPECT_GT(r.gap, 1e-3) << where;
          continue;
        }
        EXPECT_NEAR(r.gap, gap, 1e-12) << where;
        if (gap > 5e-5) continue;
        ASSERT_EQ(r.points.size(), 1U) << where;
        EXPECT_NEAR((R_WA * r.points[0].n_A).z(), 1.0, 1e-12) << where;
      }
    }
  }
}

/// [m] how far a polyhedron and a cylinder about z of B overlap along the unit vector n out of the polyhedron.
double overlap_along(const Vector3& n, const Polyhedron& A, const CylinderSurface& B, const Pose& X_AB) {
  double high = -std::numeric_limits<double>::infinity();
  for (const Vector3& p : A.vertices) high = std::max(high, n.dot(p));
  const double along = n.dot(X_AB.R.col(2));
  return high - n.dot(X_AB.p) + 0.5 * B.length * std::abs(along) +
         B.radius * std::sqrt(std::max(0.0, 1.0 - along * along));
}

/// The cylinder with a point of its rim at a point of an edge of A, and `depth` [m] behind it along a normal of both.
Pose rim_on_edge(const Polyhedron& A, const CylinderSurface& B, double depth, Random& random) {
  const auto number = std::min(A.edges.size() - 1, static_cast<std::size_t>(random.unit() * double(A.edges.size())));
  const auto& [a, b] = A.edges[number];
  const Vector3 d = (A.vertices[b] - A.vertices[a]).normalized();
  std::vector<Vector3> faces;
  for (const Vector3& normal : A.normals) {
    const auto on_face = [&](std::size_t v) {
      return std::ranges::all_of(A.vertices, [&](const Vector3& p) { return normal.dot(p - A.vertices[v]) < 1e-9; });
    };
    if (std::abs(normal.dot(d)) < 1e-9 && on_face(a)) faces.push_back(normal);
  }
  const double share = random.between(0.02, 0.98);
  const Vector3 n = (share * faces.at(0) + (1.0 - share) * faces.at(1)).normalized();
  Pose X_AB{.R = random.rotation(), .p = Vector3::Zero()};
  const Vector3 axis = X_AB.R.col(2), radial = (n - n.dot(axis) * axis).normalized();
  const Vector3 lowest = -B.radius * radial - (n.dot(axis) > 0.0 ? 0.5 : -0.5) * B.length * axis;
  const Vector3 at = A.vertices[a] + random.between(0.1, 0.9) * (A.vertices[b] - A.vertices[a]);
  X_AB.p = at - depth * n - lowest;
  return X_AB;
}

// Rims of cylinders on edges of any sharpness, 0.1 um to 0.1 mm behind or before them: the normal of the deepest point
// is a direction in which the bodies overlap by its depth, and no deeper than along the normal of edge and rim. Where
// an edge ends within the overlap, a facet beside the nearest one may stand for it.
TEST(Rigid, RimsOnSharpEdgesAgreeWithTheirSeparatingPlanes) {
  const CylinderSurface cylinder{.radius = 0.05, .length = 0.08};
  Random random(3);
  int exact = 0;
  for (int shape = 0; shape < 200; ++shape) {
    const Polyhedron A = any_body(random);
    const auto backend = backend_of(A, cylinder);
    for (int i = 0; i < 20; ++i) {
      const double depth = (i % 4 == 0 ? -1.0 : 1.0) * std::pow(10.0, random.between(-7.0, -4.0));
      PairState state;
      state.X_AB = rim_on_edge(A, cylinder, depth, random);
      const Response r = backend->evaluate(*backend->initial_history(), state);
      EXPECT_FALSE(r.points.empty()) << shape << " " << i;
      if (r.points.empty()) continue;
      const ContactPoint& first = *std::ranges::min_element(r.points, {}, &ContactPoint::gap);
      const double overlap = overlap_along(first.n_A, A, cylinder, state.X_AB);
      EXPECT_NEAR(r.gap, -overlap, 0.1 * std::abs(overlap) + 1e-9) << shape << " " << i;
      EXPECT_GE(r.gap, -depth - 0.2 * std::abs(depth) - 1e-9) << shape << " " << i;
      if (std::abs(r.gap + overlap) < 1e-9 && r.gap > -depth - 1e-9) ++exact;
    }
  }
  EXPECT_GT(exact, 3990);
}

}  // namespace
}  // namespace heelstrike::fem
