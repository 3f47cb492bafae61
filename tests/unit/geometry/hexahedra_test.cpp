// Hexahedra from files: two bricks side by side, the second one skewed, with a named bottom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {
namespace {

const std::string two_bricks_gmsh =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"bottom\"\n3 2 \"soft\"\n$EndPhysicalNames\n"
    "$Nodes\n12\n1 0 0 0\n2 1 0 0\n3 3 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0\n7 0 0 1\n8 1 0 1\n9 2 0 1\n10 0 1 1\n"
    "11 1 1 1\n12 2 1 1\n$EndNodes\n$Elements\n4\n1 3 2 1 1 1 4 5 2\n2 3 2 1 1 2 5 6 3\n"
    "3 5 2 2 1 1 2 5 4 7 8 11 10\n4 5 2 2 1 2 3 6 5 8 9 12 11\n$EndElements\n";

const std::string two_bricks_abaqus =
    "*NODE\n1,0,0,0\n2,1,0,0\n3,3,0,0\n4,0,1,0\n5,1,1,0\n6,2,1,0\n7,0,0,1\n8,1,0,1\n9,2,0,1\n10,0,1,1\n"
    "11,1,1,1\n12,2,1,1\n*ELEMENT, TYPE=C3D8, ELSET=soft\n1,1,2,5,4,7,8,11,10\n2,2,3,6,5,8,9,12,11\n"
    "*SURFACE, NAME=bottom\nsoft, S1\n";

VolumeMesh read_bricks(const std::string& name, const std::string& content) {
  ReadOptions options;
  options.name = name;
  return read_volume(content, options);
}

void expect_bricks(const VolumeMesh& mesh) {
  EXPECT_EQ(mesh.nodes_per_element, 8U);
  ASSERT_EQ(mesh.n_elements(), 2U);
  EXPECT_NEAR(element_volume(mesh, 0), 1.0, 1e-14);
  // A cube whose lower corner at x = 2 is drawn to x = 3; what that adds depends on the diagonals.
  EXPECT_GT(element_volume(mesh, 1), 1.1);
  EXPECT_LT(element_volume(mesh, 1), 1.4);
  EXPECT_EQ(boundary_faces(mesh).size(), 20U) << "ten sides, two triangles each";
  ASSERT_TRUE(mesh.face_sets.contains("bottom"));
  EXPECT_EQ(mesh.face_sets.at("bottom").size(), 4U);
  EXPECT_EQ(mesh.node_sets.at("bottom").size(), 6U);
  EXPECT_EQ(mesh.element_sets.at("soft").size(), 2U);
  for (const ElementFace face : mesh.face_sets.at("bottom")) {
    const Triangle t = face_corners(mesh, face);
    const Vector3 normal = (mesh.nodes[t[1]] - mesh.nodes[t[0]]).cross(mesh.nodes[t[2]] - mesh.nodes[t[0]]);
    EXPECT_LT(normal.z(), 0.0) << "out of the body";
  }
}

TEST(Hexahedra, AreReadFromEveryFormatAndWrittenWithTheirSets) {
  const VolumeMesh mesh = read_bricks("bricks.msh", two_bricks_gmsh);
  expect_bricks(mesh);
  expect_bricks(read_bricks("bricks.inp", two_bricks_abaqus));
  expect_bricks(read_bricks("again.msh", write_msh(mesh)));
  const VolumeMesh again = read_bricks("again.vtu", write_vtu(mesh));
  expect_bricks(again);
  EXPECT_EQ(again.connectivity, mesh.connectivity);
  EXPECT_EQ(again.face_sets, mesh.face_sets);
}

TEST(Hexahedra, VolumeOfTheSurfaceIsThatOfTheElements) {
  const VolumeMesh mesh = read_bricks("bricks.msh", two_bricks_gmsh);
  const SurfaceMesh surface = boundary_surface(mesh).surface;
  double volume = 0.0;
  for (const Triangle& t : surface.triangles) {
    volume += surface.vertices[t[0]].dot(surface.vertices[t[1]].cross(surface.vertices[t[2]])) / 6.0;
  }
  EXPECT_NEAR(volume, element_volume(mesh, 0) + element_volume(mesh, 1), 1e-14)
      << "closed, and cut alike on both sides";
}

TEST(Hexahedra, AreCheckedForShape) {
  VolumeMesh mesh = read_bricks("bricks.msh", two_bricks_gmsh);
  const VolumeReport report = check_volume(mesh);
  EXPECT_TRUE(report.sound()) << describe(report);
  EXPECT_NEAR(mean_ratio(mesh, 0), 1.0, 1e-14) << "a cube";
  EXPECT_LT(mean_ratio(mesh, 1), 1.0);
  EXPECT_GT(mean_ratio(mesh, 1), 0.5);
  EXPECT_EQ(report.n_pieces, 1U);
  EXPECT_THAT(describe(report), testing::HasSubstr("2 hexahedra with 8 nodes in 1 pieces"));
  std::swap(mesh.connectivity[0], mesh.connectivity[4]);
  EXPECT_THAT(check_volume(mesh).inverted, testing::ElementsAre(0U));
}

TEST(Hexahedra, WithMoreNodesAreRefusedByName) {
  std::string file = two_bricks_gmsh;
  file.replace(file.find("3 5 2 2 1 1"), 11, "3 17 2 2 1 1");
  try {
    (void)read_bricks("bricks.msh", file);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("hexahedra with 20 nodes (Gmsh type 17) are not read"));
    EXPECT_THAT(error.what(), testing::HasSubstr("export hexahedra with 8 nodes"));
  }
}

}  // namespace
}  // namespace heelstrike::fem
