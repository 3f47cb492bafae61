/// State of a sweep, from its folder alone: on any machine with access to it, during the sweep and after it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "client/studies/comparison.hpp"
#include "client/sweeps/sweep_queue.hpp"

namespace heelstrike::client {

/// A run that has taken more than `slow_factor` times the median of the ended ones.
struct SlowRun {
  std::size_t number = 0;
  std::string worker;
  double seconds = 0.0;
};
inline constexpr double slow_factor = 3.0;

struct SweepStatus {
  std::size_t n_runs = 0, n_ended = 0, n_failed = 0, n_incomplete = 0, n_running = 0;
  std::size_t n_lost = 0;       ///< claims of workers that ended during a run
  std::size_t n_damaged = 0;    ///< lines of results that were ignored
  double median_seconds = 0.0;  ///< [s] of an ended run
  double rate = 0.0;            ///< [1/s] runs that ended in the last minute of results; 0 = unknown
  std::map<std::string, std::vector<std::size_t>> failures = {};  ///< runs by reason
  std::vector<WorkerState> workers = {};
  std::vector<SlowRun> slow = {};

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};

/// @throws Error{file} for a folder without a plan
[[nodiscard]] SweepStatus sweep_status(const std::filesystem::path& folder);
/// Why a run has its state: its result, its worker, or what it waits for. @throws Error{invalid_input} for another
/// number
[[nodiscard]] std::string explain_run(const std::filesystem::path& folder, long run_number);

/// The row of a comparison that an event "ended" describes.
[[nodiscard]] ComparisonRow row_of_event(const nlohmann::ordered_json& event);

}  // namespace heelstrike::client
