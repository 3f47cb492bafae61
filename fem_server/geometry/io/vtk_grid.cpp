#include "fem_server/geometry/io/vtk_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "common/errors/error.hpp"

namespace heelstrike::fem::io {

namespace {

constexpr std::string_view set_prefix = "set:";

/// Name of the set that a value of an array means; empty for none.
std::string set_of(const VtkArray& array, std::size_t i) {
  const std::int64_t value = array.values[i];
  if (array.name.starts_with(set_prefix)) return value != 0 ? array.name.substr(set_prefix.size()) : std::string();
  return fmt::format("{}_{}", array.name, value);
}

struct CellKind {
  int dimension;
  std::size_t n_nodes;
};

CellKind cell_kind(const ReadOptions& options, std::size_t cell, std::int64_t type) {
  switch (type) {
    case 1:
      return {0, 1};
    case 3:
      return {1, 2};
    case 21:
      return {1, 3};
    case 5:
      return {2, 3};
    case 22:
      return {2, 6};
    case 10:
      return {3, 4};
    case 24:
      return {3, 10};
    case 9:
      return {2, 4};
    case 12:
      return {3, 8};
    case 13:
      return {3, 6};
    case 23:
      return {2, 8};
    case 28:
      return {2, 9};
    case 25:
      return {3, 20};
    case 29:
      return {3, 27};
    default:
      throw input_error(
          options.name,
          fmt::format("{}, cell {}: expected tetrahedra (VTK types 10 and 24), prisms with 6 nodes (13) or hexahedra "
                      "with 8, 20 or 27 (12, 25, 29) and their boundary (1, 3, 5, 9, 21, 22, 23, 28), found type {}",
                      options.name, cell, type));
  }
}

void add_sets(const VtkGrid& grid, std::size_t cell, CellKind kind, std::span<const std::uint32_t> nodes,
              std::uint32_t element, VolumeBuilder& builder) {
  for (const VtkArray& array : grid.cell_arrays) {
    const std::string set = set_of(array, cell);
    if (set.empty()) continue;
    if (kind.dimension == 3) {
      builder.add_to_element_set(set, element);
    } else if (kind.dimension == 2) {
      builder.add_boundary(nodes, set);
    } else {
      for (const std::uint32_t node : nodes) builder.add_to_node_set(set, node);
    }
  }
}

}  // namespace

bool is_set_array(std::string_view name) {
  static constexpr std::array<std::string_view, 8> usual{"gmsh:physical", "PhysicalIds", "CellEntityIds", "medit:ref",
                                                         "MaterialIds",   "material",    "material_id",   "Material"};
  if (name.starts_with(set_prefix)) return name.size() > set_prefix.size();
  for (const std::string_view known : usual) {
    if (name == known) return true;
  }
  return false;
}

void check_offsets(const std::string& name, const std::vector<std::int64_t>& offsets, std::size_t n_connectivity) {
  std::int64_t last = 0;
  for (std::size_t cell = 0; cell < offsets.size(); ++cell) {
    if (offsets[cell] < last || offsets[cell] > static_cast<std::int64_t>(n_connectivity)) {
      throw input_error(name, fmt::format("{}: offset of cell {}: expected a value between {} and {}, found {}", name,
                                          cell, last, n_connectivity, offsets[cell]));
    }
    last = offsets[cell];
  }
}

void add_grid(const VtkGrid& grid, const ReadOptions& options, VolumeBuilder& builder) {
  check_offsets(options.name, grid.offsets, grid.connectivity.size());
  builder.expect_vtk_prisms();
  const std::size_t first_node = builder.n_nodes();
  const std::size_t n_points = grid.points.size() / 3;
  for (std::size_t i = 0; i < n_points; ++i) {
    builder.add_node(first_node + i, {grid.points[3 * i], grid.points[3 * i + 1], grid.points[3 * i + 2]},
                     {"point", i});
  }
  std::int64_t begin = 0;
  for (std::size_t cell = 0; cell < grid.types.size(); ++cell) {
    const Place place{"cell", cell};
    const CellKind kind = cell_kind(options, cell, grid.types[cell]);
    const std::int64_t end = grid.offsets[cell];
    if (end - begin != static_cast<std::int64_t>(kind.n_nodes)) {
      throw input_error(options.name, fmt::format("{}, cell {}: expected {} nodes for VTK type {}, found {}",
                                                  options.name, cell, kind.n_nodes, grid.types[cell], end - begin));
    }
    std::vector<std::uint32_t> nodes(kind.n_nodes);
    for (std::size_t i = 0; i < kind.n_nodes; ++i) {
      const std::int64_t point = grid.connectivity[static_cast<std::size_t>(begin) + i];
      if (point < 0 || point >= static_cast<std::int64_t>(n_points)) {
        throw input_error(options.name, fmt::format("{}, cell {}: expected a point between 0 and {}, found {}",
                                                    options.name, cell, n_points - 1, point));
      }
      nodes[i] = static_cast<std::uint32_t>(first_node + static_cast<std::size_t>(point));
    }
    // VTK begins with the triangle whose normal points out of the prism, VolumeMesh with the other one.
    if (kind.dimension == 3 && kind.n_nodes == 6) std::rotate(nodes.begin(), nodes.begin() + 3, nodes.begin() + 6);
    std::uint32_t element = 0;
    if (kind.dimension == 3) element = builder.add_element(nodes, place);
    add_sets(grid, cell, kind, nodes, element, builder);
    begin = end;
  }
  for (const VtkArray& array : grid.point_arrays) {
    for (std::size_t i = 0; i < n_points; ++i) {
      const std::string set = set_of(array, i);
      if (!set.empty()) builder.add_to_node_set(set, static_cast<std::uint32_t>(first_node + i));
    }
  }
}

}  // namespace heelstrike::fem::io
