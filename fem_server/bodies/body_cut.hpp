/// Cutting a part off a body before anything else is done with it.
#pragma once

#include <span>
#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Removes all elements whose centre of corners lies outside the box and the nodes that only these use; sets follow.
/// The cut runs along faces of elements: it is as even as they are small.
/// @param box  [m] x, y, z low, then high
/// @returns the faces of the kept elements along which the body was cut, ascending: no surface of the body
std::vector<ElementFace> clip_to_box(VolumeMesh& mesh, const std::vector<double>& box);

/// Elements that hang together by faces.
struct MeshPiece {
  std::vector<std::uint32_t> elements;  ///< ascending
  double volume = 0.0;                  ///< [m^3]
  Vector3 center = Vector3::Zero();     ///< [m] of its elements
};

/// The pieces that nothing holds, largest first. Along a cut elements may hang on by an edge or a corner only: a hinge,
/// with which the stiffness is singular. A piece is held when three of its nodes that do not lie on one line are
/// clamped or belong to a held piece.
/// @param clamped_nodes  ascending; none = a body in free flight, whose largest piece needs no support
[[nodiscard]] std::vector<MeshPiece> find_unsupported_pieces(const VolumeMesh& mesh, std::span<const std::uint32_t> clamped_nodes);

/// Removes these pieces; sets follow, and the elements of `faces`, none of which may belong to a removed one any more.
void remove_pieces(VolumeMesh& mesh, std::span<const MeshPiece> pieces, std::vector<ElementFace>& faces);

}  // namespace heelstrike::fem
