/// The contact partner as the multibody side sees it: one interface, in this process (LocalContact) or over gRPC
/// (RemoteContact), with the same bits either way.
///
/// Order of calls:
///
///     commit(0, initial states)
///     repeat:  evaluate(n + 1, ...) any number of times, in any order     pure
///              commit(n + 1, ...)   once per accepted step                advances the history
///
/// A repeated commit of the last step with the same input returns the same bytes, so retrying is safe. Any other step
/// number is refused with Error{out_of_order}.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact_point.hpp"
#include "common/contact/fields.hpp"
#include "common/contact/surface.hpp"
#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

namespace friction {
struct LocalProblem;
}

/// Motion of the partner B relative to the main body A at one instant.
struct PairState {
  double t = 0.0;  ///< [s] absolute run time, never accumulated from steps
  Pose X_AB;       ///< pose of B in A
  Twist V_AB;      ///< twist of B in A, expressed in A, linear part at B's origin
};

struct SolverStatistics {
  int iterations = 0;     ///< of the inner contact solver
  int active_points = 0;  ///< points in contact
  double residual = 0.0;  ///< [-] relative, at the end of the solve
};

/// How the smallest gap of a pair can change with the pose, as far as the back-end can say. Seen from one of the
/// bodies, let C be a point fixed on the other, d its displacement since the state that was asked for and theta the
/// angle that the bodies have turned against each other since. Then
///
///     gap - |d| - 2 sin(theta/2) reach  <=  gap after the motion  <=  gap + |d| + 2 sin(theta/2) reach,
///
/// and with a normal the left side is gap + normal.d - 2 sin(theta/2) reach, where the body is flat the right side is
/// gap + normal.d + 2 sin(theta/2) reach. Proof: docs/theory/guarantee_of_separation.md.
struct GapBound {
  bool known = false;                ///< false = the back-end cannot say
  bool on_partner = false;           ///< C is fixed on B and seen from A; else it is fixed on A and seen from B
  Vector3 p_C = Vector3::Zero();     ///< [m] C in the frame of the body that it is fixed on
  double reach = 0.0;                ///< [m] from C to the farthest point of its body that can touch; 0 for a sphere
  Vector3 normal = Vector3::Zero();  ///< [-] unit, in the frame of the body that looks: outwards, when it is convex
  bool flat = false;                 ///< the body that looks is a half space behind `normal`
};

/// What a named part of a pair's surface bears.
struct RegionLoad {
  double force = 0.0;                ///< [N] normal: pressure times area, so that parts that face different ways add up
  double area = 0.0;                 ///< [m^2] under load
  double peak_pressure = 0.0;        ///< [Pa]
  Vector3 p_ACop = Vector3::Zero();  ///< [m] centre of pressure in A; zero without force

  [[nodiscard]] double mean_pressure() const { return area > 0.0 ? force / area : 0.0; }  ///< [Pa] of what is loaded
  [[nodiscard]] bool operator==(const RegionLoad&) const = default;
};

/// What one evaluation yields. With `gap` > 0 wrench and tangents are exactly zero: no adhesion.
struct Response {
  Wrench F_A;                         ///< on A about A's origin, expressed in A
  Matrix6 dF_A_dX = Matrix6::Zero();  ///< d F_A / d (small rotation [rad], translation [m] of B, expressed in A)
  Matrix6 dF_A_dV = Matrix6::Zero();  ///< d F_A / d V_AB
  double gap = 0.0;                   ///< [m] smallest gap; negative is penetration
  double gap_rate = 0.0;              ///< [m/s] its rate; negative while approaching
  double area = 0.0;                  ///< [m^2] contact area; point laws: Hertz' estimate
  Vector3 p_ACop = Vector3::Zero();   ///< [m] centre of pressure in A; the closest point when there is no contact
  double peak_pressure = 0.0;         ///< [Pa]; point laws: Hertz' estimate
  double normal_force = 0.0;          ///< [N] pressure times area, so that parts that face different ways add up
  double stored_energy = 0.0;         ///< [J] elastic energy that can be given back
  double dissipated_power = 0.0;      ///< [W] rate of dissipation by velocity-dependent terms
  double dissipated_increment = 0.0;  ///< [J] since the committed state, by friction and by relaxing materials
  /// [m/s] Mean speed, weighed by Coulomb limits, at which the points that slid at the committed state go on in the
  /// direction of their friction there. Where it falls through zero the slide has come to its end: friction that
  /// remembers where the last commit was cannot see the way back within a step. 0 where most of what bears sticks, and
  /// without such friction.
  double slip_speed = 0.0;
  SolverStatistics statistics;
  GapBound bound;
  std::vector<ContactPoint> points{};  ///< of a rigid pair (rigid_law()): where the bodies touch or are near; the
                                       ///< wrench is then left to who knows the masses, and zero
  std::vector<RegionLoad> regions{};   ///< one for each of PairDescription::regions

  [[nodiscard]] double mean_pressure() const { return area > 0.0 ? normal_force / area : 0.0; }  ///< [Pa] over `area`
};

/// What is wanted of a question to all pairs.
enum class RequestKind {
  evaluate,  ///< as Contact::evaluate, but for tangents, which may be left zero
  commit,    ///< as Contact::commit
};

/// A question that nobody waits for, and in time its answer.
struct PendingRequest {
  RequestKind kind = RequestKind::evaluate;
  std::int64_t step = 0;
  std::vector<PairState> states;
  bool answered = false;
  std::vector<Response> responses{};     ///< valid when answered without an error
  std::shared_ptr<const Error> error{};  ///< what the partner refused it for
};

/// One pair after opening.
struct PairDescription {
  std::string name;
  std::string backend;
  ParameterMap parameters;  ///< values in force, defaults and derived ones included
  std::string digest;       ///< sha256 of everything the preparation depends on
  bool vibrates = false;    ///< answers depend on how much time passes between commits, because bodies have inertia
  /// The main body vibrates about nodes that are held: its mass is in the modes, too, and they know nothing of how the
  /// support moves. Right where the support stands still.
  bool vibrates_on_support = false;
  std::vector<std::string> regions{};  ///< parts of the surface whose loads are told apart; they may overlap
};

/// Name of the parameter in which back-ends are told of regions: a text, empty without any.
inline constexpr const char* regions_parameter = "regions";

/// Round-trip statistics of a remote partner.
struct RpcStatistics {
  std::int64_t calls = 0;
  double p50_us = 0.0;
  double p99_us = 0.0;
  double round_trip_time = 0.0;  ///< [s] all exchanges together
  double server_time = 0.0;      ///< [s] of them in the contact server
};

/// All contact pairs of one run, evaluated together. Not thread-safe: one run, one thread.
class Contact {
 public:
  virtual ~Contact() = default;

  /// The pairs in the order in which every span below lists them.
  [[nodiscard]] virtual std::span<const PairDescription> pairs() const = 0;

  /// Responses at `states` given the committed history. Pure.
  /// @param step       the step being attempted: last committed step + 1
  /// @param iteration  counter within the step, for logs
  /// @throws RecoverableError  too deep, or an inner solver did not converge: a smaller step may succeed
  /// @throws Error             no further answer is possible
  virtual void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                        std::span<Response> responses) = 0;

  /// Accepts `states` as the end of `step`, advances the history and answers with the responses at `states` under the
  /// new history, except that `dissipated_increment` is that of the step just accepted. All pairs advance or none.
  /// @throws as evaluate; Error{out_of_order} for any step but the next one or a repetition of the last
  virtual void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) = 0;

  /// Asks without waiting. Questions are answered in the order in which they are asked, posted or not; answers arrive
  /// while something else is waited for. What may go wrong with a posted commit must not matter to its poster before
  /// the next question: after a commit that failed, later steps are refused.
  /// @throws Error when the partner is out of reach
  virtual std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                                     std::span<const PairState> states);
  /// Waits until everything that was posted is answered.
  virtual void wait_all() {}

  /// History of all pairs as opaque bytes, one entry per pair; restorable by a partner opened from the same
  /// specifications.
  [[nodiscard]] virtual std::vector<std::string> save_state() = 0;
  virtual void restore_state(std::span<const std::string> states) = 0;  ///< all pairs or, after an error, none

  /// Empty when no wire is involved.
  [[nodiscard]] virtual std::optional<RpcStatistics> rpc_statistics() const { return std::nullopt; }

  /// Fields (VTU bytes) of one pair at a state, given the committed history.
  /// @throws Error{unimplemented} where the back-end has none, Error{invalid_input} for an unknown quantity
  [[nodiscard]] virtual std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) = 0;

  /// The frictional contact of one pair at a state, given the committed history, as a problem that other solvers read:
  /// displacements [m] by forces [N] at the points that are near the partner; without contacts where
  /// nothing touches.
  /// @throws Error{unimplemented} where the back-end solves none, and over the wire
  [[nodiscard]] virtual friction::LocalProblem local_problem(std::size_t pair, const PairState& state);
};

/// Content of a mesh or other file that a pair names, by digest.
struct AssetContent {
  std::string sha256;
  std::string name;     ///< file name for messages
  std::string content;  ///< bytes
};

struct OpenContext {
  std::string run_id;                                                        ///< for logs and metrics
  std::function<void(std::string_view stage, double fraction)> on_progress;  ///< may be empty
  std::stop_token stop;                                                      ///< cancels a preparation
};

/// Opens all pairs of a run. @throws Error as described in proto/heelstrike/v1/contact.proto
using ContactFactory = std::function<std::unique_ptr<Contact>(
    std::span<const PairSpec> pairs, std::span<const AssetContent> assets, const OpenContext& context)>;

}  // namespace heelstrike
