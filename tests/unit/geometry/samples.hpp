// Small meshes and files for several tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem::samples {

/// Closed cube [0, 1]^3 m, 12 triangles, outward.
inline SurfaceMesh cube() {
  SurfaceMesh mesh;
  for (int i = 0; i < 8; ++i) mesh.vertices.emplace_back(i % 2, i / 2 % 2, i / 4);
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

/// Shifts a mesh.
inline SurfaceMesh moved(SurfaceMesh mesh, const Vector3& by) {
  for (Vector3& vertex : mesh.vertices) vertex += by;
  return mesh;
}

/// Both meshes in one.
inline SurfaceMesh joined(SurfaceMesh a, const SurfaceMesh& b) {
  const auto first = static_cast<std::uint32_t>(a.vertices.size());
  a.vertices.insert(a.vertices.end(), b.vertices.begin(), b.vertices.end());
  for (const Triangle& t : b.triangles) a.triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  return a;
}

inline ReadOptions named(const std::string& name) {
  ReadOptions options;
  options.name = name;
  return options;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Two tetrahedra over one face; material groups "soft" and "hard", the face z = 0 is "bottom", node 4 is "tip".
inline std::string msh22() {
  return "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n3 1 \"soft\"\n3 2 \"hard\"\n2 3 \"bottom\"\n0 4 "
         "\"tip\"\n"
         "$EndPhysicalNames\n$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n99 7 7 "
         "7\n$EndNodes\n$Elements\n4\n"
         "1 15 2 4 1 4\n2 2 2 3 1 1 3 2\n3 4 2 1 1 1 2 3 4\n4 4 2 2 2 2 5 3 4\n$EndElements\n";
}

inline std::string msh41() {
  return "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n3 1 \"soft\"\n3 2 \"hard\"\n2 3 \"bottom\"\n0 4 "
         "\"tip\"\n"
         "$EndPhysicalNames\n$Entities\n1 0 1 2\n7 0 0 1 1 4\n1 0 0 0 1 1 0 1 3 0\n1 0 0 0 1 1 1 1 1 1 1\n2 0 0 0 1 1 "
         "1 1 2 0\n"
         "$EndEntities\n$Nodes\n2 6 1 99\n3 1 0 5\n1\n2\n3\n4\n5\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n0 9 0 1\n99\n7 7 "
         "7\n$EndNodes\n"
         "$Elements\n4 4 1 4\n0 7 15 1\n1 4\n2 1 2 1\n2 1 3 2\n3 1 4 1\n3 1 2 3 4\n3 2 4 1\n4 2 5 3 4\n$EndElements\n";
}

inline std::string inp() {
  return "*HEADING\nan example\n** comment\n*NODE, NSET=ALL\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 0., 0., "
         "1.\n"
         "5, 1., 1., 1.D0\n*ELEMENT, TYPE=C3D4, ELSET=Soft\n10, 1, 2, 3, 4\n*Element, type=C3D4, elset=hard\n20, 2, 5, "
         "3, 4\n"
         "*ELSET, ELSET=both, GENERATE\n10, 20, 10\n*NSET, NSET=tip\n4\n*NSET, NSET=base, GENERATE\n1, 3, 1\n"
         "*ELSET, ELSET=again\nsoft, 20\n*SURFACE, TYPE=ELEMENT, NAME=bottom\nSOFT, S1\n*MATERIAL, "
         "NAME=RUBBER\n*ELASTIC\n1E6, 0.3\n";
}

inline std::string vtk_ascii() {
  return "# vtk DataFile Version 3.0\ntitle\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n0 0 0 1 0 0 0 1 0 0 0 "
         "1 1 1 1\n"
         "CELLS 3 14\n4 0 1 2 3\n4 1 4 2 3\n3 0 2 1\nCELL_TYPES 3\n10\n10\n5\nCELL_DATA 3\nSCALARS material int 1\n"
         "LOOKUP_TABLE default\n1 2 3\nPOINT_DATA 5\nVECTORS u float\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
}

}  // namespace heelstrike::fem::samples
