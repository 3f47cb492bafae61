/// Sets selected by position and direction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Boundary faces for which `inside(centroid [m], outward unit normal)` is true; sorted.
[[nodiscard]] std::vector<ElementFace> select_boundary_faces(
    const VolumeMesh& mesh, const std::function<bool(const Vector3&, const Vector3&)>& inside);

/// Adds the faces as a face set and their nodes as a node set. @throws Error{invalid_input} when there are no faces
void add_surface_set(VolumeMesh& mesh, const std::string& name, const std::vector<ElementFace>& faces);

/// Adds all nodes for which `inside(position [m])` is true. @throws Error{invalid_input} when there are none
void add_node_set(VolumeMesh& mesh, const std::string& name, const std::function<bool(const Vector3&)>& inside);

/// Adds all elements for which `inside(centroid [m])` is true. @throws Error{invalid_input} when there are none
void add_element_set(VolumeMesh& mesh, const std::string& name, const std::function<bool(const Vector3&)>& inside);

}  // namespace heelstrike::fem
