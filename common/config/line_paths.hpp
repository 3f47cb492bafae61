/// The ways of ligaments and muscles as a scenario says them: points fixed in bodies, surfaces that they wrap over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/config/keys.hpp"
#include "common/config/scenario.hpp"
#include "common/spatial/wrap_surface.hpp"

namespace heelstrike::config {

/// A surface that lines wrap over; its frame's z axis is the axis of a cylinder.
struct WrapSpec {
  std::string name;
  std::string body;
  Pose X_BS;  ///< frame of the shape in the body
  WrapShape shape;
};

struct LinePoint {
  std::string body;
  Vector3 point = Vector3::Zero();  ///< [m] in the frame of the body
  std::optional<WrapSpec> wrap;     ///< on the way to the next point
};

/// One line of an entry.
struct LineSpec {
  std::string name;               ///< empty = the entry is one line
  std::vector<LinePoint> points;  ///< at least two
  Field keys;                     ///< the map that has `path`
};

/// Keys `path` of a line and `surfaces` of the entry.
[[nodiscard]] KeySchema path_key();
[[nodiscard]] KeySchema wrap_surfaces_key();

/// The lines of an entry: those in `lines`, or the one of its own `path`; none where it has neither.
/// @throws Mistake for an unknown body or surface, fewer than two points, a line that holds one body only
[[nodiscard]] std::vector<LineSpec> read_lines(const Field& entry, const std::vector<BodySpec>& bodies);

/// False where a body of the line starts where another one is, so that its pose is not known yet.
[[nodiscard]] bool placed_at_start(const LineSpec& line, const std::vector<BodySpec>& bodies);

/// Length of the straight lines between the points at the initial poses [m].
[[nodiscard]] double straight_length(const LineSpec& line, const std::vector<BodySpec>& bodies);

/// Refuses a point of a line that lies inside a surface which the line wraps over from or to there.
void check_insertions(const LineSpec& line, const std::vector<BodySpec>& bodies);

}  // namespace heelstrike::config
