// Well-formed files of every format give the described mesh.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cstdlib>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

using samples::named;
using testing::ElementsAre;

void expect_unit_cube(const SurfaceMesh& mesh) {
  EXPECT_EQ(mesh.vertices.size(), 8U);
  EXPECT_EQ(mesh.triangles.size(), 12U);
  const SurfaceReport report = check_surface(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_DOUBLE_EQ(report.volume, 1.0);  // sums of multiples of 1/6 of small integers: exact except for a few roundings
}

void expect_two_tetrahedra(const VolumeMesh& mesh) {
  ASSERT_EQ(mesh.nodes.size(), 5U) << "the unused node must be removed";
  ASSERT_EQ(mesh.n_elements(), 2U);
  const VolumeReport report = check_volume(mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_DOUBLE_EQ(report.volume, 0.5);  // 1/6 + 1/3
}

TEST(SurfaceReaders, BinaryStlMergesEqualCorners) {
  expect_unit_cube(read_surface(write_stl(samples::cube()), named("cube.stl")));
}

TEST(SurfaceReaders, BinaryStlWithAHeaderOfSolid) {
  std::string bytes = write_stl(samples::cube());
  bytes.replace(0, 5, "solid");
  expect_unit_cube(read_surface(bytes, named("cube.stl")));
}

TEST(SurfaceReaders, NegativeZeroEqualsZero) {
  const std::string text =
      "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid "
      "a\n"
      "solid b\nfacet normal nan 0 1\nouter loop\nvertex -0 -0 -0\nvertex 0 1 0\nvertex -1 0 "
      "0\nendloop\nendfacet\nendsolid\n";
  const SurfaceMesh mesh = read_surface(text, named("x.stl"));
  EXPECT_EQ(mesh.vertices.size(), 4U);
  EXPECT_THAT(mesh.group_names, ElementsAre("a", "b"));
  EXPECT_THAT(mesh.triangle_groups, ElementsAre(0, 1));
}

std::string stl_text(const char* end_of_line = "\n") {
  std::string text = std::string("solid cube") + end_of_line;
  const SurfaceMesh cube = samples::cube();
  for (const Triangle& t : cube.triangles) {
    text += std::string(" facet normal 0 0 0") + end_of_line + "  outer loop" + end_of_line;
    for (const std::uint32_t v : t) {
      text += "   vertex";
      for (const double x : cube.vertices[v]) text += " " + std::to_string(x);
      text += end_of_line;
    }
    text += std::string("  endloop") + end_of_line + " endfacet" + end_of_line;
  }
  return text + "endsolid cube" + end_of_line;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string utf16(const std::string& text, bool big_endian) {
  std::string bytes = big_endian ? "\xFE\xFF" : "\xFF\xFE";
  for (const char c : text) bytes += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return bytes;
}

// An ASCII file that was taken for a binary one had 808464432 triangles, which is "0000".
TEST(SurfaceReaders, AsciiStlWithMarksCapitalsAndEveryLineEnd) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string text = stl_text(end);
    for (const std::string& bytes : {text, upper(text), "\xEF\xBB\xBF" + text, utf16(text, false), utf16(text, true)}) {
      expect_unit_cube(read_surface(bytes, named("cube.stl")));
      expect_unit_cube(read_surface(bytes, named("cube")));  // recognised by its content
    }
  }
}

TEST(SurfaceReaders, BinaryStlWithTrailingBytes) {
  const std::string bytes = write_stl(samples::cube());
  const SurfaceMesh mesh = read_surface(bytes + "made by a scanner", named("cube.stl"));
  expect_unit_cube(mesh);
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("17 bytes after the last triangle")));
  // Written triangle by triangle, with a count that was never updated.
  const SurfaceMesh counted =
      read_surface(bytes.substr(0, 80) + std::string(4, '\0') + bytes.substr(84), named("c.stl"));
  expect_unit_cube(counted);
  EXPECT_THAT(counted.notes, testing::Contains(testing::HasSubstr("12 were read")));
}

TEST(SurfaceReaders, ObjStatementsContinueInTheNextLine) {
  const std::string text =
      "\xEF\xBB\xBF# a comment does not \\\nmtllib a.mtl \\\n b.mtl\nv 0 0 0\nv 1 \\\n0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\n"
      "v 1 0 1\nv 1 1 1\nv 0 1 1\nlod 2\ncstype bezier\ng side\nf 1 4 \\\n 3 2\nf 5 6 \\\r\n\t7 8\nf 1/1 2/1\\\n6/1 "
      "5/1\nf 2 3 "
      "\\\n\\\n 7 6 # behind\nf 3 4 8 7\nf -8 -4 -1 -5\n";
  const SurfaceMesh mesh = read_surface(text, named("cont.obj"));
  expect_unit_cube(mesh);
  EXPECT_THAT(mesh.group_names, ElementsAre("side"));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("'cstype'")));
}

TEST(SurfaceReaders, LengthScaleAndToleranceAreInMetres) {
  const std::string text = "v 0 0 0\nv 1000 0 0\nv 0 1000 0\nv 0.004 0 0\nv 1000 1000 0\nf 1 2 3\nf 4 5 3\n";
  ReadOptions options = named("x.obj");
  options.length_scale = 1e-3;
  options.merge_tolerance = 1e-5;
  const SurfaceMesh mesh = read_surface(text, options);
  EXPECT_EQ(mesh.vertices.size(), 4U);
  EXPECT_DOUBLE_EQ(mesh.vertices[1].x(), 1.0);
}

TEST(SurfaceReaders, ObjPolygonsGroupsAndNegativeIndices) {
  const std::string text =
      "# cube\nmtllib x.mtl\ng bottom\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf -1/1/1 -2//1 -3/1 -4\ng "
      "none\ng top\n"
      "f 1 2 3\n";
  const SurfaceMesh mesh = read_surface(text, named("x.obj"));
  EXPECT_EQ(mesh.triangles.size(), 3U);
  EXPECT_THAT(mesh.triangles[0], ElementsAre(3, 2, 1));
  EXPECT_THAT(mesh.group_names, ElementsAre("bottom", "top"));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("split")));
}

/// An L of area 3 times 1 high, its end faces starting at corner `start`, rotated out of the coordinate planes.
std::string l_prism(std::size_t start) {
  const Eigen::Matrix3d R = Eigen::AngleAxisd(0.7, Vector3(1.0, 2.0, -0.5).normalized()).toRotationMatrix();
  constexpr double outline[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
  std::string text;
  for (const double z : {0.0, 1.0}) {
    for (const auto& at : outline) {
      const Vector3 p = R * Vector3(at[0], at[1], z);
      text += fmt::format("v {} {} {}\n", p.x(), p.y(), p.z());
    }
  }
  std::string bottom = "f", top = "f";
  for (std::size_t i = 0; i < 6; ++i) {
    bottom += fmt::format(" {}", (start + 6 - i) % 6 + 1);
    top += fmt::format(" {}", (start + i) % 6 + 7);
    const std::size_t next = (i + 1) % 6;
    text += fmt::format("f {} {} {} {}\n", i + 1, next + 1, next + 7, i + 7);
  }
  return text + bottom + "\n" + top + "\n";
}

TEST(SurfaceReaders, ConcavePolygonsAreCoveredOnce) {
  for (std::size_t start = 0; start < 6; ++start) {
    const SurfaceMesh mesh = read_surface(l_prism(start), named("l.obj"));
    EXPECT_EQ(mesh.triangles.size(), 20U);
    EXPECT_NEAR(signed_volume(mesh), 3.0, 1e-12) << "starting at corner " << start;
    EXPECT_NEAR(surface_area(mesh), 14.0, 1e-12) << "starting at corner " << start;
  }
  // A square of 3 x 3 with a hole of 1 x 1, joined to the outline by an edge that is passed twice.
  const SurfaceMesh holed =
      read_surface("v 0 0 0\nv 3 0 0\nv 3 3 0\nv 0 3 0\nv 1 1 0\nv 1 2 0\nv 2 2 0\nv 2 1 0\nf 1 2 3 4 1 5 6 7 8 5\n",
                   named("hole.obj"));
  EXPECT_NEAR(surface_area(holed), 8.0, 1e-12);
  // An arrowhead with a corner in the middle of a side: no triangle is without area.
  const SurfaceMesh arrow =
      read_surface("v 2 -2 0\nv 3 -1 0\nv 4 0 0\nv 2 2 0\nv 3 0 0\nf 1 2 3 4 5\n", named("arrow.obj"));
  EXPECT_NEAR(surface_area(arrow), 2.0, 1e-12);
  for (std::size_t t = 0; t < arrow.triangles.size(); ++t) EXPECT_GT(triangle_cross(arrow, t).z(), 0.1);
}

TEST(SurfaceReaders, PolygonsWithoutATurnedTriangleAreSplitAroundTheFirstCorner) {
  // Non-planar, and a triangle with corners in the middle of its sides.
  const SurfaceMesh mesh = read_surface(
      "v 0 0 0\nv 1 0 0.2\nv 1 1 0\nv 0 1 0.2\nf 3 4 1 2\nv 0.5 0 0.1\nv 0.5 0.5 0\nf 1 5 2 3 6\n", named("q.obj"));
  EXPECT_THAT(mesh.triangles, ElementsAre(ElementsAre(2, 3, 0), ElementsAre(2, 0, 1), ElementsAre(0, 4, 1),
                                          ElementsAre(0, 1, 2), ElementsAre(0, 2, 5)));
}

TEST(SurfaceReaders, PolygonsThatIntersectThemselvesAreReported) {
  const SurfaceMesh mesh =
      read_surface("v 0 0 0\nv 3 0 0\nv 0 2 0\nv 2 2 0\nv 1 -1 0\nf 1 2 3 4 5\n", named("star.obj"));
  EXPECT_THAT(mesh.triangles, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 3), ElementsAre(0, 3, 4)));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::AllOf(testing::StartsWith("1 polygons intersect themselves"),
                                                           testing::HasSubstr("line 6 the first"))));
}

TEST(SurfaceReaders, VerticesOfNoTriangleAreOmitted) {
  const std::string text = "v 0 0 -9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 2 3 4\n";
  const SurfaceMesh mesh = read_surface(text, named("stray.obj"));
  EXPECT_EQ(mesh.vertices.size(), 3U);
  EXPECT_THAT(mesh.triangles, ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_EQ(mesh.vertices[1], Vector3(1.0, 0.0, 0.0));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("2 of 5 vertices belong to no triangle")));
  ReadOptions hull = named("stray.obj");
  hull.points_suffice = true;
  EXPECT_EQ(read_surface(text, hull).vertices.size(), 5U);
}

TEST(SurfaceReaders, PlyAsciiAndBinaryAgree) {
  const SurfaceMesh cube = samples::cube();
  std::string ascii =
      "ply\nformat ascii 1.0\ncomment x\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nelement face 12\nproperty list uchar int vertex_indices\nend_header\n";
  std::string binary = ascii;
  binary.replace(binary.find("ascii"), 5, "binary_little_endian");
  std::string big = ascii;
  big.replace(big.find("ascii"), 5, "binary_big_endian");
  const auto append_reversed = [&](auto value) {
    std::string bytes;
    samples::put(bytes, value);
    big.append(bytes.rbegin(), bytes.rend());
  };
  for (const Vector3& v : cube.vertices) {
    ascii += std::to_string(v.x()) + " " + std::to_string(v.y()) + " " + std::to_string(v.z()) + " 255\n";
    for (const double x : v) samples::put(binary, static_cast<float>(x));
    samples::put(binary, std::uint8_t{255});
    for (const double x : v) append_reversed(static_cast<float>(x));
    append_reversed(std::uint8_t{255});
  }
  for (const Triangle& t : cube.triangles) {
    ascii += "3 " + std::to_string(t[0]) + " " + std::to_string(t[1]) + " " + std::to_string(t[2]) + "\n";
    samples::put(binary, std::uint8_t{3});
    for (const std::uint32_t v : t) samples::put(binary, static_cast<std::int32_t>(v));
    append_reversed(std::uint8_t{3});
    for (const std::uint32_t v : t) append_reversed(static_cast<std::int32_t>(v));
  }
  expect_unit_cube(read_surface(big, named("cube.ply")));
  expect_unit_cube(read_surface(ascii, named("cube.ply")));
  expect_unit_cube(read_surface(binary, named("cube.ply")));
}

/// How the arrays of a VTP are stored.
struct VtpStyle {
  bool appended;
  bool raw;
  bool compressed;
  bool in_one_block = false;  ///< with excess capacity, as VTK and meshio write small arrays
};

/// Array of one style: its text inside the element, or the appended data. Compressed into two blocks.
std::string vtp_array(const std::string& bytes, VtpStyle style) {
  std::string header;
  std::string body = bytes;
  if (style.compressed) {
    const std::size_t half = style.in_one_block ? 0 : bytes.size() / 2;
    std::vector<std::string> packed;
    for (const std::string& part : {bytes.substr(0, half), bytes.substr(half)}) {
      if (part.empty()) continue;
      std::string out(compressBound(part.size()), '\0');
      uLongf n = out.size();
      compress(reinterpret_cast<Bytef*>(out.data()), &n, reinterpret_cast<const Bytef*>(part.data()), part.size());
      packed.push_back(out.substr(0, n));
    }
    samples::put(header, static_cast<std::uint32_t>(packed.size()));
    samples::put(header, style.in_one_block ? std::uint32_t{32768}
                                            : static_cast<std::uint32_t>(std::max(half, bytes.size() - half)));
    // Two full blocks of the same size are written with a last size of 0.
    const bool is_full = !style.in_one_block && bytes.size() % 2 == 0;
    samples::put(header, is_full ? 0U : static_cast<std::uint32_t>(bytes.size() - half));
    body.clear();
    for (const std::string& part : packed) {
      samples::put(header, static_cast<std::uint32_t>(part.size()));
      body += part;
    }
  } else {
    samples::put(header, static_cast<std::uint32_t>(bytes.size()));
  }
  if (style.appended && style.raw) return header + body;
  return style.compressed ? encode_base64(header) + encode_base64(body) : encode_base64(header + body);
}

std::string vtp(VtpStyle style) {
  const SurfaceMesh cube = samples::cube();
  std::string points;
  std::string connectivity;
  std::string offsets;
  for (const Vector3& v : cube.vertices) {
    for (const double x : v) samples::put(points, static_cast<float>(x));
  }
  std::int64_t end = 0;
  for (const Triangle& t : cube.triangles) {
    for (const std::uint32_t v : t) samples::put(connectivity, std::int64_t{v});
    samples::put(offsets, end += 3);
  }
  std::string appended;
  const auto array = [&](const std::string& attributes, const std::string& bytes) {
    const std::string text = vtp_array(bytes, style);
    if (!style.appended) return "<DataArray " + attributes + " format=\"binary\">\n  " + text + "\n</DataArray>";
    const std::string element =
        "<DataArray " + attributes + " format=\"appended\" offset=\"" + std::to_string(appended.size()) + "\"/>";
    appended += text;
    return element;
  };
  std::string xml = "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"0.1\" byte_order=\"LittleEndian\"";
  if (style.compressed) xml += " compressor=\"vtkZLibDataCompressor\"";
  xml += "><PolyData><Piece NumberOfPoints=\"8\" NumberOfPolys=\"12\" NumberOfVerts=\"0\"><Points>" +
         array("type=\"Float32\" Name=\"Points\" NumberOfComponents=\"3\"", points) + "</Points><Polys>" +
         array("type=\"Int64\" Name=\"connectivity\"", connectivity) +
         array("type=\"Int64\" Name=\"offsets\"", offsets) + "</Polys></Piece></PolyData>";
  if (style.appended)
    xml += std::string("<AppendedData encoding=\"") + (style.raw ? "raw" : "base64") + "\">\n_" + appended +
           "\n</AppendedData>";
  return xml + "</VTKFile>";
}

TEST(SurfaceReaders, VtpInEveryEncoding) {
  for (const VtpStyle style :
       {VtpStyle{false, false, false}, VtpStyle{false, false, true}, VtpStyle{true, false, false},
        VtpStyle{true, false, true}, VtpStyle{true, true, false}, VtpStyle{true, true, true},
        VtpStyle{false, false, true, true}, VtpStyle{true, false, true, true}, VtpStyle{true, true, true, true}}) {
    SCOPED_TRACE(testing::Message() << "appended " << style.appended << " raw " << style.raw << " compressed "
                                    << style.compressed);
    expect_unit_cube(read_surface(vtp(style), named("cube.vtp")));
  }
}

TEST(SurfaceReaders, VtpAsciiPolygonsAndStrips) {
  const std::string text =
      "<VTKFile type='PolyData' byte_order='LittleEndian'><PolyData><Piece NumberOfPoints='4' NumberOfPolys='1' "
      "NumberOfStrips='1'>"
      "<Points><DataArray type='Float32' NumberOfComponents='3' format='ascii'>0 0 0 1 0 0 1 1 0 0 1 "
      "0</DataArray></Points>"
      "<Polys><DataArray type='Int32' Name='connectivity' format='ascii'>0 1 2 3</DataArray>"
      "<DataArray type='Int32' Name='offsets' format='ascii'>4</DataArray></Polys>"
      "<Strips><DataArray type='Int32' Name='connectivity' format='ascii'>0 1 3 2</DataArray>"
      "<DataArray type='Int32' Name='offsets' format='ascii'>4</DataArray></Strips></Piece></PolyData></VTKFile>";
  const SurfaceMesh mesh = read_surface(text, named("x.vtp"));
  ASSERT_EQ(mesh.triangles.size(), 4U);
  for (std::size_t t = 0; t < 4; ++t) EXPECT_GT(triangle_cross(mesh, t).z(), 0.0) << "triangle " << t;
}

void expect_groups(const VolumeMesh& mesh) {
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("soft"), ElementsAre(0));
  EXPECT_THAT(mesh.element_sets.at("hard"), ElementsAre(1));
  EXPECT_THAT(mesh.face_sets.at("bottom"), ElementsAre(ElementFace{0, 0}));
  EXPECT_THAT(mesh.node_sets.at("bottom"), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.node_sets.at("tip"), ElementsAre(3));
}

// VTK 9.3 writes single precision with the fewest digits that identify the number: 0.1 is 0.100000001490116...
TEST(SurfaceReaders, VtpAsciiHasTheNumbersOfItsType) {
  const auto first_x = [](const std::string& type) {
    const std::string text =
        "<VTKFile type='PolyData' byte_order='LittleEndian'><PolyData><Piece NumberOfPoints='3' NumberOfPolys='1'>"
        "<Points><DataArray type='" +
        type +
        "' NumberOfComponents='3' format='ascii'>0.1 0 0 1 0 0 1 1 0</DataArray></Points>"
        "<Polys><DataArray type='Int32' Name='connectivity' format='ascii'>0 1 2</DataArray>"
        "<DataArray type='Int32' Name='offsets' format='ascii'>3</DataArray></Polys></Piece></PolyData></VTKFile>";
    return read_surface(text, named("x.vtp")).vertices.at(0).x();
  };
  EXPECT_EQ(first_x("Float32"), static_cast<double>(0.1F));
  EXPECT_EQ(first_x("Float64"), 0.1);
}

/// A unit cube in centimetres as quads, instanced twice: translated, and mirrored and rotated below a node.
const char* const collada_cubes = R"(<?xml version="1.0"?>
<COLLADA version="1.4.1"><asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="cube"><mesh>
<source id="p"><float_array id="a" count="24">0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1</float_array>
<technique_common><accessor source="#a" count="8" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="4"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<vcount>4 4 4 4</vcount><p>0 0 2 0 3 0 1 0  4 0 5 0 7 0 6 0  0 0 1 0 5 0 4 0  2 0 6 0 7 0 3 0</p></polylist>
<triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>0 4 6 0 6 2</p></triangles>
<polygons count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>1 3 7 5</p></polygons>
</mesh></geometry></library_geometries>
<library_nodes><node id="far"><translate>0 0 8</translate><instance_geometry url="#cube"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s"><node><translate>2 0 0</translate><instance_geometry url="#cube"/></node>
<node><rotate>0 0 1 90</rotate><scale>2 1 -1</scale><instance_node url="#far"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>)";

TEST(SurfaceReaders, ColladaSceneInMetres) {
  const SurfaceMesh mesh = read_surface(collada_cubes, named("cubes.dae"));
  EXPECT_EQ(mesh.vertices.size(), 16U);
  EXPECT_EQ(mesh.triangles.size(), 24U);
  // The mirrored one is no cavity: 1 + 2 cm^3.
  EXPECT_NEAR(signed_volume(mesh), 3e-6, 1e-18);
  Vector3 low = mesh.vertices[0], high = low;
  for (const Vector3& v : mesh.vertices) {
    low = low.cwiseMin(v);
    high = high.cwiseMax(v);
  }
  // Rotated by 90 degrees, (x, y, z) -> (-y, 2 x, -(z + 8)); axes of the file, for any up axis.
  EXPECT_LT((low - Vector3(-0.01, 0.0, -0.09)).norm(), 1e-17);
  EXPECT_LT((high - Vector3(0.03, 0.02, 0.01)).norm(), 1e-17);
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("up_axis Y_UP")));
  EXPECT_EQ(read_surface(collada_cubes, named("")).triangles.size(), 24U);  // recognised by its content
}

TEST(SurfaceReaders, ColladaErrorsAreReported) {
  const auto message = [](const std::string& from, const std::string& to) -> std::string {
    std::string text = collada_cubes;
    try {
      (void)read_surface(text.replace(text.find(from), from.size(), to), named("cubes.dae"));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("url=\"#cube\"", "url=\"#cub\""), testing::HasSubstr("'#cub'"));
  EXPECT_THAT(message("0 4 6 0 6 2", "0 4 6 0 6 8"), testing::HasSubstr("below 8, found 8"));
  EXPECT_THAT(message("<scale>2 1", "<scale>2 one"), testing::HasSubstr("'one'"));
  EXPECT_THAT(message("meter=\"0.01\"", "meter=\"-1\""), testing::HasSubstr("above 0 m in 'meter', found '-1'"));
  EXPECT_EQ(message("meter=\"0.01\"", "meter=\"0,01\""), "accepted") << "a decimal comma";
  EXPECT_THAT(message("</asset>", ""), testing::HasSubstr("invalid XML"));
  // A node that instances itself would not terminate.
  EXPECT_THAT(message("<translate>0 0 8</translate>", "<instance_node url=\"#far\"/>"),
              testing::HasSubstr("cyclic references"));
}

TEST(SurfaceReaders, PlyHeaderWithACommentWithoutItsKeyword) {
  const SurfaceMesh mesh = read_surface(
      "ply\nformat ascii 1.0\nCreated by a program\nelement vertex 3\nproperty float x\nproperty float y\nproperty "
      "float "
      "z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
      named("x.ply"));
  EXPECT_EQ(mesh.triangles.size(), 1U);
  EXPECT_THAT(mesh.notes, testing::Contains("line 3 of the header, 'Created by a program', was ignored"));
}

// Values that no property declares, e.g. colours, are at the ends of lines.
TEST(SurfaceReaders, PlyAsciiWithSurplusValues) {
  const std::string text =
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0 255\n0 1 0\n0 0 1\n"
      "3 0 2 1 255 0 0\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";
  const SurfaceMesh mesh = read_surface(text, named("x.ply"));
  EXPECT_EQ(mesh.triangles.size(), 4U);
  EXPECT_DOUBLE_EQ(check_surface(mesh).volume, 1.0 / 6.0);
  EXPECT_THAT(mesh.notes,
              testing::Contains(testing::HasSubstr("2 lines have more values than declared properties, line "
                                                   "11 the first")));
}

TEST(SurfaceReaders, OuterSurfaceOfAVolumeIsTakenOnRequest) {
  const SurfaceMesh mesh = read_outer_surface(samples::vtk_ascii(), named("x.vtk"));
  EXPECT_EQ(mesh.triangles.size(), 6U);
  EXPECT_DOUBLE_EQ(check_surface(mesh).volume, 0.5);
  EXPECT_THAT(mesh.notes, testing::Contains("the outer surface of 2 tetrahedra was taken"));
  expect_unit_cube(read_outer_surface(write_stl(samples::cube()), named("x.stl")));
}

TEST(VolumeReaders, LegacyVtkWithABlankLineAfterItsTitle) {
  std::string text = samples::vtk_ascii();
  expect_two_tetrahedra(read_volume(text.insert(text.find("ASCII"), "\n"), named("x.vtk")));
}

TEST(VolumeReaders, Gmsh22Ascii) {
  expect_groups(read_volume(samples::msh22(), named("x.msh")));
}
TEST(VolumeReaders, Gmsh41Ascii) {
  expect_groups(read_volume(samples::msh41(), named("x.msh")));
}

TEST(VolumeReaders, GmshVersionsBeforeAndBetween) {
  std::string text = samples::msh22();
  for (const char* version : {"2", "2.0", "2.1"}) {
    expect_two_tetrahedra(read_volume(std::string(text).replace(text.find("2.2 0"), 3, version), named("x.msh")));
  }
  expect_two_tetrahedra(read_volume("$Comments\nmade by hand\n$EndComments\n" + text, named("x.msh")));
  const std::string v1 =
      "$NOD\n6\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n99 7 7 7\n$ENDNOD\n$ELM\n4\n1 15 4 1 1 4\n2 2 3 1 3 1 3 "
      "2\n3 4 1 1 4 1 2 3 4\n4 4 2 2 4 2 5 3 4\n$ENDELM\n";
  const VolumeMesh old = read_volume(v1, named("x.msh"));
  expect_two_tetrahedra(old);
  EXPECT_THAT(old.element_sets.at("volume_2"), ElementsAre(1));
  EXPECT_THAT(old.face_sets.at("surface_3"), ElementsAre(ElementFace{0, 0}));
  EXPECT_EQ(read_volume(v1, named("x")).n_elements(), 2U) << "known by its content";
}

// Version 4.0: boxes of points, tags before dimensions, no ranges of tags, every node with its tag.
TEST(VolumeReaders, Gmsh40AsciiAndBinary) {
  const std::string names =
      "$PhysicalNames\n4\n3 1 \"soft\"\n3 2 \"hard\"\n2 3 \"bottom\"\n0 4 \"tip\"\n$EndPhysicalNames\n";
  const VolumeMesh ascii = read_volume(
      "$MeshFormat\n4 0 8\n$EndMeshFormat\n" + names +
          "$Entities\n1 0 1 2\n7 0 0 1 0 0 1 1 4\n1 0 0 0 1 1 0 1 3 0\n1 0 0 0 1 1 1 1 1 1 1\n2 0 0 0 1 1 1 1 2 0\n"
          "$EndEntities\n$Nodes\n2 6\n1 3 0 5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n9 0 0 1\n99 7 7 7\n"
          "$EndNodes\n$Elements\n4 4\n7 0 15 1\n1 4\n1 2 2 1\n2 1 3 2\n1 3 4 1\n3 1 2 3 4\n2 3 4 1\n4 2 5 3 4\n"
          "$EndElements\n",
      named("x.msh"));
  expect_two_tetrahedra(ascii);
  EXPECT_THAT(ascii.element_sets.at("hard"), ElementsAre(1));
  EXPECT_THAT(ascii.face_sets.at("bottom"), ElementsAre(ElementFace{0, 0}));
  EXPECT_THAT(ascii.node_sets.at("tip"), ElementsAre(3));

  std::string bytes = "$MeshFormat\n4 1 8\n";
  samples::put(bytes, std::int32_t{1});
  bytes += "\n$EndMeshFormat\n$Nodes\n";
  for (const std::uint64_t n : {1, 5}) samples::put(bytes, n);
  for (const std::int32_t value : {1, 3, 0}) samples::put(bytes, value);
  samples::put(bytes, std::uint64_t{5});
  for (std::int32_t node = 1; node <= 5; ++node) {
    samples::put(bytes, node);
    for (const double x : ascii.nodes[static_cast<std::size_t>(node - 1)]) samples::put(bytes, x);
  }
  bytes += "\n$EndNodes\n$Elements\n";
  for (const std::uint64_t n : {1, 2}) samples::put(bytes, n);
  for (const std::int32_t value : {1, 3, 4}) samples::put(bytes, value);
  samples::put(bytes, std::uint64_t{2});
  for (const std::int32_t value : {1, 1, 2, 3, 4, 2, 2, 5, 3, 4}) samples::put(bytes, value);
  bytes += "\n$EndElements\n";
  expect_two_tetrahedra(read_volume(bytes, named("x.msh")));
}

TEST(VolumeReaders, Gmsh22Binary) {
  std::string bytes = "$MeshFormat\n2.2 1 8\n";
  samples::put(bytes, std::int32_t{1});
  bytes += "\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"soft\"\n$EndPhysicalNames\n$Nodes\n4\n";
  const double xyz[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (std::int32_t i = 0; i < 4; ++i) {
    samples::put(bytes, i + 1);
    for (const double x : xyz[i]) samples::put(bytes, x);
  }
  bytes += "\n$EndNodes\n$Elements\n1\n";
  for (const std::int32_t value : {4, 1, 2, 1, 1, 1, 1, 2, 3, 4}) samples::put(bytes, value);
  bytes += "\n$EndElements\n";
  const VolumeMesh mesh = read_volume(bytes, named("x.msh"));
  ASSERT_EQ(mesh.n_elements(), 1U);
  EXPECT_THAT(mesh.element_sets.at("soft"), ElementsAre(0));
}

TEST(VolumeReaders, Gmsh41BinaryQuadraticOrderOfNodes) {
  std::string bytes = "$MeshFormat\n4.1 1 8\n";
  samples::put(bytes, std::int32_t{1});
  bytes += "\n$EndMeshFormat\n$Nodes\n";
  for (const std::uint64_t value : {1U, 10U, 1U, 10U}) samples::put(bytes, value);
  for (const std::int32_t value : {3, 1, 0}) samples::put(bytes, value);
  samples::put(bytes, std::uint64_t{10});
  for (std::uint64_t i = 1; i <= 10; ++i) samples::put(bytes, i);
  const std::vector<Vector3> c{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  std::vector<Vector3> nodes = c;
  // Gmsh: (0,1) (1,2) (2,0) (3,0) (2,3) (1,3)
  for (const auto& [a, b] : {std::pair(0, 1), {1, 2}, {2, 0}, {3, 0}, {2, 3}, {1, 3}}) {
    nodes.emplace_back(0.5 * (c[static_cast<std::size_t>(a)] + c[static_cast<std::size_t>(b)]));
  }
  for (const Vector3& p : nodes) {
    for (const double x : p) samples::put(bytes, x);
  }
  bytes += "\n$EndNodes\n$Elements\n";
  for (const std::uint64_t value : {1U, 1U, 1U, 1U}) samples::put(bytes, value);
  for (const std::int32_t value : {3, 1, 11}) samples::put(bytes, value);
  for (std::uint64_t value : {1U, 1U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U}) samples::put(bytes, value);
  bytes += "\n$EndElements\n";
  const VolumeMesh mesh = read_volume(bytes, named("x.msh"));
  ASSERT_EQ(mesh.nodes_per_element, 10U);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto [a, b] = tetrahedron_edges[i];
    const Vector3 middle = 0.5 * (mesh.nodes[mesh.element(0)[a]] + mesh.nodes[mesh.element(0)[b]]);
    EXPECT_EQ(mesh.nodes[mesh.element(0)[4 + i]], middle) << "edge " << i;
  }
}

TEST(VolumeReaders, AbaqusSetsAndSurfaces) {
  const VolumeMesh mesh = read_volume(samples::inp(), named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("Soft"), ElementsAre(0));
  EXPECT_THAT(mesh.element_sets.at("hard"), ElementsAre(1));
  EXPECT_THAT(mesh.element_sets.at("both"), ElementsAre(0, 1));
  EXPECT_THAT(mesh.element_sets.at("again"), ElementsAre(0, 1));
  EXPECT_THAT(mesh.node_sets.at("base"), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.face_sets.at("bottom"), ElementsAre(ElementFace{0, 0}));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("elastic")));
}

TEST(VolumeReaders, LegacyVtkAsciiAndBinaryAgree) {
  const VolumeMesh ascii = read_volume(samples::vtk_ascii(), named("x.vtk"));
  expect_two_tetrahedra(ascii);
  EXPECT_THAT(ascii.element_sets.at("material_2"), ElementsAre(1));
  EXPECT_THAT(ascii.face_sets.at("material_3"), ElementsAre(ElementFace{0, 0}));
  std::string binary = "# vtk DataFile Version 5.1\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n";
  const auto big = [&](auto value) {
    std::string bytes;
    samples::put(bytes, value);
    std::reverse(bytes.begin(), bytes.end());
    binary += bytes;
  };
  for (const double x : {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}) big(x);
  binary += "\nCELLS 3 8\nOFFSETS vtktypeint64\n";
  for (const std::int64_t x : {0, 4, 8}) big(x);
  binary += "\nCONNECTIVITY vtktypeint64\n";
  for (const std::int64_t x : {0, 1, 2, 3, 1, 4, 2, 3}) big(x);
  binary += "\nCELL_TYPES 2\n";
  for (const std::int32_t x : {10, 10}) big(x);
  const VolumeMesh mesh = read_volume(binary, named("x.vtk"));
  expect_two_tetrahedra(mesh);
  EXPECT_EQ(mesh.connectivity, ascii.connectivity);
}

// Data that VTK 9 writes after arrays, and before the kind of data.
TEST(VolumeReaders, LegacyVtkOfVersion9) {
  const std::string text =
      "# vtk DataFile Version 5.1\nvtk output\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 2\nTimeValue 1 1 "
      "double\n0.5\nname 1 2 string\nfirst%20text\nsecond\nPOINTS 5 float\n0 0 0 1 0 0 0 1 0 \n0 0 1 1 1 1 "
      "\nMETADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1.73205 \n\nCELLS 3 8\nOFFSETS "
      "vtktypeint64\n0 4 8 \nCONNECTIVITY vtktypeint64\n0 1 2 3 1 4 2 3 \nCELL_TYPES 2\n10\n10\n\nCELL_DATA "
      "2\nFIELD FieldData 1\nset:the%20right%20one 1 2 int\n0 1 \nMETADATA\nCOMPONENT_NAMES\nX\n\n";
  const VolumeMesh mesh = read_volume(text, named("v9.vtk"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("the right one"), ElementsAre(1));
}

TEST(VolumeReaders, VoxelsAndCellsOfAnyOrder) {
  const std::string head = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n";
  const VolumeMesh voxel = read_volume(head +
                                           "POINTS 8 float\n0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1\nCELLS 2 "
                                           "14\n8 0 1 2 3 4 5 6 7\n4 0 1 2 3\nCELL_TYPES 2\n11\n8\n",
                                       named("voxel.vtk"));
  EXPECT_DOUBLE_EQ(check_volume(voxel).volume, 1.0);
  EXPECT_TRUE(check_volume(voxel).valid());
  const VolumeMesh lagrange =
      read_volume(head + "POINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n71\n",
                  named("lagrange.vtk"));
  EXPECT_DOUBLE_EQ(check_volume(lagrange).volume, 1.0 / 6.0);
}

TEST(SurfaceReaders, LegacyVtkWithPolygons) {
  const std::string text =
      "# vtk DataFile Version 4.2\ntitle\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0 1 0 0 1 1 0 0 1 0\nVERTICES 1 "
      "2\n1 0\nPOLYGONS 1 5\n4 0 1 2 3\nTRIANGLE_STRIPS 1 5\n4 0 1 3 2\nCELL_DATA 3\nSCALARS quality float\n"
      "LOOKUP_TABLE default\n1 2 3\n";
  const SurfaceMesh mesh = read_surface(text, named("x.vtk"));
  ASSERT_EQ(mesh.triangles.size(), 4U);
  for (std::size_t t = 0; t < 4; ++t) EXPECT_GT(triangle_cross(mesh, t).z(), 0.0) << "triangle " << t;
  EXPECT_FALSE(is_volume_mesh(text, named("x.vtk")));
  EXPECT_TRUE(is_volume_mesh(samples::vtk_ascii(), named("x.vtk")));
  EXPECT_FALSE(kind_of_format("x.vtk"));
}

TEST(VolumeReaders, ByteOrderMarksAndLineEnds) {
  for (std::string text : {samples::msh22(), samples::inp(), samples::vtk_ascii(), samples::msh41()}) {
    const std::string name = text.starts_with('$') ? "x.msh" : text.starts_with('*') ? "x.inp" : "x.vtk";
    expect_two_tetrahedra(read_volume("\xEF\xBB\xBF" + text, named(name)));
    expect_two_tetrahedra(read_volume(utf16(text, true), named(name)));
    std::ranges::replace(text, '\n', '\r');
    expect_two_tetrahedra(read_volume(text, named(name)));
    expect_two_tetrahedra(read_volume("\xEF\xBB\xBF" + text, named("x")));
  }
}

// 2 instances of one tetrahedron: one translated by (1, 0, 0), then rotated by 90 degrees about the line through (1, 0,
// 0) along z; the other at the position of the part.
std::string assembly() {
  return "*Heading\n*Part, name=Tet\n*Node\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n*Element, type=C3D4\n1, 1, "
         "2, 3, 4\n*Nset, nset=base, generate\n1, 3, 1\n*Elset, elset=all\n1\n*Surface, type=ELEMENT, name=bottom\n"
         "all, S1\n*Solid Section, elset=all, material=m\n,\n*End Part\n*Assembly, name=A\n*Instance, name=Tet-1, "
         "part=tet\n1, 0, 0\n1, 0, 0, 1, 0, 5, 90\n*End Instance\n*Instance, name=Tet-2, part=Tet\n*End "
         "Instance\n*Nset, nset=tips, instance=Tet-1\n4\n*Nset, nset=tips, instance=Tet-2\n4\n*Elset, elset=right, "
         "instance=Tet-1\nall\n*Nset, nset=few\nTet-2.base, Tet-1.2\n*Surface, type=ELEMENT, name=both\nTet-1.all, "
         "S1\nTet-2.1, S2\n*End Assembly\n*Step\n*End Step\n";
}

// CalculiX's exporters end complete lines with a comma; missing coordinates are 0.
TEST(VolumeReaders, AbaqusLinesMayEndWithACommaAndNodesMayBeShort) {
  const VolumeMesh mesh = read_volume(
      "*NODE\n1\n2, 1.\n3, 0, 1.\n4, , , 1.\n5, 1, 1, 1\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4,\n2, 2, 3,\n4, 5,\n",
      named("a.inp"));
  ASSERT_EQ(mesh.n_elements(), 2U);
  ASSERT_EQ(mesh.nodes.size(), 5U);
  EXPECT_EQ(mesh.nodes[0], Vector3::Zero());
  EXPECT_EQ(mesh.nodes[2], Vector3(0.0, 1.0, 0.0));
  EXPECT_EQ(mesh.nodes[3], Vector3(0.0, 0.0, 1.0));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("4 nodes have fewer than three coordinates")));
}

TEST(VolumeReaders, AbaqusInstancesAreAtTheirAssemblyPositions) {
  const VolumeMesh mesh = read_volume(assembly(), named("a.inp"));
  ASSERT_EQ(mesh.n_elements(), 2U);
  ASSERT_EQ(mesh.nodes.size(), 8U);
  // Node 2 of the first: (1, 0, 0) + (1, 0, 0), rotated about x = 1: (1, 1, 0). Node 3: (0, 1, 0) becomes (0, 0, 0).
  EXPECT_LT((mesh.nodes[1] - Vector3(1, 1, 0)).norm(), 1e-15);
  EXPECT_LT((mesh.nodes[2] - Vector3(0, 0, 0)).norm(), 1e-15);
  EXPECT_EQ(mesh.nodes[5], Vector3(1, 0, 0));
  EXPECT_THAT(mesh.node_sets.at("Tet-1.base"), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.node_sets.at("Tet-2.base"), ElementsAre(4, 5, 6));
  EXPECT_THAT(mesh.node_sets.at("tips"), ElementsAre(3, 7));
  EXPECT_THAT(mesh.node_sets.at("few"), ElementsAre(1, 4, 5, 6));
  EXPECT_THAT(mesh.element_sets.at("right"), ElementsAre(0));
  EXPECT_EQ(mesh.face_sets.at("both").size(), 2U);
  EXPECT_EQ(mesh.face_sets.at("Tet-2.bottom").size(), 1U);
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("2 instances")));
}

TEST(VolumeReaders, AbaqusWithOneInstanceKeepsItsNames) {
  std::string text = assembly();
  const auto cut = [&](const std::string& from, const std::string& to) {
    const auto begin = text.find(from);
    text.erase(begin, text.find(to, begin) - begin);
  };
  cut("*Instance, name=Tet-2", "*Nset, nset=tips, instance=Tet-1");
  cut("*Nset, nset=tips, instance=Tet-2", "*Elset, elset=right");
  cut("*Nset, nset=few", "*Surface, type=ELEMENT, name=both");
  text.erase(text.find("Tet-2.1, S2\n"), 12);
  const VolumeMesh mesh = read_volume(text, named("a.inp"));
  EXPECT_THAT(mesh.node_sets.at("base"), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.node_sets.at("tips"), ElementsAre(3));
  EXPECT_EQ(mesh.face_sets.at("both").size(), 1U);
  EXPECT_LT((mesh.nodes[1] - Vector3(1, 1, 0)).norm(), 1e-15);
}

TEST(VolumeReaders, AbaqusElementsOtherThanSolidsAreOmitted) {
  const std::string text = samples::inp() +
                           "*ELEMENT, TYPE=SPRINGA, ELSET=springs\n90, 1, 2\n*ELEMENT, TYPE=R3D4, ELSET=rigid\n91, 1, "
                           "2, 3, 4\n*ELSET, ELSET=some\n10, 90\n";
  const VolumeMesh mesh = read_volume(text, named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("some"), ElementsAre(0));
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("SPRINGA")));
}

// Decks of whole models: sets name nodes and elements of other files, sets that follow, and elements that are no
// solids.
TEST(VolumeReaders, AbaqusSetsKeepTheMembersThatTheFileDefines) {
  const VolumeMesh mesh =
      read_volume(samples::inp() + "*NSET, NSET=some\n4, 77, 78\n*ELSET, ELSET=part\n20, 99, nothing\n" +
                      "*SURFACE, NAME=partly\npart, S2\nnowhere, S1\n",
                  named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.node_sets.at("some"), ElementsAre(3));
  EXPECT_THAT(mesh.element_sets.at("part"), ElementsAre(1));
  EXPECT_THAT(mesh.face_sets.at("partly"), ElementsAre(ElementFace{1, 1}));
  EXPECT_THAT(mesh.notes, testing::IsSupersetOf({testing::HasSubstr("node set 'some' contains 2 members that the file "
                                                                    "does not define; they were omitted, the first one "
                                                                    "is node 77"),
                                                 testing::HasSubstr("element set 'part' contains 2 members"),
                                                 testing::HasSubstr("surface 'partly' contains 2 members")}));
}

TEST(VolumeReaders, AbaqusLinesMayHaveSurplusValues) {
  const VolumeMesh mesh = read_volume(
      "*NODE\n1, 0, 0, 0, 0, 0, 1\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n4, 0, 0, 1\n5, 1, 1, 1\n*ELEMENT, TYPE=C3D4\n"
      "1, 1, 2,,\n3, 4\n2, 2, 5, 3, 4, 1, 2,\n*NSET, NSET=tip, INSTANCE=Part-1-1\n4\n",
      named("a.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.node_sets.at("tip"), ElementsAre(3));
  EXPECT_THAT(mesh.notes, testing::IsSupersetOf({testing::HasSubstr("1 nodes have more than three coordinates"),
                                                 testing::HasSubstr("1 nodes are repeated with the same coordinates"),
                                                 testing::HasSubstr("1 elements list more nodes than their type has"),
                                                 testing::HasSubstr("the instances of sets were ignored")}));
}

TEST(VolumeReaders, AbaqusSetsMayPrecedeTheirMembers) {
  const VolumeMesh mesh = read_volume(
      "*ELSET, ELSET=all\nupper, lower\n*ELSET, ELSET=upper\nhard\n*ELSET, ELSET=lower\nsoft\n" + samples::inp(),
      named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("all"), ElementsAre(0, 1));
  EXPECT_THAT(mesh.element_sets.at("upper"), ElementsAre(1));
}

TEST(VolumeReaders, AbaqusShellsBesideSolidsAreOmitted) {
  const VolumeMesh mesh = read_volume(
      samples::inp() +
          "*ELEMENT, TYPE=S3, ELSET=skin\n31, 1, 3, 2\n32, 1, 2, 5\n*ELEMENT, TYPE=B31, ELSET=beam\n33, 1, 2\n"
          "*ELSET, ELSET=everything\nsoft, beam, skin\n*SURFACE, NAME=top\nskin, SPOS\nsoft, S2\n"
          "*SURFACE, NAME=all\neverything, S1\n",
      named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.element_sets.at("everything"), ElementsAre(0));
  EXPECT_THAT(mesh.face_sets.at("top"), ElementsAre(ElementFace{0, 1}));
  EXPECT_THAT(mesh.face_sets.at("all"), ElementsAre(ElementFace{0, 0}));
  // The face of the first tetrahedron below the plane of the shell is kept as a face of the set.
  EXPECT_THAT(mesh.face_sets.at("skin"), ElementsAre(ElementFace{0, 0}));
  EXPECT_THAT(mesh.notes, testing::IsSupersetOf(
                              {testing::HasSubstr("set 'skin': 1 of its 2 triangles of shells"),
                               testing::HasSubstr("surface 'top': 1 side of elements that are not solids was"),
                               testing::HasSubstr("surface 'all': 3 sides of elements that are not solids were")}));
}

TEST(VolumeReaders, AbaqusTextBeforeTheFirstKeywordIsATitle) {
  const VolumeMesh mesh = read_volume("Model of a foot\n# made by hand\n" + samples::inp(), named("x.inp"));
  expect_two_tetrahedra(mesh);
  EXPECT_THAT(mesh.notes, testing::Contains(testing::HasSubstr("2 lines of text before the first keyword were omitted: "
                                                               "'Model of a foot'")));
}

TEST(VolumeReaders, AbaqusPartsMayFollowTheirInstances) {
  std::string text = assembly();
  const auto begin = text.find("*Part"), end = text.find("*Assembly");
  text = text.substr(0, begin) + text.substr(end) + text.substr(begin, end - begin);
  const VolumeMesh mesh = read_volume(text, named("a.inp"));
  ASSERT_EQ(mesh.n_elements(), 2U);
  EXPECT_LT((mesh.nodes[1] - Vector3(1, 1, 0)).norm(), 1e-15);
  EXPECT_THAT(mesh.node_sets.at("few"), ElementsAre(1, 4, 5, 6));
}

TEST(VolumeWriters, VtuAndMshKeepMeshAndSets) {
  CylinderOptions options{
      .radius = 0.05, .height = 0.1, .size = 0.025, .core_radius = 0.025, .layers = {}, .order = 2, .limits = {}};
  const VolumeMesh mesh = make_cylinder(options);
  for (const auto& [name, bytes] : {std::pair("x.vtu", write_vtu(mesh)), std::pair("x.msh", write_msh(mesh))}) {
    SCOPED_TRACE(name);
    const VolumeMesh back = read_volume(bytes, named(name));
    ASSERT_EQ(back.nodes.size(), mesh.nodes.size());
    EXPECT_TRUE(back.nodes == mesh.nodes) << "coordinates must keep all bits";
    EXPECT_EQ(back.n_elements(), mesh.n_elements());
    EXPECT_EQ(check_volume(back).set_sizes, check_volume(mesh).set_sizes);
    EXPECT_EQ(back.node_sets, mesh.node_sets);
  }
}

TEST(ReadMesh, FormatIsDetectedFromContent) {
  EXPECT_EQ(read_volume(samples::msh41(), named("mesh")).n_elements(), 2U);
  EXPECT_EQ(read_volume(samples::vtk_ascii(), named("mesh")).n_elements(), 2U);
}

}  // namespace
}  // namespace heelstrike::fem
