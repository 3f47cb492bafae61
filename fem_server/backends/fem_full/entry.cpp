#include "fem_server/backends/fem_full/entry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/prepared_compliance.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"

namespace heelstrike::fem {

namespace {

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters();
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
  if (!pair.partner.materials.empty()) {
    const std::string key = "contact." + pair.name + ".partner.material";
    throw input_error(key,
                      fmt::format("{}: fem_full has a rigid partner; remove the material, exchange main and partner, "
                                  "or use fem_condensed",
                                  key));
  }
  (void)prepare_partner(pair, context);  // refuses shapes that are no rigid surface
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(pair, context, parameters);
  const MaterialLaw law =
      text(pair.parameters, "material_law") == "linear" ? MaterialLaw::linear : MaterialLaw::neo_hookean;
  SurfaceCompliance compliance;
  if (prepared.options.friction > 0.0) {
    compliance = prepared_compliance(prepared.body, prepared.support, prepared.contact, context);
  }
  context.on_progress("factorize", 0.5);
  return std::make_unique<FullContact>(pair.backend, std::move(prepared), law, std::move(parameters),
                                       std::move(compliance), context.stop);
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
      .make = make_full};
}

}  // namespace heelstrike::fem
