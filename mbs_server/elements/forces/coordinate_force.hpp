/// Generalised forces on one coordinate of a custom joint.
#pragma once

#include <functional>
#include <string>

#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"

namespace heelstrike::mbs {

/// Force on a coordinate u, in its direction, as a function of u and du/dt; for rotations in N m and rad.
struct CoordinateLaw {
  double force = 0.0;
  double by_value = 0.0;  ///< dF/du
  double by_rate = 0.0;   ///< dF/d(du/dt)
  double energy = 0.0;    ///< [J]
  double damping = 0.0;   ///< dissipative part of the force
};
using CoordinateForceLaw = std::function<CoordinateLaw(double value, double rate)>;

/// Key `coordinate` of the element.
[[nodiscard]] config::KeySchema coordinate_key();
/// Rejects an unknown joint coordinate, as ForceType::check.
void check_coordinate(const config::Field& field, const Scenario& scenario);
/// Columns: value of the coordinate, its rate, the force.
[[nodiscard]] Force coordinate_force(const ElementSpec& spec, const Model& model, CoordinateForceLaw law);

}  // namespace heelstrike::mbs
