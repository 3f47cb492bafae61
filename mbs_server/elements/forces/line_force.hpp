/// Force elements along a line between two points, straight or over points and surfaces of bodies. Springs, ligaments
/// and muscles differ only in their tension.
///
/// Converts the lines of a scenario to paths between the bodies of a model.
///
/// Several lines in one force element: the bundles of a ligament.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/formulation/line_path.hpp"
#include "scenario/line_paths.hpp"

namespace heelstrike::mbs {

/// Length and rate of a line.
struct LineMotion {
  double t = 0.0;       ///< [s]
  double length = 0.0;  ///< [m]
  double speed = 0.0;   ///< [m/s] rate of the length
};

/// Tension of a line as a function of its motion and its internal states, with derivatives and energy terms.
struct Tension {
  double force = 0.0;       ///< [N] positive in tension
  double stiffness = 0.0;   ///< [N/m] dF/dl at constant states
  double energy = 0.0;      ///< [J]
  double dissipated = 0.0;  ///< [W] by changes of the states
  double by_speed = 0.0;    ///< [N s/m] dF/d(dl/dt)
};

/// Derivatives of a line with internal states s, ds/dt = f(l, dl/dt, s); the sizes are the same at every call.
struct LineStateTangents {
  VectorX force_s;   ///< dF/ds, a row
  VectorX f_length;  ///< [1/m]
  VectorX f_speed;   ///< by dl/dt
  Eigen::MatrixXd f_s;
};

/// Internal states of a line: activation, strains of viscous parts.
struct LineStates {
  int n = 0;
  std::function<void(const LineMotion& at, Eigen::Ref<VectorX> s)> start = {};
  std::function<void(const LineMotion& at, const ConstVector& s, Eigen::Ref<VectorX> f)> rates = {};
  std::function<void(const LineMotion& at, const ConstVector& s, LineStateTangents& tangents)> tangents = {};
};

/// Activation of a line that an analysis may control, see ActivatedForce.
struct LineActivation {
  double minimum = 0.0;
  double max_force = 0.0;       ///< [N]
  double optimal_length = 0.0;  ///< [m]
  std::function<ActivationRange(double before, double interval)> reachable = {};
  std::function<void(double activation, bool isometric)> set = {};
  std::function<double(const LineMotion& at)> force_a = {};  ///< [N] dF/da at the activation set last
};

/// Data common to lines of all types.
struct LineElement {
  std::string name;
  std::vector<MovingPoint> points;  ///< from the end on a to the end on b
  std::vector<PathWrap> surfaces = {};
  double unstrained = 0.0;    ///< [m] > 0
  double damping = 0.0;       ///< [N s/m]
  double usual = 0.0;         ///< [m] approximate working length; 0 = unknown
  bool tension_only = false;  ///< acts only above the unstrained length, never pushes; reports its strain
  bool is_driven = false;     ///< its tension does external work and may depend on time: a muscle
  std::function<Tension(const LineMotion& at, const ConstVector& s)> tension = {};
  LineStates states = {};
  std::optional<LineActivation> activation = {};
  /// Additional columns, with names that follow the element's name, and their values.
  std::vector<Column> more_columns = {};
  std::function<void(const LineMotion& at, const ConstVector& s, std::vector<double>& row)> more_values = {};
};

/// Strain of a ligament from which its damping acts in full; it is ramped up smoothly from zero strain, so that the
/// force has no jump when the ligament becomes taut at a velocity. The value of OpenSim's Blankevoort1991Ligament.
inline constexpr double full_damping_strain = 0.01;

/// Force F(l, s) + c dl/dt along a path of length l(q). Tension-only elements have the damping c ramp(strain) and a
/// force >= 0. Columns: length, its rate, the tension with damping, and for tension-only elements the strain.
class LineForce final : public ForceElement, private InternalStates, private ActivatedForce {
 public:
  explicit LineForce(LineElement element);

  [[nodiscard]] std::string name() const override { return element_.name; }
  /// @throws RecoverableError where the path has no length or direction
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;
  [[nodiscard]] bool depends_on_time() const override { return element_.is_driven; }
  /// Reports a length of less than half or more than twice the usual one: an unusual pose or a wrong input.
  [[nodiscard]] std::string check_initial_state(const MotionState& at) const override;
  [[nodiscard]] std::vector<Column> columns() const override;
  void append_values(const MotionState& at, std::vector<double>& row) const override;
  [[nodiscard]] const InternalStates* internal_states() const override {
    return element_.states.n > 0 ? this : nullptr;
  }
  [[nodiscard]] ActivatedForce* activated() override { return element_.activation ? this : nullptr; }

 private:
  [[nodiscard]] int n_states() const override { return element_.states.n; }
  [[nodiscard]] const std::vector<int>& coordinates() const override { return path_.coordinates(); }
  void start_states(const MotionState& at, Eigen::Ref<VectorX> s) const override;
  void state_rates(const MotionState& at, Eigen::Ref<VectorX> f) const override;
  void state_tangents(const MotionState& at, StateTangents& tangents) const override;

  [[nodiscard]] double min_activation() const override { return element_.activation->minimum; }
  [[nodiscard]] ActivationRange reachable(double before, double interval) const override {
    return element_.activation->reachable(before, interval);
  }
  [[nodiscard]] double max_isometric_force() const override { return element_.activation->max_force; }
  [[nodiscard]] double optimal_fiber_length() const override { return element_.activation->optimal_length; }
  void set_activation(double activation, bool isometric) override { element_.activation->set(activation, isometric); }
  void add_activation_tangent(const MotionState& at, Eigen::Ref<VectorX> g_a) const override;

  /// Sets `line_` and `rates_`.
  LineMotion measure(const MotionState& at, bool curvature) const;
  /// Force at the length in `line_` and its derivatives by length and rate.
  struct LineTension {
    Tension tension;
    double force = 0.0;      ///< [N] with damping
    double by_length = 0.0;  ///< [N/m]
    double by_speed = 0.0;   ///< [N s/m]
  };
  [[nodiscard]] LineTension pull(const LineMotion& at, const ConstVector& s) const;

  LineElement element_;
  MovingPath path_;
  /// Work space for the path at a state, which avoids allocation: an element belongs to one simulation and is evaluated
  /// by one thread at a time.
  mutable PathLength line_;
  mutable VectorX line_q_;  ///< q at `line_`, which is evaluated once at a state; empty = unknown
  mutable bool has_curvature_ = false;
  mutable VectorX rates_;  ///< qd of the coordinates of the path
};

/// Keys of all straight lines. @param stiffness  the key of that name
[[nodiscard]] std::vector<config::KeySchema> line_keys(config::KeySchema stiffness);
/// As line_keys(), with the strain at the initial poses, which may define the unstrained length.
[[nodiscard]] std::vector<config::KeySchema> ligament_keys(config::KeySchema stiffness);

/// Rejects a line whose length at the initial poses is too far from its usual length to result from a pose: a length
/// is in another unit. Smaller deviations are reported at the start (LineForce::check_initial_state).
/// @param place  key for the message. @param usual  [m]. @param what  describes the usual length. @param length  [m]
/// @throws Issue
void check_line_length(const config::Field& place, double usual, const char* what, double length);
/// As check_line_length() for a ligament; also rejects a strain beyond failure at the initial poses.
/// @param line  keys of the line. @param slack  key of the slack length. @param ends  key of the ends
/// @param length  [m] at the initial poses
/// @throws Issue
void check_ligament_length(const config::Field& line, const char* slack, const char* ends, double length);
/// check_ligament_length() for types with ligament_keys(), as their ForceType::check.
void check_ligament_ends(const config::Field& field, const Scenario& scenario);

/// Reads these keys. @throws Error{invalid_input} for coincident ends without a length
[[nodiscard]] LineElement read_line(const ElementSpec& spec, const Model& model);
[[nodiscard]] Force line_force(LineElement element);

/// Ligament of [piazza2001]: k strain^2 for a strain > 0, zero otherwise. @param k  [N]
[[nodiscard]] Tension quadratic_ligament_tension(double k, double unstrained, double length);
/// Ligament of [caruntu2004], quadratic up to the strain 2 eps1 and then linear with the slope k [N/m], once
/// continuously differentiable:
///   F = k / (4 l0 eps1) (l - l0)^2,   F = k (l - (1 + eps1) l0).
/// @param toe_stiffness  [N/m^2] F = toe_stiffness (length - unstrained)^2 of the toe; none = determined by continuity
/// with k
[[nodiscard]] Tension toe_ligament_tension(double k, double toe_strain, double unstrained, double length,
                                           std::optional<double> toe_stiffness = std::nullopt);

/// Bodies of a model in the form that config::read_lines() requires: names and poses.
[[nodiscard]] std::vector<BodySpec> body_specs(const Model& model);
/// Rejects unknown joint coordinates in the keys of a line.
void check_path_coordinates(const config::LineSpec& line, const Scenario& scenario);
/// @throws Error{invalid_input} for an unknown body
[[nodiscard]] std::vector<MovingPoint> path_points(const config::LineSpec& line, const Model& model);
[[nodiscard]] std::vector<PathWrap> path_surfaces(const config::LineSpec& line, const Model& model);
/// Length at the initial poses [m]. @throws Error{invalid_input} with the line's name where the path is undefined
[[nodiscard]] double initial_length(const config::LineSpec& line, const Model& model);

/// Lines without internal states, each with its columns, and the column NAME.force_N with the sum of their tensions.
[[nodiscard]] Force line_bundle(const std::string& name, std::vector<LineElement> lines);

}  // namespace heelstrike::mbs
