// Cutting a part off a body: every supported piece is kept, and removed ones are reported.
#include "fem_server/bodies/body_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "fem_server/geometry/primitives.hpp"

namespace heelstrike::fem {
namespace {

const std::vector<double> low_half = {-1.0, -1.0, -1.0, 1.05, 2.0, 2.0};

/// Two tetrahedra that share a face, a third connected to them by the edge 3-4 only, and a fourth beyond x = 1.05,
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

TEST(BodyCut, KeepsTheElementsInTheBox) {
  VolumeMesh mesh = hinge();
  const std::vector<ElementFace> cut = clip_to_box(mesh, low_half);
  EXPECT_EQ(mesh.connectivity, (std::vector<std::uint32_t>{0, 1, 2, 3, 1, 2, 3, 4, 3, 4, 5, 6}));
  EXPECT_EQ(mesh.nodes.size(), 7U) << "nodes without an element are removed";
  EXPECT_EQ(mesh.element_sets["all"], (std::vector<std::uint32_t>{0, 1, 2}));
  // The fourth shared the face 1-3-4 with the second and only an edge with the third.
  ASSERT_EQ(cut.size(), 1U);
  Triangle corners = face_corners(mesh, cut.front());
  std::ranges::sort(corners);
  EXPECT_EQ(corners, (Triangle{1, 3, 4}));
}

TEST(BodyCut, PieceOnAHingeIsLooseUntilItIsClamped) {
  VolumeMesh mesh = hinge();
  std::vector<ElementFace> cut = clip_to_box(mesh, low_half);
  const std::vector<std::uint32_t> low{0, 1, 2};
  const std::vector<MeshPiece> loose = find_unsupported_pieces(mesh, low);
  ASSERT_EQ(loose.size(), 1U);
  EXPECT_EQ(loose[0].elements, (std::vector<std::uint32_t>{2}));
  EXPECT_NEAR(loose[0].volume, element_volume(mesh, 2), 1e-15);
  EXPECT_TRUE(find_unsupported_pieces(mesh, std::vector<std::uint32_t>{0, 1, 2, 5}).empty())
      << "two nodes of the edge and one clamped node support it";
  EXPECT_EQ(find_unsupported_pieces(mesh, {}).size(), 1U) << "in free flight the largest piece needs no support";
  remove_pieces(mesh, loose, cut);
  EXPECT_EQ(mesh.n_elements(), 2U);
  EXPECT_TRUE(mesh.node_sets["third"].empty());
  ASSERT_EQ(mesh.face_sets["faces"].size(), 2U);
  EXPECT_EQ(mesh.face_sets["faces"][1].element, 1U);
  EXPECT_EQ(cut.size(), 1U);
}

/// Five prongs on a bar, like toes: cut off the bar, each is a piece of its own.
TEST(BodyCut, EveryToeIsKept) {
  VolumeMesh mesh = make_block({.lengths = {0.1, 0.1, 0.02}, .size = 0.01, .order = 1, .limits = {}});
  // The space between the prongs, beyond x = 0.
  std::vector<std::uint32_t> kept;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto c = mesh.element(e);
    const Vector3 p = 0.25 * (mesh.nodes[c[0]] + mesh.nodes[c[1]] + mesh.nodes[c[2]] + mesh.nodes[c[3]]);
    const bool gap = p.x() > 0.0 && static_cast<int>((p.y() + 0.05) * 100.0) % 2 == 1;
    if (!gap) kept.insert(kept.end(), c.begin(), c.end());
  }
  mesh.connectivity = kept;
  mesh.face_sets.clear();
  mesh.node_sets.clear();
  remove_unused_nodes(mesh);
  const std::size_t n_toes = 5 * 5 * 2 * 6;
  (void)clip_to_box(mesh, {0.0, -1, -1, 1, 1, 1});
  EXPECT_EQ(mesh.n_elements(), n_toes);
  std::vector<std::uint32_t> top;
  for (std::uint32_t n = 0; n < mesh.nodes.size(); ++n) {
    if (mesh.nodes[n].z() > 0.009 && mesh.nodes[n].y() < 0.045) top.push_back(n);
  }
  EXPECT_TRUE(find_unsupported_pieces(mesh, top).empty());
  std::erase_if(top, [&](std::uint32_t n) { return mesh.nodes[n].y() > 0.025; });
  const std::vector<MeshPiece> loose = find_unsupported_pieces(mesh, top);
  ASSERT_EQ(loose.size(), 1U) << "the toe that the clamp does not reach";
  EXPECT_NEAR(loose[0].volume, 0.05 * 0.01 * 0.02, 1e-12);
  EXPECT_NEAR((loose[0].center - Vector3(0.025, 0.035, 0.0)).norm(), 0.0, 1e-12);
}

TEST(BodyCut, MeshInsideTheBoxIsUnchanged) {
  VolumeMesh mesh = hinge();
  EXPECT_TRUE(clip_to_box(mesh, {-9, -9, -9, 9, 9, 9}).empty());
  EXPECT_EQ(mesh.connectivity, hinge().connectivity);
}

TEST(BodyCut, EmptyBoxLeavesNothing) {
  VolumeMesh mesh = hinge();
  (void)clip_to_box(mesh, {10, 10, 10, 11, 11, 11});
  EXPECT_EQ(mesh.n_elements(), 0U);
}

}  // namespace
}  // namespace heelstrike::fem
