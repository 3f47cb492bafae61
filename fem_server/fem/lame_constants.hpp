/// Constants of isotropic elasticity.
#pragma once

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

/// Isotropic material of one element.
struct LameConstants {
  double mu = 0.0;       ///< [Pa] shear modulus
  double lambda = 0.0;   ///< [Pa]
  double density = 0.0;  ///< [kg/m^3]
};

/// mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)).
/// @throws Error{invalid_input} unless E > 0, nu in [0, 0.5), density >= 0
[[nodiscard]] LameConstants lame_constants(const Material& material);

}  // namespace heelstrike::fem
