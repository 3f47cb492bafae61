#include "common/parameters/parameter.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

MaterialKind mooney_rivlin_kind() {
  return {.name = "mooney_rivlin",
          .meaning = "with mooney_fraction [mooney1940, rivlin1948]",
          .parameters = {number_parameter("mooney_fraction", "-",
                                          "of mooney_rivlin: c01 / (c10 + c01), the fraction of the shear modulus "
                                          "of the second invariant",
                                          std::nullopt, {})},
          .relaxes = true,
          .make = [](const ParameterScope& place) {
            const StretchLaw law =
                StretchLaw::mooney_rivlin(required_number(place, "mooney_fraction", "c01 / (c10 + c01), e.g. 0.2"));
            require_stable(law, place.where + "mooney_fraction");
            return material_of({.isotropic = law, .prony = prony_of(place)});
          }};
}

}  // namespace heelstrike::fem
