// Prisms from files: two of them side by side, the second one skewed, with a named bottom and a named flank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/geometry/layer_mesh.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {
namespace {

using testing::HasSubstr;

/// Corners of a unit square, divided along (0, 0) - (1, 1), and the same one up; the corner (0, 1) at the bottom is
/// moved to (0, 1.5).
const std::string gmsh22 =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 1 \"bottom\"\n2 3 \"flank\"\n3 2 \"soft\"\n"
    "$EndPhysicalNames\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1.5 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 "
    "1\n$EndNodes\n"
    "$Elements\n5\n1 2 2 1 1 1 3 2\n2 2 2 1 1 1 4 3\n3 3 2 3 2 1 2 6 5\n4 6 2 2 1 1 2 3 5 6 7\n"
    "5 6 2 2 1 1 3 4 5 7 8\n$EndElements\n";

const std::string gmsh41 =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 1 \"bottom\"\n2 3 \"flank\"\n3 2 \"soft\"\n"
    "$EndPhysicalNames\n$Entities\n0 0 2 1\n1 0 0 0 1 1 0 1 1 0\n2 0 0 0 1 0 1 1 3 0\n1 0 0 0 1 1 1 1 2 "
    "0\n$EndEntities\n"
    "$Nodes\n1 8 1 8\n3 1 0 8\n1\n2\n3\n4\n5\n6\n7\n8\n0 0 0\n1 0 0\n1 1 0\n0 1.5 0\n0 0 1\n1 0 1\n1 1 1\n0 1 "
    "1\n$EndNodes\n"
    "$Elements\n3 5 1 5\n2 1 2 2\n1 1 3 2\n2 1 4 3\n2 2 3 1\n3 1 2 6 5\n3 1 6 2\n4 1 2 3 5 6 7\n5 1 3 4 5 7 8\n"
    "$EndElements\n";

const std::string abaqus =
    "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1.5,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n*ELEMENT, TYPE=C3D6, ELSET=soft\n"
    "1,1,2,3,5,6,7\n2,1,3,4,5,7,8\n*SURFACE, NAME=bottom\nsoft, S1\n*SURFACE, NAME=flank\n1, S3\n";

/// @param cells  in VTK's prism numbering, with the outward triangle first, or in the other one
std::string vtk(const std::string& cells) {
  return "# vtk DataFile Version 3.0\nprisms\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 8 double\n0 0 0 1 0 0 1 1 0 0 "
         "1.5 0 "
         "0 0 1 1 0 1 1 1 1 0 1 1\nCELLS 2 14\n" +
         cells + "CELL_TYPES 2\n13\n13\n";
}

VolumeMesh read(const std::string& name, const std::string& content) {
  ReadOptions options;
  options.name = name;
  return read_volume(content, options);
}

double surface_volume(const SurfaceMesh& surface) {
  double volume = 0.0;
  for (const Triangle& t : surface.triangles) {
    volume += surface.vertices[t[0]].dot(surface.vertices[t[1]].cross(surface.vertices[t[2]])) / 6.0;
  }
  return volume;
}

Vector3 normal_of(const VolumeMesh& mesh, ElementFace face) {
  const Triangle t = face_corners(mesh, face);
  return (mesh.nodes[t[1]] - mesh.nodes[t[0]]).cross(mesh.nodes[t[2]] - mesh.nodes[t[0]]);
}

void expect_prisms(const VolumeMesh& mesh) {
  EXPECT_EQ(mesh.nodes_per_element, 6U);
  ASSERT_EQ(mesh.n_elements(), 2U);
  EXPECT_NEAR(element_volume(mesh, 0), 0.5, 1e-14);
  // A quarter of area more at the bottom, none at the top; the added volume depends on the diagonals.
  EXPECT_GT(element_volume(mesh, 1), 0.55);
  EXPECT_LT(element_volume(mesh, 1), 0.7);
  EXPECT_EQ(boundary_faces(mesh).size(), 12U) << "four triangles and four sides, two triangles each";
}

void expect_sets(const VolumeMesh& mesh) {
  expect_prisms(mesh);
  ASSERT_TRUE(mesh.face_sets.contains("bottom"));
  ASSERT_TRUE(mesh.face_sets.contains("flank"));
  EXPECT_THAT(mesh.face_sets.at("bottom"), testing::ElementsAre(ElementFace{0, 0}, ElementFace{1, 0}));
  EXPECT_THAT(mesh.face_sets.at("flank"), testing::ElementsAre(ElementFace{0, 2}, ElementFace{0, 3}));
  EXPECT_EQ(mesh.node_sets.at("bottom").size(), 4U);
  EXPECT_EQ(mesh.node_sets.at("flank").size(), 4U);
  EXPECT_EQ(mesh.element_sets.at("soft").size(), 2U);
  for (const ElementFace face : mesh.face_sets.at("bottom")) EXPECT_LT(normal_of(mesh, face).z(), 0.0) << "outward";
  for (const ElementFace face : mesh.face_sets.at("flank")) EXPECT_LT(normal_of(mesh, face).y(), 0.0) << "outward";
}

std::string reading_error(const std::string& name, const std::string& content) {
  try {
    (void)read(name, content);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Prisms, AreReadFromEveryFormatAndWrittenWithTheirSets) {
  const VolumeMesh mesh = read("prisms.msh", gmsh22);
  expect_sets(mesh);
  expect_sets(read("prisms.msh", gmsh41));
  expect_sets(read("prisms.inp", abaqus));
  expect_sets(read("again.msh", write_msh(mesh)));
  const VolumeMesh again = read("again.vtu", write_vtu(mesh));
  expect_sets(again);
  EXPECT_EQ(again.connectivity, mesh.connectivity);
  EXPECT_EQ(again.face_sets, mesh.face_sets);
  EXPECT_THAT(again.notes, testing::IsEmpty());
}

// VTK's manual requires an outward first triangle of the prism, Gmsh and Abaqus an inward one, and files of both kinds
// exist.
TEST(Prisms, OfVtkFilesMayHaveEitherNumbering) {
  const VolumeMesh outward = read("prisms.vtk", vtk("6 4 5 6 0 1 2\n6 4 6 7 0 2 3\n"));
  expect_prisms(outward);
  EXPECT_THAT(outward.notes, testing::IsEmpty());
  const VolumeMesh inward = read("prisms.vtk", vtk("6 0 1 2 4 5 6\n6 0 2 3 4 6 7\n"));
  expect_prisms(inward);
  EXPECT_THAT(inward.notes, testing::ElementsAre(HasSubstr("numbering of Gmsh")));
  EXPECT_EQ(inward.connectivity, outward.connectivity);
  // A single inverted one among others stays inverted.
  const VolumeMesh torn = read("prisms.vtk", vtk("6 4 5 6 0 1 2\n6 0 2 3 4 6 7\n"));
  EXPECT_THAT(check_volume(torn).inverted, testing::ElementsAre(1U));
}

// Files for ParaView have VTK's order, in meshes and in fields.
TEST(Prisms, OfFieldsHaveTheNumberingOfVtk) {
  const VolumeMesh mesh = read("prisms.msh", gmsh22);
  const std::string fields =
      write_fields({.points = mesh.nodes, .nodes_per_cell = 6, .connectivity = mesh.connectivity}, {}, {});
  const VolumeMesh again = read("fields.vtu", fields);
  expect_prisms(again);
  EXPECT_EQ(again.connectivity, mesh.connectivity);
  EXPECT_THAT(again.notes, testing::IsEmpty());
}

TEST(Prisms, VolumeOfTheSurfaceIsThatOfTheElements) {
  const VolumeMesh mesh = read("prisms.msh", gmsh22);
  EXPECT_NEAR(surface_volume(boundary_surface(mesh).surface), element_volume(mesh, 0) + element_volume(mesh, 1), 1e-14)
      << "closed, and cut alike on both sides";
}

TEST(Prisms, FacesEqualThoseOfAbaqus) {
  const VolumeMesh mesh = read("prisms.inp", abaqus);
  const Vector3 diagonal(-1.0, 1.0, 0.0);
  const std::array<Vector3, 5> outward{-Vector3::UnitZ(), Vector3::UnitZ(), -Vector3::UnitY(), Vector3::UnitX(),
                                       diagonal.normalized()};
  for (std::uint8_t side = 0; side < mesh.sides_per_element(); ++side) {
    const auto faces = faces_of_side(mesh, side);
    EXPECT_EQ(faces.size(), side < 2 ? 1U : 2U);
    for (const std::uint8_t face : faces) {
      EXPECT_EQ(mesh.parts_of_side(face), faces.size());
      EXPECT_NEAR((normal_of(mesh, {0, face}).normalized() - outward[side]).norm(), 0.0, 1e-14) << "S" << side + 1;
    }
  }
}

TEST(Prisms, AreCheckedForShape) {
  VolumeMesh mesh = read("prisms.msh", gmsh22);
  const VolumeReport report = check_volume(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_EQ(report.n_pieces, 1U);
  EXPECT_EQ(report.min_edge_length, 1.0);
  EXPECT_THAT(describe(report), HasSubstr("2 prisms with 6 nodes in 1 piece"));
  // Half of a cube: compared with the regular prism J = (1, 0; 0, 2 / sqrt 3 or less), 3 (4/3)^(1/3) / (2 + 5/3) at the
  // acute corners in closed form.
  EXPECT_GT(mean_ratio(mesh, 0), 0.8);
  EXPECT_LT(mean_ratio(mesh, 0), 1.0);
  EXPECT_LT(mean_ratio(mesh, 1), mean_ratio(mesh, 0));
  // The one with equal edges, whose quality does not depend on its size.
  VolumeMesh regular = mesh;
  regular.nodes = {{0, 0, 0}, {2, 0, 0}, {1, std::sqrt(3.0), 0}, {0, 0, 0},
                   {0, 0, 2}, {2, 0, 2}, {1, std::sqrt(3.0), 2}};
  regular.connectivity = {0, 1, 2, 4, 5, 6};
  EXPECT_NEAR(mean_ratio(regular, 0), 1.0, 1e-14);
  std::swap(mesh.connectivity[0], mesh.connectivity[3]);
  EXPECT_THAT(check_volume(mesh).inverted, testing::ElementsAre(0U));
}

TEST(Prisms, FillABlock) {
  const VolumeMesh mesh =
      make_block({.lengths = {0.03, 0.02, 0.01}, .size = 0.005, .order = 1, .corners = 6, .limits = {}});
  const VolumeReport report = check_volume(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_EQ(report.n_elements, 6U * 4U * 2U * 2U);
  EXPECT_NEAR(report.volume, 6e-6, 1e-18);
  EXPECT_EQ(mesh.face_sets.at("bottom").size(), 48U);
  EXPECT_EQ(mesh.face_sets.at("front").size(), 16U);
  EXPECT_EQ(mesh.node_sets.at("side").size(), 3U * 20U);
}

// A layer of whole prisms has the nodes and the surface of the one that is divided into tetrahedra.
TEST(Prisms, OfALayerStayWhole) {
  const auto patch = [](int n, double size, double height) {
    SurfaceMesh mesh;
    for (int j = 0; j <= n; ++j) {
      for (int i = 0; i <= n; ++i) {
        const double x = size * (static_cast<double>(i) / n - 0.5);
        const double y = size * (static_cast<double>(j) / n - 0.5);
        mesh.vertices.emplace_back(x, y, 10.0 * (x * x + y * y) + height);
      }
    }
    const auto id = [&](int i, int j) { return static_cast<std::uint32_t>(j * (n + 1) + i); };
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        mesh.triangles.push_back({id(i, j), id(i + 1, j), id(i + 1, j + 1)});
        mesh.triangles.push_back({id(i, j), id(i + 1, j + 1), id(i, j + 1)});
      }
    }
    return mesh;
  };
  const SurfaceMesh outer = patch(20, 0.04, 0.003);
  const SurfaceMesh inner = patch(17, 0.037, 0.0);
  const LayerMesh cut = mesh_layer(outer, inner, {.layers = 3});
  const LayerMesh whole = mesh_layer(outer, inner, {.layers = 3, .keep_prisms = true});
  const VolumeReport report = check_volume(whole.mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_EQ(report.nodes_per_element, 6U);
  EXPECT_EQ(report.n_elements, 20U * 20U * 2U * 3U);
  EXPECT_EQ(3 * report.n_elements, cut.mesh.n_elements());
  EXPECT_EQ(report.n_pieces, 1U);
  // 2 mm wide and 1 mm high, skewed at the rim.
  EXPECT_GT(report.min_quality, 0.4);
  EXPECT_TRUE(whole.mesh.nodes == cut.mesh.nodes);
  EXPECT_EQ(whole.mean_thickness, cut.mean_thickness);
  for (const char* set : {"outer", "inner", "rim"}) {
    EXPECT_EQ(whole.mesh.face_sets.at(set).size(), cut.mesh.face_sets.at(set).size()) << set;
  }
  EXPECT_EQ(whole.mesh.node_sets, cut.mesh.node_sets);
  for (const ElementFace face : whole.mesh.face_sets.at("outer")) EXPECT_EQ(face.face, 1) << "S2, the top";
  for (const ElementFace face : whole.mesh.face_sets.at("inner")) EXPECT_EQ(face.face, 0) << "S1, the bottom";
  EXPECT_TRUE(check_surface(boundary_surface(whole.mesh).surface).valid()) << "the prisms do not fit each other";
  EXPECT_NEAR(surface_volume(boundary_surface(whole.mesh).surface), report.volume, 1e-12 * report.volume);
}

TEST(Prisms, OfSecondOrderAreReadWithStraightEdges) {
  std::string nodes = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,2\n5,1,0,2\n6,0,1,2\n";
  for (int i = 7; i <= 15; ++i) nodes += std::to_string(i) + ",0.5,0.5,1\n";
  const std::string text = nodes + "*ELEMENT, TYPE=C3D15, ELSET=all\n1,1,2,3,4,5,6,7,8,9,10,11,12,13,14,\n15\n" +
                           "*SURFACE, NAME=top\nall, S2\n";
  const VolumeMesh mesh = read("c3d15.inp", text);
  ASSERT_EQ(mesh.nodes_per_element, 6U);
  ASSERT_EQ(mesh.nodes.size(), 6U);
  EXPECT_DOUBLE_EQ(check_volume(mesh).volume, 1.0);
  EXPECT_EQ(mesh.face_sets.at("top").size(), 1U);
  EXPECT_THAT(mesh.notes, testing::Contains(HasSubstr("1 prisms have 15 or 18 nodes")));
  const std::string gmsh =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n7\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 2\n5 1 0 2\n6 0 1 2\n"
      "7 0 0 1\n$EndNodes\n$Elements\n1\n1 18 0 1 2 3 4 5 6 7 7 7 7 7 7 7 7 7\n$EndElements\n";
  EXPECT_DOUBLE_EQ(check_volume(read("quadratic.msh", gmsh)).volume, 1.0);
  const std::string grid =
      "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 7 float\n0 0 0 1 0 0 0 1 0 0 0 2 1 0 2 "
      "0 1 2 0 0 1\nCELLS 1 16\n15 3 4 5 0 1 2 6 6 6 6 6 6 6 6 6\nCELL_TYPES 1\n26\n";
  EXPECT_DOUBLE_EQ(check_volume(read("quadratic.vtk", grid)).volume, 1.0);
}

TEST(Prisms, MalformedFilesAreReported) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_THAT(
      reading_error("side.inp", replaced(abaqus, "1, S3", "1, S6")),
      HasSubstr("surface 'flank': element 1 has no face S6; the last face of tetrahedra is S4, of prisms S5, of "
                "hexahedra S6"));
  EXPECT_THAT(reading_error("kind.inp", replaced(abaqus, "C3D6", "C3D5")), HasSubstr("C3D6, C3D15, C3D8, C3D20"));
  EXPECT_THAT(reading_error("few.inp", replaced(abaqus, "1,1,2,3,5,6,7", "1,1,2,3,5,6")),
              HasSubstr("expected an element number and 6 nodes, found 6 values"));
  EXPECT_THAT(reading_error("twice.msh", replaced(gmsh22, "1 2 3 5 6 7", "1 2 3 5 6 6")),
              HasSubstr("uses node 6 twice"));
  EXPECT_THAT(reading_error("pyramid.msh", replaced(gmsh22, "4 6 2 2 1", "4 7 2 2 1")),
              HasSubstr("found element type 7"));
  EXPECT_THAT(
      reading_error("mixed.msh", replaced(gmsh22, "4 6 2 2 1 1 2 3 5 6 7", "4 4 2 2 1 1 2 3 5")),
      HasSubstr("expected tetrahedra with 4 nodes as before, found prisms with 6 nodes: a body consists of elements "
                "of one kind and order"));
  EXPECT_THAT(reading_error("lonely.msh", replaced(gmsh22, "3 3 2 3 2 1 2 6 5", "3 3 2 3 2 1 2 7 8")),
              HasSubstr("are not a face of any element"));
  EXPECT_THAT(reading_error("few.vtk", vtk("6 4 5 6 0 1 2\n5 4 6 7 0 2\n")), HasSubstr("few.vtk"));
  const std::string whole = write_vtu(read("prisms.msh", gmsh22));
  EXPECT_THAT(reading_error("cut.vtu", whole.substr(0, whole.size() / 2)), HasSubstr("cut.vtu"));
}

}  // namespace
}  // namespace heelstrike::fem
