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
#include <utility>
#include <vector>

#include "common/parameters/parameter.hpp"
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

/// What is wanted of an answer.
struct EvaluateOptions {
  bool tangents = true;         ///< false: nobody differentiates the wrench, and its tangents may be left zero
  bool keep_warm_start = true;  ///< false: a commit need not keep what only saves time near its state
};

/// Of prescribed motion, whose states are frames of a recording.
inline constexpr EvaluateOptions prescribed_motion{.tangents = false, .keep_warm_start = false};

/// What a contact model says of itself to whoever runs it.
struct BackendTraits {
  ParameterMap parameters;  ///< in force, defaults and derived values included
  /// Responses depend on the history by rounding only, which comes from where a solution starts: states may then be
  /// answered in any order, in batches.
  bool history_independent = false;
  /// An evaluation takes much longer than starting a thread: pairs of one commit are then worth a thread each.
  bool expensive = false;
  bool vibrates = false;               ///< see PairDescription
  bool vibrates_on_support = false;    ///< likewise
  std::vector<std::string> regions{};  ///< names; every response has the load of each
};

/// What some contact models offer besides: several states under one history share work.
class BatchEvaluation {
 public:
  virtual ~BatchEvaluation() = default;
  /// ContactBackend::evaluate of each state as prescribed_motion, bit for bit. What a state is refused for stands in
  /// its entry.
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_all(const History& history,
                                                             std::span<const PairState> states) const = 0;
};

/// One contact model for one pair.
class ContactBackend {
 public:
  explicit ContactBackend(BackendTraits traits) : traits_(std::move(traits)) {}
  virtual ~ContactBackend() = default;

  [[nodiscard]] const BackendTraits& traits() const { return traits_; }

  /// History before anything has been committed.
  [[nodiscard]] virtual std::shared_ptr<const History> initial_history() const = 0;

  /// Wrench and tangents at `state`, given the last committed `history`.
  /// Pure: changes neither `history` nor the back-end; callable at any state, in any order, from several threads.
  /// With `gap` > 0, wrench and tangents are exactly zero.
  /// @throws RecoverableError  too deep, or the inner solver did not converge: a smaller step may succeed
  /// @throws Error             no further answer is possible
  [[nodiscard]] virtual Response evaluate(const History& history, const PairState& state,
                                          const EvaluateOptions& options = {}) const = 0;

  /// The history after accepting `state`. Pure in the same sense: a new object is returned.
  [[nodiscard]] virtual Committed commit(const History& history, const PairState& state,
                                         const EvaluateOptions& options = {}) const = 0;

  /// Null = states of a batch are worth no more than single ones.
  [[nodiscard]] virtual const BatchEvaluation* batches() const { return nullptr; }

  /// @throws Error{invalid_input} for bytes of another format or another back-end, and for damaged ones
  [[nodiscard]] virtual std::shared_ptr<const History> load_history(std::string_view bytes) const = 0;

  /// Fields as VTU bytes. @throws Error{unimplemented} where the model has none
  [[nodiscard]] virtual std::string fields(const History& history, const PairState& state,
                                           const FieldRequest& request) const;
  /// What Contact::local_problem says. @throws Error{unimplemented} where the model solves none
  [[nodiscard]] virtual friction::LocalProblem local_problem(const History& history, const PairState& state) const;

 private:
  BackendTraits traits_;
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
  std::function<std::vector<std::string>(const PairSpec& pair, const PrepareContext& context)> warnings{};
  /// Sets what the description of the opened pair will say of vibrations; empty = nothing vibrates. Same `pair`.
  std::function<void(const PairSpec& pair, PairDescription& description)> predict_vibrations{};
  /// Numbers among `parameters` that may change between two steps: no preparation depends on them, and a history that
  /// was made with other values of them keeps its meaning.
  std::vector<std::string> tunable{};
};

/// All back-ends, sorted by name.
[[nodiscard]] std::span<const BackendEntry> backend_registry();

/// @throws Error{invalid_input} listing the known names and the nearest one
[[nodiscard]] const BackendEntry& find_backend(const std::string& name);

/// Checks surfaces, parameters and bodies of `pair` against its entry, before anything is read or prepared.
/// @returns the pair with completed parameters @throws Error{invalid_input} with the key in `field`
[[nodiscard]] PairSpec checked_pair(const PairSpec& pair);

/// Name, back-end and vibrations as the description of the opened pair will say. @param pair  of checked_pair
[[nodiscard]] PairDescription predict_description(const PairSpec& pair);

/// What is allowed but hardly meant: moduli, sizes, units. @param pair  of checked_pair
/// @throws Error{invalid_input} where nothing sensible can come out, and what reading the meshes throws
[[nodiscard]] std::vector<std::string> find_pair_warnings(const PairSpec& pair, const PrepareContext& context);

/// Checks the pair, tells doubts as stages that begin with `warning_mark`, and makes the back-end.
[[nodiscard]] std::unique_ptr<ContactBackend> make_backend(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
