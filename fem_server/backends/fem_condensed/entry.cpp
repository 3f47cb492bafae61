#include "fem_server/backends/fem_condensed/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/bodies/pair_check.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "fem_server/contact_solver/pairing/cloud.hpp"
#include "fem_server/fem/approximate_partner.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters("reachable");
  parameters.push_back(number_parameter(
      "penalty", "Pa/m^2",
      "quadratic penalty of Courant and Beltrami: pressure = penalty * penetration^2; 0 = no penetration (exact)", 0.0,
      not_negative));
  parameters.push_back(
      text_parameter("curved_gap",
                     "gap to a rigid triangle mesh: iterated = at the deformed nodes, projected until convergence; "
                     "linearised = at the undeformed nodes, as for all other partners",
                     "iterated", {"iterated", "linearised"}));
  parameters.push_back(
      text_parameter("cloud_distance",
                     "penetration of the points of a cloud: exact = distance to the body's surface mesh, approximate = "
                     "its approximate distance function",
                     "exact", {"exact", "approximate"}));
  parameters.push_back(number_parameter(
      "distance_length", "m", "length parameter of the approximate distance; default: the mean edge of the tetrahedra",
      std::nullopt, positive));
  std::ranges::move(compression_parameters(), std::back_inserter(parameters));
  std::ranges::move(partner_parameters(), std::back_inserter(parameters));
  return parameters;
}

/// Condenses the partner; its surface is that of its mesh, whatever its original shape.
void add_partner(PreparedPartner partner, const PreparedBody& main, const ParameterMap& parameters,
                 const PrepareContext& context, CondensedModel& model) {
  SurfaceCompliance compliance =
      prepared_compliance(partner.body, partner.support, partner.contact, context, main.max_memory,
                          compression_tolerance(parameters, partner.contact.nodes.size()));
  PartnerSurface surface = partner_surface(std::move(partner));
  model.partner = std::move(surface.distance);
  model.partner_fields = std::move(surface.fields);
  model.partner_pressure = model.partner_fields->pressure_recovery();
  model.deformable = std::make_shared<const DeformablePartner>(std::move(surface.surface), std::move(compliance));
  model.interface = std::make_shared<const BodyInterface>(
      contact_surface(main.body.mesh(), main.contact.faces, main.contact.nodes, main.support.clamped_nodes),
      main.contact.nodes.size(), model.deformable, main.options.max_penetration);
}

void reject_distance_length(const PairSpec& pair, const char* expected) {
  if (!optional_number(pair.parameters, "distance_length")) return;
  throw pair_error(pair, "parameters.distance_length", fmt::format("expected only {}; remove it", expected));
}

void reject_regions(const PairSpec& pair) {
  if (text(pair.parameters, regions_parameter).empty()) return;
  throw pair_error(pair, std::string("parameters.") + regions_parameter,
                   "expected none with a point cloud, whose points carry the load; remove it");
}

void require_linear_tetrahedra(const PairSpec& pair, std::uint32_t n_nodes) {
  if (n_nodes == 4) return;
  throw pair_error(
      pair, "parameters.element",
      fmt::format("a body in contact with a point cloud needs linear tetrahedra (4 nodes), found {} nodes; "
                  "use linear elements",
                  n_nodes));
}

/// A body in contact with points: see cloud.hpp.
std::unique_ptr<ContactBackend> make_cloud(const PairSpec& pair, const PointCloudSurface& cloud,
                                           const PrepareContext& context) {
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(pair, context, parameters);
  const std::string where = "contact." + pair.name;
  if (static_cast<double>(cloud.points.size()) > number(pair.parameters, "max_candidates")) {
    throw PairLimit(where + ".parameters.max_candidates",
                    fmt::format("{}.partner.surface.points: {} points, max_candidates is {}; use fewer points or "
                                "raise the limit",
                                where, cloud.points.size(), number(pair.parameters, "max_candidates")));
  }
  const BodyModel& body = prepared.body;
  require_linear_tetrahedra(pair, body.mesh().nodes_per_element);
  const bool exact = text(pair.parameters, "cloud_distance") == "exact";
  SurfaceCompliance compliance =
      prepared_compliance(body, prepared.support, prepared.contact, context, prepared.max_memory,
                          compression_tolerance(pair.parameters, prepared.contact.nodes.size()));
  CondensedModel model;
  model.points = cloud.points;
  model.areas = cloud.areas;
  model.point_compliance = find_cloud_compliance(compliance);
  if (exact) {
    model.partner = mesh_distance(boundary_surface(body.mesh()).surface);
  } else {
    const double length = optional_number(pair.parameters, "distance_length").value_or(mean_edge_length(body));
    parameters["distance_length"] = length;
    model.partner = make_approximate_partner(body, length);
  }
  model.deformable = std::make_shared<const DeformablePartner>(
      contact_surface(body.mesh(), boundary_faces(body.mesh()), prepared.contact.nodes, prepared.support.clamped_nodes),
      std::move(compliance));
  model.options = prepared.options;
  model.options.penalty = number(pair.parameters, "penalty");
  model.partner_fields =
      std::make_shared<const BodyFields>(std::move(prepared.body), prepared.support, std::move(prepared.contact),
                                         PartnerShape(), std::move(prepared.pressure));
  return std::make_unique<CondensedContact>(pair.backend, std::move(model), std::move(parameters));
}

void check_cloud(const PairSpec& pair) {
  reject_regions(pair);
  if (const auto named = named_element(text(pair.parameters, element_key))) {
    require_linear_tetrahedra(pair, named->n_nodes);
  }
  if (text(pair.parameters, "cloud_distance") == "exact") {
    reject_distance_length(pair, "with cloud_distance: approximate");
  }
}

void check_condensed_pair(const PairSpec& pair) {
  check_body_pair(pair);
  check_material_laws(pair);
  if (PointCloudSurface::of(pair.partner.surface)) {
    check_cloud(pair);
    return;
  }
  reject_distance_length(pair, "with a point cloud as partner and cloud_distance: approximate");
  if (text(pair.parameters, "cloud_distance") == "exact") return;
  throw pair_error(pair, "parameters.cloud_distance", "expected only with a point cloud as partner; remove it");
}

std::unique_ptr<ContactBackend> make_condensed(const PairSpec& with_laws, const PrepareContext& context) {
  const PairSpec pair = linearised(with_laws, context);
  if (const auto cloud = PointCloudSurface::of(pair.partner.surface)) {
    return make_cloud(pair, *cloud, context);
  }
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(pair, context, parameters);
  CondensedModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.pressure = prepared.pressure;
  model.regions = prepared.regions;
  std::optional<PreparedPartner> partner = prepare_partner(pair, context);
  model.compliance =
      prepared_compliance(prepared.body, prepared.support, prepared.contact, context, prepared.max_memory,
                          compression_tolerance(pair.parameters, prepared.contact.nodes.size()));
  model.partner = prepared.partner;
  if (partner) add_partner(std::move(*partner), prepared, pair.parameters, context, model);
  model.options = prepared.options;
  model.options.penalty = number(pair.parameters, "penalty");
  const bool triangles = MeshSurface::of(pair.partner.surface) || kind_of(pair.partner.surface).sheet != nullptr;
  model.deformed_gap = !model.deformable && triangles && text(pair.parameters, "curved_gap") == "iterated" &&
                       model.options.penalty == 0.0;
  model.fields =
      std::make_shared<const BodyFields>(std::move(prepared.body), prepared.support, std::move(prepared.contact),
                                         std::move(prepared.shape), std::move(prepared.pressure));
  return std::make_unique<CondensedContact>(pair.backend, std::move(model), std::move(parameters));
}

}  // namespace

BackendEntry fem_condensed_entry() {
  return {.name = "fem_condensed",
          .summary = "linear finite elements condensed once to the contact surface; contact and friction solved there",
          .reference = "melo2023",
          .parameters = schema(),
          .surface_pairs = body_surface_pairs(true),
          .make = make_condensed,
          .check = check_condensed_pair,
          .warnings = find_body_pair_warnings,
          .tunable = {"friction", "restitution", "min_approach_velocity", "penalty"}};
}

}  // namespace heelstrike::fem
