// VTU files as read by a page: triangles of boundaries, units, and invalid files.
#include <gtest/gtest.h>

#include <cstring>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "common/text/markup.hpp"
#include "report/fields_data.hpp"

namespace heelstrike::report {
namespace {

template <class Value>
std::string array(const std::string& name, const char* type, int components, const std::vector<Value>& values) {
  const std::uint64_t size = values.size() * sizeof(Value);
  std::string bytes(sizeof(size) + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + sizeof(size), values.data(), size);
  return "<DataArray type=\"" + std::string(type) + "\" Name=\"" + name + "\" NumberOfComponents=\"" +
         std::to_string(components) + "\" format=\"binary\">\n<InformationKey name=\"UNITS_LABEL\" " +
         "location=\"vtkDataArray\">\nPa\n</InformationKey>" + encode_base64(bytes) + "\n</DataArray>\n";
}

/// Two tetrahedra with a common face.
std::string two_tetrahedra(const std::vector<std::int64_t>& connectivity = {0, 1, 2, 3, 1, 2, 3, 4}) {
  return "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\"><UnstructuredGrid><Piece>\n<PointData>" +
         array<double>("pressure", "Float64", 1, {1.0, 2.0, 3.0, 4.0, 5.0}) + "</PointData><Points>" +
         array<double>("Points", "Float64", 3, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}) + "</Points><Cells>" +
         array<std::int64_t>("connectivity", "Int64", 1, connectivity) +
         array<std::int64_t>("offsets", "Int64", 1, {4, 8}) + array<std::uint8_t>("types", "UInt8", 1, {10, 10}) +
         "</Cells></Piece></UnstructuredGrid></VTKFile>";
}

TEST(ParseVtu, BoundaryOfTetrahedraIsDrawn) {
  const FieldGrid grid = parse_vtu(two_tetrahedra(), "t.vtu");
  EXPECT_EQ(grid.points.size(), 15U);
  EXPECT_EQ(grid.triangles.size(), 3U * 6U) << "8 faces, one of them shared by both";
  ASSERT_EQ(grid.arrays.size(), 1U);
  EXPECT_EQ(grid.arrays[0].name, "pressure");
  EXPECT_EQ(grid.arrays[0].unit, "Pa");
  EXPECT_EQ(grid.arrays[0].values[4], 5.0);
}

TEST(ParseVtu, HexahedraAreCutConsistentlyOnBothSides) {
  // Two cubes beside each other, numbered so that the smallest corners lie in different places.
  const std::vector<double> points{1, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 0,
                                   1, 1, 1, 0, 0, 1, 2, 0, 1, 0, 1, 1, 1, 0, 1, 2, 1, 1};
  const std::string file =
      "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\"><UnstructuredGrid><Piece>\n<PointData></PointData>"
      "<Points>" +
      array<double>("Points", "Float64", 3, points) + "</Points><Cells>" +
      array<std::int64_t>("connectivity", "Int64", 1, {1, 4, 0, 3, 7, 10, 6, 9, 4, 2, 5, 0, 10, 8, 11, 6}) +
      array<std::int64_t>("offsets", "Int64", 1, {8, 16}) + array<std::uint8_t>("types", "UInt8", 1, {12, 12}) +
      "</Cells></Piece></UnstructuredGrid></VTKFile>";
  const FieldGrid grid = parse_vtu(file, "h.vtu");
  EXPECT_EQ(grid.tetrahedra.size(), 4U * 12U);
  ASSERT_EQ(grid.triangles.size(), 3U * 20U) << "ten sides: the common one is inside";
  double volume = 0.0;
  for (std::size_t t = 0; t < grid.triangles.size(); t += 3) {
    const auto p = [&](std::size_t k, std::size_t axis) { return points[3 * grid.triangles[t + k] + axis]; };
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3;
      const std::size_t k = (i + 2) % 3;
      volume += p(0, i) * (p(1, j) * p(2, k) - p(1, k) * p(2, j)) / 6.0;
    }
  }
  EXPECT_NEAR(volume, 2.0, 1e-14) << "closed, with outward normals";
}

// Two cubes of 27 nodes beside each other: eight smaller ones each.
TEST(ParseVtu, QuadraticHexahedraShowAllTheirNodes) {
  // Places of VTK's nodes in halves of the edges.
  static const std::string places = "000200220020002202222022100210120010102212122012001201221021011211101121110112111";
  std::vector<double> points;
  for (std::size_t i = 0; i < 45; ++i) {
    points.insert(points.end(), {0.5 * static_cast<double>(i % 5), 0.5 * static_cast<double>(i / 5 % 3),
                                 0.5 * static_cast<double>(i / 15)});
  }
  std::vector<std::int64_t> nodes;
  for (const std::int64_t cube : {0, 1}) {
    for (std::size_t n = 0; n < 27; ++n) {
      const auto at = [&](std::size_t k) { return std::int64_t{places[3 * n + k] - '0'}; };
      nodes.push_back(2 * cube + at(0) + 5 * at(1) + 15 * at(2));
    }
  }
  const std::string file =
      "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\"><UnstructuredGrid><Piece>\n<PointData></PointData>"
      "<Points>" +
      array<double>("Points", "Float64", 3, points) + "</Points><Cells>" +
      array<std::int64_t>("connectivity", "Int64", 1, nodes) + array<std::int64_t>("offsets", "Int64", 1, {27, 54}) +
      array<std::uint8_t>("types", "UInt8", 1, {29, 29}) + "</Cells></Piece></UnstructuredGrid></VTKFile>";
  const FieldGrid grid = parse_vtu(file, "h.vtu");
  EXPECT_EQ(grid.tetrahedra.size(), 4U * 6U * 16U);
  ASSERT_EQ(grid.triangles.size(), 3U * 80U) << "ten sides of four squares: the common one is inside";
  double volume = 0.0;
  for (std::size_t t = 0; t < grid.triangles.size(); t += 3) {
    const auto p = [&](std::size_t k) -> Vector3 {
      return Eigen::Map<const Vector3>(&points[3 * grid.triangles[t + k]]);
    };
    volume += p(0).dot(p(1).cross(p(2))) / 6.0;
  }
  EXPECT_NEAR(volume, 2.0, 1e-14) << "closed, with outward normals";
}

// Both halves of a unit cube in VTK's numbering: outward triangle first.
TEST(ParseVtu, PrismsAreCutConsistentlyOnBothSides) {
  const std::vector<double> points{1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1};
  const std::string file =
      "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\"><UnstructuredGrid><Piece>\n<PointData></PointData>"
      "<Points>" +
      array<double>("Points", "Float64", 3, points) + "</Points><Cells>" +
      array<std::int64_t>("connectivity", "Int64", 1, {5, 6, 4, 1, 2, 0, 5, 4, 7, 1, 0, 3}) +
      array<std::int64_t>("offsets", "Int64", 1, {6, 12}) + array<std::uint8_t>("types", "UInt8", 1, {13, 13}) +
      "</Cells></Piece></UnstructuredGrid></VTKFile>";
  const FieldGrid grid = parse_vtu(file, "p.vtu");
  EXPECT_EQ(grid.tetrahedra.size(), 4U * 6U);
  ASSERT_EQ(grid.triangles.size(), 3U * 12U) << "four triangles, four sides: the common one is inside";
  double volume = 0.0;
  for (std::size_t t = 0; t < grid.triangles.size(); t += 3) {
    const auto p = [&](std::size_t k, std::size_t axis) { return points[3 * grid.triangles[t + k] + axis]; };
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3;
      const std::size_t k = (i + 2) % 3;
      volume += p(0, i) * (p(1, j) * p(2, k) - p(1, k) * p(2, j)) / 6.0;
    }
  }
  EXPECT_NEAR(volume, 1.0, 1e-14) << "closed, with outward normals";
}

TEST(ParseVtu, InvalidFilesAreRejected) {
  std::string cut = two_tetrahedra();
  EXPECT_THROW((void)parse_vtu(cut.substr(0, cut.size() / 2), "t.vtu"), Error);
  EXPECT_THROW((void)parse_vtu("", "t.vtu"), Error);
  EXPECT_THROW((void)parse_vtu(two_tetrahedra({0, 1, 2, 3, 1, 2, 3, 99}), "t.vtu"), Error) << "no such point";
}

}  // namespace
}  // namespace heelstrike::report
