/// Contact forces of a run in the conventions of the measured force plates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "gait/force_plate.hpp"
#include "gait/motion_columns.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {

/// Names of the files in the run folder.
inline constexpr const char* ground_reactions_file = "ground_reactions.mot";
inline constexpr const char* measured_reactions_file = "measured_reactions.mot";
inline constexpr const char* plate_steps_file = "plate_steps.csv";
inline constexpr const char* external_loads_file = "external_loads.xml";

/// Text of an OpenSim .mot with the columns of the measured plates, for every foot of a recording that has a `plate`:
/// the sum of all contact pairs of the bodies that follow the foot's segments or start with such a body, in the axes
/// and time base of the recording's files; centre of pressure on the plane of the measured one, torque the free moment
/// about its normal. All entries of an unloaded foot are zero. Empty when no foot has a plate.
/// @param series  of the run, @param content_of  files of the scenario
[[nodiscard]] std::string ground_reactions(const Scenario& scenario, const TimeSeries& series,
                                           const FileContent& content_of);

/// Measured loads of the feet of a recording that have a plate, named by FootSpec::columns, in the axes and time base
/// of the files. A foot with `plate: auto` has the sum over the plates that it steps on (foot_loads.hpp).
/// @throws Error{invalid_input} as recorded_loads
[[nodiscard]] std::vector<ForcePlate> measured_loads(const Scenario& scenario, const MarkerMotionSpec& motion,
                                                     const FileContent& content_of);

/// Text of plate_steps.csv: the steps of feet with `plate: auto`. Empty without such feet.
[[nodiscard]] std::string plate_steps(const Scenario& scenario, const FileContent& content_of);

/// Text of an OpenSim ExternalLoads file that applies ground_reactions.mot to the bodies calcn_r and calcn_l of
/// OpenSim's gait models, for feet with right or left in their names; other feet name their body. Empty when no foot
/// has a plate.
[[nodiscard]] std::string external_loads(const Scenario& scenario);

/// Text of an OpenSim .mot with the measured plate loads of these feet from the first to the last row of the run,
/// unchanged, for comparison with ground_reactions. Empty when no foot has a plate.
[[nodiscard]] std::string measured_reactions(const Scenario& scenario, const TimeSeries& series,
                                             const FileContent& content_of);

/// Measured loads that were prescribed in the run they are compared with.
struct PrescribedLoads {
  std::vector<std::string> plates;  ///< plates whose vertical force `analysis.balance` prescribes
  double interval = 0.0;            ///< [s] between the rows of the run
};
[[nodiscard]] PrescribedLoads find_prescribed_loads(const Scenario& scenario);

/// Position of the ground under the feet of the first recording, in the axes and time base of its files.
struct GroundPath {
  std::vector<double> times;      ///< [s] empty for a ground at rest
  std::vector<Vector3> position;  ///< [m]
};
[[nodiscard]] GroundPath ground_path(const Scenario& scenario, const TimeSeries& series);

}  // namespace heelstrike
