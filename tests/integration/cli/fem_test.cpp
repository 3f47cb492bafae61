// Finite elements end to end: equal bits in all modes, the cache, the files for ParaView, and the handling of invalid
// meshes, lost clients and concurrent equal requests.
#include "tests/integration/cli/fem_scenarios.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/server_pair.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Runs below `folder` with a separate cache.
ProgramOptions here(const ScratchFolder& folder, std::map<std::string, std::string> more = {}) {
  more["XDG_CACHE_HOME"] = (folder.path() / "cache").string();
  return {.working_folder = folder.path(), .environment = std::move(more)};
}

/// Time series and fields of a run as one text.
std::string results_of(const fs::path& run) {
  std::string text = read_text(run / "timeseries.csv") + read_text(run / "fields.pvd");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run / "fields")) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) text += file.filename().string() + read_text(file);
  return text;
}

// Requirement: local, in-process and remote runs with 1 and 2 threads have the same bits, fields included.
TEST(Fem, ResultsAreEqualBitForBitInAllModes) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const std::string file = folder.write("block.yaml", block_scenario());
  const Finished in_process = run("heelstrike", {"run", file, "--in-process", "-o", "a"}, here(folder));
  ASSERT_EQ(in_process.exit_code, 0) << in_process.err;
  const std::string expected = results_of(folder.path() / "a");
  EXPECT_GT(expected.size(), 100000U);
  struct Mode {
    std::string folder;
    std::vector<std::string> arguments;
    std::string threads;
  };
  for (const Mode& mode :
       {Mode{"b", {"--in-process"}, "1"}, Mode{"c", {}, "1"}, Mode{"d", {}, "2"},
        Mode{"e", {"--mbs", servers.mbs_address}, "2"}, Mode{"f", {"--fem", servers.fem_address}, "1"}}) {
    std::vector<std::string> arguments{"run", file, "-o", mode.folder};
    arguments.insert(arguments.end(), mode.arguments.begin(), mode.arguments.end());
    const Finished result = run("heelstrike", arguments,
                                here(folder, {{"OMP_NUM_THREADS", mode.threads},
                                              {"OPENBLAS_NUM_THREADS", mode.threads},
                                              {"DEAL_II_NUM_THREADS", mode.threads}}));
    ASSERT_EQ(result.exit_code, 0) << mode.folder << ": " << result.err;
    EXPECT_TRUE(results_of(folder.path() / mode.folder) == expected) << "a and " << mode.folder << " differ";
  }
}

// Two deformable bodies through the same session, in this process and over the wire.
TEST(Fem, TwoDeformableBodiesAreEqualBitForBitInAllModes) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const std::string file = folder.write("blocks.yaml", two_block_scenario());
  const Finished in_process = run("heelstrike", {"run", file, "--in-process", "-o", "a"}, here(folder));
  ASSERT_EQ(in_process.exit_code, 0) << in_process.err;
  const std::string expected = results_of(folder.path() / "a");
  EXPECT_GT(expected.size(), 100000U);
  const Finished remote = run("heelstrike", {"run", file, "--fem", servers.fem_address, "-o", "b"}, here(folder));
  ASSERT_EQ(remote.exit_code, 0) << remote.err;
  EXPECT_TRUE(results_of(folder.path() / "b") == expected);
}

/// Last value of a column of timeseries.csv.
double last_value(const fs::path& run, const std::string& column) {
  std::istringstream table(read_text(run / "timeseries.csv"));
  std::string line;
  std::vector<std::string> names;
  std::vector<std::string> last;
  const auto cells = [](const std::string& row) {
    std::vector<std::string> words;
    std::istringstream stream(row);
    for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
    return words;
  };
  while (std::getline(table, line)) (names.empty() ? names : last) = cells(line);
  const auto found = std::ranges::find(names, column);
  if (found == names.end()) throw std::runtime_error("no column " + column);
  return std::stod(last.at(static_cast<std::size_t>(found - names.begin())));
}

// A cloud of points as partner: the same bits in this process and over the wire, fields included.
TEST(Fem, PointCloudContactIsSolvedAndWritten) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const std::string file = folder.write("cloud.yaml", cloud_scenario());
  const Finished in_process = run("heelstrike", {"run", file, "--in-process", "-o", "a"}, here(folder));
  ASSERT_EQ(in_process.exit_code, 0) << in_process.err;
  EXPECT_THAT(in_process.err, Not(HasSubstr("no fields")));
  const Finished remote = run("heelstrike", {"run", file, "--fem", servers.fem_address, "-o", "b"}, here(folder));
  ASSERT_EQ(remote.exit_code, 0) << remote.err;
  EXPECT_TRUE(results_of(folder.path() / "a") == results_of(folder.path() / "b"));
  // The columns above the cloud (20 x 20 mm) alone would carry E A d / h = 4 N, the whole block 12 N.
  const double force = last_value(folder.path() / "a", "block-ground.fz_N");
  EXPECT_GT(force, 4.0);
  EXPECT_LT(force, 12.0);
  const std::string body = read_text(folder.path() / "a/fields/block-ground_block_00002.vtu");
  for (const char* name : {"displacement", "contact_pressure", "traction", "von_mises"}) {
    EXPECT_THAT(body, HasSubstr("Name=\"" + std::string(name) + "\""));
  }
  EXPECT_THAT(read_text(folder.path() / "a/fields/block-ground_ground_partner_00000.vtu"),
              HasSubstr("NumberOfPoints=\"25\" NumberOfCells=\"25\""));
  const Finished page = run("heelstrike", {"report", "a"}, here(folder));
  EXPECT_EQ(page.exit_code, 0) << page.err;
  // The same cloud from a table.
  std::string table = "x_m,y_m,z_m,area_m2\n";
  for (int i = 0; i < 25; ++i) table += fmt::format("{},{},0,25.0e-6\n", 0.005 * (i % 5 - 2), 0.005 * (i / 5 - 2));
  const auto with_table = [&](const std::string& content) {
    folder.write("points.csv", content);
    return run("heelstrike",
               {"run", file, "--fem", servers.fem_address, "-o", "t", "--force", "--set",
                "contact.block-ground.partner.surface={points: {file: points.csv}}"},
               here(folder));
  };
  const Finished from_table = with_table(table);
  ASSERT_EQ(from_table.exit_code, 0) << from_table.err;
  EXPECT_EQ(read_text(folder.path() / "t/timeseries.csv"), read_text(folder.path() / "a/timeseries.csv"));
  const Finished unknown = with_table("x_m,y_m,z_m,area\n0,0,0,1\n");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("points.csv"), HasSubstr("expected a column 'area_m2'")));
  const Finished negative = with_table("x_m,y_m,z_m,area_m2\n0,0,0,-1\n");
  EXPECT_NE(negative.exit_code, 0);
  EXPECT_THAT(negative.err, HasSubstr("points.csv"));
  const Finished approximate = run(
      "heelstrike",
      {"run", file, "--in-process", "-o", "c", "--set", "contact.block-ground.parameters.cloud_distance=approximate"},
      here(folder));
  ASSERT_EQ(approximate.exit_code, 0) << approximate.err;
  // cloud_contact_test measures the deviation; here the result only stays between the same two forces.
  const double found = last_value(folder.path() / "c", "block-ground.fz_N");
  EXPECT_NE(found, force);
  EXPECT_GT(found, 4.0);
  EXPECT_LT(found, 12.0);
}

// The outer layer through the same session; with a linear layer it equals the condensed body.
TEST(Fem, LayerOnACondensedInteriorIsEqualBitForBitInAllModes) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const std::string file = folder.write("block.yaml", block_scenario());
  const std::vector<std::string> layered{"run", file, "--backend", "fem_layered", "-o"};
  const auto run_it = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = layered;
    arguments.push_back(out);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished result = run("heelstrike", arguments, here(folder));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  run_it("a", {"--in-process"});
  run_it("b", {"--fem", servers.fem_address});
  EXPECT_TRUE(results_of(folder.path() / "a") == results_of(folder.path() / "b"));
  EXPECT_THAT(read_text(folder.path() / "a/run.log"), HasSubstr("the layer has"));
  run_it("c", {"--in-process", "--set", "contact.block-ground.parameters.material_law=linear"});
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "d"}, here(folder)).exit_code, 0);
  for (const char* column : {"block-ground.fz_N", "block-ground.fx_N"}) {
    const double layer = last_value(folder.path() / "c", column);
    const double condensed = last_value(folder.path() / "d", column);
    // Solver accuracy accumulated over twenty commits of the friction history.
    EXPECT_NEAR(layer, condensed, 1e-6 * std::abs(condensed)) << column;
    // 0.1 mm on 20 mm: half a percent of strain.
    EXPECT_NEAR(last_value(folder.path() / "a", column), condensed, 0.02 * std::abs(condensed)) << column;
  }
}

// Materials of element sets, from the file through both servers: two springs in series.
// Requirement: candidates that the partner cannot reach are excluded automatically and reported, without effect on the
// result.
TEST(Fem, NodesOutOfReachOfThePlateAreExcludedAndReported) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const auto pressed = [&](const std::string& out, const std::string& contact_nodes, const std::string& where) {
    std::vector<std::string> arguments{"run", HEELSTRIKE_SOURCE_DIR "/examples/foot_press.yaml", "-o", out};
    for (const char* set : {"analysis.end_time=0.19", "contact.element_size=0.01", "contact.max_penetration=0.001"}) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    arguments.insert(arguments.end(), {"--set", "contact.contact_nodes=" + contact_nodes});
    if (where.empty()) arguments.emplace_back("--in-process");
    if (!where.empty()) arguments.insert(arguments.end(), {"--fem", where});
    const Finished result = run("heelstrike", arguments, here(folder));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_text(folder.path() / out / "run.log");
  };
  EXPECT_THAT(pressed("a", "all", ""), Not(HasSubstr("contact nodes omitted")));
  EXPECT_THAT(pressed("b", "reachable", servers.fem_address),
              HasSubstr("contact nodes omitted: the plane cannot reach them"));
  const double all = last_value(folder.path() / "a", "sole-plate.fz_N");
  EXPECT_GT(std::abs(all), 1.0) << "[N]";
  // Another elimination order: rounding times the condition number of the stiffness, about 1e5.
  EXPECT_NEAR(last_value(folder.path() / "b", "sole-plate.fz_N"), all, 1e-9 * std::abs(all));
}

TEST(Fem, LayersOfTwoMaterialsFollowTheClosedForm) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server_cache").string()});
  const std::string file = folder.write("layers.yaml", layered_scenario());
  // A polygon with 24 corners: four rings of 5 mm.
  const double area = 0.5 * 24.0 * 4e-4 * std::sin(2.0 * std::numbers::pi / 24.0);
  const auto expected = [&](double E_pad) { return 1e-4 * area / (0.01 / E_pad + 0.03 / 1e9); };
  int n_runs = 0;
  for (const double E_pad : {2e6, 4e6}) {
    for (const bool in_process : {true, false}) {
      const std::string out = std::to_string(n_runs++);
      std::vector<std::string> arguments{
          "run", file,    "-o",
          out,   "--set", fmt::format("contact.block-ground.main.materials.pad.youngs_modulus={}", E_pad)};
      if (in_process) {
        arguments.emplace_back("--in-process");
      } else {
        arguments.insert(arguments.end(), {"--fem", servers.fem_address});
      }
      const Finished result = run("heelstrike", arguments, here(folder));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      // Rounding: the condition number of the stiffness is about 1e7, the pose is written as -0.0999...e-3.
      EXPECT_NEAR(last_value(folder.path() / out, "block-ground.fz_N"), expected(E_pad), 1e-8 * expected(E_pad)) << out;
    }
  }
}

TEST(Fem, WritesASeriesForParaView) {
  const ScratchFolder folder;
  const std::string file = folder.write("block.yaml", block_scenario());
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "a"}, here(folder)).exit_code, 0);
  const std::string index = read_text(folder.path() / "a/fields.pvd");
  for (const char* part : {"timestep=\"0\"", "timestep=\"0.5\"", "timestep=\"1\"", "block-ground_block_00002.vtu",
                           "block-ground_ground_partner_00000.vtu"}) {
    EXPECT_THAT(index, HasSubstr(part));
  }
  // The ground is fixed: written once, shown at every time.
  EXPECT_FALSE(fs::exists(folder.path() / "a/fields/block-ground_ground_partner_00001.vtu"));
  const std::string last = read_text(folder.path() / "a/fields/block-ground_block_00002.vtu");
  for (const char* name : {"displacement", "contact_pressure", "traction", "von_mises", "principal_stress"}) {
    EXPECT_THAT(last, HasSubstr("Name=\"" + std::string(name) + "\""));
  }
  EXPECT_THAT(last, HasSubstr("UNITS_LABEL"));
  const Finished fewer = run("heelstrike",
                             {"run", file, "--in-process", "-o", "b", "--set", "output.fields.quantities=[von_mises]",
                              "--set", "output.fields.mesh=volume"},
                             here(folder));
  ASSERT_EQ(fewer.exit_code, 0) << fewer.err;
  const std::string selected = read_text(folder.path() / "b/fields/block-ground_block_00002.vtu");
  EXPECT_THAT(selected, HasSubstr("von_mises"));
  EXPECT_THAT(selected, Not(HasSubstr("traction")));
  // Point laws have no fields: the run continues and reports this.
  const std::string ball = folder.write("ball.yaml", R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies: {ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.2]}}
contact:
  pair:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {}}}
    backend: flores
    parameters: {stiffness: 1.4e8}
analysis: {end_time: 0.01}
output: {interval: 1.0e-3, fields: {interval: 5.0e-3}}
)");
  const Finished without = run("heelstrike", {"run", ball, "--in-process", "-o", "c"}, here(folder));
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_THAT(without.err, HasSubstr("no fields of pair 'pair'"));
  EXPECT_FALSE(fs::exists(folder.path() / "c/fields.pvd"));
}

TEST(Fem, PreparationIsReadFromTheCacheAndRebuiltIfDamaged) {
  const ScratchFolder folder;
  // A surface to be meshed, so that the cache contains both kinds of files.
  folder.write("cube.stl", cube_stl());
  const std::string file =
      folder.write("cube.yaml", mesh_scenario("cube.stl",
                                              "{element_size: 0.005, clamped_box: [-1, -1, 0.009, 1, 1, 1], "
                                              "contact_direction: [0, 0, -1], contact_angle: 0.2}"));
  const auto run_it = [&](const std::string& out) {
    const Finished result = run("heelstrike", {"run", file, "--in-process", "-o", out}, here(folder));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_text(folder.path() / out / "run.log");
  };
  const std::string first = run_it("a");
  EXPECT_THAT(first, HasSubstr("mesh"));
  EXPECT_THAT(first, HasSubstr("factorize"));
  const std::string second = run_it("b");
  EXPECT_THAT(second, HasSubstr("loaded from the cache"));
  EXPECT_THAT(second, Not(HasSubstr("factorize")));
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(folder.path() / "cache/heelstrike")) {
    if (entry.path().filename() != "locks") kept.push_back(entry.path());
  }
  ASSERT_EQ(kept.size(), 2U) << "a mesh and a condensation";
  for (const fs::path& path : kept) {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(500);
    bytes.put('~');
  }
  EXPECT_THAT(run_it("c"), HasSubstr("is corrupt; it will be rebuilt"));
  for (const fs::path& path : kept) fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_THAT(run_it("d"), HasSubstr("it will be rebuilt"));
  EXPECT_THAT(run_it("e"), HasSubstr("loaded from the cache"));
  for (const char* other : {"b", "c", "d", "e"}) {
    EXPECT_TRUE(read_text(folder.path() / other / "timeseries.csv") == read_text(folder.path() / "a/timeseries.csv"))
        << "a and " << other << " differ";
  }
}

TEST(Fem, ConcurrentRunsOfASweepPrepareABodyOnce) {
  const ScratchFolder folder;
  folder.write("cube.stl", cube_stl());
  const std::string file =
      folder.write("cube.yaml", mesh_scenario("cube.stl",
                                              "{element_size: 0.002, clamped_box: [-1, -1, 0.009, 1, 1, 1], "
                                              "contact_direction: [0, 0, -1], contact_angle: 0.2}"));
  const Finished result = run(
      "heelstrike", {"sweep", file, "--vary", "analysis.end_time=0.06,0.08", "--jobs", "2", "-o", "s"}, here(folder));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::size_t n_runs = 0, n_prepared = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "s")) {
    if (!fs::exists(entry.path() / "run.log")) continue;
    ++n_runs;
    if (read_text(entry.path() / "run.log").find("factorize") != std::string::npos) ++n_prepared;
  }
  EXPECT_EQ(n_runs, 2U);
  EXPECT_EQ(n_prepared, 1U) << "the other run takes the product from the cache";
}

struct InvalidBody {
  std::string name;
  std::string scenario;
  std::map<std::string, std::string> files;
  std::vector<std::string> said;
  int exit_code = 3;  ///< default: the scenario and its files were accepted, the preparation failed
};

void PrintTo(const InvalidBody& body, std::ostream* out) {
  *out << body.name;
}

class InvalidBodies : public testing::TestWithParam<InvalidBody> {};

TEST_P(InvalidBodies, AreReported) {
  const ScratchFolder folder;
  for (const auto& [name, content] : GetParam().files) folder.write(name, content);
  const std::string file = folder.write("body.yaml", GetParam().scenario);
  for (const bool in_process : {true, false}) {
    std::vector<std::string> arguments{"run", file, "-o", in_process ? "a" : "b"};
    if (in_process) arguments.emplace_back("--in-process");
    const Finished result = run("heelstrike", arguments, here(folder));
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.err;
    for (const std::string& part : GetParam().said) EXPECT_THAT(result.err, HasSubstr(part));
  }
}

const std::string clamped_cube = "{element_size: 0.005, clamped_box: [-1, -1, 0.009, 1, 1, 1]}";
const std::string clamped_tip = "{clamped_set: TIP}";
const std::string plane_partner = "surface: {plane: {normal: [0, 0, 1]}}";

INSTANTIATE_TEST_SUITE_P(
    Files, InvalidBodies,
    testing::Values(
        InvalidBody{"SurfaceWithAHole",
                    mesh_scenario("cube.stl", clamped_cube),
                    {{"cube.stl", cube_stl(11)}},
                    {"open edge", "3"}},
        InvalidBody{"InvertedElement",
                    mesh_scenario("two.inp", clamped_tip),
                    {{"two.inp", two_tetrahedra(-0.003)}},
                    {"inverted", "element"}},
        InvalidBody{"FlatElement",
                    mesh_scenario("two.inp", clamped_tip),
                    {{"two.inp", two_tetrahedra(0.0)}},
                    {"degenerate", "element"}},
        InvalidBody{"UnknownSet",
                    mesh_scenario("two.inp", "{clamped_set: TOP}"),
                    {{"two.inp", two_tetrahedra(0.02)}},
                    {"'TOP' does not exist", "TIP"}},
        InvalidBody{"EmptySet",
                    mesh_scenario("two.inp", "{clamped_set: NOBODY}"),
                    {{"two.inp", two_tetrahedra(0.02)}},
                    {"NOBODY"}},
        InvalidBody{"UnknownContactSet",
                    mesh_scenario("two.inp", "{clamped_set: TIP, contact_set: SOLE}"),
                    {{"two.inp", two_tetrahedra(0.02)}},
                    {"'SOLE' does not exist", "contact_set"}},
        InvalidBody{"EmptyContactSet",
                    mesh_scenario("two.inp", "{clamped_set: TIP, contact_set: NOTHING}"),
                    {{"two.inp", two_tetrahedra(0.02) + "*SURFACE, NAME=NOTHING, TYPE=ELEMENT\n"}},
                    {"NOTHING"}},
        InvalidBody{"UnknownChoiceOfContactNodes",
                    block_scenario("friction: 0.5}", "friction: 0.5, contact_nodes: near}"),
                    {},
                    {"contact_nodes", "near", "reachable, all"},
                    2},
        InvalidBody{"UnknownMaterialSet",
                    layered_scenario("set: bone", "set: bnoe"),
                    {},
                    {"element set 'bnoe' does not exist", "bone, pad"}},
        InvalidBody{
            "SetsLeaveElementsWithoutMaterial",
            layered_scenario("        hard: {set: bone, youngs_modulus: 1.0e9, poissons_ratio: 0, density: 1900}\n",
                             ""),
            {},
            {"elements have no material"}},
        InvalidBody{"NothingHolds",
                    block_scenario("clamped_set: top, ", ""),
                    {},
                    {"translations along x, y, z and rotations about x, y, z", "inertia_relief"},
                    2},
        InvalidBody{"CandidatesOnTheClamp",
                    block_scenario("contact_set: bottom", "contact_set: side"),
                    {},
                    {"is clamped", "candidate node"}},
        InvalidBody{"Incompressible",
                    block_scenario("poissons_ratio: 0.3", "poissons_ratio: 0.5"),
                    {},
                    {"poissons_ratio", "0.5"},
                    2},
        InvalidBody{"NoStiffness",
                    block_scenario("youngs_modulus: 2.0e6", "youngs_modulus: 0"),
                    {},
                    {"youngs_modulus", "Pa"},
                    2},
        InvalidBody{"NegativeStiffness",
                    block_scenario("youngs_modulus: 2.0e6", "youngs_modulus: -2.0e6"),
                    {},
                    {"youngs_modulus", "-2.0e6", "Pa"},
                    2},
        InvalidBody{"MoreThanIncompressible",
                    block_scenario("poissons_ratio: 0.3", "poissons_ratio: 0.7"),
                    {},
                    {"poissons_ratio", "0.7"},
                    2},
        InvalidBody{"NothingHoldsAtFullOrder",
                    block_scenario("backend: fem_condensed\n    parameters: {element_size: 0.005, clamped_set: top, ",
                                   "backend: fem_full\n    parameters: {element_size: 0.005, "),
                    {},
                    {"translations along x, y, z and rotations about x, y, z", "inertia_relief"},
                    2},
        InvalidBody{"BodyInsideOut",
                    mesh_scenario("cube.stl", clamped_cube),
                    {{"cube.stl", cube_stl(12, true)}},
                    {"normals pointing into the material"}},
        InvalidBody{"PartnerInsideOut",
                    block_scenario(plane_partner, "surface: {mesh: {file: cube.stl}}"),
                    {{"cube.stl", cube_stl(12, true)}},
                    {"normals pointing into the material"}},
        InvalidBody{"PartnerIsFree",
                    two_block_scenario("partner_element_size: 0.005"),
                    {},
                    {"translations along x, y, z and rotations about x, y, z"},
                    2},
        InvalidBody{"PartnerIsAPlaneOfRubber",
                    block_scenario(plane_partner,
                                   plane_partner +
                                       "\n      material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1100}"),
                    {},
                    {"partner.material", "half space) is rigid"},
                    2},
        InvalidBody{"PartnerParametersOfARigidPartner",
                    block_scenario("friction: 0.5}", "friction: 0.5, partner_clamped_set: bottom}"),
                    {},
                    {"partner_clamped_set", "the partner is rigid"},
                    2},
        InvalidBody{"CloudOnQuadraticElements",
                    cloud_scenario(", element: tet10, cloud_distance: approximate"),
                    {},
                    {"element", "linear tetrahedra (4 nodes), found 10"},
                    2},
        InvalidBody{"CloudOfTooManyPoints",
                    // The sole has 3 x 3 nodes.
                    cloud_scenario(", max_candidates: 20", "0.02"),
                    {},
                    {"max_candidates", "partner.surface.points: 25 points"},
                    3},
        InvalidBody{
            "LayerOfNegativeDepth", outer_layer_scenario(", layer_depth: -0.001"), {}, {"layer_depth", "-0.001"}, 2},
        InvalidBody{"LayerTakesEverything",
                    outer_layer_scenario(", layer_depth: 0.05"),
                    {},
                    {"layer_depth", "leaves no interior to condense"}},
        InvalidBody{"LayerOfUnknownSet",
                    outer_layer_scenario(", layer_set: sole"),
                    {},
                    {"layer_set", "element set 'sole' does not exist; sets of the mesh: none"}},
        InvalidBody{"LayerGivenTwice",
                    outer_layer_scenario(", layer_set: sole, layer_depth: 0.001"),
                    {},
                    {"layer_depth", "remove one of them"},
                    2},
        InvalidBody{"LayerThatTouchesNothing",
                    layered_scenario("backend: fem_condensed\n    parameters: {",
                                     "backend: fem_layered\n    parameters: {layer_set: bone, "),
                    {},
                    {"layer_set", "lie outside the layer 'bone', which contains none of them"}},
        InvalidBody{"LayerWithTooLargeAnInterface",
                    outer_layer_scenario(", max_interface_nodes: 10"),
                    {},
                    {"max_interface_nodes is 10", "GB"},
                    3},
        InvalidBody{"LayerOfAFreeBody",
                    block_scenario("backend: fem_condensed\n    parameters: {element_size: 0.005, clamped_set: top, ",
                                   "backend: fem_layered\n    parameters: {element_size: 0.005, "),
                    {},
                    {"translations", "rotations about x, y, z", "inertia"},
                    2},
        InvalidBody{
            "LayerWithoutMass",
            block_scenario("density: 1100}\n    partner:\n      body: ground\n      surface: {plane: {normal: [0, 0, "
                           "1]}}\n    backend: fem_condensed\n    parameters: {element_size: 0.005, clamped_set: top",
                           "density: 0}\n    partner:\n      body: ground\n      surface: {plane: {normal: [0, 0, "
                           "1]}}\n    backend: fem_layered\n    parameters: {element_size: 0.005, support: "
                           "inertia_relief"),
            {},
            {"inertia relief", "density"},
            2},
        InvalidBody{"TooDeep",
                    block_scenario("0.0101 - 0.2e-3 * step(t, 0, 0.2)", "0.0101 - 12e-3 * step(t, 0, 0.2)"),
                    {},
                    {"frame at t = 0.1", "skipped", "deep", "max_penetration = 0.005 m"},
                    7},  // prescribed motion continues after failed frames, and is incomplete
        InvalidBody{"WrongKindOfFile",
                    mesh_scenario("cube.stl", clamped_cube),
                    {{"cube.stl", "this is a letter\n"}},
                    {"cube.stl"},
                    2},
        InvalidBody{"TruncatedFile",
                    mesh_scenario("cube.stl", clamped_cube),
                    {{"cube.stl", cube_stl().substr(0, 700)}},
                    {"cube.stl"},
                    2},
        InvalidBody{"WrongKindOfVolumeFile",
                    mesh_scenario("two.msh", clamped_tip),
                    {{"two.msh", two_tetrahedra(0.02)}},
                    {"two.msh"},
                    2},
        InvalidBody{"TruncatedVolumeFile",
                    mesh_scenario("two.inp", clamped_tip),
                    {{"two.inp", two_tetrahedra(0.02).substr(0, 110)}},
                    {"two.inp"},
                    2},
        InvalidBody{"EmptyFile", mesh_scenario("cube.stl", clamped_cube), {{"cube.stl", ""}}, {"cube.stl"}, 2},
        InvalidBody{"MissingFile", mesh_scenario("cube.stl", clamped_cube), {}, {"cube.stl"}, 2},
        InvalidBody{"MissingVariable",
                    mesh_scenario("\"${HEELSTRIKE_NOT_SET}/cube.stl\"", clamped_cube),
                    {},
                    {"expected the environment variable", "HEELSTRIKE_NOT_SET"},
                    2},
        InvalidBody{"NoElementSize",
                    mesh_scenario("cube.stl", "{clamped_box: [-1, -1, 0.009, 1, 1, 1]}"),
                    {{"cube.stl", cube_stl()}},
                    {"element_size", "missing"},
                    2}),
    [](const auto& info) { return info.param.name; });

/// Resident memory of a process [MiB].
double memory_use_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") {
      double kib = 0.0;
      status >> kib;
      return kib / 1024.0;
    }
  }
  return 0.0;
}

/// A ball that takes some seconds to condense.
std::string large_ball() {
  return R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies: {ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.2]}}
contact:
  ball-ground:
    main:
      body: ball
      surface: {sphere: {radius: 0.1}}
      material: {youngs_modulus: 300.0e6, poissons_ratio: 0.3, density: 240}
    partner: {body: ground, surface: {plane: {}}}
    backend: fem_condensed
    parameters: {support: inertia_relief, element_size: 0.0085}
analysis: {end_time: 0.1}
output: {interval: 0.01}
)";
}

// Requirement: two concurrent clients with the same preparation compute it once.
TEST(Fem, ConcurrentEqualPreparationsAreComputedOnce) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server_cache").string()});
  const std::string file = folder.write("ball.yaml", large_ball());
  const std::vector<std::string> arguments{"condense", file, "--fem", servers.fem_address, "--json"};
  Program first("heelstrike", arguments, here(folder));
  Program second("heelstrike", arguments, here(folder));
  int n_meshed = 0;
  int n_condensed = 0;
  for (Program* program : {&first, &second}) {
    const Finished result = program->wait(std::chrono::seconds{120});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto stages = nlohmann::json::parse(result.out)["stages"].get<std::vector<std::string>>();
    n_meshed += static_cast<int>(std::ranges::count(stages, "mesh"));
    n_condensed += static_cast<int>(std::ranges::count(stages, "factorize"));
  }
  EXPECT_EQ(n_meshed, 1);
  EXPECT_EQ(n_condensed, 1);
}

// Requirement: a client lost during the preparation leaves neither work nor memory behind.
TEST(Fem, LostClientStopsItsPreparation) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", ""});
  const std::string small = folder.write("block.yaml", block_scenario());
  // Libraries and buffers that any preparation leaves allocated.
  ASSERT_EQ(run("heelstrike", {"condense", small, "--fem", servers.fem_address}, here(folder)).exit_code, 0);
  const double before = memory_use_of(servers.fem->pid());
  const std::string file = folder.write("ball.yaml", large_ball());
  {
    Program client("heelstrike", {"condense", file, "--fem", servers.fem_address}, here(folder));
    // The compliance of about 2700 nodes takes 500 MiB; its columns are being computed.
    EXPECT_TRUE(
        eventually([&] { return memory_use_of(servers.fem->pid()) > before + 200.0; }, std::chrono::seconds{90}));
    client.signal(SIGKILL);
    (void)client.wait();
  }
  EXPECT_TRUE(servers.fem->wait_for_output("stopped on request", std::chrono::seconds{120})) << servers.fem->output();
  // The factorisation is one call that cannot be interrupted; it takes seconds on an idle machine.
  // Measured within 10 MiB; an eighth of the product allows for fragmentation. AddressSanitizer retains the last 256
  // MiB of freed memory.
  const double allowed = HEELSTRIKE_TEST_TIME_FACTOR > 1 ? 60.0 + 256.0 : 60.0;
  EXPECT_TRUE(eventually([&] { return memory_use_of(servers.fem->pid()) < before + allowed; }))
      << before << " MiB before, " << memory_use_of(servers.fem->pid()) << " MiB after";
  EXPECT_EQ(run("heelstrike", {"condense", small, "--fem", servers.fem_address}, here(folder)).exit_code, 0);
}

TEST(Fem, MeshAboveTheServerLimitIsRejected) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", "", "--max-mesh-elements", "1000"});
  const std::string ball = folder.write("ball.yaml", large_ball());
  const Finished rejected = run("heelstrike", {"condense", ball, "--fem", servers.fem_address}, here(folder));
  EXPECT_EQ(rejected.exit_code, 4) << rejected.err;
  EXPECT_THAT(rejected.err, HasSubstr("the limit here is 1000"));
  const std::string block = folder.write("block.yaml", block_scenario());
  EXPECT_EQ(run("heelstrike", {"condense", block, "--fem", servers.fem_address, "--set", "contact.element_size=0.01"},
                here(folder))
                .exit_code,
            0)
      << "others are not affected";
}

TEST(Mesh, ChecksAndFillsAndRepairsOnRequestOnly) {
  const ScratchFolder folder;
  const std::string open = folder.write("open.stl", cube_stl(11));
  const Finished check = run("heelstrike", {"mesh", open}, here(folder));
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.out, HasSubstr("open edge"));
  EXPECT_THAT(check.out, HasSubstr("extent     x -0.01 to 0.01, y -0.01 to 0.01"));
  EXPECT_THAT(check.out, Not(HasSubstr("repaired")));
  const Finished repaired =
      run("heelstrike", {"mesh", open, "--fill-holes", "5", "--size", "5mm", "-o", "cube.vtu", "--json"}, here(folder));
  ASSERT_EQ(repaired.exit_code, 0) << repaired.err;
  const auto report = nlohmann::json::parse(repaired.out);
  EXPECT_EQ(report["repaired"].size(), 1U);
  EXPECT_NEAR(report["volume_m3"].get<double>(), 8e-6, 1e-12) << "flat faces are exact";
  EXPECT_GT(report["elements"].get<double>(), 200.0);
  EXPECT_EQ(report["quality_histogram"].size(), 10U);
  EXPECT_TRUE(fs::exists(folder.path() / "cube.vtu"));
  const Finished again = run("heelstrike", {"mesh", "cube.vtu", "--json"}, here(folder));
  EXPECT_EQ(nlohmann::json::parse(again.out)["elements"], report["elements"]);
  EXPECT_EQ(run("heelstrike", {"mesh", open, "--size", "5mm"}, here(folder)).exit_code, 2) << "not repaired unasked";
  EXPECT_EQ(run("heelstrike", {"mesh", open, "--size", "5 parsec"}, here(folder)).exit_code, 2);
}

TEST(Mesh, RejectsAndWarnsOfImplausibleSizes) {
  const ScratchFolder folder;
  const std::string cube = folder.write("cube.stl", cube_stl());
  const Finished metres = run("heelstrike", {"mesh", cube, "--size", "5"}, here(folder));
  EXPECT_EQ(metres.exit_code, 2);
  EXPECT_THAT(metres.err, HasSubstr("write 5mm"));
  const Finished large = run("heelstrike", {"mesh", cube, "--size", "5m"}, here(folder));
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("larger than the body"));
  const Finished scaled = run("heelstrike", {"mesh", cube, "--scale", "0.001"}, here(folder));
  EXPECT_EQ(scaled.exit_code, 0) << scaled.err;
  EXPECT_THAT(scaled.err, HasSubstr("2e-05 m long with --scale = 0.001; did you mean m? Set --scale: 1"));
  const Finished huge =
      run("heelstrike", {"mesh", folder.write("huge.stl", std::string(80, 'x') + "\xff\xff\xff\x7f")}, here(folder));
  EXPECT_EQ(huge.exit_code, 2) << "a damaged count is no limit of a server";
  EXPECT_THAT(huge.err, HasSubstr("huge.stl"));
}

// Prism cartilage from two surfaces to fields in a page; formats without prisms are reported.
TEST(Mesh, FillsALayerWithPrismsUsableAsABody) {
  const ScratchFolder folder;
  const auto mesh = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "mesh");
    return run("heelstrike", arguments, here(folder));
  };
  ASSERT_EQ(mesh({"knee-tibia", "--edge", "6mm", "-o", "tibia.stl"}).exit_code, 0);
  ASSERT_EQ(mesh({"knee-tibia-bone", "--edge", "6mm", "-o", "bone.stl"}).exit_code, 0);
  const Finished layer = mesh({"--layer", "tibia.stl", "bone.stl", "--prisms", "-o", "layer.vtu", "--json"});
  ASSERT_EQ(layer.exit_code, 0) << layer.err;
  const auto report = nlohmann::json::parse(layer.out);
  EXPECT_EQ(report["nodes_per_element"], 6);
  EXPECT_EQ(report["elements"].get<int>(), 2 * report["surface_triangles"].get<int>()) << "two layers";
  EXPECT_GT(report["min_quality"].get<double>(), 0.1);
  const auto again = nlohmann::json::parse(mesh({"layer.vtu", "--json"}).out);
  EXPECT_EQ(again["min_quality"], report["min_quality"]);
  EXPECT_THAT(mesh({"layer.vtu"}).out, HasSubstr("prisms with 6 nodes"));
  const Finished quadratic = mesh({"layer.vtu", "--order", "2"});
  EXPECT_EQ(quadratic.exit_code, 2);
  EXPECT_THAT(quadratic.err, HasSubstr("holds prisms with 6 nodes, and higher orders are not available"));
  EXPECT_THAT(mesh({"--layer", "tibia.stl", "bone.stl", "--prisms", "--order", "2"}).err,
              HasSubstr("--order 2: the prisms of a layer have 6 nodes"));
  EXPECT_THAT(mesh({"tibia.stl", "--prisms"}).err, HasSubstr("--prisms: only the layer of --layer"));
  const auto thick = nlohmann::json::parse(
      mesh({"--layer", "tibia.stl", "--thickness", "2mm", "--size", "3mm", "-o", "thick.vtu", "--json"}).out);
  EXPECT_NEAR(thick["mean_thickness_m"].get<double>(), 0.002, 1e-9);
  EXPECT_GT(thick["elements"].get<int>(), 2 * report["elements"].get<int>()) << "triangles of 3 mm instead of 6 mm";
  EXPECT_THAT(mesh({"--layer", "tibia.stl"}).err,
              HasSubstr("--layer: expected the surface behind tibia.stl, or its distance by --thickness, found none"));
  EXPECT_THAT(mesh({"--layer", "tibia.stl", "bone.stl", "--thickness", "2mm"}).err, HasSubstr("found both"));
  EXPECT_THAT(mesh({"tibia.stl", "--thickness", "2mm"}).err, HasSubstr("--thickness: requires --layer OUTER"));
  const std::string pressed = R"yaml(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  plate: {mass: 1, inertia: [1, 1, 1]}
drivers:
  press:
    body: plate
    x: {polynomial: [0]}
    y: {expression: "-0.0202 - 0.0002 * t"}
    z: {polynomial: [0]}
    rx: {polynomial: [0]}
    ry: {polynomial: [0]}
    rz: {polynomial: [0]}
contact:
  knee:
    main:
      body: ground
      surface: {mesh: {file: layer.vtu}}
      material: {youngs_modulus: 10.0e6, poissons_ratio: 0.45, density: 1100}
    partner: {body: plate, surface: {plane: {normal: [0, -1, 0]}}}
    backend: fem_condensed
    parameters: {element: wedge6_mixed, clamped_set: inner, contact_set: outer, contact_box: [-1, -1, -1, 1, -0.0205, 1], max_penetration: 0.002}
analysis: {type: kinematic, end_time: 1}
output: {interval: 1, fields: {interval: 1, mesh: volume}}
)yaml";
  const Finished finished =
      run("heelstrike", {"run", folder.write("pressed.yaml", pressed), "-o", "pressed"}, here(folder));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(read_text(folder.path() / "pressed" / "report.html"), HasSubstr("contact_pressure"));
  std::string other = pressed;
  other.replace(other.find("wedge6_mixed"), 12, "hex8");
  const Finished rejected = run("heelstrike", {"condense", folder.write("other.yaml", other)}, here(folder));
  EXPECT_EQ(rejected.exit_code, 2);
  EXPECT_THAT(rejected.err, HasSubstr("hex8 has 8 nodes, the elements of 'layer.vtu' have 6 and do not support it"));
}

// Input that a run rejects before any contact, immediately or after minutes of preparation, is rejected by a check of
// the file.
TEST(Validate, RejectsWhatARunRejects) {
  const ScratchFolder folder;
  const std::string good = R"yaml(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {mass: 0.008, inertia: [1.0e-6, 1.0e-6, 1.0e-6], position: [0, 0, 0.0100001], velocity: [0, 0, -0.1]}
contact:
  pair:
    main: {body: block, surface: {block: {lengths: [0.02, 0.02, 0.02]}}, material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: fem_condensed
    parameters: {element_size: 0.01, clamped_box: [-1, -1, 0.0099, 1, 1, 1]}
analysis: {end_time: 1.0e-6}
output: {interval: 1.0e-6}
)yaml";
  // One hexahedron of 20 mm.
  folder.write("cube.inp", R"(*NODE
1,-0.01,-0.01,-0.01
2,0.01,-0.01,-0.01
3,0.01,0.01,-0.01
4,-0.01,0.01,-0.01
5,-0.01,-0.01,0.01
6,0.01,-0.01,0.01
7,0.01,0.01,0.01
8,-0.01,0.01,0.01
*ELEMENT, TYPE=C3D8
1,1,2,3,4,5,6,7,8
)");
  const std::string block = "surface: {block: {lengths: [0.02, 0.02, 0.02]}}";
  const std::string plane = "surface: {plane: {normal: [0, 0, 1]}}";
  const std::string soft = ", material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}";
  const auto body = [&](const std::string& surface) { return "surface: {" + surface + "}"; };
  using Changes = std::vector<std::pair<std::string, std::string>>;
  const std::vector<std::pair<Changes, std::string>> cases = {
      {{{"fem_condensed", "fem_layered"}, {"element_size: 0.01", "element_size: 0.01, element: tet4_mixed"}},
       "'tet4_mixed' is not available: it has pressures around its corners"},
      {{{"fem_condensed", "fem_layered"},
        {"element_size: 0.01", "element_size: 0.01, layer_depth: 0.001, layer_set: skin"}},
       "the layer is already defined by layer_set 'skin'"},
      {{{block, body("sphere: {radius: 0.01}")}, {"element_size: 0.01", "element_size: 0.01, element: hex8"}},
       "surface 'sphere' cannot be filled with hexahedra"},
      {{{block, body("mesh: {file: cube.inp}")}, {"element_size: 0.01", "element: tet10"}},
       "tet10 has 10 nodes, the elements of 'cube.inp' have 8 and do not support it"},
      {{{plane, block + soft},
        {"element_size: 0.01",
         "element_size: 0.01, partner_element_size: 0.01, partner_element: tet10, partner_clamped_box: [-1, -1, -1, 1, "
         "1, -0.0099]"}},
       "expected a deformable partner of linear elements"},
      {{{plane, body("mesh: {file: cube.inp}") + soft},
        {"element_size: 0.01", "element_size: 0.01, partner_clamped_box: [-1, -1, -1, 1, 1, -0.0099]"}},
       "'hex8' is combined with 'tet4' of the main body"},
      {{{"fem_condensed", "fem_modal"}, {"end_time: 1.0e-6", "type: static, end_time: 1.0e-6"}},
       "contact.pair.backend: expected bodies that are at rest in an equilibrium"},
      {{{"fem_condensed", "fem_modal"}}, "contact.pair.parameters.support: expected `inertia_relief`"},
      {{{"element_size: 0.01", "element_size: 0.01, cloud_distance: approximate"}},
       "cloud_distance: expected only with a point cloud as partner"},
      {{{block, body("knee: {part: tibia}")}, {"element_size: 0.01", "element_size: 1.0e-4"}},
       "element_size: 0.0001 m cuts a layer of 0.0025 m into 25 elements, expected at most 20"},
      {{{block, body("knee: {part: tibia, layer: bone}")}}, "expected a knee with a layer to fill"},
  };
  for (const auto& [changes, expected] : cases) {
    std::string text = good;
    for (const auto& [from, to] : changes) text.replace(text.find(from), from.size(), to);
    const std::string file = folder.write("pair.yaml", text);
    const Finished validated = run("heelstrike", {"validate", file}, here(folder));
    EXPECT_EQ(validated.exit_code, 2) << expected;
    EXPECT_THAT(validated.err, HasSubstr(expected));
    EXPECT_EQ(run("heelstrike", {"run", file, "-o", "out"}, here(folder)).err, validated.err);
  }
  EXPECT_EQ(run("heelstrike", {"validate", folder.write("pair.yaml", good)}, here(folder)).exit_code, 0);
}

/// A square of 20 x 20 mm at a height [m] with an upward normal, divided into triangles of 1 mm.
std::string square_stl(double height) {
  std::string text = "solid square\n";
  const auto corner = [&](int i, int j) { return fmt::format("vertex {} {} {}\n", 1e-3 * i, 1e-3 * j, height); };
  for (int i = -10; i < 10; ++i) {
    for (int j = -10; j < 10; ++j) {
      for (const auto& [b, c] :
           {std::pair{corner(i + 1, j), corner(i + 1, j + 1)}, {corner(i + 1, j + 1), corner(i, j + 1)}}) {
        text += "facet normal 0 0 1\nouter loop\n" + corner(i, j) + b + c + "endloop\nendfacet\n";
      }
    }
  }
  return text + "endsolid\n";
}

// The bone below a layer is a file of the scenario like its surface: on servers, in one process, under any name.
TEST(Foundation, LayerReachesTheBoneSurfaceOfAFile) {
  const ScratchFolder folder;
  folder.write("surface.stl", square_stl(0.0));
  folder.write("bone.stl", square_stl(-0.002));
  const auto rows_with = [&](const std::string& parameters, const std::string& name, bool here_alone) {
    const std::string scenario = folder.write(name + ".yaml", fmt::format(R"yaml(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  ball: {{mass: 1, inertia: [1, 1, 1]}}
drivers:
  press:
    body: ball
    x: {{polynomial: [0]}}
    y: {{polynomial: [0]}}
    z: {{expression: "0.05 - 0.0002 * t"}}
    rx: {{polynomial: [0]}}
    ry: {{polynomial: [0]}}
    rz: {{polynomial: [0]}}
contact:
  layer:
    main:
      body: ground
      surface: {{mesh: {{file: surface.stl}}}}
      material: {{youngs_modulus: 10.0e6, poissons_ratio: 0.45, density: 1100}}
    partner: {{body: ball, surface: {{sphere: {{radius: 0.05}}}}}}
    backend: elastic_foundation
    parameters: {{{}}}
analysis: {{type: kinematic, end_time: 1}}
output: {{interval: 0.25}}
)yaml",
                                                                          parameters));
    std::vector<std::string> arguments{"run", scenario, "-o", name};
    if (here_alone) arguments.emplace_back("--in-process");
    const Finished finished = run("heelstrike", arguments, here(folder));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return read_text(folder.path() / name / "timeseries.csv");
  };
  const std::string between_servers = rows_with("back_file: bone.stl", "servers", false);
  EXPECT_EQ(rows_with("back_file: bone.stl", "alone", true), between_servers);
  // The bone is a copy of the surface 2 mm below: every spring has the length of a uniform thickness.
  const std::string constant = rows_with("thickness: 0.002", "constant", true);
  const auto last = [](const std::string& rows) {
    const std::string row = rows.substr(rows.rfind('\n', rows.size() - 2) + 1);
    std::vector<double> values;
    std::istringstream in(row);
    for (std::string cell; std::getline(in, cell, ',');) values.push_back(cell.empty() ? 0.0 : std::stod(cell));
    return values;
  };
  const auto found = last(between_servers), expected = last(constant);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-9 * (1.0 + std::abs(expected[i]))) << "column " << i;
  }
  const Finished missing = run("heelstrike",
                               {"run", (folder.path() / "servers.yaml").string(), "--set",
                                "contact.layer.parameters.back_file=tibia.stl", "-o", "missing"},
                               here(folder));
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, HasSubstr("tibia.stl"));
}

TEST(Mesh, WithoutMesherReportsTheBuildCommand) {
  const ScratchFolder folder;
  const std::string cube = folder.write("cube.stl", cube_stl());
  const Finished result =
      run("heelstrike", {"mesh", cube, "--size", "5mm"}, here(folder, {{"HEELSTRIKE_MESHER", "/nowhere/mesher"}}));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("scripts/build heelstrike-mesher"));
}

TEST(Mesh, StopsAfterTheTimeLimit) {
  const ScratchFolder folder;
  const std::string cube = folder.write("cube.stl", cube_stl());
  const Finished command = run("heelstrike", {"mesh", cube, "--size", "0.4mm", "--time-limit", "0.05"}, here(folder));
  EXPECT_NE(command.exit_code, 0);
  EXPECT_THAT(command.err, HasSubstr("meshing took longer than 0.05 s"));
  EXPECT_EQ(run("heelstrike", {"mesh", cube, "--size", "5mm", "--time-limit", "0"}, here(folder)).exit_code, 2);
  const std::string file =
      folder.write("cube.yaml", mesh_scenario("cube.stl",
                                              "{element_size: 0.0004, max_meshing_time: 0.05, clamped_box: [-1, -1, "
                                              "0.009, 1, 1, 1]}"));
  const Finished scenario = run("heelstrike", {"condense", file}, here(folder));
  EXPECT_NE(scenario.exit_code, 0);
  EXPECT_THAT(scenario.err, HasSubstr("meshing took longer than 0.05 s"));
  EXPECT_THAT(scenario.err, HasSubstr("max_meshing_time"));
}

// The force of a linear body is proportional to its modulus: the result is known in advance.
TEST(Calibrate, FindsTheModulusForAForce) {
  const ScratchFolder folder;
  const std::string file = folder.write("block.yaml", block_scenario(", friction: 0.5", ""));
  const auto calibrated = [&](const std::string& force) {
    const Finished result =
        run("heelstrike", {"calibrate", file, "--depth", "0.1mm", "--force", force, "--json"}, here(folder));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const auto one = calibrated("10");
  const auto two = calibrated("20");
  const double E = one["found"]["youngs_modulus_Pa"];
  EXPECT_NEAR(one["found"]["force_N"].get<double>(), 10.0, 1e-3);
  EXPECT_NEAR(two["found"]["youngs_modulus_Pa"].get<double>() / E, 2.0, 4e-4);
  EXPECT_NEAR(one["dF_dE_N_per_Pa"].get<double>() * E, 10.0, 1e-2);
  // Between uniaxial stress (E A / h) and uniaxial strain (E' A / h with E' = 1.35 E for nu = 0.3).
  const double uniaxial = 10.0 * 0.02 / (0.04 * 0.03 * 1e-4);
  EXPECT_GT(E, uniaxial / 1.35);
  EXPECT_LT(E, uniaxial);
  const Finished impossible = run(
      "heelstrike", {"calibrate", file, "--depth", "0.1mm", "--force", "10", "--fit", "clamp", "--clamp-range", "0:1"},
      here(folder));
  EXPECT_EQ(impossible.exit_code, 2);
  EXPECT_THAT(impossible.err, HasSubstr("clamped_box"));
}

}  // namespace
}  // namespace heelstrike::cli_test
