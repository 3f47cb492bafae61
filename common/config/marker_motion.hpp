/// The section `motion` of a scenario: recorded markers that bodies follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/motion/axis_map.hpp"
#include "common/motion/foot_template.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// One foot of a recording.
struct FootSpec {
  std::string name;
  FootMarkers markers;
  std::string plate;  ///< name of its force plate (prefix of the columns), or empty
  std::string where;  ///< "file:line: motion.NAME.feet.NAME", for messages
};

/// One recording: a walking trial with its static trial, perhaps with force plates.
struct MarkerMotionSpec {
  std::string name;
  std::string markers;                     ///< .trc file of the trial
  std::string standing;                    ///< .trc file of the static trial
  std::string plates;                      ///< .mot file of ground forces, or empty
  AxisNames axes;                          ///< of all three files
  double start = 0.0;                      ///< [s] time of the files at which the run begins
  double max_gap = 0.1;                    ///< [s] longest gap of a marker that is filled
  std::optional<double> cutoff;            ///< [Hz] of the low-pass filter; none = unfiltered
  int order = 4;                           ///< of the filter, both passes together
  std::optional<Vector3> ground_velocity;  ///< [m/s] in the world; none = found from the flat foot
  std::vector<FootSpec> feet;
  std::string where;  ///< "file:line: motion.NAME"
};

}  // namespace heelstrike
