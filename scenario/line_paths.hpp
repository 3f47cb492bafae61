/// Paths of ligaments and muscles in a scenario: points fixed in bodies and wrap surfaces.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "common/spatial/wrap_surface.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

/// A wrap surface; the z axis of its frame is the axis of a cylinder.
struct WrapSpec {
  std::string name;
  std::string body;
  Pose X_BS;  ///< frame of the shape in the body
  WrapShape shape;
  bool one_segment = false;  ///< of a line one segment wraps, as in PlacedSurface
};

struct LinePoint {
  /// A function of a coordinate of a joint.
  struct Move {
    std::string coordinate = {};  ///< empty = none
    ScalarFunctionPtr f = {};
  };
  std::string body;
  Vector3 point = Vector3::Zero();  ///< [m] in the frame of the body
  std::vector<std::size_t> wraps;   ///< surfaces of the line, on the segment to the next point
  std::array<Move, 3> moves = {};   ///< [m] added to `point`
  std::string within = {};          ///< the point is active while this coordinate is in `range`; empty = always
  std::array<double, 2> range = {};

  [[nodiscard]] bool depends_on_coordinates() const;
};

/// One line of an entry.
struct LineSpec {
  std::string name;                ///< empty = the entry is one line
  std::vector<LinePoint> points;   ///< at least two
  std::vector<WrapSpec> surfaces;  ///< that it may wrap over, in the order of the entry
  Field keys;                      ///< the map that has `path`
};

/// Keys `path` of a line and `surfaces` of the entry.
[[nodiscard]] KeySchema path_key();
[[nodiscard]] KeySchema wrap_surfaces_key();

/// The lines of an entry: those in `lines`, or the one of its `path`; none without both.
/// @throws Issue for an unknown body or surface, fewer than two points, a line on a single body
[[nodiscard]] std::vector<LineSpec> read_lines(const Field& entry, const std::vector<BodySpec>& bodies);

/// False if a body of the line has `initial_state_from`, so that its pose is not yet known, or if a point depends on
/// coordinates of joints.
[[nodiscard]] bool placed_at_start(const LineSpec& line, const std::vector<BodySpec>& bodies);

/// Largest ratio of a line's length to the length that its parameters state. It is smaller than the ratio of metres to
/// millimetres, centimetres or inches divided by 2, the limit in admissible poses, so that a wrong unit is detected.
constexpr double unit_factor = 20.0;
/// True if two lengths [m] differ by less than this factor.
[[nodiscard]] constexpr bool plausible_length(double length, double usual) {
  return length < unit_factor * usual && usual < unit_factor * length;
}

/// Length of the straight lines between the points at the initial poses [m].
[[nodiscard]] double straight_length(const LineSpec& line, const std::vector<BodySpec>& bodies);

/// Rejects a point of a line inside the wrap surface of an adjacent segment.
void check_insertions(const LineSpec& line, const std::vector<BodySpec>& bodies);

}  // namespace heelstrike::config
