// FMUs for co-simulation in a scenario: a controller in C, stepped by a Simulation, in both versions of FMI.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "fem_server/sessions/local_contact.hpp"
#include "fmi/fmi_platform.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "tests/support/coupling_case.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using testing::HasSubstr;
using Members = std::map<std::string, std::string>;

std::string zipped(const Members& members) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("heelstrike-fmu-test-{}.zip", ::getpid());
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  for (const auto& [name, content] : members) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    EXPECT_GE(zip_file_add(archive, name.c_str(), source, ZIP_FL_OVERWRITE), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  std::string bytes = read_text(path.string());
  std::filesystem::remove(path);
  return bytes;
}

constexpr const char* names[] = {"x",       "v",         "k",     "c",    "ki",      "force", "steps",
                                 "fail_at", "fail_with", "angle", "rate", "longest", "law"};

std::string causality_of(const std::string& name) {
  if (name == "x" || name == "v") return "input";
  return name == "force" || name == "steps" || name == "angle" || name == "rate" ? "output" : "parameter";
}

/// @param types  of variables that are not real numbers
std::string description(int version, const std::map<std::string, std::string>& types = {},
                        const std::string& capabilities = "") {
  std::string variables;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const std::string causality = causality_of(names[i]);
    const std::string start = causality == "output" ? "" : R"( start="0")";
    const auto given = types.find(names[i]);
    const std::string number = version == 3 ? "Float64" : "Real";
    const std::string type = given != types.end() ? given->second : names[i] == std::string("law") ? "String" : number;
    variables +=
        version == 3
            ? fmt::format(R"(<{} name="{}" valueReference="{}" causality="{}"{}/>)", type, names[i], i, causality,
                          start)
            : fmt::format(R"(<ScalarVariable name="{}" valueReference="{}" causality="{}"><{}{}/></ScalarVariable>)",
                          names[i], i, causality, type, start);
  }
  const char* state = version == 3 ? R"(canGetAndSetFMUState="true" canSerializeFMUState="true")"
                                   : R"(canGetAndSetFMUstate="true" canSerializeFMUstate="true")";
  return fmt::format(R"(<fmiModelDescription fmiVersion="{}.0" modelName="pd" {}="{{pd}}">
<CoSimulation modelIdentifier="pd" {} {}/><ModelVariables>{}</ModelVariables></fmiModelDescription>)",
                     version, version == 3 ? "instantiationToken" : "guid", state, capabilities, variables);
}

Members unit_members(int version) {
  return {{"modelDescription.xml", description(version)},
          {fmt::format("{}/pd.so", version == 3 ? fmi3_binaries : fmi2_binaries),
           read_text(version == 3 ? PD_UNIT_3 : PD_UNIT_2)}};
}

/// A mass on a slider, 0.1 m from rest, with a spring of 100 N/m and a damper of 2 N s/m.
std::string slider(const std::string& force) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  mass: {{mass: 1, inertia: [1, 1, 1], position: [0.1, 0, 0]}}
joints:
  guide: {{type: prismatic, bodies: [ground, mass], point: [0, 0, 0], axis: [1, 0, 0]}}
forces:
  pd: {}
analysis: {{end_time: 0.5, integrator: {{name: cvode_index1, rtol: 1.0e-10, atol: 1.0e-12}}}}
output: {{interval: 0.05}}
)yaml",
                     force);
}
std::string unit_force(const std::string& step, const std::string& parameters = "",
                       const std::string& variable = "force") {
  return fmt::format(
      "{{type: fmu, file: pd.fmu, step: {}, inputs: [{{variable: x, column: mass.x_m}}, {{variable: v, column: "
      "mass.vx_m_s}}], outputs: [{{variable: {}, body: mass, component: fx}}], parameters: [{{variable: k, value: "
      "100}}, "
      "{{variable: c, value: 2}}{}]}}",
      step, variable, parameters);
}

mbs::RunInput unit_input(const std::string& yaml, const Members& members) {
  mbs::RunInput input = coupling_input(yaml);
  input.assets.push_back({.sha256 = {}, .name = "pd.fmu", .content = zipped(members)});
  input.allow_fmus = true;
  input.clock = [] { return 0.0; };
  return input;
}

std::unique_ptr<mbs::Simulation> opened(const mbs::RunInput& input) {
  auto simulation = std::make_unique<mbs::Simulation>(input);
  simulation->initialise(fem::open_local_contact);
  return simulation;
}

std::vector<double> end_of(const mbs::RunInput& input) {
  const auto simulation = opened(input);
  EXPECT_TRUE(simulation->advance_to(simulation->end_time()));
  const auto values = simulation->output_values();
  return {values.begin(), values.end()};
}

double last(const RecordedRun& run, const std::string& column) {
  return run.column(column).back();
}

void expect_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(a[i]), std::bit_cast<std::uint64_t>(b[i])) << "column " << i;
  }
}

class EveryFmiVersion : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Fmi, EveryFmiVersion, testing::Values(2, 3));

TEST_P(EveryFmiVersion, ControllerConvergesToTheSpringAndDamperWithFirstOrder) {
  const RecordedRun reference = run_local(coupling_input(slider("{type: spring_damper, bodies: [ground, mass], points: "
                                                                "[[-1, 0, 0], [0, 0, 0]], stiffness: 100, damping: 2, "
                                                                "length: 1}"))
                                              .scenario);
  const double x = last(reference, "mass.x_m");
  std::vector<double> errors;
  for (const char* step : {"4e-3", "2e-3", "1e-3", "5e-4"}) {
    const RecordedRun run =
        run_input(unit_input(slider(unit_force(step)), unit_members(GetParam())), fem::open_local_contact);
    ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
    errors.push_back(std::abs(last(run, "mass.x_m") - x));
    fmt::print(
        "step {} s: error {:.3e} m{}\n", step, errors.back(),
        errors.size() > 1 ? fmt::format(", order {:.3f}", std::log2(errors[errors.size() - 2] / errors.back())) : "");
  }
  EXPECT_NEAR(std::log2(errors[2] / errors[3]), 1.0, 0.05);
  EXPECT_LT(errors.back(), 0.01 * 0.1);
}

TEST_P(EveryFmiVersion, ColumnsAreTheLastInputsAndOutputsOfTheFmu) {
  const auto simulation = opened(unit_input(slider(unit_force("0.02")), unit_members(GetParam())));
  EXPECT_EQ(simulation->output("pd.mass.x_m"), 0.1);
  EXPECT_EQ(simulation->output("pd.mass.fx_N"), -10.0);
  const auto column = std::ranges::find(simulation->outputs(), std::string("pd.mass.vx_m_s"), &Column::name);
  ASSERT_NE(column, simulation->outputs().end());
  EXPECT_EQ(column->unit, "m/s");
  ASSERT_TRUE(simulation->advance_to(0.019));
  EXPECT_EQ(simulation->output("pd.mass.fx_N"), -10.0);
  ASSERT_TRUE(simulation->advance_to(0.02));
  const double x = simulation->output("mass.x_m");
  ASSERT_TRUE(simulation->advance_to(0.03));
  EXPECT_EQ(simulation->output("pd.mass.x_m"), x);
}

TEST(Fmus, ColumnsOfOneElementHaveDistinctNames) {
  std::string force = unit_force("0.02");
  force.replace(force.find("component: fx}"), 14,
                "component: fx, scale: 0.5}, {variable: force, body: mass, component: fx, frame: body, scale: 0.5}");
  force.replace(force.find("mass.vx_m_s"), 11, "mass.x_m");
  const auto simulation = opened(unit_input(slider(force), unit_members(3)));
  EXPECT_EQ(simulation->output("pd.mass.x_m"), 0.1);
  EXPECT_EQ(simulation->output("pd.2.mass.x_m"), 0.1);
  EXPECT_EQ(simulation->output("pd.2.mass.fx_N"), simulation->output("pd.mass.fx_N"));
  for (const char* name : {"pd.mass.x_m", "pd.2.mass.x_m"}) {
    EXPECT_EQ(std::ranges::find(simulation->outputs(), std::string(name), &Column::name)->unit, "m");
  }
  // Two halves act as the whole.
  ASSERT_TRUE(simulation->advance_to(0.01));
  EXPECT_NEAR(simulation->output("mass.vx_m_s"), 0.01 * simulation->output("pd.mass.fx_N"), 1e-9);
}

TEST_P(EveryFmiVersion, RestoredStateContinuesWithTheSameBits) {
  // The integral is an internal state of the FMU.
  const auto input = unit_input(slider(unit_force("7e-3", ", {variable: ki, value: 50}")), unit_members(GetParam()));
  const auto first = opened(input);
  ASSERT_TRUE(first->advance_to(0.1234));
  const Checkpoint saved = first->save();
  ASSERT_TRUE(first->advance_to(0.5));
  const std::vector<double> end(first->output_values().begin(), first->output_values().end());
  first->restore(saved);
  ASSERT_TRUE(first->advance_to(0.5));
  expect_same_bits({first->output_values().begin(), first->output_values().end()}, end);
  auto resumed = input;
  resumed.resume_from = saved;
  expect_same_bits(end_of(resumed), end);
}

TEST(Fmus, ResumedRunsWriteTheRowsOfTheWholeRun) {
  auto with_checkpoints = unit_input(slider(unit_force("7e-3", ", {variable: ki, value: 50}")), unit_members(3));
  with_checkpoints.scenario.output.checkpoint_interval = 0.0857;
  const RecordedRun whole = run_input(with_checkpoints, fem::open_local_contact);
  ASSERT_EQ(whole.summary.status, "completed");
  ASSERT_GE(whole.checkpoints.size(), 3U);
  for (std::size_t i = 0; i < whole.checkpoints.size(); ++i) {
    auto resumed = with_checkpoints;
    resumed.resume_from = whole.checkpoints[i];
    const RecordedRun rest = run_input(resumed, fem::open_local_contact);
    ASSERT_EQ(rest.rows.size() + whole.rows_before[i], whole.rows.size());
    for (std::size_t r = 0; r < rest.rows.size(); ++r)
      expect_same_bits(rest.rows[r], whole.rows[whole.rows_before[i] + r]);
  }
}

/// A pendulum whose hinge follows a driver; `forces` may drive it.
std::string hinge(const std::string& function, const std::string& forces) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, -9.81, 0]
bodies:
  bob: {{mass: 1, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}}
joints:
  hinge: {{type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 0, 1]}}
drivers:
  motor: {{joint: hinge, angle: {}}}
forces: {}
analysis: {{end_time: 0.5, integrator: {{name: arkode_erk, rtol: 1.0e-11, atol: 1.0e-13}}}}
output: {{interval: 0.01, accelerations: true}}
)yaml",
                     function, forces);
}
constexpr const char* hinge_unit =
    "{{pd: {{type: fmu, file: pd.fmu, step: {}, driven_coordinates: [{{variable: angle, rate: rate, driver: {}, "
    "coordinate: "
    "{}}}]}}}}";

/// The largest difference of two runs in a column, row by row.
double largest_difference(const RecordedRun& a, const RecordedRun& b, const std::string& column) {
  const std::vector<double> x = a.column(column);
  const std::vector<double> y = b.column(column);
  EXPECT_EQ(x.size(), y.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

TEST_P(EveryFmiVersion, DriverFollowsTheFmuWithoutDelay) {
  const RecordedRun reference = run_local(coupling_input(hinge("{expression: sin(t)}", "{}")).scenario);
  ASSERT_EQ(reference.summary.status, "completed");
  std::map<std::string, double> coarse;
  for (const char* step : {"0.08", "0.04"}) {
    // Of the driver's own function only value and rate at the start have an effect.
    const std::string yaml =
        hinge("{polynomial: [0, 1]}", fmt::format(fmt::runtime(hinge_unit), step, "motor", "angle"));
    const RecordedRun run = run_input(unit_input(yaml, unit_members(GetParam())), fem::open_local_contact);
    ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
    // A cubic has errors of fourth order of the step in values, and of one and two orders less in rates and
    // accelerations.
    for (const auto& [column, order] :
         std::map<std::string, int>{{"bob.y_m", 4}, {"bob.vy_m_s", 3}, {"bob.ay_m_s2", 2}}) {
      const double error = largest_difference(run, reference, column);
      if (coarse.contains(column)) {
        const double observed = std::log2(coarse[column] / error);
        fmt::print("{}: {:.2e}, order {:.2f}\n", column, error, observed);
        EXPECT_NEAR(observed, order, 0.4) << column;
      }
      coarse[column] = error;
    }
    EXPECT_EQ(run.columns.size(), reference.columns.size() + 2);
  }
}

TEST(Fmus, DrivenRunIsRestoredWithinACommunicationStep) {
  const auto input = unit_input(
      hinge("{polynomial: [0, 1]}", fmt::format(fmt::runtime(hinge_unit), "0.03", "motor", "angle")), unit_members(3));
  const auto first = opened(input);
  ASSERT_TRUE(first->advance_to(0.1));
  const Checkpoint saved = first->save();
  ASSERT_TRUE(first->advance_to(0.5));
  const std::vector<double> end(first->output_values().begin(), first->output_values().end());
  auto resumed = input;
  resumed.resume_from = saved;
  expect_same_bits(end_of(resumed), end);
}

/// The controller on one of two masses in contact; `steps`, one of its outputs, counts.
mbs::RunInput coupled(const std::string& coupling) {
  std::string yaml = TwoMasses{}.yaml(coupling, 0.1, 1e-3);
  const std::string pd =
      "forces:\n  pd: {type: fmu, file: pd.fmu, step: 0.01, inputs: [{variable: x, column: one.x_m}], "
      "outputs: [{variable: force, body: one, component: fx}, {variable: steps, body: two, component: "
      "ty, scale: 0}], parameters: [{variable: ki, value: 30}]}";
  yaml.replace(yaml.find("forces:"), 7, pd);
  return unit_input(yaml, unit_members(3));
}

TEST(Fmus, SchemesThatRepeatMacroStepsStepTheFmuOnce) {
  for (const char* coupling :
       {"{scheme: monolithic}", "{scheme: jacobi, macro_step: 2e-3}", "{scheme: implicit, macro_step: 5e-3}",
        "{scheme: jacobi, macro_step: 5e-3, step_control: {energy_tolerance: 1e-9, min_step: 1e-6}}"}) {
    const auto input = coupled(coupling);
    const auto simulation = opened(input);
    double integral = 0.0;
    for (int k = 0; k < 10; ++k) {
      ASSERT_TRUE(simulation->advance_to(0.01 * k)) << coupling;
      integral += 0.01 * simulation->output("one.x_m");
      ASSERT_TRUE(simulation->advance_to(0.01 * k + 0.005)) << coupling;
      // Sum of an uninterrupted FMU, to the last bit.
      EXPECT_EQ(simulation->output("pd.one.fx_N"), -30.0 * integral) << coupling << k;
      EXPECT_EQ(simulation->output("pd.two.ty_Nm"), k + 1) << coupling;
    }
    if (const auto statistics = simulation->model().scheme().statistics()) {
      fmt::print("{}: {} exchanges, {} rejected macro steps\n", coupling, statistics->exchanges,
                 statistics->rejected_macro_steps);
      if (std::string_view(coupling).find("step_control") != std::string_view::npos) {
        EXPECT_GT(statistics->rejected_macro_steps, 0);
      }
    }
  }
}

TEST(Fmus, IncompatibleMacroStepIsRejected) {
  try {
    (void)opened(coupled("{scheme: jacobi, macro_step: 3e-3}"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("multiple of coupling.macro_step, 0.003 s, found 0.01 s"));
  }
}

// ---- rejected input

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}
std::string open_complaint(const std::string& yaml, const Members& members) {
  return complaint([&] { (void)opened(unit_input(yaml, members)); });
}
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}
/// With one change of its description.
std::string description_complaint(const std::string& what, const std::string& by, int version = 3) {
  Members members = unit_members(version);
  members["modelDescription.xml"] = replaced(members["modelDescription.xml"], what, by);
  return open_complaint(slider(unit_force("0.01")), members);
}

TEST(FmuErrors, NothingIsLoadedWithoutPermission) {
  auto input = unit_input(slider(unit_force("0.01")), unit_members(3));
  input.allow_fmus = false;
  const std::string message = complaint([&] { (void)opened(input); });
  EXPECT_THAT(message, HasSubstr("test.yaml:9: forces.pd.file"));
  EXPECT_THAT(message, HasSubstr("--allow-fmu"));
}

TEST(FmuErrors, OfTheFileAreReported) {
  auto input = unit_input(slider(unit_force("0.01")), unit_members(3));
  input.assets[0].content = "no archive";
  EXPECT_THAT(complaint([&] { (void)opened(input); }),
              HasSubstr("expected an FMU (.fmu, a zip archive), found 10 bytes"));
  input.assets.clear();
  EXPECT_THAT(complaint([&] { (void)opened(input); }), HasSubstr("'pd.fmu' was not submitted with the scenario"));
  const std::string yaml = slider(unit_force("0.01"));
  EXPECT_THAT(open_complaint(yaml, {{"a.txt", "a"}}), HasSubstr("an archive without modelDescription.xml"));
  Members members = unit_members(3);
  members["resources/../../escaped"] = "x";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("expected members inside the archive"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::temp_directory_path() / "escaped"));
  members = unit_members(3);
  members["binaries/x86_64-windows/pd.dll"] = "x";
  const std::string binary = std::string(fmi3_binaries) + "/pd.so";
  members.erase(binary);
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("found binaries for x86_64-windows"));
  members[binary] = "no machine code";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("found 15 bytes of another format or truncated"));
  const std::string whole = unit_members(3).at(binary);
  members[binary] = whole;
  const std::string needed = "libc.so.6";
  members[binary].replace(whole.find(needed), needed.size(), "libq.so.6");
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("install what it needs, or"));
  members["documentation/externalDependencies.txt"] = "Install it:\napt install libpd1\n";
  EXPECT_THAT(open_complaint(yaml, members),
              AllOf(HasSubstr("cannot be loaded ("),
                    HasSubstr("install what it needs (its documentation lists: Install it: apt install libpd1), or")));
  members[binary] = read_text(PD_UNIT_2);
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("has no function fmi3"));
}

TEST(FmuErrors, BinariesOfOtherSystemsAreReportedWithThePlatforms) {
  const std::string yaml = slider(unit_force("0.01"));
  const std::string binary = std::string(fmi3_binaries) + "/pd.so";
  Members members = unit_members(3);
  constexpr std::size_t machine = 18;  // offset in the header of the ELF format, of two bytes
  members[binary].replace(machine, 2, std::string("\xf3\0", 2));
  const std::string platform = std::string(fmi3_binaries).substr(std::string("binaries/").size());
  EXPECT_THAT(open_complaint(yaml, members),
              AllOf(HasSubstr("found one for machine 243 of the ELF format, and binaries for " + platform),
                    HasSubstr("export it for this system")));
  members.erase(binary);
  members[std::string(fmi3_binaries) + "/"] = "";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("found binaries for no platform"));
  members[binary + "/a.txt"] = "a folder with the name of the binary";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("pd.so' in the FMU, found binaries for " + platform));
}

/// A check before a run, possibly in another process than the run.
TEST_P(EveryFmiVersion, FilesAreCheckedWithoutLoading) {
  const auto check = [](const std::string& yaml, const Members& members) {
    const auto input = unit_input(yaml, members);
    return complaint([&] { mbs::Simulation(input).check_fmu_files(); });
  };
  const std::string yaml = slider(unit_force("0.01"));
  Members members = unit_members(GetParam());
  EXPECT_EQ(check(yaml, members), "accepted");
  const std::string wrong_value = slider(unit_force("0.01", ", {variable: ki, value: text}"));
  const std::string wrong_name = slider(unit_force("0.01", "", "farce"));
  for (const std::string& wrong : {wrong_value, wrong_name}) {
    EXPECT_NE(check(wrong, members), "accepted");
    EXPECT_EQ(check(wrong, members), open_complaint(wrong, members));
  }
  const std::string binary = std::string(GetParam() == 3 ? fmi3_binaries : fmi2_binaries) + "/pd.so";
  const std::string whole = members.at(binary);
  members[binary].resize(64);
  EXPECT_THAT(check(yaml, members), HasSubstr("found 64 bytes of another format or truncated"));
  members[binary] = replaced(whole, "libc.so.6", "libq.so.6");
  EXPECT_EQ(check(yaml, members), "accepted") << "its libraries are those of the process that runs it";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("cannot be loaded ("));
}

/// The loader maps what a file declares; reading beyond its end would terminate the process.
TEST(FmuErrors, TruncatedBinariesAreRejected) {
  const std::string yaml = slider(unit_force("0.01"));
  const std::string binary = std::string(fmi3_binaries) + "/pd.so";
  const std::string whole = unit_members(3).at(binary);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 61 + 1) {
    Members members = unit_members(3);
    members[binary].resize(size);
    const std::string message = open_complaint(yaml, members);
    // Data behind the last mapped page (names for debuggers) is not needed.
    const bool is_reported =
        message.find(fmt::format("found {} bytes of another format or truncated", size)) != std::string::npos;
    EXPECT_TRUE(is_reported || (message == "accepted" && size > whole.size() / 2)) << size << ": " << message;
  }
}

TEST(FmuErrors, ConflictingMembersAreRejected) {
  const std::string yaml = slider(unit_force("0.01"));
  for (const auto& [first, second] : std::map<std::string, std::string>{
           {"resources/a", "resources/a/b"}, {"resources/a/b", "resources/a/b/"}, {"resources/c/", "resources/c"}}) {
    Members members = unit_members(3);
    members[first] = members[second] = "x";
    EXPECT_THAT(open_complaint(yaml, members), HasSubstr("as a file and as a folder")) << first << " and " << second;
  }
  // Also of members that are not unpacked.
  for (const auto& [file, inside] :
       std::map<std::string, std::string>{{"binaries", ""}, {"sources", "sources/a/b.c"}}) {
    Members members = unit_members(3);
    members[file] = "x";
    if (!inside.empty()) members[inside] = "x";
    EXPECT_THAT(open_complaint(yaml, members), HasSubstr("found '" + file + "' as a file and as a folder"));
  }
  Members members = unit_members(3);
  members["sources/a"] = members["sources/a.c"] = members["sources-b/a"] = "x";
  EXPECT_EQ(open_complaint(yaml, members), "accepted");
  members = unit_members(3);
  members["resources/" + std::string(300, 'x')] = "x";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("up to 255 characters"));
  members = unit_members(3);
  members["resources/" + std::string(300, 'x') + "/a"] = "x";
  EXPECT_THAT(open_complaint(yaml, members), HasSubstr("too long a name"));
}

/// Against the rules of the format, but as written by tools and read by others.
TEST_P(EveryFmiVersion, MemberNamesOfOtherSystemsAreAccepted) {
  Members members;
  for (const auto& [name, content] : unit_members(GetParam())) {
    std::string other = name;
    std::ranges::replace(other, '/', '\\');
    members[name == "modelDescription.xml" ? "./" + name : other] = content;
  }
  EXPECT_NO_THROW((void)opened(unit_input(slider(unit_force("0.01")), members)));
}

TEST(FmuErrors, OfTheDescriptionAreReported) {
  EXPECT_THAT(description_complaint("</fmiModelDescription>", ""), HasSubstr("expected XML"));
  EXPECT_THAT(description_complaint("fmiVersion=\"3.0\"", "fmiVersion=\"1.0\""),
              HasSubstr("expected FMI 2.0 or 3, found fmiVersion '1.0'"));
  EXPECT_THAT(description_complaint("<CoSimulation", "<ModelExchange"), HasSubstr("one for model exchange only"));
  EXPECT_THAT(description_complaint("modelIdentifier", "needsExecutionTool=\"true\" modelIdentifier"),
              HasSubstr("needsExecutionTool"));
  EXPECT_THAT(description_complaint("modelIdentifier=\"pd\"", "modelIdentifier=\"../pd\""), HasSubstr("'../pd'"));
  for (const int version : {2, 3}) {
    const std::string message = description_complaint("{pd}", "{other}", version);
    EXPECT_THAT(message, HasSubstr("cannot be instantiated with its token '{other}'"));
    EXPECT_THAT(message, HasSubstr("is not mine"));
  }
}

TEST(FmuErrors, OfTheVariablesAreReported) {
  const std::string good = slider(unit_force("0.01"));
  const auto message = [&](const std::string& what, const std::string& by) {
    return open_complaint(replaced(good, what, by), unit_members(3));
  };
  EXPECT_THAT(
      message("variable: x,", "variable: y,"),
      HasSubstr("forces.pd.inputs[0].variable: expected a variable of causality 'input', found 'y', which it does "
                "not have; the FMU has x, v"));
  EXPECT_THAT(message("variable: x,", "variable: force,"), HasSubstr("which is of causality 'output'"));
  EXPECT_THAT(message("variable: k,", "variable: x,"), HasSubstr("forces.pd.parameters[0].variable"));
  EXPECT_THAT(message("column: mass.x_m", "column: mess.x_m"), HasSubstr("found 'mess.x_m'"));
  EXPECT_THAT(description_complaint("<Float64 name=\"x\"", "<String name=\"x\""), HasSubstr("'x' of type String"));
  EXPECT_THAT(description_complaint("<ModelVariables>",
                                    "<UnitDefinitions><Unit name=\"mm\"><BaseUnit m=\"1\" factor=\"0.001\"/></Unit>"
                                    "</UnitDefinitions><ModelVariables>"),
              "accepted");
  Members members = unit_members(3);
  members["modelDescription.xml"] = replaced(
      replaced(members["modelDescription.xml"], "<ModelVariables>",
               "<UnitDefinitions><Unit name=\"mm\"><BaseUnit m=\"1\" factor=\"0.001\"/></Unit></UnitDefinitions>"
               "<ModelVariables>"),
      "name=\"x\"", "name=\"x\" unit=\"mm\"");
  EXPECT_THAT(open_complaint(good, members), HasSubstr("expected a variable in SI units, found 'x' in 'mm'"));
}

TEST(FmuErrors, OfDriversAreReported) {
  const auto message = [](const char* driver, const char* coordinate) {
    return open_complaint(
        hinge("{polynomial: [0, 1]}", fmt::format(fmt::runtime(hinge_unit), "0.01", driver, coordinate)),
        unit_members(3));
  };
  EXPECT_THAT(message("moter", "angle"),
              HasSubstr("forces.pd.driven_coordinates[0].driver: expected the name of a driver, found 'moter'"));
  EXPECT_THAT(message("motor", "x"), HasSubstr("for which the driver 'motor' has a function, found 'x'"));
  EXPECT_THAT(complaint([] {
                (void)scenario_from(
                    hinge("{polynomial: [0, 1]}", fmt::format(fmt::runtime(hinge_unit), "0.01", "motor", "angel")));
              }),
              HasSubstr("did you mean 'angle'"));
}

TEST(FmuErrors, OfTheScenarioAreReported) {
  const auto message = [](const std::string& force) { return complaint([&] { (void)scenario_from(slider(force)); }); };
  EXPECT_THAT(message(unit_force("0")), HasSubstr("forces.pd.step"));
  EXPECT_THAT(message(unit_force("-1")), HasSubstr("forces.pd.step"));
  EXPECT_THAT(message(unit_force("0.6")), HasSubstr("forces.pd.step: expected a step within the run, at most 0.5 s"));
  EXPECT_THAT(message(replaced(unit_force("0.01"), "body: mass", "body: mess")),
              HasSubstr("expected the name of a body"));
  EXPECT_THAT(message(replaced(unit_force("0.01"), "variable: v,", "variable: x,")), HasSubstr("each variable once"));
  EXPECT_THAT(message(replaced(unit_force("0.01"), "component: fx", "component: f")), HasSubstr("component"));
  EXPECT_THAT(
      complaint([] {
        (void)scenario_from(replaced(slider(unit_force("0.01")), "analysis: {", "analysis: {type: kinematic, "));
      }),
      HasSubstr("analysis.type forward"));
}

TEST_P(EveryFmiVersion, FailingFmuEndsTheRunWithItsMessage) {
  const std::map<int, const char*> responses = {{2, "returned 'reject'"},
                                                {3, "returned 'error'"},
                                                {4, "returned 'fatal'"},
                                                {5, "expected finite numbers from the FMU, found nan for 'force'"}};
  for (const auto& [status, text] : responses) {
    const auto parameters =
        fmt::format(", {{variable: fail_at, value: 0.1}}, {{variable: fail_with, value: {}}}", status);
    const RecordedRun run = run_input(unit_input(slider(unit_force("0.02", parameters)), unit_members(GetParam())),
                                      fem::open_local_contact);
    ASSERT_EQ(run.summary.status, "failed");
    EXPECT_THAT(run.summary.error->what(), HasSubstr(text));
    EXPECT_THAT(run.summary.error->what(), HasSubstr("forces.pd.file"));
    // All rows up to the failure are present.
    EXPECT_EQ(run.column("time_s").back(), 0.1);
  }
}

TEST_P(EveryFmiVersion, VariablesMayBeIntegersAndBooleans) {
  using Types = std::map<std::string, std::string>;
  const bool third = GetParam() == 3;
  const Types types = third ? Types{{"x", "Float32"}, {"v", "Boolean"}, {"k", "Int32"}, {"c", "UInt8"}}
                            : Types{{"v", "Boolean"}, {"k", "Integer"}, {"c", "Integer"}};
  Members members = unit_members(GetParam());
  members["modelDescription.xml"] = description(GetParam(), types);
  const auto input = unit_input(slider(unit_force("0.01")), members);
  const auto simulation = opened(input);
  ASSERT_TRUE(simulation->advance_to(0.025));
  const double x = simulation->output("pd.mass.x_m"), v = simulation->output("pd.mass.vx_m_s");
  ASSERT_NE(v, 0.0);
  const double output_value = third ? static_cast<double>(static_cast<float>(x)) : x;
  EXPECT_EQ(third, output_value != x);
  EXPECT_EQ(simulation->output("pd.mass.fx_N"),
            -(100.0 * output_value + 2.0));  // the velocity is true, as it is not zero

  members["modelDescription.xml"] = description(GetParam(), {{"steps", third ? "Int64" : "Integer"}});
  const auto counting = opened(unit_input(slider(unit_force("0.01", "", "steps")), members));
  ASSERT_TRUE(counting->advance_to(0.045));
  EXPECT_EQ(counting->output("pd.mass.fx_N"), 5.0);
}

TEST_P(EveryFmiVersion, ParametersMayBeStringsAndBooleans) {
  Members members = unit_members(GetParam());
  members["modelDescription.xml"] = description(GetParam(), {{"ki", "Boolean"}});
  const auto force_with = [&](const std::string& values) {
    const auto simulation = opened(unit_input(slider(unit_force("0.01", values)), members));
    return simulation->output("pd.mass.fx_N");
  };
  // The spring of 100 N/m at 0.1 m, and 1 N/(m s) times its integral over the first step.
  EXPECT_EQ(force_with(", {variable: ki, value: false}"), -10.0);
  EXPECT_EQ(force_with(", {variable: ki, value: true}"), -(10.0 + 0.01 * 0.1));
  EXPECT_EQ(force_with(", {variable: law, value: normal}"), -10.0);
  EXPECT_EQ(force_with(", {variable: law, value: \"reversed\"}"), 10.0);
}

TEST(Fmus, ValuesOutsideTheTypeAreRejected) {
  const auto message = [](const std::string& variable, const std::string& type, const std::string& value) {
    Members members = unit_members(3);
    members["modelDescription.xml"] = description(3, {{variable, type}});
    return open_complaint(slider(unit_force("0.01", fmt::format(", {{variable: {}, value: {}}}", variable, value))),
                          members);
  };
  EXPECT_EQ(message("ki", "Int8", "-128"), "accepted");
  EXPECT_THAT(message("ki", "Int8", "2.5"),
              HasSubstr("forces.pd.parameters[2].value: expected a whole number below 2^53 for the "
                        "variable 'ki' of type Int8, found 2.5"));
  EXPECT_THAT(message("ki", "Int64", "9007199254740993"), HasSubstr("a whole number below 2^53"));
  EXPECT_THAT(message("ki", "Int8", "128"), HasSubstr("type Int8, from -128 to 127, found 128"));
  EXPECT_THAT(message("ki", "Int8", "true"),
              HasSubstr("a whole number below 2^53 for the variable 'ki' of type Int8, found true"));
  EXPECT_THAT(message("ki", "Float64", "true"), HasSubstr("a finite number for the variable 'ki' of type Float64"));
  EXPECT_THAT(message("ki", "Float64", ".inf"), HasSubstr("found inf"));
  EXPECT_THAT(message("ki", "Float64", "\"5\""), HasSubstr("found the text '5'; write it without quotes"));
  EXPECT_THAT(message("ki", "Boolean", "2"), HasSubstr("expected true or false (1 or 0) for the variable 'ki'"));
  EXPECT_THAT(message("ki", "Boolean", "maybe"), HasSubstr("found the text 'maybe'"));
  EXPECT_THAT(message("ki", "Enumeration", "2"),
              HasSubstr("numbers, Booleans or strings, found 'ki' of type Enumeration"));
  EXPECT_THAT(
      message("law", "String", "5"),
      HasSubstr("forces.pd.parameters[2].value: expected a text for the variable 'law' of type String, found 5; "
                "write it in quotes"));
  EXPECT_THAT(message("law", "String", "sideways"), HasSubstr("fmi3SetString of the FMU returned 'error'"));
  Members members = unit_members(3);
  members["modelDescription.xml"] = description(3, {{"angle", "Int32"}});
  EXPECT_THAT(
      open_complaint(hinge("{polynomial: [0, 1]}", fmt::format(fmt::runtime(hinge_unit), "0.01", "motor", "angle")),
                     members),
      HasSubstr("expected a variable that changes continuously, found 'angle' of type Int32"));
}

TEST_P(EveryFmiVersion, DiscardedStepsAreRetriedInParts) {
  const auto input = [&](const std::string& longest, const std::string& variable, bool varies) {
    Members members = unit_members(GetParam());
    members["modelDescription.xml"] =
        description(GetParam(), {}, varies ? R"(canHandleVariableCommunicationStepSize="true")" : "");
    const std::string parameters =
        fmt::format(", {{variable: ki, value: 50}}, {{variable: longest, value: {}}}", longest);
    return unit_input(slider(unit_force("0.02", parameters, variable)), members);
  };
  // An eighth of the step is the longest repeated half that it accepts; its corrupted state is restored.
  const auto counting = opened(input("0.003", "steps", true));
  ASSERT_TRUE(counting->advance_to(0.09));
  EXPECT_EQ(counting->output("pd.mass.fx_N"), 5 * 8.0);
  const auto whole = end_of(input("0", "force", true)), parts = end_of(input("0.003", "force", true));
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-9 * (1.0 + std::abs(whole[i])));
  const auto complaint_of = [&](const std::string& longest, bool varies) {
    return std::string(run_input(input(longest, "force", varies), fem::open_local_contact).summary.error->what());
  };
  EXPECT_THAT(complaint_of("0.003", false), HasSubstr("returned 'reject'"));
  EXPECT_THAT(complaint_of("1e-7", true),
              HasSubstr("DoStep from t = 0 s over 0.02 s, also in steps of 1.953125e-05 s,"));
}

TEST(Fmus, WithoutSavedStatesRunWithoutCheckpointsAndReportIt) {
  Members members = unit_members(3);
  members["modelDescription.xml"] = replaced(members["modelDescription.xml"], "canSerializeFMUState=\"true\"", "");
  auto input = unit_input(slider(unit_force("0.01")), members);
  input.scenario.output.checkpoint_interval = 0.1;
  const RecordedRun run = run_input(input, fem::open_local_contact);
  EXPECT_EQ(run.summary.status, "completed");
  EXPECT_TRUE(run.checkpoints.empty());
  EXPECT_THAT(run.log, testing::Contains(HasSubstr("without checkpoints")));
  const auto simulation = opened(input);
  EXPECT_THAT(complaint([&] { (void)simulation->save(); }), HasSubstr("canSerializeFMUState"));
}

}  // namespace
}  // namespace heelstrike::test
