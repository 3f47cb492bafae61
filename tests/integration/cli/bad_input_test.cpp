// Every input error gives a message that names it, and the documented exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"

namespace heelstrike::cli_test {
namespace {

using testing::HasSubstr;

struct InvalidScenario {
  std::string name;
  std::string from;               ///< text of the valid scenario
  std::string to;                 ///< its replacement
  std::vector<std::string> said;  ///< parts of the message
};

class InvalidInput : public testing::TestWithParam<InvalidScenario> {};

TEST_P(InvalidInput, IsReportedWithLineAndKey) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario(GetParam().from, GetParam().to));
  for (const std::string command : {"validate", "run"}) {
    const Finished result = run("heelstrike", {command, file}, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 2) << command << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("ball.yaml")) << command;
    for (const std::string& part : GetParam().said) EXPECT_THAT(result.err, HasSubstr(part)) << command;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "runs")) << "a rejected scenario must not leave a folder";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, InvalidInput,
    testing::Values(
        InvalidScenario{"NotYaml", "bodies:", "bodies: [", {}},
        InvalidScenario{"UnknownKey", "output:", "outptu:", {"outptu", "output"}},
        InvalidScenario{"MissingKey", "end_time: 0.5, ", "", {"end_time"}},
        InvalidScenario{"WrongType", "mass: 1.0", "mass: heavy", {"mass", "heavy"}},
        InvalidScenario{"NegativeRadius", "radius: 0.1", "radius: -0.1", {"radius", "-0.1", "m"}},
        InvalidScenario{"ZeroRadius", "radius: 0.1", "radius: 0", {"radius"}},
        InvalidScenario{"NegativeMass", "mass: 1.0", "mass: -1.0", {"mass", "-1", "kg"}},
        InvalidScenario{"NegativeStiffness", "stiffness: 1.4e8", "stiffness: -1", {"stiffness", "-1"}},
        InvalidScenario{
            "RestitutionTooLarge", "restitution: 0.8", "restitution: 1.5", {"restitution", "1.5", "(0, 1]"}},
        InvalidScenario{"RestitutionZero", "restitution: 0.8", "restitution: 0", {"restitution", "(0, 1]"}},
        InvalidScenario{"NotANumber", "end_time: 0.5", "end_time: .nan", {"end_time"}},
        InvalidScenario{"Infinity", "mass: 1.0", "mass: .inf", {"mass"}},
        InvalidScenario{"Quaternion",
                        "position: [0, 0, 1.0]",
                        "position: [0, 0, 1.0], orientation: [1, 0, 0, 0.1]",
                        {"orientation"}},
        InvalidScenario{"SurfacesThatTheBackendDoesNotTake",
                        "plane: {normal: [0, 0, 1]}",
                        "cylinder: {radius: 0.1}",
                        {"ball.yaml:6: contact.ball-ground", "accepts sphere-plane", "found sphere-cylinder"}},
        InvalidScenario{"FrictionOfAnotherBackend",
                        "backend: flores\n    parameters: {stiffness: 1.4e8, exponent: 1.5, ",
                        "backend: rigid\n    parameters: {friction: 0.3, ",
                        {"ball.yaml:10: contact.ball-ground.parameters.friction", "rigid_coulomb"}},
        InvalidScenario{"IntegratorThatFindsNoImpulses",
                        "backend: flores\n    parameters: {stiffness: 1.4e8, exponent: 1.5, ",
                        "backend: rigid\n    parameters: {",
                        {"ball.yaml:11: analysis.integrator.name: expected 'moreau'", "contact.ball-ground"}},
        InvalidScenario{
            "RigidBodiesThatOverlap",
            "sphere: {radius: 0.1}}}\n    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}\n    "
            "backend: flores\n    parameters: {stiffness: 1.4e8, exponent: 1.5, restitution: 0.8}\nanalysis: "
            "{type: forward, end_time: 0.5, integrator: {name: cvode_index1, rtol: 1.0e-9}}",
            "sphere: {radius: 1.2}}}\n    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}\n    "
            "backend: rigid\n    parameters: {restitution: 0.8}\nanalysis: {end_time: 0.5}",
            {"ball.yaml:6: contact.ball-ground", "'ball' and 'ground' 0.2 m inside each other"}},
        InvalidScenario{"NeitherStiffnessNorMaterial",
                        "stiffness: 1.4e8, ",
                        "",
                        {"ball.yaml:10: contact.ball-ground.parameters.stiffness", "neither body has a material"}},
        InvalidScenario{"BothMistakes",
                        "mass: 1.0, inertia: [0.1, 0.1, 0.1]",
                        "mass: 2,0, inertia: [0.1, 0.1]",
                        {"ball.yaml:4: bodies.ball.0", "with a point: 2.0", "ball.yaml:4: bodies.ball.inertia"}},
        InvalidScenario{"UnknownBackend", "backend: flores", "backend: floers", {"floers", "flores", "hertz"}}),
    [](const auto& info) { return info.param.name; });

struct InvalidCommand {
  std::string name;
  std::vector<std::string> arguments;  ///< SCENARIO is replaced by a valid one
  int exit_code;
  std::vector<std::string> said;
};

class InvalidCommandLine : public testing::TestWithParam<InvalidCommand> {};

TEST_P(InvalidCommandLine, IsReported) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  std::filesystem::create_directory(folder.path() / "there");
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& argument : arguments) {
    if (argument == "SCENARIO") argument = file;
  }
  const Finished result = run("heelstrike", arguments, {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.out << result.err;
  for (const std::string& part : GetParam().said) EXPECT_THAT(result.err + result.out, HasSubstr(part));
}

TEST(MissingFiles, AreReportedTogether) {
  const ScratchFolder folder;
  const std::string file =
      folder.write("ball.yaml", ball_scenario("output:",
                                              "loads:\n"
                                              "  a: {body: ball, fx: {file: {name: first.csv, column: f}}}\n"
                                              "  b: {body: ball, fy: {file: {name: here.csv, column: f}}}\n"
                                              "  c: {body: ball, fz: {file: {name: third.csv, column: f}}}\n"
                                              "output:"));
  folder.write("here.csv", "time,f\n0,0\n1,1\n");
  for (const std::string command : {"validate", "run"}) {
    const Finished result = run("heelstrike", {command, file}, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 2) << command << ": " << result.err;
    EXPECT_THAT(result.err,
                testing::ContainsRegex("ball.yaml:[0-9]+: loads.a.fx.file.name: file [^ ]*first.csv does not exist"));
    EXPECT_THAT(result.err, HasSubstr("third.csv does not exist"));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("here.csv")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, InvalidCommandLine,
    testing::Values(
        InvalidCommand{"NoSubcommand", {}, 2, {}}, InvalidCommand{"UnknownSubcommand", {"rnu"}, 2, {"rnu"}},
        InvalidCommand{
            "UnknownOption", {"run", "SCENARIO", "--frobnicate"}, 2, {"frobnicate", "heelstrike run --help"}},
        InvalidCommand{"MistypedOption",
                       {"run", "SCENARIO", "--backnd", "hertz"},
                       2,
                       {"unknown option --backnd; did you mean --backend?"}},
        InvalidCommand{"MistypedOptionBeforeMissingArguments",
                       {"compare", "--backend=hertz"},
                       2,
                       {"unknown option --backend; did you mean --backends?"}},
        InvalidCommand{"BeginningOfAnOption", {"run", "SCENARIO", "--out", "x"}, 2, {"did you mean --output?"}},
        InvalidCommand{"LetterOfNoOption",
                       {"report", "there", "-o", "x.png"},
                       2,
                       {"unknown option -o; heelstrike report --help lists all options"}},
        InvalidCommand{"CommandAsOption",
                       {"run", "SCENARIO", "--resume"},
                       2,
                       {"option of compare", "heelstrike resume is a command"}},
        InvalidCommand{"WordOfOtherPrograms", {"plot", "there"}, 2, {"heelstrike report FOLDER"}},
        InvalidCommand{"WordForTwoCommands", {"export", "there"}, 2, {"heelstrike fmu", "heelstrike hdf5"}},
        InvalidCommand{"HelpAsCommand", {"help"}, 2, {"heelstrike --help"}},
        InvalidCommand{"MissingFolder", {"resume"}, 2, {"RUN is missing: Run folder"}},
        InvalidCommand{"MissingValue", {"mesh", "foot", "--size"}, 2, {"--size: expected LENGTH after it, found none"}},
        InvalidCommand{"WordForABackend", {"backends", "penalty"}, 2, {"'elastic_foundation'", "'hunt_crossley'"}},
        InvalidCommand{"BeginningOfABackend",
                       {"compare", "SCENARIO", "--backends", "hertz,elastic"},
                       2,
                       {"unknown back-end 'elastic' (did you mean 'elastic_foundation'?)"}},
        InvalidCommand{"OptionBeforeTheCommand", {"--backnd"}, 2, {"did you mean --backend, after one of run"}},
        InvalidCommand{"OptionOfAnotherCommand", {"validate", "SCENARIO", "--jobs", "2"}, 2, {"option of sweep"}},
        InvalidCommand{"MistypedCommand", {"validte", "SCENARIO"}, 2, {"did you mean 'validate'?"}},
        InvalidCommand{"ScenarioAsCommand", {"SCENARIO"}, 2, {"did you mean heelstrike run "}},
        InvalidCommand{"AssignmentWithoutSet",
                       {"run", "SCENARIO", "contact.restitution=0.5"},
                       2,
                       {"did you mean --set contact.restitution=0.5?"}},
        InvalidCommand{"NumberWithUnit",
                       {"calibrate", "SCENARIO", "--depth", "8.8mm", "--force", "622N"},
                       2,
                       {"--force: expected a number in N above 0, found '622N'; write 622"}},
        InvalidCommand{"NumberWithAnotherUnit",
                       {"calibrate", "SCENARIO", "--depth", "8.8mm", "--force", "0.6kN"},
                       2,
                       {"--force: expected a number in N above 0, found '0.6kN'\n"}},
        InvalidCommand{"NumberOutOfRange",
                       {"plantar", "there", "--toe-line", "2"},
                       2,
                       {"--toe-line: expected a number from 0.5 to 0.95, found '2'"}},
        InvalidCommand{"RangeAsNumber",
                       {"report", "there", "--width", "2:9"},
                       2,
                       {"found '2:9'; give one value: heelstrike sweep"}},
        InvalidCommand{"RangeAsValueOfAKey",
                       {"run", "SCENARIO", "--set", "contact.restitution=0.2:0.9"},
                       2,
                       {"several values are runs of a heelstrike sweep (--vary KEY=FROM:TO:STEP"}},
        InvalidCommand{"RangeWithoutStep",
                       {"sweep", "SCENARIO", "--vary", "contact.restitution=0.2:0.9"},
                       2,
                       {"--vary contact.restitution=0.2:0.9: expected FROM:TO:STEP, found no step"}},
        InvalidCommand{"VariedKeyWithoutSection",
                       {"sweep", "SCENARIO", "--vary", "restitution=0.2,0.9"},
                       2,
                       {"--vary restitution=0.2: ", "did you mean contact.restitution?"}},
        InvalidCommand{"VariedValueOutOfRange",
                       {"sweep", "SCENARIO", "--vary", "contact.restitution=0.2,2"},
                       2,
                       {"--vary contact.restitution=2: ", "(0, 1]"}},
        InvalidCommand{"UnitAsValueOfAKey",
                       {"run", "SCENARIO", "--set", "analysis.end_time=2s"},
                       2,
                       {"units are not read: write 2, the plain number in s"}},
        InvalidCommand{"NothingToCompare", {"compare", "SCENARIO"}, 2, {"expected --backends or --schemes"}},
        InvalidCommand{"UnknownSchema", {"schema", "couplng"}, 2, {"did you mean 'coupling'?"}},
        InvalidCommand{
            "SchemaOfAPath", {"schema", "contact.friction"}, 2, {"did you mean heelstrike schema friction?"}},
        InvalidCommand{"SchemaOfAnotherWord", {"schema", "duration"}, 2, {"did you mean heelstrike schema end_time?"}},
        InvalidCommand{"MissingRunOfPlantar", {"plantar", "absent"}, 5, {"found no folder absent"}},
        InvalidCommand{"MissingRunOfCompareGrf", {"compare-grf", "absent"}, 5, {"found no folder absent"}},
        InvalidCommand{"MissingRunOfReport", {"report", "absent"}, 5, {"found no folder absent"}},
        InvalidCommand{"NoRunOfPlantar", {"plantar", "there"}, 5, {"(with scenario.yaml)"}},
        InvalidCommand{"VariationWithoutOption",
                       {"sweep", "SCENARIO", "contact.restitution=0.2:1:0.2"},
                       2,
                       {"did you mean --vary contact.restitution=0.2:1:0.2?"}},
        InvalidCommand{"MissingFile", {"run", "absent.yaml"}, 2, {"absent.yaml", "does not exist"}},
        InvalidCommand{"MissingFileWithAnotherEnding", {"run", "ball.yml"}, 2, {"did you mean ball.yaml?"}},
        InvalidCommand{"NameOfAnExample", {"run", "bouncing_ball"}, 2, {"heelstrike example bouncing_ball"}},
        InvalidCommand{"BeginningOfExamples", {"example", "foot"}, 2, {"'foot_drop' or 'foot_press'"}},
        InvalidCommand{
            "ScenarioAsRun", {"report", "SCENARIO"}, 5, {"a scenario; heelstrike run ", "makes the run first"}},
        InvalidCommand{"MissingModel", {"import", "leg.urdf"}, 2, {"import: file leg.urdf does not exist"}},
        InvalidCommand{
            "VersionOfNoStandard", {"fmu", "SCENARIO", "--fmi", "4"}, 2, {"expected one of 2, 3, found '4'"}},
        InvalidCommand{"TextInATable", {"hdf5", "there", "-o", "x.csv"}, 2, {".h5", "there/timeseries.csv"}},
        InvalidCommand{"FolderAsScenario", {"run", "/"}, 2, {"folder"}},
        InvalidCommand{"UnknownSetKey", {"run", "SCENARIO", "--set", "analysis.end_tme=1"}, 2, {"end_tme", "end_time"}},
        InvalidCommand{
            "BadSetValue", {"run", "SCENARIO", "--set", "contact.restitution=2"}, 2, {"restitution", "(0, 1]"}},
        InvalidCommand{"UnknownBackend", {"run", "SCENARIO", "--backend", "floers"}, 2, {"floers", "flores"}},
        InvalidCommand{"UnknownBackendShown", {"backends", "floers"}, 2, {"floers", "flores"}},
        InvalidCommand{
            "UnknownCompared", {"compare", "SCENARIO", "--backends", "hertz,floers"}, 2, {"floers", "flores"}},
        InvalidCommand{"TwiceCompared", {"compare", "SCENARIO", "--backends", "hertz,hertz"}, 2, {"twice"}},
        InvalidCommand{
            "BadReference", {"compare", "SCENARIO", "--backends", "hertz", "--reference", "hooke"}, 2, {"hooke"}},
        InvalidCommand{"OutputExists", {"run", "SCENARIO", "--in-process", "-o", "there"}, 5, {"there", "--force"}},
        InvalidCommand{
            "OutputNotWritable", {"run", "SCENARIO", "--in-process", "-o", "/dev/null/out"}, 5, {"/dev/null/out"}},
        InvalidCommand{"CompareOutputExists",
                       {"compare", "SCENARIO", "--backends", "hertz", "-o", "there"},
                       5,
                       {"there", "--force"}},
        InvalidCommand{"EndlessScenario", {"validate", "/dev/zero"}, 2, {"/dev/zero", "device"}},
        InvalidCommand{"DepthWithoutUnit",
                       {"calibrate", "SCENARIO", "--depth", "8.8", "--force", "600"},
                       2,
                       {"--depth", "8.8 without a unit", "write 8.8mm"}},
        InvalidCommand{"BadAddress", {"doctor", "--fem", "nonsense"}, 2, {"nonsense"}},
        InvalidCommand{"NobodyThereForTheDoctor",
                       {"doctor", "--mbs", "127.0.0.1:1", "--fem", "unix:/tmp/no-such-socket"},
                       4,
                       {"127.0.0.1:1", "/tmp/no-such-socket"}},
        InvalidCommand{"NoMbsThere", {"run", "SCENARIO", "--mbs", "127.0.0.1:1"}, 4, {"127.0.0.1:1"}},
        InvalidCommand{
            "NoFemThere", {"run", "SCENARIO", "--fem", "unix:/tmp/no-such-socket"}, 4, {"/tmp/no-such-socket"}}),
    [](const auto& info) { return info.param.name; });

struct ForeignFile {
  std::string name;
  std::string content;
  std::vector<std::string> said;
};

class ForeignFiles : public testing::TestWithParam<ForeignFile> {};

TEST_P(ForeignFiles, AreNamedWithTheirCommand) {
  const ScratchFolder folder;
  std::filesystem::create_directories((folder.path() / GetParam().name).parent_path());
  folder.write(GetParam().name, GetParam().content);
  const auto slash = GetParam().name.find('/');
  const std::string given = GetParam().name.substr(0, slash);
  for (const char* command : {"run", "validate"}) {
    const Finished result = run("heelstrike", {command, given}, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 2);
    for (const std::string& part : GetParam().said) EXPECT_THAT(result.err, HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ForeignFiles,
    testing::Values(
        ForeignFile{"foot.STL", "solid foot", {"a mesh", "heelstrike mesh foot.STL", "heelstrike new KIND foot.STL"}},
        ForeignFile{"leg.osim", "<OpenSimDocument/>", {"heelstrike import-osim leg.osim -o FOLDER"}},
        ForeignFile{"arm.urdf", "<robot/>", {"robot model (URDF)", "heelstrike import arm.urdf -o FOLDER"}},
        ForeignFile{"arm.xml", "<mujoco/>", {"robot model (MJCF)", "heelstrike import arm.xml -o FOLDER"}},
        ForeignFile{"walk.c3d", "P", {"a recorded trial", "heelstrike import walk.c3d -o FOLDER"}},
        ForeignFile{"walk.mot", "time", {"a table of motion", "heelstrike schema motion"}},
        ForeignFile{"unit.fmu", "PK", {"functional mock-up unit", "heelstrike schema fmu"}},
        ForeignFile{"summary.json", "{}", {"a file of results", "heelstrike report ."}},
        ForeignFile{"rows.h5", "HDF", {"results (HDF5)"}},
        ForeignFile{"out/scenario.yaml", "", {"the folder of a run", "heelstrike report out"}},
        ForeignFile{"cut/INCOMPLETE", "", {"incomplete run", "heelstrike resume cut"}},
        ForeignFile{"grid/command.json", "{}", {"comparison or sweep", "heelstrike resume grid"}},
        ForeignFile{"models/ball.yaml", "", {"the folder models", "models/ball.yaml"}}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
      return name;
    });

TEST(InvalidCommandLine, ErrorsAreJsonForScripts) {
  const Finished result = run("heelstrike", {"run", "absent.yaml", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("\"code\": \"invalid input\""));
}

std::vector<std::string> lines_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Help, EveryCommandHasAnExampleTheExitCodesAndLinesOf80Columns) {
  const Finished list = run("heelstrike", {"--help"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(lines_in(list.out), testing::Each(testing::SizeIs(testing::Le(80U))));
  std::size_t n = 0;
  for (const std::string& line : lines_in(list.out.substr(list.out.find("Subcommands:")))) {
    if (line.size() < 3 || line.substr(0, 2) != "  " || line[2] == ' ') continue;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    const Finished help = run("heelstrike", {command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("heelstrike " + command)) << command;
    EXPECT_THAT(help.out, HasSubstr("Exit codes:")) << command;
    EXPECT_THAT(help.out, testing::Not(testing::AnyOf(HasSubstr("->"), HasSubstr("ENUM"), HasSubstr(" TEXT "))))
        << command << ": a type of the library for the command line";
    EXPECT_THAT(lines_in(help.out), testing::Each(testing::SizeIs(testing::Le(80U)))) << command;
    ++n;
  }
  EXPECT_GT(n, 15U);
}

TEST(Help, GroupsAreNotHidden) {
  const std::string help = run("heelstrike", {"compare", "--help"}).out;
  const auto group = help.find("Compared variants");
  ASSERT_NE(group, std::string::npos) << help;
  EXPECT_NE(help.find("\n  --backends NAME,NAME,...", group), std::string::npos) << help;
}

TEST(Schema, ShowsSectionsKeysTypesAndBackends) {
  const auto shown = [](const std::string& word) {
    const Finished result = run("heelstrike", {"schema", word});
    EXPECT_EQ(result.exit_code, 0) << word << ": " << result.err;
    EXPECT_THAT(lines_in(result.out), testing::Each(testing::SizeIs(testing::Le(80U)))) << word;
    return "\n" + result.out;
  };
  EXPECT_THAT(shown("coupling"),
              testing::AllOf(HasSubstr("\ncoupling.scheme\n"), testing::Not(HasSubstr("\nanalysis"))));
  EXPECT_THAT(shown("analysis.integrator"), HasSubstr("\nanalysis.integrator.rtol\n"));
  EXPECT_THAT(shown("contact.ball-ground.main.surface.sphere"),
              HasSubstr("\ncontact.NAME.main.surface.sphere.radius\n"));
  EXPECT_THAT(shown("end_time"), HasSubstr("\nanalysis.end_time\n    a number in [1e-12, 1e+09] [s]; required\n"));
  EXPECT_THAT(shown("restitution"), testing::AllOf(HasSubstr("\ncontact.NAME.parameters.restitution\n"),
                                                   HasSubstr("\njoints.NAME.restitution\n"), HasSubstr("flores")));
  EXPECT_THAT(shown("revolute"),
              testing::AllOf(HasSubstr("\njoints.NAME.axis\n"), testing::Not(HasSubstr("\njoints.NAME.length\n"))));
  EXPECT_THAT(shown("flores"), testing::AllOf(HasSubstr("\ncontact.NAME.parameters.stiffness\n"),
                                              testing::Not(HasSubstr("\ncontact.NAME.parameters.max_penetration\n"))));
  const auto rows = nlohmann::json::parse(run("heelstrike", {"schema", "output.interval", "--json"}).out);
  EXPECT_EQ(rows.at(0).at("unit"), "s");
}

// Protobuf accepts UTF-8 only; many editors still write other encodings.
TEST(BadBytes, Latin1CommentDoesNotAffectARemoteRun) {
  const ScratchFolder folder;
  const std::string file =
      folder.write("b\xe4ll.yaml", "# f\xe4llt\n" + ball_scenario("end_time: 0.5", "end_time: 0.01"));
  const Finished result =
      run("heelstrike", {"run", file, "-o", "out"}, {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("read as Latin-1"));
}

TEST(BadBytes, AreEscapedInMessages) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario("mass: 1.0", "mass: \"\xe9\\e[2J\""));
  const Finished result =
      run("heelstrike", {"validate", file, "--json"}, {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(result.out, HasSubstr("\"field\": \"bodies.ball.mass\""));
}

}  // namespace
}  // namespace heelstrike::cli_test
