#include "tests/support/local_run.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/catalog.hpp"

namespace heelstrike::test {
namespace {

class RecordingSink final : public RunSink {
 public:
  explicit RecordingSink(RecordedRun& run) : run_(run) {}
  void on_schema(std::span<const Column> columns) override { run_.columns.assign(columns.begin(), columns.end()); }
  void on_row(std::span<const double> values) override { run_.rows.emplace_back(values.begin(), values.end()); }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view level, std::string_view text) override {
    run_.log.push_back(std::string(level) + ": " + std::string(text));
  }
  void on_episode(const ContactEpisode& episode) override { run_.episodes.push_back(episode); }
  void on_checkpoint(const Checkpoint& checkpoint) override {
    run_.checkpoints.push_back(checkpoint);
    run_.rows_before.push_back(run_.rows.size());
    run_.fields_before.push_back(run_.fields.size());
  }
  void on_fields(const FieldFrame& frame) override { run_.fields.push_back(frame); }

 private:
  RecordedRun& run_;
};

}  // namespace

std::vector<double> RecordedRun::column(const std::string& name) const {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].name != name) continue;
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(row[c]);
    return values;
  }
  throw std::out_of_range("no column named " + name);
}

BackendSchemas local_backend_schemas() {
  BackendSchemas schemas;
  for (const auto& entry : fem::backend_registry()) schemas[entry.name] = entry.parameters;
  return schemas;
}

std::string read_text(const std::string& path) {
  const std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Scenario scenario_from(const std::string& yaml, const std::vector<std::string>& overrides, const std::string& backend) {
  const BackendSchemas schemas = local_backend_schemas();
  const Catalog catalog = mbs::scenario_catalog(schemas);
  std::string text = yaml;
  std::vector<std::string> dropped;
  if (!backend.empty()) text = with_backend(text, "test.yaml", backend, schemas, dropped);
  for (const auto& assignment : overrides) text = with_override(text, "test.yaml", assignment, catalog);
  return parse_scenario(text, "test.yaml", catalog);
}

RecordedRun run_local(const Scenario& scenario, std::optional<Checkpoint> resume_from) {
  return run_with(scenario, fem::open_local_contact, std::move(resume_from));
}

RecordedRun run_with(const Scenario& scenario, const ContactFactory& open_contact,
                     std::optional<Checkpoint> resume_from) {
  return run_input({.scenario = scenario,
                    .assets = {},
                    .run_id = "test",
                    .scenario_digest = "test",
                    .resume_from = std::move(resume_from),
                    // Constant: no checkpoints by wall time, however busy the machine is.
                    .clock = [] { return 0.0; }},
                   open_contact);
}

RecordedRun run_input(const mbs::RunInput& input, const ContactFactory& open_contact) {
  RecordedRun run;
  RecordingSink sink(run);
  run.summary = mbs::run_scenario(input, open_contact, sink, {});
  return run;
}

}  // namespace heelstrike::test
