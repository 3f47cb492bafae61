/// Two deformable bodies with contact between their surfaces.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/backends/fem_full/full_bodies.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem::test {

/// A box whose nodes inside of each face and of the volume are perturbed within an eighth of their spacing, so that no
/// line of one mesh follows one of another.
inline VolumeMesh irregular_box(const Vector3& from, const Vector3& to, std::size_t n, std::size_t nz,
                                std::uint32_t corners) {
  VolumeMesh mesh = block_mesh(from, to, n, n, nz, corners);
  const Vector3 size = to - from;
  const Vector3 spacing =
      size.cwiseQuotient(Vector3(static_cast<double>(n), static_cast<double>(n), static_cast<double>(nz)));
  for (Vector3& p : mesh.nodes) {
    const Vector3 q = (p - from).cwiseQuotient(size);
    for (Eigen::Index k = 0; k < 3; ++k) {
      const bool inside = q[k] > 1e-9 && q[k] < 1.0 - 1e-9;
      if (inside) p[k] += 0.125 * spacing[k] * std::sin(40.0 * q[(k + 1) % 3] + 23.0 * q[(k + 2) % 3] + 17.0 * q[k]);
    }
  }
  return mesh;
}

struct SolidBody {
  BodyModel body;
  Support support;
  ContactNodes contact;
};

/// @param clamped  node set; empty = inertia relief
/// @param touches  predicate of the centre of a boundary face; nodes on the clamp are excluded
inline SolidBody solid_body(
    VolumeMesh mesh, const Material& material, const std::string& clamped,
    const std::function<bool(const Vector3&)>& touches = [](const Vector3&) { return true; },
    PressureKind pressures = PressureKind::pointwise) {
  BodyModel body(std::move(mesh), std::vector<Material>{material}, pressures);
  Support support{.inertia_relief = clamped.empty(), .clamped_nodes = {}};
  if (!clamped.empty()) support.clamped_nodes = body.mesh().node_sets.at(clamped);
  std::vector<ElementFace> faces;
  for (const ElementFace face : boundary_faces(body.mesh())) {
    Vector3 centre = Vector3::Zero();
    for (const std::uint32_t n : face_corners(body.mesh(), face)) centre += body.mesh().nodes[n] / 3.0;
    if (touches(centre)) faces.push_back(face);
  }
  const ContactNodes all = contact_nodes(body, faces);
  std::vector<bool> keep;
  for (const std::uint32_t node : all.nodes) keep.push_back(!std::ranges::binary_search(support.clamped_nodes, node));
  ContactNodes contact = selected(all, keep);
  return {std::move(body), std::move(support), std::move(contact)};
}

/// Two columns with a common face at z = 0 and non-matching meshes.
namespace columns {

constexpr double side = 0.04;      // [m]
constexpr double length_A = 0.03;  // [m]
constexpr double length_B = 0.05;  // [m]
constexpr double E_A = 3.6e6;      // [Pa]
constexpr double E_B = 1.5e6;      // [Pa]

inline Material material(double youngs_modulus, double poissons_ratio = 0.0) {
  return {.youngs_modulus = youngs_modulus, .poissons_ratio = poissons_ratio, .density = 1000.0, .set = ""};
}

/// Column above z = 0, to be clamped at its top.
/// @param corners  of its elements: 4, 6 or 8
/// @param half     [m] of its side
inline VolumeMesh above(std::size_t n, std::uint32_t corners = 4, double half = 0.5 * side) {
  return irregular_box({-half, -half, 0.0}, {half, half, length_A}, n, 3, corners);
}

/// Moves the nodes along z so that the plane z = 0 is inclined by `slope` about y and the far end remains.
inline VolumeMesh leaning(VolumeMesh mesh, double far, double slope) {
  for (Vector3& p : mesh.nodes) p.z() += slope * p.x() * (1.0 - p.z() / far);
  return mesh;
}

/// Column below z = 0, to be clamped at its bottom.
inline VolumeMesh below(std::size_t n, std::uint32_t corners = 4, double half = 0.5 * side) {
  return irregular_box({-half, -half, -length_B}, {half, half, 0.0}, n, 4, corners);
}

}  // namespace columns

/// @param compression  tolerance; 0 = dense
inline SurfaceCompliance compliance_of(const SolidBody& body, double compression = 0.0) {
  const auto quiet = [](std::string_view, double) {};
  if (compression > 0.0) {
    return condense_compressed(body.body, body.support, body.contact.nodes, compression, quiet, {});
  }
  return condense(body.body, body.support, body.contact.nodes, quiet, {});
}

inline std::shared_ptr<const DeformablePartner> deformable(const SolidBody& body, double compression = 0.0) {
  const VolumeMesh& mesh = body.body.mesh();
  return std::make_shared<const DeformablePartner>(
      contact_surface(mesh, boundary_faces(mesh), body.contact.nodes, body.support.clamped_nodes),
      compliance_of(body, compression));
}

inline std::unique_ptr<CondensedContact> two_bodies(const SolidBody& main, const SolidBody& partner,
                                                    const ContactOptions& options, double compression = 0.0) {
  CondensedModel model;
  for (const std::uint32_t node : main.contact.nodes) model.points.push_back(main.body.mesh().nodes[node]);
  model.areas = main.contact.areas;
  model.pressure = PressureRecovery(main.body.mesh(), main.contact);
  model.compliance = compliance_of(main, compression);
  model.partner = mesh_distance(boundary_surface(partner.body.mesh()).surface);
  model.options = options;
  model.deformable = deformable(partner, compression);
  model.partner_pressure = PressureRecovery(partner.body.mesh(), partner.contact);
  model.interface = std::make_shared<const BodyInterface>(
      contact_surface(main.body.mesh(), main.contact.faces, main.contact.nodes, main.support.clamped_nodes),
      main.contact.nodes.size(), model.deformable, options.max_penetration);
  return std::make_unique<CondensedContact>("fem_condensed", std::move(model), ParameterMap{});
}

/// The same bodies in all their degrees of freedom.
inline std::unique_ptr<FullBodies> two_full_bodies(const SolidBody& main, const SolidBody& partner,
                                                   const MaterialLaws& laws_main, const MaterialLaws& laws_partner,
                                                   const ContactOptions& options, const MemoryLimit& limit = {}) {
  const auto parts = [&](const SolidBody& solid, const MaterialLaws& laws) {
    return FullBodyParts{
        .fields = std::make_shared<const BodyFields>(solid.body, solid.support, solid.contact, PartnerShape(),
                                                     PressureRecovery(solid.body.mesh(), solid.contact)),
        .support = solid.support,
        .laws = laws,
        .compliance = compliance_of(solid),
        .max_memory = limit};
  };
  const VolumeMesh& B = partner.body.mesh();
  return std::make_unique<FullBodies>(
      "fem_full",
      FullBodiesModel{.main = parts(main, laws_main),
                      .partner = parts(partner, laws_partner),
                      .main_surface = contact_surface(main.body.mesh(), main.contact.faces, main.contact.nodes,
                                                      main.support.clamped_nodes),
                      .partner_surface =
                          contact_surface(B, boundary_faces(B), partner.contact.nodes, partner.support.clamped_nodes),
                      .partner_distance = mesh_distance(boundary_surface(B).surface),
                      .options = options},
      ParameterMap{});
}

}  // namespace heelstrike::fem::test
