/// Parts of a body's surface chosen by the parameters of a pair: the clamp and the possible contact surface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// clamped_set, clamped_box, contact_set, contact_box, contact_direction and contact_angle.
[[nodiscard]] std::vector<ParameterSchema> body_set_parameters();

/// Nodes of clamped_set and clamped_box, ascending; none when both are absent.
/// @throws Error{invalid_input} for a set that does not exist in the mesh and for a box without a node
[[nodiscard]] std::vector<std::uint32_t> clamped_nodes(const VolumeMesh& mesh, const ParameterScope& place);

/// Faces of contact_set, otherwise of the boundary, restricted by contact_box and contact_direction. Of a side that
/// consists of several faces, either all or none are chosen.
/// @param cut  faces inside the body exposed by a cut, ascending: the removed part still lies behind them, so they
///             have no contact
/// @throws Error{invalid_input} for a set that does not exist in the mesh
[[nodiscard]] std::vector<ElementFace> contact_faces(const VolumeMesh& mesh, std::span<const ElementFace> cut,
                                                     const ParameterScope& place);

}  // namespace heelstrike::fem
