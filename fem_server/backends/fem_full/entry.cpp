#include "fem_server/backends/fem_full/entry.hpp"

#include "fem_server/backends/fem_body/pair_check.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/backends/fem_full/full_preparation.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  ParameterSchema law;
  law.name = "material_law";
  law.kind = ParameterKind::text;
  law.meaning = "neo_hookean = finite strain; linear = Hooke's law as in fem_condensed";
  law.fallback = std::string("neo_hookean");
  law.choices = {"neo_hookean", "linear"};
  parameters.push_back(law);
  return parameters;
}

std::unique_ptr<ContactBackend> make_full(const PairSpec& pair, const PrepareContext& context) {
  FullPreparation prepared = prepare_full(pair, context);
  SurfaceCompliance compliance = rest_compliance(prepared.body, context);
  context.on_progress("factorize", 0.5);
  return std::make_unique<FullContact>(pair.backend, std::move(prepared.body), prepared.law,
                                       std::move(prepared.parameters), std::move(compliance), context.stop);
}

}  // namespace

BackendEntry fem_full_entry() {
  return {
      .name = "fem_full",
      .summary =
          "all degrees of freedom, neo-Hookean or linear, with Coulomb friction: the reference for the other back-ends",
      .reference = "melo2023",
      .parameters = schema(),
      .surface_pairs = body_surface_pairs(),
      .make = make_full,
      .check = check_rigid_pair,
      .doubts = body_pair_doubts};
}

}  // namespace heelstrike::fem
