/// What a scenario's model comes to, for people: its joints and drivers, their equations, degrees of freedom.
#pragma once

#include <string>
#include <vector>

namespace heelstrike {

/// A joint or driver as it was built.
struct ConstraintDescription {
  std::string name;
  bool prescribes = false;          ///< a driver
  int n_equations = 0;              ///< that are used: those that follow from others are left out
  std::vector<std::string> bodies;  ///< that it acts on, ground excepted
};

struct ModelDescription {
  std::vector<ConstraintDescription> constraints;  ///< joints, then drivers
  std::vector<std::string> forces;                 ///< gravity, force elements, loads
  int n_redundant = 0;                             ///< equations of joints and drivers that follow from others
  int degrees_of_freedom = 0;                      ///< that joints and drivers leave free
  std::vector<std::string> notes;  ///< what the assembly moved, and what is redundant or singular: "level: sentence"
};

}  // namespace heelstrike
