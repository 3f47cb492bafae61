/// summary.json: the outcome of a run for people and programs; timing.json: wall times, which differ between runs.
/// Their key names are an interface.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/files/file_digests.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike {

/// Unknown values (NaN and negative counts of a RunSummary) are null in the file.
///
/// JSON text, keys in a fixed order, two spaces per level, shortest numbers that read back to the same bits. It depends
/// on the scenario alone: every run, resumed or not, remote or not, has the same bytes.
/// @param files  of the run folder that depend on the scenario alone
[[nodiscard]] std::string summary_json(const RunSummary& summary, const FileDigests& files = {});
/// Wall times, and the exchanges with a remote partner, whose number depends on them. Digests of files that also depend
/// on them are added when these are written (record_file_digests).
[[nodiscard]] std::string timing_json(const RunSummary& summary);
/// The keys of both in one object, for use without a folder.
[[nodiscard]] std::string summary_and_timing_json(const RunSummary& summary);

/// @param file_name  for messages
/// @throws Error{file} for text that is not such a summary
[[nodiscard]] RunSummary parse_summary(std::string_view json, const std::string& file_name);
/// Reads the wall times of timing.json into `summary`. @throws as parse_summary
void parse_timing(std::string_view json, const std::string& file_name, RunSummary& summary);

}  // namespace heelstrike
