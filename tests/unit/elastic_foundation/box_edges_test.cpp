// Boxes pressed flat over the edge of another: the face carries k A d of the covered area, and side walls that lie in
// the partner carry nothing, at any overlap.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "common/contact/preparation.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/plane.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

constexpr double layer_of_boxes = 0.01;  // [m]

/// Boxes by their dimensions and as meshes of few and many triangles.
struct BoxKinds {
  Assets assets;
  std::vector<std::pair<std::string, Surface>> kinds;
  BoxKinds(const std::string& name, const Vector3& lengths) {
    kinds.emplace_back("block", BlockSurface{.lengths = lengths});
    for (const int n : {1, 8}) {
      const std::string mesh = fmt::format("{} of {} cells", name, n);
      assets.add(mesh, box_of_cells(lengths, n));
      kinds.emplace_back(mesh, mesh_named(mesh));
    }
  }
};

/// E = 1 MPa, nu = 0.3, a layer of 10 mm on the main body.
struct BoxPair {
  double k = LayerLaw::confined_modulus_factor(0.3) * 1e6 / layer_of_boxes;  // [Pa/m]
  std::unique_ptr<ContactBackend> backend;

  BoxPair(const Surface& main, const Surface& partner, const std::vector<const Assets*>& assets,
          ParameterMap parameters = {}) {
    parameters.try_emplace("thickness", layer_of_boxes);
    PairSpec pair = layer_pair(main, partner, std::move(parameters));
    pair.main.materials = {material(1e6, 0.3)};
    const BackendEntry entry = elastic_foundation_entry();
    pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
    entry.check(pair);
    const PrepareContext context{.asset = [&](const AssetKey& key) -> const AssetContent& {
                                   for (const Assets* some : assets) {
                                     try {
                                       return some->context().asset(key);
                                     } catch (const std::out_of_range&) {
                                     }
                                   }
                                   throw std::out_of_range(key.name);
                                 },
                                 .on_progress = [](std::string_view, double) {},
                                 .stop = {}};
    backend = entry.make(pair, context);
  }
  [[nodiscard]] Response at(const Pose& X_AB) const {
    PairState state;
    state.X_AB = X_AB;
    return backend->evaluate(*backend->initial_history(), state);
  }
};

/// Central differences of wrench and energy by the pose, against tangent and wrench.
void expect_box_derivatives(const BoxPair& pair, const Pose& X_AB, double tolerance, const std::string& where) {
  const Response r = pair.at(X_AB);
  const Vector6 about_B = shift_wrench(r.F_A, X_AB.p).vector();
  for (Eigen::Index c = 0; c < 6; ++c) {
    const double step = c < 3 ? 3e-8 : 1e-9;
    const auto moved = [&](double by) {
      const Vector6 x = by * Vector6::Unit(c);
      return pair.at({.R = rotation_from_vector(x.head<3>()) * X_AB.R, .p = X_AB.p + x.tail<3>()});
    };
    const Response ahead = moved(step), back = moved(-step);
    const Vector6 slope = (ahead.F_A.vector() - back.F_A.vector()) / (2.0 * step);
    EXPECT_LE((slope - r.dF_A_dX.col(c)).norm(), tolerance * r.dF_A_dX.norm()) << where << " " << c;
    EXPECT_NEAR((ahead.stored_energy - back.stored_energy) / (2.0 * step), about_B[c], tolerance * about_B.norm())
        << where << " " << c;
  }
}

constexpr double cube_edge = 0.1;  // [m]
constexpr std::array overlaps{0.1, 0.0999, 0.05, 0.0213, 0.01, 0.007, 0.006, 0.004, 0.002, 0.00111, 6e-4, 1.5e-4};

/// The cube on the base, at all overlaps that exceed the depth. @param cube_is_main  its springs are in contact
void expect_flat_load(const BoxPair& pair, const Vector3& base, bool cube_is_main, double tolerance,
                      const std::string& where) {
  for (const double d : {1e-4, 5e-4, 1e-3}) {
    for (const double overlap : overlaps) {
      if (overlap < d) continue;
      const Pose X_base_cube{.p = {0.5 * (base.x() + cube_edge) - overlap, 0.0, 0.5 * (base.z() + cube_edge) - d}};
      const Response r = pair.at(cube_is_main ? X_base_cube.inverse() : X_base_cube);
      const double F = (cube_is_main ? 1.0 : -1.0) * pair.k * cube_edge * overlap * d;
      const std::string what = fmt::format("{}: d {}, overlap {}", where, d, overlap);
      EXPECT_NEAR(r.F_A.force.z() / F, 1.0, tolerance) << what;
      EXPECT_NEAR(2.0 * r.stored_energy / std::abs(F * d), 1.0, tolerance) << what;
      // Only the energy of the layer at the edge; where the edge coincides with those of triangles, up to twice as
      // much.
      EXPECT_LT(std::abs(r.F_A.force.x()), 1.001 * pair.k * cube_edge * d * d) << what;
    }
  }
}

// A cube of 0.1 m slides over the edge of a block of 0.3 m, 0.5 mm deep: rays of its side wall leave the block at its
// near rim, and at overlaps below twenty times the depth the wall was loaded, with 3404 N instead of 40 N.
TEST(BoxEdges, CubeSlidesOverTheEdgeOfABlock) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  const Vector3 lengths(0.3, 0.3, 0.1);
  const BoxKinds base("base", lengths);
  for (const auto& [of_cube, on] : cube.kinds) {
    const std::vector<const Assets*> assets{&cube.assets, &base.assets};
    for (const auto& [of_base, below] : base.kinds) {
      expect_flat_load(BoxPair(on, below, assets), lengths, true, 1e-7, of_cube + " on " + of_base);
    }
    // Meshes of the base have no springs below the cube.
    expect_flat_load(BoxPair(base.kinds[0].second, on, assets), lengths, false, 1e-7, "block below " + of_cube);
  }
}

TEST(BoxEdges, EqualCubes) {
  const Vector3 lengths(cube_edge, cube_edge, cube_edge);
  const BoxKinds cube("cube", lengths);
  for (const auto& [one, main] : cube.kinds) {
    for (const auto& [other, partner] : cube.kinds) {
      const BoxPair pair(main, partner, {&cube.assets});
      expect_flat_load(pair, lengths, true, 1e-7, one + " on " + other);
      expect_flat_load(pair, lengths, false, 1e-7, one + " below " + other);
    }
  }
}

// Overlapped by less than the depth, the same cubes are pressed against each other with their side walls.
TEST(BoxEdges, TheSmallerOverlapSeparates) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  for (const auto& [one, main] : cube.kinds) {
    for (const auto& [other, partner] : cube.kinds) {
      const BoxPair pair(main, partner, {&cube.assets});
      for (const double d : {5e-4, 1e-3, 4e-3}) {
        for (const double share : {0.02, 0.3, 0.97}) {
          const double overlap = share * d;
          const Pose X_AB{.p = {overlap - cube_edge, 0.0, d - cube_edge}};
          const double F = pair.k * cube_edge * overlap * d;
          const Response r = pair.at(X_AB);
          const std::string what = fmt::format("{} and {}: d {}, overlap {}", one, other, d, overlap);
          EXPECT_NEAR(r.F_A.force.x() / F, 1.0, 1e-6) << what;
          EXPECT_NEAR(2.0 * r.stored_energy / (F * overlap), 1.0, 1e-6) << what;
        }
      }
    }
  }
}

// The same over the rim of a cylinder's end: a polygon of 64 edges, up to 0.24 mm from the circle.
TEST(BoxEdges, CubeOverTheRimOfACylinder) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  const double R = 0.5, y = 0.5 * cube_edge, d = 5e-4;
  const Surface cylinder = CylinderSurface{.radius = R, .axis = Vector3::UnitZ(), .length = 0.1};
  for (const auto& [name, main] : cube.kinds) {
    const BoxPair pair(main, cylinder, {&cube.assets});
    for (const double overlap : {0.009, 0.007, 0.006, 0.005}) {
      const double area = y * std::sqrt(R * R - y * y) + R * R * std::asin(y / R) - 2.0 * y * (R - overlap);
      const Pose X_cylinder_cube{.p = {R + 0.5 * cube_edge - overlap, 0.0, cube_edge - d}};
      EXPECT_NEAR(pair.at(X_cylinder_cube.inverse()).F_A.force.z() / (pair.k * d), area, cube_edge * 2.5e-4)
          << name << " " << overlap;
    }
  }
}

// Energy, wrench and tangent are derivatives of each other, flat and slightly rotated.
TEST(BoxEdges, DerivativesNearTheEdge) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  const BoxKinds base("base", {0.3, 0.3, 0.1});
  for (const auto& [of_cube, main] : cube.kinds) {
    const BoxPair pair(main, base.kinds[0].second, {&cube.assets, &base.assets});
    for (const double overlap : {0.03, 0.007, 0.006, 0.002}) {
      for (const Vector3& tilt : {Vector3(0.002, 0.001, 0.0), Vector3(0.03, 0.061, 0.1), Vector3(-0.02, -0.083, 0.7)}) {
        const Matrix3 R = rotation_from_vector(tilt);
        // The lowest corner 0.4 mm below the upper face, the centre above the edge but for the overlap.
        const double low = 0.5 * cube_edge * R.row(2).cwiseAbs().sum();
        const Pose X_base_cube{.R = R, .p = {0.15 + 0.5 * cube_edge - overlap, 0.013, 0.05 + low - 4e-4}};
        expect_box_derivatives(pair, X_base_cube.inverse(), 2e-5,
                               fmt::format("{} overlap {} tilt {}", of_cube, overlap, tilt.y()));
      }
    }
  }
}

// A cube on its corner: the pressed parts of its faces grow with the square of the depth. A face at 5 degrees to the
// perpendicular has rays of ten times the depth; at a tenth of the layer's thickness the pose was rejected.
TEST(BoxEdges, SteepFacesDoNotReachTheBase) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  const Vector3 axis(std::cos(20.0 * M_PI / 180.0), std::sin(20.0 * M_PI / 180.0), 0.0);
  const Surface plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  const Surface block = BlockSurface{.lengths = {0.4, 0.4, 0.1}, .center = {0.0, 0.0, -0.05}};
  for (const Surface& floor : {plane, block}) {
    for (const auto& [name, main] : cube.kinds) {
      const BoxPair pair(main, floor, {&cube.assets});
      for (const double tilt : {15.0, 20.0}) {
        const Matrix3 R = rotation_from_vector(tilt * M_PI / 180.0 * axis);
        const double low = 0.5 * cube_edge * R.row(2).cwiseAbs().sum();
        const auto upwards = [&](double depth) {
          const Pose X_WC{.R = R, .p = {0.0, 0.0, low - depth}};
          return (X_WC.R * pair.at(X_WC.inverse()).F_A.force).z();
        };
        for (const double depth : {1.1e-3, 2e-3, 4e-3}) {
          EXPECT_NEAR(upwards(depth) / (1e6 * upwards(0.01 * depth)), 1.0, 1e-6) << name << " " << tilt << " " << depth;
        }
        EXPECT_THROW((void)upwards(layer_of_boxes * 1.1), RecoverableError);
      }
    }
  }
}

// A plane carries springs on a square: a partner below it elsewhere had half of its load, or none, without a message.
TEST(BoxEdges, PartnersBesideTheSquareOfAPlane) {
  const Surface plane = PlaneSurface{.normal = Vector3(0.0, 0.6, 0.8), .point = {0.01, 0.02, 0.03}};
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), Vector3(0.0, 0.6, 0.8)).toRotationMatrix();
  const BoxKinds brick("brick", {0.1, 0.06, 0.04});
  std::vector<std::pair<std::string, Surface>> partners = brick.kinds;
  partners.emplace_back("ball", SphereSurface{.radius = 0.02, .center = Vector3::Zero()});
  for (const auto& [name, partner] : partners) {
    const BoxPair pair(plane, partner, {&brick.assets}, {{"extent", 0.3}});
    const auto at = [&](double x, double y, double depth) {
      return pair.at({.R = R, .p = Vector3(0.01, 0.02, 0.03) + R * Vector3(x, y, 0.02 - depth)});
    };
    const double depth = name == "ball" ? 1e-3 : 1e-4;
    EXPECT_GT(at(0.09, 0.11, depth).F_A.force.norm(), 0.0) << name;
    EXPECT_EQ(at(0.5, 0.0, -1e-3).F_A.force.norm(), 0.0) << name;
    for (const auto& [x, y] : {std::array{0.15, 0.0}, {0.0, -0.149}, {0.5, 0.0}, {-0.3, 0.4}}) {
      try {
        const Response r = at(x, y, depth);
        ADD_FAILURE() << name << " at " << x << " " << y << ": " << r.F_A.force.norm() << " N";
      } catch (const RecoverableError& e) {
        EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("contact.knee.parameters.extent"),
                                             testing::HasSubstr("suffices")));
        if (x != 0.15 || name == "ball") continue;
        EXPECT_THAT(e.what(), testing::HasSubstr("extent: 0.4 suffices"));
      }
    }
  }
}

// A mesh with each triangle twice had twice the force.
TEST(BoxEdges, RepeatedTrianglesCountOnce) {
  Assets assets;
  auto triangles = box_of_cells({cube_edge, cube_edge, cube_edge}, 2);
  const std::size_t n = triangles.size();
  for (std::size_t t = 0; t < n; ++t) triangles.push_back(triangles[t]);
  assets.add("twice", triangles);
  const Surface plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  const BoxPair pair(mesh_named("twice"), plane, {&assets});
  const double d = 1e-4;
  EXPECT_NEAR(pair.at(Pose{.p = {0.0, 0.0, d - 0.5 * cube_edge}}).F_A.force.z() / (pair.k * 0.01 * d), 1.0, 1e-9);
  const BackendEntry entry = elastic_foundation_entry();
  PairSpec spec = layer_pair(mesh_named("twice"), plane);
  spec.parameters = checked_parameters(spec.parameters, entry.parameters, "contact.knee.parameters");
  EXPECT_THAT(entry.warnings(spec, assets.context()),
              testing::ElementsAre(testing::AllOf(testing::HasSubstr("contact.knee.main.surface.mesh: "),
                                                  testing::HasSubstr("48 triangles repeat"))));
}

// A sheet of which each triangle is followed, or preceded, by its reversed copy carries springs on both sides.
TEST(BoxEdges, BothSidesOfASheetCount) {
  const double a = 0.5 * cube_edge, d = 1e-4;
  const auto sheet = [&](bool faces_up) {
    std::vector<std::array<Vector3, 3>> triangles;
    for (const bool up : {faces_up, !faces_up}) {
      std::array<Vector3, 4> p{Vector3(-a, -a, 0), Vector3(a, -a, 0), Vector3(a, a, 0), Vector3(-a, a, 0)};
      if (!up) std::swap(p[1], p[3]);
      triangles.push_back({p[0], p[1], p[2]});
      triangles.push_back({p[0], p[2], p[3]});
    }
    return triangles;
  };
  for (const bool faces_up : {true, false}) {
    Assets assets;
    assets.add("sheet", sheet(faces_up));
    const Surface plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
    const BoxPair pair(mesh_named("sheet"), plane, {&assets});
    EXPECT_NEAR(pair.at(Pose{.p = {0.0, 0.0, d}}).F_A.force.z() / (pair.k * 0.01 * d), 1.0, 1e-9) << faces_up;
  }
}

// The edge of a block in the middle of the cube's faces, between the springs of their triangles: force and energy of
// the covered parts, for triangles of any size.
TEST(BoxEdges, EdgesBetweenTheSprings) {
  const BoxKinds cube("cube", {cube_edge, cube_edge, cube_edge});
  const Surface block = BlockSurface{.lengths = {0.3, 0.3, 0.1}};
  Assets assets;
  assets.add("fine", box_of_cells({cube_edge, cube_edge, cube_edge}, 100));
  const BoxPair fine(mesh_named("fine"), block, {&assets});
  for (const auto& [name, main] : cube.kinds) {
    const BoxPair pair(main, block, {&cube.assets});
    for (const double tilt : {0.03, 0.2, 0.33, 0.6}) {
      for (const double turn : {0.0, 0.04}) {
        for (const double along : {-0.0131, 0.0207}) {
          // The lower face touches the edge at `along` from its middle, and lies 0.6 mm deeper.
          const Matrix3 R = rotation_from_vector({0.0, 0.0, turn}) * rotation_from_vector({0.0, tilt, 0.0});
          const Vector3 touching = R * Vector3(along, 0.0, -0.5 * cube_edge);
          const Pose X_block_cube{.R = R, .p = Vector3(0.15, 0.0, 0.05) - touching - 6e-4 * R.col(2)};
          const std::string what = fmt::format("{} tilt {} turn {} along {}", name, tilt, turn, along);
          const Response r = pair.at(X_block_cube.inverse());
          const Response right = fine.at(X_block_cube.inverse());
          EXPECT_NEAR(r.stored_energy / right.stored_energy, 1.0, 1e-3) << what;
          EXPECT_LT((r.F_A.force - right.F_A.force).norm(), 2e-3 * right.F_A.force.norm()) << what;
          expect_box_derivatives(pair, X_block_cube.inverse(), 2e-5, what);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
