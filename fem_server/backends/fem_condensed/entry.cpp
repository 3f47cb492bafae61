#include "fem_server/backends/fem_condensed/entry.hpp"

#include "fem_server/backends/fem_condensed/body_fields.hpp"
#include "fem_server/backends/fem_condensed/body_preparation.hpp"
#include "fem_server/backends/preparation_locks.hpp"
#include "fem_server/fem/compliance_cache.hpp"

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
  return parameters;
}

SurfaceCompliance prepared_compliance(const PreparedBody& prepared, const PrepareContext& context) {
  const auto lookup = [&] {
    return cached_compliance(context.cache_directory, prepared.body, prepared.support, prepared.contact.nodes,
                             context.on_progress, context.stop);
  };
  if (context.locks == nullptr) return lookup();
  const std::string key = compliance_key(prepared.body, prepared.support, prepared.contact.nodes);
  const auto hold = context.locks->acquire(key, context.stop);
  return lookup();
}

std::unique_ptr<ContactBackend> make_condensed(const PairSpec& pair, const PrepareContext& context) {
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(pair, context, parameters);
  CondensedModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.mean = prepared.contact.mean;
  model.compliance = prepared_compliance(prepared, context);
  model.partner = prepared.partner;
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
