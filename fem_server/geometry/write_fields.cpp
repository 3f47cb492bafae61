#include "fem_server/geometry/write_fields.hpp"

#include <fmt/format.h>

#include "fem_server/geometry/io/vtk_array.hpp"

namespace heelstrike::fem {

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
    text += io::vtk_array(field.name, "Float64", field.n_components, field.values, field.unit);
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
  const std::vector<std::int64_t> connectivity = io::vtk_connectivity(grid.connectivity, grid.nodes_per_cell);
  std::vector<std::int64_t> offsets;
  for (std::size_t c = 1; c <= n_cells; ++c) offsets.push_back(static_cast<std::int64_t>(c * grid.nodes_per_cell));
  const std::vector<std::uint8_t> types(n_cells, cell_type(grid.nodes_per_cell));
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n"
      "<PointData>\n{}</PointData>\n<CellData>\n{}</CellData>\n<Points>\n{}</Points>\n<Cells>\n{}{}{}</Cells>\n</"
      "Piece>\n</UnstructuredGrid>\n"
      "</VTKFile>\n",
      grid.points.size(), n_cells, arrays(of_points), arrays(of_cells), io::vtk_array("Points", "Float64", 3, points),
      io::vtk_array("connectivity", "Int64", 1, connectivity), io::vtk_array("offsets", "Int64", 1, offsets),
      io::vtk_array("types", "UInt8", 1, types));
}

}  // namespace heelstrike::fem
