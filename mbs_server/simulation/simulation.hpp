/// A scenario that can be stepped: the basis of runs, Python, FMU export, tracking, macro-step coupling and resumed
/// runs. The forward analysis is a loop over it that writes rows.
///
///     Simulation simulation(input);
///     // Cheap checks, then the contact, then the state at t = 0 or that of a checkpoint.
///     simulation.initialise(fem::open_local_contact);
///     while (simulation.time() < simulation.end_time()) {
///       simulation.set_input("ball.fx_N", control(simulation.output("ball.x_m")));
///       (void)simulation.advance_to(simulation.time() + 0.01);
///     }
///
/// The integrator chooses its steps independently of the times of advance_to(): states between its steps are
/// interpolated. A run in many pieces is therefore bitwise equal to one in a single piece, and evaluating outputs does
/// not affect it. Only set_input(), save() and restore() end a step at the current time: the state there is projected
/// onto the constraints and committed, and the integrator restarts from it.
///
/// A step is committed, i.e. the history of the contact advances, when the simulation advances to its end or beyond.
/// Onset and separation of contacts are located as roots of the gaps and end steps.
///
/// SI units throughout; the names of inputs and outputs end in their units. One thread at a time. After an exception of
/// advance_to() the simulation is at its last commit; restore() makes it usable again.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/simulation/coupled_model.hpp"
#include "mbs_server/simulation/fmu_set.hpp"
#include "mbs_server/simulation/run_diagnostics.hpp"
#include "mbs_server/simulation/run_input.hpp"
#include "mbs_server/simulation/simulation_inputs.hpp"
#include "mbs_server/simulation/step_committer.hpp"

namespace heelstrike::mbs {

class Simulation {
 public:
  /// Builds the model of `input.scenario`, independent of its analysis.
  /// @param input  outlives this object
  /// @param stop   cancels a preparation or an advance
  /// @throws Error{invalid_input} for unphysical mass properties and unknown names
  explicit Simulation(const RunInput& input, std::stop_token stop = {});
  /// As above, with a coupling scheme that is not in the registry.
  Simulation(const RunInput& input, const CouplingSchemeEntry& scheme, std::stop_token stop = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// @param listener  outlives this object, or the next call of listen()
  void listen(SimulationListener& listener);

  /// Called once. To report errors before the preparation of the contact, which may take minutes, it assembles the
  /// model, creates the integrator and reads `input.resume_from`, then opens the contact and sets the initial state or
  /// that of the checkpoint.
  /// @throws Error{invalid_input} for a model that cannot be assembled, an integrator that cannot be created, a foreign
  /// or damaged checkpoint; Error{cancelled}; exceptions of the factory
  void initialise(const ContactFactory& open_contact);

  /// Loads the FMUs of the scenario and checks their variables and the columns of the time series, as initialise() does
  /// before any preparation. For checks of a scenario, instead of initialise().
  /// @throws Error{invalid_input}
  void check_fmus();
  /// The same without loading them: for checks before a run, which loads them itself, possibly on another machine.
  /// @throws Error{invalid_input}
  void check_fmu_files() const;

  /// [s] current time. @pre initialise() for this and all functions below
  [[nodiscard]] double time() const { return now_; }
  [[nodiscard]] double end_time() const { return scenario_.analysis.end_time; }

  /// Advances to `t` [s], from time() to end_time().
  /// @param stop_at_events  stops at the first onset or separation, which does not affect later bits: integrators
  /// restart there
  /// @returns false when it was stopped, also at an event, or when the listener rejected a step; time() is then the
  /// time reached
  /// @throws Error{invalid_input} for a time out of range; Error{solver_failed} when the integrator fails, with
  /// diagnostics; Error{limit} of analysis.budget; Error{cancelled}; unrecoverable errors of the contact
  [[nodiscard]] bool advance_to(double t, bool stop_at_events = false);

  /// Checkpoint for resuming, the same as in runs. Continuation after a save and after its restore is bitwise equal. It
  /// restarts the integrator, except in on_restart_point().
  [[nodiscard]] Checkpoint save();
  /// Restores an earlier or later state saved by this scenario, possibly in another process.
  /// @throws Error{invalid_input} for a checkpoint of another scenario or a damaged one, without changes
  void restore(const Checkpoint& checkpoint);
  /// True if all FMUs can serialise their state; otherwise save() throws Error{unimplemented}.
  [[nodiscard]] bool can_save() const { return fmus_.without_fmu_state().empty(); }

  /// Names and units of the inputs: BODY.fx_N ... BODY.tz_Nm, and the functions of all drivers.
  [[nodiscard]] std::span<const Column> inputs() const { return inputs_.columns(); }
  /// From time() on the input is value + rate * (t - time()) + acceleration * (t - time())^2 / 2. Forces and torques
  /// are added to the loads of the scenario (in the world, at the body's origin); an input of a driver replaces its
  /// function. A jump of a driver's value or rate changes the driven coordinates immediately.
  /// @throws Error{invalid_input} for an unknown name and for non-finite numbers
  void set_input(const std::string& name, double value, double rate = 0.0, double acceleration = 0.0);

  /// Value of one of inputs() at time(): as set, or else that of the scenario's driver, or zero force.
  [[nodiscard]] double input_value(std::size_t input) const { return inputs_.value(input, now_); }

  /// The columns of the time series, in its order.
  [[nodiscard]] std::span<const Column> outputs() const { return columns_; }
  /// Their values at time(), valid until the next call. @throws exceptions of the contact at that state
  [[nodiscard]] std::span<const double> output_values();
  /// One of them. @throws Error{invalid_input} for an unknown name
  [[nodiscard]] double output(std::string_view name);

  /// Reason why output_derivative() is unavailable for this scenario; empty = available.
  [[nodiscard]] std::string no_derivatives() const;
  /// Derivatives of all outputs() at time() with respect to the value of one of inputs(). Does not change the state.
  ///
  /// For forces and torques they are exact: accelerations and reactions are linear in them, and all other outputs
  /// depend on the state only. A driver's value changes the state immediately, as in set_input(), at the same rates:
  /// exactly along the constraints; the columns are differentiated by central differences along that motion.
  /// @param input  index. @throws Error{unimplemented} if no_derivatives(); exceptions of the contact near the state
  [[nodiscard]] std::vector<double> output_derivative(std::size_t input);

  /// Counts of all advances.
  [[nodiscard]] IntegratorStatistics statistics() const;
  /// Warning if steps resolved a vibration of a contact, which is rarely intended; else none.
  [[nodiscard]] std::optional<std::string> vibration() const { return diagnostics_.vibration(); }
  /// Warning if friction impulses of rigid bodies were not found; else none.
  [[nodiscard]] std::optional<std::string> unsolved_impacts() const { return diagnostics_.unsolved_impacts(); }

  /// For analyses: the model with its contact, at the last commit.
  [[nodiscard]] CoupledModel& model() { return model_; }
  /// The values of outputs() for a state of the step passed to the listener, as CoupledModel::begin_row.
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row);

 private:
  void prepare_to_step();
  void check_fmu_start_time() const;
  void check_no_unilateral_joints(const IntegratorEntry& method) const;
  [[nodiscard]] RunState read(const Checkpoint& checkpoint) const;
  void restore_checked(const Checkpoint& checkpoint, RunState state);
  void start();
  /// Projects onto constraints that inputs have changed.
  void project_moved_constraints();
  void state_now(VectorX& y, VectorX& z);
  /// As begin_row(), waiting for the response.
  void fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row);

  /// Steps the FMUs that are due at the current time; their outputs act from here on.
  void step_fmus();
  /// Finds a step when none is pending, and commits it when it ends at `t` or before. @returns false when rejected
  [[nodiscard]] bool advance_step(double t);
  void find_step();
  /// [s] Limit of the integrator's next step.
  [[nodiscard]] double compute_max_step();
  [[nodiscard]] bool commit_step();
  void commit(SimulationStep& step);
  /// Commits the part of the step between the last commit and the current time.
  void commit_partial_step();
  /// Reads the responses of a posted commit. @returns false when it was rejected and rolled back
  [[nodiscard]] bool try_finish_commit();
  void roll_back(const RejectedCommit& rejection);
  /// Returns to the last commit and retries with smaller steps.
  void repeat_step(double t_attempted, const std::string& reason);
  void apply_joint_event(const UnilateralJoints::Event& event);
  void restart_integrator();
  /// Restarts where a resumed run starts, also the counting of rejected steps.
  void restart_at_restart_point();
  void check_progress();
  void extrapolate_across_singularity(bool after_failure);
  [[nodiscard]] bool touches(double t, const VectorX& y);

  const RunInput& input_;
  const Scenario& scenario_;
  std::stop_token stop_;
  SimulationListener null_listener_;
  SimulationListener* listener_ = &null_listener_;
  SimulationInputs inputs_;
  FmuSet fmus_;
  std::vector<double> stop_times_;  ///< [s] increasing, of functions of time
  CoupledModel model_;
  CommittedState& committed_;  ///< of model_
  ContactExchange& exchange_;  ///< of model_
  ContactStates& states_;      ///< of model_
  CouplingScheme& scheme_;     ///< of model_
  std::vector<Column> columns_;
  RunDiagnostics diagnostics_;

  // Created by initialise(), once the model is assembled.
  std::unique_ptr<RunProblem> problem_;
  std::unique_ptr<RunIntegrator> integrator_;
  std::unique_ptr<SingularCrossing> singularities_;
  std::unique_ptr<EventDetector> detector_;
  std::unique_ptr<StepCommitter> committer_;

  double now_ = 0.0;                         ///< [s] between the last commit and the end of the pending step
  std::unique_ptr<SimulationStep> pending_;  ///< found, not yet committed
  double macro_end_ = 0.0;                   ///< [s] of the coupling scheme's macro step
  double step_size_ = 0.0;                   ///< [s] of the step that contains now_; 0 = no step
  VectorX y_, z_;                            ///< at now_
  std::vector<double> row_;
};

}  // namespace heelstrike::mbs
