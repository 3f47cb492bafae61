// One knee with every kind of contact: the example compared in the guide, on coarse triangles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "common/results/run_folder.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"

namespace heelstrike::cli_test {
namespace {

using testing::HasSubstr;

double last(const TimeSeries& run, const std::string& column) {
  const auto found = std::ranges::find(run.columns, column);
  if (found == run.columns.end()) ADD_FAILURE() << "no column " << column;
  return run.values[(run.rows() - 1) * run.columns.size() + static_cast<std::size_t>(found - run.columns.begin())];
}

// Requirement: any back-end runs the same scenario by its name alone, and the results are comparable.
TEST(KneeCompare, AllBackEndsCarryTheSameLoadOnTheSameKnee) {
  const ScratchFolder folder;
  const std::vector<std::string> backends{"elastic_foundation", "fem_condensed", "fem_full", "rigid", "hertz"};
  const Finished result = run(
      "heelstrike",
      {"compare", examples + "knee_compare.yaml", "--backends", "elastic_foundation,fem_condensed,fem_full,rigid,hertz",
       "--in-process", "-o", "knee", "--json", "--set", "contact.cartilage.main.surface.knee.edge=0.005", "--set",
       "contact.cartilage.partner.surface.knee.edge=0.005"},
      {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("rigid bodies reach equilibrium"));
  EXPECT_THAT(read_text(folder.path() / "knee/report.html"), HasSubstr("peak pressure"));
  const auto rows = nlohmann::json::parse(result.out)["rows"];
  ASSERT_EQ(rows.size(), backends.size());
  std::map<std::string, double> peak;
  std::map<std::string, double> sinks;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const std::string& name = backends[i];
    ASSERT_EQ(rows[i]["backend"], name);
    const TimeSeries run = read_timeseries(folder.path() / "knee" / name);
    // Equilibria are balanced to 1e-8 of their forces; a dynamic rest state has a smaller residual.
    EXPECT_NEAR(std::abs(last(run, "cartilage.fy_N")), 500.0, 1e-4) << name;
    sinks[name] = -last(run, "femur.y_m");
    if (name == "rigid") {
      EXPECT_TRUE(rows[i]["peak_pressure_Pa"].is_null()) << "rigid bodies have no pressure";
      continue;
    }
    peak[name] = rows[i]["peak_pressure_Pa"].get<double>();
    EXPECT_GT(last(run, "cartilage.mean_pressure_Pa"), 0.3 * peak[name]) << name;
    EXPECT_GT(rows[i]["area_m2"].get<double>(), 2e-5) << name;
    // The load's line of action, 6 mm from the middle of 48 mm, divides it; condyles touch within a millimetre of the
    // middle of their dishes.
    const double medial = last(run, "cartilage.medial.force_N");
    const double lateral = last(run, "cartilage.lateral.force_N");
    EXPECT_NEAR(medial / (medial + lateral), 0.5 + 6.0 / 48.0, 0.03) << name;
  }
  // An elastic foundation does not deform sideways: it is stiffer than the same layer of elements and has a smaller
  // area; a half space without bone behind it is much softer; rigid bodies hardly move.
  EXPECT_LT(sinks["elastic_foundation"], sinks["fem_condensed"]);
  EXPECT_GT(sinks["hertz"], 2.0 * sinks["fem_condensed"]);
  EXPECT_LT(sinks["rigid"], 0.3 * sinks["elastic_foundation"]);
  EXPECT_GT(peak["elastic_foundation"], peak["fem_condensed"]);
  // Small strains: the condensed body and the full order differ by the effect of strain.
  EXPECT_NEAR(peak["fem_full"] / peak["fem_condensed"], 1.0, 0.25);

  // Cartilage on the femur as well: layers in series are more compliant and spread the same load.
  const Finished layered =
      run("heelstrike",
          {"compare", examples + "knee_compare.yaml", "--backends", "elastic_foundation,fem_condensed,fem_full",
           "--in-process", "-o", "both", "--json", "--set", "contact.cartilage.main.surface.knee.edge=0.005", "--set",
           "contact.cartilage.partner.surface.knee.edge=0.005", "--set",
           "contact.cartilage.partner.material={youngs_modulus: 1.0e7, poissons_ratio: 0.45, "
           "density: 1100}"},
          {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(layered.exit_code, 0) << layered.out << layered.err;
  const auto comparison = nlohmann::json::parse(layered.out);
  for (const auto& row : comparison["rows"]) {
    const std::string name = row["backend"];
    const TimeSeries of_both = read_timeseries(folder.path() / "both" / name);
    EXPECT_NEAR(std::abs(last(of_both, "cartilage.fy_N")), 500.0, 1e-4) << name;
    EXPECT_GT(-last(of_both, "femur.y_m"), 1.1 * sinks[name]) << name;
    EXPECT_LT(row["peak_pressure_Pa"].get<double>(), 0.95 * peak[name]) << name;
  }
}

// The whole load on bodies at zero gap: forces jump between the facets at first, and the equilibrium equals that of a
// load ramp.
TEST(KneeCompare, SuddenLoadReachesTheEquilibriumOfARamp) {
  const ScratchFolder folder;
  const auto sinks = [&](const std::string& name, const std::vector<std::string>& changes) {
    std::vector<std::string> words{
        "run", examples + "knee_compare.yaml", "--backend", "fem_condensed", "--in-process", "--quiet", "-o", name};
    for (const std::string& change : changes) words.insert(words.end(), {"--set", change});
    const Finished result = run("heelstrike", words, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return last(read_timeseries(folder.path() / name), "femur.y_m");
  };
  const double grown = sinks("grown", {});
  const double at_once = sinks("at_once", {"loads.weight={body: femur, force: [0, -500, 0], torque: [-3, 0, 0]}"});
  // 1e-10 of 500 N at a stiffness of about 1e6 N/m is 5e-14 m.
  EXPECT_NEAR(at_once, grown, 1e-12);
  EXPECT_THAT(read_text(folder.path() / "at_once/run.log"), HasSubstr("repeated with shorter steps"));
}

}  // namespace
}  // namespace heelstrike::cli_test
