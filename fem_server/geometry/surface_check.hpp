/// Is a surface fit to be filled with tetrahedra or to be a contact partner?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

enum class SurfaceDefect {
  open_edge,             ///< an edge with one triangle: a hole or a rim
  nonmanifold_edge,      ///< an edge with more than two triangles
  inconsistent_winding,  ///< an edge whose two triangles run it in the same direction
  inside_out,            ///< a closed component with normals inward (outward for a cavity)
  self_intersection,     ///< two triangles that cut through each other or overlap
  degenerate_triangle,   ///< no area: a corner twice, or a height below 1e-10 of the longest edge
  duplicate_triangle     ///< the same three corners as a triangle before it
};
[[nodiscard]] std::string_view to_string(SurfaceDefect defect);

/// All defects of one kind.
struct SurfaceFinding {
  SurfaceDefect defect = SurfaceDefect::open_edge;
  std::size_t count = 0;
  std::vector<Vector3> where;            ///< [m] of the first few
  std::vector<std::uint32_t> triangles;  ///< a triangle of each of the first few
};

struct SurfaceReport {
  std::size_t n_vertices = 0;
  std::size_t n_triangles = 0;
  std::size_t n_components = 0;          ///< pieces that hang together over edges
  bool closed = false;                   ///< every edge has exactly two triangles
  double area = 0.0;                     ///< [m^2]
  double volume = 0.0;                   ///< [m^3] signed; without meaning when not closed
  double min_edge_length = 0.0;            ///< [m]
  double max_edge = 0.0;             ///< [m]
  bool complete = true;                  ///< false: the search for self-intersections was cut short, there may be more
  std::vector<SurfaceFinding> findings;  ///< kinds that occur, in the order of SurfaceDefect

  [[nodiscard]] bool sound() const { return findings.empty(); }
  /// Zero when there is none.
  [[nodiscard]] std::size_t count(SurfaceDefect defect) const;
};

struct SurfaceCheckOptions {
  std::size_t positions_per_kind = 5;
  bool self_intersections = true;
};

[[nodiscard]] SurfaceReport check_surface(const SurfaceMesh& mesh, const SurfaceCheckOptions& options = {});

/// One line per fact and finding, for a person.
[[nodiscard]] std::string describe(const SurfaceReport& report);

/// @param name  of the surface, for the message
/// @throws Error{invalid_input} that lists all findings, and which repairs exist, unless the surface is sound
void require_valid(const SurfaceReport& report, const std::string& name);

/// Do two triangles of the mesh cut through each other or overlap? Touching in a point or along an edge does not count.
/// Decided in double precision: depths below about 1e-14 of the size of the triangles count as touching.
[[nodiscard]] bool triangles_intersect(const SurfaceMesh& mesh, std::uint32_t s, std::uint32_t t);

}  // namespace heelstrike::fem
