// Every scenario in examples/ that needs no other file runs; Baumgarte's stabilisation on the gait chain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// Where 0.05 s of an example end before its contact, or its mesh is finer than this test needs.
const std::map<std::string, std::vector<std::string>> until_contact = {
    {"bouncing_ball", {"analysis.end_time=0.45"}},
    {"fem_ball",
     {"analysis.end_time=0.4285", "contact.element_size=0.04", "contact.contact_size=0.01",
      "analysis.integrator.rtol=1e-6"}},
    {"foot_press", {"analysis.end_time=0.15", "contact.element_size=0.012"}},
    {"block_friction", {"analysis.end_time=0.25", "contact.element_size=0.005"}},
    {"slider_crank", {"analysis.end_time=0.12"}},
    {"pressed_ball", {"analysis.end_time=0.2"}},
    {"restitution_drop", {"analysis.end_time=0.12"}},
    {"knee_springs", {"analysis.end_time=0.2"}},
    {"knee_press", {"analysis.end_time=0.2"}},
    {"knee_machado_3d", {"analysis.end_time=0.26"}},
    // Loads of a hundredth hardly close the gap between facets; the example shows the step to the whole load.
    {"knee_compare", {"analysis.end_time=1", "output.interval=1"}},
};

TEST(Examples, EachOneRuns) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HEELSTRIKE_SOURCE_DIR "/examples")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ASSERT_GE(files.size(), 11U);
  for (const auto& file : files) {
    const std::string text = read_text(file.string());
    // Meshes, motions and models are read by the client, which has separate tests.
    if (text.find(" file:") != std::string::npos || text.find("{file:") != std::string::npos ||
        text.find("mesh:") != std::string::npos || text.find("motion:") != std::string::npos ||
        text.find("recorded:") != std::string::npos || text.find("import:") != std::string::npos) {
      continue;
    }
    const Scenario whole = scenario_from(text);
    double end = std::min(0.05, whole.analysis.end_time);
    std::vector<std::string> settings = {fmt::format("analysis.end_time={}", end),
                                         fmt::format("output.interval={}", std::min(0.01, end))};
    if (const auto more = until_contact.find(file.stem().string()); more != until_contact.end()) {
      settings.insert(settings.end(), more->second.begin(), more->second.end());
      end = scenario_from(text, settings).analysis.end_time;
    }
    const auto run = run_local(scenario_from(text, settings));
    fmt::print("{:24} {:13} {:6} steps to {} s\n", file.filename().string(), run.summary.integrator.name,
               run.summary.integrator.steps, end);
    EXPECT_EQ(run.summary.status, "completed") << file << ": " << (run.summary.error ? run.summary.error->what() : "");
    EXPECT_DOUBLE_EQ(run.summary.simulated_time, end) << file;
    // An equilibrium under constant loads is one row.
    EXPECT_GT(run.rows.size(), whole.analysis.type == "static" ? 0U : 1U) << file;
    EXPECT_EQ(run.summary.contacts.empty(), whole.pairs.empty()) << file << ": the contact is what it shows";
  }
}

TEST(Examples, BaumgarteBoundsTheDriftOfTheGaitChain) {
  const std::string yaml = read_text(HEELSTRIKE_SOURCE_DIR "/examples/gait_chain.yaml");
  const auto exact = run_local(scenario_from(
      yaml, {"analysis.integrator={name: arkode_erk, rtol: 1.0e-12, atol: 1.0e-14}", "output.steps=none"}));
  ASSERT_EQ(exact.summary.status, "completed") << exact.summary.error->what();
  EXPECT_LT(exact.summary.max_position_violation, 1e-10);
  fmt::print("{:8} {:>10} {:>12} {:>12} {:>12} {:>14}\n", "method", "step s", "alpha, beta", "|Phi|", "|Phid|",
             "foot error m");
  for (const auto* method : {"rk4", "ab4am4"}) {
    for (const double step : {0.00145, 0.0145}) {
      double free_drift = 0.0;
      for (const double coefficient : {0.0, 5.0, 50.0}) {
        const auto run = run_local(scenario_from(
            yaml, {fmt::format("analysis.integrator={{name: {}, step: {}, baumgarte_alpha: {}, baumgarte_beta: {}}}",
                               method, step, coefficient, coefficient)}));
        ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
        const double foot =
            std::max(std::abs(run.column("right-foot.x_m").back() - exact.column("right-foot.x_m").back()),
                     std::abs(run.column("right-foot.y_m").back() - exact.column("right-foot.y_m").back()));
        fmt::print("{:8} {:10.5f} {:12.0f} {:12.2e} {:12.2e} {:14.2e}\n", method, step, coefficient,
                   run.summary.max_position_violation, run.summary.max_velocity_violation, foot);
        if (coefficient == 0.0) {
          free_drift = run.summary.max_position_violation;
        } else if (coefficient == 5.0) {
          // Larger coefficients are too stiff for the step: they can increase the drift, as the table shows.
          EXPECT_LT(run.summary.max_position_violation, free_drift) << method << " " << step;
        }
      }
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
