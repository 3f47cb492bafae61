#include "fem_server/backends/fem_condensed/entry.hpp"

#include <algorithm>
#include <iterator>

#include "fem_server/backends/fem_condensed/body_fields.hpp"
#include "fem_server/backends/fem_condensed/body_preparation.hpp"
#include "fem_server/backends/fem_condensed/deformable_partner.hpp"
#include "fem_server/backends/fem_condensed/prepared_compliance.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters();
  ParameterSchema penalty;
  penalty.name = "penalty";
  penalty.unit = "Pa/m^2";
  penalty.meaning =
      "quadratic penalty of Courant and Beltrami: pressure = penalty * penetration^2; 0 = no penetration (exact)";
  penalty.fallback = 0.0;
  penalty.range = {.min = 0.0};
  parameters.push_back(penalty);
  std::ranges::move(partner_parameters(), std::back_inserter(parameters));
  return parameters;
}

/// Condenses the partner and gives the model its surface, where the shape alone did not.
void add_partner(PreparedPartner partner, const PrepareContext& context, CondensedModel& model) {
  Boundary boundary = boundary_surface(partner.body.mesh());
  PartnerShape shape(boundary.surface);
  if (model.partner == nullptr) model.partner = make_mesh_partner(boundary.surface);
  SurfaceCompliance compliance = prepared_compliance(partner.body, partner.support, partner.contact, context);
  model.deformable = std::make_shared<const DeformablePartner>(std::move(boundary), partner.support.clamped_nodes,
                                                               partner.contact.nodes, std::move(compliance));
  model.partner_fields = std::make_shared<const BodyFields>(std::move(partner.body), partner.support,
                                                            std::move(partner.contact), std::move(shape));
}

std::unique_ptr<ContactBackend> make_condensed(const PairSpec& pair, const PrepareContext& context) {
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(pair, context, parameters);
  CondensedModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.mean = prepared.contact.mean;
  std::optional<PreparedPartner> partner = prepare_partner(pair, context);
  model.compliance = prepared_compliance(prepared.body, prepared.support, prepared.contact, context);
  model.partner = prepared.partner;
  if (partner) add_partner(std::move(*partner), context, model);
  model.options = prepared.options;
  model.options.penalty = number(pair.parameters, "penalty");
  model.fields = std::make_shared<const BodyFields>(std::move(prepared.body), prepared.support,
                                                    std::move(prepared.contact), std::move(prepared.shape));
  return std::make_unique<CondensedContact>(pair.backend, std::move(model), std::move(parameters));
}

}  // namespace

BackendEntry fem_condensed_entry() {
  return {.name = "fem_condensed",
          .summary = "linear finite elements condensed once to the contact surface; contact and friction solved there",
          .reference = "melo2023",
          .parameters = schema(),
          .surface_pairs = body_surface_pairs(),
          .make = make_condensed};
}

}  // namespace heelstrike::fem
