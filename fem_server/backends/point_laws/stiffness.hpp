/// Generalised stiffness K [N/m^1.5] of two elastic bodies in point contact, after Hertz [goldsmith1960].
#pragma once

#include <string>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

/// sigma = (1 - nu^2) / E [1/Pa]; 0 for a rigid body (no materials).
/// @throws Error{invalid_input}  more than one material, E not > 0, nu outside [0, 0.5)
[[nodiscard]] double material_compliance(const std::vector<Material>& materials, const std::string& where);

/// K = 4 / (3 (sigma_A + sigma_B)) sqrt(R). @pre sum of compliances > 0, effective_radius > 0
/// @param compliances       [1/Pa] sigma_A + sigma_B
/// @param effective_radius  [m] R, or R_A R_B / (R_A + R_B) with signed radii
[[nodiscard]] double hertz_stiffness(double compliances, double effective_radius);

}  // namespace heelstrike::fem
