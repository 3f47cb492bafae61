/// Interface of a contact back-end and its registry entry.
///
/// A back-end is one folder below fem_server/backends with an `entry.cpp` that defines its BackendEntry, and two lines
/// in registry.cpp (include, collect()). Every back-end passes tests/unit/backends/conformance_test.cpp without
/// exceptions to the rules.
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

#include "common/contact/contact.hpp"
#include "common/contact/preparation.hpp"
#include "common/parameters/parameter.hpp"

namespace heelstrike::fem {

/// History variables of a back-end between accepted steps. Opaque to callers; immutable once committed, so that any
/// number of evaluations may share it.
class History {
 public:
  virtual ~History() = default;
  /// Bytes from which `ContactBackend::load_history` restores an equal history; they start with a format version.
  [[nodiscard]] virtual std::string save() const = 0;
};

/// History after a commit, with the response at the committed state under that history.
struct Committed {
  std::shared_ptr<const History> history;
  Response response;
};

/// Requested contents of a response.
struct EvaluateOptions {
  bool tangents = true;         ///< false: the wrench is not differentiated; its tangents may stay zero
  bool keep_warm_start = true;  ///< false: a commit need not store data that only accelerate solutions near its state
};

/// For prescribed motion, whose states are frames of a recording.
inline constexpr EvaluateOptions prescribed_motion{.tangents = false, .keep_warm_start = false};

/// Properties of a contact model that its caller uses.
struct BackendTraits {
  ParameterMap parameters;  ///< in force, including defaults and derived values
  /// Responses depend on the history only by rounding, through the initial iterate of a solution: states may then be
  /// evaluated in any order and in batches.
  bool history_independent = false;
  /// An evaluation takes much longer than starting a thread: one thread for each pair of a commit then pays off.
  bool expensive = false;
  bool vibrates = false;               ///< see PairDescription
  bool vibrates_on_support = false;    ///< likewise
  std::vector<std::string> regions{};  ///< names; every response has the load of each
};

/// Optional capability of a contact model: several states under one history share work.
class BatchEvaluation {
 public:
  virtual ~BatchEvaluation() = default;
  /// ContactBackend::evaluate of each state with `prescribed_motion`, bit for bit. The error of a failed state is in
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

  /// History before the first commit.
  [[nodiscard]] virtual std::shared_ptr<const History> initial_history() const = 0;

  /// Wrench and tangents at `state`, given the last committed `history`.
  /// Pure: changes neither `history` nor the back-end; callable at any state, in any order, from several threads.
  /// With `gap` > 0, wrench and tangents are exactly zero.
  /// @throws RecoverableError  too deep, or the inner solver did not converge: a smaller step may succeed
  /// @throws Error             the evaluation cannot continue
  [[nodiscard]] virtual Response evaluate(const History& history, const PairState& state,
                                          const EvaluateOptions& options = {}) const = 0;

  /// History after `state` is accepted. Pure in the same sense: returns a new object.
  [[nodiscard]] virtual Committed commit(const History& history, const PairState& state,
                                         const EvaluateOptions& options = {}) const = 0;

  /// Null: a batch of states saves nothing over single ones.
  [[nodiscard]] virtual const BatchEvaluation* batches() const { return nullptr; }

  /// @throws Error{invalid_input} for bytes of another format or back-end and for damaged bytes
  [[nodiscard]] virtual std::shared_ptr<const History> load_history(std::string_view bytes) const = 0;

  /// Fields as VTU bytes. @throws Error{unimplemented} if the model has none
  [[nodiscard]] virtual std::string fields(const History& history, const PairState& state,
                                           const FieldRequest& request) const;

 private:
  BackendTraits traits_;
};

class PreparationLocks;

/// Inputs of a factory besides the specification.
struct PrepareContext {
  std::function<const AssetContent&(const AssetKey&)> asset;                 ///< content of a file; throws not_found
  std::function<void(std::string_view stage, double fraction)> on_progress;  ///< never empty
  std::stop_token stop;                     ///< checked between stages of the preparation
  std::string cache_directory{};            ///< for preparation products; empty = none
  std::uint64_t max_elements = 20'000'000;  ///< of a mesh
  PreparationLocks* locks = nullptr;        ///< of all sessions of this process; null = no concurrent preparation
};

struct BackendEntry {
  std::string name;
  std::string summary;    ///< one sentence
  std::string reference;  ///< key in docs/references.bib
  std::vector<ParameterSchema> parameters;
  std::vector<std::string> surface_pairs;  ///< "sphere-plane": accepted shapes of main and partner body
  /// @param pair  parameters checked and completed by the schema
  /// @throws Error{invalid_input} for a combination that the schema cannot reject; Error{cancelled} when stopped
  std::function<std::unique_ptr<ContactBackend>(const PairSpec& pair, const PrepareContext& context)> make;
  /// Rejects what `make` would reject whatever the meshes are; empty = nothing. Same `pair` and errors.
  std::function<void(const PairSpec& pair)> check{};
  /// Warnings about allowed but implausible input, "KEY: sentence"; reads the meshes of the pair and prepares nothing;
  /// empty = none. @throws Error{invalid_input} if no sensible result is possible
  std::function<std::vector<std::string>(const PairSpec& pair, const PrepareContext& context)> warnings{};
  /// Sets the vibration entries of the description of the opened pair; empty = nothing vibrates. Same `pair`.
  std::function<void(const PairSpec& pair, PairDescription& description)> predict_vibrations{};
  /// Numeric `parameters` that may change between two steps: no preparation depends on them, and a history computed
  /// with other values remains valid.
  std::vector<std::string> tunable{};
};

/// All back-ends, sorted by name.
[[nodiscard]] std::span<const BackendEntry> backend_registry();

/// @throws Error{invalid_input} listing the known names and the nearest one
[[nodiscard]] const BackendEntry& find_backend(const std::string& name);

/// Checks surfaces, parameters and bodies of `pair` against its entry, before anything is read or prepared.
/// @returns the pair with completed parameters @throws Error{invalid_input} with the key in `field`
[[nodiscard]] PairSpec checked_pair(const PairSpec& pair);

/// Name, back-end and vibrations as in the description of the opened pair. @param pair  from checked_pair
[[nodiscard]] PairDescription predict_description(const PairSpec& pair);

/// Warnings about implausible moduli, sizes and units. @param pair  from checked_pair
/// @throws Error{invalid_input} if no sensible result is possible, and the errors of mesh reading
[[nodiscard]] std::vector<std::string> find_pair_warnings(const PairSpec& pair, const PrepareContext& context);

/// Checks the pair, reports warnings as stages that begin with `warning_mark`, and makes the back-end.
[[nodiscard]] std::unique_ptr<ContactBackend> make_backend(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
