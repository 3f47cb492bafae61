// Hexahedra from files: two bricks side by side, the second one skewed, with a named bottom.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
  // A cube whose lower corner at x = 2 is moved to x = 3; the added volume depends on the diagonals.
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
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_NEAR(mean_ratio(mesh, 0), 1.0, 1e-14) << "a cube";
  EXPECT_LT(mean_ratio(mesh, 1), 1.0);
  EXPECT_GT(mean_ratio(mesh, 1), 0.5);
  EXPECT_EQ(report.n_pieces, 1U);
  EXPECT_THAT(describe(report), testing::HasSubstr("2 hexahedra with 8 nodes in 1 piece"));
  std::swap(mesh.connectivity[0], mesh.connectivity[4]);
  EXPECT_THAT(check_volume(mesh).inverted, testing::ElementsAre(0U));
}

/// Two unit cubes along x as Gmsh 4.8.4 writes them at order 2, complete and incomplete.
const std::string cubes_of_27 =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"bottom\"\n3 2 \"soft\"\n$EndPhysicalNames\n$Nodes\n"
    "45\n1 0 0 0\n2 2 0 0\n3 2 1 0\n4 0 1 0\n5 0 0 1\n6 2 0 1\n7 2 1 1\n8 0 1 1\n9 1 0 0\n10 0.5 0 0\n"
    "11 1.5 0 0\n12 2 0.5 0\n13 1 1 0\n14 1.5 1 0\n15 0.5 1 0\n16 0 0.5 0\n17 1 0 1\n18 0.5 0 1\n"
    "19 1.5 0 1\n20 2 0.5 1\n21 1 1 1\n22 1.5 1 1\n23 0.5 1 1\n24 0 0.5 1\n25 0 0 0.5\n26 2 0 0.5\n"
    "27 2 1 0.5\n28 0 1 0.5\n29 1 0.5 0\n30 0.5 0.5 0\n31 1.5 0.5 0\n32 1 0 0.5\n33 0.5 0 0.5\n"
    "34 1.5 0 0.5\n35 2 0.5 0.5\n36 1 1 0.5\n37 1.5 1 0.5\n38 0.5 1 0.5\n39 0 0.5 0.5\n40 1 0.5 1\n"
    "41 0.5 0.5 1\n42 1.5 0.5 1\n43 1 0.5 0.5\n44 0.5 0.5 0.5\n45 1.5 0.5 0.5\n"
    "$EndNodes\n$Elements\n"
    "4\n1 10 2 1 1 1 9 13 4 10 29 15 16 30\n2 10 2 1 1 9 2 3 13 11 12 14 29 31\n"
    "3 12 2 2 1 1 9 13 4 5 17 21 8 10 16 25 29 32 15 36 28 18 24 40 23 30 33 39 43 38 41 44\n"
    "4 12 2 2 1 9 2 3 13 17 6 7 21 11 29 32 12 26 14 27 36 19 40 20 22 31 34 43 35 37 42 45\n"
    "$EndElements\n";

const std::string cubes_of_20 =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"bottom\"\n3 2 \"soft\"\n$EndPhysicalNames\n$Nodes\n"
    "32\n1 0 0 0\n2 2 0 0\n3 2 1 0\n4 0 1 0\n5 0 0 1\n6 2 0 1\n7 2 1 1\n8 0 1 1\n9 1 0 0\n10 0.5 0 0\n"
    "11 1.5 0 0\n12 2 0.5 0\n13 1 1 0\n14 1.5 1 0\n15 0.5 1 0\n16 0 0.5 0\n17 1 0 1\n18 0.5 0 1\n"
    "19 1.5 0 1\n20 2 0.5 1\n21 1 1 1\n22 1.5 1 1\n23 0.5 1 1\n24 0 0.5 1\n25 0 0 0.5\n26 2 0 0.5\n"
    "27 2 1 0.5\n28 0 1 0.5\n29 1 0.5 0\n30 1 0 0.5\n31 1 1 0.5\n32 1 0.5 1\n"
    "$EndNodes\n$Elements\n"
    "4\n1 16 2 1 1 1 9 13 4 10 29 15 16\n2 16 2 1 1 9 2 3 13 11 12 14 29\n"
    "3 17 2 2 1 1 9 13 4 5 17 21 8 10 16 25 29 30 15 31 28 18 24 32 23\n"
    "4 17 2 2 1 9 2 3 13 17 6 7 21 11 29 30 12 26 14 27 31 19 32 20 22\n"
    "$EndElements\n";

std::string rejection_error(const std::string& name, const std::string& content) {
  try {
    (void)read_bricks(name, content);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

/// Every node of straight cubes lies at the position of its number.
void expect_cubes(const VolumeMesh& mesh, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(mesh.nodes_per_element, 27U);
  ASSERT_EQ(mesh.n_elements(), 2U);
  EXPECT_EQ(mesh.nodes.size(), 45U) << "nine on the common side, once";
  for (std::size_t e = 0; e < 2; ++e) {
    const auto element = mesh.element(e);
    const Vector3& origin = mesh.nodes[element[0]];
    for (std::size_t i = 0; i < 27; ++i) {
      const auto& place = hexahedron_places[i];
      const Vector3 expected = origin + 0.5 * place[0] * (mesh.nodes[element[1]] - origin) +
                               0.5 * place[1] * (mesh.nodes[element[3]] - origin) +
                               0.5 * place[2] * (mesh.nodes[element[4]] - origin);
      EXPECT_NEAR((mesh.nodes[element[i]] - expected).norm(), 0.0, 1e-14) << "element " << e << ", node " << i;
    }
    EXPECT_NEAR(element_volume(mesh, e), 1.0, 1e-14);
  }
  EXPECT_EQ(boundary_faces(mesh).size(), 80U) << "ten sides, eight triangles each";
  ASSERT_TRUE(mesh.face_sets.contains("bottom"));
  EXPECT_EQ(mesh.face_sets.at("bottom").size(), 16U);
  EXPECT_EQ(mesh.node_sets.at("bottom").size(), 15U);
  EXPECT_EQ(mesh.element_sets.at("soft").size(), 2U);
  for (const ElementFace face : mesh.face_sets.at("bottom")) {
    const Triangle t = face_corners(mesh, face);
    EXPECT_LT((mesh.nodes[t[1]] - mesh.nodes[t[0]]).cross(mesh.nodes[t[2]] - mesh.nodes[t[0]]).z(), 0.0);
  }
  EXPECT_TRUE(check_volume(mesh).valid()) << describe(check_volume(mesh));
}

/// The cubes with 20 or 27 nodes for Abaqus, whose order is that of VolumeMesh up to the 20th.
std::string cubes_for_abaqus(const VolumeMesh& mesh, std::size_t n_nodes) {
  std::string text = "*NODE\n";
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    text += std::to_string(n + 1) + "," + std::to_string(mesh.nodes[n].x()) + "," + std::to_string(mesh.nodes[n].y()) +
            "," + std::to_string(mesh.nodes[n].z()) + "\n";
  }
  text += fmt::format("*ELEMENT, TYPE=C3D{}R, ELSET=soft\n", n_nodes);
  // After the 20 nodes of corners and edges Abaqus has the interior one and those of its faces S1 to S6.
  constexpr std::array<std::size_t, 7> last{26, 24, 25, 22, 21, 23, 20};
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    text += std::to_string(e + 1);
    for (std::size_t i = 0; i < n_nodes; ++i) {
      text += i % 16 == 15 ? ",\n" : ",";  // a line has 16 numbers
      text += std::to_string(mesh.element(e)[i < 20 ? i : last[i - 20]] + 1);
    }
    text += "\n";
  }
  return text + "*SURFACE, NAME=bottom\nsoft, S1\n*NSET, NSET=corners and middles\n1,10,2\n";
}

TEST(QuadraticHexahedra, AreReadFromEveryFormatAndWrittenWithTheirSets) {
  const VolumeMesh mesh = read_bricks("cubes.msh", cubes_of_27);
  expect_cubes(mesh, "27 of Gmsh");
  const VolumeMesh completed = read_bricks("cubes.msh", cubes_of_20);
  expect_cubes(completed, "20 of Gmsh");
  EXPECT_THAT(completed.notes, testing::ElementsAre(testing::HasSubstr("completed to 27: 13 side and centre nodes")));
  expect_cubes(read_bricks("again.msh", write_msh(mesh)), "written for Gmsh");
  const VolumeMesh again = read_bricks("again.vtu", write_vtu(mesh));
  expect_cubes(again, "written as VTU");
  EXPECT_EQ(again.connectivity, mesh.connectivity);
  EXPECT_EQ(again.face_sets, mesh.face_sets);
  const VolumeMesh side = read_bricks("cubes.inp", cubes_for_abaqus(completed, 20));
  EXPECT_EQ(side.node_sets.at("corners and middles").size(), 3U) << "no side has all of its nodes in it";
  expect_cubes(side, "20 of Abaqus");
  expect_cubes(read_bricks("cubes.inp", cubes_for_abaqus(mesh, 27)), "27 of Abaqus");
}

// Content of a legacy file of VTK: its type numbers, sides with eight and nine nodes on the boundary.
TEST(QuadraticHexahedra, OfVtkIncludeTheirSides) {
  VolumeMesh mesh = read_bricks("cubes.msh", cubes_of_27);
  for (const bool complete : {false, true}) {
    const std::size_t n = complete ? 27 : 20;
    const std::size_t n_side = complete ? 9 : 8;
    std::string text = "# vtk DataFile Version 3.0\ncubes\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 45 double\n";
    for (const Vector3& p : mesh.nodes) {
      text += std::to_string(p.x()) + " " + std::to_string(p.y()) + " " + std::to_string(p.z()) + "\n";
    }
    text += "CELLS 4 " + std::to_string(2 * (n + 1) + 2 * (n_side + 1)) + "\n";
    for (std::size_t e = 0; e < 2; ++e) {
      text += std::to_string(n);
      for (std::size_t i = 0; i < n; ++i) text += " " + std::to_string(mesh.element(e)[i]);
      text += "\n" + std::to_string(n_side);
      const auto nodes = side_nodes(mesh, {static_cast<std::uint32_t>(e), faces_of_side(mesh, 0).front()});
      for (std::size_t i = 0; i < n_side; ++i) text += " " + std::to_string(nodes[i]);
      text += "\n";
    }
    text += complete ? "CELL_TYPES 4\n29\n28\n29\n28\n" : "CELL_TYPES 4\n25\n23\n25\n23\n";
    text += "CELL_DATA 4\nSCALARS set:bottom int 1\nLOOKUP_TABLE default\n0\n1\n0\n1\n";
    text += "SCALARS set:soft int 1\nLOOKUP_TABLE default\n1\n0\n1\n0\n";
    expect_cubes(read_bricks("cubes.vtk", text), complete ? "27 of VTK" : "20 of VTK");
  }
}

TEST(QuadraticHexahedra, AreRaisedFromThoseWithEightNodes) {
  const VolumeMesh linear = read_bricks("bricks.msh", two_bricks_gmsh);
  const VolumeMesh mesh = to_quadratic(linear);
  EXPECT_EQ(mesh.nodes.size(), 45U);
  EXPECT_EQ(mesh.face_sets.at("bottom").size(), 16U);
  EXPECT_EQ(mesh.node_sets.at("bottom").size(), 15U) << "six corners, seven middles of edges and two of sides";
  EXPECT_TRUE(check_volume(mesh).valid());
  // The middles of a trilinear hexahedron: means of the corners around them.
  for (std::size_t e = 0; e < 2; ++e) {
    Vector3 mean = Vector3::Zero();
    for (std::size_t i = 0; i < 8; ++i) mean += 0.125 * linear.nodes[linear.element(e)[i]];
    EXPECT_NEAR((mesh.nodes[mesh.element(e)[26]] - mean).norm(), 0.0, 1e-14);
  }
}

TEST(QuadraticHexahedra, InvalidNodeOrderIsReported) {
  // In the order of VTK and Abaqus, where Gmsh requires its own.
  std::string file = cubes_of_20;
  const std::string own = "1 9 13 4 5 17 21 8 10 16 25 29 30 15 31 28 18 24 32 23";
  file.replace(file.find(own), own.size(), "1 9 13 4 5 17 21 8 10 29 15 16 18 32 23 24 25 30 31 28");
  EXPECT_THAT(
      rejection_error("cubes.msh", file),
      testing::HasSubstr("element 0: expected node 16, number 10 of its 20, between the nodes 9 and 13, which are 1 "
                         "apart, found it 1.118 and 1.118 from them"));
  VolumeMesh mesh = read_bricks("cubes.msh", cubes_of_27);
  std::swap(mesh.connectivity[24], mesh.connectivity[20]);
  EXPECT_THAT(rejection_error("cubes.vtu", write_vtu(mesh)), testing::HasSubstr("element 0: expected node"));
  // Bottom and top exchanged between thin sides are close enough, and invert the element.
  VolumeMesh thin = read_bricks("cubes.msh", cubes_of_27);
  for (Vector3& node : thin.nodes) node.z() *= 0.01;
  std::swap(thin.connectivity[24], thin.connectivity[25]);
  EXPECT_THAT(check_volume(thin).inverted, testing::ElementsAre(0U));
}

}  // namespace
}  // namespace heelstrike::fem
