// A new user starts: an example of the installation with its files, and a scenario for own surfaces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "common/spatial/spatial.hpp"
#include "tests/integration/cli/program.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Json = nlohmann::json;

/// Runs heelstrike in a folder.
Finished start(const ScratchFolder& folder, std::vector<std::string> arguments) {
  return run("heelstrike", std::move(arguments), {.working_folder = folder.path(), .environment = {}});
}

TEST(Example, CopiesTheScenarioWithTheFilesItReads) {
  const ScratchFolder folder;
  const Finished copied = start(folder, {"example", "gait_synthetic", "-o", "step"});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_EQ(copied.err, "");
  EXPECT_TRUE(fs::exists(folder.path() / "step/gait_synthetic.csv"));
  const Finished valid = start(folder, {"validate", "step/gait_synthetic.yaml"});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  const std::string text = read_text(folder.path() / "step/gait_synthetic.yaml");
  EXPECT_THAT(text, Not(HasSubstr("examples/"))) << "commands in its comments are for the folder of the copy";
  // The schema of editors is that of the program.
  const std::string line = text.substr(0, text.find('\n'));
  EXPECT_TRUE(fs::path(line.substr(line.find('=') + 1)).is_absolute()) << line;
}

TEST(Example, ListsEveryScenarioWithItsDescription) {
  const ScratchFolder folder;
  const Finished listed = start(folder, {"example", "--json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  std::size_t n_scenarios = 0;
  const Json list = Json::parse(listed.out);
  for (const Json& example : list["examples"]) {
    const std::string file = example["file"];
    n_scenarios += file.ends_with(".yaml") ? 1 : 0;
    EXPECT_EQ(file.ends_with(".yaml"), example["description"] != "") << file;
  }
  EXPECT_GT(n_scenarios, 40U);
  EXPECT_THAT(start(folder, {"example"}).out, HasSubstr("Ball of 1 kg dropped from 1 m onto rigid ground."));
}

TEST(Example, EveryScenarioCanBeCopied) {
  const ScratchFolder folder;
  const Json list = Json::parse(start(folder, {"example", "--json"}).out);
  for (const Json& example : list["examples"]) {
    const std::string name = example["name"];
    const Finished copied = start(folder, {"example", name, "-o", "all/" + name, "--json"});
    ASSERT_EQ(copied.exit_code, 0) << name << ": " << copied.err;
    // Measured data, what a script computes from them, and binaries are not part of the installation; everything else
    // is copied.
    for (const Json& file : Json::parse(copied.out)["not_included"]) {
      const std::string missing = file;
      EXPECT_TRUE(missing.starts_with("${HEELSTRIKE_DATA}") || missing.starts_with(name + "/") ||
                  missing.ends_with(".fmu"))
          << name << ": " << missing;
    }
  }
}

TEST(Example, KeepsExistingFiles) {
  const ScratchFolder folder;
  folder.write("gait_synthetic.csv", "mine");
  const Finished rejected = start(folder, {"example", "gait_synthetic"});
  EXPECT_EQ(rejected.exit_code, 5);
  EXPECT_THAT(rejected.err, AllOf(HasSubstr("gait_synthetic.csv"), HasSubstr("--force")));
  EXPECT_EQ(read_text(folder.path() / "gait_synthetic.csv"), "mine");
  EXPECT_FALSE(fs::exists(folder.path() / "gait_synthetic.yaml")) << "all files or none";
  EXPECT_EQ(start(folder, {"example", "gait_synthetic", "--force"}).exit_code, 0);
  EXPECT_NE(read_text(folder.path() / "gait_synthetic.csv"), "mine");
}

TEST(Example, SuggestsTheNearestName) {
  const ScratchFolder folder;
  const Finished rejected = start(folder, {"example", "bouncing_bal"});
  EXPECT_EQ(rejected.exit_code, 2);
  EXPECT_THAT(rejected.err, HasSubstr("did you mean 'bouncing_ball'?"));
  EXPECT_EQ(start(folder, {"example", "examples/bouncing_ball.yaml"}).exit_code, 0) << "as the guides write it";
}

TEST(Example, ReportsFilesThatAreNotIncluded) {
  const ScratchFolder folder;
  const Finished copied = start(folder, {"example", "knee_bei_natural"});
  EXPECT_EQ(copied.exit_code, 0);
  EXPECT_THAT(copied.err, HasSubstr("${HEELSTRIKE_DATA}/knee_natural/lenhart2015-R-tibia-cartilage.stl"));
}

std::string facet(const Vector3& a, const Vector3& b, const Vector3& c) {
  std::string text = "facet normal 0 0 0\nouter loop\n";
  for (const Vector3& v : {a, b, c}) text += fmt::format("vertex {} {} {}\n", v.x(), v.y(), v.z());
  return text + "endloop\nendfacet\n";
}

/// Facets of a closed ellipsoid. @param center, radii  in the unit of the file
std::string ellipsoid(const Vector3& center, const Vector3& radii) {
  constexpr int n_rings = 16, n_sectors = 24;
  const auto point = [&](int ring, int sector) -> Vector3 {
    const double polar = std::numbers::pi * ring / n_rings;
    const double around = 2.0 * std::numbers::pi * (sector % n_sectors) / n_sectors;
    const double s = ring % n_rings == 0 ? 0.0 : std::sin(polar);
    return center + radii.cwiseProduct(Vector3(s * std::cos(around), s * std::sin(around), std::cos(polar)));
  };
  std::string text;
  for (int ring = 0; ring < n_rings; ++ring) {
    for (int sector = 0; sector < n_sectors; ++sector) {
      const Vector3 a = point(ring, sector), b = point(ring + 1, sector), c = point(ring + 1, sector + 1),
                    d = point(ring, sector + 1);
      if (ring + 1 < n_rings) text += facet(a, b, c);
      if (ring > 0) text += facet(a, c, d);
    }
  }
  return text;
}

std::string solid(const std::string& facets) {
  return "solid part\n" + facets + "endsolid part\n";
}

struct NewScenario {
  std::string name;
  std::string kind;
  std::vector<std::pair<std::string, std::string>> surfaces;  ///< name and content of the files
  std::vector<std::string> options;
};

class NewScenarioOf : public testing::TestWithParam<NewScenario> {};

TEST_P(NewScenarioOf, WritesAScenarioThatRunsIntoContact) {
  const ScratchFolder folder;
  std::vector<std::string> arguments = {"new", GetParam().kind, "-o", "mine/scenario.yaml"};
  for (const auto& [name, content] : GetParam().surfaces) arguments.push_back(folder.write(name, content));
  arguments.insert(arguments.end(), GetParam().options.begin(), GetParam().options.end());
  const Finished written = start(folder, arguments);
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const Finished valid = start(folder, {"validate", "mine/scenario.yaml"});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;

  const Finished ran = start(folder, {"run", "mine/scenario.yaml", "--in-process", "--json", "-o", "run"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json summary = Json::parse(read_text(folder.path() / "run/summary.json"));
  ASSERT_FALSE(summary["contacts"].empty()) << summary.dump(1);
  const Finished again = start(folder, arguments);
  EXPECT_EQ(again.exit_code, 5) << "an existing scenario is kept";
  EXPECT_THAT(again.err, HasSubstr("--force"));
}

const std::string part = solid(ellipsoid({0.3, 0.1, 0.2}, {0.06, 0.04, 0.03}));

INSTANTIATE_TEST_SUITE_P(
    Kinds, NewScenarioOf,
    testing::Values(NewScenario{"foot",
                                "foot",
                                {{"scan.stl", solid(ellipsoid({100, 0, 50}, {130, 45, 50}))}},
                                {"--element-size", "15mm"}},
                    // y points from the tibia to the femur, which is guessed from the files.
                    NewScenario{"knee",
                                "knee",
                                {{"tibia.stl", solid(ellipsoid({0, -12, 0}, {25, 10, 40}))},
                                 {"femur.stl", solid(ellipsoid({0, 31, 2}, {30, 30, 30}))}},
                                {}},
                    NewScenario{"foot_load",
                                "foot",
                                {{"scan.stl", solid(ellipsoid({100, 0, 50}, {130, 45, 50}))}},
                                {"--element-size", "15mm", "--load", "0.2kN"}},
                    NewScenario{"knee_load",
                                "knee",
                                {{"tibia.stl", solid(ellipsoid({0, -12, 0}, {25, 10, 40}))},
                                 {"femur.stl", solid(ellipsoid({0, 31, 2}, {30, 30, 30}))}},
                                {"--load", "200N"}},
                    NewScenario{"impact", "impact", {{"part.stl", part}}, {"--element-size", "15mm", "--drop", "20mm"}},
                    NewScenario{"mechanism", "mechanism", {{"head.stl", part}}, {"--up", "x"}},
                    NewScenario{"robot", "robot", {{"shoe.stl", part}}, {"--material", "rubber"}}),
    [](const auto& info) { return info.param.name; });

TEST(New, GuessesMillimetresAndReportsIt) {
  const ScratchFolder folder;
  folder.write("scan.stl", solid(ellipsoid({100, 0, 50}, {130, 45, 50})));
  const Finished written = start(folder, {"new", "foot", "scan.stl"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.err, AllOf(HasSubstr("unit of scan.stl (largest extent 260): mm"), HasSubstr("--unit")));
  EXPECT_THAT(read_text(folder.path() / "my_foot.yaml"), HasSubstr("length_scale: 0.001"));
  const Finished metres = start(folder, {"new", "foot", "scan.stl", "--unit", "m", "--force"});
  EXPECT_THAT(metres.err, HasSubstr("warning")) << "a foot of 260 m";
}

struct RejectedStart {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> reported;
};

class NewInput : public testing::TestWithParam<RejectedStart> {};

TEST_P(NewInput, IsRejectedWithAReason) {
  const ScratchFolder folder;
  folder.write("part.stl", part);
  folder.write("empty.stl", solid(""));
  folder.write("pair.stl", solid(ellipsoid({0, 0, 0}, {0.1, 0.1, 0.1}) + ellipsoid({1, 0, 0}, {0.1, 0.1, 0.1})));
  folder.write("far.stl", solid(ellipsoid({1, 1, 1}, {0.06, 0.04, 0.03})));
  folder.write("open.stl",
               solid(facet({0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0}) + facet({0.1, 0, 0}, {0, 0, 0}, {0, 0, 0.1})));
  // Its normal points down, away from far.stl.
  folder.write("plateau.stl", solid(facet({0.9, 0.9, 0.9}, {1.1, 1.2, 0.9}, {1.2, 0.9, 0.9})));
  std::vector<std::string> arguments = {"new"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const Finished rejected = start(folder, arguments);
  EXPECT_EQ(rejected.exit_code, 2) << rejected.err;
  for (const std::string& text : GetParam().reported) EXPECT_THAT(rejected.err, HasSubstr(text));
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".yaml") << "nothing is written";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, NewInput,
    testing::Values(
        RejectedStart{"MissingFile", {"foot", "scan.stl"}, {"scan.stl"}},
        RejectedStart{"UnknownKind", {"foots", "part.stl"}, {"did you mean 'foot'?"}},
        RejectedStart{"EmptySurface", {"foot", "empty.stl"}, {"empty.stl", "no triangle"}},
        RejectedStart{"TwoBodies", {"impact", "pair.stl"}, {"pair.stl", "one body", "2 separate pieces"}},
        RejectedStart{"OpenSurface", {"impact", "open.stl"}, {"closed surface", "heelstrike mesh open.stl"}},
        RejectedStart{"OneSurfaceOfAKnee", {"knee", "part.stl"}, {"two surfaces", "tibia.stl femur.stl"}},
        RejectedStart{"SurfacesApart", {"knee", "part.stl", "far.stl"}, {"--up"}},
        RejectedStart{"ExchangedSurfaces", {"knee", "plateau.stl", "far.stl"}, {"exchange the files?"}},
        RejectedStart{"RobotFile", {"robot", "leg.urdf"}, {"heelstrike import leg.urdf"}},
        RejectedStart{"OptionOfAnotherKind", {"foot", "part.stl", "--arm", "1m"}, {"--arm", "--depth"}},
        RejectedStart{"ForceIsNoLoad",
                      {"foot", "part.stl", "--force", "600"},
                      {"--force only replaces an existing file", "--load 600 presses"}},
        RejectedStart{"LoadAndDepth", {"foot", "part.stl", "--load", "600", "--depth", "8mm"}, {"--load", "--depth"}},
        RejectedStart{"LoadOfAnotherKind", {"impact", "part.stl", "--load", "600"}, {"--load", "--drop"}},
        RejectedStart{"LoadInOtherUnits", {"foot", "part.stl", "--load", "60kg"}, {"--load", "600N"}},
        RejectedStart{"LengthWithoutUnit", {"foot", "part.stl", "--depth", "8"}, {"--depth", "8mm"}},
        RejectedStart{"UnknownMaterial", {"foot", "part.stl", "--material", "stel"}, {"did you mean 'steel'?"}},
        RejectedStart{"UnknownUnit", {"foot", "part.stl", "--unit", "km"}, {"unit", "mm"}},
        RejectedStart{"UnknownAxis", {"foot", "part.stl", "--up", "w"}, {"axis", "-z"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heelstrike::cli_test
