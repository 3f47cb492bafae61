/// What the C functions of both versions of FMI have in common: an instance with its logger, and calls in which nothing
/// is thrown.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "client/fmi/unit.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client {

/// Outcome of a call; the numbers are those of fmi2Status and fmi3Status.
enum class FmiStatus : int { ok = 0, warning = 1, discard = 2, error = 3, fatal = 4 };

struct UnitInstance {
  /// Tells the importer a sentence.
  std::function<void(FmiStatus status, const char* category, const char* text)> log;
  std::unique_ptr<Unit> unit;
  bool event_mode = false;        ///< the importer uses it
  bool may_return_early = false;  ///< from a step, for a contact that begins or ends, or because the importer wants to
  InternalStep on_step;           ///< tells the importer of steps inside a communication step; may be empty
};

inline constexpr const char* error_category = "logStatusError";

/// Calls `work`; what it throws is told and becomes a status.
template <typename Work>
FmiStatus guarded(const UnitInstance& instance, Work&& work) {
  const auto told = [&](FmiStatus status, const char* text) {
    if (instance.log) instance.log(status, error_category, text);
    return status;
  };
  try {
    std::forward<Work>(work)();
    return FmiStatus::ok;
  } catch (const RecoverableError& error) {
    return told(FmiStatus::discard, error.what());  // a smaller step may succeed
  } catch (const Error& error) {
    return told(FmiStatus::error, error.what());
  } catch (const std::exception& defect) {
    return told(FmiStatus::fatal, defect.what());
  }
}

/// A function of the standard on the instance behind a handle. @returns the status as a number
template <typename Work>
int call(void* handle, Work&& work) {
  if (handle == nullptr) return static_cast<int>(FmiStatus::error);
  const auto& instance = *static_cast<const UnitInstance*>(handle);
  return static_cast<int>(guarded(instance, [&] { work(*instance.unit); }));
}

/// A function of the standard for things that units do not have: fine when none is asked for.
inline int none_of(void* handle, const char* function, std::size_t n) {
  return call(handle, [&](Unit&) {
    if (n == 0) return;
    throw Error(ErrorCode::unimplemented,
                std::string(function) + ": this unit has nothing of that kind, as its description says");
  });
}
inline int not_offered(void* handle, const char* function) {
  return none_of(handle, function, 1);
}

}  // namespace heelstrike::client
