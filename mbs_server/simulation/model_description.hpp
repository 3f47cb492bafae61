/// What a scenario's model comes to, for people: counts of equations and degrees of freedom.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "common/config/scenario.hpp"

namespace heelstrike::mbs {

struct ModelDescription {
  int n_bodies = 0;
  int n_equations = 0;             ///< of joints and drivers, dependent ones excepted
  int n_redundant = 0;             ///< of joints and drivers that follow from others
  int n_prescribed = 0;            ///< of n_equations, those of drivers
  int degrees_of_freedom = 0;      ///< that joints and drivers leave free
  std::vector<std::string> notes;  ///< what the assembly moved, and what is redundant or singular: "level: sentence"
};

/// Builds and assembles the model as a run does, without its contact.
/// @throws Error{invalid_input} as build_model() and assemble()
[[nodiscard]] ModelDescription describe_model(const Scenario& scenario, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
