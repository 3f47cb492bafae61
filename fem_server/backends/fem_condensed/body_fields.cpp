#include "fem_server/backends/fem_condensed/body_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/nodal_stress.hpp"
#include "fem_server/geometry/write_fields.hpp"

namespace heelstrike::fem {

namespace {

void check_quantities(const FieldRequest& request) {
  std::vector<std::string> known;
  for (const FieldQuantity& quantity : field_quantities) known.emplace_back(quantity.name);
  for (const std::string& name : request.quantities) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw input_error("fields", fmt::format("fields: unknown quantity '{}'; known: {}", name, fmt::join(known, ", ")));
  }
}

bool wanted(const FieldRequest& request, std::string_view name) {
  return request.quantities.empty() || std::ranges::find(request.quantities, name) != request.quantities.end();
}

std::string unit_of(std::string_view name) {
  return std::string(std::ranges::find(field_quantities, name, &FieldQuantity::name)->unit);
}

/// Cells to draw, the node of the mesh behind each of their points and the element behind each of them.
struct DrawnMesh {
  FieldGrid grid;
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> elements;
  std::vector<ElementFace> faces;  ///< of surface cells; empty for volume cells
};

DrawnMesh drawn_mesh(const VolumeMesh& mesh, const FieldRequest& request) {
  DrawnMesh drawn;
  if (request.mesh == FieldMesh::volume) {
    drawn.grid.nodes_per_cell = mesh.nodes_per_element;
    drawn.grid.connectivity = mesh.connectivity;
    for (std::uint32_t n = 0; n < mesh.nodes.size(); ++n) drawn.nodes.push_back(n);
    for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) drawn.elements.push_back(e);
  } else {
    const Boundary boundary = boundary_surface(mesh);
    drawn.nodes = boundary.vertex_nodes;
    for (const Triangle& t : boundary.surface.triangles) {
      drawn.grid.connectivity.insert(drawn.grid.connectivity.end(), t.begin(), t.end());
    }
    for (const ElementFace& face : boundary.faces) drawn.elements.push_back(face.element);
    drawn.faces = boundary.faces;
  }
  for (const std::uint32_t node : drawn.nodes) drawn.grid.points.push_back(request.X_WA * mesh.nodes[node]);
  return drawn;
}

MeshField vectors(std::string_view name, const DrawnMesh& drawn, const Matrix3& R_WA,
                  const std::function<Vector3(std::uint32_t)>& at) {
  MeshField field{.name = std::string(name), .unit = unit_of(name), .n_components = 3, .values = {}};
  for (const std::uint32_t node : drawn.nodes) {
    const Vector3 v = R_WA * at(node);
    field.values.insert(field.values.end(), v.begin(), v.end());
  }
  return field;
}

MeshField picked(std::string_view name, const DrawnMesh& drawn, std::size_t n_components,
                 const std::vector<double>& values) {
  MeshField field{.name = std::string(name), .unit = unit_of(name), .n_components = n_components, .values = {}};
  for (const std::uint32_t node : drawn.nodes) {
    for (std::size_t k = 0; k < n_components; ++k) field.values.push_back(values[n_components * node + k]);
  }
  return field;
}

}  // namespace

MeshField part_of_cells(FieldPart part, std::size_t n_cells) {
  return {.name = "partner",
          .unit = {},
          .n_components = 1,
          .values = std::vector<double>(n_cells, part == FieldPart::partner ? 1.0 : 0.0)};
}

BodyFields::BodyFields(BodyModel body, const Support& support, ContactNodes contact, PartnerShape partner)
    : body_(std::move(body)), contact_(std::move(contact)), partner_(std::move(partner)), recovery_(body_, support) {
  Vector3 low = body_.mesh().nodes.front();
  Vector3 high = low;
  for (const Vector3& p : body_.mesh().nodes) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  center_ = 0.5 * (low + high);
  extent_ = (high - low).maxCoeff();
}

DrawnState BodyFields::linear_state(std::vector<Vector3> forces) const {
  Eigen::VectorXd f = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body_.n_dofs()));
  for (std::size_t i = 0; i < forces.size(); ++i) {
    f.segment<3>(3 * static_cast<Eigen::Index>(contact_.nodes[i])) = forces[i];
  }
  DrawnState state;
  const bool loaded = !f.isZero(0.0);
  state.displacement = loaded ? recovery_.displacement(f) : f;
  state.stress = linear_stress(body_, state.displacement);
  state.forces = std::move(forces);
  return state;
}

std::vector<Vector3> BodyFields::nodal_tractions(const std::vector<Vector3>& forces) const {
  const VolumeMesh& mesh = body_.mesh();
  std::vector<Vector3> tractions(mesh.nodes.size(), Vector3::Zero());
  for (std::size_t i = 0; i < contact_.nodes.size(); ++i) {
    for (const auto& [neighbour, weight] : contact_.mean[i]) {
      tractions[contact_.nodes[i]] += weight * forces[neighbour] / contact_.areas[neighbour];
    }
  }
  if (mesh.nodes_per_element == 4) return tractions;
  // Contact nodes of quadratic elements are the middles of edges: a corner shows the mean of those around it.
  std::vector<int> count(mesh.nodes.size(), 0);
  std::vector<Vector3> sum(mesh.nodes.size(), Vector3::Zero());
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    for (std::size_t k = 0; k < tetrahedron_edges.size(); ++k) {
      const std::uint32_t middle = nodes[4 + k];
      if (!std::ranges::binary_search(contact_.nodes, middle)) continue;
      for (const std::uint8_t end : tetrahedron_edges[k]) {
        sum[nodes[end]] += tractions[middle];
        ++count[nodes[end]];
      }
    }
  }
  for (std::size_t n = 0; n < sum.size(); ++n) {
    if (count[n] > 0) tractions[n] = sum[n] / count[n];
  }
  return tractions;
}

std::vector<double> BodyFields::face_pressures(const std::vector<Vector3>& normal_forces,
                                               const std::vector<ElementFace>& drawn) const {
  const VolumeMesh& mesh = body_.mesh();
  const bool linear = mesh.nodes_per_element == 4;
  std::vector<double> pressures;
  for (const ElementFace face : drawn) {
    double sum = 0.0;
    if (std::ranges::binary_search(contact_.faces, face)) {
      const auto element = mesh.element(face.element);
      for (const std::uint8_t local : linear ? tetrahedron_faces[face.face] : tetrahedron_face_middles[face.face]) {
        const auto found = std::ranges::lower_bound(contact_.nodes, element[local]);
        if (found == contact_.nodes.end() || *found != element[local]) continue;
        const auto i = static_cast<std::size_t>(found - contact_.nodes.begin());
        sum += normal_forces[i].x() / contact_.areas[i];
      }
    }
    pressures.push_back(sum / 3.0);
  }
  return pressures;
}

std::string BodyFields::draw_body(const DrawnState& state, const std::vector<Vector3>& normals,
                                  const FieldRequest& request) const {
  check_quantities(request);
  const DrawnMesh drawn = drawn_mesh(body_.mesh(), request);
  std::vector<MeshField> fields;
  std::vector<MeshField> of_cells = {part_of_cells(request.part, drawn.elements.size())};
  const auto displacement = [&](std::uint32_t node) -> Vector3 {
    return state.displacement.segment<3>(3 * static_cast<Eigen::Index>(node));
  };
  if (wanted(request, "displacement")) {
    fields.push_back(vectors("displacement", drawn, request.X_WA.R, displacement));
  }
  if (wanted(request, "contact_pressure")) {
    std::vector<Vector3> normal_forces;
    for (std::size_t i = 0; i < state.forces.size(); ++i) {
      normal_forces.emplace_back(std::max(0.0, state.forces[i].dot(normals[i])), 0.0, 0.0);
    }
    std::vector<double> pressure;
    for (const Vector3& p : nodal_tractions(normal_forces)) pressure.push_back(p.x());
    fields.push_back(picked("contact_pressure", drawn, 1, pressure));
    if (request.mesh == FieldMesh::surface) {
      of_cells.push_back({.name = "contact_pressure",
                          .unit = unit_of("contact_pressure"),
                          .n_components = 1,
                          .values = face_pressures(normal_forces, drawn.faces)});
    }
  }
  if (wanted(request, "traction")) {
    const std::vector<Vector3> tractions = nodal_tractions(state.forces);
    fields.push_back(vectors("traction", drawn, request.X_WA.R, [&](std::uint32_t n) { return tractions[n]; }));
  }
  if (wanted(request, "von_mises") || wanted(request, "principal_stress")) {
    const NodalStress stress = nodal_stress(body_, state.stress);
    if (wanted(request, "von_mises")) fields.push_back(picked("von_mises", drawn, 1, stress.von_mises));
    if (wanted(request, "von_mises")) {
      MeshField of_elements{.name = "von_mises", .unit = unit_of("von_mises"), .n_components = 1, .values = {}};
      const std::vector<double> values = element_von_mises(body_, state.stress);
      for (const std::uint32_t element : drawn.elements) of_elements.values.push_back(values[element]);
      of_cells.push_back(std::move(of_elements));
    }
    if (wanted(request, "principal_stress")) fields.push_back(picked("principal_stress", drawn, 3, stress.principal));
  }
  return write_fields(drawn.grid, fields, of_cells);
}

std::string BodyFields::draw_partner(const Pose& X_AB, const FieldRequest& request) const {
  const SurfaceMesh shape = partner_.triangles(X_AB.inverse() * center_, extent_);
  const Pose X_WB = request.X_WA * X_AB;
  FieldGrid grid;
  for (const Vector3& p : shape.vertices) grid.points.push_back(X_WB * p);
  for (const Triangle& t : shape.triangles) grid.connectivity.insert(grid.connectivity.end(), t.begin(), t.end());
  return write_fields(grid, {}, {part_of_cells(FieldPart::partner, shape.triangles.size())});
}

}  // namespace heelstrike::fem
