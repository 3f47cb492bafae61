#include <vector>

#include "mbs_server/elements/forces/force_type.hpp"

namespace heelstrike::mbs {

// One function for each file.
ForceType spring_damper(), ligament_quadratic(), ligament_toe(), torsional_spring(), bushing(), viscoelastic_spring(),
    ligament(), muscle(), coordinate_spring(), coordinate_limit(), fmu();

std::span<const ForceType> force_types() {
  static const std::vector<ForceType> types = {
      spring_damper(),     ligament_quadratic(),  ligament_toe(), torsional_spring(),
      bushing(),           viscoelastic_spring(), ligament(),     muscle(),
      coordinate_spring(), coordinate_limit(),    fmu()};
  return types;
}

bool steps_fmu(const ElementSpec& force) {
  return config::type_named(force_types(), force.type).steps_fmu;
}

}  // namespace heelstrike::mbs
