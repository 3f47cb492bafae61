/// Surfaces of a scenario that are like shapes of a robot file.
#pragma once

#include <string>
#include <vector>

#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct ScenarioSurface {
  std::string text;  ///< value of `surface` in a scenario: "{sphere: {...}}"
  std::string what;  ///< for messages: "collision capsule, its side"
};

/// None for a shape that no surface is like; a capsule is two balls and a cylinder.
/// @param shape  at its place in a body of the scenario
[[nodiscard]] std::vector<ScenarioSurface> make_surfaces(const Shape& shape);

/// The mesh that stands for a box that does not lie along the axes of its body.
/// @param name  of the file, without ending
[[nodiscard]] ImportedMesh box_mesh(const Vector3& half_lengths, const std::string& name);

/// Whether a box at this place is a block: its edges lie along the axes of the body.
[[nodiscard]] bool lies_along_axes(const Pose& X_BS);

}  // namespace heelstrike::models
