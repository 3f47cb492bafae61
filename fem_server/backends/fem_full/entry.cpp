#include "fem_server/backends/fem_full/entry.hpp"

#include "fem_server/backends/fem_body/pair_check.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/backends/fem_full/full_preparation.hpp"
#include "fem_server/backends/fem_full/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  for (ParameterSchema& own : material_parameters("")) parameters.push_back(std::move(own));
  return parameters;
}

std::unique_ptr<ContactBackend> make_full(const PairSpec& pair, const PrepareContext& context) {
  FullPreparation prepared = prepare_full(pair, context);
  SurfaceCompliance compliance = rest_compliance(prepared.body, context);
  context.on_progress("factorize", 0.5);
  return std::make_unique<FullContact>(pair.backend, std::move(prepared.body), prepared.laws,
                                       std::move(prepared.parameters), std::move(compliance), context.stop);
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
          .check = check_full_pair,
          .doubts = body_pair_doubts,
          .tunable = {"restitution", "approach_speed_floor"}};
}

}  // namespace heelstrike::fem
