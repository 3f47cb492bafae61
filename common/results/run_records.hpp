/// Records of a run, during it and at its end; plain mirrors of the messages in simulation.proto.
///
/// Description of an assembled model for people: joints and drivers, their equations, degrees of freedom.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// One column of the time series; the unit is in the name, as in the CSV header: "ball.z_m".
struct Column {
  std::string name;
  std::string unit;
  std::string meaning;
};

struct Progress {
  double time = 0.0;       ///< [s] simulated
  double end_time = 0.0;   ///< [s]
  std::int64_t step = 0;   ///< last committed step
  double step_size = 0.0;  ///< [s] of the last step
  double wall_time = 0.0;  ///< [s] since the run started
  std::string stage = {};  ///< of the contact preparation ("mesh", "factorize", ...); empty = simulation active
  double fraction = 0.0;   ///< [-] 0..1 of that preparation
};

/// Fields of one side of a pair at one time, as a file for ParaView.
struct FieldFrame {
  double time = 0.0;  ///< [s]
  std::string pair;
  std::string body;
  FieldPart part = FieldPart::main;
  std::string vtu;  ///< bytes of the file, in world coordinates; empty = same as the previous frame of this part
};

/// One interval of contact of one pair.
struct ContactEpisode {
  std::string pair;
  double onset = 0.0;                                ///< [s]
  std::optional<double> end = {};                    ///< [s]; none = still in contact at the end of the run
  double max_force = 0.0;                            ///< [N]; for rigid bodies between impacts
  double max_force_time = 0.0;                       ///< [s]
  double max_indentation = 0.0;                      ///< [m]
  double max_indentation_time = 0.0;                 ///< [s]
  double approach_velocity = 0.0;                    ///< [m/s] closing velocity at onset
  std::optional<double> separation_velocity = {};    ///< [m/s] opening velocity at the end
  std::optional<double> effective_restitution = {};  ///< [-] unset for contacts of prescribed motion
  std::optional<double> max_impulse = {};            ///< [N s] of the largest impact of rigid bodies; unset for others
};

struct IntegratorStatistics {
  std::string name;
  std::int64_t steps = 0;
  std::int64_t rejected_steps = 0;
  std::int64_t rhs_evaluations = 0;
  std::int64_t jacobian_evaluations = 0;
  std::int64_t restarts = 0;  ///< after events
};

struct EnergyBalance {
  double initial = 0.0;        ///< [J] kinetic + potential + stored in contact
  double final = 0.0;          ///< [J] the same at the end
  double dissipated = 0.0;     ///< [J]
  double external_work = 0.0;  ///< [J] by applied loads and drivers
  double balance_error = 0.0;  ///< [J] final - initial - external_work + dissipated; NaN for a static analysis
  double max_kinetic = 0.0;    ///< [J] largest at the end of a step
};

/// Whether the error of the energy balance is rounding: below 1e-9 of the energies at the start and at the end.
[[nodiscard]] inline bool balance_error_is_rounding(const EnergyBalance& energy) {
  return std::abs(energy.balance_error) <= 1e-9 * (std::abs(energy.initial) + std::abs(energy.final));
}
/// [J] Work of loads and drivers plus dissipation, at least the largest kinetic energy.
[[nodiscard]] inline double exchanged_energy(const EnergyBalance& energy) {
  return std::max(std::abs(energy.external_work) + std::abs(energy.dissipated), energy.max_kinetic);
}
/// [-] error of the energy balance relative to the exchanged energy; none if that is zero or the error is unknown.
/// Rounding may be many times the exchanged energy of a run almost at rest (balance_error_is_rounding).
[[nodiscard]] inline std::optional<double> relative_balance_error(const EnergyBalance& energy) {
  const double share = std::abs(energy.balance_error) / exchanged_energy(energy);
  return std::isfinite(share) ? std::optional(share) : std::nullopt;
}
/// True for an error of the energy balance that invalidates an integrated motion: a second-order method with steps that
/// resolve the motion has errors of a few parts in a thousand, the explicit coupling schemes of the examples some per
/// cent.
[[nodiscard]] inline bool is_outlier(const EnergyBalance& energy) {
  constexpr double outlier_fraction = 0.1;
  return std::abs(energy.balance_error) > outlier_fraction * exchanged_energy(energy) &&
         !balance_error_is_rounding(energy);
}

/// Statistics of a coupling scheme with macro steps.
struct CouplingStatistics {
  std::string scheme;
  std::int64_t exchanges = 0;             ///< commits at the ends of macro steps, the first at the start of the run
  std::int64_t rejected_macro_steps = 0;  ///< repeated with shorter steps
  std::int64_t iterations = 0;            ///< trial motions of implicit macro steps, including rejected ones

  [[nodiscard]] bool operator==(const CouplingStatistics&) const = default;
};

/// Components of the wall time of a run; the rest of RunSummary::wall_time is integration and output.
struct WallTimeSplit {
  double preparation = 0.0;  ///< [s] until all contact sessions were open
  double contact = 0.0;      ///< [s] evaluations and commits, without transport
  double transport = 0.0;    ///< [s] between the two servers; 0 in one process
  double fields = 0.0;       ///< [s] fields for files
};

struct RunSummary {
  std::string scenario;
  std::string backend;
  std::string status;  ///< "completed", "incomplete" (at its end, but with missing rows), "cancelled", "failed"
  double simulated_time = 0.0;  ///< [s]
  double wall_time = 0.0;       ///< [s]
  IntegratorStatistics integrator;
  std::int64_t contact_evaluations = 0;
  std::int64_t contact_commits = 0;
  std::optional<CouplingStatistics> coupling = {};  ///< none without macro steps
  std::optional<RpcStatistics> rpc;                 ///< none for contact in this process
  EnergyBalance energy;
  std::vector<ContactEpisode> contacts;
  std::optional<Error> error;           ///< if status is "failed" or "incomplete"
  double max_position_violation = 0.0;  ///< [-] largest position constraint residual at committed steps
  double max_velocity_violation = 0.0;  ///< [1/s]
  WallTimeSplit wall_times;
};

/// Complete state of a run at a committed step.
struct Checkpoint {
  std::string scenario_digest;  ///< sha256 of the scenario and its files
  std::int64_t step = 0;
  double time = 0.0;                        ///< [s]
  std::vector<double> state;                ///< integrator state vector
  std::vector<std::string> contact_states;  ///< one per pair
  std::string engine;                       ///< accumulated statistics and open episodes
};

/// Receives the output of a run, in order, from the run's thread. Must not block for long.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void on_schema(std::span<const Column> columns) = 0;
  virtual void on_row(std::span<const double> values) = 0;
  /// This number of the most recent rows was skipped because the reader requested fewer.
  virtual void on_rows_skipped(std::uint64_t /*n_rows*/) {}
  virtual void on_progress(const Progress& progress) = 0;
  virtual void on_log(std::string_view level, std::string_view text) = 0;
  virtual void on_episode(const ContactEpisode& episode) = 0;
  virtual void on_checkpoint(const Checkpoint& checkpoint) = 0;
  /// Output after the checkpoint of this step (without one all output) is void and follows again, beginning with the
  /// schema.
  virtual void on_resumed(std::optional<std::int64_t> /*step*/) {}
  /// A sink that stores numbers only may ignore fields.
  virtual void on_fields(const FieldFrame& /*frame*/) {}
};

/// An assembled joint or driver.
struct ConstraintDescription {
  std::string name;
  bool prescribes = false;          ///< a driver
  int n_equations = 0;              ///< independent ones only
  std::vector<std::string> bodies;  ///< on which it acts, except ground
};

struct ModelDescription {
  std::vector<ConstraintDescription> constraints;  ///< joints, then drivers
  std::vector<std::string> forces;                 ///< gravity, force elements, loads
  int n_redundant = 0;                             ///< redundant equations of joints and drivers
  int degrees_of_freedom = 0;                      ///< left by joints and drivers
  std::vector<std::string> notes;  ///< changes by the assembly, redundancy and singularity: "level: sentence"
};

}  // namespace heelstrike
