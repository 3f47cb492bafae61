#include "common/parameters/parameter.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

MaterialKind yeoh_kind() {
  return {.name = "yeoh",
          .meaning = "with yeoh_ratios [yeoh1993]",
          .parameters = {list_parameter("yeoh_ratios", "-",
                                        "of yeoh: c20 / c10 and c30 / c10, stiffening at large strain")},
          .relaxes = true,
          .make = [](const ParameterScope& place) {
            const auto r =
                required_numbers(place, "yeoh_ratios", 2, "the two ratios c20/c10 and c30/c10, e.g. [0.3, 0]");
            const StretchLaw law = StretchLaw::yeoh(r[0], r[1]);
            require_stable(law, place.where + "yeoh_ratios");
            return material_of({.isotropic = law, .prony = prony_of(place)});
          }};
}

}  // namespace heelstrike::fem
