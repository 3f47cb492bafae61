// heelstrike validate: checks a scenario, and prints its interpretation and the assembled model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/plain_text.hpp"
#include "common/text/table.hpp"
#include "library/composition/embedded.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ValidateOptions {
  fs::path scenario;
  Overrides overrides;
  ServerOptions servers;
};

/// A line, broken between words where a terminal, or COLUMNS, states a width.
template <typename... Values>
void print_line(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = fmt::format(format, std::forward<Values>(values)...);
  const std::size_t width = screen_width(Stream::out);
  for (const std::string& line : wrapped_lines(text, width == 0 ? text.size() + 1 : width, "")) {
    fmt::print("{}\n", line);
  }
}

std::string vector_text(const Vector3& v) {
  return fmt::format("[{:g}, {:g}, {:g}]", v.x(), v.y(), v.z());
}
Json vector_json(const Vector3& v) {
  return Json::array({v.x(), v.y(), v.z()});
}

std::string value_text(const ParameterValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::visit([](const auto& content) { return Json(content).dump(); }, value);
}

void print_bodies(const Scenario& scenario) {
  Table table;
  table.header = {"body", "mass kg", "position m", "velocity m/s", "angular velocity rad/s"};
  for (const BodySpec& body : scenario.bodies) {
    table.rows.push_back({body.name, number_text(body.mass), vector_text(body.X_WB.p), vector_text(body.V_WB.v),
                          vector_text(body.V_WB.w)});
  }
  fmt::print("\n{}", table.fitted(screen_width(Stream::out)));
}

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

/// Kind of joint or driver of a constraint, as named in the scenario.
std::string kind_of(const ConstraintDescription& constraint, const Scenario& scenario) {
  if (constraint.prescribes) return "driver";
  const auto joint = std::ranges::find(scenario.joints, constraint.name, &JointSpec::name);
  return joint == scenario.joints.end() ? "-" : joint->type;
}

int equations_of(const ModelDescription& model, bool prescribed) {
  int sum = 0;
  for (const ConstraintDescription& constraint : model.constraints) {
    if (constraint.prescribes == prescribed) sum += constraint.n_equations;
  }
  return sum;
}

void print_model(const Scenario& scenario, const ModelDescription& model) {
  if (!model.constraints.empty()) {
    Table table;
    table.header = {"joint or driver", "type", "equations", "moves"};
    for (const ConstraintDescription& constraint : model.constraints) {
      table.rows.push_back({constraint.name, kind_of(constraint, scenario), fmt::to_string(constraint.n_equations),
                            joined(constraint.bodies)});
    }
    fmt::print("\n{}", table.fitted(screen_width(Stream::out)));
  }
  fmt::print("\n");
  print_line("forces: {}", joined(model.forces));
  print_line(
      "{} degrees of freedom: 6 of {}, less {} equations of joints and {} of drivers; {} redundant "
      "equations are removed",
      model.degrees_of_freedom,
      scenario.bodies.size() == 1 ? "one body" : fmt::format("each of {} bodies", scenario.bodies.size()),
      equations_of(model, false), equations_of(model, true), model.n_redundant);
  for (const std::string& note : model.notes) print_line("{}", printable(note));
}

void print_pairs(const Scenario& scenario, const BuiltModel& model) {
  for (std::size_t i = 0; i < scenario.pairs.size(); ++i) {
    const PairModel& pair = scenario.pairs[i];
    fmt::print("\n");
    print_line("contact {}: {} ({}) against {} ({}), back-end {}", pair.spec.name, pair.main_body,
               pair.spec.main.surface.kind, pair.partner_body, pair.spec.partner.surface.kind, pair.spec.backend);
    for (const auto& [name, value] : model.parameters[i]) {
      const std::string text = value_text(value);
      if (!text.empty() && text != "[]") fmt::print("  {} = {}\n", name, text);
    }
  }
}

void print_text(const RunRequest& request, const BuiltModel& model) {
  const Scenario& scenario = request.scenario;
  fmt::print("{}: valid\n", request.file_name);
  if (!scenario.description.empty()) print_line("{}", scenario.description);
  fmt::print("gravity {} m/s^2\n", vector_text(scenario.gravity));
  print_bodies(scenario);
  for (const LoadSpec& load : scenario.loads) {
    std::string functions;
    for (const auto& [key, function] : load.functions) functions += fmt::format(" + {}(t)", key);
    const auto frame = [&](const std::string& body) {
      return body == "ground" ? std::string("world") : body == load.body ? "body" : body;
    };
    print_line("load {} on {}: force {} N, torque {} N m{} at {} m of the {} frame, {} axes", load.name, load.body,
               vector_text(load.force), vector_text(load.torque), functions, vector_text(load.point),
               frame(load.point_body), frame(load.axes_body));
  }
  print_model(scenario, model.description);
  print_pairs(scenario, model);
  const AnalysisSpec& analysis = scenario.analysis;
  fmt::print("\n");
  print_line("analysis {} to {:g} s with {} (rtol {:g}, atol {:g}{})", analysis.type, analysis.end_time,
             analysis.integrator.name, analysis.integrator.rtol, analysis.integrator.atol,
             analysis.integrator.max_step ? fmt::format(", steps up to {:g} s", *analysis.integrator.max_step) : "");
  fmt::print("output every {:g} s\n", scenario.output.interval);
  for (const AssetContent& file : request.files) fmt::print("file {} ({} bytes)\n", file.name, file.content.size());
  if (!request.not_imported.empty()) fmt::print("\nskipped or approximated:\n");
  for (const std::string& line : request.not_imported) print_line("  {}", printable(line));
}

Json pair_json(const PairModel& pair, const ParameterMap& in_force) {
  Json parameters = Json::object();
  for (const auto& [name, value] : in_force) {
    parameters[name] = std::visit([](const auto& content) { return Json(content); }, value);
  }
  return {{"name", pair.spec.name},
          {"backend", pair.spec.backend},
          {"main", {{"body", pair.main_body}, {"surface", pair.spec.main.surface.kind}}},
          {"partner", {{"body", pair.partner_body}, {"surface", pair.spec.partner.surface.kind}}},
          {"parameters", parameters}};
}

Json model_json(const Scenario& scenario, const ModelDescription& model) {
  Json json = {{"degrees_of_freedom", model.degrees_of_freedom},
               {"redundant_equations", model.n_redundant},
               {"constraints", Json::array()},
               {"forces", model.forces},
               {"notes", model.notes}};
  for (const ConstraintDescription& constraint : model.constraints) {
    json["constraints"].push_back({{"name", constraint.name},
                                   {"type", kind_of(constraint, scenario)},
                                   {"equations", constraint.n_equations},
                                   {"bodies", constraint.bodies}});
  }
  return json;
}

void print_json(const RunRequest& request, const BuiltModel& model) {
  const Scenario& scenario = request.scenario;
  Json json = {{"valid", true},
               {"scenario", scenario.name},
               {"description", scenario.description},
               {"gravity_m_s2", vector_json(scenario.gravity)},
               {"bodies", Json::array()},
               {"model", model_json(scenario, model.description)},
               {"contact", Json::array()},
               {"files", Json::array()}};
  for (const BodySpec& body : scenario.bodies) {
    json["bodies"].push_back({{"name", body.name}, {"mass_kg", body.mass}, {"position_m", vector_json(body.X_WB.p)}});
  }
  for (std::size_t i = 0; i < scenario.pairs.size(); ++i) {
    json["contact"].push_back(pair_json(scenario.pairs[i], model.parameters[i]));
  }
  for (const AssetContent& file : request.files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.content.size()}});
  }
  json["analysis"] = {{"type", scenario.analysis.type},
                      {"end_time_s", scenario.analysis.end_time},
                      {"integrator", scenario.analysis.integrator.name},
                      {"rtol", scenario.analysis.integrator.rtol},
                      {"atol", scenario.analysis.integrator.atol}};
  json["output"] = {{"interval_s", scenario.output.interval}};
  json["not_imported"] = request.not_imported;
  fmt::print("{}\n", json.dump(2));
}

ExitCode validate(const ValidateOptions& options, bool json, const std::stop_token& stop) {
  const RunRequest request =
      load_request(options.scenario, options.overrides, schemas_of(known_backends(options.servers)), stop);
  const std::vector<std::string> warnings = find_pair_warnings(request);
  // Redundant equations and the degrees of freedom are known only from the assembled model, not from the file.
  const BuiltModel model = build_model(request, stop);
  for (const std::string& note : request.notes) print_message("note", note);
  for (const std::string& warning : warnings) print_message("warning", printable(warning));
  if (json) {
    print_json(request, model);
  } else {
    print_text(request, model);
  }
  return ExitCode::ok;
}

Action add_validate(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ValidateOptions>();
  add_scenario_argument(command, options->scenario);
  add_override_options(command, options->overrides);
  command.add_option("--fem", options->servers.fem, "Check against the back-ends of this fem_server")
      ->type_name("ADDRESS");
  command.add_flag("--json", as_json, "Print as JSON");
  return [options](bool json, const std::stop_token& stop) { return validate(*options, json, stop); };
}

}  // namespace

Subcommand validate_command() {
  return {.name = "validate",
          .summary = "Check a scenario and show its interpretation",
          .examples =
              "  heelstrike validate examples/bouncing_ball.yaml\n"
              "  heelstrike validate examples/bouncing_ball.yaml --set contact.restitution=0.6 --json",
          .add = add_validate};
}

}  // namespace heelstrike::client
