/// Repairs of a surface, each on request only; every one says what it did.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct RepairOptions {
  double merge_tolerance = 0.0;    ///< [m] vertices closer than this become one; 0 = none
  double sliver_thickness = 0.0;   ///< [m] triangles thinner than this are removed, see remove_slivers; 0 = none
  double sliver_distance = 0.0;    ///< [m] the surface moves by at most this; 0 = twice the thickness
  bool remove_degenerate = false;    ///< triangles without area or with a corner twice
  bool remove_duplicate = false;     ///< all but the first of triangles with the same corners
  bool reorient = false;           ///< consistent winding, closed components outward
  std::size_t max_hole_edges = 0;  ///< holes with at most this many edges are filled; 0 = none
};

/// Applies what is asked for, in the order of the fields. @return one sentence per thing that was done; empty = nothing
/// @throws Error{invalid_input} for a negative tolerance
std::vector<std::string> repair_surface(SurfaceMesh& mesh, const RepairOptions& options);

/// Merges every vertex with the first one before it that lies within `tolerance` [m] > 0; unused ones are dropped.
/// @return how many were merged
std::size_t merge_near_vertices(SurfaceMesh& mesh, double tolerance);

/// @return how many were dropped
std::size_t remove_degenerate_triangles(SurfaceMesh& mesh);
std::size_t remove_duplicate_triangles(SurfaceMesh& mesh);

/// Turns triangles so that neighbours wind consistently, then closed components so that they enclose a positive volume
/// (a negative one when they are a cavity inside another component). @return how many were turned
std::size_t reorient_triangles(SurfaceMesh& mesh);

/// Fills closed loops of at most `max_edges` open edges with the triangulation of least area over the given vertices
/// (dynamic programming as in [liepa2003], without refinement). @return how many holes were filled
std::size_t fill_holes(SurfaceMesh& mesh, std::size_t max_edges);

}  // namespace heelstrike::fem
