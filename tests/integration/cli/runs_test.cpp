// The three modes of running a scenario, and their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Modes : public testing::TestWithParam<const char*> {};

// Requirement: local, in-process and remote runs of one scenario have the same bits.
TEST_P(Modes, GiveTheSameTimeSeries) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string scenario = examples + GetParam();
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished in_process = run("heelstrike", {"run", scenario, "--in-process", "-o", "a"}, here);
  ASSERT_EQ(in_process.exit_code, 0) << in_process.err;
  const Finished own_servers = run("heelstrike", {"run", scenario, "-o", "b"}, here);
  ASSERT_EQ(own_servers.exit_code, 0) << own_servers.err;
  const Finished named_servers = run("heelstrike", {"run", scenario, "--mbs", servers.mbs_address, "-o", "c"}, here);
  ASSERT_EQ(named_servers.exit_code, 0) << named_servers.err;
  const Finished own_mbs = run("heelstrike", {"run", scenario, "--fem", servers.fem_address, "-o", "d"}, here);
  ASSERT_EQ(own_mbs.exit_code, 0) << own_mbs.err;
  const std::string rows = read_text(folder.path() / "a/timeseries.csv");
  EXPECT_GT(rows.size(), 1000U);
  for (const char* other : {"b", "c", "d"}) {
    EXPECT_TRUE(read_text(folder.path() / other / "timeseries.csv") == rows) << "a and " << other << " differ";
    EXPECT_FALSE(fs::exists(folder.path() / other / "INCOMPLETE"));
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Modes,
                         testing::Values("bouncing_ball.yaml", "colliding_spheres.yaml", "knee_press.yaml"),
                         [](const auto& info) { return std::string(info.param, std::strchr(info.param, '.')); });

/// Rows of a table with cells by the names of its columns; empty cells are NaN.
std::vector<std::map<std::string, double>> read_table(const fs::path& file) {
  std::istringstream text(read_text(file));
  std::vector<std::string> names;
  std::vector<std::map<std::string, double>> rows;
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> cells;
    line += ',';
    for (std::size_t begin = 0, end = 0; (end = line.find(',', begin)) != line.npos; begin = end + 1) {
      cells.push_back(line.substr(begin, end - begin));
    }
    if (names.empty()) {
      names = cells;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      row[names[i]] = cells.at(i).empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(cells[i]);
    }
  }
  return rows;
}

// Sums over the triangles of a field equal the row of its time. Separated at the start.
TEST(Run, RegionLoadsInEveryRowEqualThoseOfTheFields) {
  for (const std::string springs : {"vertices", "centres"}) {
    const ScratchFolder folder;
    const Finished result =
        run("heelstrike",
            {"run", examples + "knee_press.yaml", "--in-process", "-o", "a", "--set",
             "drivers.press.y={expression: \"0.00015 - 0.0007 * t\"}", "--set", "contact.cartilage.springs=" + springs,
             "--set", "contact.cartilage.dissipation=20", "--set", "contact.cartilage.regions=sets halves"},
            {.working_folder = folder.path(), .environment = {}});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto rows = read_table(folder.path() / "a/timeseries.csv");
    const auto pictures = read_table(folder.path() / "a/contact_regions.csv");
    ASSERT_EQ(rows.size(), 51U);
    ASSERT_EQ(pictures.size(), 11U);
    int n_loaded = 0;
    for (const auto& picture : pictures) {
      const auto row =
          std::ranges::find_if(rows, [&](const auto& r) { return r.at("time_s") == picture.at("time_s"); });
      ASSERT_NE(row, rows.end());
      for (const char* region : {"medial", "lateral", "x-", "x+", "y-", "y+", "z-", "z+"}) {
        const auto of = [&](const auto& table, const char* name) {
          return table.at(fmt::format("cartilage.{}.{}", region, name));
        };
        // Areas of the field's triangles are those of its points: rounding of the positions.
        for (const char* name : {"force_N", "area_m2", "mean_pressure_Pa", "peak_pressure_Pa"}) {
          const double expected = of(picture, name);
          // Fields average springs at the centres to the vertices, also across the edges of regions.
          if (springs == "centres" && std::string_view(name) == "peak_pressure_Pa") {
            EXPECT_LE(of(*row, name), expected * (1.0 + 1e-12));
            continue;
          }
          EXPECT_NEAR(of(*row, name), expected, 1e-9 * expected)
              << region << " " << name << " at " << picture.at("time_s") << " s";
        }
        const bool loaded = of(picture, "force_N") > 0.0;
        n_loaded += loaded ? 1 : 0;
        for (const char* name : {"copx_m", "copy_m", "copz_m"}) {
          EXPECT_EQ(std::isnan(of(*row, name)), !loaded);
          if (loaded) {
            EXPECT_NEAR(of(*row, name), of(picture, name), 1e-9);
          }
        }
      }
    }
    EXPECT_GT(n_loaded, 40);
    EXPECT_LT(n_loaded, 88) << "some are apart";
  }
}

TEST(Run, ChoosesAFreeFolder) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  for (int i = 0; i < 2; ++i) {
    const Finished result = run("heelstrike", {"run", file, "--in-process", "--backend", "hertz"}, here);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("restitution")) << "a dropped parameter must be reported";
  }
  EXPECT_TRUE(fs::exists(folder.path() / "runs/ball-hertz/summary.json"));
  EXPECT_TRUE(fs::exists(folder.path() / "runs/ball-hertz-2/summary.json"));
}

TEST(Run, PrintsTheSummaryForScripts) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const Finished result = run("heelstrike", {"run", file, "--json", "--set", "contact.restitution=0.6"},
                              {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["status"], "completed");
  EXPECT_EQ(summary["backend"], "flores");
  EXPECT_GT(summary["rpc"]["calls"].get<int>(), 0);
  EXPECT_DOUBLE_EQ(summary["simulated_time_s"].get<double>(), 0.5);
  EXPECT_THAT(read_text(folder.path() / "runs/ball-flores/scenario.yaml"), HasSubstr("0.6"));
}

TEST(Run, ForceOverwrites) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out"}, here).exit_code, 0);
  EXPECT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out"}, here).exit_code, 5);
  EXPECT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out", "--force"}, here).exit_code, 0);
}

TEST(Run, RemoteServerKeepsNothingOfAFetchedRun) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address, "-o", "out"}, here);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& entry : fs::directory_iterator(folder.path() / "spool")) {
    EXPECT_NE(entry.path().extension(), ".events") << entry.path();
  }
}

TEST(Run, EightClientsShareOnePairOfServers) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "alone"}, here).exit_code, 0);
  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Program>(
        "heelstrike",
        std::vector<std::string>{"run", file, "--mbs", servers.mbs_address, "-o", "c" + std::to_string(i)}, here));
  }
  const std::string alone = read_text(folder.path() / "alone/timeseries.csv");
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Finished result = clients[i]->wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(read_text(folder.path() / ("c" + std::to_string(i)) / "timeseries.csv") == alone) << "client " << i;
  }
}

TEST(Compare, WritesOneFolderAndOneTable) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const Finished result =
      run("heelstrike", {"compare", file, "--backends", "flores,hertz", "--reference", "hertz", "-o", "cmp"},
          {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"flores/summary.json", "hertz/timeseries.csv", "comparison.csv", "comparison.md"}) {
    EXPECT_TRUE(fs::exists(folder.path() / "cmp" / name)) << name;
  }
  const auto comparison = nlohmann::json::parse(read_text(folder.path() / "cmp/comparison.json"));
  ASSERT_EQ(comparison["rows"].size(), 2U);
  EXPECT_LT(comparison["rows"][0]["max_force_N"].get<double>(), comparison["rows"][1]["max_force_N"].get<double>())
      << "damping dissipates energy before the peak force";
  EXPECT_EQ(comparison["rows"][1]["max_force_N_relative_deviation"], 0.0);
}

TEST(Compare, FailedBackendIsARow) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  // The stiffness of a rubber band: as a linear spring it stops the ball within its radius no more than Hertz' law
  // does.
  const Finished result = run("heelstrike",
                              {"compare", file, "--backends", "hertz,hooke", "--in-process", "-o", "cmp", "--json",
                               "--set", "contact.stiffness=10"},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  const auto comparison = nlohmann::json::parse(result.out);
  ASSERT_EQ(comparison["rows"].size(), 2U);
  EXPECT_THAT(comparison["rows"][0]["failure"].get<std::string>(), HasSubstr("too deep"));
}

/// A ball driven into the ground: from t = 0.5 s its centre is below the surface, which no law can evaluate.
std::string sunk_ball(const std::string& type) {
  return R"~(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
drivers:
  lead: {body: ball, x: {polynomial: [0]}, y: {polynomial: [0]}, z: {expression: "0.1 - 0.21 * t"},
         rx: {polynomial: [0]}, ry: {polynomial: [0]}, rz: {polynomial: [0]}}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e6}
analysis: {type: )~" +
         type + ", end_time: 1.0}\noutput: {interval: 0.05}\n";
}

// Requirement: an incomplete run never appears complete, in any mode.
TEST(Incomplete, IsReportedWithCountFirstReasonAndExitCode) {
  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  for (const std::string type : {"kinematic", "inverse"}) {
    const std::string file = folder.write(type + ".yaml", sunk_ball(type));
    for (const bool in_process : {true, false}) {
      const std::string out = type + (in_process ? "-in" : "-servers");
      std::vector<std::string> arguments = {"run", file, "-o", out};
      if (in_process) arguments.emplace_back("--in-process");
      const Finished result = run("heelstrike", arguments, here);
      EXPECT_EQ(result.exit_code, 7) << result.out << result.err;
      const std::string last = result.err.substr(result.err.rfind('\n', result.err.size() - 2) + 1);
      EXPECT_THAT(last, HasSubstr("incomplete: 11 of 21 frames have no solution; the first, at t = 0.5 s"))
          << result.err;
      EXPECT_THAT(last, HasSubstr("too deep"));
      EXPECT_THAT(result.out, HasSubstr("incomplete at t = 0.45"));
      EXPECT_THAT(result.out + result.err, testing::Not(HasSubstr("nan")));
      EXPECT_THAT(result.out + result.err, testing::Not(HasSubstr("evaluate expected step")));
      EXPECT_THAT(read_text(folder.path() / out / "INCOMPLETE"), HasSubstr("11 of 21 frames"));
      const std::string text = read_text(folder.path() / out / "summary.json");
      const auto summary = nlohmann::json::parse(text);
      EXPECT_EQ(summary["status"], "incomplete");
      EXPECT_FALSE(summary["energy"]["balance_error_J"].is_null());
      EXPECT_THAT(read_text(folder.path() / out / "timeseries.csv"), testing::Not(HasSubstr("nan")));
    }
    EXPECT_TRUE(read_text(folder.path() / (type + "-in/timeseries.csv")) ==
                read_text(folder.path() / (type + "-servers/timeseries.csv")));
  }
}

TEST(Incomplete, IsMarkedInComparisonsAndSweepsAndWhenWatched) {
  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const std::string file = folder.write("sunk.yaml", sunk_ball("kinematic"));
  const Finished compared =
      run("heelstrike", {"compare", file, "--backends", "hertz,hooke", "--in-process", "-o", "cmp"}, here);
  EXPECT_EQ(compared.exit_code, 7) << compared.out << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("hooke (incomplete)"));
  EXPECT_THAT(compared.err, HasSubstr("hertz: incomplete: 11 of 21 frames"));
  const Finished swept =
      run("heelstrike", {"sweep", file, "--vary", "analysis.end_time=0.4,1.0", "-o", "sweep", "--json"}, here);
  EXPECT_EQ(swept.exit_code, 7) << swept.out << swept.err;
  const auto rows = nlohmann::json::parse(swept.out)["rows"];
  EXPECT_EQ(rows[0]["status"], "completed");
  EXPECT_EQ(rows[1]["status"], "incomplete");
  EXPECT_FALSE(rows[1]["max_force_N"].is_null());
  const Finished watched = run("heelstrike", {"watch", "cmp/hertz", "--once"}, here);
  EXPECT_THAT(watched.out, HasSubstr("incomplete: The run is incomplete: 11 of 21"));
}

TEST(Compare, ParameterUnknownToSomeBackendsIsDroppedWithANote) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions there{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike",
                              {"compare", file, "--backends", "hertz,flores", "--in-process", "-o", "cmp", "--json",
                               "--set", "contact.restitution=0.5"},
                              there);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restitution is not a parameter of back-end hertz"));
  const auto rows = nlohmann::json::parse(result.out)["rows"];
  EXPECT_NEAR(rows[0]["effective_restitution"].get<double>(), 1.0, 1e-5);
  EXPECT_NEAR(rows[1]["effective_restitution"].get<double>(), 0.4704, 3e-3);

  const Finished mistake = run(
      "heelstrike",
      {"compare", file, "--backends", "hertz,flores", "--in-process", "-o", "cmp2", "--set", "contact.restitutoin=0.5"},
      there);
  EXPECT_EQ(mistake.exit_code, 2) << mistake.err;
  EXPECT_THAT(mistake.err, HasSubstr("restitution"));
}

TEST(Validate, PrintsTheInterpretedScenario) {
  const Finished text = run("heelstrike", {"validate", examples + "bouncing_ball.yaml"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"valid", "ball-ground", "sphere", "plane", "flores", "restitution = 0.8"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const Finished json = run("heelstrike", {"validate", examples + "bouncing_ball.yaml", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["contact"][0]["backend"], "flores");
}

TEST(Validate, PrintsTheBuiltModel) {
  const Finished ball = run("heelstrike", {"validate", examples + "bouncing_ball.yaml"});
  EXPECT_THAT(ball.out, HasSubstr("6 degrees of freedom: 6 of one body"));
  EXPECT_THAT(ball.out, HasSubstr("forces: gravity"));
  const Finished json = run("heelstrike", {"validate", examples + "slider_crank.yaml", "--json"});
  const auto model = nlohmann::json::parse(json.out)["model"];
  EXPECT_EQ(model["degrees_of_freedom"], 2) << "the crank and the block";
  EXPECT_EQ(model["constraints"][0]["type"], "revolute");
  EXPECT_EQ(model["redundant_equations"], 3) << "that the mechanism is plane";
}

TEST(Validate, RejectsAModelUnfitForTheAnalysis) {
  const Finished free =
      run("heelstrike", {"validate", examples + "slider_crank.yaml", "--set", "analysis.type=kinematic"});
  EXPECT_EQ(free.exit_code, 2);
  EXPECT_THAT(free.err, HasSubstr("2 degrees of freedom remaining"));
}

TEST(Backends, ServerAndProgramAgree) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const Finished own = run("heelstrike", {"backends", "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  // Ten point laws, and those that the build adds.
  EXPECT_GE(nlohmann::json::parse(own.out)["backends"].size(), 10U);
  EXPECT_EQ(run("heelstrike", {"backends", "--json", "--fem", servers.fem_address}).out, own.out);
  EXPECT_THAT(run("heelstrike", {"backends", "flores"}).out, HasSubstr("(0, 1]"));
}

TEST(Backends, ListsFitTheScreen) {
  const ProgramOptions narrow{.working_folder = "/", .environment = {{"COLUMNS", "80"}}};
  for (const char* name : {"", "flores", "elastic_foundation", "fem_condensed"}) {
    std::vector<std::string> arguments = {"backends"};
    if (*name != '\0') arguments.emplace_back(name);
    const Finished list = run("heelstrike", arguments, narrow);
    if (list.exit_code != 0) continue;  // not every build has all of them
    std::istringstream lines(list.out);
    std::size_t n = 0;
    for (std::string line; std::getline(lines, line); ++n) EXPECT_LE(line.size(), 80U) << name << ": " << line;
    EXPECT_GT(n, 5U) << name;
  }
}

// Requirement: for the first python3 of the PATH, what it lacks for the package, and what to type; none of it is a
// failure.
TEST(Doctor, PythonIsReportedWithWhatItLacks) {
  const ScratchFolder folder;
  const fs::path python = folder.path() / "python3";
  const auto reported = [&](const std::string& script) {
    {
      std::ofstream file(python);
      file << "#!/bin/sh\n" << script << "\n";
    }
    fs::permissions(python, fs::perms::owner_all);
    const Finished doctor =
        run("heelstrike", {"doctor"}, {.environment = {{"PATH", folder.path().string() + ":/usr/bin:/bin"}}});
    EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
    const std::string line = python.string() + " imports heelstrike: ";
    const auto at = doctor.out.find(line);
    if (at == std::string::npos) return doctor.out;
    return doctor.out.substr(at - 5, 5) +
           doctor.out.substr(at + line.size(), doctor.out.find('\n', at) - at - line.size());
  };
  const auto answer = [](const std::string& numpy, const std::string& package, const std::string& problem) {
    return R"(echo a line of a package; echo '{"version": "3.9.1", "numpy": ")" + numpy + R"(", "heelstrike": ")" +
           package + R"(", "problem": ")" + problem + R"("}')";
  };
  EXPECT_EQ(reported(answer("1.2.3", "0.1.0 in /there", "")),
            "ok   Python 3.9.1, numpy 1.2.3, heelstrike 0.1.0 in /there");
  EXPECT_EQ(reported(answer("1.2.3", "", "built for Python 3.11")),
            "none Python 3.9.1, numpy 1.2.3, no heelstrike: built for Python 3.11");
  const std::string without = reported(answer("", "", R"(No module named '"'"'heelstrike'"'"')"));
  EXPECT_THAT(without, testing::StartsWith("none Python 3.9.1, no numpy, no heelstrike: No module named 'heelstrike'"));
  EXPECT_THAT(without, HasSubstr("for numpy: " + python.string() + " -m pip install numpy"));
  EXPECT_THAT(reported("echo broken; exit 3"),
              HasSubstr("none " + python.string() + " cannot be used: broken (exit code 3)"));
}

// Requirement: a missing program is reported with its build command, and not as a server that does not respond.
TEST(Doctor, MissingMesherIsReportedWithTheBuildCommand) {
  const ScratchFolder folder;
  const ProgramOptions without{.working_folder = folder.path(),
                               .environment = {{"HEELSTRIKE_MESHER", "/nonexistent/mesher"},
                                               {"XDG_CACHE_HOME", (folder.path() / "cache").string()}}};
  const Finished doctor = run("heelstrike", {"doctor"}, without);
  EXPECT_EQ(doctor.exit_code, 5) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("FAIL the mesher works"));
  EXPECT_THAT(doctor.out, HasSubstr("scripts/build heelstrike-mesher"));
  EXPECT_THAT(doctor.out, HasSubstr("ok   the cache can be written: " + (folder.path() / "cache").string()));
  const Finished mesh = run("heelstrike", {"mesh", "foot", "--size", "20mm"}, without);
  EXPECT_EQ(mesh.exit_code, 5) << mesh.err;
  EXPECT_THAT(mesh.err, HasSubstr("scripts/build heelstrike-mesher"));
  ProgramOptions no_cache = without;
  no_cache.environment["XDG_CACHE_HOME"] = "/dev/null";
  EXPECT_THAT(run("heelstrike", {"doctor"}, no_cache).out, HasSubstr("FAIL the cache can be written"));
}

TEST(Doctor, TestsAPrivatePairAndQueriesRunningServers) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const Finished own = run("heelstrike", {"doctor"});
  EXPECT_EQ(own.exit_code, 0) << own.out << own.err;
  EXPECT_THAT(own.out, HasSubstr("trial run"));
  const Finished named =
      run("heelstrike", {"doctor", "--json", "--mbs", servers.mbs_address, "--fem", servers.fem_address});
  EXPECT_EQ(named.exit_code, 0) << named.out << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["healthy"], true);
  EXPECT_THAT(named.out, HasSubstr("10000 N, as expected"));
  // A contact server is not a multibody server; the message must not consist of gRPC's text alone.
  EXPECT_NE(run("heelstrike", {"doctor", "--mbs", servers.fem_address}).exit_code, 0);
}

// gnuplot writes no text outside of the figure.
TEST(Pictures, PressureMapHasAColourScaleLabel) {
  const ScratchFolder folder;
  const std::string out = folder.path() / "knee";
  const Finished ran = run("heelstrike", {"run", HEELSTRIKE_SOURCE_DIR "/examples/knee_press.yaml", "--in-process",
                                          "--quiet", "--set", "analysis.end_time=0.1", "-o", out});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Finished drawn = run("heelstrike", {"report", out, "--svg"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(read_text(folder.path() / "knee/pictures/pressure_map_cartilage_tibia.svg"), HasSubstr("pressure [kPa]"));
}

}  // namespace
}  // namespace heelstrike::cli_test
