/// A scenario that can be stepped: what runs, Python, FMI units, tracking, macro-step coupling and resumed runs stand
/// on. The forward analysis is a loop over it that writes rows.
///
///     Simulation simulation(input);
///     // Cheap checks, then the contact, then the state at t = 0 or that of a checkpoint.
///     simulation.initialise(fem::open_local_contact);
///     while (simulation.time() < simulation.end_time()) {
///       simulation.set_input("ball.fx_N", control(simulation.output("ball.x_m")));
///       (void)simulation.advance_to(simulation.time() + 0.01);
///     }
///
/// The integrator chooses its steps freely and never learns where advance_to() stops: what lies between two of its
/// steps is interpolated. So a run in many pieces gives the same bits as one in a single piece, and asking for outputs
/// changes nothing. Only set_input(), save() and restore() end a step where the simulation stands: the state there is
/// projected onto the constraints and committed, and the integrator starts anew from it.
///
/// A step is committed, i.e. the history of the contact advances, when the simulation is asked to go to its end or
/// beyond. Onset and separation of contacts are located as roots of the gaps and end steps.
///
/// SI units throughout; the names of inputs and outputs end in their units. One thread at a time. After an exception
/// of advance_to() the simulation stands at its last commit; restore() makes it usable again.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "mbs_server/simulation/pair_event_detector.hpp"
#include "mbs_server/simulation/stall_detector.hpp"
#include "mbs_server/simulation/run_input.hpp"
#include "mbs_server/simulation/run_problem.hpp"
#include "mbs_server/simulation/simulation_inputs.hpp"
#include "mbs_server/simulation/simulation_listener.hpp"
#include "mbs_server/simulation/fmu_set.hpp"
#include "mbs_server/simulation/singular_crossing.hpp"
#include "mbs_server/simulation/vibration_detector.hpp"

namespace heelstrike::mbs {

class Simulation {
 public:
  /// Builds the model of `input.scenario`, whatever its analysis.
  /// @param input  outlives this object
  /// @param stop   ends a preparation or an advance
  /// @throws Error{invalid_input} for unphysical mass properties and unknown names
  explicit Simulation(const RunInput& input, std::stop_token stop = {});
  /// The same with a coupling scheme that is not in the registry.
  Simulation(const RunInput& input, const CouplingSchemeEntry& scheme, std::stop_token stop = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// @param listener  outlives this object, or the next call of listen()
  void listen(SimulationListener& listener) { listener_ = &listener; }

  /// Once. In this order, so that nobody waits for minutes to read of a mistake: assembles the model, makes the
  /// integrator, reads `input.resume_from`; opens the contact; takes the initial state, or the one of the checkpoint.
  /// @throws Error{invalid_input} for a model that cannot be assembled, an integrator that cannot be made, a checkpoint
  /// that belongs to something else or is damaged; Error{cancelled}; whatever the factory throws
  void initialise(const ContactFactory& open_contact);

  /// Opens the units of the scenario and looks for what it names in them and in the time series, as initialise() does
  /// before it prepares anything. For those who check a scenario; instead of initialise().
  /// @throws Error{invalid_input}
  void check_fmus();

  /// [s] where the simulation stands. @pre initialise() for this and all below
  [[nodiscard]] double time() const { return now_; }
  [[nodiscard]] double end_time() const { return scenario_.analysis.end_time; }

  /// Goes to `t` [s], from time() to end_time().
  /// @param stop_at_events  it ends at the first beginning or end of a contact on the way, which changes no bits of
  /// what follows: integrators start anew there
  /// @returns false when it was stopped, at an event too, or when the listener refused a step; time() then tells how
  /// far it came
  /// @throws Error{invalid_input} for a time that lies behind or beyond; Error{solver_failed} when the integrator gives
  /// up, with the situation; Error{limit} of analysis.budget; Error{cancelled}; what the contact throws beyond recovery
  [[nodiscard]] bool advance_to(double t, bool stop_at_events = false);

  /// All that is needed to go on from here, the same as a run's checkpoints. What follows a save has the same bits as
  /// what follows a restore of it. It costs a restart of the integrator, and nothing in on_restart_point().
  [[nodiscard]] Checkpoint save();
  /// Goes back, or ahead, to a state that this scenario has saved, here or elsewhere.
  /// @throws Error{invalid_input} for a checkpoint of another scenario and for damaged ones; nothing has changed then
  void restore(const Checkpoint& checkpoint);
  /// None of its units keeps its state for itself; else save() throws Error{unimplemented}.
  [[nodiscard]] bool can_save() const { return fmus_.without_fmu_state().empty(); }

  /// Names and units of what can be set: BODY.fx_N ... BODY.tz_Nm, and the functions of all drivers.
  [[nodiscard]] std::span<const Column> inputs() const { return inputs_.columns(); }
  /// From time() on the input is value + rate * (t - time()) + acceleration * (t - time())^2 / 2. Forces and torques
  /// are added to the loads of the scenario (in the world, at the body's origin); a driver follows the input instead of
  /// its own function. A driver's value or rate that jumps moves what it drives at once.
  /// @throws Error{invalid_input} for an unknown name and for numbers that are not finite
  void set_input(const std::string& name, double value, double rate = 0.0, double acceleration = 0.0);

  /// What one of inputs() is at time(): as it was set, or else what the scenario's driver prescribes, and no force.
  [[nodiscard]] double input_value(std::size_t input) const { return inputs_.value(input, now_); }

  /// The columns of the time series, in its order.
  [[nodiscard]] std::span<const Column> outputs() const { return columns_; }
  /// Their values at time(), valid until the next call. @throws whatever the contact throws at that state
  [[nodiscard]] std::span<const double> output_values();
  /// One of them. @throws Error{invalid_input} for an unknown name
  [[nodiscard]] double output(std::string_view name);

  /// Why output_derivative() has no answer for this scenario; empty = it has.
  [[nodiscard]] std::string no_derivatives() const;
  /// Derivatives of all outputs() at time() with respect to the value of one of inputs(). Changes nothing.
  ///
  /// Of forces and torques they are exact: accelerations and reactions are linear in them, and everything else is given
  /// by the state, where it stays. What a driver prescribes moves the state at once, as set_input() does, at the same
  /// rates: exactly along the constraints, and the columns by central differences along that motion.
  /// @param input  index. @throws Error{unimplemented} where no_derivatives(); what the contact throws beside the state
  [[nodiscard]] std::vector<double> output_derivative(std::size_t input);

  /// Counts of all advances.
  [[nodiscard]] IntegratorStatistics statistics() const;
  /// A sentence when steps have followed the vibration of a contact, which is hardly meant; none otherwise.
  [[nodiscard]] std::optional<std::string> vibration() const { return vibrations_->describe(model_.pair_names()); }

  /// A sentence when impulses of rigid bodies with friction were not found; none otherwise.
  [[nodiscard]] std::optional<std::string> unsolved_impacts() const;

  /// For analyses: the model with its contact, at the last commit.
  [[nodiscard]] CoupledModel& model() { return model_; }
  /// The values of outputs() for a state of the step that the listener is looking at.
  /// As CoupledModel::begin_row.
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row);

 private:
  class PendingStep;
  class Trial;
  struct CrossingRule;

  void prepare_to_step();
  void check_fmu_start_time() const;
  void check_no_unilateral_joints() const;
  [[nodiscard]] RunState read(const Checkpoint& checkpoint) const;
  void restore_checked(const Checkpoint& checkpoint, RunState state);
  void start();
  /// Projects onto constraints that inputs have moved.
  void project_moved_constraints();
  void state_now(VectorX& y, VectorX& z);
  /// As begin_row(), and waits for the answer.
  void fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row);
  /// As output_derivative(). @pre state_now(y_, z_)
  [[nodiscard]] std::vector<double> driver_derivative(std::size_t input);

  /// Steps the units that wait where the simulation stands; what they give acts from here on.
  void separate_rigid_bodies();
  void step_fmus();
  /// Finds a step when none is pending, and commits it when it ends at `t` or before. @returns false when refused
  [[nodiscard]] bool advance_step(double t);
  void find_step();
  /// [s] How far the integrator may go.
  [[nodiscard]] double compute_max_step();
  void check_step(const StepResult& step);
  void report_unfinished_impacts();
  void report_unsolved_impacts();
  [[nodiscard]] bool commit_step();
  void commit_state(PendingStep& step);
  [[nodiscard]] double advance_state_to(const PendingStep& step, VectorX& y);
  void commit_deferred(PendingStep& step, VectorX& y);
  /// Looks at what the partner has answered to a posted commit, before anything that depends on it.
  void finish_commit();
  /// The same. @returns false when it was refused and has been taken back
  [[nodiscard]] bool try_finish_commit();
  void roll_back(const RejectedCommit& refusal);
  void store_responses(double t_before, const VectorX& y_before, std::span<const Response> responses);
  /// Nobody locates contact: pairs close and open where steps end.
  [[nodiscard]] bool contact_at_step_ends() const { return solves_impacts_ || scheme_.has_macro_steps(); }
  [[nodiscard]] bool needs_restart();
  void switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses);
  /// Where nobody locates contact, the pairs whose state is another than the one at the last accepted step.
  [[nodiscard]] std::vector<std::size_t> switched_pairs(std::span<const Response> responses) const;
  /// Commits what lies between the last commit and now.
  void commit_partial_step();
  void repeat_step(double t_attempted, const std::string& reason);
  void clear_max_step();
  void reset_repetitions();
  void apply_joint_event(const UnilateralJoints::Event& event);
  void reset_integrator();
  void restart_integrator();
  void check_progress();
  void extrapolate_across_singularity(const CrossingRule& rule);
  [[nodiscard]] bool touches(double t, const VectorX& y);
  void notify(const SimulationEvent& event) { listener_->on_event(event); }
  [[nodiscard]] std::string situation();
  [[nodiscard]] std::string find_fastest_body();

  const RunInput& input_;
  const Scenario& scenario_;
  std::stop_token stop_;
  SimulationListener null_listener_;
  SimulationListener* listener_ = &null_listener_;
  SimulationInputs inputs_;
  FmuSet fmus_;
  CoupledModel model_;
  CommittedState& committed_;  ///< of model_
  ContactExchange& exchange_;  ///< of model_
  ContactStates& states_;      ///< of model_
  CouplingScheme& scheme_;     ///< of model_
  std::vector<Column> columns_;

  std::unique_ptr<RunProblem> problem_;
  std::unique_ptr<Integrator> integrator_;
  std::unique_ptr<SingularCrossing> singularities_;
  std::unique_ptr<PairEventDetector> event_detector_;
  std::unique_ptr<StallDetector> progress_;
  std::unique_ptr<VibrationDetector> vibrations_;

  double now_ = 0.0;                      ///< [s] between the last commit and the end of the pending step
  std::unique_ptr<PendingStep> pending_;  ///< found, but not committed
  bool solves_impacts_ = false;            ///< the integrator finds contacts of rigid bodies itself
  bool index2_ = false;                   ///< the integrator suffers sooner from singular poses
  std::optional<CommittedState> posted_;  ///< the state before the last commit, while nobody has looked at its answer
  bool fresh_ = false;                    ///< the integrator has been started at the committed state, with no bound
  std::int64_t switches_ = 0;             ///< of pairs between open and closed, and of unilateral joints
  int steps_since_restart_ = 0;           ///< committed since it was last fresh
  IntegratorStatistics counted_before_;   ///< by the run that this one goes on from
  bool restart_due_ = false;              ///< the integrator starts from the committed state before the next step
  bool projection_due_ = false;               ///< a driver has been given another value
  double macro_end_ = 0.0;                ///< [s] of the coupling scheme's macro step
  std::optional<double> max_step_size_;      ///< [s] while a step is being repeated with a smaller one
  double repeat_end_ = 0.0;            ///< [s] end of the step that failed
  int repeated_steps_ = 0;                ///< since the run was last past `repeat_end_`
  double step_size_ = 0.0;                ///< [s] of the step that now_ lies in; 0 = no step was made
  double step_errors_ = 0.0;              ///< sum of StepResult::error
  bool reported_step_errors_ = false;
  bool reported_violation_ = false;
  bool reported_unfinished_impacts_ = false;
  bool reported_unsolved_impacts_ = false;
  bool reported_singularity_ = false;
  VectorX y_, z_;  ///< at now_
  std::vector<double> row_;
};

}  // namespace heelstrike::mbs
