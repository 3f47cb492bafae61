/// A worker of a sweep: takes runs from the folder and computes them in this process, one after the other, so that
/// prepared contacts remain in memory.
#pragma once

#include <filesystem>
#include <stop_token>

#include "client/studies/comparison.hpp"

namespace heelstrike::client {

/// Default time after which a worker that does not renew its file counts as ended.
inline constexpr double default_lease = 60.0;  // [s]
/// Workers that may end during one run, without progress of its checkpoint, before it is recorded as failed: as for the
/// servers of a run.
inline constexpr int max_losses = 6;

/// Runs of a larger sweep get no page: 100,000 pages would take 80 GB. `heelstrike report FOLDER/RUN` writes one.
inline constexpr std::size_t max_runs_with_page = 100;

struct WorkOptions {
  std::filesystem::path folder;
  double lease = default_lease;  ///< [s]
  bool is_supervised = false;    ///< the parent of this process records how it ends
  bool writes_tables = false;    ///< the worker that ends the last run writes the tables: no other process will
};

/// Writes comparison.csv, .json, .md of the runs that have ended, in the order of the plan, and report.html. @returns
/// the comparison
/// @throws Error{file}
Comparison write_sweep_tables(const std::filesystem::path& folder);
/// Digest of summary.json, by which a later plan verifies that a folder is intact; empty without one.
[[nodiscard]] std::string summary_digest(const std::filesystem::path& run);

/// Returns when all runs of the plan have ended, or on a stop; the run in progress then writes a checkpoint, from which
/// any worker continues it. Runs that fail are recorded with their reason. While other workers compute the last runs,
/// it waits, and takes over what they lose.
/// @throws Error{file} when the folder cannot be used; Error{version_mismatch} for a plan of another version of the
/// program; Error{invalid_input} when the scenario or a file that it names has changed since the plan
void work_on_sweep(const WorkOptions& options, const std::stop_token& stop);

}  // namespace heelstrike::client
