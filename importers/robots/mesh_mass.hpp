/// Volume, centre and inertia enclosed by triangles, and their convex hull.
#pragma once

#include <string>
#include <vector>

#include "importers/scenario_text.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::models {

/// Mass model of a mesh, as in MuJoCo's attribute `inertia`.
enum class MeshMass {
  legacy,  ///< pyramids over the triangles, all with positive volume: exact for convex meshes
  exact,   ///< enclosed volume of a closed mesh
  convex,  ///< convex hull
  shell    ///< triangles of uniform thickness
};

/// For density 1: mass is the volume [m^3], of shells the area [m^2].
/// @throws Error{invalid_input} with `name` for zero volume or area
[[nodiscard]] MassProperties mass_of_mesh(const Triangles& mesh, MeshMass kind, const std::string& name);

/// @throws Error{invalid_input} with `name` for coplanar points
[[nodiscard]] Triangles convex_hull(const std::vector<Vector3>& points, const std::string& name);

/// OBJ file, [m]. @param comment  one line
[[nodiscard]] std::string obj_text(const Triangles& mesh, const std::string& comment);

}  // namespace heelstrike::models
