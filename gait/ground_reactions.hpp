/// Contact forces of a run in the conventions of the force plates that stand beside them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "common/results/run_folder.hpp"
#include "gait/motion_columns.hpp"

namespace heelstrike {

/// Names of the files in the run folder.
inline constexpr const char* ground_reactions_file = "ground_reactions.mot";
inline constexpr const char* measured_reactions_file = "measured_reactions.mot";

/// Text of an OpenSim .mot with the columns of the measured plates, for every foot of a recording that has a `plate`:
/// the sum of all contact pairs of the bodies that follow the foot's segments or start with one that does, in the axes
/// and clock of the recording's files; centre of pressure on the plane of the measured one, torque the free moment
/// about its normal. Where a foot is not loaded, all entries are zero. Empty when no foot has a plate.
/// @param series  of the run, @param content_of  files of the scenario
[[nodiscard]] std::string ground_reactions(const Scenario& scenario, const TimeSeries& series,
                                           const FileContent& content_of);

/// Text of an OpenSim .mot with what the plates of these feet measured from the first to the last row of the run, as
/// the recording has it: the curve that belongs beside the one above. Empty when no foot has a plate.
[[nodiscard]] std::string measured_reactions(const Scenario& scenario, const TimeSeries& series,
                                             const FileContent& content_of);

/// What a run was given of the loads that it is compared with.
struct PrescribedLoads {
  std::vector<std::string> plates;  ///< those whose vertical force `analysis.balance` prescribes
  double interval = 0.0;            ///< [s] between the rows of the run
};
[[nodiscard]] PrescribedLoads find_prescribed_loads(const Scenario& scenario);

/// Position of the ground that the feet of the first recording stand on, in the axes and clock of its files.
struct GroundPath {
  std::vector<double> times;      ///< [s] none for a ground at rest
  std::vector<Vector3> position;  ///< [m]
};
[[nodiscard]] GroundPath ground_path(const Scenario& scenario, const TimeSeries& series);

}  // namespace heelstrike
