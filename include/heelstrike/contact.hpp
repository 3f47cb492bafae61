/// The contact partner alone, for anybody's multibody code.
///
///     hs::Contact contact = hs::Contact::open(hs::Pair::from_yaml("foot.yaml"));
///     hs::Response r = contact.evaluate({.t = t, .R_AB = R, .p_AB = p, .V_AB = V});  // as often as wanted: pure
///     contact.commit({.t = t, ...});                                                 // once per accepted step
///
/// In this process or on a server: the same calls and the same bits.
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

/// Two bodies, their surfaces and materials, and the back-end that shall compute their contact. A value.
class HEELSTRIKE_API Pair {
 public:
  /// One contact pair of a scenario file, with the meshes that it names.
  /// @param name  of the pair; empty = the only one
  /// @throws Error{invalid_input} with file, line and key of every mistake
  [[nodiscard]] static Pair from_yaml(const std::string& file, const std::string& name = {},
                                      const Changes& changes = {});

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::string& backend() const;
  /// As the file says; defaults are in Contact::parameters().
  [[nodiscard]] const ParameterMap& parameters() const;
  [[nodiscard]] const std::string& file() const;  ///< that it comes from
  /// What makes the same pair of file() and name() anywhere, without any file.
  [[nodiscard]] Changes whole() const;

  struct Content;  ///< not for users
  [[nodiscard]] const Content& content() const { return *content_; }

 private:
  std::shared_ptr<const Content> content_;
};

/// Answer to one of many states.
struct BatchResponse {
  bool ok = false;
  Response response{};       ///< when `ok`; the tangents may be zero
  std::string message = {};  ///< why not
  ErrorCode code = ErrorCode::internal;
};

/// One open contact pair with its history (stick points of friction, speed of approach, warm start).
///
/// evaluate() is pure: it answers for any state against the committed history, in any order. commit() accepts a state
/// as the end of a step and advances the history.
///
/// One thread at a time: a call beside another one, after close(), or in a child process after fork() is
/// Error{out_of_order} and changes nothing. Contacts are independent of each other.
class HEELSTRIKE_API Contact {
 public:
  /// Prepares the pair, which may take minutes the first time for finite elements; what was prepared is kept in the
  /// user's cache.
  /// @throws Error{invalid_input} for what the back-end does not accept; Error{cancelled}; of servers
  /// Error{unavailable}, Error{deadline} and Error{version_mismatch}
  [[nodiscard]] static Contact open(const Pair& pair, const OpenOptions& options = {});
  Contact(Contact&& other) noexcept;
  Contact& operator=(Contact&& other) noexcept;
  ~Contact();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::string& backend() const;
  /// In force, defaults and derived ones included.
  [[nodiscard]] const ParameterMap& parameters() const;
  /// Names of the parts of the surface whose loads every response tells apart; empty where the pair names none. They
  /// may overlap.
  [[nodiscard]] const std::vector<std::string>& regions() const;

  /// @throws Error{recoverable} too deep, or not converged: a smaller step may succeed; Error{invalid_input} for
  /// numbers that are not finite or rotations that are none
  [[nodiscard]] Response evaluate(const State& state);
  /// Many states against the same history, side by side on the processors there are; order kept. Wrenches are those of
  /// evaluate() to the tolerance of the contact solver (point laws: the same bits). With `tangents` all is as
  /// evaluate() gives it, to the bit; else they may be zero, which can be several times faster.
  /// @param stop  ends the work between two states
  /// @throws Error{cancelled} when stopped; Error{invalid_input} naming a state that is none, as evaluate(); what the
  /// contact says to a single state is in its answer
  [[nodiscard]] std::vector<BatchResponse> evaluate_many(std::span<const State> states, bool tangents = false,
                                                  std::stop_token stop = {});
  /// Accepts `state` as the end of a step. The response is the one under the new history, `dissipated_increment` that
  /// of the step.
  Response commit(const State& state);
  /// The history as bytes; restorable by a contact opened from the same pair, here, elsewhere or later.
  [[nodiscard]] std::string save();
  /// @throws Error{invalid_input} for bytes of something else; nothing has changed then
  void restore(std::string_view bytes);
  /// Pressure, traction, displacement and stress as a VTU file, in A's frame.
  /// @param volume      tetrahedra instead of the surface
  /// @param quantities  names as in a scenario's `fields`; empty = all
  /// @throws Error{unimplemented} where the back-end has none
  [[nodiscard]] std::string fields(const State& state, bool volume = false,
                                   const std::vector<std::string>& quantities = {});
  /// Frees everything. Every later call but this one is refused.
  void close();
  [[nodiscard]] bool is_open() const noexcept;

 private:
  struct Content;
  explicit Contact(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hs
