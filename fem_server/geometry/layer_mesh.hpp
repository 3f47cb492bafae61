/// Tetrahedral or prismatic mesh of the layer between two facing surfaces, e.g. cartilage between its articular surface
/// and the bone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Maximum number of element layers through the thickness; more would give degenerate element shapes.
inline constexpr std::uint32_t max_layers = 20;

struct LayerOptions {
  std::uint32_t layers = 2;       ///< of prisms through the thickness, 1 to 20
  bool keep_prisms = false;       ///< instead of splitting each into three tetrahedra
  double search_distance = 0.01;  ///< [m] > 0 search depth for the inner surface behind the outer one
  double min_thickness = 2e-4;    ///< [m] > 0 thickness imposed where the surfaces touch or cross
};

struct LayerMesh {
  /// Face sets `outer`, `inner`, `rim`, the groups of the outer triangles under other names, and the node set `inner`.
  VolumeMesh mesh;
  double min_thickness = 0.0;   ///< [m] of the surfaces, before `min_thickness` is imposed; < 0 where they cross
  double mean_thickness = 0.0;  ///< [m] of the mesh
  double deviation = 0.0;  ///< [m] maximum distance of inner nodes to the inner surface, except those beyond its rim
  std::size_t n_min_thickness = 0;  ///< nodes with imposed `min_thickness`
  std::size_t n_beyond_rim = 0;     ///< nodes whose ray misses the inner surface; thickness of their neighbours
  std::size_t n_shortened = 0;  ///< nodes with columns shorter than the thickness, where directions alone do not help
  std::size_t n_smoothed = 0;   ///< nodes whose directions were averaged with those of neighbours to avoid folding
};

/// Extrudes every triangle of the outer surface into a column of prisms, which are kept or split conformingly into
/// three tetrahedra each.
/// @param outer  open or closed; normals away from the inner surface
/// @param inner  behind it
/// @throws Error{invalid_input} for options out of range; an outer surface with defects other than open edges; an inner
///         surface in front of the outer one or beyond the search distance, with position and distance; a folded layer
[[nodiscard]] LayerMesh mesh_layer(const SurfaceMesh& outer, const SurfaceMesh& inner, const LayerOptions& options);

/// Likewise, with a constant thickness along the normals of the outer surface instead of an inner one; search distance
/// and minimum thickness have no effect. Columns that fold, where the surface is curved more than 1 / thickness towards
/// its inside, are averaged with their neighbours.
/// @param thickness  [m] > 0
[[nodiscard]] LayerMesh mesh_layer(const SurfaceMesh& outer, double thickness, const LayerOptions& options);

}  // namespace heelstrike::fem
