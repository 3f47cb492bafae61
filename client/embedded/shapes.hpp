/// What the bodies of a scenario look like, for pictures: the triangles of their contact surfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/config/scenario.hpp"
#include "common/contact/contact.hpp"

namespace heelstrike::client {

struct BodyShape {
  std::string body;
  std::string source;                    ///< file, or kind of surface
  std::size_t n_read = 0;                ///< triangles of the surface, or of the boundary of a volume
  std::vector<double> points;            ///< [m] 3 per point, in the frame of the body
  std::vector<std::uint32_t> triangles;  ///< 3 points each
};

/// Of every body that has a surface from a file, or of a kind that back-ends make triangles of and that no simple solid
/// is, each surface once. What cannot be read is left out: the run says what is wrong with it.
/// @param files           of the scenario; meshes that lie on a server are not among them and left out
/// @param most_triangles  of all together; a surface with less than an equal share keeps all of its own
[[nodiscard]] std::vector<BodyShape> body_shapes(const Scenario& scenario, std::span<const AssetContent> files,
                                                 std::size_t most_triangles);

}  // namespace heelstrike::client
