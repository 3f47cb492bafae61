// Cutting a part off a body.
#include "fem_server/backends/fem_condensed/body_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace heelstrike::fem {
namespace {

const std::vector<double> low_half = {-1.0, -1.0, -1.0, 1.05, 2.0, 2.0};

/// Two tetrahedra that share a face, a third that hangs on them by the edge 3-4 only, and a fourth beyond x = 1.05,
/// between the third and the second.
VolumeMesh hinge() {
  VolumeMesh mesh;
  mesh.nodes = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.6, 0.3, 1}, {1, 1, 0.5}, {1.2, 0.5, 2}, {0.9, 1.2, 2}, {4, 0, 0}};
  mesh.connectivity = {0, 1, 2, 3, 1, 2, 3, 4, 3, 4, 5, 6, 1, 3, 4, 7};
  mesh.element_sets["all"] = {0, 1, 2, 3};
  mesh.node_sets["third"] = {5, 6};
  mesh.face_sets["faces"] = {{0, 0}, {1, 2}, {2, 1}};
  return mesh;
}

TEST(BodyCut, KeepsWhatLiesInTheBoxAndHangsTogetherByFaces) {
  VolumeMesh mesh = hinge();
  EXPECT_EQ(cut_to_box(mesh, low_half), 2U) << "one is outside, one would hang by an edge";
  EXPECT_EQ(mesh.connectivity, (std::vector<std::uint32_t>{0, 1, 2, 3, 1, 2, 3, 4}));
  EXPECT_EQ(mesh.nodes.size(), 5U) << "nodes without element go";
  EXPECT_EQ(mesh.element_sets["all"], (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(mesh.node_sets["third"].empty());
  ASSERT_EQ(mesh.face_sets["faces"].size(), 2U);
  EXPECT_EQ(mesh.face_sets["faces"][1].element, 1U);
}

TEST(BodyCut, LeavesAMeshInsideTheBoxAsItIs) {
  VolumeMesh mesh = hinge();
  EXPECT_EQ(cut_to_box(mesh, {-9, -9, -9, 9, 9, 9}), 0U);
  EXPECT_EQ(mesh.connectivity, hinge().connectivity);
}

TEST(BodyCut, EmptyBoxLeavesNothing) {
  VolumeMesh mesh = hinge();
  EXPECT_EQ(cut_to_box(mesh, {10, 10, 10, 11, 11, 11}), 4U);
  EXPECT_EQ(mesh.n_elements(), 0U);
}

}  // namespace
}  // namespace heelstrike::fem
