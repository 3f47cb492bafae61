#include "scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <set>

#include "common/errors/error.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/field.hpp"
#include "scenario/schema/schema.hpp"
#include "scenario/sections.hpp"

namespace heelstrike {

namespace {

using namespace config;  // NOLINT(google-build-using-namespace): the reader of the file uses every section

/// Precedes all other checks, because a file of a newer version may have unknown keys.
void check_version(const Document& document) {
  const Node& root = *document.root;
  if (root.type != Node::Type::map) return;
  const Node* version = root.find("heelstrike");
  if (version == nullptr) {
    throw input_error("heelstrike",
                      fmt::format("{}:{}: heelstrike: missing; expected the version of the file format, found nothing; "
                                  "add the line `heelstrike: {}`",
                                  document.file_name, 1, config::scenario_version));
  }
  double value = 0.0;
  if (config::read_number(*version, value) && value > config::scenario_version) {
    config::reject(document, *version, "heelstrike", fmt::format("a version up to {}", config::scenario_version),
                   version->scalar, "the file is for a newer Heelstrike: update the program");
  }
}

/// Imports must be resolved before.
void check_imported(const Document& document) {
  const Node* section = document.root->type == Node::Type::map ? document.root->find(import_section) : nullptr;
  if (section == nullptr) return;
  config::reject(document, *section, import_section, "a scenario with the imported model", "the name",
                 "give the file to heelstrike run, validate or another program that reads it from the disk");
}

/// Reads a scenario by sections and collects errors. Entries that refer to an invalid section are skipped, because
/// their errors would be consequences.
class Reader {
 public:
  Reader(std::shared_ptr<const Document> document, const Catalog& catalog, Issues& issues)
      : document_(std::move(document)), root_(*document_, *document_->root, ""), catalog_(catalog), issues_(issues) {}

  void read(Scenario& scenario) {
    scenario.description = root_.text_or("description");
    attempt("gravity", {}, [&](const Field& gravity) { scenario.gravity = gravity.vector3(); });
    read_bodies(scenario);
    attempt("analysis", {},
            [&](const Field& analysis) { scenario.analysis = read_analysis(analysis, document_, catalog_); });
    if (scenario.bodies.empty()) return;
    entries("loads", {"analysis"}, [&](const Field& load) { scenario.loads.push_back(read_load(load, scenario)); });
    entries("joints", {},
            [&](const Field& joint) { scenario.joints.push_back(read_joint(joint, document_, scenario, catalog_)); });
    entries("forces", {"joints"},
            [&](const Field& force) { scenario.forces.push_back(read_force(force, document_, scenario, catalog_)); });
    entries("motion", {},
            [&](const Field& motion) { scenario.motions.push_back(read_marker_motion(motion, scenario.files)); });
    entries("drivers", {"joints", "motion", "analysis"},
            [&](const Field& driver) { scenario.drivers.push_back(read_driver(driver, scenario, catalog_)); });
    entries("contact", {}, [&](const Field& pair) {
      scenario.pairs.push_back(read_pair(pair, scenario, catalog_.backends, issues_));
    });
    attempt("contact", {}, [&](const Field&) { check_shared_bodies(root_, scenario, catalog_.backends); });
    attempt("analysis", {"motion", "gravity"}, [&](const Field& analysis) {
      read_balances(analysis, scenario);
      check_analysis(analysis, scenario, catalog_);
    });
    attempt("coupling", {"analysis", "contact"},
            [&](const Field& coupling) { scenario.coupling = read_coupling(coupling, document_, scenario, catalog_); });
    attempt("output", {"analysis"},
            [&](const Field& output) { scenario.output = read_output(output, scenario.analysis); });
  }

 private:
  /// An invalid body keeps its name for references.
  void read_bodies(Scenario& scenario) {
    for (const Field& body : root_.entries_of("bodies")) {
      scenario.bodies.emplace_back().name = body.name();
      if (issues_.touch(body.path())) continue;
      issues_.attempt([&] { scenario.bodies.back() = read_body(body); });
    }
    attempt("bodies", {}, [&](const Field& bodies) {
      if (scenario.bodies.empty()) bodies.reject("at least one body", "none", "add one");
    });
    for (std::size_t i = 0; const Field& body : root_.entries_of("bodies")) {
      const BodySpec& spec = scenario.bodies[i++];
      if (issues_.touch(body.path())) continue;
      issues_.attempt([&] { check_start(body, spec, scenario.bodies); });
    }
  }

  [[nodiscard]] bool readable(const std::vector<std::string>& sections) const {
    return std::ranges::none_of(sections, [&](const std::string& section) {
      return issues_.touch(section) || (section == "analysis" && !root_.has(section));
    });
  }

  /// @param needs  sections to which it refers
  template <typename Work>
  void attempt(const std::string& section, std::vector<std::string> needs, Work work) {
    needs.push_back(section);
    if (root_.has(section) && readable(needs)) issues_.attempt([&] { work(root_[section]); });
  }

  /// The entries of a section of named entries.
  template <typename Work>
  void entries(const std::string& section, const std::vector<std::string>& needs, Work work) {
    if (!readable(needs)) return;
    for (const Field& entry : root_.entries_of(section)) {
      if (!issues_.touch(entry.path())) issues_.attempt([&] { work(entry); });
    }
  }

  std::shared_ptr<const Document> document_;
  Field root_;
  const Catalog& catalog_;
  Issues& issues_;
};

}  // namespace

Scenario parse_scenario(std::string_view yaml, const std::string& file_name, const Catalog& catalog) {
  Issues issues;
  const auto document = std::make_shared<Document>(config::load_document(yaml, file_name, issues));
  check_version(*document);
  check_imported(*document);
  const KeySchema schema = config::scenario_schema(catalog, default_integrator(*document->root, catalog));
  document->root = config::checked(*document, *document->root, schema, "", issues);
  Scenario scenario;
  scenario.name = std::filesystem::path(file_name).stem().string();
  Reader(document, catalog, issues).read(scenario);
  issues.raise();
  return scenario;
}

std::vector<std::string> referenced_files(const Scenario& scenario) {
  return scenario.files;
}

std::string backend_label(const Scenario& scenario, const std::string& without_pairs) {
  std::set<std::string> names;
  for (const PairModel& pair : scenario.pairs) names.insert(pair.spec.backend);
  return names.empty() ? without_pairs : fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace heelstrike
