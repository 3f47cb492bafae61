// The finite-element ball through the whole multibody side: its restitution is that of the point law with the same
// dissipation factor, because the factor multiplies any elastic force.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

constexpr const char* ball_scenario = R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball:
    mass: 1.0
    inertia: [0.1, 0.1, 0.1]
    position: [0, 0, 1.0]
contact:
  ball-ground:
    main:
      body: ball
      surface: {sphere: {radius: 0.1}}
      material: {youngs_modulus: 302.12e6, poissons_ratio: 0.3, density: 238.73}
    partner:
      body: ground
      surface: {plane: {normal: [0, 0, 1]}}
    backend: fem_condensed
    parameters:
      support: inertia_relief
      element_size: 0.03
      contact_size: 0.004
      contact_radius: 0.02
      contact_direction: [0, 0, -1]
      contact_angle: 0.25
      restitution: 0.8
analysis:
  type: forward
  end_time: 0.5
  integrator: {name: cvode_index1, rtol: 1.0e-9}
output:
  interval: 1.0e-3
)";

RecordedRun bounce(const std::string& yaml, double restitution, const std::string& backend) {
  return run_local(
      scenario_from(yaml, {fmt::format("contact.restitution={}", restitution), "analysis.end_time=0.5"}, backend));
}

TEST(BouncingFemBall, RestitutionIsThatOfThePointLaw) {
  ::setenv("HEELSTRIKE_MESHER", HEELSTRIKE_BIN_DIR "/heelstrike-mesher", 1);
  const std::string point = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  fmt::print("{:>5} {:>12} {:>12} {:>10} {:>12} {:>12} {:>8}\n", "c_r", "e point law", "e fem", "difference", "F_max N",
             "d_max mm", "evals");
  for (const double restitution : {1.0, 0.8, 0.5}) {
    const auto fem = bounce(ball_scenario, restitution, "");
    ASSERT_EQ(fem.summary.status, "completed") << fem.summary.error->what();
    const auto law = bounce(point, restitution, "flores");
    ASSERT_EQ(law.summary.status, "completed");
    const auto& contact = fem.summary.contacts.at(0);
    const double e_fem = *contact.separation_velocity / contact.approach_velocity;
    const double e_law = *law.summary.contacts.at(0).separation_velocity / law.summary.contacts.at(0).approach_velocity;
    fmt::print("{:5.1f} {:12.6f} {:12.6f} {:10.2e} {:12.2f} {:12.6f} {:8}\n", restitution, e_law, e_fem,
               e_fem / e_law - 1.0, contact.max_force, 1e3 * contact.max_indentation, fem.summary.contact_evaluations);
    EXPECT_NEAR(e_fem, e_law, 3e-3 * e_law) << "issue: within 0.3 %";
    if (restitution == 1.0) {
      EXPECT_NEAR(e_fem * e_fem, 1.0, 1e-4) << "issue: c_r = 1 keeps energy to 1e-4 over the bounce";
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
