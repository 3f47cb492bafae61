#include "fem_server/backends/fem_full/full_preparation.hpp"

#include "fem_server/bodies/body_laws.hpp"
#include "fem_server/bodies/prepared_compliance.hpp"

namespace heelstrike::fem {

FullPreparation prepare_full(const PairSpec& pair, const PrepareContext& context) {
  const PairSpec with_own = with_laws(pair);
  ParameterMap parameters;
  PreparedBody body = prepare_body(with_own, context, parameters);
  return {.body = std::move(body), .laws = laws_of_main(with_own), .parameters = std::move(parameters)};
}

SurfaceCompliance initial_compliance(const PreparedBody& body, const PrepareContext& context) {
  if (!(body.options.friction > 0.0)) return {};
  return prepared_compliance(body.body, body.support, body.contact, context, body.max_memory);
}

}  // namespace heelstrike::fem
