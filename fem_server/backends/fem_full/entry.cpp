#include "fem_server/backends/fem_full/entry.hpp"

#include "fem_server/backends/fem_full/full_bodies.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/backends/fem_full/full_preparation.hpp"
#include "fem_server/bodies/body_laws.hpp"
#include "fem_server/bodies/pair_check.hpp"
#include "fem_server/bodies/prepared_compliance.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  for (ParameterSchema& own : material_parameters("")) parameters.push_back(std::move(own));
  for (ParameterSchema& own : partner_parameters()) parameters.push_back(std::move(own));
  return parameters;
}

std::unique_ptr<ContactBackend> make_bodies(const PairSpec& pair, const PrepareContext& context) {
  FullPreparation prepared = prepare_full(pair, context);
  PreparedBody& main = prepared.body;
  std::optional<PreparedPartner> partner = prepare_partner(pair, context);
  const auto compliance = [&](const auto& body) {
    return prepared_compliance(body.body, body.support, body.contact, context, main.max_memory);
  };
  SurfaceCompliance of_main = compliance(main);
  SurfaceCompliance of_partner = compliance(*partner);
  context.on_progress("factorize", 0.7);
  Support partner_support = partner->support;
  PartnerSurface surface = partner_surface(std::move(*partner));
  FullBodiesModel model{.main = {.fields = nullptr,
                                 .support = main.support,
                                 .laws = prepared.laws,
                                 .compliance = std::move(of_main),
                                 .max_memory = main.max_memory},
                        .partner = {.fields = std::move(surface.fields),
                                    .support = std::move(partner_support),
                                    .laws = laws_of_partner(with_laws(pair)),
                                    .compliance = std::move(of_partner),
                                    .max_memory = main.max_memory},
                        .main_surface = contact_surface(main.body.mesh(), main.contact.faces, main.contact.nodes,
                                                        main.support.clamped_nodes),
                        .partner_surface = std::move(surface.surface),
                        .partner_distance = std::move(surface.distance),
                        .regions = std::move(main.regions),
                        .options = main.options};
  model.main.fields = std::make_shared<const BodyFields>(std::move(main.body), main.support, std::move(main.contact),
                                                         std::move(main.shape), std::move(main.pressure));
  return std::make_unique<FullBodies>(pair.backend, std::move(model), std::move(prepared.parameters), context.stop);
}

std::unique_ptr<ContactBackend> make_full(const PairSpec& pair, const PrepareContext& context) {
  if (!pair.partner.materials.empty()) return make_bodies(pair, context);
  FullPreparation prepared = prepare_full(pair, context);
  SurfaceCompliance compliance = initial_compliance(prepared.body, context);
  context.on_progress("factorize", 0.5);
  return std::make_unique<FullContact>(pair.backend, std::move(prepared.body), prepared.laws,
                                       std::move(prepared.parameters), std::move(compliance), context.stop);
}

void check_pair(const PairSpec& pair) {
  check_body_pair(pair);
  (void)with_laws(pair);
}

}  // namespace

BackendEntry fem_full_entry() {
  return {.name = "fem_full",
          .summary =
              "all degrees of freedom, finite strain or linear, with Coulomb friction: the reference for the other "
              "back-ends",
          .reference = "melo2023",
          .parameters = schema(),
          .surface_pairs = body_surface_pairs(),
          .make = make_full,
          .check = check_pair,
          .warnings = find_body_pair_warnings,
          .tunable = {"restitution", "min_approach_velocity"}};
}

}  // namespace heelstrike::fem
