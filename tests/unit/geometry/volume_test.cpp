// Volume meshes: checks, sets, structured primitives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

VolumeMesh regular_tetrahedron() {
  VolumeMesh mesh;
  mesh.nodes = {{1, 1, 1}, {1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}};
  mesh.connectivity = {0, 1, 2, 3};
  return mesh;
}

TEST(VolumeCheck, RegularTetrahedronHasMeanRatioOne) {
  const VolumeMesh mesh = regular_tetrahedron();
  EXPECT_GT(element_volume(mesh, 0), 0.0);
  EXPECT_NEAR(mean_ratio(mesh, 0), 1.0, 1e-14);
  EXPECT_EQ(check_volume(mesh).histogram[9], 1U);
}

TEST(VolumeCheck, FindsInvertedAndFlatElements) {
  VolumeMesh mesh = regular_tetrahedron();
  std::swap(mesh.connectivity[0], mesh.connectivity[1]);
  const VolumeReport inverted = check_volume(mesh);
  EXPECT_THAT(inverted.inverted, testing::ElementsAre(0));
  EXPECT_THROW(require_valid(inverted, "mesh"), Error);
  mesh = regular_tetrahedron();
  mesh.nodes[3] = (mesh.nodes[0] + mesh.nodes[1] + mesh.nodes[2]) / 3.0;
  EXPECT_EQ(check_volume(mesh).degenerate.size() + check_volume(mesh).inverted.size(), 1U);
}

TEST(VolumeCheck, FoldedCurvedElementIsInverted) {
  VolumeMesh mesh = to_quadratic(regular_tetrahedron());
  EXPECT_TRUE(check_volume(mesh).valid());
  mesh.nodes[mesh.element(0)[4]] = Vector3::Zero() - 2.0 * mesh.nodes[mesh.element(0)[4]];
  EXPECT_EQ(check_volume(mesh).inverted.size(), 1U);
}

TEST(VolumeMesh, FacesPointOutward) {
  const VolumeMesh mesh = regular_tetrahedron();
  const Boundary boundary = boundary_surface(mesh);
  EXPECT_EQ(boundary.faces.size(), 4U);
  const SurfaceReport report = check_surface(boundary.surface);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_NEAR(report.volume, element_volume(mesh, 0), 1e-14);
}

// The same elements in the same order, the same nodes in the sets, numbers that increase inwards layer by layer.
TEST(Numbering, ProceedsInwardsLayerByLayerWithoutOtherChanges) {
  const VolumeMesh before = make_block({.lengths = Vector3(0.04, 0.02, 0.03), .size = 0.005, .order = 1, .limits = {}});
  ASSERT_FALSE(before.node_sets.empty());
  const Vector3 direction(0.1, 0.0, -2.0);
  constexpr double layer = 0.005;
  VolumeMesh after = before;
  number_from(after, direction, layer);
  ASSERT_EQ(after.nodes.size(), before.nodes.size());
  for (std::size_t k = 0; k < before.connectivity.size(); ++k) {
    ASSERT_EQ(after.nodes[after.connectivity[k]], before.nodes[before.connectivity[k]]) << k;
  }
  for (const auto& [name, members] : before.node_sets) {
    const auto& numbers = after.node_sets.at(name);
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << name;
    std::vector<std::array<double, 3>> places[2];
    for (const std::uint32_t n : members) {
      places[0].push_back({before.nodes[n].x(), before.nodes[n].y(), before.nodes[n].z()});
    }
    for (const std::uint32_t n : numbers) {
      places[1].push_back({after.nodes[n].x(), after.nodes[n].y(), after.nodes[n].z()});
    }
    for (auto& list : places) std::ranges::sort(list);
    EXPECT_EQ(places[0], places[1]) << name;
  }
  EXPECT_EQ(after.face_sets, before.face_sets);
  const Vector3 out = direction.normalized();
  for (std::size_t n = 1; n < after.nodes.size(); ++n) {
    const double inwards = out.dot(after.nodes[n - 1] - after.nodes[n]);
    EXPECT_GT(inwards, -layer) << n;
    // Within a layer along x, the longest extent across the direction: backwards only at the beginning of the next
    // layer.
    const bool backwards = after.nodes[n].x() < after.nodes[n - 1].x() - layer;
    EXPECT_TRUE(!backwards || inwards > -1e-12) << n;
  }
  VolumeMesh again = after;
  number_from(again, direction, layer);
  EXPECT_EQ(again.connectivity, after.connectivity) << "an existing order is kept";
}

TEST(Primitives, BlockFillsItsBox) {
  for (const std::uint32_t order : {1U, 2U}) {
    const VolumeMesh mesh = make_block({.lengths = {0.3, 0.2, 0.1}, .size = 0.05, .order = order, .limits = {}});
    const VolumeReport report = check_volume(mesh);
    EXPECT_TRUE(report.valid()) << describe(report);
    EXPECT_EQ(report.n_elements, 6U * 6U * 4U * 2U);
    EXPECT_NEAR(report.volume, 0.006, 1e-15);
    EXPECT_EQ(mesh.face_sets.at("bottom").size(), 2U * 6U * 4U);
    EXPECT_EQ(mesh.face_sets.at("side").size(), 2U * 2U * (6U + 4U) * 2U);
    const std::size_t n_bottom = order == 1 ? 7U * 5U : 13U * 9U;
    EXPECT_EQ(mesh.node_sets.at("bottom").size(), n_bottom);
    for (const std::uint32_t node : mesh.node_sets.at("bottom")) EXPECT_EQ(mesh.nodes[node].z(), -0.05);
    const SurfaceReport surface = check_surface(boundary_surface(mesh).surface);
    EXPECT_TRUE(surface.valid()) << describe(surface);
  }
}

TEST(Primitives, CylinderWithCoreAndLayers) {
  const CylinderOptions options{.radius = 0.05,
                                .height = 0.0,
                                .size = 0.01,
                                .core_radius = 0.02,
                                .layers = {{"bone", 0.03}, {"cartilage", 0.005}},
                                .order = 1,
                                .limits = {}};
  const VolumeMesh mesh = make_cylinder(options);
  const VolumeReport report = check_volume(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  // The outer ring has 6 n points, n = 5 rings: area of the regular 30-gon.
  const double area = 15.0 * 0.05 * 0.05 * std::sin(2.0 * std::numbers::pi / 30.0);
  EXPECT_NEAR(report.volume, area * 0.035, 1e-14);
  const auto volume_of = [&](const std::string& set) {
    double sum = 0.0;
    for (const std::uint32_t e : mesh.element_sets.at(set)) sum += element_volume(mesh, e);
    return sum;
  };
  const double core_area = 6.0 * 0.02 * 0.02 * std::sin(2.0 * std::numbers::pi / 12.0);
  EXPECT_NEAR(volume_of("core"), core_area * 0.035, 1e-14);
  EXPECT_NEAR(volume_of("core") + volume_of("shell"), report.volume, 1e-14);
  EXPECT_NEAR(volume_of("cartilage"), area * 0.005, 1e-14);
  EXPECT_NEAR(volume_of("bone"), area * 0.03, 1e-14);
  for (const std::uint32_t node : mesh.node_sets.at("side")) {
    EXPECT_NEAR(mesh.nodes[node].head<2>().norm(), 0.05, 1e-16);
  }
}

TEST(Primitives, QuadraticCylinderLiesOnItsSurface) {
  const VolumeMesh mesh = make_cylinder(
      {.radius = 0.05, .height = 0.04, .size = 0.02, .core_radius = 0.0, .layers = {}, .order = 2, .limits = {}});
  EXPECT_TRUE(check_volume(mesh).valid()) << describe(check_volume(mesh));
  for (const std::uint32_t node : mesh.node_sets.at("side"))
    EXPECT_NEAR(mesh.nodes[node].head<2>().norm(), 0.05, 1e-16);
}

TEST(Primitives, RejectInvalidInput) {
  EXPECT_THROW((void)make_block({.lengths = {0.0, 1, 1}, .size = 0.1, .order = 1, .limits = {}}), Error);
  EXPECT_THROW((void)make_block({.lengths = {1, 1, 1}, .size = 1e-5, .order = 1, .limits = {}}), Error);
  EXPECT_THROW((void)make_block({.lengths = {1, 1, 1}, .size = 0.5, .order = 3, .limits = {}}), Error);
  EXPECT_THROW(
      (void)make_cylinder(
          {.radius = 0.1, .height = 0.1, .size = 0.05, .core_radius = 0.1, .layers = {}, .order = 1, .limits = {}}),
      Error);
  EXPECT_THROW((void)make_cylinder({.radius = 0.1,
                                    .height = 0,
                                    .size = 0.05,
                                    .core_radius = 0,
                                    .layers = {{"a", 1}, {"a", 1}},
                                    .order = 1,
                                    .limits = {}}),
               Error);
}

TEST(NamedSets, EmptySetIsRejected) {
  VolumeMesh mesh = regular_tetrahedron();
  EXPECT_THROW(add_surface_set(mesh, "ankle", {}), Error);
  add_surface_set(mesh, "low", {{.element = 0, .face = 0}});
  EXPECT_THAT(mesh.node_sets.at("low"), testing::SizeIs(3));
}

}  // namespace
}  // namespace heelstrike::fem
