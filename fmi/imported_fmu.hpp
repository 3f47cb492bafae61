/// A co-simulation FMU of FMI 2.0 or 3 that is stepped in this process.
///
/// An FMU is external machine code with all rights of this process; its crash terminates this process. The caller
/// obtains the user's permission before loading one.
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

/// Log messages of an FMU: the last ones, for error messages.
struct FmuLog {
  std::vector<std::string> messages;
  void note(const char* text);
  [[nodiscard]] std::string text() const;
};

/// Data from which an FMU is loaded.
struct FmuParts {
  std::string where;  ///< key of the scenario, for messages
  std::unique_ptr<FmuArchive> archive;
  FmuDescription description;
};

/// Names of the functions that have the same signatures in both FMI versions.
struct CommonNames {
  const char* exit;
  const char* terminate;
  const char* free;
  const char* get_state;
  const char* set_state;
  const char* free_state;
  const char* size;
  const char* serialize;
  const char* deserialize;
};

/// The functions of an FMU, common to both FMI versions.
class ImportedFmu {
 public:
  virtual ~ImportedFmu();
  ImportedFmu(const ImportedFmu&) = delete;
  ImportedFmu& operator=(const ImportedFmu&) = delete;

  [[nodiscard]] const FmuDescription& description() const { return parts_.description; }

  /// Sets variables of description() to numbers: integers are rounded to the nearest, Booleans are true except for
  /// zero. @throws Error{solver_failed}, as all functions below, with the log messages of the FMU, and for numbers
  /// outside the range of a variable
  void set(std::span<const FmuVariable* const> variables, std::span<const double> values);
  void get(std::span<const FmuVariable* const> variables, std::span<double> values);
  /// Sets a variable of type String. @throws Error{solver_failed} with the log messages of the FMU
  virtual void set_text(const FmuVariable& variable, const std::string& value) = 0;
  /// From instantiation to initialisation at t = 0; inputs are set after it.
  virtual void enter_initialization() = 0;
  void exit_initialization();
  /// Steps from `t` to `t + h` [s] with the current inputs. A discarded step, or part of one, is repeated from the
  /// state at its start in parts of half the length, if the FMU can restore its state and supports variable step sizes.
  void step(double t, double h);
  /// Serialised FMU state, sufficient to continue. @pre description().can_serialize_state
  [[nodiscard]] std::string save();
  /// @throws Error{solver_failed} for bytes that the FMU rejects
  void restore(const std::string& bytes);

 protected:
  /// Loads the binary and looks up the common functions; those of FMU states, which `save`, `restore` and `step` call,
  /// if the FMU has the capability.
  /// @param folder  of the platform. @throws Error{invalid_input} when it cannot be loaded or a function is missing
  ImportedFmu(FmuParts parts, const std::string& folder, const CommonNames& names);

  /// Looks up a function of the binary. @throws Error{invalid_input} when it is missing
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }
  /// Sets `variables`, all of one type. @throws as set()
  virtual void set_group(NumberType type, std::span<const FmuVariable* const> variables,
                         std::span<const double> values) = 0;
  virtual void get_group(NumberType type, std::span<const FmuVariable* const> variables, std::span<double> values) = 0;
  /// One call of DoStep. @returns the status. @throws Error{solver_failed} for failures that no status expresses
  [[nodiscard]] virtual int try_step(double t, double h) = 0;
  /// True if discarded steps can be repeated.
  [[nodiscard]] bool retries() const { return description().can_get_and_set_state && description().can_vary_step; }

  /// Terminates and frees the instance, in the destructor of each version: its callbacks still exist there.
  void free_instance();
  /// @param status  of FMI: ok = 0, warning = 1, reject = 2, error = 3, fatal = 4. @throws Error{solver_failed}
  void require(int status, const std::string& call);
  [[noreturn]] void throw_instantiation_error();
  [[nodiscard]] const FmuArchive& archive() const { return *parts_.archive; }
  FmuLog log_messages_;
  void* instance_ = nullptr;

  [[nodiscard]] void* symbol(const char* name) const;
  [[nodiscard]] const std::string& where() const { return parts_.where; }

 private:
  FmuParts parts_;
  void* start_ = nullptr;  ///< state at the start of the step; the FMU reuses its memory
  std::unique_ptr<void, int (*)(void*)> library_;
  CommonNames names_;
  bool initialized_ = false;
  int (*exit_)(void*) = nullptr;
  int (*terminate_)(void*) = nullptr;
  void (*free_)(void*) = nullptr;
  int (*get_state_)(void*, void**) = nullptr;
  int (*set_state_)(void*, void*) = nullptr;
  int (*free_state_)(void*, void**) = nullptr;
  int (*size_)(void*, void*, std::size_t*) = nullptr;
  int (*serialize_)(void*, void*, char*, std::size_t) = nullptr;
  int (*deserialize_)(void*, const char*, std::size_t, void**) = nullptr;
};

/// Unpacks the FMU and checks it as load_fmu(), without loading it: none of its machine code is run.
/// @param content, where  as load_fmu(). @throws Error{invalid_input} as FmuArchive and read_fmu_description, and
/// without a whole binary for this system
[[nodiscard]] FmuDescription check_fmu(const std::string& content, const std::string& where);

/// Unpacks, loads and instantiates.
/// @param content  of the .fmu file. @param name  of the instance. @param where  key of the scenario, for messages
/// @throws Error{invalid_input} as FmuArchive and read_fmu_description, and for an FMU that cannot be loaded or
/// instantiated
[[nodiscard]] std::unique_ptr<ImportedFmu> load_fmu(const std::string& content, const std::string& name,
                                                    const std::string& where);

}  // namespace heelstrike::mbs
