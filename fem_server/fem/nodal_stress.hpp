/// Stresses for visualisation: volume-weighted means of the adjacent elements at nodes, and element values.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

struct NodalStress {
  std::vector<double> von_mises;  ///< [Pa] per node
  std::vector<double> principal;  ///< [Pa] 3 per node: largest, middle, smallest
};

/// Invariants of the mean stress tensor around each node.
/// @param stress  [Pa] xx yy zz xy yz zx at the quadrature points, as linear_stress returns it
[[nodiscard]] NodalStress nodal_stress(const BodyModel& body, const StressColumns& stress);

/// [Pa] von Mises stress of the mean stress tensor of each element, not averaged with neighbours.
/// @param stress  as for nodal_stress
[[nodiscard]] std::vector<double> element_von_mises(const BodyModel& body, const StressColumns& stress);

}  // namespace heelstrike::fem
