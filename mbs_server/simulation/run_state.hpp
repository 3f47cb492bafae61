/// Accumulated state of a simulation, and its exact serialisation in checkpoints.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/motion/time_function.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/simulation/episode_tracker.hpp"

namespace heelstrike::mbs {

/// Smallest n >= 1 with interval * n > t: grid times are products, not sums, to avoid drift.
/// @pre interval > 0, t >= 0, t / interval < 2^53
[[nodiscard]] std::int64_t first_after(double interval, double t);

/// An input that has been set: valid from `since` on and extrapolated by its derivatives.
struct InputValue {
  double since = 0.0;  ///< [s]
  Jet jet = {};        ///< value, rate [1/s] and acceleration [1/s^2] of it at `since`
};

/// State of a co-simulation FMU.
struct FmuState {
  std::int64_t next = 0;        ///< index of its next communication point
  std::vector<double> inputs;   ///< last inputs
  std::vector<double> outputs;  ///< last outputs
  std::vector<double> before;   ///< preceding outputs
  std::string bytes;            ///< serialised FMU state
};

/// Position in the series of fields of all pairs.
struct FieldPosition {
  std::int64_t next = 0;              ///< index on the grid of fields
  std::vector<char> excluded;         ///< per pair: without fields
  std::vector<char> partner_written;  ///< per pair: the shape of its partner has been written
};

/// Counts since the start of the run.
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
  std::map<std::string, InputValue> inputs = {};  ///< that replace values of the scenario
  std::map<std::string, FmuState> units = {};     ///< by name
  std::string coupling = {};                      ///< bytes of the coupling scheme; empty = none
  double macro_end = 0.0;                         ///< [s] end of the current macro step
  RunCounts counts = {};
  FieldPosition fields = {};
  std::vector<char> joints_closed = {};      ///< per unilateral joint
  std::vector<double> turn_references = {};  ///< of angles that count full turns, see System
  std::string analysis = {};                 ///< additional state of the analysis as text; empty = none
};

/// Puts `state` and a checksum over the whole checkpoint into `checkpoint.engine`. Doubles survive exactly (shortest
/// round-trip decimals).
/// @param program  that writes it
void write_run_state(Checkpoint& checkpoint, const RunState& state, std::string_view program);
void write_run_state(Checkpoint& checkpoint, const RunState& state);

/// Values with which a checkpoint must agree.
struct CheckpointFrame {
  double start_time = 0.0;         ///< [s]
  double end_time = 0.0;           ///< [s]
  double interval = 0.0;           ///< [s] of the regular rows
  std::vector<std::string> pairs;  ///< names
  std::size_t n_unilateral = 0;    ///< unilateral joints
  std::size_t n_references = 0;    ///< of angles that count full turns
};
/// The state in a sealed checkpoint.
/// @throws Error{invalid_input} for one of another version or compiler, for damaged bytes, and for impossible numbers:
/// a checksum detects accidental damage, but not forgery
[[nodiscard]] RunState read_run_state(const Checkpoint& checkpoint, const CheckpointFrame& frame);

}  // namespace heelstrike::mbs
