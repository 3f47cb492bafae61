/// Interface of the contact side to the multibody side, in this process (LocalContact) or over gRPC (RemoteContact),
/// with bitwise equal results.
///
/// Order of calls:
///
///     commit(0, initial states)
///     repeat:  evaluate(n + 1, ...) any number of times, in any order     pure
///              commit(n + 1, ...)   once per accepted step                advances the history
///
/// A repeated commit of the last step with the same input returns the same bytes, so retrying is safe. Any other step
/// number is rejected with Error{out_of_order}.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/contact/contact_point.hpp"
#include "common/contact/fields.hpp"
#include "common/contact/surface.hpp"
#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "include/heelstrike/response_members.h"

namespace heelstrike {

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

/// Bound of the change of the smallest gap of a pair with the pose. In the frame of one of the bodies, let C be a point
/// fixed on the other, d its displacement since the evaluated state and theta the angle of relative rotation since
/// then. Then
///
///     gap - |d| - 2 sin(theta/2) reach  <=  gap after the motion  <=  gap + |d| + 2 sin(theta/2) reach,
///
/// With a normal the left side is gap + normal.d - 2 sin(theta/2) reach; for a flat body the right side is gap +
/// normal.d + 2 sin(theta/2) reach. Proof: docs/theory/guarantee_of_separation.md.
struct GapBound {
  bool known = false;                ///< false = not available from the back-end
  bool on_partner = false;           ///< C is fixed on B, d is measured in A; else C is fixed on A, d is measured in B
  Vector3 p_C = Vector3::Zero();     ///< [m] C in the frame of the body on which it is fixed
  double reach = 0.0;                ///< [m] from C to the farthest point of its body that can touch; 0 for a sphere
  Vector3 normal = Vector3::Zero();  ///< [-] outward unit normal of the measuring body in its frame, if it is convex
  bool flat = false;                 ///< the measuring body is a half space behind `normal`
};

/// Load on a named region of a pair's surface.
struct RegionLoad {
  double force = 0.0;                ///< [N] integral of pressure over area, independent of the direction of the
                                     ///< normals
  double area = 0.0;                 ///< [m^2] loaded area
  double peak_pressure = 0.0;        ///< [Pa]
  Vector3 p_ACop = Vector3::Zero();  ///< [m] centre of pressure in A; zero without force

  [[nodiscard]] double mean_pressure() const { return area > 0.0 ? force / area : 0.0; }  ///< [Pa] over the loaded area
  [[nodiscard]] bool operator==(const RegionLoad&) const = default;
};

/// Result of one evaluation. With `gap` > 0 wrench and tangents are exactly zero: no adhesion. Members of
/// response_members.h have their units and meanings there. `slip_speed` is weighted by Coulomb limits; its
/// zero crossing marks the end of sliding: friction whose history is updated at commits cannot resolve reversed slip
/// within a step.
struct Response {
  Wrench F_A;                         ///< on A about A's origin, expressed in A
  Matrix6 dF_A_dX = Matrix6::Zero();  ///< d F_A / d (small rotation [rad], translation [m] of B, expressed in A)
  Matrix6 dF_A_dV = Matrix6::Zero();  ///< d F_A / d V_AB
#define HS_NUMBER(name, ...) double name = 0.0;
#define HS_VECTOR(name, ...) Vector3 name = Vector3::Zero();
#define HS_DERIVED(...)
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
#undef HS_DERIVED
  SolverStatistics statistics;
  GapBound bound;
  std::vector<ContactPoint> points{};  ///< of a rigid pair (rigid_law()): points in or near contact; the wrench is then
                                       ///< zero, and the multibody solver resolves the forces
  std::vector<RegionLoad> regions{};   ///< one for each of PairDescription::regions

  [[nodiscard]] double mean_pressure() const {
    return area > 0.0 ? normal_force / area : 0.0;
  }
  [[nodiscard]] int active_points() const {
    return statistics.active_points;
  }
  [[nodiscard]] int iterations() const {
    return statistics.iterations;
  }
  [[nodiscard]] double residual() const {
    return statistics.residual;
  }
};

/// Calls visit(row, pointer to the member) for the members of a response that are stored: all but the derived ones.
template <class Visit>
constexpr void for_each_stored_member(Visit&& visit) {
  hs::for_each_response_member<Response>([&](const hs::ResponseMember& row, auto member) {
    if constexpr (std::is_member_object_pointer_v<decltype(member)>) visit(row, member);
  });
}

/// Names of the stored members, separated by spaces: a program with other members rejects bytes that begin with them.
[[nodiscard]] std::string stored_member_names();

/// One number of a member in a result.
struct OutputName {
  std::string name;
  const char* unit;
  const char* meaning;
  bool is_number;  ///< not an entry of a vector
};
/// Names of the numbers of an output, column or fmu, in the order of the rows.
[[nodiscard]] std::vector<OutputName> output_names(hs::ResponseOutput output);

/// Kind of a request to all pairs.
enum class RequestKind {
  evaluate,  ///< as Contact::evaluate, but tangents may be zero
  commit,    ///< as Contact::commit
};

/// A deferred request and its responses after completion.
struct PendingRequest {
  RequestKind kind = RequestKind::evaluate;
  std::int64_t step = 0;
  std::vector<PairState> states;
  bool completed = false;
  std::vector<Response> responses{};     ///< valid after completion without error
  std::shared_ptr<const Error> error{};  ///< error of the request
};

/// Result of one of many states.
struct BatchEntry {
  Response response;
  std::shared_ptr<const Error> error{};  ///< null when `response` is valid
};

/// Responses of all pairs along a motion.
struct MotionResponses {
  /// Of the states that all pairs committed: [pair][state], the same number for each pair.
  std::vector<std::vector<Response>> responses;
  /// Error of the first pair that rejected the next state; null = all states were committed.
  std::shared_ptr<const Error> error{};
};

/// One pair after opening.
struct PairDescription {
  std::string name;
  std::string backend;
  ParameterMap parameters;  ///< effective values, including defaults and derived ones
  std::string digest;       ///< sha256 of everything the preparation depends on
  bool vibrates = false;    ///< responses depend on the time between commits, because bodies have inertia
  /// The main body vibrates about clamped nodes: its mass is in the modes, too, which do not include the motion of the
  /// support. Valid for a fixed support.
  bool vibrates_on_support = false;
  std::vector<std::string> regions{};  ///< parts of the surface with separate loads; they may overlap
};

/// Name of the back-end parameter that lists regions: a text, empty without any.
inline constexpr const char* regions_parameter = "regions";

/// Round-trip statistics of a remote partner.
struct RpcStatistics {
  std::int64_t calls = 0;
  double p50_us = 0.0;
  double p99_us = 0.0;
  double round_trip_time = 0.0;  ///< [s] sum over all exchanges
  double server_time = 0.0;      ///< [s] part of it in the contact server
};

/// All contact pairs of one run, evaluated together. Not thread-safe: one run, one thread.
class Contact {
 public:
  virtual ~Contact() = default;

  /// The pairs in the order of every span below.
  [[nodiscard]] virtual std::span<const PairDescription> pairs() const = 0;

  /// Responses at `states` given the committed history. Pure.
  /// @param step       the step being attempted: last committed step + 1
  /// @param iteration  counter within the step, for logs
  /// @throws RecoverableError  too deep, or an inner solver did not converge: a smaller step may succeed
  /// @throws Error no further evaluation is possible
  virtual void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                        std::span<Response> responses) = 0;

  /// Accepts `states` as the end of `step`, advances the history and returns the responses at `states` with the new
  /// history, except that `dissipated_increment` is that of the accepted step. All pairs advance or none.
  /// @throws as evaluate; Error{out_of_order} for any step but the next one or a repetition of the last
  virtual void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) = 0;

  /// Sends a deferred request. All requests, deferred or not, are executed in order; responses arrive during other
  /// calls that wait. The caller must not depend on the success of a deferred commit before the next request: after a
  /// failed commit, later steps are rejected.
  /// @throws Error if the partner is unreachable
  virtual std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                                     std::span<const PairState> states);
  /// Waits for the completion of all deferred requests.
  virtual void drain() {}

  /// History of all pairs as opaque bytes, one entry per pair; restorable by a partner opened from the same
  /// specifications.
  [[nodiscard]] virtual std::vector<std::string> save_state() = 0;
  virtual void restore_state(std::span<const std::string> states) = 0;  ///< all pairs or, after an error, none

  /// Empty for contact in the same process.
  [[nodiscard]] virtual std::optional<RpcStatistics> rpc_statistics() const { return std::nullopt; }

  /// Fields (VTU bytes) of one pair at a state, given the committed history.
  /// @throws Error{unimplemented} if the back-end has none, Error{invalid_input} for an unknown quantity
  [[nodiscard]] virtual std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) = 0;

  /// True if there are pairs and no response depends on committed states except for rounding and solver statistics;
  /// batches may then replace commits.
  [[nodiscard]] virtual bool history_independent() const { return false; }

  /// Responses of one pair at many states given the committed history, in parallel, order preserved; bitwise equal to
  /// evaluate(), but tangents may be zero unless requested. Pure.
  /// @param stop  cancels the work between two states
  /// @throws Error{cancelled} if stopped, Error{unimplemented} if the contact has no batches, Error for the batch as a
  /// whole; the error of a single state is in its entry
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                               bool tangents, std::stop_token stop);

  /// Commits states of prescribed motion in sequence, the pairs in parallel: equal to a sequence of commit() except for
  /// rounding and for tangents, which may be zero. Ends before the first state that a pair rejects; all pairs have then
  /// advanced to the preceding state. Repeatable like a commit. The default is a sequence of commit().
  /// @param first_step  of the first state: last committed step + 1
  /// @param states      [pair][state], the same number for each pair
  /// @param stop        cancels the work; all or nothing is committed
  /// @throws Error{cancelled} if stopped, Error{out_of_order} for another first step; the error of a state is in the
  /// result
  [[nodiscard]] virtual MotionResponses commit_motion(std::int64_t first_step,
                                                      std::span<const std::vector<PairState>> states,
                                                      std::stop_token stop);
};

/// Bytes that copies share: a mesh is in the memory of a process once.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(const SharedBytes&) = default;  // and no move, so that there are always bytes
  SharedBytes& operator=(const SharedBytes&) = default;
  ~SharedBytes() = default;
  SharedBytes(std::string bytes) : bytes_(std::make_shared<std::string>(std::move(bytes))) {}
  SharedBytes(const char* text) : SharedBytes(std::string(text)) {}

  [[nodiscard]] const std::string& get() const { return *bytes_; }
  operator const std::string&() const { return *bytes_; }
  operator std::string_view() const { return *bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_->size(); }
  [[nodiscard]] const char* data() const { return bytes_->data(); }
  /// For changes, which other copies do not see.
  [[nodiscard]] std::string& edit() {
    if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::string>(*bytes_);
    return *bytes_;
  }

 private:
  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
};

/// Content of a mesh or other file of a pair, by digest.
struct AssetContent {
  std::string sha256;  ///< empty = not yet computed
  std::string name;    ///< file name for messages
  SharedBytes content;
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
