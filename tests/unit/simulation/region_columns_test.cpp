// Loads of regions as columns of the time series: their position, their values with and without contact, and their
// storage in checkpoints of coupling schemes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/coupling_case.hpp"

namespace heelstrike::test {
namespace {

using testing::ElementsAre;

/// A soft ball that falls beside the ground's edge and rotates: its halves have different loads.
std::string falling_ball(const std::string& coupling, const std::string& regions) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {{mass: 0.5, inertia: [2e-4, 2e-4, 2e-4], position: [0, 0, 0.032], velocity: [0.3, 0, 0], angular_velocity: [0, 4, 0]}}
contact:
  pad:
    main: {{body: ball, surface: {{sphere: {{radius: 0.03}}}}, material: {{youngs_modulus: 2e6, poissons_ratio: 0.3, density: 1000}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: elastic_foundation
    parameters: {{thickness: 0.006, element_size: 0.004, dissipation: 0.5, regions: "{}"}}
coupling: {}
analysis: {{end_time: 0.06, integrator: {{name: rk4, step: 1e-4}}}}
output: {{interval: 2e-3}}
)yaml",
                     regions, coupling);
}

const std::string monolithic = "{scheme: monolithic}";

TEST(RegionColumns, FollowAllOthersWithUnitsAndMeanings) {
  const RecordedRun plain = run_local(scenario_from(falling_ball(monolithic, "")));
  const RecordedRun with_regions = run_local(scenario_from(falling_ball(monolithic, "x- x+")));
  ASSERT_EQ(plain.summary.status, "completed");
  ASSERT_EQ(with_regions.summary.status, "completed");
  const std::size_t n = plain.columns.size();
  ASSERT_EQ(with_regions.columns.size(), n + 14);
  std::vector<std::string> names, units;
  for (std::size_t c = n; c < n + 7; ++c) {
    names.push_back(with_regions.columns[c].name);
    units.push_back(with_regions.columns[c].unit);
    EXPECT_FALSE(with_regions.columns[c].meaning.empty());
  }
  EXPECT_THAT(names, ElementsAre("pad.x-.force_N", "pad.x-.area_m2", "pad.x-.mean_pressure_Pa",
                                 "pad.x-.peak_pressure_Pa", "pad.x-.copx_m", "pad.x-.copy_m", "pad.x-.copz_m"));
  EXPECT_THAT(units, ElementsAre("N", "m^2", "Pa", "Pa", "m", "m", "m"));
  EXPECT_EQ(with_regions.columns[n + 7].name, "pad.x+.force_N");
  // Separate loads of regions do not change the motion.
  ASSERT_EQ(with_regions.rows.size(), plain.rows.size());
  for (std::size_t i = 0; i < plain.rows.size(); ++i) {
    for (std::size_t c = 0; c < n; ++c) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(with_regions.rows[i][c]), std::bit_cast<std::uint64_t>(plain.rows[i][c]))
          << plain.columns[c].name << " in row " << i;
    }
  }
}

TEST(RegionColumns, EqualThePairWithAndWithoutContact) {
  for (const std::string& coupling :
       {monolithic, std::string("{scheme: jacobi, macro_step: 4e-4, extrapolation: 1}")}) {
    const RecordedRun run = run_local(scenario_from(falling_ball(coupling, "x- x+")));
    ASSERT_EQ(run.summary.status, "completed");
    const auto column = [&](const std::string& name) { return run.column("pad." + name); };
    const auto area = column("area_m2");
    const auto peak = column("peak_pressure_Pa");
    const auto mean = column("mean_pressure_Pa");
    const auto active = column("active_points");
    const auto cop = column("copx_m");
    int n_closed = 0;
    int n_open = 0;
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      const auto left = [&](const char* name) { return column(std::string("x-.") + name)[i]; };
      const auto right = [&](const char* name) { return column(std::string("x+.") + name)[i]; };
      EXPECT_NEAR(left("area_m2") + right("area_m2"), area[i], 1e-12 * area[i]) << "row " << i;
      EXPECT_EQ(std::max(left("peak_pressure_Pa"), right("peak_pressure_Pa")), peak[i]) << "row " << i;
      for (const auto& side : {left("force_N"), right("force_N")}) EXPECT_GE(side, 0.0);
      EXPECT_EQ(left("force_N") > 0.0, !std::isnan(left("copx_m")));
      if (std::isnan(cop[i])) {
        ++n_open;
        EXPECT_EQ(left("force_N") + right("force_N"), 0.0) << "row " << i;
        EXPECT_TRUE(std::isnan(left("copy_m")) && std::isnan(right("copz_m")));
        EXPECT_EQ(left("mean_pressure_Pa"), 0.0);
        EXPECT_EQ(mean[i], 0.0);
        EXPECT_EQ(active[i], 0.0);
        continue;
      }
      ++n_closed;
      // At the onset of contact there is no load yet.
      EXPECT_EQ(mean[i] > 0.0, area[i] > 0.0) << "row " << i;
      EXPECT_LE(mean[i], peak[i]) << "row " << i;
      EXPECT_EQ(active[i] > 0.0, area[i] > 0.0) << "row " << i;
      EXPECT_EQ(active[i], std::floor(active[i]));
      if (!(left("force_N") > 0.0 && right("force_N") > 0.0)) continue;
      EXPECT_NEAR(left("mean_pressure_Pa"), left("force_N") / left("area_m2"), 1e-12 * peak[i]);
      EXPECT_LT(std::abs(left("copx_m") - cop[i]), 0.02) << "in the world, as the pair's";
    }
    EXPECT_GT(n_closed, 5);
    EXPECT_GT(n_open, 5);
  }
}

class StoredRegions : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Coupling, StoredRegions,
                         testing::Values("{scheme: monolithic}", "{scheme: jacobi, macro_step: 4e-4, extrapolation: 2}",
                                         "{scheme: gauss_seidel, macro_step: 4e-4, extrapolation: tangent}",
                                         "{scheme: implicit, macro_step: 4e-4}"),
                         [](const auto& info) { return fmt::format("case{}", info.index); });

TEST_P(StoredRegions, AreStoredInACheckpointWithinAStep) {
  mbs::RunInput input = coupling_input(falling_ball(GetParam(), "halves"));
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  // 2 mm are fallen in 0.0202 s.
  ASSERT_TRUE(simulation.advance_to(0.02313));
  ASSERT_GT(simulation.output("pad.z-.force_N"), 0.0);
  const Checkpoint checkpoint = simulation.save();
  input.resume_from = checkpoint;
  mbs::Simulation other(input);
  other.initialise(fem::open_local_contact);
  for (const double t : {0.02313, 0.0232, 0.024, 0.03}) {
    ASSERT_TRUE(simulation.advance_to(t));
    ASSERT_TRUE(other.advance_to(t));
    const auto a = simulation.output_values();
    const auto b = other.output_values();
    ASSERT_EQ(a.size(), simulation.outputs().size());
    ASSERT_EQ(b.size(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string& name = simulation.outputs()[i].name;
      if (name == "step_size_s" && t == checkpoint.time) continue;  // no step since the restore
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i]), std::bit_cast<std::uint64_t>(b[i])) << name << " at " << t;
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
