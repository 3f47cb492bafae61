/// Collectors of what the readers of mesh files find.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fem_server/geometry/read_mesh.hpp"

namespace heelstrike::fem::io {

/// Position in a file: "line" or "byte" and its number.
struct Place {
  std::string_view unit;
  std::size_t at = 0;
};

/// @throws Error{invalid_input} "file, line 12: message"
[[noreturn]] void fail(const ReadOptions& options, Place place, const std::string& message);

/// Collects vertices, polygons and groups of a surface file.
class SurfaceBuilder {
 public:
  explicit SurfaceBuilder(const ReadOptions& options) : options_(options) {}

  /// @return its index. @throws Error{invalid_input} when not finite, Error{limit}
  std::uint32_t add_vertex(const Vector3& position, Place place);
  /// Existing vertex with identical bits (-0 equals 0), or a new one.
  std::uint32_t add_merged_vertex(const Vector3& position, Place place);
  [[nodiscard]] std::size_t n_vertices() const { return mesh_.vertices.size(); }

  /// Splits the polygon into triangles: around its first corner if that covers it, as it does each convex one,
  /// otherwise by cutting off its convex corners in its plane. One that intersects itself is split around its first
  /// corner, with a note. @param corners  at least 3 indices of vertices
  /// @throws Error{invalid_input} for fewer, Error{limit}
  void add_polygon(std::span<const std::uint32_t> corners, Place place);

  /// Sets the group of subsequent polygons; groups without polygons are omitted from the mesh.
  void start_group(const std::string& name) { current_group_ = name; }
  void add_note(std::string note) { mesh_.notes.push_back(std::move(note)); }

  /// Vertices without a triangle are omitted with a note, unless points suffice.
  /// @throws Error{invalid_input} without triangles
  [[nodiscard]] SurfaceMesh finish();

 private:
  struct BitHash {
    std::size_t operator()(const std::array<std::uint64_t, 3>& bits) const;
  };
  std::uint32_t group_index();

  const ReadOptions& options_;
  SurfaceMesh mesh_;
  std::unordered_map<std::array<std::uint64_t, 3>, std::uint32_t, BitHash> vertex_of_bits_;
  std::string current_group_;
  std::map<std::string, std::uint32_t> group_index_;
  std::size_t n_split_ = 0;
  std::size_t n_merged_ = 0;
  std::size_t n_crossed_ = 0;
  Place first_crossed_;
};

/// Collects nodes, cells and groups of a volume file, then matches boundary triangles with elements.
class VolumeBuilder {
 public:
  /// Offset between the labels of copies of one part of a model; messages omit it.
  static constexpr std::uint64_t copy_stride = 1ULL << 40U;

  explicit VolumeBuilder(const ReadOptions& options) : options_(options) {}

  /// @throws Error{invalid_input} for a duplicate label or non-finite coordinates, Error{limit}
  void add_node(std::uint64_t label, const Vector3& position, Place place);
  /// @throws Error{invalid_input} for an unknown label
  [[nodiscard]] std::uint32_t node_index(std::uint64_t label, Place place) const;
  /// None for an unknown label.
  [[nodiscard]] std::optional<std::uint32_t> find_node(std::uint64_t label) const;
  [[nodiscard]] std::size_t n_nodes() const { return nodes_.size(); }
  [[nodiscard]] bool has_elements() const { return !mesh_.connectivity.empty(); }
  [[nodiscard]] const Vector3& node(std::uint32_t index) const { return nodes_[index]; }

  /// Tetrahedron with 4 or 10 nodes, prism with 6, or hexahedron with 8, 20 or 27, in the order of VolumeMesh. Of a
  /// prism with 15 or 18 nodes, the 6 corners are taken with a note: no finite element has the other nodes.
  /// @return its index
  /// @throws Error{invalid_input} for mixed kinds, a repeated node, or a mid-side node of a quadratic hexahedron that
  ///         does not lie between its neighbours (different numbering in the file); Error{limit}
  std::uint32_t add_element(std::span<const std::uint32_t> nodes, Place place);
  /// Side of the boundary with 3 or 6 nodes, or with 4, 8 or 9, corners first; becomes a face of `set`.
  void add_boundary(std::span<const std::uint32_t> nodes, const std::string& set);
  /// Counts a cell of a surface, whether or not it belongs to a set, for messages.
  void count_surface_cell() { ++n_surface_cells_; }

  void add_to_element_set(const std::string& set, std::uint32_t element) { mesh_.element_sets[set].push_back(element); }
  void add_to_node_set(const std::string& set, std::uint32_t node) { mesh_.node_sets[set].push_back(node); }
  /// @param side  0..3 of a tetrahedron, 0..4 of a prism, 0..5 of a hexahedron. @return false when the element has no
  /// such side
  [[nodiscard]] bool add_side_of(const std::string& set, std::uint32_t element, std::uint8_t side);
  /// VTK numbers prisms from the top (the first triangle faces outward), but many programs do not: if most prisms are
  /// inverted in the VTK order, all are read in the other order, with a note.
  void expect_vtk_prisms() { of_vtk_ = true; }
  /// Triangles that are not a face of any element are omitted with a note for each set instead of rejected: shells
  /// beside solids.
  void omit_foreign_triangles() { omits_foreign_triangles_ = true; }
  void add_note(std::string note) { mesh_.notes.push_back(std::move(note)); }

  /// Inverted elements are kept; check_volume reports them.
  /// @throws Error{invalid_input} without elements, or for a boundary triangle that belongs to none
  [[nodiscard]] VolumeMesh finish();

 private:
  struct BoundaryTriangle {
    Triangle key;       ///< sorted corners
    std::uint32_t set;  ///< index into triangle_set_names_
  };
  void add_triangle(const Triangle& corners, const std::string& set);
  void check_middles(std::span<const std::uint32_t> nodes, Place place) const;
  void complete_hexahedra();
  void match_triangles();
  void check_unmatched(const std::vector<bool>& matched);
  void reorder_gmsh_prisms();
  void count_cell();

  const ReadOptions& options_;
  VolumeMesh mesh_;
  std::vector<Vector3> nodes_;
  std::vector<std::uint64_t> labels_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_of_label_;
  std::uint64_t n_cells_ = 0;
  std::uint64_t n_surface_cells_ = 0;
  std::uint64_t n_straight_prisms_ = 0;  ///< with 15 or 18 nodes, of which the corners were taken
  bool of_vtk_ = false;
  bool omits_foreign_triangles_ = false;
  std::vector<BoundaryTriangle> triangles_;
  std::vector<std::string> triangle_set_names_;
  std::map<std::string, std::uint32_t> triangle_set_index_;
};

}  // namespace heelstrike::fem::io
