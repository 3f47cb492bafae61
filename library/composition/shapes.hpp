/// What the bodies of a scenario look like, for pictures: the triangles of their contact surfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/shapes.hpp"
#include "scenario/scenario.hpp"
#include "common/contact/contact.hpp"

namespace heelstrike {

/// Of every body that has a surface from a file, or of a kind that back-ends make triangles of and that no simple solid
/// is, each surface once. What cannot be read is left out: the run says what is wrong with it.
/// @param files           of the scenario; meshes that lie on a server are not among them and left out
/// @param max_triangles  of all together; a surface with less than an equal share keeps all of its own
[[nodiscard]] std::vector<report::BodyShape> body_shapes(const Scenario& scenario, std::span<const AssetContent> files,
                                                 std::size_t max_triangles);

}  // namespace heelstrike
