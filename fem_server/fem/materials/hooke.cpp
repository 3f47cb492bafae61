#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

MaterialKind linear_kind() {
  return {.name = "linear",
          .meaning = "Hooke's law as in fem_condensed",
          .parameters = {},
          .make = [](const ParameterScope&) { return MaterialLaw::linear; }};
}

MaterialKind neo_hookean_kind() {
  return {.name = "neo_hookean",
          .meaning = "finite strain [bonet2008]",
          .parameters = {},
          .make = [](const ParameterScope&) { return MaterialLaw::neo_hookean; }};
}

}  // namespace heelstrike::fem
