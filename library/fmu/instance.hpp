/// Common parts of the C functions of both FMI versions: an instance with its logger, and calls that do not throw.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/errors/error.hpp"
#include "common/process/loaded_module.hpp"
#include "library/fmu/fmu.hpp"

namespace heelstrike::fmu {

/// Outcome of a call; the numbers are those of fmi2Status and fmi3Status.
enum class FmiStatus : int { ok = 0, warning = 1, reject = 2, error = 3, fatal = 4 };

struct FmuInstance {
  /// Reports a message to the importer.
  std::function<void(FmiStatus status, const char* category, const char* text)> log;
  std::unique_ptr<Fmu> fmu;
  bool is_error_logging_on = true;  ///< error_category is on
  bool event_mode = false;          ///< the importer uses it
  bool may_return_early = false;    ///< from a step: at contact events, or on request of the importer
  InternalStep on_step;             ///< reports internal steps to the importer; may be empty
};

/// The only category of messages: reasons of failed calls. They are not debug messages: they are logged from the start,
/// regardless of the debug flag of the importer, until it disables the category.
inline constexpr const char* error_category = "logStatusError";

/// Calls `work`; logs its exceptions and converts them to a status.
template <typename Work>
FmiStatus guarded(const FmuInstance& instance, Work&& work) {
  const auto report = [&](FmiStatus status, const char* text) {
    if (instance.log && instance.is_error_logging_on) instance.log(status, error_category, text);
    return status;
  };
  try {
    std::forward<Work>(work)();
    return FmiStatus::ok;
  } catch (const RecoverableError& error) {
    return report(FmiStatus::reject, error.what());  // a smaller step may succeed
  } catch (const Error& error) {
    return report(FmiStatus::error, error.what());
  } catch (const std::exception& defect) {
    return report(FmiStatus::fatal, defect.what());
  }
}

/// A function of the standard on the instance behind a handle. @returns the status as a number
template <typename Work>
int call(void* handle, Work&& work) {
  if (handle == nullptr) return static_cast<int>(FmiStatus::error);
  const auto& instance = *static_cast<const FmuInstance*>(handle);
  return static_cast<int>(guarded(instance, [&] { work(*instance.fmu); }));
}

/// @throws Error{invalid_input} for a null pointer
template <typename... Pointers>
void require_not_null(const Pointers*... pointers) {
  if (((pointers != nullptr) && ...)) return;
  throw input_error("arguments", "a pointer that the function needs is null");
}

/// An array of the importer, which may be null when it is empty. @throws Error{invalid_input}
template <typename T>
std::span<T> list(T* first, std::size_t n) {
  if (n > 0) require_not_null(first);
  return {first, n};
}

/// An array of texts. @throws Error{invalid_input} also for a null entry
inline std::span<const char* const> texts(const char* const* first, std::size_t n) {
  for (const char* text : list(first, n)) require_not_null(text);
  return list(first, n);
}

/// SetDebugLogging. @throws Error{invalid_input} for a category that the description does not have
inline void set_logging(FmuInstance& instance, bool on, std::span<const char* const> categories) {
  for (const char* category : categories) {
    require_not_null(category);
    if (std::strcmp(category, error_category) == 0) continue;
    throw input_error("categories",
                      std::string("categories: expected '") + error_category + "', found '" + category + "'");
  }
  instance.is_error_logging_on = on;
}

/// Resources of an unpacked FMU, for importers that do not pass the path: beside the folder of the binaries.
inline std::filesystem::path adjacent_resources() {
  return module_folder().parent_path().parent_path() / "resources";
}

/// A function of the standard for types that FMUs of Heelstrike do not have: allowed for an empty request.
inline int require_empty_request(void* handle, const char* function, std::size_t n) {
  return call(handle, [&](Fmu&) {
    if (n == 0) return;
    throw Error(ErrorCode::unimplemented,
                std::string(function) + ": this FMU has no such variables, as its description states");
  });
}

}  // namespace heelstrike::fmu

#define FMI_EXPORT __attribute__((visibility("default")))
/// Functions of the standard that this FMU does not support: for types of variables that it does not have, and others.
#define NO_VARIABLES(NAME, ...)                                                                        \
  FMI_EXPORT int NAME(void* instance, const unsigned int*, std::size_t n __VA_OPT__(, ) __VA_ARGS__) { \
    return heelstrike::fmu::require_empty_request(instance, #NAME, n);                                 \
  }
#define UNSUPPORTED(NAME, ...)                                         \
  FMI_EXPORT int NAME(void* instance __VA_OPT__(, ) __VA_ARGS__) {     \
    return heelstrike::fmu::require_empty_request(instance, #NAME, 1); \
  }
