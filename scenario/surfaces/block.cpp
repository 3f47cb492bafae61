#include "scenario/surfaces/block.hpp"

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

config::KeySchema block_keys() {
  return {.name = BlockSurface::kind,
          .kind = config::KeyKind::map,
          .meaning =
              "rectangular block, edges along the body's axes; deformable bodies only. Sets: bottom (z-), top, "
              "left (y+), right, front (x+), back, side",
          .keys = {config::required(config::vector3("lengths", "m", config::lengths, "along x, y, z")),
                   config::vector3("center", "m", config::coordinates, "centre in the body's frame")}};
}

}  // namespace

std::optional<BlockSurface> BlockSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  return BlockSurface{.lengths = vector3(surface.values, "lengths"), .center = vector3(surface.values, "center")};
}

BlockSurface::operator Surface() const {
  return {.kind = kind, .values = {{"lengths", listed(lengths)}, {"center", listed(center)}}};
}

SurfaceKind block_kind() {
  return {
      .keys = block_keys(),
      .place = "center",
      .fills = true,
      .extents = [](const Surface& surface) -> std::optional<Vector3> { return BlockSurface::of(surface)->lengths; },
      .outline = [](const Surface& surface) -> ParameterMap {
        ParameterMap outline = surface.values;
        outline.emplace("kind", "block");
        outline.emplace("rough", false);
        return outline;
      }};
}

}  // namespace heelstrike
