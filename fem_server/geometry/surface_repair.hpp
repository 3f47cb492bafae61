/// Repairs of a surface. Each is applied on request only and reports its changes.
///
/// Simplification of surfaces for rendering.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct RepairOptions {
  double merge_tolerance = 0.0;    ///< [m] vertices closer than this are merged; 0 = none
  double sliver_thickness = 0.0;   ///< [m] triangles thinner than this are removed, see remove_slivers; 0 = none
  double sliver_distance = 0.0;    ///< [m] maximum displacement of the surface; 0 = twice the thickness
  bool remove_degenerate = false;  ///< triangles without area or with a repeated corner
  bool remove_duplicate = false;   ///< all but the first of several triangles with the same corners
  bool reorient = false;           ///< consistent winding, closed components outward
  std::size_t max_hole_edges = 0;  ///< holes with at most this many edges are filled; 0 = none
};

/// Applies the requested repairs in the order of the fields. @return one sentence per change; empty = none
/// @throws Error{invalid_input} for a negative tolerance
std::vector<std::string> repair_surface(SurfaceMesh& mesh, const RepairOptions& options);

/// Merges every vertex with the first preceding one within `tolerance` [m] > 0 and removes unused vertices.
/// @return number of merged vertices
std::size_t merge_near_vertices(SurfaceMesh& mesh, double tolerance);

/// @return number of removed triangles
std::size_t remove_degenerate_triangles(SurfaceMesh& mesh);
std::size_t remove_duplicate_triangles(SurfaceMesh& mesh);
/// Keeps reversed copies, which are the other side of a sheet.
std::size_t remove_repeated_triangles(SurfaceMesh& mesh);

/// Reorients triangles to a consistent winding, then closed components to a positive enclosed volume (negative for a
/// cavity inside another component). @return number of reversed triangles
std::size_t reorient_triangles(SurfaceMesh& mesh);

/// Fills closed loops of at most `max_edges` open edges with the triangulation of minimum area over the given vertices
/// (dynamic programming as in [liepa2003], without refinement). @return number of filled holes
std::size_t fill_holes(SurfaceMesh& mesh, std::size_t max_edges);

/// Simplifies a surface to at most `max_triangles` (> 0) by vertex clustering: all vertices in a grid cell are merged
/// at their mean position, and triangles that lose their area are removed [rossignac1993]. The cells are as small as
/// the limit allows, within a tenth; no point moves farther than a cell diagonal. A surface within the limit is
/// unchanged. Groups and notes are omitted.
[[nodiscard]] SurfaceMesh simplified_surface(const SurfaceMesh& mesh, std::size_t max_triangles);

}  // namespace heelstrike::fem
