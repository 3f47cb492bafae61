/// Validity of a surface for tetrahedral meshing and as a contact partner.
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
  inconsistent_winding,  ///< an edge whose two triangles traverse it in the same direction
  inside_out,            ///< a closed component with normals inward (outward for a cavity)
  self_intersection,     ///< two triangles that intersect or overlap
  degenerate_triangle,   ///< no area: a repeated corner, or a height below 1e-10 of the longest edge
  duplicate_triangle     ///< the same three corners as a preceding triangle
};
[[nodiscard]] std::string_view to_string(SurfaceDefect defect);

/// All defects of one kind.
struct SurfaceFinding {
  SurfaceDefect defect = SurfaceDefect::open_edge;
  std::size_t count = 0;
  std::vector<Vector3> where;            ///< [m] positions of the first few
  std::vector<std::uint32_t> triangles;  ///< one triangle for each of the first few
};

struct SurfaceReport {
  std::size_t n_vertices = 0;
  std::size_t n_triangles = 0;
  std::size_t n_components = 0;          ///< pieces connected through edges
  bool closed = false;                   ///< every edge has exactly two triangles
  double area = 0.0;                     ///< [m^2]
  double volume = 0.0;                   ///< [m^3] signed; undefined when not closed
  double min_edge_length = 0.0;          ///< [m]
  double max_edge = 0.0;                 ///< [m]
  bool complete = true;                  ///< false: the search for self-intersections was stopped early; more may exist
  std::vector<SurfaceFinding> findings;  ///< one per kind present, in the order of SurfaceDefect

  [[nodiscard]] bool valid() const { return findings.empty(); }
  /// Number of defects of this kind.
  [[nodiscard]] std::size_t count(SurfaceDefect defect) const;
};

struct SurfaceCheckOptions {
  std::size_t positions_per_kind = 5;
  bool self_intersections = true;
};

[[nodiscard]] SurfaceReport check_surface(const SurfaceMesh& mesh, const SurfaceCheckOptions& options = {});

/// Human-readable text, one line per property and finding.
[[nodiscard]] std::string describe(const SurfaceReport& report);

/// @param name  name of the surface, for the message
/// @throws Error{invalid_input} that lists all findings and available repairs, unless the surface is valid
void require_valid(const SurfaceReport& report, const std::string& name);

/// Whether two triangles of the mesh intersect or overlap. Contact in a point or along an edge does not count.
/// Evaluated in double precision: depths below about 1e-14 of the triangle size count as contact.
[[nodiscard]] bool triangles_intersect(const SurfaceMesh& mesh, std::uint32_t s, std::uint32_t t);

}  // namespace heelstrike::fem
