// heelstrike compare: one scenario with several back-ends or coupling schemes in one table and one folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <iterator>
#include <memory>
#include <system_error>

#include "client/studies/comparison.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/stored_command.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/text/suggestion.hpp"
#include "library/composition/embedded.hpp"
#include "library/composition/shapes.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/execute.hpp"
#include "library/terminal/screen.hpp"
#include "report/shapes.hpp"
#include "report/tables.hpp"
#include "report/write_report.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  fs::path scenario;
  fs::path output;
  bool force = false;
  bool resume = false;
  bool quiet = false;
  std::vector<std::string> backends;
  std::vector<std::string> schemes;
  std::vector<std::string> macro_steps;
  std::string reference;
  Overrides overrides;
  ConnectionOptions connection;
};

/// One run of a comparison.
struct Variant {
  std::string label;   ///< in tables
  std::string folder;  ///< below that of the comparison
  Overrides overrides;
};

std::vector<Variant> backend_variants(const CompareOptions& options) {
  std::vector<Variant> variants;
  for (const std::string& backend : options.backends) {
    Variant& variant =
        variants.emplace_back(Variant{.label = backend, .folder = backend, .overrides = options.overrides});
    variant.overrides.backend = backend;
    variant.overrides.backend_last = true;
  }
  return variants;
}

bool has_key(const ElementType& type, const std::string& key) {
  return std::ranges::any_of(type.keys, [&](const config::KeySchema& k) { return k.name == key; });
}

/// The key below `coupling` that `--set` assigns; empty for another section's.
std::string coupling_key(const std::string& assignment) {
  constexpr std::string_view section = "coupling.";
  if (!assignment.starts_with(section)) return {};
  return assignment.substr(section.size(), assignment.find_first_of(".=", section.size()) - section.size());
}

/// The assignments that a scheme has; the others are for the other schemes of the comparison.
std::vector<std::string> known_assignments(const std::vector<std::string>& assignments, const ElementType& scheme) {
  std::vector<std::string> known;
  std::ranges::copy_if(assignments, std::back_inserter(known), [&](const std::string& assignment) {
    const std::string key = coupling_key(assignment);
    return key.empty() || has_key(scheme, key);
  });
  return known;
}

Variant scheme_variant(const CompareOptions& options, const ElementType& scheme, const std::string& macro_step) {
  const std::string step = macro_step.empty() ? "" : ", macro_step: " + macro_step;
  Variant variant{.label = macro_step.empty() ? scheme.name : scheme.name + ' ' + macro_step,
                  .folder = macro_step.empty() ? scheme.name : scheme.name + '-' + macro_step,
                  .overrides = options.overrides};
  variant.overrides.assignments = {fmt::format("coupling={{scheme: {}{}}}", scheme.name, step)};
  const auto known = known_assignments(options.overrides.assignments, scheme);
  variant.overrides.assignments.insert(variant.overrides.assignments.end(), known.begin(), known.end());
  return variant;
}

/// The text of the step becomes part of the scenario and of a folder name. Its range is checked with the scenario.
void require_number(const std::string& step) {
  double value = 0.0;
  const auto [end, failure] = std::from_chars(step.data(), step.data() + step.size(), value);
  if (failure == std::errc() && end == step.data() + step.size()) return;
  throw input_error("macro-steps", fmt::format("--macro-steps: expected numbers [s], found '{}'; give e.g. 1e-5,1e-4",
                                               config::excerpt(step)));
}

/// The schemes in the order of the command, each with every macro step, preceded by their reference run.
std::vector<Variant> scheme_variants(const CompareOptions& options, const Catalog& catalog) {
  std::vector<std::string> names;
  for (const ElementType& scheme : catalog.couplings) names.push_back(scheme.name);
  const ElementType& reference = catalog.couplings.front();
  std::vector<Variant> variants = {scheme_variant(options, reference, {})};
  for (const std::string& name : options.schemes) {
    const auto scheme = std::ranges::find(catalog.couplings, name, &ElementType::name);
    if (scheme == catalog.couplings.end()) {
      throw input_error("schemes", "--schemes: " + unknown_name_message("coupling scheme", name, names));
    }
    if (std::ranges::count(options.schemes, name) > 1) {
      throw input_error("schemes", fmt::format("--schemes: '{}' is named twice; name every scheme once", name));
    }
    if (name == reference.name) continue;
    if (options.macro_steps.empty()) {
      throw input_error("macro-steps",
                        fmt::format("--macro-steps: missing; '{}' exchanges at macro steps: specify their "
                                    "lengths in seconds, e.g. --macro-steps 1e-5,1e-4",
                                    name));
    }
    for (const std::string& step : options.macro_steps) {
      require_number(step);
      variants.push_back(scheme_variant(options, *scheme, step));
    }
  }
  return variants;
}

/// A key of `coupling` that no scheme has is an error of the command.
void check_coupling_keys(const CompareOptions& options, const Catalog& catalog) {
  for (const std::string& assignment : options.overrides.assignments) {
    const std::string key = coupling_key(assignment);
    std::vector<std::string> known;
    for (const ElementType& scheme : catalog.couplings) {
      if (std::ranges::find(options.schemes, scheme.name) == options.schemes.end()) continue;
      for (const config::KeySchema& k : scheme.keys) known.push_back(k.name);
    }
    if (key.empty() || std::ranges::find(known, key) != known.end()) continue;
    throw input_error(
        "set", fmt::format("--set {}: {}", assignment, unknown_name_message("key of these schemes", key, known)));
  }
}

void check_names(const CompareOptions& options, const BackendSchemas& schemas) {
  std::vector<std::string> known;
  for (const auto& [name, schema] : schemas) known.push_back(name);
  std::vector<std::string> seen;
  for (const std::string& name : options.backends) {
    if (!schemas.contains(name)) {
      throw input_error("backends", "--backends: " + unknown_backend_message(name, known));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      throw input_error("backends", fmt::format("--backends: '{}' is named twice; name every back-end once", name));
    }
    seen.push_back(name);
  }
  if (!options.reference.empty() && std::find(seen.begin(), seen.end(), options.reference) == seen.end()) {
    throw input_error("reference", fmt::format("--reference: expected one of the compared back-ends ({}), found '{}'",
                                               fmt::join(options.backends, ", "), options.reference));
  }
}

/// An assignment that no compared back-end accepts is an error of the command.
void check_assignments(const CompareOptions& options, const BackendSchemas& schemas) {
  if (options.overrides.assignments.empty()) return;
  const auto accepted = [&](const std::vector<std::string>& assignments, std::exception_ptr& rejection) {
    for (const std::string& backend : options.backends) {
      try {
        (void)load_request(options.scenario, {.backend = backend, .assignments = assignments}, schemas);
        return true;
      } catch (const Error& error) {
        // The message of a back-end with a similar name is the most helpful one.
        const bool helpful = std::string_view(error.what()).find("did you mean") != std::string_view::npos;
        if (!rejection || helpful) rejection = std::current_exception();
      }
    }
    return false;
  };
  std::exception_ptr rejection;
  if (accepted(options.overrides.assignments, rejection)) return;
  for (const std::string& assignment : options.overrides.assignments) {
    if (!accepted({assignment}, rejection)) std::rethrow_exception(rejection);
  }
}

fs::path comparison_folder(const CompareOptions& options) {
  if (!options.output.empty()) return options.output;
  const std::string name = fmt::format("{}-comparison", options.scenario.stem().string());
  fs::path folder = fs::path("runs") / name;
  for (int n = 2; fs::exists(folder); ++n) folder = fs::path("runs") / fmt::format("{}-{}", name, n);
  return folder;
}

void make_folder(const fs::path& folder, bool force) {
  std::error_code failure;
  if (fs::exists(folder, failure)) {
    if (!force) {
      throw file_error(folder.string(),
                       fmt::format("output folder {} exists; choose another one with -o, or overwrite it "
                                   "with --force",
                                   folder.string()));
    }
    return;
  }
  fs::create_directories(folder, failure);
  if (failure) {
    throw file_error(folder.string(), fmt::format("output folder {} cannot be created: {}; choose another one with -o",
                                                  folder.string(), failure.message()));
  }
}

/// Creates the folder, or continues an interrupted run in it.
RunFolder open_folder(const CompareOptions& options, const fs::path& path, RunRequest& request) {
  if (options.resume && can_resume(path, request.yaml)) {
    try {
      RunFolder folder = RunFolder::resume(path);
      check_unchanged(request, folder.origin().files);
      request.resume_from = folder.checkpoint();
      return folder;
    } catch (const Error& error) {
      print_message("warning", fmt::format("{} is restarted from its beginning: {}", path.string(), error.what()));
    }
  }
  return {path,
          request.yaml,
          options.force || options.resume,
          {.scenario = fs::absolute(options.scenario), .files = file_digests(request)},
          report::table_files()};
}

/// A variant that cannot run the scenario, or fails, is a row with its reason; errors of files or servers end the
/// comparison.
ComparisonRow run_one(const CompareOptions& options, const Variant& variant, const BackendSchemas& schemas,
                      Runner& runner, const fs::path& folder, bool quiet, std::stop_token stop) {
  ComparisonRow row{.backend = variant.label, .folder = {}, .failure = {}};
  try {
    RunRequest request = load_request(options.scenario, variant.overrides, schemas);
    for (const std::string& note : request.notes) print_message("note", note);
    row.folder = variant.folder;  // also of a run that fails: its log and its rows are there
    if (options.resume && is_done(folder / variant.folder, request.yaml)) {
      row.status = "completed";
      row.quantities = quantities_of(read_summary(folder / variant.folder),
                                     find_peak_contact(read_timeseries(folder / variant.folder)));
      return row;
    }
    RunFolder run_folder = open_folder(options, folder / variant.folder, request);
    report::write_shapes(run_folder, body_shapes(request.scenario, request.files, report::max_displayed_triangles));
    const RunSummary summary = execute(runner, request, run_folder, quiet, stop);
    row.status = summary.status;
    PeakContact peak;
    if (summary.status != "completed") {
      row.failure = summary.error ? summary.error->what() : "stopped on request";
    } else {
      peak = find_peak_contact(read_timeseries(folder / variant.folder));
    }
    row.quantities = quantities_of(summary, peak);
  } catch (const Error& error) {
    // A full disk or a lost server would fail every further variant as well, each after its time limits.
    const ExitCode code = exit_code(error);
    if (code == ExitCode::file || code == ExitCode::unavailable || code == ExitCode::version_mismatch) throw;
    row.failure = error.what();
  }
  return row;
}

/// Variants of the command, checked as far as possible without a run.
std::vector<Variant> checked_variants(const CompareOptions& options, const BackendSchemas& schemas) {
  if (options.schemes.empty()) {
    check_assignments(options, schemas);
    return backend_variants(options);
  }
  if (!options.reference.empty()) {
    throw input_error("reference",
                      "--reference: for --backends; schemes are compared with the run without macro "
                      "steps: remove it");
  }
  const Catalog catalog = scenario_catalog(schemas);
  check_coupling_keys(options, catalog);
  auto variants = scheme_variants(options, catalog);
  for (const Variant& variant : variants) (void)load_request(options.scenario, variant.overrides, schemas);
  return variants;
}

/// The scenario as its first variant that can be read.
/// @throws the error of the first one if there is none: an error of the scenario itself must not become a row of each
RunRequest first_valid_request(const CompareOptions& options, const std::vector<Variant>& variants,
                               const BackendSchemas& schemas, const std::stop_token& stop) {
  std::exception_ptr rejection;
  for (const Variant& variant : variants) {
    try {
      return load_request(options.scenario, variant.overrides, schemas, stop);
    } catch (const Error&) {
      if (!rejection) rejection = std::current_exception();
    }
  }
  std::rethrow_exception(rejection);
}

/// Computes the position error of the last row relative to the first one. For schemes only, which approximate the same
/// solution; back-ends are different models.
void measure_position(Comparison& comparison, const fs::path& folder) {
  ComparisonRow& row = comparison.rows.back();
  const ComparisonRow& reference = comparison.rows.front();
  if (!row.failure.empty() || !reference.failure.empty() || comparison.rows.size() == 1) return;
  row.position_error = position_error(read_timeseries(folder / row.folder), read_timeseries(folder / reference.folder));
}

void write_files(const Comparison& comparison, const fs::path& folder) {
  write_whole_file(folder / "comparison.csv", comparison.csv());
  write_whole_file(folder / "comparison.json", comparison.json());
  write_whole_file(folder / "comparison.md", comparison.markdown());
}

void print_comparison(const Comparison& comparison, const fs::path& folder, const CompareOptions& options, bool json) {
  if (json) {
    fmt::print("{}", comparison.json());
  } else {
    fmt::print("{}", comparison.table().fitted(screen_width(Stream::out)));
    if (!options.quiet) {
      fmt::print("{}", first_contact_note);
      if (!comparison.reference.empty()) fmt::print("%: deviation from {}.\n", comparison.reference);
      fmt::print("results     {}\npage        {}\n", folder.string(), file_link(folder / "report.html"));
    }
  }
  for (const std::string& failure : comparison.failures()) print_message("error", failure);
}

ExitCode compare(const CompareOptions& options, bool json, std::stop_token stop) {
  if (options.backends.empty() && options.schemes.empty()) {
    throw input_error("backends",
                      "compare: expected --backends or --schemes, found neither; write e.g. --backends "
                      "flores,hunt_crossley, and see heelstrike backends");
  }
  const BackendSchemas schemas = schemas_of(known_backends(options.connection.servers));
  if (options.schemes.empty()) check_names(options, schemas);
  const std::vector<Variant> variants = checked_variants(options, schemas);
  const RunRequest request = first_valid_request(options, variants, schemas, stop);
  // A named server checks the submissions itself: the FMUs are for its machine.
  if (options.connection.servers.mbs.empty()) check_fmus(request, stop);
  const fs::path folder = comparison_folder(options);
  make_folder(folder, options.force || options.resume);
  store_command(folder);
  const auto runner = make_runner(options.connection, fs::absolute(folder / "servers.log"));
  Comparison comparison;
  comparison.scenario = options.scenario.stem().string();
  comparison.reference = options.schemes.empty() ? options.reference : variants.front().label;
  if (!options.schemes.empty()) comparison.subject = "coupling scheme";
  for (const Variant& variant : variants) {
    comparison.rows.push_back(run_one(options, variant, schemas, *runner, folder, options.quiet || json, stop));
    if (!options.schemes.empty()) measure_position(comparison, folder);
    // After every row, so that an interrupted comparison has its tables.
    write_files(comparison, folder);
    if (stop.stop_requested()) break;
  }
  (void)report::write_report(folder, scenario_catalog());
  print_comparison(comparison, folder, options, json);
  if (stop.stop_requested()) {
    print_message("note", fmt::format("stopped; heelstrike resume {} continues the comparison", folder.string()));
    return ExitCode::interrupted;
  }
  return comparison.exit_code();
}

Action add_compare(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<CompareOptions>();
  add_scenario_argument(command, options->scenario);
  const std::string group = "Compared variants (one of --backends and --schemes is required)";
  auto* backends = command.add_option("--backends", options->backends, "Back-ends to compare, separated by commas")
                       ->delimiter(',')
                       ->type_name("NAME,NAME,...")
                       ->group(group);
  auto* schemes = command
                      .add_option("--schemes", options->schemes,
                                  "Coupling schemes to compare with the monolithic run, separated by commas")
                      ->delimiter(',')
                      ->type_name("NAME,NAME,...")
                      ->excludes(backends)
                      ->group(group);
  command.add_option("--macro-steps", options->macro_steps, "Macro steps [s], separated by commas")
      ->delimiter(',')
      ->needs(schemes)
      ->type_name("H,H,...")
      ->group(group);
  command.add_option("--reference", options->reference, "Reference back-end of the deviations")
      ->type_name("NAME")
      ->group(group);
  command.add_option("-o,--output", options->output, "Folder to create; default runs/SCENARIO-comparison[-N]")
      ->type_name("FOLDER");
  command.add_flag("--force", options->force, "Overwrite the comparison in an existing folder");
  command.add_flag("--resume", options->resume,
                   "In an existing folder: keep complete runs, resume the interrupted one");
  add_set_option(command, options->overrides);
  command.add_flag("--quiet", options->quiet, "No progress, only the table and errors");
  command.add_flag("--json", as_json, "Print the comparison as JSON");
  add_connection_options(command, options->connection);
  return [options](bool json, const std::stop_token& stop) { return compare(*options, json, stop); };
}

}  // namespace

Subcommand compare_command() {
  return {
      .name = "compare",
      .summary = "Run a scenario with several back-ends or coupling schemes and compare them",
      .examples =
          "  heelstrike compare examples/bouncing_ball.yaml --backends flores,hunt_crossley,lankarani_nikravesh\n"
          "  heelstrike compare examples/bouncing_ball.yaml --backends flores,hertz --reference hertz --json\n"
          "  heelstrike compare examples/bouncing_ball.yaml --schemes gauss_seidel,implicit --macro-steps 1e-5,1e-6\n\n"
          "A failed back-end is a row with its reason; the exit code is then 3.\n"
          "A run without some of its frames keeps its numbers; the exit code is then 7.",
      .add = add_compare};
}

}  // namespace heelstrike::client
