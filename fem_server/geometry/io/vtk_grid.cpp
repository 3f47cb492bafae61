#include "fem_server/geometry/io/vtk_grid.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <lzma.h>
#include <zlib.h>
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "common/errors/error.hpp"

namespace heelstrike::fem::io {

namespace {

constexpr std::string_view set_prefix = "set:";

/// Name of the set denoted by a value of an array; empty for none.
std::string set_of(const VtkArray& array, std::size_t i) {
  const std::int64_t value = array.values[i];
  if (array.name.starts_with(set_prefix)) return value != 0 ? array.name.substr(set_prefix.size()) : std::string();
  return fmt::format("{}_{}", array.name, value);
}

struct CellKind {
  std::int64_t vtk_type;
  int dimension;
  std::size_t n_nodes;  ///< 0 = any number
};

/// Types 69 to 72 are Lagrange cells of arbitrary order; the listed ones have the node order of the cells above.
constexpr auto cell_kinds =
    std::to_array<CellKind>({{1, 0, 1},   {2, 0, 0},   {3, 1, 2},  {4, 1, 0},  {21, 1, 3},  {5, 2, 3},  {22, 2, 6},
                             {10, 3, 4},  {24, 3, 10}, {8, 2, 4},  {9, 2, 4},  {11, 3, 8},  {12, 3, 8}, {13, 3, 6},
                             {26, 3, 15}, {32, 3, 18}, {23, 2, 8}, {28, 2, 9}, {25, 3, 20}, {29, 3, 27}});
constexpr auto lagrange_kinds =
    std::to_array<CellKind>({{69, 2, 3}, {69, 2, 6}, {70, 2, 4}, {71, 3, 4}, {71, 3, 10}, {72, 3, 8}});

/// The kind of a cell with `n_nodes` nodes; other numbers are reported by the caller.
CellKind cell_kind(const ReadOptions& options, std::size_t cell, std::int64_t type, std::size_t n_nodes) {
  if (const auto found = std::ranges::find(cell_kinds, type, &CellKind::vtk_type); found != cell_kinds.end()) {
    return {type, found->dimension, found->n_nodes == 0 ? n_nodes : found->n_nodes};
  }
  for (const CellKind& kind : lagrange_kinds) {
    if (kind.vtk_type == type && kind.n_nodes == n_nodes) return kind;
  }
  throw input_error(
      options.name,
      fmt::format(
          "{}, cell {}: expected tetrahedra (VTK types 10, 24, 71), prisms with 6, 15 or 18 nodes (13, 26, 32) or "
          "hexahedra with 8, 20 or 27 (11, 12, 25, 29) and their boundary (1 to 5, 8, 9, 21, 22, 23, 28, 69), found "
          "type "
          "{} with {} nodes",
          options.name, cell, type, n_nodes));
}

/// Pixels and voxels number the corners of the second row in the direction of the first one.
void flip_rows(std::int64_t type, std::vector<std::uint32_t>& nodes) {
  if (type != 8 && type != 11) return;
  for (std::size_t i = 2; i < nodes.size(); i += 4) std::swap(nodes[i], nodes[i + 1]);
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

namespace {

/// Vertices of the builder that belong to polygon `cell`.
void corners_of(const VtkPolygons& polygons, std::size_t cell, std::size_t first_vertex, const ReadOptions& options,
                const SurfaceBuilder& builder, std::vector<std::uint32_t>& corners) {
  corners.clear();
  const auto n_points = static_cast<std::int64_t>(builder.n_vertices() - first_vertex);
  const auto end = static_cast<std::size_t>(polygons.offsets[cell]);
  for (std::size_t i = cell == 0 ? 0 : static_cast<std::size_t>(polygons.offsets[cell - 1]); i < end; ++i) {
    const std::int64_t point = polygons.connectivity[i];
    if (point < 0 || point >= n_points) {
      throw input_error(options.name, fmt::format("{}, polygon {}: expected a point between 0 and {}, found {}",
                                                  options.name, cell, n_points - 1, point));
    }
    corners.push_back(static_cast<std::uint32_t>(first_vertex + static_cast<std::size_t>(point)));
  }
}

}  // namespace

void add_polygons(const VtkPolygons& polygons, std::size_t first_vertex, const std::vector<VtkArray>& sets,
                  const ReadOptions& options, SurfaceBuilder& builder) {
  std::vector<std::uint32_t> corners;
  for (std::size_t cell = 0; cell < polygons.offsets.size(); ++cell) {
    corners_of(polygons, cell, first_vertex, options, builder, corners);
    builder.start_group({});
    for (const VtkArray& set : sets) {
      if (cell >= set.values.size()) continue;
      const std::string name = set_of(set, cell);
      if (!name.empty()) builder.start_group(name);
    }
    builder.add_polygon(corners, {"polygon", cell});
  }
}

void add_strips(const VtkPolygons& strips, std::size_t first_vertex, const ReadOptions& options,
                SurfaceBuilder& builder) {
  std::vector<std::uint32_t> corners;
  builder.start_group({});
  for (std::size_t cell = 0; cell < strips.offsets.size(); ++cell) {
    corners_of(strips, cell, first_vertex, options, builder, corners);
    for (std::size_t i = 2; i < corners.size(); ++i) {
      const bool odd = i % 2 == 1;
      const Triangle triangle{corners[i - 2], corners[odd ? i : i - 1], corners[odd ? i - 1 : i]};
      builder.add_polygon(triangle, {"strip", cell});
    }
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
    const std::int64_t end = grid.offsets[cell];
    const CellKind kind = cell_kind(options, cell, grid.types[cell], static_cast<std::size_t>(end - begin));
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
    flip_rows(grid.types[cell], nodes);
    // VTK starts with the triangle whose normal points out of the prism, VolumeMesh with the other one.
    const bool is_prism = kind.n_nodes == 6 || kind.n_nodes == 15 || kind.n_nodes == 18;
    if (kind.dimension == 3 && is_prism) std::rotate(nodes.begin(), nodes.begin() + 3, nodes.begin() + 6);
    std::uint32_t element = 0;
    if (kind.dimension == 2) builder.count_surface_cell();
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

namespace {

bool unpack_zlib(std::string_view packed, std::span<char> unpacked) {
  uLongf n = unpacked.size();
  const int result = uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &n,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  return result == Z_OK && n == unpacked.size();
}

bool unpack_lz4(std::string_view packed, std::span<char> unpacked) {
  constexpr std::size_t largest = std::numeric_limits<int>::max();
  if (packed.size() > largest || unpacked.size() > largest) return false;
  const auto n = static_cast<int>(unpacked.size());
  return LZ4_decompress_safe(packed.data(), unpacked.data(), static_cast<int>(packed.size()), n) == n;
}

bool unpack_lzma(std::string_view packed, std::span<char> unpacked) {
  // The strongest preset needs 65 MiB to unpack; a header can request 4 GiB.
  std::uint64_t memory = 128ULL << 20;
  std::size_t from = 0, to = 0;
  const lzma_ret result =
      lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &from,
                                packed.size(), reinterpret_cast<std::uint8_t*>(unpacked.data()), &to, unpacked.size());
  return result == LZMA_OK && to == unpacked.size();
}

/// Ratios: a length byte of LZ4 represents 255 bytes; deflate takes two bits for a match of 258; a repeated match of
/// LZMA takes 14 decisions of 0.022 bit each for 273 bytes.
constexpr auto compressors = std::to_array<VtkCompressor>({{"vtkZLibDataCompressor", 1032, unpack_zlib},
                                                           {"vtkLZ4DataCompressor", 255, unpack_lz4},
                                                           {"vtkLZMADataCompressor", 7100, unpack_lzma}});

}  // namespace

const VtkCompressor* find_vtk_compressor(std::string_view name) {
  const auto found = std::ranges::find(compressors, name, &VtkCompressor::name);
  return found == compressors.end() ? nullptr : &*found;
}

std::string vtk_compressor_names() {
  std::string names;
  for (const VtkCompressor& compressor : compressors)
    names += (names.empty() ? "" : ", ") + std::string(compressor.name);
  return names;
}

}  // namespace heelstrike::fem::io
