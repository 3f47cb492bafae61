/// Volume mesh of a deformable body: read from its file, generated from its shape, or read from the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/body_surfaces.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "scenario/surfaces/mesh.hpp"

namespace heelstrike::fem {

/// True if the body is filled with tetrahedra from closed triangles of a file or a shape.
[[nodiscard]] bool is_filled_from_triangles(const Surface& surface);

/// Kind of a mesh file according to its name or prescribed format; none if only its content determines the kind.
[[nodiscard]] std::optional<MeshKind> named_kind(const MeshSurface& surface);

/// True if the body is the layer below a surface, which defines the clamped set and the contact set.
[[nodiscard]] bool is_layer(const Surface& surface);

/// Number of elements through the thickness of a layer: thickness over element_size, rounded, at least one.
/// @throws Error{invalid_input} for a surface without a layer and for more than max_layers
[[nodiscard]] std::uint32_t count_elements_through(const Surface& surface, const ParameterScope& place);

/// Clamps the back of bodies that are layers and chooses their front as contact surface, unless the parameters of the
/// pair choose other sets.
[[nodiscard]] PairSpec add_shape_sets(PairSpec pair);

/// @throws Error{invalid_input} when `element_size` is absent
[[nodiscard]] double element_size_of(const ParameterScope& place);

/// Rejects elements that the shape cannot be filled with: only blocks are cut into prisms and hexahedra.
/// @pre the surface is filled here and is not a volume mesh
/// @throws Error{invalid_input} with the accepted elements
void reject_blocks_elements(const Surface& surface, const ParameterScope& place);

/// The requested element, or the default one, on the mesh of a volume file.
/// @throws Error{invalid_input} if the elements of the file do not support it
[[nodiscard]] ElementKind find_supported_element(std::uint32_t nodes_per_element, const ParameterScope& place,
                                                 const std::string& file);

/// Mesh in the body's frame. Uses the parameters element_size, element, contact_size, contact_radius,
/// contact_direction, contact_angle and max_meshing_time of body_parameters(). Meshes of the mesher are cached in
/// `context.cache_directory`; blocks, cylinders and volume files take no time and are not cached.
/// @pre check_body_pair accepted the pair
/// @throws Error{invalid_input} for an invalid surface or file, a shape that encloses no body, sizes out of range
/// @throws Error{limit} for more than `context.max_elements`, before the mesher starts if this is predictable
/// @throws Error{cancelled}, and the errors of the mesher
[[nodiscard]] VolumeMesh body_mesh(const Surface& surface, const ParameterScope& place, const PrepareContext& context);

}  // namespace heelstrike::fem
