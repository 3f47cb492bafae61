/// The recorded pose of one body as functions of time: a table of positions and quaternions, optionally with twists and
/// accelerations.
///
/// Between the rows:
///   with twist and acceleration   quintic Hermite polynomials: exact at the rows with both derivatives; between them
///                                 the error is O(h^6), of accelerations O(h^4)
///   with twist                    accelerations at the rows are the slopes of natural quintic splines through the
///                                 rates, then as above; errors of accelerations O(h^5), near the ends O(h^3)
///   with poses only               natural quintic splines; errors of accelerations O(h^4), near the ends O(h)
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/motion/time_function.hpp"

namespace heelstrike {

struct BodyRecord {
  std::string body;
  std::array<TimeFunctionPtr, 3> position;    ///< [m] origin of the body in the world
  std::array<TimeFunctionPtr, 4> quaternion;  ///< w, x, y, z; of length 1 at the rows, to be normalised between them
  /// [m/s^2, 1/s^2] estimated largest error of accelerations by differentiation, from every second row; 0 if they are
  /// recorded.
  double acceleration_error = 0.0;
};
using BodyRecordPtr = std::shared_ptr<const BodyRecord>;

/// Reads the columns of `body` from a table (.csv, .sto, .mot). Of rows with the same time the last is used.
/// @param time_column  heading of the times [s]; empty = `time_s` or `time`
/// @throws Error{invalid_input} "file:line: ..." for missing columns, times that do not increase, fewer than
///         three rows, or quaternions whose length differs from 1 by more than 1e-6
[[nodiscard]] BodyRecordPtr read_body_record(std::string_view text, const std::string& file_name,
                                             const std::string& body, const std::string& time_column);

}  // namespace heelstrike
