/// The kinds of surfaces: one line for each source file of this folder that defines one.
#pragma once

#include "scenario/surfaces/surface_kind.hpp"

// In the order of the scenario reference. NAME stands for a function `SurfaceKind NAME_kind()`.
#define HEELSTRIKE_SURFACE_KINDS(KIND) \
  KIND(sphere)                         \
  KIND(plane)                          \
  KIND(cylinder)                       \
  KIND(block)                          \
  KIND(foot)                           \
  KIND(knee)                           \
  KIND(profile)                        \
  KIND(mesh)                           \
  KIND(points)

namespace heelstrike {

#define HEELSTRIKE_DECLARED(NAME) [[nodiscard]] SurfaceKind NAME##_kind();
HEELSTRIKE_SURFACE_KINDS(HEELSTRIKE_DECLARED)
#undef HEELSTRIKE_DECLARED

}  // namespace heelstrike
