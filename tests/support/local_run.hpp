/// Runs a scenario in this process and stores all its output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/analysis/run.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::test {

struct RecordedRun {
  std::vector<Column> columns;
  std::vector<std::vector<double>> rows;
  std::vector<std::string> log;
  std::vector<ContactEpisode> episodes;
  std::vector<FieldFrame> fields;
  std::vector<Checkpoint> checkpoints;
  std::vector<std::size_t> rows_before;    ///< per checkpoint: preceding rows
  std::vector<std::size_t> fields_before;  ///< per checkpoint: preceding frames
  RunSummary summary;

  /// Values of one column over all rows. @throws std::out_of_range for an unknown name
  [[nodiscard]] std::vector<double> column(const std::string& name) const;
};

/// Parameter schemas of all back-ends of this build.
[[nodiscard]] BackendSchemas local_backend_schemas();

[[nodiscard]] std::string read_text(const std::string& path);

/// Parses `yaml` after applying `overrides` ("key=value") and, if not empty, replacing the back-end.
[[nodiscard]] Scenario scenario_from(const std::string& yaml, const std::vector<std::string>& overrides = {},
                                     const std::string& backend = {});

/// Runs with the contact partner in this process.
[[nodiscard]] RecordedRun run_local(const Scenario& scenario, std::optional<Checkpoint> resume_from = {});
/// The same from an input with further settings, for instance its clock.
[[nodiscard]] RecordedRun run_input(const mbs::RunInput& input, const ContactFactory& open_contact);
/// The same with any contact partner.
[[nodiscard]] RecordedRun run_with(const Scenario& scenario, const ContactFactory& open_contact,
                                   std::optional<Checkpoint> resume_from = {});

}  // namespace heelstrike::test
