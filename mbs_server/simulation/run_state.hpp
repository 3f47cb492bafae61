/// What a simulation accumulates, and its exact round trip through a checkpoint's bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/motion/jet.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/simulation/episode_tracker.hpp"

namespace heelstrike::mbs {

/// Smallest n >= 1 with interval * n > t: times of a grid are products, not sums, so that they do not drift.
/// @pre interval > 0, t >= 0, t / interval < 2^53
[[nodiscard]] std::int64_t first_after(double interval, double t);

/// An input that has been set: it holds from `since` on and goes on by its derivatives.
struct InputValue {
  double since = 0.0;  ///< [s]
  Jet jet = {};        ///< value, rate [1/s] and acceleration [1/s^2] of it at `since`
};

/// Where a unit for co-simulation stands.
struct FmuState {
  std::int64_t next = 0;        ///< index of its next communication point
  std::vector<double> inputs;   ///< that it was told last
  std::vector<double> outputs;  ///< that it gave last
  std::vector<double> before;   ///< that it gave before
  std::string bytes;            ///< its own
};

/// Where the series of fields of all pairs stand.
struct FieldPosition {
  std::int64_t next = 0;            ///< index on the grid of fields
  std::vector<char> excluded;            ///< per pair: it has none
  std::vector<char> partner_written;  ///< per pair: the shape of its partner has been written
};

/// What has been counted since the start of the run.
struct RunCounts {
  IntegratorStatistics integrator;  ///< without its name
  std::int64_t rhs = 0;             ///< evaluations of the equations of motion that count for the budget
  std::int64_t contact = 0;         ///< evaluations of the contact
};

struct RunState {
  std::int64_t next_row = 0;           ///< index on the regular output grid
  std::int64_t n_rows = 0;             ///< written
  double committed_dissipation = 0.0;  ///< [J] from rate-independent terms, by commits
  double initial_energy = 0.0;         ///< [J]
  double max_kinetic_energy = 0.0;     ///< [J] at committed steps
  double max_position_violation = 0.0;
  double max_velocity_violation = 0.0;
  std::vector<char> closed;                     ///< per pair
  std::vector<EpisodeTracker::State> episodes;  ///< per pair
  std::vector<ContactEpisode> finished;
  std::map<std::string, InputValue> inputs = {};  ///< that replace what the scenario says
  std::map<std::string, FmuState> units = {};    ///< by name
  std::string coupling = {};                      ///< bytes of the coupling scheme; empty = it has none to save
  double macro_end = 0.0;                         ///< [s] of the macro step that the state lies in
  RunCounts counts = {};
  FieldPosition fields = {};
  std::vector<char> joints_closed = {};  ///< per unilateral joint
  std::string analysis = {};             ///< what else an analysis goes on from, as text of its own; empty = nothing
};

/// Puts `state` and a checksum over the whole checkpoint into `checkpoint.engine`. Doubles survive exactly (shortest
/// round-trip decimals).
/// @param program  that makes it
void set_message_checksum(Checkpoint& checkpoint, const RunState& state, std::string_view program);
void set_message_checksum(Checkpoint& checkpoint, const RunState& state);

/// What a checkpoint has to agree with.
struct CheckpointFrame {
  double start_time = 0.0;         ///< [s]
  double end_time = 0.0;           ///< [s]
  double interval = 0.0;           ///< [s] of the regular rows
  std::vector<std::string> pairs;  ///< names
  std::size_t n_unilateral = 0;    ///< joints that may let go
};
/// The state in a sealed checkpoint.
/// @throws Error{invalid_input} for one of another version or compiler, for damaged bytes, and for numbers that no run
/// can have: a checksum keeps accidents away, but whoever makes up a checkpoint can make up its checksum too
[[nodiscard]] RunState verify_checksum(const Checkpoint& checkpoint, const CheckpointFrame& frame);

}  // namespace heelstrike::mbs
