/// The tetrahedra of a deformable body: read from its file, made from its shape, or taken from the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenario/surfaces/mesh.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/body_sets.hpp"
#include "fem_server/backend_interface/surface_file.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Whether the body is filled with tetrahedra from closed triangles, of a file or a shape.
[[nodiscard]] bool is_filled_from_triangles(const Surface& surface);

/// What a mesh file holds as far as its name or given format tell; none while only its content would.
[[nodiscard]] std::optional<MeshKind> named_kind(const MeshSurface& surface);

/// Whether the body is the layer below a surface, which brings the sets that hold it and that may touch.
[[nodiscard]] bool is_layer(const Surface& surface);

/// How many elements a body that is a layer has through its thickness: as many as they are high.
/// @throws Error{invalid_input} for a surface with nothing behind it, and for more than max_layers
[[nodiscard]] std::uint32_t count_elements_through(const Surface& surface, const ParameterPrefix& place);

/// A pair whose bodies that are layers are held by their back and touch with their front, unless its parameters name
/// something else.
[[nodiscard]] PairSpec add_shape_sets(PairSpec pair);

/// @throws Error{invalid_input} when `element_size` is not given
[[nodiscard]] double element_size_of(const ParameterPrefix& place);

/// Only blocks are cut into prisms and hexahedra here.
/// @pre the surface is filled here, and not a volume mesh
/// @throws Error{invalid_input} for an element that it is not filled with
void refuse_blocks_elements(const Surface& surface, const ParameterPrefix& place);

/// The element that is asked for, or the usual one, on the mesh of a volume file.
/// @throws Error{invalid_input} where the elements of the file cannot carry it
[[nodiscard]] ElementKind find_supported_element(std::uint32_t nodes_per_element, const ParameterPrefix& place,
                                          const std::string& file);

/// Mesh in the body's frame. Uses the parameters element_size, element, contact_size, contact_radius,
/// contact_direction, contact_angle and max_meshing_time of body_parameters(). Meshes that the mesher makes are kept
/// in `context.cache_directory`; blocks, cylinders and volume files are not, because they take no time.
/// @pre the pair was accepted by check_body_pair
/// @throws Error{invalid_input} for a surface or file that is not sound, a shape that is no body, sizes out of range
/// @throws Error{limit} for more than `context.max_elements`, before the mesher is started when that is foreseeable
/// @throws Error{cancelled}, and what the mesher throws
[[nodiscard]] VolumeMesh body_mesh(const Surface& surface, const ParameterPrefix& place, const PrepareContext& context);

}  // namespace heelstrike::fem
