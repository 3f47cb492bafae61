// heelstrike backends: lists the contact models and their parameters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/text/table.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

using Json = nlohmann::ordered_json;

struct BackendsOptions {
  std::string name;
  ServerOptions servers;
};

std::string kind_name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::number:
      return "number";
    case ParameterKind::text:
      return "text";
    case ParameterKind::flag:
      return "yes/no";
    case ParameterKind::numbers:
      return "numbers";
    default:  // parameters have no other kinds
      break;
  }
  return "?";
}

Json to_json(const ParameterValue& value) {
  return std::visit([](const auto& content) { return Json(content); }, value);
}

std::string default_text(const ParameterSchema& parameter) {
  if (parameter.required) return "required";
  if (!parameter.fallback) return "derived";
  if (const auto* number = std::get_if<double>(&*parameter.fallback)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&*parameter.fallback)) return *text;
  return to_json(*parameter.fallback).dump();
}

std::string range_text(const ParameterSchema& parameter) {
  if (!parameter.choices.empty()) return fmt::format("{}", fmt::join(parameter.choices, " | "));
  return parameter.kind == ParameterKind::number || parameter.kind == ParameterKind::numbers
             ? parameter.range.text()
             : kind_name(parameter.kind);
}

Json to_json(const ParameterSchema& parameter) {
  Json json = {
      {"name", parameter.name},         {"kind", kind_name(parameter.kind)},
      {"unit", parameter.unit},         {"meaning", parameter.meaning},
      {"required", parameter.required}, {"default", parameter.fallback ? to_json(*parameter.fallback) : Json()},
      {"range", range_text(parameter)}, {"choices", parameter.choices}};
  const auto bound = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  json["minimum"] = bound(parameter.range.min);
  json["maximum"] = bound(parameter.range.max);
  json["minimum_excluded"] = parameter.range.min_excluded;
  json["maximum_excluded"] = parameter.range.max_excluded;
  return json;
}

Json to_json(const BackendInfo& backend) {
  Json json = {{"name", backend.name},
               {"summary", backend.summary},
               {"reference", backend.reference},
               {"surface_pairs", backend.surface_pairs},
               {"parameters", Json::array()}};
  for (const ParameterSchema& parameter : backend.parameters) json["parameters"].push_back(to_json(parameter));
  return json;
}

void print_one(const BackendInfo& backend) {
  Table head;
  head.header = {"back-end", backend.name};
  head.rows = {{"summary", backend.summary}};
  if (!backend.reference.empty()) head.rows.push_back({"reference", backend.reference});
  head.rows.push_back({"surfaces", fmt::format("main-partner: {}", fmt::join(backend.surface_pairs, ", "))});
  fmt::print("{}\n", head.fitted(screen_width(Stream::out)));
  Table table;
  table.header = {"parameter", "unit", "range", "default", "meaning"};
  for (const ParameterSchema& parameter : backend.parameters) {
    table.rows.push_back(
        {parameter.name, parameter.unit, range_text(parameter), default_text(parameter), parameter.meaning});
  }
  fmt::print("{}", table.fitted(screen_width(Stream::out)));
}

void print_all(const std::vector<BackendInfo>& backends) {
  Table table;
  table.header = {"back-end", "summary"};
  for (const BackendInfo& backend : backends) table.rows.push_back({backend.name, backend.summary});
  fmt::print("{}\nheelstrike backends NAME shows its surfaces and every parameter.\n",
             table.fitted(screen_width(Stream::out)));
}

const BackendInfo& find(const std::vector<BackendInfo>& backends, const std::string& name) {
  std::vector<std::string> names;
  for (const BackendInfo& backend : backends) {
    if (backend.name == name) return backend;
    names.push_back(backend.name);
  }
  throw input_error("backend", unknown_backend_message(name, names));
}

ExitCode show_backends(const BackendsOptions& options, bool json) {
  const std::vector<BackendInfo> backends = known_backends(options.servers);
  if (!options.name.empty()) {
    const BackendInfo& backend = find(backends, options.name);
    if (json) {
      fmt::print("{}\n", to_json(backend).dump(2));
    } else {
      print_one(backend);
    }
    return ExitCode::ok;
  }
  if (!json) {
    print_all(backends);
    return ExitCode::ok;
  }
  Json all = Json::array();
  for (const BackendInfo& backend : backends) all.push_back(to_json(backend));
  fmt::print("{}\n", Json{{"backends", all}}.dump(2));
  return ExitCode::ok;
}

Action add_backends(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<BackendsOptions>();
  command.add_option("name", options->name, "Back-end to show in full")->type_name("NAME");
  command.add_flag("--json", as_json, "Print as JSON");
  const std::string group = "Server (default: the back-ends of this program)";
  command.add_option("--fem", options->servers.fem, "Address of a running fem_server: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->group(group);
  command.add_option("--tls-ca", options->servers.tls.ca_file, "Certificate of the authority to trust")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--tls-cert", options->servers.tls.certificate_file, "Client certificate")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--tls-key", options->servers.tls.key_file, "Key of the client certificate")
      ->type_name("FILE")
      ->group(group);
  return [options](bool json, const std::stop_token& /*stop*/) { return show_backends(*options, json); };
}

}  // namespace

Subcommand backends_command() {
  return {.name = "backends",
          .summary = "Show the contact back-ends and their parameters",
          .examples = "  heelstrike backends\n  heelstrike backends flores\n  heelstrike backends --json",
          .add = add_backends};
}

}  // namespace heelstrike::client
