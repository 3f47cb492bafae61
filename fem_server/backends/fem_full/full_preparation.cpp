#include "fem_server/backends/fem_full/full_preparation.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_body/pair_check.hpp"
#include "fem_server/backends/fem_body/prepared_compliance.hpp"
#include "fem_server/backends/fem_full/materials/body_laws.hpp"

namespace heelstrike::fem {

void check_full_pair(const PairSpec& pair) {
  check_rigid_pair(pair);
  (void)with_laws(pair);
}

void check_full_bodies(const PairSpec& pair) {
  check_body_pair(pair);
  const PairSpec with_own = with_laws(pair);
  const std::string where = "contact." + pair.name;
  if (number(pair.parameters, "friction") > 0.0) {
    throw input_error(
        where + ".parameters.friction",
        fmt::format("{}.parameters.friction: between two deformable bodies {} knows no friction, found {}; "
                    "set it to 0, use fem_condensed, or remove the partner's material",
                    where, pair.backend, number(pair.parameters, "friction")));
  }
  if (laws_of_main(with_own).remembers() || laws_of_partner(with_own).remembers()) {
    throw input_error(where + ".main.material",
                      fmt::format("{}.main.material: between two deformable bodies {} knows elastic materials only, "
                                  "found one that relaxes; remove its prony_shares and prony_times, or the partner's "
                                  "material",
                                  where, pair.backend));
  }
}

FullPreparation prepare_full(const PairSpec& pair, const PrepareContext& context) {
  const PairSpec with_own = with_laws(pair);
  ParameterMap parameters;
  PreparedBody body = prepare_body(with_own, context, parameters);
  return {.body = std::move(body), .laws = laws_of_main(with_own), .parameters = std::move(parameters)};
}

SurfaceCompliance rest_compliance(const PreparedBody& body, const PrepareContext& context) {
  if (!(body.options.friction > 0.0)) return {};
  return prepared_compliance(body.body, body.support, body.contact, context, body.memory_limit);
}

}  // namespace heelstrike::fem
