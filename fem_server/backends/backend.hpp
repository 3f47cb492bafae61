/// What every contact back-end is, and the registry entry that makes it known.
///
/// A back-end is one folder below fem_server/backends with an `entry.cpp` that defines one BackendEntry, and one line
/// in registry.cpp. Every back-end passes tests/unit/backends/conformance_test.cpp without exceptions to the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/parameter.hpp"
#include "common/contact/batch_contact.hpp"
#include "common/contact/contact.hpp"
#include "common/contact/preparation.hpp"

namespace heelstrike::fem {

/// What a back-end remembers between accepted steps. Opaque to everybody else; immutable once committed, so that any
/// number of evaluations may share it.
class History {
 public:
  virtual ~History() = default;
  /// Bytes from which `ContactBackend::load_history` makes an equal history; starts with a format version.
  [[nodiscard]] virtual std::string save() const = 0;
};

/// History after a commit, with the response at the committed state under that history.
struct Committed {
  std::shared_ptr<const History> history;
  Response response;
};

/// One contact model for one pair.
class ContactBackend {
 public:
  virtual ~ContactBackend() = default;

  /// History before anything has been committed.
  [[nodiscard]] virtual std::shared_ptr<const History> initial_history() const = 0;

  /// Wrench and tangents at `state`, given the last committed `history`.
  /// Pure: changes neither `history` nor the back-end; callable at any state, in any order, from several threads.
  /// With `gap` > 0, wrench and tangents are exactly zero.
  /// @throws RecoverableError  too deep, or the inner solver did not converge: a smaller step may succeed
  /// @throws Error             no further answer is possible
  [[nodiscard]] virtual Response evaluate(const History& history, const PairState& state) const = 0;

  /// The history after accepting `state`. Pure in the same sense: a new object is returned.
  [[nodiscard]] virtual Committed commit(const History& history, const PairState& state) const = 0;

  /// As evaluate and commit, for a state of prescribed motion: nobody differentiates the answer and the next state
  /// may be far, so tangents may be left zero, and nothing has to be kept that only saves time near this state.
  [[nodiscard]] virtual Response evaluate_prescribed(const History& history, const PairState& state) const {
    return evaluate(history, state);
  }
  /// evaluate_prescribed of several states under one history, which may share work: the same answers, bit for bit. What
  /// a state is refused for stands in its entry.
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_prescribed_all(const History& history,
                                                                        std::span<const PairState> states) const;
  [[nodiscard]] virtual Committed commit_prescribed(const History& history, const PairState& state) const {
    return commit(history, state);
  }

  /// @throws Error{invalid_input} for bytes of another format or another back-end
  [[nodiscard]] virtual std::shared_ptr<const History> load_history(std::string_view bytes) const = 0;

  /// Whether responses depend on the history by rounding only, which comes from where a solution starts: states may
  /// then be answered in any order, in batches.
  [[nodiscard]] virtual bool history_independent() const { return false; }

  /// Whether an evaluation takes much longer than starting a thread: pairs of one commit are then worth a thread each.
  [[nodiscard]] virtual bool heavy() const { return false; }

  /// Parameters in force, defaults and derived values included.
  [[nodiscard]] virtual ParameterMap parameters() const = 0;

  /// Fields as VTU bytes. @throws Error{unimplemented} where the model has none
  [[nodiscard]] virtual std::string fields(const History& history, const PairState& state,
                                           const FieldRequest& request) const;
};

class PreparationLocks;

/// What a factory gets besides the specification.
struct PrepareContext {
  std::function<const AssetContent&(const AssetKey&)> asset;                 ///< content of a file; throws not_found
  std::function<void(std::string_view stage, double fraction)> on_progress;  ///< never empty
  std::stop_token stop;                     ///< checked between stages of the preparation
  std::string cache_directory{};            ///< for products of preparations; empty = none
  std::uint64_t max_elements = 20'000'000;  ///< of a mesh
  PreparationLocks* locks = nullptr;        ///< of all sessions of this process; null = nobody else prepares
};

struct BackendEntry {
  std::string name;
  std::string summary;    ///< one sentence
  std::string reference;  ///< key in docs/references.bib
  std::vector<ParameterSchema> parameters;
  std::vector<std::string> surface_pairs;  ///< "sphere-plane": shapes of main and partner body it accepts
  /// @param pair  parameters already checked and completed by the schema
  /// @throws Error{invalid_input} for a combination that the schema cannot refuse; Error{cancelled} when stopped
  std::function<std::unique_ptr<ContactBackend>(const PairSpec& pair, const PrepareContext& context)> make;
  /// Refuses what `make` would refuse whatever the meshes are; empty = nothing. Same `pair` and errors.
  std::function<void(const PairSpec& pair)> check{};
  /// What is allowed but hardly meant, "KEY: sentence"; reads the pair's meshes and prepares nothing; empty = nothing.
  /// @throws Error{invalid_input} where nothing sensible can come out
  std::function<std::vector<std::string>(const PairSpec& pair, const PrepareContext& context)> doubts{};
};

/// All back-ends, sorted by name.
[[nodiscard]] std::span<const BackendEntry> backend_registry();

/// @throws Error{invalid_input} listing the known names and the nearest one
[[nodiscard]] const BackendEntry& find_backend(const std::string& name);

/// Checks surfaces, parameters and bodies of `pair` against its entry, before anything is read or prepared.
/// @returns the pair with completed parameters @throws Error{invalid_input} with the key in `field`
[[nodiscard]] PairSpec checked_pair(const PairSpec& pair);

/// What is allowed but hardly meant: moduli, sizes, units. @param pair  of checked_pair
/// @throws Error{invalid_input} where nothing sensible can come out, and what reading the meshes throws
[[nodiscard]] std::vector<std::string> pair_doubts(const PairSpec& pair, const PrepareContext& context);

/// Checks the pair, tells doubts as stages that begin with `warning_mark`, and makes the back-end.
[[nodiscard]] std::unique_ptr<ContactBackend> make_backend(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
