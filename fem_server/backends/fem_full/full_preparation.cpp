#include "fem_server/backends/fem_full/full_preparation.hpp"

#include "fem_server/backends/fem_body/pair_check.hpp"
#include "fem_server/backends/fem_body/prepared_compliance.hpp"
#include "fem_server/backends/fem_full/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

MaterialLaw law_of(const PairSpec& pair) {
  return material_law({"contact." + pair.name + ".parameters.", pair.parameters});
}

}  // namespace

void check_full_pair(const PairSpec& pair) {
  check_rigid_pair(pair);
  (void)law_of(pair);
}

FullPreparation prepare_full(const PairSpec& pair, const PrepareContext& context) {
  ParameterMap parameters;
  PreparedBody body = prepare_body(pair, context, parameters);
  return {.body = std::move(body), .law = law_of(pair), .parameters = std::move(parameters)};
}

SurfaceCompliance rest_compliance(const PreparedBody& body, const PrepareContext& context) {
  if (!(body.options.friction > 0.0)) return {};
  return prepared_compliance(body.body, body.support, body.contact, context, body.memory_limit);
}

}  // namespace heelstrike::fem
