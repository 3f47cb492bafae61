// The functions of FMI 2.0 (https://fmi-standard.org) for co-simulation and model exchange. Names and signatures are
// those of the standard.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "library/fmu/instance.hpp"

using namespace heelstrike::fmu;

// NOLINTBEGIN(readability-identifier-naming): names and signatures are the standard's.
extern "C" {

using fmi2Component = void*;
using fmi2ComponentEnvironment = void*;
using fmi2FMUstate = void*;
using fmi2ValueReference = unsigned int;
using fmi2Real = double;
using fmi2Integer = int;
using fmi2Boolean = int;
using fmi2String = const char*;
using fmi2Byte = char;
using fmi2Status = int;

struct fmi2CallbackFunctions {
  void (*logger)(fmi2ComponentEnvironment, fmi2String instance, fmi2Status, fmi2String category, fmi2String message,
                 ...);
  void* (*allocateMemory)(std::size_t, std::size_t);
  void (*freeMemory)(void*);
  void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
  fmi2ComponentEnvironment componentEnvironment;
};
struct fmi2EventInfo {
  fmi2Boolean newDiscreteStatesNeeded;
  fmi2Boolean terminateSimulation;
  fmi2Boolean nominalsOfContinuousStatesChanged;
  fmi2Boolean valuesOfContinuousStatesChanged;
  fmi2Boolean nextEventTimeDefined;
  fmi2Real nextEventTime;
};
}

namespace {

constexpr int co_simulation = 1;

/// Path of a file URI: "file:///a%20b" is "/a b". @throws Error{invalid_input} for other texts
std::string path_of(const std::string& uri) {
  std::string rest = uri;
  if (rest.starts_with("file:")) {
    rest.erase(0, 5);
    if (rest.starts_with("//")) rest.erase(0, rest.find('/', 2));
  }
  std::string path;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != '%') {
      path += rest[i];
      continue;
    }
    const auto is_digit = [&](std::size_t k) {
      return k < rest.size() && std::isxdigit(static_cast<unsigned char>(rest[k])) != 0;
    };
    if (!is_digit(i + 1) || !is_digit(i + 2)) {
      throw heelstrike::input_error(
          "fmuResourceLocation",
          "fmuResourceLocation: expected two hexadecimal digits after every % of a URI, found '" + uri + "'");
    }
    path += static_cast<char>(std::stoi(rest.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return path;
}

}  // namespace

extern "C" {

FMI_EXPORT const char* fmi2GetTypesPlatform() {
  return "default";
}
FMI_EXPORT const char* fmi2GetVersion() {
  return "2.0";
}
FMI_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component component, fmi2Boolean on, std::size_t n,
                                          const fmi2String* categories) {
  return call(component,
              [&](Fmu&) { set_logging(*static_cast<FmuInstance*>(component), on != 0, list(categories, n)); });
}

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int type, fmi2String guid, fmi2String resources,
                                         const fmi2CallbackFunctions* functions, fmi2Boolean, fmi2Boolean) {
  auto instance = std::make_unique<FmuInstance>();
  if (functions != nullptr && functions->logger != nullptr) {
    instance->log = [log = functions->logger, environment = functions->componentEnvironment,
                     instance_name = std::string(name == nullptr ? "" : name)](FmiStatus status, const char* category,
                                                                               const char* text) {
      // The text is an argument, not the format: it may contain format specifiers.
      log(environment, instance_name.c_str(), static_cast<int>(status), category, "%s", text);
    };
  }
  const FmiStatus status = guarded(*instance, [&] {
    if (guid == nullptr)
      throw heelstrike::input_error("guid", "an FMU is instantiated with its guid, found none (null)");
    const bool is_prescribed = resources != nullptr && *resources != '\0';
    instance->fmu = std::make_unique<Fmu>(
        is_prescribed ? std::filesystem::path(path_of(resources)) : adjacent_resources(), guid, type != co_simulation);
  });
  return status == FmiStatus::ok ? instance.release() : nullptr;
}

FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component component, fmi2Boolean, fmi2Real, fmi2Real start,
                                          fmi2Boolean stop_defined, fmi2Real stop) {
  return call(component, [&](Fmu& fmu) { fmu.setup(start, stop_defined != 0 ? std::optional(stop) : std::nullopt); });
}
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component component) {
  return call(component, [](Fmu& fmu) { fmu.enter_initialization(); });
}
FMI_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component component) {
  return call(component, [](Fmu& fmu) { fmu.exit_initialization(); });
}

FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                  fmi2Real* values) {
  return call(component, [&](Fmu& fmu) { fmu.get(list(references, n), list(values, n)); });
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                  const fmi2Real* values) {
  return call(component, [&](Fmu& fmu) { fmu.set(list(references, n), list(values, n)); });
}
NO_VARIABLES(fmi2GetInteger, fmi2Integer*)
NO_VARIABLES(fmi2GetBoolean, fmi2Boolean*)
FMI_EXPORT fmi2Status fmi2GetString(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                    fmi2String* values) {
  return call(component, [&](Fmu& fmu) { fmu.get_texts(list(references, n), list(values, n)); });
}
NO_VARIABLES(fmi2SetInteger, const fmi2Integer*)
NO_VARIABLES(fmi2SetBoolean, const fmi2Boolean*)
FMI_EXPORT fmi2Status fmi2SetString(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                    const fmi2String* values) {
  return call(component, [&](Fmu& fmu) { fmu.set_texts(list(references, n), texts(values, n)); });
}

FMI_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component component, const fmi2ValueReference* unknowns,
                                                   std::size_t n_unknowns, const fmi2ValueReference* knowns,
                                                   std::size_t n_knowns, const fmi2Real* seed, fmi2Real* sensitivity) {
  return call(component, [&](Fmu& fmu) {
    require_not_null(sensitivity);
    const auto result = fmu.derivative(list(unknowns, n_unknowns), list(knowns, n_knowns), list(seed, n_knowns), false);
    std::copy(result.begin(), result.end(), sensitivity);
  });
}
FMI_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component component, const fmi2ValueReference* references,
                                                  std::size_t n, const fmi2Integer* orders, const fmi2Real* values) {
  return call(component, [&](Fmu& fmu) { fmu.set_derivatives(list(references, n), list(orders, n), list(values, n)); });
}
NO_VARIABLES(fmi2GetRealOutputDerivatives, const fmi2Integer*, fmi2Real*)
FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component component, fmi2Real t, fmi2Real h, fmi2Boolean) {
  return call(component, [&](Fmu& fmu) { fmu.do_step(t, h); });
}
// A step ends before fmi2DoStep returns: no step can be pending or cancelled.
UNSUPPORTED(fmi2CancelStep)
UNSUPPORTED(fmi2GetStatus, int, fmi2Status*)
FMI_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component component, int kind, fmi2Real* value) {
  constexpr int last_successful_time = 2;
  return call(component, [&](Fmu& fmu) {
    require_not_null(value);
    if (kind != last_successful_time)
      throw heelstrike::input_error("s", "fmi2GetRealStatus: only fmi2LastSuccessfulTime");
    *value = fmu.time();
  });
}
UNSUPPORTED(fmi2GetIntegerStatus, int, fmi2Integer*)
UNSUPPORTED(fmi2GetBooleanStatus, int, fmi2Boolean*)
UNSUPPORTED(fmi2GetStringStatus, int, fmi2String*)

// Model exchange.
FMI_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component component) {
  return call(component, [](Fmu& fmu) { fmu.enter_event_mode(); });
}
// Contacts become active or inactive. The continuous states do not jump, but the flag is set because importers restart
// their integrators when states change.
FMI_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component component, fmi2EventInfo* info) {
  return call(component, [&](Fmu& fmu) {
    require_not_null(info);
    *info = {};
    info->valuesOfContinuousStatesChanged = fmu.update_discrete_states() ? 1 : 0;
  });
}
FMI_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component component, fmi2Boolean, fmi2Boolean* event,
                                                  fmi2Boolean* terminate) {
  return call(component, [&](Fmu& fmu) {
    require_not_null(event, terminate);
    *event = *terminate = 0;
    *event = fmu.complete_step() ? 1 : 0;
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
