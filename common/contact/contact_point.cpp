#include "common/contact/contact_point.hpp"

#include <algorithm>

namespace heelstrike {

bool has_rigid_bodies(std::span<const ParameterSchema> schema) {
  return std::ranges::find(schema, impact_law_parameter, &ParameterSchema::name) != schema.end();
}

std::optional<RigidLaw> rigid_law(const ParameterMap& parameters) {
  if (!parameters.contains(impact_law_parameter)) return {};
  const std::string& law = text(parameters, impact_law_parameter);
  return RigidLaw{.restitution = number(parameters, "restitution"),
                  .friction = optional_number(parameters, "friction").value_or(0.0),
                  .restitution_threshold = number(parameters, "restitution_threshold"),
                  .law = law == "poisson"      ? ImpactLaw::poisson
                         : law == "sequential" ? ImpactLaw::sequential
                                               : ImpactLaw::newton};
}

}  // namespace heelstrike
