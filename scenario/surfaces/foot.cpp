#include "scenario/surfaces/foot.hpp"

#include <fmt/format.h>

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/anatomical_axes.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

struct FootLength {
  const char* key;
  double FootDimensions::*value;
  const char* meaning;
};

constexpr FootLength foot_lengths[] = {
    {"length", &FootDimensions::length, "heel to the longest toe"},
    {"ball_breadth", &FootDimensions::ball_breadth, "largest breadth, across the ball"},
    {"heel_breadth", &FootDimensions::heel_breadth, "largest breadth of the heel"},
    {"arch_height", &FootDimensions::arch_height, "of the sole's arch above the ground"},
    {"instep_height", &FootDimensions::instep_height, "of the dorsum of the foot at half its length"},
    {"toe_height", &FootDimensions::toe_height, "of the big toe"},
    {"ankle_height", &FootDimensions::ankle_height, "ankle joint centre above the ground"},
    {"heel_to_ankle", &FootDimensions::heel_to_ankle, "back of the heel to the ankle joint centre"},
    {"cut_height", &FootDimensions::cut_height, "flat cut above the ankle joint centre"},
};

config::KeySchema foot_keys() {
  config::KeySchema keys{
      .name = FootSurface::kind,
      .kind = config::KeyKind::map,
      .meaning =
          "parametric foot, origin at the ankle joint centre, x forward, y to the left, z up; deformable bodies "
          "only. Sets: skin, cap (the cut above the ankle)"};
  const FootDimensions defaults;
  for (const FootLength& length : foot_lengths) {
    keys.keys.push_back(config::number(length.key, "m", config::lengths, length.meaning, defaults.*length.value));
  }
  keys.keys.push_back({.name = "side",
                       .kind = config::KeyKind::text,
                       .meaning = "which foot",
                       .fallback = "left",
                       .choices = {"left", "right"}});
  keys.keys.push_back(config::vector3("ankle", "m", config::coordinates, "ankle joint centre in the body's frame"));
  return keys;
}

}  // namespace

std::optional<FootSurface> FootSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  FootSurface foot{
      .dimensions = {}, .right = text(surface.values, "side") == "right", .ankle = vector3(surface.values, "ankle")};
  for (const FootLength& length : foot_lengths) foot.dimensions.*length.value = number(surface.values, length.key);
  return foot;
}

FootSurface::operator Surface() const {
  Surface surface{.kind = kind, .values = {{"side", std::string(right ? "right" : "left")}, {"ankle", listed(ankle)}}};
  for (const FootLength& length : foot_lengths) surface.values[length.key] = dimensions.*length.value;
  return surface;
}

SurfaceKind foot_kind() {
  return {
      .keys = foot_keys(),
      .place = "ankle",
      .fills = true,
      .extents = [](const Surface& surface) -> std::optional<Vector3> {
        const FootDimensions d = FootSurface::of(surface)->dimensions;
        return Vector3(d.length, d.ball_breadth, d.ankle_height + d.cut_height);
      },
      .outline = [](const Surface& surface) -> ParameterMap {
        const FootSurface foot = FootSurface::of(surface).value();
        const FootDimensions& d = foot.dimensions;
        const Vector3 center(0.5 * d.length - d.heel_to_ankle, 0.0, 0.5 * d.instep_height - d.ankle_height);
        return {{"kind", "block"},
                {"lengths", listed({d.length, d.ball_breadth, d.instep_height})},
                {"center", listed(foot.ankle + center)},
                {"rough", true}};
      },
      .axes =
          [](const Surface& surface) {
            return anatomical_axes({"anterior", FootSurface::of(surface)->right ? "medial" : "lateral", "superior"});
          }};
}

}  // namespace heelstrike
