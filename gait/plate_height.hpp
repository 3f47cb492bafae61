/// Height of the surface of a force plate.
#pragma once

#include <optional>

#include "gait/force_plate.hpp"

namespace heelstrike {

/// [m] mean height of the centre of pressure along `up` while the force exceeds stance_threshold; none if it never
/// does.
[[nodiscard]] std::optional<double> plate_height(const ForcePlate& plate, const Vector3& up);

}  // namespace heelstrike
