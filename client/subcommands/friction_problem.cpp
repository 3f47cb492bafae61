// heelstrike friction-problem: frictional contact problems of others solved here, ours written out for others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "library/composition/embedded.hpp"
#include "library/composition/friction_problems.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "library/terminal/screen.hpp"
#include "common/text/table.hpp"
#include "common/errors/error.hpp"
#include "benchmarks/friction_problems/fclib_file.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"
#include "common/friction/solve_friction.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct SolveOptions {
  std::vector<fs::path> files;
  friction::FrictionOptions solver;
  bool reactions = false;
};

struct ExportOptions {
  fs::path scenario;
  Overrides overrides;
  FrictionExport wanted;
  std::string format = "fclib";
};

friction::LocalProblem read_problem(const fs::path& file) {
  if (file.extension() == ".hdf5" || file.extension() == ".h5") return friction::read_fclib(file);
  std::ifstream in(file);
  if (!in) throw file_error(file.string(), fmt::format("{}: cannot be read", file.string()));
  return friction::read_siconos_text(in, file.string());
}

/// Those that cannot be read are told at once and keep no other from being solved.
ExitCode solve(const SolveOptions& options, bool as_json) {
  bool all = true;
  std::optional<ExitCode> refused;
  Table table;
  table.header = {"problem", "contacts", "error", "sweeps", "Newton steps", "ms", "outcome"};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const fs::path& file : options.files) {
    friction::LocalProblem problem;
    try {
      problem = read_problem(file);
    } catch (const Error& error) {
      refused = exit_code(error);
      fmt::print(stderr, "heelstrike: error: {}\n", error.what());
      table.rows.push_back({file.filename().string(), "", "", "", "", "", "not read"});
      json.push_back({{"file", file.string()}, {"problem", error.what()}});
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    const friction::FrictionSolution solution = friction::solve_friction(problem, options.solver);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    all = all && solution.converged;
    const char* outcome = solution.converged ? "solved" : "not solved";
    table.rows.push_back({file.filename().string(), fmt::format("{}", problem.n_contacts()),
                          fmt::format("{:.1e}", solution.error), fmt::format("{}", solution.sweeps),
                          fmt::format("{}", solution.newton_steps), fmt::format("{:.2f}", time.count()), outcome});
    json.push_back({{"file", file.string()},
                    {"dimension", problem.dimension},
                    {"contacts", problem.n_contacts()},
                    {"converged", solution.converged},
                    {"error", solution.error},
                    {"sweeps", solution.sweeps},
                    {"newton_steps", solution.newton_steps},
                    {"milliseconds", time.count()}});
    if (options.reactions) {
      json.back()["r"] = std::vector<double>(solution.r.begin(), solution.r.end());
      json.back()["u"] = std::vector<double>(solution.u.begin(), solution.u.end());
    }
  }
  if (as_json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}", table.fitted(screen_width(Stream::out)));
  }
  if (!all) {
    fmt::print(stderr, "heelstrike: no solution to the tolerance of {:g} was found; the problem may have none\n",
               options.solver.tolerance);
  }
  if (refused) return *refused;
  return all ? ExitCode::ok : ExitCode::run_failed;
}

ExitCode export_problems(ExportOptions& options, const std::stop_token& stop) {
  const RunRequest request = load_request(options.scenario, options.overrides, schemas_of(embedded_backends()), stop);
  options.wanted.siconos_text = options.format == "siconos";
  std::error_code failure;
  fs::create_directories(options.wanted.folder, failure);
  if (failure) {
    throw file_error(options.wanted.folder.string(), fmt::format("{}: expected a folder to write to, found: {}",
                                                                 options.wanted.folder.string(), failure.message()));
  }
  const std::vector<fs::path> files = export_friction_problems(request, options.wanted, stop);
  if (files.empty()) {
    fmt::print("nothing touches from {} to {} s: no problem was written\n", options.wanted.from, options.wanted.to);
  } else {
    fmt::print("{} problems, {} to {}\n", files.size(), files.front().string(), files.back().string());
  }
  return ExitCode::ok;
}

void add_solve(CLI::App& parent, Invocation& invocation) {
  auto* command = parent.add_subcommand("solve", "Solve problems in Siconos' text format or FCLIB's HDF5");
  const auto options = std::make_shared<SolveOptions>();
  command->add_option("FILE", options->files, "Problems: .hdf5 and .h5 are FCLIB's, others Siconos' text")->required();
  command->add_option("--tolerance", options->solver.tolerance, "Of the error that FCLIB measures, relative to q")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--reactions", options->reactions, "Reactions r and motions u in the JSON");
  command->add_flag("--json", invocation.json, "Print the results as JSON");
  add_footer(*command, "  heelstrike friction-problem solve KaplasTower-i1061-4.hdf5.dat CubeH8.hdf5");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options](const std::stop_token&) { return solve(*options, invocation.json); };
  });
}

void add_export(CLI::App& parent, Invocation& invocation) {
  auto* command = parent.add_subcommand("export", "Write the problems that a run solves, step by step");
  const auto options = std::make_shared<ExportOptions>();
  add_scenario_argument(*command, options->scenario);
  command->add_option("--backend", options->overrides.backend, "Contact back-end for every pair")->type_name("NAME");
  add_set_option(*command, options->overrides);
  command->add_option("--pair", options->wanted.pair, "Contact pair; needed when there are several")->type_name("NAME");
  command->add_option("--from", options->wanted.from, "First time [s]")->capture_default_str()->type_name("S");
  command->add_option("--to", options->wanted.to, "Last time [s]")->required()->type_name("S");
  command->add_option("--format", options->format, "fclib (HDF5) or siconos (text)")
      ->check(CLI::IsMember({"fclib", "siconos"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->wanted.folder, "Folder to write to")->required()->type_name("FOLDER");
  add_footer(*command, "  heelstrike friction-problem export examples/block_friction.yaml --to 0.1 -o problems");
  command->callback([&invocation, options] {
    invocation.action = [options](const std::stop_token& stop) { return export_problems(*options, stop); };
  });
}

}  // namespace

void add_friction_problem(CLI::App& program, Invocation& invocation) {
  auto* command =
      program.add_subcommand("friction-problem", "Frictional contact problems: solve those of others, export ours");
  command->require_subcommand(1);
  add_solve(*command, invocation);
  add_export(*command, invocation);
}

}  // namespace heelstrike::client
