// A scenario that imports a model of OpenSim: its result, and the places of its errors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numbers>

#include "common/errors/error.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Two bodies on a hinge, a contact of two meshes with a name, and a motor that is not imported.
constexpr const char* leg =
    R"(<OpenSimDocument Version="40000"><Model name="leg"><gravity>0 -9.81 0</gravity><BodySet><objects>
<Body name="thigh"><mass>7</mass><mass_center>0 0 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
<Body name="shank"><mass>4</mass><mass_center>0 -0.2 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><PinJoint name="knee"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>
<socket_child_frame>/bodyset/shank</socket_child_frame><coordinates><Coordinate name="flexion">
<default_value>0.5</default_value></Coordinate></coordinates></PinJoint></objects></JointSet>
<ForceSet><objects><CoordinateActuator name="motor" />
<Smith2018ArticularContactForce name="touch"><appliesForce>true</appliesForce>
  <socket_target_mesh>/contactgeometryset/upper</socket_target_mesh>
  <socket_casting_mesh>/contactgeometryset/lower</socket_casting_mesh></Smith2018ArticularContactForce>
</objects></ForceSet><ContactGeometrySet><objects>
<Smith2018ContactMesh name="upper"><socket_frame>/bodyset/thigh</socket_frame><mesh_file>upper.stl</mesh_file>
  <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.45</poissons_ratio><thickness>0.003</thickness></Smith2018ContactMesh>
<Smith2018ContactMesh name="lower"><socket_frame>/bodyset/shank</socket_frame><mesh_file>lower.stl</mesh_file>
  <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.45</poissons_ratio><thickness>0.003</thickness></Smith2018ContactMesh>
</objects></ContactGeometrySet></Model></OpenSimDocument>
)";

/// One key per line, so that a message can name the line; own entries from line 9 on.
constexpr const char* swing = R"(heelstrike: 1
import:
  osim: "${HEELSTRIKE_IMPORT_TEST}/leg.osim"
  subset: [knee]
  meshes: {upper: other.stl}
  set:
    gravity: [0, 0, -1]
    contact.layers: lumped
bodies:
  stone: {mass: 1, inertia: [1, 1, 1]}
loads:
  push: {body: shank, force: [1, 0, 0]}
output:
  steps: none
)";

class ImportSection : public testing::Test {
 protected:
  ImportSection() : folder_(fs::temp_directory_path() / ("heelstrike_import_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_ / "model");
    for (const char* mesh : {"model/upper.stl", "model/lower.stl", "other.stl"}) write(mesh, mesh);
    write("model/leg.osim", leg);
    ::setenv("HEELSTRIKE_IMPORT_TEST", (folder_ / "model").c_str(), 1);
  }
  ~ImportSection() override {
    ::unsetenv("HEELSTRIKE_IMPORT_TEST");
    fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  [[nodiscard]] RunRequest load(const std::string& from = "", const std::string& to = "",
                                const Overrides& overrides = {}) const {
    std::string text = swing;
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    write("swing.yaml", text);
    return load_request(folder_ / "swing.yaml", overrides, {});
  }

  /// Message of the scenario with one text replaced; "it loads" when there is none.
  [[nodiscard]] std::string message(const std::string& from, const std::string& to) const {
    try {
      (void)load(from, to);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
      return error.what();
    }
    return "it loads";
  }

  fs::path folder_;
};

TEST_F(ImportSection, IsAScenarioWithTheImportedModel) {
  const RunRequest request = load();
  const Scenario& scenario = request.scenario;
  EXPECT_EQ(scenario.name, "swing");
  std::vector<std::string> bodies;
  for (const BodySpec& body : scenario.bodies) bodies.push_back(body.name);
  EXPECT_THAT(bodies, testing::UnorderedElementsAre("stone", "thigh", "shank"));
  EXPECT_EQ(scenario.gravity, Vector3(0, 0, -1));
  const RunRequest tall = load("subset: [knee]", "subset: [knee]\n  scale: {thigh: 1.1, shank: 1.1}\n  mass: 22");
  EXPECT_NEAR(tall.scenario.bodies[1].mass + tall.scenario.bodies[2].mass, 22.0, 1e-9);
  EXPECT_EQ(scenario.loads.size(), 1U);
  EXPECT_EQ(scenario.output.interval, 0.01) << "of the import, beside `steps` of the file";
  ASSERT_EQ(scenario.pairs.size(), 1U);
  EXPECT_EQ(std::get<std::string>(scenario.pairs[0].spec.parameters.at("layers")), "lumped");
  EXPECT_THAT(request.not_imported, Contains(HasSubstr("motor")));
  EXPECT_THAT(request.notes, Contains(HasSubstr("leg.osim")));
  // Meshes are in the folder of the model, under names that are valid on another machine too.
  std::map<std::string, std::string> files;
  for (const AssetContent& file : request.files) files[file.name] = file.content;
  EXPECT_EQ(files, (std::map<std::string, std::string>{{"${HEELSTRIKE_IMPORT_TEST}/lower.stl", "model/lower.stl"},
                                                       {"other.stl", "other.stl"}}));
  EXPECT_THAT(request.yaml, Not(HasSubstr("import:")));
}

TEST_F(ImportSection, ExternalLoadsAreLoadsBesideThoseOfTheFile) {
  write("model/loads.xml",
        "<OpenSimDocument Version=\"40000\"><ExternalLoads><objects><ExternalForce name=\"plate\">"
        "<applied_to_body>shank</applied_to_body><force_identifier>force_v</force_identifier>"
        "<point_identifier>force_p</point_identifier></ExternalForce></objects><datafile>plates.mot</datafile>"
        "</ExternalLoads></OpenSimDocument>");
  write("model/plates.mot",
        "plates\nendheader\ntime\tforce_vx\tforce_vy\tforce_vz\tforce_px\tforce_py\tforce_pz\n0\t1\t2\t3\t4\t5\t6\n"
        "1\t1\t2\t3\t4\t5\t6\n");
  const std::string key = "external_loads: \"${HEELSTRIKE_IMPORT_TEST}/loads.xml\"";
  const RunRequest request = load("subset: [knee]", key);
  ASSERT_EQ(request.scenario.loads.size(), 2U);
  const LoadSpec& plate = request.scenario.loads[1];
  EXPECT_EQ(plate.name, "plate");
  EXPECT_EQ(plate.body, "shank");
  EXPECT_EQ(plate.axes_body, "ground");
  EXPECT_EQ(plate.point_body, "ground");
  ASSERT_TRUE(plate.functions.contains("py"));
  EXPECT_EQ(plate.functions.at("py").function->at(0.5).f, 5.0);
  // The data are beside the file of the loads, under a name that is valid on another machine too.
  EXPECT_THAT(request.files, Contains(testing::Field(&AssetContent::name, "${HEELSTRIKE_IMPORT_TEST}/plates.mot")));
  EXPECT_THAT(message("subset: [knee]", "external_loads: none.xml"),
              HasSubstr("swing.yaml:4: import.external_loads: "));
  EXPECT_THAT(message("subset: [knee]", key + "\n  external_loads_data: none.mot"),
              HasSubstr("swing.yaml:5: import.external_loads_data: "));
  EXPECT_THAT(message("meshes: {upper: other.stl}", key),
              HasSubstr("swing.yaml:5: import.external_loads: expected the whole model"));
}

/// A motion of 2 s at 200 Hz: 20 degrees plus 10 t, with a disturbance of 50 Hz.
std::string motion_of(double disturbance) {
  std::string text = "swing\ninDegrees=yes\nendheader\ntime\tflexion\n";
  for (int i = 0; i <= 400; ++i) {
    const double t = 0.005 * i;
    text += fmt::format("{}\t{}\n", t, 20.0 + 10.0 * t + disturbance * std::cos(100.0 * std::numbers::pi * t));
  }
  return text;
}

TEST_F(ImportSection, MotionDrivesTheWholeModelAtTheTimesOfItsFile) {
  const double degree = std::numbers::pi / 180.0;
  const std::string key = "motion: \"${HEELSTRIKE_IMPORT_TEST}/swing.mot\"";
  write("model/swing.mot", motion_of(0.0));
  const RunRequest request = load("subset: [knee]", key + "\n  start: 1");
  ASSERT_EQ(request.scenario.drivers.size(), 1U);
  const FunctionSpec& flexion = request.scenario.drivers[0].functions.at("flexion");
  EXPECT_NEAR(flexion.function->at(1.5).f, 35.0 * degree, 1e-9);
  EXPECT_THAT(request.files, Contains(testing::Field(&AssetContent::name, "${HEELSTRIKE_IMPORT_TEST}/swing.mot")));
  // The shank hangs at the angle of the row at the start.
  const auto shank = std::ranges::find(request.scenario.bodies, "shank", &BodySpec::name);
  EXPECT_NEAR(std::atan2(shank->X_WB.R(1, 0), shank->X_WB.R(0, 0)), 30.0 * degree, 1e-9);
  EXPECT_THAT(message("subset: [knee]", key + "\n  start: 3"),
              HasSubstr("import.start: expected a time of the motion, 0 to 2 s, found 3 s"));
  // Both passes of order 6 reduce 50 Hz to 1 / (1 + (sqrt(2) - 1) (tan(pi 50 / 200) / tan(pi 6 / 200))^6), 1e-6.
  write("model/swing.mot", motion_of(5.0));
  const RunRequest filtered = load("subset: [knee]", key + "\n  cutoff: 6\n  filter_order: 6");
  EXPECT_NEAR(filtered.scenario.drivers[0].functions.at("flexion").function->at(1.0).f, 30.0 * degree, 1e-4 * degree);
  const RunRequest raw = load("subset: [knee]", key);
  EXPECT_NEAR(raw.scenario.drivers[0].functions.at("flexion").function->at(1.0).f, 35.0 * degree, 1e-9);
}

TEST_F(ImportSection, FilteredMotionNeedsEqualIntervals) {
  write("model/swing.mot",
        "swing\ninDegrees=yes\nendheader\ntime\tflexion\n0\t0\n0.1\t1\n0.2\t2\n0.9\t3\n1\t4\n2\t4\n");
  EXPECT_THAT(message("subset: [knee]", "motion: \"${HEELSTRIKE_IMPORT_TEST}/swing.mot\"\n  cutoff: 1"),
              HasSubstr("expected rows at equal intervals for `cutoff`"));
}

TEST_F(ImportSection, BodiesAreAtTheRequestedCoordinates) {
  const RunRequest request = load("subset: [knee]", "subset: [knee]\n  coordinates: {flexion: 1.0}");
  const auto shank = std::ranges::find(request.scenario.bodies, "shank", &BodySpec::name);
  ASSERT_NE(shank, request.scenario.bodies.end());
  EXPECT_NEAR(shank->X_WB.R(1, 0), std::sin(1.0), 1e-12);
}

TEST_F(ImportSection, IsOverriddenBeforeAndAfterTheImport) {
  const RunRequest request =
      load("", "",
           {.backend = {},
            .assignments = {"gravity=[0, 0, -2]", "import.set={contact.strain: large}", "output.interval=0.5"}});
  EXPECT_EQ(request.scenario.gravity, Vector3(0, 0, -2));
  EXPECT_EQ(request.scenario.output.interval, 0.5);
  EXPECT_FALSE(request.scenario.pairs.at(0).spec.parameters.at("layers") == ParameterValue(std::string("lumped")));
}

TEST_F(ImportSection, ResultIsEqualFromTheRunFolder) {
  const RunRequest first = load();
  write("as_run.yaml", first.yaml);
  const RunRequest again = reload_request(folder_ / "as_run.yaml", folder_ / "swing.yaml", folder_, {});
  EXPECT_EQ(again.yaml, first.yaml);
  EXPECT_EQ(file_digests(again), file_digests(first));
}

TEST_F(ImportSection, TextDoesNotDependOnTheWorkingFolder) {
  const RunRequest by_whole_path = load();
  const fs::path here = fs::current_path();
  fs::current_path(folder_);
  const RunRequest by_name = load_request("swing.yaml", {}, {});
  fs::current_path(here);
  EXPECT_EQ(by_name.yaml, by_whole_path.yaml);
  EXPECT_THAT(by_name.yaml, Not(HasSubstr(folder_.string())));
}

TEST_F(ImportSection, ErrorsAreReportedAtTheirPlaceInTheFile) {
  EXPECT_THAT(message("[knee]", "[hip]"),
              AllOf(HasSubstr("swing.yaml:4: import.subset: expected names of joints"), HasSubstr("'hip'")));
  EXPECT_THAT(message("subset: [knee]", "subsets: [knee]"), HasSubstr("swing.yaml:4: import.subsets: "));
  EXPECT_THAT(message("${HEELSTRIKE_IMPORT_TEST}", "${HEELSTRIKE_NO_SUCH}"),
              AllOf(HasSubstr("swing.yaml:3: import.osim: "), HasSubstr("variable HEELSTRIKE_NO_SUCH")));
  EXPECT_THAT(message("leg.osim", "arm.osim"), AllOf(HasSubstr("swing.yaml:3: import.osim: "), HasSubstr("arm.osim")));
  EXPECT_THAT(message("upper:", "uper:"), AllOf(HasSubstr("swing.yaml:5: import.meshes: "), HasSubstr("'uper'")));
  EXPECT_THAT(message("{upper: other.stl}", "{upper: nothing.stl}"),
              HasSubstr("swing.yaml:5: import.meshes: contact mesh 'upper'"));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  drawer_force: 100"),
              HasSubstr("swing.yaml:5: import.drawer_force: expected import.flexion together with it"));
  EXPECT_THAT(message("{upper: other.stl}", "{upper: \"${HEELSTRIKE_NO_SUCH}/other.stl\"}"),
              AllOf(HasSubstr("swing.yaml:5: import.meshes: "), HasSubstr("variable HEELSTRIKE_NO_SUCH")));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  motion: \"${HEELSTRIKE_NO_SUCH}/a.csv\""),
              AllOf(HasSubstr("swing.yaml:5: import.motion: "), HasSubstr("variable HEELSTRIKE_NO_SUCH")));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  motion: a.csv"), HasSubstr("swing.yaml:5: import.motion: "));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  coordinates: {flexion: bent}"),
              HasSubstr("swing.yaml:5: import.coordinates.flexion: expected a finite number"));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  scale: {thigh: wide}"),
              AllOf(HasSubstr("swing.yaml:5: import.scale.thigh: "), HasSubstr("a factor > 0")));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  scale: {arm: 1.1}"),
              AllOf(HasSubstr("swing.yaml:5: import.scale: "), HasSubstr("(thigh, shank), found 'arm'")));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  coordinates: {flexion: .nan}"),
              HasSubstr("swing.yaml:5: import.coordinates.flexion: expected a finite number"));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  coordinates: {bend: 1}"),
              HasSubstr("swing.yaml:5: import.coordinates: expected names of coordinates of the model (flexion)"));
  EXPECT_THAT(message("gravity:", "gravitation:"),
              AllOf(HasSubstr("gravitation=[0, 0, -1] ("), HasSubstr("swing.yaml:7)"), HasSubstr("gravity")));
  EXPECT_THAT(message("contact.layers: lumped", "bodies.shank.mass: -1"),
              HasSubstr("swing.yaml:8): bodies.shank.mass: "));
  // Lines of its own entries are those of the file, also in sections that both have.
  EXPECT_THAT(message("stone: {mass: 1", "stone: {mass: -1"), HasSubstr("swing.yaml:10: bodies.stone.mass: "));
  EXPECT_THAT(message("body: shank", "body: shan"), HasSubstr("swing.yaml:12: loads.push.body: "));
  EXPECT_THAT(message("steps: none", "steps: some"), HasSubstr("swing.yaml:14: output.steps: "));
  EXPECT_THAT(message("heelstrike: 1\n", ""), HasSubstr("heelstrike: missing"));
  EXPECT_THAT(message("contact.layers: lumped", "heelstrike: 7"),
              HasSubstr("swing.yaml:8: import.set.heelstrike: expected a key of the imported model"));
  EXPECT_THAT(message("subset: [knee]", "subset: [knee]\n  flexion: 25"),
              AllOf(HasSubstr("swing.yaml:5: import.flexion: "), HasSubstr("[rad]")));
}

TEST_F(ImportSection, DuplicatesAreRejected) {
  EXPECT_THAT(message("steps: none", "interval: 0.5"),
              AllOf(HasSubstr("swing.yaml:14: output.interval: "), HasSubstr("in both"),
                    HasSubstr("import.set, `output.interval: ...`")));
  EXPECT_THAT(message("stone:", "shank:"), HasSubstr("swing.yaml:10: bodies.shank: "));
  EXPECT_THAT(message("loads:", "gravity: [0, 0, 0]\nloads:"), HasSubstr("swing.yaml:11: gravity: "));
}

TEST_F(ImportSection, ErrorsOfTheModelAreReportedAsSuch) {
  std::string heavy = leg;
  const std::string mass = "<mass>4</mass>";
  heavy.replace(heavy.find(mass), mass.size(), "<mass>-4</mass>");
  write("model/leg.osim", heavy);
  // Lines of imported entries are in no file.
  EXPECT_THAT(message("", ""), AllOf(testing::StartsWith("${HEELSTRIKE_IMPORT_TEST}/leg.osim: bodies.shank.mass: "),
                                     HasSubstr("swing.yaml: imports that model")));
  EXPECT_THAT(message("stone: {mass: 1", "stone: {mass: -1"),
              AllOf(HasSubstr("swing.yaml:10: bodies.stone.mass: "),
                    HasSubstr("\n${HEELSTRIKE_IMPORT_TEST}/leg.osim: bodies.shank.mass: ")));
}

// A scenario of a program that does not read it from the disk.
TEST_F(ImportSection, IsRejectedWithoutFileAccess) {
  try {
    (void)parse_scenario(swing, "swing.yaml", scenario_catalog());
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("swing.yaml:3: import: expected a scenario with the imported model"));
  }
}

}  // namespace
}  // namespace heelstrike::client
