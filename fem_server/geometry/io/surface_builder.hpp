/// Collects vertices, polygons and groups of a surface file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fem_server/geometry/io/volume_builder.hpp"
#include "fem_server/geometry/read_mesh.hpp"

namespace heelstrike::fem::io {

class SurfaceBuilder {
 public:
  explicit SurfaceBuilder(const ReadOptions& options) : options_(options) {}

  /// @return its index. @throws Error{invalid_input} when not finite, Error{limit}
  std::uint32_t add_vertex(const Vector3& position, Place place);
  /// Existing vertex with identical bits (-0 equals 0), or a new one.
  std::uint32_t add_merged_vertex(const Vector3& position, Place place);
  [[nodiscard]] std::size_t n_vertices() const { return mesh_.vertices.size(); }

  /// Splits the polygon around its first corner. @param corners  at least 3 indices of vertices
  /// @throws Error{invalid_input} for fewer, Error{limit}
  void add_polygon(std::span<const std::uint32_t> corners, Place place);

  /// Sets the group of subsequent polygons; groups without polygons are omitted from the mesh.
  void start_group(const std::string& name) { current_group_ = name; }
  void add_note(std::string note) { mesh_.notes.push_back(std::move(note)); }

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
};

}  // namespace heelstrike::fem::io
