/// The layer between two surfaces that face each other, e.g. cartilage between its articular surface and the bone,
/// filled with tetrahedra or prisms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Through the thickness of a layer: more of them have no shape that is worth an element.
inline constexpr std::uint32_t max_layers = 20;

struct LayerOptions {
  std::uint32_t layers = 2;       ///< of prisms through the thickness, 1 to 20
  bool keep_prisms = false;       ///< instead of cutting each into three tetrahedra
  double search_distance = 0.01;  ///< [m] > 0 how far behind the outer surface the inner one is looked for
  double min_thickness = 2e-4;  ///< [m] > 0 where both surfaces meet or cross, the layer is made this thick
};

struct LayerMesh {
  /// Face sets `outer`, `inner`, `rim`, the groups of the outer triangles by any other name, and the node set `inner`.
  VolumeMesh mesh;
  double min_thickness =
      0.0;                      ///< [m] of the surfaces, before what is too thin was made thicker; < 0 where they cross
  double mean_thickness = 0.0;  ///< [m] of the mesh
  double deviation = 0.0;  ///< [m] largest distance of the inner nodes, but those beside it, from the inner surface
  std::size_t n_min_thickness = 0;  ///< nodes where the layer was too thin
  std::size_t n_beyond_rim = 0;     ///< nodes that look past the inner surface: they have the thickness of their neighbours
  std::size_t n_smoothed = 0;   ///< nodes whose directions were drawn to their neighbours', so that nothing folds
};

/// Under every triangle of the outer surface a column of prisms, each cut into three tetrahedra so that neighbours fit,
/// or kept whole.
/// @param outer  open or closed; normals away from the inner surface
/// @param inner  behind it
/// @throws Error{invalid_input} for options out of range; an outer surface with other defects than open edges; an inner
///         surface in front, or farther away than the search distance, with place and distance; a layer that folds
[[nodiscard]] LayerMesh mesh_layer(const SurfaceMesh& outer, const SurfaceMesh& inner, const LayerOptions& options);

}  // namespace heelstrike::fem
