// Every malformed file is rejected with its code, its position, and the expected content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

struct InvalidFile {
  std::string name;
  std::string bytes;
  std::string expected;  ///< part of the message
  ErrorCode code = ErrorCode::invalid_input;
};

bool is_surface(const std::string& name) {
  for (const char* extension : {".stl", ".obj", ".ply", ".vtp"}) {
    if (name.ends_with(extension)) return true;
  }
  return false;
}

void read_any(const std::string& name, const std::string& bytes) {
  ReadOptions options = samples::named(name);
  options.limits.max_nodes = 1000;
  options.limits.max_elements = 1000;
  if (is_surface(name)) {
    (void)read_surface(bytes, options);
  } else {
    (void)read_volume(bytes, options);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::vector<InvalidFile> invalid_files() {
  const std::string stl = write_stl(samples::cube());
  std::string nan_stl = stl;
  nan_stl.replace(84 + 12, 4, std::string("\x00\x00\xc0\x7f", 4));
  std::string huge_stl = stl.substr(0, 80) + std::string("\xff\xff\xff\x7f", 4) + stl.substr(84);
  const std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  const std::string vtp =
      "<VTKFile type='PolyData'><PolyData><Piece NumberOfPoints='3' NumberOfPolys='1'><Points><DataArray "
      "type='Float32' NumberOfComponents='3' format='ascii'>0 0 0 1 0 0 0 1 0</DataArray></Points><Polys><DataArray "
      "type='Int32' Name='connectivity' format='ascii'>0 1 2</DataArray><DataArray type='Int32' Name='offsets' "
      "format='ascii'>3</DataArray></Polys></Piece></PolyData></VTKFile>";
  return {
      {"png.stl", "\x89PNG\r\n\x1a\n....", "found a PNG image"},
      {"pointer.stl", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
       "found a pointer of Git LFS instead of the content; fetch it with `git lfs pull`"},
      {"empty.stl", "", "empty"},
      {"cut.stl", stl.substr(0, stl.size() - 7), "12 triangles = 684 bytes, found 677"},
      {"nan.stl", nan_stl, "byte 84: expected three finite coordinates"},
      {"huge.stl", huge_stl, "exceed the limit of 1000", ErrorCode::limit},
      {"text.stl", "hello world, this is no mesh", "line 1: expected 'solid'"},
      {"half.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 x",
       "line 5: expected a finite coordinate"},
      {"noend.stl", "solid a\n", "truncated"},
      {"inf.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 inf", "found 'inf'"},
      {"index.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "line 4: expected a vertex between 1 and 3"},
      {"zero.obj", "v 0 0 0\nf 0 0 0\n", "found 0"},
      {"far.obj", "v 0 0 0\nv 1e200 0 0\nv 0 1 0\nf 1 2 3\n", "expected coordinates within"},
      {"two.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "at least 3 corners, found 2"},
      {"nan.obj", "v 0 0 nan\n", "line 1: expected three finite coordinates"},
      {"verb.obj", "v 0 0 0\nfoo 1\n", "line 2: expected an OBJ statement"},
      {"cloud.obj", "v 0 0 0\n", "found no triangle"},
      {"big.ply", replaced(ply, "ascii", "binary_big_endian"), "the file ends within"},
      {"middle.ply", replaced(ply, "ascii", "binary_middle_endian"), "'binary_big_endian'"},
      {"more.stl", stl + stl.substr(84), "room for 24 triangles"},
      {"many.ply", replaced(ply, "vertex 3", "vertex 999999999999"), "exceed the limit", ErrorCode::limit},
      {"short.ply", replaced(ply, "vertex 3", "vertex 900"), "truncated or its count is wrong"},
      {"index.ply", replaced(ply, "3 0 1 2", "3 0 1 3"), "between 0 and 2, found 3"},
      {"end.ply", ply.substr(0, ply.size() - 4), "found the end of the file"},
      {"first.ply", "PLY\n" + ply.substr(4), "line 1: expected 'ply' in the first line"},
      {"few.ply", replaced(ply, "1 0 0", "1 0"), "line 11: expected all values of the element 'vertex' in this line"},
      {"header.ply", replaced(ply, "property float x", "propery float x"),
       "line 4: expected 'format', 'element', 'property', 'comment' or 'end_header', found 'propery'"},
      {"cloud.ply",
       "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\nend_header\n",
       "point cloud"},
      {"index.vtp", replaced(vtp, "0 1 2<", "0 1 7<"), "between 0 and 2, found 7"},
      {"count.vtp", replaced(vtp, "NumberOfPoints='3'", "NumberOfPoints='-3'"),
       "NumberOfPoints with a count, found '-3'"},
      {"limit.vtp", replaced(vtp, "NumberOfPoints='3'", "NumberOfPoints='4000000000'"), "exceed the limit",
       ErrorCode::limit},
      {"nan.vtp", replaced(vtp, "0 0 0 1", "0 0 nan 1"), "expected a finite number, found 'nan'"},
      {"kind.vtp", replaced(vtp, "type='PolyData'", "type='ImageData'"), "expected type='PolyData'"},
      {"cut.vtp", vtp.substr(0, 100), "invalid VTK XML file"},
      {"packer.vtp", replaced(vtp, "type='PolyData'", "type='PolyData' compressor='vtkBestDataCompressor'"),
       "vtkZLibDataCompressor"},
      {"order.vtp", replaced(vtp, "type='PolyData'", "type='PolyData' byte_order='MiddleEndian'"),
       "LittleEndian or Big"},
      {"version.msh", "$MeshFormat\n3 0 8\n$EndMeshFormat\n",
       "expected format version 1, 2, 2.1, 2.2, 4 or 4.1, found '3'"},
      {"section1.msh", "$NOD\n0\n$ENDNOD\n$Elements\n", "line 4: expected $NOD or $ELM of a mesh of version 1"},
      {"nodes1.msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 4 1 1 3 1 1 1\n$ENDELM\n",
       "line 7: expected 4 nodes of an element of type 4, found 3"},
      {"node.msh", replaced(samples::msh22(), "1 2 3 4\n4", "1 2 3 77\n4"), "found node 77, which is not defined"},
      {"twice.msh", replaced(samples::msh22(), "2 1 0 0", "1 1 0 0"), "line 14: node 1 is repeated"},
      {"pyramid.msh", replaced(samples::msh22(), "3 4 2 1 1", "3 7 2 1 1"), "found element type 7"},
      {"cut.msh", samples::msh22().substr(0, 200), "expected"},
      {"cut4.msh", samples::msh41().substr(0, samples::msh41().size() - 20), "expected"},
      {"many.msh", replaced(samples::msh41(), "2 6 1 99", "2 60000 1 99"), "exceed the limit", ErrorCode::limit},
      {"lost.msh", replaced(samples::msh22(), "1 3 2\n", "1 3 5\n"), "not a face of any element"},
      {"surface.msh",
       "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n0\n$EndElements\n",
       "expected tetrahedra"},
      {"same.msh", replaced(samples::msh22(), "1 2 3 4\n4", "1 2 2 4\n4"), "uses node 2 twice"},
      {"type.inp", replaced(samples::inp(), "TYPE=C3D4", "TYPE=C3D5"),
       "line 10: expected TYPE=C3D4, C3D10, C3D6, C3D15, C3D8, C3D20 or C3D27"},
      {"long.inp", replaced(samples::inp(), "2, 1., 0., 0.", "2, 1., 0., 0., 0., 0., 1., 5."),
       "three coordinates, found 8 values"},
      {"moved.inp", replaced(samples::inp(), "2, 1., 0., 0.", "2, 1., 0., 0.\n2, 2., 0., 0."),
       "line 7: node 2 is repeated"},
      {"plane.msh",
       replaced(samples::msh22(), "3 4 2 1 1 1 2 3 4\n4 4 2 2 2 2 5 3 4", "3 2 2 0 1 1 2 3\n4 2 2 0 2 2 5 3"),
       "6 nodes and 3 triangles or quadrilaterals only"},
      {"shells.inp", "*NODE\n1, 0, 0\n2, 1, 0\n3, 0, 1\n*ELEMENT, TYPE=CPE3\n1, 1, 2, 3\n",
       "line 5: expected solid elements (C3D...), found elements of the types CPE3 only"},
      {"nodes.inp", replaced(samples::inp(), "10, 1, 2, 3, 4", "10, 1, 2, 3"), "4 nodes, found 4 values"},
      {"circle.inp", replaced(samples::inp(), "soft, 20", "last\n*ELSET, ELSET=last\nagain"),
       "line 21: the sets 'again' and 'last' contain each other"},
      {"gen.inp", replaced(samples::inp(), "10, 20, 10", "10, 20, 0"), "whole increments"},
      {"genmany.inp", replaced(samples::inp(), "10, 20, 10", "1, 2000000000, 1"), "exceed the limit", ErrorCode::limit},
      {"include.inp", "*INCLUDE, INPUT=/etc/x.inp\n", "in another file, '/etc/x.inp', which is not read"},
      {"input.inp", "*NODE, INPUT=x.inp\n", "in another file, 'x.inp'"},
      {"part.inp", "*INSTANCE, NAME=A, PART=none\n*END INSTANCE\n", "name of a part of this file, found 'none'"},
      {"loop.inp", "*PART, NAME=P\n*INSTANCE, NAME=A, PART=P\n*END INSTANCE\n*END PART\n*INSTANCE, NAME=A, PART=P\n",
       "expected *END INSTANCE before the next"},
      {"turn.inp", "*INSTANCE, NAME=A\n0, 0, 0\n1, 1, 1, 1, 1, 1, 30\n", "two different points of the axis"},
      {"face.inp", replaced(samples::inp(), "SOFT, S1", "SOFT, S7"), "face S1 to S6"},
      {"side.inp", replaced(samples::inp(), "SOFT, S1", "SOFT, S5"),
       "has no face S5; the last face of tetrahedra is S4, of prisms S5"},
      {"text.inp", "hello\n", "line 1: expected a keyword line"},
      {"data.inp", "A title\n1, 0, 0, 0\n" + samples::inp(),
       "line 2: expected a keyword such as *NODE before the first"},
      {"first.vtk", "# vtk datafile\n" + samples::vtk_ascii(), "line 1: expected '# vtk DataFile Version'"},
      {"encoding.vtk", replaced(samples::vtk_ascii(), "ASCII", "TEXT"),
       "line 3: expected ASCII or BINARY, found 'text'"},
      {"cut.vtk", samples::vtk_ascii().substr(0, 130), "expected"},
      {"cell.vtk", replaced(samples::vtk_ascii(), "4 1 4 2 3", "4 1 9 2 3"), "between 0 and 4, found 9"},
      {"type.vtk", replaced(samples::vtk_ascii(), "10\n10\n5", "10\n14\n5"), "found type 14"},
      {"many.vtk", replaced(samples::vtk_ascii(), "POINTS 5", "POINTS 500000"), "expected the number of points"},
      {"wrong.vtu", samples::msh22(), "invalid VTK XML file"},
      {"mesh.xyz", "whatever", "expected a mesh of format stl"},
  };
}

TEST(MalformedMeshes, AreRejectedWithPlaceAndReason) {
  for (const InvalidFile& file : invalid_files()) {
    SCOPED_TRACE(file.name);
    try {
      read_any(file.name, file.bytes);
      ADD_FAILURE() << "was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), file.code) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr(file.expected));
      EXPECT_THAT(error.what(), testing::HasSubstr(file.name));
    }
  }
}

/// Truncations, changed bytes and repeated parts of a valid file.
std::string mutated(std::string bytes, std::mt19937& random) {
  for (auto n = 1 + random() % 3; n > 0; --n) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.resize(at + 1);
        break;
      case 2:
        bytes.insert(at, bytes.substr(at / 2, random() % 20));
        break;
      default:
        bytes[at] = "0123456789-.\n"[random() % 13];
        break;
    }
  }
  return bytes;
}

/// Whether a message gives the position in the file, or concerns the whole file.
bool names_place(const std::string& message) {
  for (const char* place : {", line ", ", byte ", ", cell ", " of cell ", " contains element ", " has the nodes ",
                            "found no triangle", "found none", "quadrilaterals only", "XML", ", point "}) {
    if (message.find(place) != std::string::npos) return true;
  }
  return false;
}

/// Read or rejected, never anything else; the error names the file and the position in one readable line.
TEST(MalformedMeshes, MutationsAreRejectedWithFileAndPlace) {
  const VolumeMesh volume = read_volume(samples::msh22(), samples::named("x.msh"));
  std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
  std::string ascii_stl = "solid a\n";
  const auto cube = samples::cube();
  for (const Triangle& t : cube.triangles) {
    ascii_stl += "facet normal 0 0 0\nouter loop\n";
    for (const std::uint32_t v : t) {
      const Vector3& p = cube.vertices[v];
      ascii_stl += "vertex " + std::to_string(p.x()) + " " + std::to_string(p.y()) + " " + std::to_string(p.z()) + "\n";
    }
    ascii_stl += "endloop\nendfacet\n";
  }
  ascii_stl += "endsolid a\n";
  const std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  const std::vector<std::pair<std::string, std::string>> seeds{{"mutant.stl", write_stl(samples::cube())},
                                                               {"mutant.stl", ascii_stl},
                                                               {"mutant.obj", obj},
                                                               {"mutant.ply", ply},
                                                               {"mutant.msh", samples::msh22()},
                                                               {"mutant.msh", samples::msh41()},
                                                               {"mutant.inp", samples::inp()},
                                                               {"mutant.vtk", samples::vtk_ascii()},
                                                               {"mutant.vtu", write_vtu(volume)}};
  std::mt19937 random(7);
  int n_rejected = 0;
  for (int round = 0; round < 4500; ++round) {
    const auto& [name, good] = seeds[random() % seeds.size()];
    const std::string bytes = mutated(good, random);
    try {
      read_any(name, bytes);
    } catch (const Error& error) {
      ++n_rejected;
      const std::string message = error.what();
      EXPECT_TRUE(error.code() == ErrorCode::invalid_input || error.code() == ErrorCode::limit) << message;
      EXPECT_THAT(message, testing::StartsWith(name)) << round;
      EXPECT_TRUE(error.code() == ErrorCode::limit || names_place(message)) << message;
      EXPECT_EQ(printable(message), message) << "raw bytes of the file";
    }
  }
  EXPECT_GT(n_rejected, 1000) << "the mutations should hit something";
}

TEST(ReadMesh, RejectsInvalidOptions) {
  ReadOptions options = samples::named("x.stl");
  options.length_scale = 0.0;
  EXPECT_THROW((void)read_surface(write_stl(samples::cube()), options), Error);
  EXPECT_THROW((void)read_volume(write_stl(samples::cube()), samples::named("x.stl")), Error);
  EXPECT_THROW((void)read_surface(samples::msh22(), samples::named("x.msh")), Error);
}

}  // namespace
}  // namespace heelstrike::fem
