/// Coordinates of joints from measured positions of markers: task and result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A marker fixed in a body, with its measured positions.
struct ModelMarker {
  std::string name;
  std::string body;                 ///< name in `bodies`, or "ground"
  Vector3 p_BM = Vector3::Zero();   ///< [m]
  double weight = 1.0;              ///< > 0
  std::vector<Vector3> measured{};  ///< [m] in the world, in every frame; NaN = not seen
};

/// A coordinate that follows another one: u = f(u_by).
struct CoupledTo {
  std::string coordinate;
  std::string by;
  ScalarFunctionPtr f;
};

/// A coordinate that is pulled to a value.
struct CoordinateTask {
  std::string coordinate;
  double weight = 1.0;  ///< [m^2] or [-] > 0 of the squared difference [rad] or [m], beside those of the markers
  std::optional<double> value{};  ///< [rad] or [m]; none = the initial value
};

struct InverseKinematicsTask {
  std::vector<ModelMarker> markers;
  std::vector<double> times;          ///< [s] of the frames
  std::vector<std::string> locked{};  ///< coordinates that keep their initial values
  /// Both may name coordinates that the model does not have or has locked: InverseKinematicsResult::absent.
  std::vector<CoupledTo> coupled{};
  std::vector<CoordinateTask> coordinates{};
  int max_evaluations = 1000;  ///< in a frame
  double tolerance = 1e-6;     ///< [-] relative reduction of the sum of squares, and relative step, at the end
};

struct InverseKinematicsFrame {
  std::vector<double> values;   ///< [rad] or [m] of every coordinate
  std::vector<double> errors;   ///< [m] of every marker; NaN = not seen
  double sum_of_squares = 0.0;  ///< [m^2] with weights
  int n_evaluations = 0;
  bool converged = true;      ///< false = the number of evaluations is exhausted, or `unreachable`
  std::string unreachable{};  ///< reason why the poses of the last step, which would fit better, cannot be reached
};

/// A coordinate that the markers of some frames do not determine, alone or together with others.
struct UndeterminedCoordinate {
  std::string name;
  std::vector<std::size_t> frames;  ///< increasing
};

struct InverseKinematicsResult {
  std::vector<std::string> coordinates;  ///< of all joints, dependent ones included
  std::vector<bool> rotates;
  std::vector<InverseKinematicsFrame> frames;
  std::vector<UndeterminedCoordinate> undetermined;  ///< in the order of `coordinates`
  std::vector<std::string> absent;  ///< in `coupled` and `coordinates`, but no free coordinate of the model
};

}  // namespace heelstrike
