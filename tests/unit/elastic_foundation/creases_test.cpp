// Surfaces with sharp edges: boxes, wedges, pyramids and L-shapes of few or many triangles, on planes and on each
// other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "common/contact/preparation.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "scenario/surfaces/block.hpp"
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

Response response_at(const ContactBackend& backend, const Pose& X_AB) {
  PairState state;
  state.X_AB = X_AB;
  return backend.evaluate(*backend.initial_history(), state);
}

constexpr double h = 0.008;                                                    // [m] layer of layer_pair
const double stiffness = LayerLaw::confined_modulus_factor(0.46) * 463e6 / h;  // [Pa/m]
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

/// Walls that lean outwards by 10 degrees below upright ones: no edge between them is as sharp as 16 degrees.
std::vector<Polygon> drafted() {
  const double x = 0.008 + 0.012 * std::tan(std::numbers::pi / 18.0);
  return prism({{-0.008, -0.01}, {0.008, -0.01}, {x, 0.002}, {x, 0.01}, {-x, 0.01}, {-x, 0.002}}, {{0, 1, 2, 3, 4, 5}},
               0.02);
}

/// With a concave edge.
std::vector<Polygon> l_shaped() {
  return prism({{-0.01, -0.01}, {0.0, -0.01}, {0.0, -0.004}, {0.01, -0.004}, {0.01, 0.01}, {-0.01, 0.01}},
               {{0, 1, 2, 5}, {2, 3, 4, 5}}, 0.02);
}

/// On its apex, whose four sides rise by that angle [rad].
std::vector<Polygon> pyramid(double angle) {
  const double a = 0.01, z = a * std::tan(angle) - 0.01;
  const Vector3 tip(0, 0, -0.01);
  const std::array<Vector3, 4> top{Vector3(-a, -a, z), Vector3(a, -a, z), Vector3(a, a, z), Vector3(-a, a, z)};
  std::vector<Polygon> faces{{top[0], top[1], top[2], top[3]}};
  for (std::size_t i = 0; i < 4; ++i) faces.push_back({tip, top[(i + 1) % 4], top[i]});
  return faces;
}

/// A round cone on its apex, with the given number of sides: no edge between two of them is sharp, only the apex is.
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

/// Each face as a fan, each triangle of which is divided into n x n; graded towards one corner by `grading` (1 =
/// uniform).
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

/// The part below z = 0.
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

/// Springs everywhere on the faces, along their normals, over the plane z = 0: the depth over the cosine c between face
/// and plane, reduced by the cubic t^2 (3 - 2 t), t = 20 c - 1, where c is below a tenth.
Exact exact(const std::vector<Polygon>& faces, const Pose& X_WB) {
  Exact sum;
  for (const Polygon& face : faces) {
    const double c = -(X_WB.R * normal_of(face)).z();
    if (!(c > 0.0)) continue;
    const double t = std::clamp(20.0 * c - 1.0, 0.0, 1.0);
    const double longer = t * t * (3.0 - 2.0 * t) / c;
    Polygon rotated;
    for (const Vector3& p : face) rotated.push_back(X_WB * p);
    const Polygon pressed = below(rotated);
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
Pose at_penetration(const std::vector<Polygon>& faces, const Matrix3& R, double depth) {
  double low = 1e9;
  for (const Polygon& face : faces) {
    for (const Vector3& p : face) low = std::min(low, (R * p).z());
  }
  return {.R = R, .p = {0.0021, -0.0013, -depth - low}};
}

const std::vector<std::pair<std::string, std::vector<Polygon>>>& shapes() {
  static const std::vector<std::pair<std::string, std::vector<Polygon>>> all{
      {"cube", box({0.02, 0.02, 0.02})}, {"plank", box({0.06, 0.02, 0.004})},
      {"chamfered", chamfered()},        {"drafted", drafted()},
      {"l_shaped", l_shaped()},          {"steep_pyramid", pyramid(0.9)},
      {"flat_pyramid", pyramid(0.5)},    {"hexagonal", cone(0.7, 6)}};
  return all;
}

// A cube as written by a CAD program, 12 triangles, and refined: k A d for springs at vertices and at centres, with
// interpolated normals and those of facets. Normals averaged over its edges gave 1.59 times the force and sqrt(3) the
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
            const auto backend =
                made(layer_pair(mesh_named("cube"), floor_plane,
                                {{"springs", springs}, {"normals", normals}, {"penetration", penetration}}),
                     assets);
            for (const double depth : {1e-6, 1e-4, 1e-3}) {
              const Response r = response_at(*backend, Pose{.p = {0.003, 0.001, depth - 0.05}});
              const std::string what = fmt::format("{} {} {} n {} depth {}", springs, normals, penetration, n, depth);
              EXPECT_NEAR(r.F_A.force.z() / (stiffness * 0.01 * depth), 1.0, 1e-8) << what;
              EXPECT_NEAR(r.peak_pressure / (stiffness * depth), 1.0, 1e-8) << what;
              EXPECT_NEAR(r.area / 0.01, 1.0, 1e-8) << what;
              EXPECT_NEAR(r.F_A.force.head<2>().norm(), 0.0, 1e-9 * r.F_A.force.z()) << what;
            }
          }
        }
      }
    }
  }
}

// The edge of a cube of 0.2 m, rotated by 30 degrees about it, 5 mm deep in layers of 50 mm, E = 1 MPa, nu = 0.3: faces
// at angles a and b have the force k L d^2 / 2 (1 / (cos^2 a sin a) + 1 / (cos^2 b sin b)), 490.35 N. Twelve triangles
// were rejected, finer ones gave 263 to 1703 N.
TEST(Creases, CubeOnItsEdge) {
  const double a = std::numbers::pi / 6.0, b = std::numbers::pi / 3.0, L = 0.2, d = 0.005;
  const double k = LayerLaw::confined_modulus_factor(0.3) * 1e6 / 0.05;
  const auto of = [](double angle) { return 1.0 / (std::pow(std::cos(angle), 2) * std::sin(angle)); };
  const double F = k * L * d * d / 2.0 * (of(a) + of(b));
  EXPECT_NEAR(F, 490.4, 0.1);
  const auto faces = box({0.2, 0.2, 0.2});
  for (const int n : {1, 2, 5, 10}) {
    Assets assets;
    assets.add("cube", triangles_of(faces, n));
    PairSpec pair = layer_pair(mesh_named("cube"), floor_plane, {{"thickness", 0.05}});
    pair.main.materials = {material(1e6, 0.3)};
    const Pose X_WC = at_penetration(faces, rotation_from_vector({a, 0, 0}), d);
    const Response r = response_at(*made(pair, assets), X_WC.inverse());
    EXPECT_NEAR((X_WC.R * r.F_A.force).z() / F, 1.0, 1e-9) << n;
  }
}

// Any pose of any shape, of few triangles and of many: over a plane depths are linear over faces, so that the sums over
// triangles are exact for any size.
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
        const double rotation = i % 3 == 0 ? 0.1 * unit(random) : 3.0;
        const Matrix3 R = rotation_from_vector(rotation * Vector3(normal(random), normal(random), normal(random)));
        const Pose X_WC = at_penetration(faces, R, 1e-5 + 2e-4 * unit(random));
        const Exact right = exact(faces, X_WC);
        const Response r = response_at(*backend, X_WC.inverse());
        EXPECT_NEAR((X_WC.R * r.F_A.force).z() / right.force, 1.0, 1e-7) << name << " n " << n << " pose " << i;
        EXPECT_NEAR(r.stored_energy / right.energy, 1.0, 1e-7) << name << " n " << n << " pose " << i;
      }
    }
  }
}

// An arc of a few segments is a prism; normals averaged over its edges gave up to a third more.
TEST(Creases, PrismsOfManyFaces) {
  for (const int n : {11, 12, 14, 18, 22}) {
    std::vector<std::array<double, 2>> outline;
    std::vector<std::size_t> end;
    for (int i = 0; i < n; ++i) {
      const double phi = 2.0 * std::numbers::pi * i / n;
      outline.push_back({0.02 * std::cos(phi), 0.02 * std::sin(phi)});
      end.push_back(static_cast<std::size_t>(i));
    }
    const auto faces = prism(outline, {end}, 0.03);
    Assets assets;
    assets.add("prism", triangles_of(faces, 1));
    const auto backend = made(layer_pair(mesh_named("prism"), floor_plane), assets);
    for (const double rotation : {0.0, 0.1, 0.25}) {
      const Pose X_WC = at_penetration(faces, rotation_from_vector({0, rotation, 0}), 5e-4);
      const Exact right = exact(faces, X_WC);
      const Response r = response_at(*backend, X_WC.inverse());
      EXPECT_NEAR((X_WC.R * r.F_A.force).z() / right.force, 1.0, 1e-7) << n << " faces, rotated by " << rotation;
    }
  }
}

// A plate, a block by its dimensions or a mesh of 12 triangles, acts as a plane on a body pressed into the middle of
// its face, although the rays of steep side walls pass its rim: the force was 7 and 21 N instead of 0.63 N. Rays of
// walls parallel to the plate to 0.01 rad leave it at its rim or below, with about a thousandth of the force.
TEST(Creases, APlateIsAPlane) {
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  Assets assets;
  assets.add("plate", triangles_of(box({0.08, 0.08, 0.02}), 1));
  const Surface block = BlockSurface{.lengths = {0.08, 0.08, 0.02}};
  for (const auto& [name, faces] : shapes()) {
    // Acute edges of others have faces with normals away from the plate, whose rays leave it below.
    if (name != "cube" && name != "plank" && name != "chamfered" && name != "l_shaped") continue;
    assets.add(name, triangles_of(faces, 1));
    for (const Surface& plate : {mesh_named("plate"), block}) {
      const auto backend = made(layer_pair(mesh_named(name), plate), assets);
      for (int i = 0; i < 30; ++i) {
        const double rotation = i % 3 == 0 ? 0.1 * unit(random) : i % 3 == 1 ? 0.4 * unit(random) : 3.0;
        const Matrix3 R = rotation_from_vector(rotation * Vector3(normal(random), normal(random), normal(random)));
        Pose X_WC = at_penetration(faces, R, 1e-5 + 1e-4 * unit(random));
        const Exact right = exact(faces, X_WC);
        X_WC.p.z() += 0.01;
        const bool along = std::ranges::any_of(
            faces, [&](const Polygon& face) { return std::abs((X_WC.R * normal_of(face)).z()) < 0.01; });
        const double tolerance = along ? 2e-3 : 1e-7;
        const Response r = response_at(*backend, X_WC.inverse());
        EXPECT_NEAR((X_WC.R * r.F_A.force).z() / right.force, 1.0, tolerance) << name << " pose " << i;
        EXPECT_NEAR(r.stored_energy / right.energy, 1.0, tolerance) << name << " pose " << i;
      }
    }
  }
}

// No edge between two sides of a cone of forty is a crease, but at its apex, where contact is, the mean of their
// normals represents none of them. Its rim is rounded: normals across the axis are means.
TEST(Creases, TipOfACone) {
  const auto faces = cone(0.6, 40);
  Assets assets;
  assets.add("cone", triangles_of(faces, 1));
  const auto backend = made(layer_pair(mesh_named("cone"), floor_plane), assets);
  for (const Vector3& rotated : {Vector3(0, 0, 0), Vector3(0.2, 0.1, 0), Vector3(0.4, -0.2, 0.3)}) {
    const Pose X_WC = at_penetration(faces, rotation_from_vector(rotated), 2e-4);
    const Response r = response_at(*backend, X_WC.inverse());
    EXPECT_NEAR((X_WC.R * r.F_A.force).z() / exact(faces, X_WC).force, 1.0, 0.05) << rotated.transpose();
  }
}

// Depth by depth the cap that a plane cuts off a ball, whose springs are along its normals: k times the integral of the
// depth over the cube of the cosine, over the circle. With the default triangles; flat ones of 13 mm had an error of a
// quarter at 1 mm.
TEST(Creases, BallOnAnArbitraryTriangulation) {
  constexpr double R = 0.1;
  PairSpec pair = layer_pair(SphereSurface{.radius = R, .center = Vector3::Zero()}, floor_plane, {{"thickness", 0.2}});
  pair.main.materials = {material(1e6, 0.3)};
  const auto backend = made(pair, {});
  const double k = LayerLaw::confined_modulus_factor(0.3) * 1e6 / 0.2;
  for (const double depth : {2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3}) {
    const int n = 2000;
    double F = 0.0;  // cosines from 1 down to that of the rim, in the middle of equal intervals
    for (int i = 0; i < n; ++i) {
      const double c = 1.0 - depth / R * (i + 0.5) / n;
      F += k * 2.0 * std::numbers::pi * R * R * (depth / R / n) * (R * c - R + depth) / (c * c);
    }
    double worst = 0.0;
    for (const Vector3& rotated :
         {Vector3(0, 0, 0), Vector3(0.7, 0.3, 0), Vector3(1.5, 0, 0.4), Vector3(0.2, 2.0, 1.0)}) {
      const Pose X_WC{.R = rotation_from_vector(rotated), .p = {0, 0, R - depth}};
      const Response r = response_at(*backend, X_WC.inverse());
      worst = std::max(worst, std::abs((X_WC.R * r.F_A.force).z() / F - 1.0));
    }
    fmt::print("depth {:8.2e} m: F {:.4e} N, off by up to {:.2e}\n", depth, F, worst);
    EXPECT_LT(worst, depth < 1e-3 ? 0.05 : 0.01) << depth;
  }
}

/// Lines reported by the preparation of a pair, with a mark for warnings.
std::vector<std::string> reported_lines(PairSpec pair, const Assets& assets) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  std::vector<std::string> lines;
  PrepareContext context = assets.context();
  context.on_progress = [&](std::string_view line, double) { lines.emplace_back(line); };
  (void)entry.make(pair, context);
  return lines;
}

// Prescribed triangles too large for a ball are reported with the error of the force, of both signs; those that miss it
// completely are an error with the remedy.
TEST(Creases, TrianglesTooLargeForThePartner) {
  const SphereSurface ball{.radius = 0.025, .center = Vector3::Zero()};
  const auto plane_of = [&](double refine) {
    return layer_pair(floor_plane, ball, {{"extent", 0.1}, {"refine", refine}});
  };
  try {
    (void)made(plane_of(0.0), {});
    FAIL() << "two triangles";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), "contact.knee.parameters.refine");
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("resolve the partner"),
                                         testing::HasSubstr("0.025 m in radius"), testing::HasSubstr("spring_body")));
  }
  EXPECT_THAT(reported_lines(plane_of(4.0), {}),
              testing::Contains(testing::AllOf(testing::StartsWith(warning_mark), testing::HasSubstr("may be wrong"))));
  EXPECT_THAT(reported_lines(plane_of(7.0), {}),
              testing::AllOf(testing::Not(testing::Contains(testing::StartsWith(warning_mark))),
                             testing::Contains(testing::AllOf(testing::StartsWith(note_mark),
                                                              testing::HasSubstr("resolve contact deeper")))));
  Assets assets;
  assets.add("cube", triangles_of(box({0.2, 0.2, 0.2}), 1));
  EXPECT_THROW((void)made(layer_pair(mesh_named("cube"), ball), assets), Error);
}

// A plane with springs is divided as finely as the ball requires, by default.
TEST(Creases, PlaneWithSpringsDetectsTheBall) {
  constexpr double R = 0.025, d = 8e-5;
  const auto backend =
      made(layer_pair(floor_plane, SphereSurface{.radius = R, .center = Vector3::Zero()}, {{"extent", 0.05}}), {});
  const double V = std::numbers::pi * d * d * (R - d / 3.0);
  for (const double x : {0.0, 0.0031, 0.0107}) {
    const Response r = response_at(*backend, Pose{.p = {x, -0.0043, R - d}});
    EXPECT_NEAR(-r.F_A.force.z() / (stiffness * V), 1.0, 0.05) << x;
  }
}

/// About the origin, n facets from pole to pole.
std::vector<Polygon> ball_of_facets(double radius, int n) {
  std::vector<Polygon> facets;
  const auto at = [&](int i, int j) {
    const double theta = std::numbers::pi * i / n, phi = std::numbers::pi * (j % (2 * n)) / n;
    return Vector3(radius * std::sin(theta) * std::cos(phi), radius * std::sin(theta) * std::sin(phi),
                   radius * std::cos(theta));
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      if (i > 0) facets.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
      if (i < n - 1) facets.push_back({at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)});
    }
  }
  return facets;
}

// A small ball of triangles between the springs of a plate whose other triangles are small enough for it: neither kind
// nor size reveals it in advance. Where no spring detects it, the place is reported instead of 0 N.
TEST(Creases, BallBetweenTheSprings) {
  Assets assets;
  auto plate = height_field(0.1, 1, [](double, double) { return 0.0; });
  for (auto& triangle : height_field(0.02, 40, [](double, double) { return 0.0; })) {
    for (Vector3& p : triangle) p.x() += 0.1;
    plate.push_back(triangle);
  }
  assets.add("plate", plate);
  assets.add("ball", triangles_of(ball_of_facets(0.005, 12), 1));
  const auto backend = made(layer_pair(mesh_named("plate"), mesh_named("ball")), assets);
  for (const double depth : {1e-3, 2e-4}) {
    try {
      const Response r = response_at(*backend, Pose{.p = {0.02, -0.035, 0.005 - depth}});
      ADD_FAILURE() << "answered " << r.F_A.force.z() << " N at a depth of " << depth;
    } catch (const RecoverableError& e) {
      EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("overlap"), testing::HasSubstr("refine")));
    }
  }
  EXPECT_EQ(response_at(*backend, Pose{.p = {0.02, -0.035, 0.0051}}).F_A.force.norm(), 0.0);
  EXPECT_LT(response_at(*backend, Pose{.p = {0.1, 0.0, 0.0049}}).F_A.force.z(), 0.0);
}

// A side wall beside the load faces the ball, and the rays of its springs leave it far away, where it faces them: five
// times the force of the analytic ball. Facets lie up to 15 um inside of it, and the force is quadratic in the depth.
TEST(Creases, WallBesideACurvedMesh) {
  Assets assets;
  assets.add("cube", triangles_of(box({0.1, 0.1, 0.1}), 24));
  assets.add("ball", triangles_of(ball_of_facets(0.05, 64), 1));
  const auto facets = made(layer_pair(mesh_named("cube"), mesh_named("ball")), assets);
  const auto formula =
      made(layer_pair(mesh_named("cube"), SphereSurface{.radius = 0.05, .center = Vector3::Zero()}), assets);
  for (const double beyond : {0.002, 0.005}) {  // [m] of the pole inside the wall
    for (const double tilt : {0.0, 0.02}) {
      constexpr double depth = 6e-4;
      const Pose X_WC{.R = rotation_from_vector({0.0, tilt, 0.0}),
                      .p = {0.05 - beyond, 0.003, 0.1 - depth - tilt * (0.05 - beyond)}};
      const double F = (X_WC.R * response_at(*formula, X_WC.inverse()).F_A.force).z();
      EXPECT_NEAR((X_WC.R * response_at(*facets, X_WC.inverse()).F_A.force).z() / F, 1.0, 2.0 * 15e-6 / depth)
          << beyond << " " << tilt << ": " << F;
      const Pose X_CW = X_WC.inverse();
      const Response r = response_at(*facets, X_CW);
      for (const Eigen::Index k : {1, 5}) {
        const auto moved = [&](double by) {
          const Vector6 x = by * Vector6::Unit(k);
          const Pose X{.R = rotation_from_vector(x.head<3>()) * X_CW.R, .p = X_CW.p + x.tail<3>()};
          return response_at(*facets, X);
        };
        const double step = k < 3 ? 3e-8 : 1e-9;
        const Vector6 slope = (moved(step).F_A.vector() - moved(-step).F_A.vector()) / (2.0 * step);
        EXPECT_LT((slope - r.dF_A_dX.col(k)).norm(), 1e-5 * slope.norm()) << beyond << " " << tilt << " " << k;
        const double power = (moved(step).stored_energy - moved(-step).stored_energy) / (2.0 * step);
        const Vector6 about_B = shift_wrench(r.F_A, X_CW.p).vector();
        EXPECT_NEAR(power, about_B[k], 1e-6 * about_B.norm()) << beyond << " " << tilt << " " << k;
      }
    }
  }
}

// A cube on a plate, with side walls whose rays cross the plate to its far rim; slightly rotated, over the rim, and
// with exchanged roles: faces carry k A d, side walls almost nothing.
TEST(Creases, BoxOnABox) {
  const auto cube = box({0.04, 0.04, 0.04});
  const auto plate = box({0.2, 0.2, 0.01});
  Assets assets;
  assets.add("cube", triangles_of(cube, 1));
  assets.add("fine cube", triangles_of(cube, 6));
  assets.add("plate", triangles_of(plate, 1));
  for (const std::string name : {"cube", "fine cube"}) {
    const auto backend = made(layer_pair(mesh_named(name), mesh_named("plate")), assets);
    // Deeper, the rays of the side walls through the plate to its far rim are no shorter than twenty times the depth.
    for (const double d : {5e-5, 5e-4, 1e-3, 2e-3}) {
      const double F = stiffness * 0.0016 * d;
      for (const double rotated : {0.0, 0.3, 1.2}) {
        const Pose X_WC{.R = rotation_from_vector({0, 0, rotated}), .p = {0.01, 0.03, 0.025 - d}};
        const Response r = response_at(*backend, X_WC.inverse());
        EXPECT_NEAR((X_WC.R * r.F_A.force).z() / F, 1.0, 1e-9) << name << " " << rotated << " " << d;
        EXPECT_LT((X_WC.R * r.F_A.force).head<2>().norm(), 1e-9 * F) << name << " " << rotated << " " << d;
        EXPECT_NEAR(r.peak_pressure / (stiffness * d), 1.0, 1e-9) << name << " " << rotated << " " << d;
      }
    }
  }
}

/// Central differences of wrench and energy by one component of the pose, against the tangent and the wrench.
void expect_derivatives(const ContactBackend& backend, PairState state, double tolerance) {
  const Response r = backend.evaluate(*backend.initial_history(), state);
  const Pose X_AB = state.X_AB;
  for (Eigen::Index k = 0; k < 6; ++k) {
    const double step = k < 3 ? 3e-8 : 1e-9;
    const auto moved = [&](double by) {
      const Vector6 x = by * Vector6::Unit(k);
      state.X_AB = {.R = rotation_from_vector(x.head<3>()) * X_AB.R, .p = X_AB.p + x.tail<3>()};
      return backend.evaluate(*backend.initial_history(), state);
    };
    const Response ahead = moved(step), back = moved(-step);
    const Vector6 slope = (ahead.F_A.vector() - back.F_A.vector()) / (2.0 * step);
    EXPECT_LE((slope - r.dF_A_dX.col(k)).norm(), tolerance * r.dF_A_dX.norm()) << k;
    if (!state.V_AB.vector().isZero(0.0)) continue;
    const Vector6 about_B = shift_wrench(r.F_A, X_AB.p).vector();
    EXPECT_NEAR((ahead.stored_energy - back.stored_energy) / (2.0 * step), about_B[k], tolerance * about_B.norm()) << k;
  }
}

// A plate thinner than the layers: the force of a flat punch does not depend on its thickness up to the depth at which
// the punch leaves it on the other side, which is an error. Springs nearer to its far side had no load: 0.03 of the
// force of a cube, 0.13 to 0.8 of that of a ball.
TEST(Creases, ThinPlateAsPartner) {
  const double k = LayerLaw::confined_modulus_factor(0.3) * 1e6 / 0.05;
  const double t = 0.003;
  const auto cube = box({0.1, 0.1, 0.1});
  Assets assets;
  assets.add("cube", triangles_of(cube, 1));
  assets.add("fine cube", triangles_of(cube, 4));
  assets.add("plate", triangles_of(box({0.3, 0.3, t}), 3));
  const auto pressed_by = [&](const Surface& punch, const Surface& plate, const ParameterMap& more) {
    ParameterMap parameters = more;
    parameters["thickness"] = 0.05;
    PairSpec pair = layer_pair(punch, plate, parameters);
    pair.main.materials = {material(1e6, 0.3)};
    return made(pair, assets);
  };
  const auto at = [&](double tilt, double depth) {
    Pose X_WC = at_penetration(cube, rotation_from_vector({0.0, tilt, 0.0}), depth);
    X_WC.p.z() += 0.5 * t;
    return X_WC.inverse();
  };
  for (const Surface& plate : {mesh_named("plate"), Surface(BlockSurface{.lengths = {0.3, 0.3, t}})}) {
    for (const std::string name : {"cube", "fine cube"}) {
      for (const std::string penetration : {"ray", "nearest"}) {
        const auto backend = pressed_by(mesh_named(name), plate, {{"penetration", penetration}});
        for (const double depth : {0.3 * t, 0.49 * t, 0.51 * t, 0.9 * t, 0.99 * t}) {
          const Response r = response_at(*backend, at(0.0, depth));
          EXPECT_NEAR(r.F_A.force.z() / (k * 0.01 * depth), 1.0, 1e-9) << name << " " << penetration << " " << depth;
        }
        try {
          const Response r = response_at(*backend, at(0.0, 1.1 * t));
          ADD_FAILURE() << name << " " << penetration << ": " << r.F_A.force.z() << " N";
        } catch (const RecoverableError& e) {
          EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("passed through"), testing::HasSubstr("0.003 m")));
        }
      }
      const auto backend = pressed_by(mesh_named(name), plate, {});
      const double tilt = 0.02;
      const Pose X_CW = at(tilt, 0.9 * t);
      const Pose X_WC = X_CW.inverse();
      const Pose over_plane{.R = X_WC.R, .p = X_WC.p - Vector3(0.0, 0.0, 0.5 * t)};
      const double F = exact(cube, over_plane).force / stiffness * k;
      EXPECT_NEAR((X_WC.R * response_at(*backend, X_CW).F_A.force).z() / F, 1.0, 1e-6) << name;
      PairState state;
      state.X_AB = X_CW;
      expect_derivatives(*backend, state, 1e-5);
    }
    constexpr double R = 0.1;
    const auto ball = pressed_by(SphereSurface{.radius = R, .center = Vector3::Zero()}, plate, {});
    const auto on_plane = pressed_by(SphereSurface{.radius = R, .center = Vector3::Zero()}, floor_plane, {});
    for (const double depth : {0.4 * t, 0.6 * t, 0.95 * t}) {
      const double F = response_at(*on_plane, Pose{.p = {0, 0, depth - R}}).F_A.force.z();
      EXPECT_NEAR(response_at(*ball, Pose{.p = {0, 0, depth - R - 0.5 * t}}).F_A.force.z() / F, 1.0, 1e-9) << depth;
    }
    EXPECT_THROW((void)response_at(*ball, Pose{.p = {0, 0, 1.3 * t - R - 0.5 * t}}), RecoverableError);
  }
}

// Springs of the upper side of a wedge above a thin plate are in front of it with normals like those of the plate, but
// the plate is not inside the wedge: nothing has passed through it.
TEST(Creases, WedgeOnAThinPlate) {
  const auto wedge = prism({{0.0, -0.02}, {0.03, 0.02}, {-0.03, 0.02}}, {{0, 1, 2}}, 0.1);
  Assets assets;
  assets.add("wedge", triangles_of(wedge, 1));
  PairSpec pair = layer_pair(mesh_named("wedge"), BlockSurface{.lengths = {0.4, 0.4, 0.004}}, {{"thickness", 0.05}});
  const auto backend = made(pair, assets);
  for (const double tilt : {0.0, 0.3, 0.6}) {
    for (const double depth : {1e-4, 1e-3, 3e-3}) {
      Pose X_WC = at_penetration(wedge, rotation_from_vector({0.0, tilt, 0.1}), depth);
      const double F = exact(wedge, X_WC).force * h / 0.05;
      X_WC.p.z() += 0.002;
      EXPECT_NEAR((X_WC.R * response_at(*backend, X_WC.inverse()).F_A.force).z() / F, 1.0, 2e-3)
          << tilt << " " << depth;
    }
  }
}

// A thin plate with springs, deep in a thick partner: springs of its upper side are behind the partner's surface, too,
// but the partner does not press them. Two plates on each other, both thinner than the layers.
TEST(Creases, ThinPlateWithSprings) {
  const double k = LayerLaw::confined_modulus_factor(0.3) * 1e6 / 0.05;
  Assets assets;
  assets.add("sheet", triangles_of(box({0.1, 0.1, 0.002}), 2));
  for (const double partner : {0.2, 0.02, 0.004}) {
    PairSpec pair =
        layer_pair(mesh_named("sheet"), BlockSurface{.lengths = {0.3, 0.3, partner}}, {{"thickness", 0.05}});
    pair.main.materials = {material(1e6, 0.3)};
    const auto backend = made(pair, assets);
    for (const double depth : {1e-4, 1e-3, 1.9e-3}) {
      const Response r = response_at(*backend, Pose{.p = {0.0, 0.0, depth - 0.001 - 0.5 * partner}});
      EXPECT_NEAR(r.F_A.force.z() / (k * 0.01 * depth), 1.0, 1e-9) << partner << " " << depth;
    }
    if (partner < 0.01) {  // in the middle of the partner, which may press either side
      EXPECT_THROW((void)response_at(*backend, Pose{.p = {0.0, 0.0, 0.003 - 0.001 - 0.5 * partner}}), RecoverableError);
      continue;
    }
    const Response r = response_at(*backend, Pose{.p = {0.0, 0.0, 0.003 - 0.001 - 0.5 * partner}});
    EXPECT_NEAR(r.F_A.force.z() / (k * 0.01 * 0.003), 1.0, 1e-9) << partner;
  }
}

// The partner has the edges, and the layer lies on the plate below it: only where a corner of the box lies between the
// springs of a triangle, its part of this triangle has no load. With half a triangle along the edges missing or in
// excess, the force was wrong by up to 8 %.
TEST(Creases, EdgesOfThePartner) {
  const double a = 0.02, d = 1e-4;
  Assets assets;
  assets.add("box", triangles_of(box({a, a, a}), 1));
  for (const int n : {20, 40, 80}) {
    assets.add("plate", height_field(0.06, n, [](double, double) { return 0.0; }));
    const auto backend = made(layer_pair(mesh_named("plate"), mesh_named("box")), assets);
    double worst = 0.0, peak = 0.0;
    for (const double x : {0.0, 0.00037, 0.00081, 0.00123}) {
      for (const double rotated : {0.0, 0.2, 0.7}) {
        const Response r =
            response_at(*backend, {.R = rotation_from_vector({0, 0, rotated}), .p = {x, -0.6 * x, 0.5 * a - d}});
        const double error = -r.F_A.force.z() / (stiffness * a * a * d) - 1.0;
        worst = std::max(worst, std::abs(error));
        peak = std::max(peak, std::abs(r.peak_pressure / (stiffness * d) - 1.0));
      }
    }
    fmt::print("{} cells: worst {:.5f}, peak {:.1e}\n", n, worst, peak);
    // A corner beyond the last springs cuts off a third of the height of a triangle at most.
    EXPECT_LT(worst, 4.0 * std::pow(0.06 / n / 3.0, 2) / (a * a)) << n;
    EXPECT_LT(peak, 1e-9) << n;
  }
}

// Boxes whose edges coincide, and boxes that overhang: the force is that of the common area. Springs on the edge of the
// partner, or beside its walls, had none: two equal boxes had 0.87 of their force, a plank over its support 0.87.
TEST(Creases, BoxesWithCommonEdges) {
  const double a = 0.04;
  Assets assets;
  assets.add("few", triangles_of(box({a, a, a}), 1));
  assets.add("many", triangles_of(box({a, a, a}), 8));
  assets.add("plank", triangles_of(box({3.0 * a, a, a}), 3));
  const auto expect_area = [&](const std::string& main, const std::string& partner, double x, double y, double area) {
    const auto backend = made(layer_pair(mesh_named(main), mesh_named(partner)), assets);
    for (const double depth : {1e-5, 1e-4, 5e-4}) {
      const Response r = response_at(*backend, Pose{.p = {-x, -y, depth - a}});
      const std::string where = fmt::format("{} on {} at {} {}, {}", main, partner, x, y, depth);
      EXPECT_NEAR(r.F_A.force.z() / (stiffness * area * depth), 1.0, 1e-9) << where;
      EXPECT_NEAR(r.area / area, 1.0, 1e-9) << where;
      EXPECT_NEAR(r.peak_pressure / (stiffness * depth), 1.0, 1e-9) << where;
    }
  };
  for (const std::string name : {"few", "many"}) {
    expect_area(name, name, 0.0, 0.0, a * a);
    expect_area(name, name, 0.013, 0.0, (a - 0.013) * a);
    expect_area(name, name, 0.5 * a, 0.0, 0.5 * a * a);
    expect_area(name, name, 0.013, -0.007, (a - 0.013) * (a - 0.007));
    expect_area(name, "plank", 0.02, 0.0, a * a);
    expect_area(name, "plank", 1.2 * a, 0.003, 0.8 * a * (a - 0.003));
    expect_area("plank", name, 0.013, 0.0, a * a);
  }
}

/// A box of edge length a over the edge of a support, tilted by an angle about the edge. Positions along the box: where
/// its depth vanishes, the edge of the support, and where the rays through the support's wall have no length.
struct BoxOverAnEdge {
  double a, angle;
  std::unique_ptr<ContactBackend> backend;
  PairState state{};
  double begin = 0.0, edge = 0.0, wall = 0.0;

  BoxOverAnEdge(double length, double tilt, ParameterMap parameters) : a(length), angle(tilt) {
    Assets assets;
    assets.add("box", triangles_of(box({a, a, a}), 8));
    assets.add("support", triangles_of(box({a, 10.0 * a, a}), 1));
    backend = made(layer_pair(mesh_named("box"), mesh_named("support"), std::move(parameters)), assets);
  }
  /// @param x  [m] of the box in the support @param d  [m] at its centre, but for the tilt
  void place(double x, double d) {
    state.X_AB = Pose{.R = rotation_from_vector({0, angle, 0}), .p = {x, 0.003, a - d}}.inverse();
    begin = (0.5 * a * (1.0 - std::cos(angle)) - d) / std::sin(angle);
    edge = (0.5 * a - x) * std::cos(angle) + (0.5 * a - d) * std::sin(angle);
    wall = (0.5 * a - x + 0.5 * a * std::sin(angle)) / std::cos(angle);
  }
  [[nodiscard]] Response response() const { return backend->evaluate(*backend->initial_history(), state); }
  [[nodiscard]] double depth_at_edge() const { return std::tan(angle) * (edge - begin); }
};

// Force and lateral force are those of the covered part, in every pose, and derivatives of each other. The lateral
// force is the energy of the layer at the edge.
TEST(Creases, TiltedBoxOverAnEdge) {
  BoxOverAnEdge of(0.04, 0.01, {});
  const double k = stiffness * of.a;
  for (int i = 0; i <= 60; ++i) {
    const double x = 0.004 + 2.5e-4 * i;
    of.place(x, 1e-4);
    const Response r = of.response();
    const Vector3 force = of.state.X_AB.R.transpose() * r.F_A.force;
    EXPECT_NEAR(r.stored_energy / (k * std::pow(of.depth_at_edge(), 2) * (of.edge - of.begin) / 6.0), 1.0, 1e-8) << x;
    EXPECT_NEAR(force.x() / (0.5 * k * std::pow(of.depth_at_edge(), 2) * std::cos(of.angle)), 1.0, 1e-8) << x;
    // Springs beyond the edge are deeper, but have no pressure.
    EXPECT_NEAR(r.peak_pressure / (stiffness * of.depth_at_edge()), 1.0, 1e-8) << x;
    if (i % 20 == 7) expect_derivatives(*of.backend, of.state, 2e-5);
  }
}

// The same at 23 degrees: beside the edge the rays leave the support through its wall, over a strip narrower than the
// triangles. Springs in this strip had the load of all their triangles along the normal of the wall.
TEST(Creases, SteeplyTiltedBoxOverAnEdge) {
  BoxOverAnEdge of(0.04, 0.4, {});
  for (int i = 0; i <= 60; ++i) {
    const double x = 0.012 + 1e-4 * i;
    of.place(x, 0.0025);
    const double tan = std::tan(of.angle);
    const double energy = stiffness * of.a / 6.0 *
                          (tan * tan * std::pow(of.edge - of.begin, 3) + std::pow(of.wall - of.edge, 3) / (tan * tan));
    EXPECT_NEAR(of.response().stored_energy / energy, 1.0, 1e-8) << x;
    if (i % 20 == 7) expect_derivatives(*of.backend, of.state, 2e-5);
  }
}

// The layer is compressed by 7 of 8 mm at the edge; below the springs beyond it no thickness would be left, where a
// large strain has no pressure.
TEST(Creases, ExtendedFacesMayLieDeeperThanTheLayer) {
  BoxOverAnEdge of(0.04, 0.4, {{"strain", std::string("large")}});
  for (int i = 0; i <= 60; ++i) {
    of.place(0.012 + 1e-4 * i, 0.0025);
    const Response r = of.response();
    EXPECT_NEAR(r.peak_pressure / (-stiffness * h * std::log(1.0 - of.depth_at_edge() / h)), 1.0, 1e-8);
    EXPECT_TRUE(r.F_A.vector().allFinite());
    EXPECT_TRUE(r.dF_A_dX.allFinite());
  }
}

}  // namespace
}  // namespace heelstrike::fem
