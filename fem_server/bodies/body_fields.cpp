#include "fem_server/bodies/body_fields.hpp"

#include <algorithm>
#include <utility>

#include "fem_server/backend_interface/field_request.hpp"
#include "fem_server/fem/field_recovery.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// Output cells, with the mesh node of each of their points and the element of each cell.
struct FieldMeshData {
  FieldGrid grid;
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> elements;
  std::vector<ElementFace> faces;  ///< of surface cells; empty for volume cells
};

FieldMeshData make_field_mesh(const VolumeMesh& mesh, const FieldRequest& request) {
  FieldMeshData drawn;
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

MeshField vectors(std::string_view name, const FieldMeshData& drawn, const Matrix3& R_WA,
                  const std::function<Vector3(std::uint32_t)>& at) {
  MeshField field{.name = std::string(name), .unit = unit_of(name), .n_components = 3, .values = {}};
  for (const std::uint32_t node : drawn.nodes) {
    const Vector3 v = R_WA * at(node);
    field.values.insert(field.values.end(), v.begin(), v.end());
  }
  return field;
}

MeshField selected_components(std::string_view name, const FieldMeshData& drawn, std::size_t n_components,
                              const std::vector<double>& values) {
  MeshField field{.name = std::string(name), .unit = unit_of(name), .n_components = n_components, .values = {}};
  for (const std::uint32_t node : drawn.nodes) {
    for (std::size_t k = 0; k < n_components; ++k) field.values.push_back(values[n_components * node + k]);
  }
  return field;
}

}  // namespace

BodyFields::BodyFields(BodyModel body, const Support& support, ContactNodes contact, PartnerShape partner,
                       PressureRecovery pressure)
    : body_(std::move(body)),
      contact_(std::move(contact)),
      partner_(std::move(partner)),
      recovery_(body_, support),
      pressure_(std::move(pressure)) {
  Vector3 low = body_.mesh().nodes.front();
  Vector3 high = low;
  for (const Vector3& p : body_.mesh().nodes) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  center_ = 0.5 * (low + high);
  extent_ = (high - low).maxCoeff();
}

FieldState BodyFields::linear_state(std::vector<Vector3> forces) const {
  Eigen::VectorXd f = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body_.n_dofs()));
  for (std::size_t i = 0; i < forces.size(); ++i) {
    f.segment<3>(3 * static_cast<Eigen::Index>(contact_.nodes[i])) = forces[i];
  }
  FieldState state;
  const bool loaded = !f.isZero(0.0);
  state.displacement = loaded ? recovery_.displacement(f) : f;
  state.stress = linear_stress(body_, state.displacement);
  state.forces = std::move(forces);
  return state;
}

RecoveredPressure BodyFields::recovered(const FieldState& state, const std::vector<Vector3>& normals) const {
  if (state.pressure) return pressure_.interpolate(*state.pressure);
  std::vector<std::uint32_t> touching;
  std::vector<Vector3> directions;
  for (std::uint32_t i = 0; i < normals.size(); ++i) {
    if (normals[i].isZero(0.0)) continue;
    touching.push_back(i);
    directions.push_back(normals[i]);
  }
  Eigen::MatrixXd forces(static_cast<Eigen::Index>(touching.size()), 4);
  for (std::size_t i = 0; i < touching.size(); ++i) {
    const Vector3& f = state.forces[touching[i]];
    forces.row(static_cast<Eigen::Index>(i)) << std::max(0.0, f.dot(directions[i])), f.transpose();
  }
  return pressure_.recover(touching, directions, forces);
}

Eigen::MatrixXd BodyFields::at_mesh_nodes(const Eigen::MatrixXd& at_vertices) const {
  const VolumeMesh& mesh = body_.mesh();
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(mesh.nodes.size()), at_vertices.cols());
  const auto vertex_nodes = pressure_.vertex_nodes();
  for (std::size_t v = 0; v < vertex_nodes.size(); ++v) {
    result.row(vertex_nodes[v]) = at_vertices.row(static_cast<Eigen::Index>(v));
  }
  if (mesh.nodes_per_element != 10) return result;
  for (const ElementFace face : pressure_.faces()) {
    const auto element = mesh.element(face.element);
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = element[tetrahedron_faces[face.face][k]];
      const std::uint32_t b = element[tetrahedron_faces[face.face][(k + 1) % 3]];
      result.row(element[tetrahedron_face_middles[face.face][k]]) = 0.5 * (result.row(a) + result.row(b));
    }
  }
  return result;
}

std::vector<double> BodyFields::face_pressures(const RecoveredPressure& pressure,
                                               const std::vector<ElementFace>& drawn) const {
  std::vector<double> result(drawn.size(), 0.0);
  for (std::size_t k = 0; k < pressure.faces.size(); ++k) {
    // All boundary faces are written, ascending; a set of a user's mesh may contain others.
    const auto found = std::ranges::lower_bound(drawn, pressure_.faces()[pressure.faces[k]]);
    if (found == drawn.end() || *found != pressure_.faces()[pressure.faces[k]]) continue;
    result[static_cast<std::size_t>(found - drawn.begin())] = pressure.at_faces(static_cast<Eigen::Index>(k), 0);
  }
  return result;
}

std::string BodyFields::write_body_fields(const FieldState& state, const std::vector<Vector3>& normals,
                                          const FieldRequest& request) const {
  check_quantities(request);
  const FieldMeshData drawn = make_field_mesh(body_.mesh(), request);
  std::vector<MeshField> fields;
  std::vector<MeshField> of_cells = {part_of_cells(request.part, drawn.elements.size())};
  const auto displacement = [&](std::uint32_t node) -> Vector3 {
    return state.displacement.segment<3>(3 * static_cast<Eigen::Index>(node));
  };
  if (is_requested(request, "displacement")) {
    fields.push_back(vectors("displacement", drawn, request.X_WA.R, displacement));
  }
  if (is_requested(request, "contact_pressure") || is_requested(request, "traction")) {
    const RecoveredPressure loaded = recovered(state, normals);
    const Eigen::MatrixXd at_nodes = at_mesh_nodes(loaded.at_vertices);
    if (is_requested(request, "contact_pressure")) {
      const Eigen::VectorXd pressure = at_nodes.col(0);
      fields.push_back(selected_components("contact_pressure", drawn, 1, {pressure.begin(), pressure.end()}));
      if (request.mesh == FieldMesh::surface) {
        of_cells.push_back({.name = "contact_pressure",
                            .unit = unit_of("contact_pressure"),
                            .n_components = 1,
                            .values = face_pressures(loaded, drawn.faces)});
      }
    }
    if (is_requested(request, "traction")) {
      const auto traction = [&](std::uint32_t n) -> Vector3 { return at_nodes.row(n).tail<3>().transpose(); };
      fields.push_back(vectors("traction", drawn, request.X_WA.R, traction));
    }
  }
  if (is_requested(request, "von_mises") || is_requested(request, "principal_stress")) {
    const NodalStress stress = nodal_stress(body_, state.stress);
    if (is_requested(request, "von_mises"))
      fields.push_back(selected_components("von_mises", drawn, 1, stress.von_mises));
    if (is_requested(request, "von_mises")) {
      MeshField of_elements{.name = "von_mises", .unit = unit_of("von_mises"), .n_components = 1, .values = {}};
      const std::vector<double> values = element_von_mises(body_, state.stress);
      for (const std::uint32_t element : drawn.elements) of_elements.values.push_back(values[element]);
      of_cells.push_back(std::move(of_elements));
    }
    if (is_requested(request, "principal_stress"))
      fields.push_back(selected_components("principal_stress", drawn, 3, stress.principal));
  }
  return write_fields(drawn.grid, fields, of_cells);
}

std::string BodyFields::write_partner(const Pose& X_AB, const FieldRequest& request) const {
  const SurfaceMesh shape = partner_.triangles(X_AB.inverse() * center_, extent_);
  const Pose X_WB = request.X_WA * X_AB;
  FieldGrid grid;
  for (const Vector3& p : shape.vertices) grid.points.push_back(X_WB * p);
  for (const Triangle& t : shape.triangles) grid.connectivity.insert(grid.connectivity.end(), t.begin(), t.end());
  return write_fields(grid, {}, {part_of_cells(FieldPart::partner, shape.triangles.size())});
}

}  // namespace heelstrike::fem
