/// Description of an assembled model for people: joints and drivers, their equations, degrees of freedom.
#pragma once

#include <string>
#include <vector>

namespace heelstrike {

/// An assembled joint or driver.
struct ConstraintDescription {
  std::string name;
  bool prescribes = false;          ///< a driver
  int n_equations = 0;              ///< independent ones only
  std::vector<std::string> bodies;  ///< on which it acts, except ground
};

struct ModelDescription {
  std::vector<ConstraintDescription> constraints;  ///< joints, then drivers
  std::vector<std::string> forces;                 ///< gravity, force elements, loads
  int n_redundant = 0;                             ///< redundant equations of joints and drivers
  int degrees_of_freedom = 0;                      ///< left by joints and drivers
  std::vector<std::string> notes;  ///< changes by the assembly, redundancy and singularity: "level: sentence"
};

}  // namespace heelstrike
