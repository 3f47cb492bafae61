/// Triangles of the contact surfaces of a scenario, for pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "report/shapes.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {

/// Shapes of every body whose surface is a file or is triangulated by the back-ends and is not a simple solid; each
/// surface once. Unreadable surfaces are skipped: the run reports the error.
/// @param files           of the scenario; meshes that are stored on a server are not among them and are skipped
/// @param max_triangles  of all shapes together; a surface below the equal share keeps all its triangles
[[nodiscard]] std::vector<report::BodyShape> body_shapes(const Scenario& scenario, std::span<const AssetContent> files,
                                                         std::size_t max_triangles);

}  // namespace heelstrike
