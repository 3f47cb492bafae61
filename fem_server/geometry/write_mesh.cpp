#include "fem_server/geometry/write_mesh.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "common/text/markup.hpp"
#include "fem_server/geometry/io/gmsh_order.hpp"

namespace heelstrike::fem {

namespace {

/// A DataArray element of a VTK XML file: Base64 of the byte count followed by the bytes.
/// @param unit  written as UNITS_LABEL; empty = none
template <class T>
std::string vtk_array(const std::string& name, std::string_view type, std::size_t n_components,
                      const std::vector<T>& values, const std::string& unit = {}) {
  std::string bytes;
  const std::uint64_t n_bytes = values.size() * sizeof(T);
  bytes.append(reinterpret_cast<const char*>(&n_bytes), sizeof n_bytes);
  bytes.append(reinterpret_cast<const char*>(values.data()), n_bytes);
  const std::string label =
      unit.empty() ? std::string()
                   : fmt::format("<InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">{}</InformationKey>\n",
                                 escaped(unit));
  return fmt::format(
      "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" NumberOfTuples=\"{}\" format=\"binary\">\n{}\n{}"
      "</DataArray>\n",
      type, escaped(name), n_components, values.size() / n_components, encode_base64(bytes), label);
}

/// Connectivity in VTK order: prisms start with the triangle whose normal points outward, those of VolumeMesh with the
/// other triangle.
std::vector<std::int64_t> vtk_connectivity(std::span<const std::uint32_t> cells, std::size_t nodes_per_cell) {
  std::vector<std::int64_t> result(cells.begin(), cells.end());
  if (nodes_per_cell != 6) return result;
  for (auto prism = result.begin(); prism != result.end(); prism += 6) std::rotate(prism, prism + 3, prism + 6);
  return result;
}

static_assert(std::endian::native == std::endian::little, "STL and VTU are written little endian");

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_position(std::string& bytes, const Vector3& position) {
  for (const double coordinate : position) append(bytes, static_cast<float>(coordinate));
}

std::string set_arrays(const std::map<std::string, std::vector<std::uint32_t>>& sets, std::size_t n_items) {
  std::string text;
  for (const auto& [name, members] : sets) {
    std::vector<std::uint8_t> inside(n_items, 0);
    for (const std::uint32_t member : members) inside[member] = 1;
    text += vtk_array("set:" + name, "UInt8", 1, inside);
  }
  return text;
}

/// Items grouped by their combination of sets.
template <class Item>
std::map<std::vector<int>, std::vector<Item>> combinations(const std::map<Item, std::vector<int>>& groups_of) {
  std::map<std::vector<int>, std::vector<Item>> entities;
  for (const auto& [item, groups] : groups_of) entities[groups].push_back(item);
  return entities;
}

struct MshGroups {
  std::map<std::vector<int>, std::vector<std::uint32_t>> volumes;
  std::map<std::vector<int>, std::vector<ElementFace>> surfaces;
  std::string names;  ///< section $PhysicalNames
};

MshGroups msh_groups(const VolumeMesh& mesh) {
  MshGroups groups;
  std::map<std::uint32_t, std::vector<int>> of_element;
  std::map<ElementFace, std::vector<int>> of_face;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) of_element[e];
  std::string lines;
  int tag = 0;
  for (const auto& [name, faces] : mesh.face_sets) {
    lines += fmt::format("2 {} \"{}\"\n", ++tag, name);
    for (const ElementFace face : faces) of_face[face].push_back(tag);
  }
  for (const auto& [name, elements] : mesh.element_sets) {
    lines += fmt::format("3 {} \"{}\"\n", ++tag, name);
    for (const std::uint32_t element : elements) of_element[element].push_back(tag);
  }
  if (tag > 0) groups.names = fmt::format("$PhysicalNames\n{}\n{}$EndPhysicalNames\n", tag, lines);
  groups.volumes = combinations(of_element);
  groups.surfaces = combinations(of_face);
  return groups;
}

std::string entity_line(const VolumeMesh& mesh, int tag, const std::vector<int>& groups) {
  Vector3 low = mesh.nodes.front();
  Vector3 high = low;
  for (const Vector3& node : mesh.nodes) {
    low = low.cwiseMin(node);
    high = high.cwiseMax(node);
  }
  std::string line = fmt::format("{} {} {} {} {} {} {} {}", tag, low.x(), low.y(), low.z(), high.x(), high.y(),
                                 high.z(), groups.size());
  for (const int group : groups) line += fmt::format(" {}", group);
  return line + " 0\n";
}

/// Writer of the section $Elements.
class MshElements {
 public:
  void begin_block(int dimension, int entity, int type, std::size_t n) {
    ++n_blocks_;
    body_ += fmt::format("{} {} {} {}\n", dimension, entity, type, n);
  }
  template <class Nodes>
  void add(const Nodes& nodes) {
    body_ += fmt::format("{}", ++n_);
    for (const std::uint32_t node : nodes) body_ += fmt::format(" {}", node + 1);
    body_ += '\n';
  }
  [[nodiscard]] std::string section() const {
    return fmt::format("$Elements\n{} {} 1 {}\n{}$EndElements\n", n_blocks_, n_, n_, body_);
  }

 private:
  std::string body_;
  std::size_t n_blocks_ = 0;
  std::size_t n_ = 0;
};

/// Gmsh element type of a side by its number of nodes.
int msh_side_type(std::size_t n_nodes) {
  return n_nodes == 9 ? 10 : n_nodes == 6 ? 9 : n_nodes == 4 ? 3 : 2;
}

/// Quadrilateral sides are written as a whole, represented by their first parts.
void add_faces(const VolumeMesh& mesh, int entity, const std::vector<ElementFace>& faces, MshElements& section) {
  std::map<std::size_t, std::vector<std::vector<std::uint32_t>>, std::greater<>> sides;
  for (const ElementFace face : faces) {
    if (mesh.parts_of_side(face.face) > 1 && mesh.part_of_side(face.face) > 0) continue;
    std::vector<std::uint32_t> nodes = side_nodes(mesh, face);
    sides[nodes.size()].push_back(std::move(nodes));
  }
  for (const auto& [n_nodes, of_kind] : sides) {
    section.begin_block(2, entity, msh_side_type(n_nodes), of_kind.size());
    for (const auto& nodes : of_kind) section.add(nodes);
  }
}

std::string msh_elements(const VolumeMesh& mesh, const MshGroups& groups) {
  MshElements section;
  int entity = 0;
  for (const auto& [combination, faces] : groups.surfaces) add_faces(mesh, ++entity, faces, section);
  entity = 0;
  for (const auto& [combination, elements] : groups.volumes) {
    section.begin_block(3, ++entity, mesh.topology().gmsh_type, elements.size());
    for (const std::uint32_t element : elements) {
      section.add(io::to_gmsh(mesh.element(element)));
    }
  }
  return section.section();
}

}  // namespace

std::string write_stl(const SurfaceMesh& mesh) {
  std::string bytes = "Heelstrike surface, metres";
  bytes.resize(80, ' ');
  append(bytes, static_cast<std::uint32_t>(mesh.triangles.size()));
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const Vector3 cross = triangle_cross(mesh, t);
    const double length = cross.norm();
    append_position(bytes, length > 0.0 ? Vector3(cross / length) : Vector3::Zero());
    for (const std::uint32_t vertex : mesh.triangles[t]) append_position(bytes, mesh.vertices[vertex]);
    append(bytes, std::uint16_t{0});
  }
  return bytes;
}

std::string write_vtu(const VolumeMesh& mesh) {
  std::vector<double> points;
  for (const Vector3& node : mesh.nodes) points.insert(points.end(), node.begin(), node.end());
  const std::vector<std::int64_t> connectivity = vtk_connectivity(mesh.connectivity, mesh.nodes_per_element);
  std::vector<std::int64_t> offsets;
  for (std::size_t e = 1; e <= mesh.n_elements(); ++e)
    offsets.push_back(static_cast<std::int64_t>(e * mesh.nodes_per_element));
  const std::vector<std::uint8_t> types(mesh.n_elements(), static_cast<std::uint8_t>(mesh.topology().vtk_type));
  std::string field_data;
  for (const auto& [name, faces] : mesh.face_sets) {
    std::vector<std::int64_t> pairs;
    for (const ElementFace face : faces) {
      pairs.push_back(face.element);
      pairs.push_back(face.face);
    }
    field_data += vtk_array("faces:" + name, "Int64", 2, pairs);
  }
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
         "header_type=\"UInt64\">\n<UnstructuredGrid>\n<FieldData>\n" +
         field_data + "</FieldData>\n" +
         fmt::format("<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n", mesh.nodes.size(), mesh.n_elements()) +
         "<PointData>\n" + set_arrays(mesh.node_sets, mesh.nodes.size()) + "</PointData>\n<CellData>\n" +
         set_arrays(mesh.element_sets, mesh.n_elements()) + "</CellData>\n<Points>\n" +
         vtk_array("Points", "Float64", 3, points) + "</Points>\n<Cells>\n" +
         vtk_array("connectivity", "Int64", 1, connectivity) + vtk_array("offsets", "Int64", 1, offsets) +
         vtk_array("types", "UInt8", 1, types) + "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
}

std::string write_msh(const VolumeMesh& mesh) {
  const MshGroups groups = msh_groups(mesh);
  std::string text = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n" + groups.names;
  text += fmt::format("$Entities\n0 0 {} {}\n", groups.surfaces.size(), groups.volumes.size());
  int tag = 0;
  for (const auto& [combination, faces] : groups.surfaces) text += entity_line(mesh, ++tag, combination);
  tag = 0;
  for (const auto& [combination, elements] : groups.volumes) text += entity_line(mesh, ++tag, combination);
  text += fmt::format("$EndEntities\n$Nodes\n1 {0} 1 {0}\n3 1 0 {0}\n", mesh.nodes.size());
  for (std::size_t i = 1; i <= mesh.nodes.size(); ++i) text += fmt::format("{}\n", i);
  for (const Vector3& node : mesh.nodes) text += fmt::format("{} {} {}\n", node.x(), node.y(), node.z());
  return text + "$EndNodes\n" + msh_elements(mesh, groups);
}

namespace {

std::uint8_t cell_type(std::uint32_t nodes_per_cell) {
  constexpr std::uint8_t vertex = 1;
  constexpr std::uint8_t triangle = 5;
  if (nodes_per_cell == 1) return vertex;
  if (nodes_per_cell == 3) return triangle;
  return static_cast<std::uint8_t>(element_topology(nodes_per_cell).vtk_type);
}

std::string arrays(const std::vector<MeshField>& fields) {
  std::string text;
  for (const MeshField& field : fields) {
    text += vtk_array(field.name, "Float64", field.n_components, field.values, field.unit);
  }
  return text;
}

}  // namespace

std::string write_fields(const FieldGrid& grid, const std::vector<MeshField>& of_points,
                         const std::vector<MeshField>& of_cells) {
  std::vector<double> points;
  points.reserve(3 * grid.points.size());
  for (const Vector3& p : grid.points) points.insert(points.end(), p.begin(), p.end());
  const std::size_t n_cells = grid.connectivity.size() / grid.nodes_per_cell;
  const std::vector<std::int64_t> connectivity = vtk_connectivity(grid.connectivity, grid.nodes_per_cell);
  std::vector<std::int64_t> offsets;
  for (std::size_t c = 1; c <= n_cells; ++c) offsets.push_back(static_cast<std::int64_t>(c * grid.nodes_per_cell));
  const std::vector<std::uint8_t> types(n_cells, cell_type(grid.nodes_per_cell));
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n"
      "<PointData>\n{}</PointData>\n<CellData>\n{}</CellData>\n<Points>\n{}</Points>\n<Cells>\n{}{}{}</Cells>\n</"
      "Piece>\n</UnstructuredGrid>\n"
      "</VTKFile>\n",
      grid.points.size(), n_cells, arrays(of_points), arrays(of_cells), vtk_array("Points", "Float64", 3, points),
      vtk_array("connectivity", "Int64", 1, connectivity), vtk_array("offsets", "Int64", 1, offsets),
      vtk_array("types", "UInt8", 1, types));
}

}  // namespace heelstrike::fem
