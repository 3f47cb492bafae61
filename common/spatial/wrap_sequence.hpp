/// Which surfaces the segments of a path wrap over, and in which order.
#pragma once

#include <cstddef>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "common/spatial/wrap_surface.hpp"

namespace heelstrike {

/// A surface in the world, and the segments of a path, from a point to the next, that may wrap over it.
struct PlacedSurface {
  const WrapShape* shape = nullptr;
  Pose X_WS;
  /// Only one of them wraps, as in OpenSim: the first that crosses the surface, or else the one that becomes longer by
  /// the least. Otherwise every one that touches wraps.
  bool one_segment = false;
  std::vector<std::size_t> segments = {};
};

/// A segment on a surface, with the tangent points in the world, which are set only if the path has several surfaces.
struct SurfaceContact {
  std::size_t surface = 0;
  Vector3 first = Vector3::Zero(), last = Vector3::Zero();  ///< [m]
};

/// The surfaces of each segment in their order along the path, as OpenSim determines them: the surfaces wrap one after
/// the other what the others have left of the path, in several rounds.
/// @param points  of the path in the world [m]
/// @throws RecoverableError as wrap()
[[nodiscard]] std::vector<std::vector<SurfaceContact>> wrap_sequence(const std::vector<Vector3>& points,
                                                                     const std::vector<PlacedSurface>& surfaces);

}  // namespace heelstrike
