/// External loads of OpenSim (ExternalLoads): measured forces and torques on bodies, as columns of a data file.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/motion/motion_file.hpp"

namespace heelstrike::osim {

/// ExternalForce. Columns are found by the beginning of their headings: exactly three have it, x, y and z in this
/// order.
struct ExternalForce {
  std::string name;
  std::string body;                    ///< on which it acts
  std::string axes = "ground";         ///< body in whose axes force and torque are, or ground
  std::string point_frame = "ground";  ///< body in whose frame the point is, or ground
  std::string force, torque, point;    ///< beginnings of the headings; empty = none. Without a point: the body's origin
  bool applies = true;
};

struct ExternalLoads {
  std::vector<ExternalForce> forces;
  std::string data_file;                 ///< as named by the file; empty = none
  std::vector<std::string> unsupported;  ///< elements without effect on the scenario, one line each
};

/// @param text  content of the file. @param file  its name, for messages
/// @throws Error{invalid_input} for text that is not XML or has no ExternalLoads, for a force without body or columns,
/// for a name that occurs twice, with the name of the force
[[nodiscard]] ExternalLoads read_external_loads(const std::string& text, const std::string& file);

/// Headings of the x, y and z component. @param force  for messages
/// @throws Error{invalid_input} unless three headings begin with `identifier`
[[nodiscard]] std::array<std::string, 3> component_headings(const MotionTable& data, const std::string& identifier,
                                                            const ExternalForce& force);

}  // namespace heelstrike::osim
