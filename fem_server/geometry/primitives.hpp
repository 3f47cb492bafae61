/// Parametric bodies with named sets, centred at the origin. Every face set is also a node set.
#pragma once

#include <string>
#include <vector>

#include "common/contact/surface.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "scenario/surfaces/cylinder.hpp"

namespace heelstrike::fem {

struct BallOptions {
  double radius = 0.1;          ///< [m] > 0
  double size = 0.01;           ///< [m] edge length away from the contact pole, > 0
  double contact_size = 0.0;    ///< [m] edge length at the contact pole; 0 = no refinement
  double contact_radius = 0.0;  ///< [m] distance from the pole within which `contact_size` applies, >= 0
  double growth = 0.3;          ///< [-] increase of the edge length per distance beyond it
  Vector3 contact_direction = -Vector3::UnitZ();  ///< [-] from the centre to the pole, any length above 0
  MeshingOptions meshing;                         ///< order, limits, timeout, stop, helper; size field ignored
};
/// Sets: "surface"; "bottom" and "top", the halves towards and away from the pole; "contact" when refined: faces whose
/// centroid lies within `contact_radius` of the pole.
/// @throws as mesh_ball
[[nodiscard]] MeshingResult make_ball(const BallOptions& options);

struct BlockOptions {
  Vector3 lengths{0.1, 0.1, 0.1};  ///< [m] along x, y, z, > 0
  double size = 0.01;              ///< [m] maximum edge length of the boxes that are split into elements, > 0
  std::uint32_t order = 1;         ///< 1 or 2, of tetrahedra
  /// Nodes per element: 4 splits each box into six tetrahedra, 6 into two prisms along z, 8 keeps the boxes.
  std::uint32_t corners = 4;
  MeshLimits limits;
};
/// Sets: "bottom" (z-), "top" (z+), "left" (y+), "right" (y-), "front" (x+), "back" (x-), "side" (the last four).
/// @throws Error{invalid_input, limit}
[[nodiscard]] VolumeMesh make_block(const BlockOptions& options);

struct CylinderOptions {
  double radius = 0.05;               ///< [m] > 0
  double height = 0.1;                ///< [m] along z, > 0; replaced by the sum of the layers when layers are given
  double size = 0.01;                 ///< [m] maximum spacing of rings and slices, > 0
  double core_radius = 0.0;           ///< [m] 0 = one material, else in (0, radius): element sets "core" and "shell"
  std::vector<CylinderLayer> layers;  ///< from bottom to top; element sets by their names
  std::uint32_t order = 1;            ///< 1 or 2
  MeshLimits limits;
};
/// Sets of faces: "bottom", "top", "side". Nodes of the side, including mid-side nodes, lie exactly on the cylinder.
/// @throws Error{invalid_input, limit}
[[nodiscard]] VolumeMesh make_cylinder(const CylinderOptions& options);

}  // namespace heelstrike::fem
