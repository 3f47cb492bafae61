/// Scenarios run by the tests of the command line.
#pragma once

#include <string>

namespace heelstrike::cli_test {

inline const std::string examples = std::string(HEELSTRIKE_SOURCE_DIR) + "/examples/";

/// The bouncing ball with one text replaced; `from` empty = unchanged.
inline std::string ball_scenario(const std::string& from = "", const std::string& to = "") {
  std::string text = R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 1.0]}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: flores
    parameters: {stiffness: 1.4e8, exponent: 1.5, restitution: 0.8}
analysis: {type: forward, end_time: 0.5, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 1.0e-3}
)";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace heelstrike::cli_test
