// The planar knee after Machado (examples/knee_machado_2d.yaml, docs/studies/machado.md): profiles by splines support a
// leg.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <regex>
#include <string>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

TEST(MachadoKnee, IndentationOverFlexionFollowsTheStudy) {
  const std::string example = read_text(HEELSTRIKE_SOURCE_DIR "/examples/knee_machado_2d.yaml");
  const auto run = run_local(scenario_from(example));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto w = run.column("tibia.qw");
  const auto z = run.column("tibia.qz");
  const auto side = run.column("tibia.z_m");
  const auto gap = run.column("tibiofemoral.gap_m");
  const auto fx = run.column("tibiofemoral.fx_N");
  const auto fy = run.column("tibiofemoral.fy_N");
  const auto energy = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  const auto work = run.column("energy.external_work_J");
  const auto total = [&](std::size_t i) { return energy[i] + potential[i] - work[i]; };
  double largest = 0.0;
  double describe_residual = 0.0;
  double out_of_plane = 0.0;
  double flexion = 0.0;
  for (std::size_t i = 0; i < gap.size(); ++i) {
    const double depth = std::max(-gap[i], 0.0);
    // The law of the file, at the depth of the same row.
    EXPECT_NEAR(std::hypot(fx[i], fy[i]), 2.808e6 * std::pow(depth, 1.5), 1e-6) << i;
    largest = std::max(largest, depth);
    describe_residual = std::max(describe_residual, std::abs(total(i) - total(0)));
    out_of_plane = std::max(out_of_plane, std::abs(side[i]));
    flexion = -2.0 * std::atan2(z[i], w[i]) * 180.0 / std::numbers::pi;
  }
  fmt::print(
      "largest indentation {:.6f} mm, flexion at the end {:.3f} deg, balance {:.2e} J, out of the plane {:.1e} m\n",
      1e3 * largest, flexion, describe_residual, out_of_plane);
  // The largest of the rows, which are 1 ms apart; another tolerance of the integrator changes them by less.
  EXPECT_NEAR(largest, 3.727e-3, 5e-5);
  EXPECT_NEAR(flexion, 75.12, 0.01);
  // 1.1 J of work: the error of a contact without a potential would be of the order of its energy, 1 J.
  EXPECT_LT(describe_residual, 1e-4);
  EXPECT_LT(out_of_plane, 1e-12);
}

/// [deg] of the leg at the end of a run of the spatial knee with other contacts.
double flexion_with(const std::string& contact, const std::string& integrator) {
  std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/knee_machado_3d.yaml");
  text = std::regex_replace(text, std::regex("backend: hertz\\n    parameters: \\{[^}]*\\}"), contact);
  text = std::regex_replace(text, std::regex("integrator: \\{[^}]*\\}"), "integrator: {" + integrator + "}");
  const auto run = run_local(scenario_from(text));
  EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto last = [&](const char* column) { return run.column(column).back(); };
  const double w = last("tibia.qw"), x = last("tibia.qx"), y = last("tibia.qy"), z = last("tibia.qz");
  return std::atan2(2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)) * 180.0 / std::numbers::pi;
}

// A thousand times as stiff, cartilage deforms by a hundredth: the leg follows rigid contact, with another integrator
// and another treatment of the gaps, and not soft cartilage.
TEST(MachadoKnee, StiffCartilageConvergesToRigidContact) {
  const std::string hertz = "backend: hertz\n    parameters: {exponent: 1.5, stiffness: ";
  const double soft = flexion_with(hertz + "1.21e6}", "name: cvode_index1, rtol: 1.0e-8");
  const double stiff = flexion_with(hertz + "1.21e9}", "name: cvode_index1, rtol: 1.0e-7");
  const double rigid = flexion_with("backend: rigid\n    parameters: {restitution: 0}", "name: moreau, step: 5.0e-5");
  fmt::print("flexion at 0.26 s: {:.3f} deg on cartilage, {:.3f} on a stiff one, {:.3f} on rigid surfaces\n", soft,
             stiff, rigid);
  EXPECT_NEAR(stiff, rigid, 0.1);
  EXPECT_GT(soft, rigid + 0.5);
}

}  // namespace
}  // namespace heelstrike::test
