/// The contact model alone, for any multibody code.
///
///     hs::Contact contact = hs::Contact::open(hs::Pair::from_yaml("foot.yaml"));
///     hs::Response r = contact.evaluate({.t = t, .R_AB = R, .p_AB = p, .V_AB = V});  // repeatable: pure
///     contact.commit({.t = t, ...});                                                 // once per accepted step
///
/// The calls and the bits are the same in this process and on a server.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heelstrike/error.hpp>
#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

namespace hs {

/// Two bodies, their surfaces and materials, and the back-end that computes their contact. A value.
class HEELSTRIKE_API Pair {
 public:
  /// One contact pair of a scenario file, with the meshes that it names.
  /// @param name  of the pair; empty = the only one
  /// @throws Error{invalid_input} with file, line and key of every error
  [[nodiscard]] static Pair from_yaml(const std::string& file, const std::string& name = {},
                                      const Changes& changes = {});

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::string& backend() const;
  /// As in the file; defaults are in Contact::parameters().
  [[nodiscard]] const ParameterMap& parameters() const;
  [[nodiscard]] const std::string& file() const;  ///< scenario file of the pair
  /// Changes that reproduce the pair from file() and name() without any file.
  [[nodiscard]] Changes whole() const;

  struct Content;  ///< internal
  [[nodiscard]] const Content& content() const { return *content_; }

 private:
  std::shared_ptr<const Content> content_;
};

/// Response to one of many states.
struct BatchResponse {
  bool ok = false;
  Response response{};       ///< when `ok`; the tangents may be zero
  std::string message = {};  ///< reason of the failure
  ErrorCode code = ErrorCode::internal;
};

/// One open contact pair with its history (stick points of friction, approach velocity, warm start).
///
/// evaluate() is pure: it evaluates any state against the committed history, in any order. commit() accepts a state as
/// the end of a step and advances the history.
///
/// One thread at a time: a concurrent call, a call after close(), or a call in a child process after fork() throws
/// Error{out_of_order} and changes nothing. Contacts are independent of each other.
class HEELSTRIKE_API Contact {
 public:
  /// Prepares the pair. The first preparation of finite elements may take minutes; its products are kept in the user's
  /// cache.
  /// @throws Error{invalid_input} when the back-end rejects the pair; Error{cancelled}; from servers
  /// Error{unavailable}, Error{deadline} and Error{version_mismatch}
  [[nodiscard]] static Contact open(const Pair& pair, const OpenOptions& options = {});
  Contact(Contact&& other) noexcept;
  Contact& operator=(Contact&& other) noexcept;
  ~Contact();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::string& backend() const;
  /// Parameters in force, including default and derived ones.
  [[nodiscard]] const ParameterMap& parameters() const;
  /// Names of the surface regions whose loads every response lists; empty when the pair names none. Regions may
  /// overlap.
  [[nodiscard]] const std::vector<std::string>& regions() const;

  /// @throws Error{recoverable} when the penetration is too deep or the solver did not converge: a smaller step may
  /// succeed; Error{invalid_input} for numbers that are not finite or matrices that are not rotations
  [[nodiscard]] Response evaluate(const State& state);
  /// Evaluates many states against the same history in parallel; the order is kept. Wrenches equal those of evaluate()
  /// to the tolerance of the contact solver (point laws: the same bits). With `tangents` all results equal those of
  /// evaluate() to the bit; otherwise the tangents may be zero, which can be several times faster.
  /// @param stop  ends the work between two states
  /// @throws Error{cancelled} when stopped; Error{invalid_input} for an invalid state, as evaluate(). The failure of a
  /// single state is in its response.
  [[nodiscard]] std::vector<BatchResponse> evaluate_many(std::span<const State> states, bool tangents = false,
                                                         std::stop_token stop = {});
  /// Accepts `state` as the end of a step. The response is that under the new history; `dissipated_increment` is that
  /// of the step.
  Response commit(const State& state);
  /// The history as bytes; restorable by a contact opened from the same pair in any process, at any later time.
  [[nodiscard]] std::string save();
  /// @throws Error{invalid_input} for other bytes; the history is then unchanged
  void restore(std::string_view bytes);
  /// Pressure, traction, displacement and stress as a VTU file, in A's frame.
  /// @param volume      tetrahedra instead of the surface
  /// @param quantities  names as in a scenario's `fields`; empty = all
  /// @throws Error{unimplemented} when the back-end has no fields
  [[nodiscard]] std::string fields(const State& state, bool volume = false,
                                   const std::vector<std::string>& quantities = {});
  /// Frees all resources. Every later call except close() fails.
  void close();
  [[nodiscard]] bool is_open() const noexcept;

 private:
  struct Content;
  explicit Contact(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hs
