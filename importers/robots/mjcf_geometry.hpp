/// Mass and shape of MJCF geometry.
#pragma once

#include <array>
#include <string>

#include "importers/robots/mesh_files.hpp"
#include "importers/robots/mjcf_file.hpp"

namespace heelstrike::models {

/// Types of geometry with three lengths.
enum class GeomType { plane, hfield, sphere, capsule, ellipsoid, cylinder, box, mesh, sdf };
/// @throws Error{invalid_input} for an unknown type
[[nodiscard]] GeomType geom_type(const MjcfElement& geom);
[[nodiscard]] std::string_view to_string(GeomType type);

/// Type, lengths and pose of a primitive. Lengths as in the file: radius, half length, or half lengths.
struct Primitive {
  GeomType type = GeomType::sphere;
  Vector3 size = Vector3::Zero();
  Pose X_BG = {};
};

/// From `size`, `fromto`, `pos` and orientation. @throws Error{invalid_input}
[[nodiscard]] Primitive primitive_of(const MjcfElement& geom, GeomType type);

/// The primitive of this type fitted to a mesh: with equal inertia, or enclosing the same extents.
/// @param mass  of the mesh, in the frame of `mesh`
[[nodiscard]] Primitive fitted(const Triangles& mesh, const MassProperties& mass, GeomType type, bool to_extents,
                               double factor);

/// For density 1, about its centre, in its axes: mass is the volume, of shells the area.
[[nodiscard]] MassProperties mass_of_primitive(const Primitive& primitive, bool shell);

}  // namespace heelstrike::models
