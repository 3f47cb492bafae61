/// What the C functions of both versions of FMI have in common: an instance with its logger, and calls in which nothing
/// is thrown.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "client/fmi/unit.hpp"

namespace heelstrike::client {

/// Outcome of a call; the numbers are those of fmi2Status and fmi3Status.
enum class FmiStatus : int { ok = 0, warning = 1, discard = 2, error = 3, fatal = 4 };

struct UnitInstance {
  /// Tells the importer a sentence.
  std::function<void(FmiStatus status, const char* category, const char* text)> log;
  std::unique_ptr<Unit> unit;
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
  } catch (const Error& error) {
    return told(FmiStatus::error, error.what());
  } catch (const std::exception& defect) {
    return told(FmiStatus::fatal, defect.what());
  }
}

}  // namespace heelstrike::client
