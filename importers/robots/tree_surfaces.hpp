/// Surfaces of a scenario equivalent to shapes of a robot file.
#pragma once

#include <string>
#include <vector>

#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct ScenarioSurface {
  std::string text;  ///< value of `surface` in a scenario: "{sphere: {...}}"
  std::string what;  ///< for messages: "collision capsule, lateral surface"
};

/// Empty for a shape without an equivalent surface; a capsule becomes two balls and a cylinder.
/// @param shape  with its pose in a body of the scenario
[[nodiscard]] std::vector<ScenarioSurface> make_surfaces(const Shape& shape);

/// Mesh of a box that is not aligned with the axes of its body.
/// @param name  of the file, without extension
[[nodiscard]] ImportedMesh box_mesh(const Vector3& half_lengths, const std::string& name);

/// True if the edges of a box with this pose are parallel to the axes of the body.
[[nodiscard]] bool lies_along_axes(const Pose& X_BS);

}  // namespace heelstrike::models
