/// Files for inverse kinematics as OpenSim writes them: markers on bodies, their weights, and functions that couple
/// coordinates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/inverse_kinematics.hpp"

namespace heelstrike::osim {

/// A marker fixed in a body.
struct Marker {
  std::string name;
  std::string body;                ///< or "ground"
  Vector3 p_BM = Vector3::Zero();  ///< [m]
};

/// The MarkerSet of a file: a file of its own, or a model.
/// @throws Error{invalid_input} for text that is not XML or has no markers, a marker without a body or three finite
/// numbers, a name that occurs twice
[[nodiscard]] std::vector<Marker> read_marker_set(const std::string& text, const std::string& file);

/// An IKTaskSet (a file of its own, or the settings of a tool).
struct MarkerTasks {
  std::map<std::string, double> weights;    ///< of markers by name; 0 = it is not applied
  std::vector<CoordinateTask> coordinates;  ///< with a weight > 0, to the default or a manual value
  std::vector<std::string> unsupported;     ///< tasks without effect, one line each
};
/// @throws Error{invalid_input} for text that is not XML or has no IKTaskSet, a weight that is negative or no number
[[nodiscard]] MarkerTasks read_marker_tasks(const std::string& text, const std::string& file);

/// Functions by the coordinate that they give, e.g. of a file of secondary constraint functions of OpenSim-JAM; paths
/// as
/// "/jointset/knee_r/knee_add_r" count by their last name. SimmSpline and PiecewiseLinearFunction.
/// @throws Error{invalid_input} for text that is not XML, has no FunctionSet, or for another function, with its name
[[nodiscard]] std::map<std::string, ScalarFunctionPtr> read_coordinate_functions(const std::string& text,
                                                                                 const std::string& file);

}  // namespace heelstrike::osim
