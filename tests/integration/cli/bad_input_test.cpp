// Every input error gives a message that names it, and the documented exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_THAT(result.err, HasSubstr("first.csv does not exist"));
    EXPECT_THAT(result.err, HasSubstr("third.csv does not exist"));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("here.csv")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, InvalidCommandLine,
    testing::Values(
        InvalidCommand{"NoSubcommand", {}, 2, {}}, InvalidCommand{"UnknownSubcommand", {"rnu"}, 2, {"rnu"}},
        InvalidCommand{"UnknownOption", {"run", "SCENARIO", "--frobnicate"}, 2, {"frobnicate"}},
        InvalidCommand{"MissingFile", {"run", "absent.yaml"}, 2, {"absent.yaml", "does not exist"}},
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

TEST(InvalidCommandLine, ErrorsAreJsonForScripts) {
  const Finished result = run("heelstrike", {"run", "absent.yaml", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("\"code\": \"invalid input\""));
}

TEST(InvalidCommandLine, EveryHelpHasAnExampleAndTheExitCodes) {
  for (const std::string command : {"run", "compare", "validate", "backends", "doctor"}) {
    const Finished result = run("heelstrike", {command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("heelstrike " + command)) << command;
    EXPECT_THAT(result.out, HasSubstr("Exit codes:")) << command;
  }
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
