// Loads of the regions of a finite-element body, in every response, compared with those of the pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

constexpr double precision = std::numeric_limits<double>::epsilon();

struct RegionCase {
  std::string backend;
  std::string element = "tet4";
  bool two_bodies = false;
};

void PrintTo(const RegionCase& c, std::ostream* out) {
  *out << c.backend << '_' << c.element << (c.two_bodies ? "_two" : "");
}

/// Block 40 x 40 x 30 mm clamped at its top, with its bottom on a plane, or on another block.
PairSpec press(const RegionCase& c, const std::string& regions) {
  PairSpec pair;
  pair.name = "block-ground";
  pair.backend = c.backend;
  pair.main.surface = BlockSurface{.lengths = Vector3(0.04, 0.04, 0.03), .center = Vector3(0.0, 0.0, 0.015)};
  pair.main.materials = {test::soft_material(0.3)};
  pair.main.materials.front().density = 1000.0;
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.01},
                     {"element", c.element},
                     {"clamped_box", std::vector<double>{-1, -1, 0.03 - 1e-6, 1, 1, 1}},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"regions", regions}};
  if (c.backend == "fem_modal") pair.parameters["modes"] = 2.0;
  if (c.backend == "fem_layered") pair.parameters["layer_depth"] = 0.011;
  if (!c.two_bodies) return pair;
  pair.partner.surface = BlockSurface{.lengths = Vector3(0.06, 0.06, 0.02), .center = Vector3(0.0, 0.0, -0.01)};
  pair.partner.materials = {test::soft_material(0.3)};
  pair.parameters["partner_element_size"] = 0.01;
  pair.parameters["partner_clamped_box"] = std::vector<double>{-1, -1, -1, 1, 1, -0.02 + 1e-6};
  pair.parameters["partner_contact_direction"] = std::vector<double>{0.0, 0.0, 1.0};
  return pair;
}

std::unique_ptr<ContactBackend> open(const RegionCase& c, const std::string& regions) {
  return make_backend(press(c, regions), test::quiet());
}

/// Deeper where x is large.
PairState tilted() {
  PairState state;
  state.X_AB = {.R = rotation_from_vector(Vector3(0.0, -0.01, 0.0)), .p = Vector3(0.0, 0.0, 5e-4)};
  return state;
}

Response response(const ContactBackend& backend, const PairState& state) {
  return backend.evaluate(*backend.initial_history(), state);
}

class ContactRegions : public testing::TestWithParam<RegionCase> {};

INSTANTIATE_TEST_SUITE_P(All, ContactRegions,
                         testing::Values(RegionCase{"fem_condensed"}, RegionCase{"fem_condensed", "tet10"},
                                         RegionCase{"fem_condensed", "hex8"}, RegionCase{"fem_full"},
                                         RegionCase{"fem_modal"}, RegionCase{"fem_layered"},
                                         RegionCase{"fem_condensed", "tet4", true}));

// The bottom is flat and frictionless: nodal forces have one direction, and their magnitudes sum to the magnitude of
// the sum.
TEST_P(ContactRegions, HalvesSumToThePair) {
  const auto backend = open(GetParam(), "x- x+");
  EXPECT_THAT(backend->traits().regions, testing::ElementsAre("x-", "x+"));
  const Response r = response(*backend, tilted());
  ASSERT_EQ(r.regions.size(), 2U);
  const RegionLoad& low = r.regions[0];
  const RegionLoad& high = r.regions[1];
  // Rounding of sums over fewer than 200 nodes in another order; in a pair of bodies the normals follow either.
  const double force = r.F_A.force.norm();
  EXPECT_NEAR(low.force + high.force, force, GetParam().two_bodies ? 1e-4 * force : 200 * precision * force);
  EXPECT_NEAR(low.area + high.area, r.area, 200 * precision * r.area);
  EXPECT_NEAR(low.force + high.force, r.normal_force, 200 * precision * force);
  EXPECT_EQ(std::max(low.peak_pressure, high.peak_pressure), r.peak_pressure);
  EXPECT_GT(high.force, 1.2 * low.force);
  EXPECT_GT(low.force, 0.0);
  EXPECT_LT(low.p_ACop.x(), 0.0);
  EXPECT_GT(high.p_ACop.x(), 0.0);
}

TEST_P(ContactRegions, SeparatedHaveNoLoad) {
  const auto backend = open(GetParam(), "x- x+");
  PairState apart = tilted();
  apart.X_AB.p.z() = -0.01;
  EXPECT_THAT(response(*backend, apart).regions, testing::ElementsAre(RegionLoad{}, RegionLoad{}));
}

TEST_P(ContactRegions, HaveNoSideEffects) {
  const auto with = open(GetParam(), "x- x+ y- y+");
  const auto without = open(GetParam(), "");
  Response a = response(*with, tilted());
  const Response b = response(*without, tilted());
  EXPECT_EQ(a.regions.size(), 4U);
  EXPECT_TRUE(b.regions.empty());
  EXPECT_EQ(a.F_A.vector(), b.F_A.vector());
  EXPECT_EQ(a.dF_A_dX, b.dF_A_dX);
  EXPECT_EQ(a.peak_pressure, b.peak_pressure);
  EXPECT_EQ(a.area, b.area);
}

// The box ends inside sides of 10 mm, beyond the centre of one of their parts.
TEST(ContactRegionsOfABox, EndInsideASideWithoutLossOfForce) {
  for (const char* element : {"hex8", "hex27"}) {
    PairSpec pair = press({"fem_condensed", element}, "x- x+");
    pair.parameters["contact_box"] = std::vector<double>{-0.0135, -1, -1, 0.0165, 1, 1};
    const Response r = response(*make_backend(pair, test::quiet()), tilted());
    EXPECT_NEAR(r.regions[0].force + r.regions[1].force, r.normal_force, 200 * precision * r.normal_force) << element;
    EXPECT_NEAR(r.normal_force, r.F_A.force.norm(), 200 * precision * r.normal_force) << element;
    EXPECT_NEAR(r.area, 0.03 * 0.04, 200 * precision * r.area) << element;
  }
}

// Nodes on the border of two sets contribute to both, by area.
TEST(ContactRegionsOfAMesh, FollowSetsOfFaces) {
  VolumeMesh mesh = test::block_mesh({-0.02, -0.02, 0.0}, {0.02, 0.02, 0.03}, 4, 4, 3);
  for (const ElementFace face : test::bottom_faces(mesh)) {
    Vector3 centre = Vector3::Zero();
    for (const std::uint32_t n : face_corners(mesh, face)) centre += mesh.nodes[n] / 3.0;
    mesh.face_sets[centre.x() > 0.0 ? "medial" : "lateral"].push_back(face);
    // The set that selects them contains all of them and no region.
    mesh.face_sets["touching"].push_back(face);
  }
  for (auto& [name, faces] : mesh.face_sets) std::ranges::sort(faces);
  const BodyModel body(mesh, std::vector<Material>{test::soft_material(0.3)});
  const ContactNodes contact = contact_nodes(body, test::bottom_faces(mesh));
  const PressureRecovery recovery(mesh, contact);
  PairSpec pair;
  pair.name = "knee";
  pair.parameters = {{"regions", std::string("sets")},
                     {"region_center", std::vector<double>{}},
                     {"contact_set", std::string("touching")}};
  const auto regions = contact_regions(pair, mesh, recovery);
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions[0].name, "lateral");
  EXPECT_EQ(regions[1].name, "medial");
  double medial = 0.0;
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) {
    const double x = mesh.nodes[contact.nodes[i]].x();
    EXPECT_NEAR(regions[0].shares[i] + regions[1].shares[i], 1.0, precision);
    if (x > 1e-9) {
      EXPECT_EQ(regions[1].shares[i], 1.0);
    } else if (x < -1e-9) {
      EXPECT_EQ(regions[1].shares[i], 0.0);
    } else {
      EXPECT_GT(regions[1].shares[i], 0.2);
      EXPECT_LT(regions[1].shares[i], 0.8);
    }
    medial += regions[1].shares[i] * contact.areas[i];
  }
  EXPECT_NEAR(medial, 0.5 * 0.04 * 0.04, 100 * precision * 0.04 * 0.04);
}

TEST(ContactRegionsReject, InvalidInput) {
  const RegionCase condensed{"fem_condensed"};
  EXPECT_THAT(test::rejection_error(press(condensed, "heel")),
              testing::AllOf(testing::HasSubstr("contact.block-ground.parameters.regions"),
                             testing::HasSubstr("'heel'"), testing::HasSubstr("x-, x+, y-, y+, z-, z+")));
  EXPECT_THAT(test::rejection_error(press(condensed, "sets")),
              testing::HasSubstr("found 'bottom' with 32 of its 32 triangles"));
  PairSpec aside = press(condensed, "x+");
  aside.parameters["region_center"] = std::vector<double>{0.1, 0.0, 0.0};
  EXPECT_THAT(test::rejection_error(aside),
              testing::HasSubstr("expected regions that cut the contact surface, found 'x+'"));
  aside.parameters["region_center"] = std::vector<double>{0.1, 0.0};
  EXPECT_THAT(test::rejection_error(aside),
              testing::HasSubstr("region_center: expected a point, three numbers [m], found 2 numbers"));
  PairSpec cloud = press(condensed, "x+ x-");
  cloud.partner.surface = PointCloudSurface{.points = {{0.0, 0.0, 0.0}}, .areas = {1e-6}};
  EXPECT_THAT(test::rejection_error(cloud), testing::HasSubstr("regions: expected none with a point cloud"));
}

}  // namespace
}  // namespace heelstrike::fem
