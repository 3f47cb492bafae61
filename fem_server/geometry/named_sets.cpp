#include "fem_server/geometry/named_sets.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

void require_members(bool any, const std::string& name) {
  if (!any) throw input_error(name, fmt::format("set '{}': expected at least one member, found none", name));
}

}  // namespace

std::vector<ElementFace> select_boundary_faces(const VolumeMesh& mesh,
                                               const std::function<bool(const Vector3&, const Vector3&)>& inside) {
  std::vector<ElementFace> selected;
  for (const ElementFace face : boundary_faces(mesh)) {
    const Triangle corners = face_corners(mesh, face);
    const Vector3& a = mesh.nodes[corners[0]];
    const Vector3& b = mesh.nodes[corners[1]];
    const Vector3& c = mesh.nodes[corners[2]];
    if (inside((a + b + c) / 3.0, (b - a).cross(c - a).normalized())) selected.push_back(face);
  }
  return selected;
}

void add_surface_set(VolumeMesh& mesh, const std::string& name, const std::vector<ElementFace>& faces) {
  require_members(!faces.empty(), name);
  mesh.face_sets[name] = faces;
  mesh.node_sets[name] = nodes_of_faces(mesh, faces);
}

void add_node_set(VolumeMesh& mesh, const std::string& name, const std::function<bool(const Vector3&)>& inside) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < mesh.nodes.size(); ++i) {
    if (inside(mesh.nodes[i])) nodes.push_back(i);
  }
  require_members(!nodes.empty(), name);
  mesh.node_sets[name] = std::move(nodes);
}

void add_element_set(VolumeMesh& mesh, const std::string& name, const std::function<bool(const Vector3&)>& inside) {
  std::vector<std::uint32_t> elements;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    if (inside(element_center(mesh, e))) elements.push_back(e);
  }
  require_members(!elements.empty(), name);
  mesh.element_sets[name] = std::move(elements);
}

}  // namespace heelstrike::fem
