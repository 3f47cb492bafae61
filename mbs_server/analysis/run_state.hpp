/// What the forward analysis accumulates, and its exact round trip through a checkpoint's bytes.
#pragma once

#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/analysis/episode_tracker.hpp"

namespace heelstrike::mbs {

struct RunState {
  std::int64_t next_row = 0;           ///< index on the regular output grid
  std::int64_t next_checkpoint = 1;    ///< index on the checkpoint grid
  double committed_dissipation = 0.0;  ///< [J] from rate-independent terms, by commits
  double initial_energy = 0.0;         ///< [J]
  double max_position_violation = 0.0;
  double max_velocity_violation = 0.0;
  std::vector<char> closed;                     ///< per pair
  std::vector<EpisodeTracker::State> episodes;  ///< per pair
  std::vector<ContactEpisode> finished;
};

/// Doubles survive exactly (shortest round-trip decimals).
[[nodiscard]] std::string save_run_state(const RunState& state);
/// @throws Error{invalid_input} for bytes of another format
[[nodiscard]] RunState load_run_state(const std::string& bytes);

}  // namespace heelstrike::mbs
