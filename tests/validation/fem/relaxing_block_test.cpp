// A relaxing block falls on a plane, through the whole multibody side: it rebounds lower than an elastic one, and the
// difference is dissipated, in contact and in the remaining indentation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

constexpr const char* scenario_text = R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  block: {mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.0101]}
contact:
  block-ground:
    main:
      body: block
      surface: {block: {lengths: [0.04, 0.03, 0.02]}}
      material: {youngs_modulus: 2.0e5, poissons_ratio: 0.4, density: 1100}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: fem_full
    parameters:
      element_size: 0.02
      clamped_set: top
      contact_set: bottom
      max_penetration: 0.01
      material_law: mooney_rivlin
      mooney_fraction: 0.2
      prony_coefficients: [0.4]
      prony_times: [0.005]
analysis: {end_time: 0.05}
output: {interval: 0.001}
)";

double total(const RecordedRun& run, std::size_t row) {
  double sum = 0.0;
  for (const char* name : {"energy.kinetic_J", "energy.potential_J", "energy.dissipated_J"})
    sum += run.column(name)[row];
  return sum;
}

TEST(RelaxingBlock, ReboundsLowerAndKeepsTheBalanceOfEnergy) {
  std::vector<double> heights;
  for (const bool relaxes : {false, true}) {
    std::vector<std::string> overrides{"bodies.block.position=[0,0,0.012]"};
    if (!relaxes) {
      overrides.emplace_back("contact.prony_coefficients=[]");
      overrides.emplace_back("contact.prony_times=[]");
    }
    const RecordedRun run = run_local(scenario_from(scenario_text, overrides, "fem_full"));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    const auto dissipated = run.column("energy.dissipated_J");
    const auto gap = run.column("block-ground.gap_m");
    const auto z = run.column("block.z_m");
    const std::size_t last = z.size() - 1;
    const double begin = total(run, 0);
    fmt::print("{}: energy {:.6g} J, at the end {:.6g} J; heat {:.4g} J, speed at the end {:.5f} m/s\n",
               relaxes ? "relaxing" : "elastic", begin, total(run, last), dissipated.back(),
               run.column("block.vz_m_s").back());
    ASSERT_GT(gap.back(), 0.0) << "the flight after the first rebound";
    // Of the drop of 2 mm. The dissipation of a step follows from a stress that is linear in it.
    const double drop = 0.1 * 9.81 * 0.002;
    EXPECT_NEAR(total(run, last), begin, (relaxes ? 2e-3 : 1e-4) * drop) << "[J]";
    EXPECT_EQ(dissipated.back() > 0.0, relaxes);
    heights.push_back(z[last] +
                      0.5 * run.column("block.vz_m_s")[last] * std::abs(run.column("block.vz_m_s")[last]) / 9.81);
  }
  EXPECT_LT(heights[1], heights[0]) << "[m] where the flights lead";
}

}  // namespace
}  // namespace heelstrike::test
