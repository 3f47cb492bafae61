/// Scenarios with macro steps for tests of coupling schemes.
#pragma once

#include <fmt/format.h>

#include <string>

#include "mbs_server/simulation/simulation.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {

/// Two bodies on the x axis, in contact through a linear spring with a history-independent, one-sided force, pressed
/// together by equal loads, with dampers to the ground in proportion to their masses. Their distance beyond equilibrium
/// obeys u'' + a u' = -(k / mu) u with the reduced mass mu while in contact.
struct TwoMasses {
  double m1 = 1.0, m2 = 2.0;  ///< [kg]
  double stiffness = 600.0;   ///< [N/m] k
  double load = 6.0;          ///< [N] force at equilibrium: 10 mm
  double damping = 0.0;       ///< [1/s] a
  double start = 1e-3;        ///< [m] u at the start, at rest

  [[nodiscard]] double reduced_mass() const { return m1 * m2 / (m1 + m2); }
  [[nodiscard]] double omega2() const { return stiffness / reduced_mass(); }

  /// @param coupling  the section, e.g. "{scheme: jacobi, macro_step: 1e-3}"
  [[nodiscard]] std::string yaml(const std::string& coupling, double end_time, double step) const {
    // Positive u is closer together: the force on each body is load + k u.
    const double overlap = load / stiffness + start;
    return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  one: {{mass: {}, inertia: [1, 1, 1], position: [0, 0, 0]}}
  two: {{mass: {}, inertia: [1, 1, 1], position: [{}, 0, 0]}}
loads:
  right: {{body: one, force: [{}, 0, 0]}}
  left: {{body: two, force: [-{}, 0, 0]}}
forces:
  d1: {{type: spring_damper, bodies: [ground, one], points: [[-10, 0, 0], [0, 0, 0]], stiffness: 0, damping: {}}}
  d2: {{type: spring_damper, bodies: [ground, two], points: [[10, 0, 0], [0, 0, 0]], stiffness: 0, damping: {}}}
contact:
  spring:
    main: {{body: one, surface: {{sphere: {{radius: 0.1}}}}}}
    partner: {{body: two, surface: {{plane: {{normal: [-1, 0, 0]}}}}}}
    backend: hooke
    parameters: {{stiffness: {}}}
coupling: {}
analysis: {{end_time: {}, integrator: {{name: rk4, step: {}}}}}
output: {{interval: {}}}
)yaml",
                       m1, m2, 0.1 - overlap, load, load, damping * m1, damping * m2, stiffness, coupling, end_time,
                       step, end_time);
  }
  /// [m] u of a simulation.
  [[nodiscard]] double u(mbs::Simulation& simulation) const {
    return 0.1 - (simulation.output("two.x_m") - simulation.output("one.x_m")) - load / stiffness;
  }
  /// [m/s] its rate.
  [[nodiscard]] static double rate(mbs::Simulation& simulation) {
    return simulation.output("one.vx_m_s") - simulation.output("two.vx_m_s");
  }
};

[[nodiscard]] inline mbs::RunInput coupling_input(const std::string& yaml) {
  return {
      .scenario = scenario_from(yaml), .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
}

}  // namespace heelstrike::test
