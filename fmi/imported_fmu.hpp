/// A unit of FMI 2.0 or 3 for co-simulation that is stepped in this process.
///
/// It is machine code of somebody else: it can do whatever this process can, and its crash is one of this process.
/// Whoever opens one has asked for permission before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmi/fmu_archive.hpp"
#include "fmi/fmu_description.hpp"

namespace heelstrike::mbs {

/// What a unit says to its importer: the last sentences, for messages.
struct FmuLog {
  std::vector<std::string> sentences;
  void note(const char* text);
  [[nodiscard]] std::string text() const;
};

/// What a unit is opened from.
struct FmuParts {
  std::string where;  ///< key of the scenario, for messages
  std::unique_ptr<FmuArchive> archive;
  FmuDescription description;
};

struct StateFunctionNames {
  const char* get;
  const char* set;
  const char* free;
  const char* size;
  const char* serialize;
  const char* deserialize;
};

/// The functions of a unit, in the words that both versions of FMI share.
class ImportedFmu {
 public:
  virtual ~ImportedFmu();
  ImportedFmu(const ImportedFmu&) = delete;
  ImportedFmu& operator=(const ImportedFmu&) = delete;

  [[nodiscard]] const FmuDescription& description() const { return parts_.description; }

  /// Values of variables of description() as numbers: whole numbers are rounded to the nearest, and Booleans are true
  /// but for zero. @throws Error{solver_failed} as all below, with what the unit said, and for numbers that a variable
  /// cannot take
  void set(std::span<const FmuVariable* const> variables, std::span<const double> values);
  void get(std::span<const FmuVariable* const> variables, std::span<double> values);
  /// Of a variable that is a text. @throws Error{solver_failed} with what the unit said
  virtual void set_text(const FmuVariable& variable, const std::string& value) = 0;
  /// From instantiation to initialisation at t = 0; inputs are set after it.
  virtual void enter_initialization() = 0;
  virtual void exit_initialization() = 0;
  /// From `t` to `t + h` [s] with the inputs as they are. What the unit discards is tried again from its state at `t`
  /// in halves, quarters, ... when it can be taken back and takes steps of any length.
  void step(double t, double h);
  /// All that the unit needs to go on. @pre description().can_serialize_state
  [[nodiscard]] std::string save();
  /// @throws Error{solver_failed} for bytes that the unit does not take
  void restore(const std::string& bytes);

 protected:
  /// Loads the binary. @param folder  of the platform. @throws Error{invalid_input} when it cannot be loaded
  ImportedFmu(FmuParts parts, const std::string& folder);

  /// A function of the binary. @throws Error{invalid_input} when it is missing
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }
  /// The calls of one type, which `variables` are all of. @throws as set()
  virtual void set_group(NumberType type, std::span<const FmuVariable* const> variables,
                         std::span<const double> values) = 0;
  virtual void get_group(NumberType type, std::span<const FmuVariable* const> variables,
                         std::span<double> values) = 0;
  /// One call. @returns the status. @throws Error{solver_failed} for what no status says
  [[nodiscard]] virtual int try_step(double t, double h) = 0;
  /// Whether steps that were discarded can be tried again.
  [[nodiscard]] bool retries() const { return description().can_get_and_set_state && description().can_vary_step; }

  /// To be called before the instance is freed.
  void free_start_state();

  /// Finds what `save`, `restore` and `step` call, where the unit can do that; both versions have it with the same
  /// arguments.
  void find_state_functions(const StateFunctionNames& names);
  /// @param status  of FMI: ok = 0, warning = 1, discard = 2, error = 3, fatal = 4. @throws Error{solver_failed}
  void require(int status, const std::string& call);
  [[noreturn]] void throw_instantiation_error();
  [[nodiscard]] const FmuArchive& archive() const { return *parts_.archive; }
  FmuLog log_messages_;
  void* instance_ = nullptr;

  [[nodiscard]] void* symbol(const char* name) const;
  [[nodiscard]] const std::string& where() const { return parts_.where; }

 private:
  FmuParts parts_;
  void* start_ = nullptr;  ///< state at the start of the step, whose memory the unit uses again
  void* library_ = nullptr;
  StateFunctionNames names_{};
  int (*get_state_)(void*, void**) = nullptr;
  int (*set_state_)(void*, void*) = nullptr;
  int (*free_state_)(void*, void**) = nullptr;
  int (*size_)(void*, void*, std::size_t*) = nullptr;
  int (*serialize_)(void*, void*, char*, std::size_t) = nullptr;
  int (*deserialize_)(void*, const char*, std::size_t, void**) = nullptr;
};

/// Unpacks, loads and instantiates.
/// @param content  of the .fmu file. @param name  of the instance. @param where  key of the scenario, for messages
/// @throws Error{invalid_input} as FmuArchive and read_fmu_description, and for a unit that cannot be loaded or does
/// not let itself be instantiated
[[nodiscard]] std::unique_ptr<ImportedFmu> load_fmu(const std::string& content, const std::string& name,
                                                     const std::string& where);

}  // namespace heelstrike::mbs
