// Surfaces with sharp edges: boxes, wedges, pyramids and L-shapes of few or many triangles, on planes and on each other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "common/contact/preparation.hpp"
#include "common/surfaces/block.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

std::unique_ptr<ContactBackend> made(PairSpec pair, const Assets& assets) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, assets.context());
}

Response asked(const ContactBackend& backend, const Pose& X_AB) {
  PairState state;
  state.X_AB = X_AB;
  return backend.evaluate(*backend.initial_history(), state);
}

constexpr double h = 0.008;  // [m] layer of layer_pair
const double stiffness = LayerLaw::confined(0.46) * 463e6 / h;  // [Pa/m]
const Surface floor_plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};

/// A face, convex, seen from outside its corners run anticlockwise.
using Polygon = std::vector<Vector3>;

Vector3 normal_of(const Polygon& face) {
  return (face[1] - face[0]).cross(face[2] - face[0]).normalized();
}

/// Faces of a prism over a polygon in the plane of x and z, from -width / 2 to width / 2 along y. The polygon runs
/// anticlockwise seen from -y; its ends are given as convex parts.
std::vector<Polygon> prism(const std::vector<std::array<double, 2>>& outline,
                           const std::vector<std::vector<std::size_t>>& ends, double width) {
  const auto at = [&](std::size_t i, double side) {
    return Vector3(outline[i % outline.size()][0], 0.5 * side * width, outline[i % outline.size()][1]);
  };
  std::vector<Polygon> faces;
  for (std::size_t i = 0; i < outline.size(); ++i) faces.push_back({at(i, -1), at(i, 1), at(i + 1, 1), at(i + 1, -1)});
  for (const auto& part : ends) {
    Polygon front, back;
    for (const std::size_t i : part) {
      front.push_back(at(i, -1));
      back.insert(back.begin(), at(i, 1));
    }
    faces.push_back(front);
    faces.push_back(back);
  }
  return faces;
}

std::vector<Polygon> box(const Vector3& lengths) {
  const double x = 0.5 * lengths.x(), z = 0.5 * lengths.z();
  return prism({{-x, -z}, {x, -z}, {x, z}, {-x, z}}, {{0, 1, 2, 3}}, lengths.y());
}

/// Edges at the bottom cut at 45 degrees.
std::vector<Polygon> chamfered() {
  return prism({{-0.008, -0.01}, {0.008, -0.01}, {0.01, -0.008}, {0.01, 0.01}, {-0.01, 0.01}, {-0.01, -0.008}},
               {{0, 1, 2, 3, 4, 5}}, 0.02);
}

/// With an edge that is concave.
std::vector<Polygon> l_shaped() {
  return prism({{-0.01, -0.01}, {0.0, -0.01}, {0.0, -0.004}, {0.01, -0.004}, {0.01, 0.01}, {-0.01, 0.01}},
               {{0, 1, 2, 5}, {2, 3, 4, 5}}, 0.02);
}

/// On its tip, whose four sides rise by that angle [rad].
std::vector<Polygon> pyramid(double angle) {
  const double a = 0.01, z = a * std::tan(angle) - 0.01;
  const Vector3 tip(0, 0, -0.01);
  const std::array<Vector3, 4> top{Vector3(-a, -a, z), Vector3(a, -a, z), Vector3(a, a, z), Vector3(-a, a, z)};
  std::vector<Polygon> faces{{top[0], top[1], top[2], top[3]}};
  for (std::size_t i = 0; i < 4; ++i) faces.push_back({tip, top[(i + 1) % 4], top[i]});
  return faces;
}

/// Round, on its tip, with so many sides: no edge between two of them is sharp, only the tip is.
std::vector<Polygon> cone(double angle, int sides) {
  const double a = 0.01, z = a * std::tan(angle) - 0.01;
  const Vector3 tip(0, 0, -0.01), centre(0, 0, z);
  std::vector<Polygon> faces;
  for (int i = 0; i < sides; ++i) {
    const auto at = [&](int k) {
      const double phi = 2.0 * std::numbers::pi * k / sides;
      return Vector3(a * std::cos(phi), a * std::sin(phi), z);
    };
    faces.push_back({tip, at(i + 1), at(i)});
    faces.push_back({centre, at(i), at(i + 1)});
  }
  return faces;
}

/// Each face as a fan, each triangle of which is cut into n x n; grown towards one corner by `grading` (1 = even).
std::vector<std::array<Vector3, 3>> triangles_of(const std::vector<Polygon>& faces, int n, double grading = 1.0) {
  std::vector<std::array<Vector3, 3>> triangles;
  for (const Polygon& face : faces) {
    for (std::size_t k = 1; k + 1 < face.size(); ++k) {
      const auto at = [&](int i, int j) {
        const double u = std::pow(static_cast<double>(i + j) / n, grading);
        const double v = i + j == 0 ? 0.0 : static_cast<double>(j) / (i + j);
        const Vector3 p = face[0] + u * ((1.0 - v) * (face[k] - face[0]) + v * (face[k + 1] - face[0]));
        // Neighbours have the same vertices, bit for bit.
        return Vector3((p * 0x1p46).array().round() * 0x1p-46);
      };
      for (int i = 0; i < n; ++i) {
        for (int j = 0; i + j < n; ++j) {
          triangles.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
          if (i + j + 1 < n) triangles.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
        }
      }
    }
  }
  return triangles;
}

/// What lies below z = 0.
Polygon below(const Polygon& polygon) {
  Polygon kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Vector3& p = polygon[i];
    const Vector3& q = polygon[(i + 1) % polygon.size()];
    if (p.z() < 0.0) kept.push_back(p);
    if ((p.z() < 0.0) != (q.z() < 0.0)) kept.push_back(p + p.z() / (p.z() - q.z()) * (q - p));
  }
  return kept;
}

struct Exact {
  double force = 0.0;   ///< [N] upwards
  double energy = 0.0;  ///< [J]
};

/// Springs everywhere on the faces, along their normals, over the plane z = 0: the depth over the cosine c of the face
/// to the plane, shortened by (2 r^2 - r^4), r = 10 c, where c is below a tenth.
Exact exact(const std::vector<Polygon>& faces, const Pose& X_WB) {
  Exact sum;
  for (const Polygon& face : faces) {
    const double c = -(X_WB.R * normal_of(face)).z();
    if (!(c > 0.0)) continue;
    const double r = std::min(1.0, 10.0 * c);
    const double longer = (2.0 * r * r - r * r * r * r) / c;
    Polygon turned;
    for (const Vector3& p : face) turned.push_back(X_WB * p);
    const Polygon pressed = below(turned);
    for (std::size_t k = 1; k + 1 < pressed.size(); ++k) {
      const double area = 0.5 * (pressed[k] - pressed[0]).cross(pressed[k + 1] - pressed[0]).norm();
      const Vector3 z(pressed[0].z(), pressed[k].z(), pressed[k + 1].z());
      sum.force -= stiffness * longer * longer * area * z.sum() / 3.0;
      sum.energy += stiffness * longer * longer * area / 24.0 * (z.squaredNorm() + z.sum() * z.sum());
    }
  }
  return sum;
}

/// Lowest corner `depth` below the plane z = 0.
Pose pressed_by(const std::vector<Polygon>& faces, const Matrix3& R, double depth) {
  double low = 1e9;
  for (const Polygon& face : faces) {
    for (const Vector3& p : face) low = std::min(low, (R * p).z());
  }
  return {.R = R, .p = {0.0021, -0.0013, -depth - low}};
}

const std::vector<std::pair<std::string, std::vector<Polygon>>>& shapes() {
  static const std::vector<std::pair<std::string, std::vector<Polygon>>> all{
      {"cube", box({0.02, 0.02, 0.02})},      {"plank", box({0.06, 0.02, 0.004})},
      {"chamfered", chamfered()},             {"l_shaped", l_shaped()},
      {"steep_pyramid", pyramid(0.9)},        {"flat_pyramid", pyramid(0.3)},
      {"cone", cone(0.6, 40)},                {"hexagonal", cone(0.5, 6)}};
  return all;
}

// A cube as a CAD program writes it, 12 triangles, and cut finer: k A d for springs at vertices and in centres, with
// interpolated normals and those of facets. Averaged over its edges, normals gave 1.59 times the force and sqrt(3) the
// peak.
TEST(Creases, CubePressedFlat) {
  const auto faces = box({0.1, 0.1, 0.1});
  for (const int n : {1, 3, 4}) {
    for (const double grading : {1.0, 1.7}) {
      Assets assets;
      assets.add("cube", triangles_of(faces, n, grading));
      for (const std::string springs : {"vertices", "centres"}) {
        for (const std::string normals : {"interpolated", "facets"}) {
          for (const std::string penetration : {"ray", "nearest"}) {
            const auto backend = made(layer_pair(mesh_named("cube"), floor_plane,
                                                 {{"springs", springs}, {"normals", normals}, {"penetration", penetration}}),
                                      assets);
            for (const double depth : {1e-6, 1e-4, 1e-3}) {
              const Response r = asked(*backend, Pose{.p = {0.003, 0.001, depth - 0.05}});
              const std::string what = fmt::format("{} {} {} n {} depth {}", springs, normals, penetration, n, depth);
              EXPECT_NEAR(r.F_A.force.z() / (stiffness * 0.01 * depth), 1.0, 1e-9) << what;
              EXPECT_NEAR(r.peak_pressure / (stiffness * depth), 1.0, 1e-9) << what;
              EXPECT_NEAR(r.area / 0.01, 1.0, 1e-9) << what;
              EXPECT_NEAR(r.F_A.force.head<2>().norm(), 0.0, 1e-9 * r.F_A.force.z()) << what;
            }
          }
        }
      }
    }
  }
}

// The edge of a cube of 0.2 m, turned by 30 degrees about it, 5 mm deep in layers of 50 mm, E = 1 MPa, nu = 0.3: faces
// that rise by a and b press with k L d^2 / 2 (1 / (cos^2 a sin a) + 1 / (cos^2 b sin b)), 490.35 N. Twelve triangles
// were refused, finer ones answered 263 to 1703 N.
TEST(Creases, CubeOnItsEdge) {
  const double a = std::numbers::pi / 6.0, b = std::numbers::pi / 3.0, L = 0.2, d = 0.005;
  const double k = LayerLaw::confined(0.3) * 1e6 / 0.05;
  const auto of = [](double angle) { return 1.0 / (std::pow(std::cos(angle), 2) * std::sin(angle)); };
  const double F = k * L * d * d / 2.0 * (of(a) + of(b));
  EXPECT_NEAR(F, 490.4, 0.1);
  const auto faces = box({0.2, 0.2, 0.2});
  for (const int n : {1, 2, 5, 10}) {
    Assets assets;
    assets.add("cube", triangles_of(faces, n));
    PairSpec pair = layer_pair(mesh_named("cube"), floor_plane, {{"thickness", 0.05}});
    pair.main.materials = {material(1e6, 0.3)};
    const Pose X_WC = pressed_by(faces, rotation_from_vector({a, 0, 0}), d);
    const Response r = asked(*made(pair, assets), X_WC.inverse());
    EXPECT_NEAR((X_WC.R * r.F_A.force).z() / F, 1.0, 1e-9) << n;
  }
}

// Any pose of any shape, of few triangles and of many: over a plane depths are linear over faces, so that what triangles
// sum is exact whatever their size.
TEST(Creases, AnyShapeInAnyPose) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (const auto& [name, faces] : shapes()) {
    for (const int n : {1, 3}) {
      Assets assets;
      assets.add("shape", triangles_of(faces, n, n == 1 ? 1.0 : 1.4));
      const auto backend = made(layer_pair(mesh_named("shape"), floor_plane), assets);
      for (int i = 0; i < 60; ++i) {
        // A third of the poses near flat, where side walls are steep.
        const double turn = i % 3 == 0 ? 0.1 * unit(random) : 3.0;
        const Matrix3 R = rotation_from_vector(turn * Vector3(normal(random), normal(random), normal(random)));
        const Pose X_WC = pressed_by(faces, R, 2e-4 * unit(random));
        const Exact right = exact(faces, X_WC);
        const Response r = asked(*backend, X_WC.inverse());
        EXPECT_NEAR((X_WC.R * r.F_A.force).z() / right.force, 1.0, 1e-7) << name << " n " << n << " pose " << i;
        EXPECT_NEAR(r.stored_energy / right.energy, 1.0, 1e-7) << name << " n " << n << " pose " << i;
      }
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
