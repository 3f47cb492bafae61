/// Removal of a part of a body before any other processing.
#pragma once

#include <span>
#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Removes all elements with their centre of corners outside the box and the nodes used by these only; updates the
/// sets. The cut follows element faces, so its roughness is that of the element size.
/// @param box  [m] lower corner x, y, z, then upper corner
/// @returns the faces of the kept elements along the cut, ascending: they are no surface of the body
std::vector<ElementFace> clip_to_box(VolumeMesh& mesh, const std::vector<double>& box);

/// Elements connected by faces.
struct MeshPiece {
  std::vector<std::uint32_t> elements;  ///< ascending
  double volume = 0.0;                  ///< [m^3]
  Vector3 center = Vector3::Zero();     ///< [m] of its elements
};

/// Pieces without support, largest first. Along a cut, elements may be connected by an edge or a corner only: a hinge
/// that makes the stiffness singular. A piece is supported when three of its nodes that do not lie on one line are
/// clamped or belong to a supported piece.
/// @param clamped_nodes  ascending; none = a body in free flight, whose largest piece needs no support
[[nodiscard]] std::vector<MeshPiece> find_unsupported_pieces(const VolumeMesh& mesh,
                                                             std::span<const std::uint32_t> clamped_nodes);

/// Removes these pieces and their elements from the sets and from `faces`; `faces` must refer to kept elements only.
void remove_pieces(VolumeMesh& mesh, std::span<const MeshPiece> pieces, std::vector<ElementFace>& faces);

}  // namespace heelstrike::fem
