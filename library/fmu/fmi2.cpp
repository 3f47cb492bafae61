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

using heelstrike::fmu::bytes_of;
using heelstrike::fmu::call;
using heelstrike::fmu::deserialize_state;
using heelstrike::fmu::FmiStatus;
using heelstrike::fmu::Fmu;
using heelstrike::fmu::FmuInstance;
using heelstrike::fmu::free_state;
using heelstrike::fmu::get_state;
using heelstrike::fmu::guarded;
using heelstrike::fmu::list;
using heelstrike::fmu::require_empty_request;
using heelstrike::fmu::require_not_null;
using heelstrike::fmu::resources_beside;
using heelstrike::fmu::serialize_state;
using heelstrike::fmu::set_logging;
using heelstrike::fmu::texts;

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

#define FMI2_EXPORT __attribute__((visibility("default")))

extern "C" {

FMI2_EXPORT const char* fmi2GetTypesPlatform() {
  return "default";
}
FMI2_EXPORT const char* fmi2GetVersion() {
  return "2.0";
}
FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component component, fmi2Boolean on, std::size_t n,
                                           const fmi2String* categories) {
  return call(component,
              [&](Fmu&) { set_logging(*static_cast<FmuInstance*>(component), on != 0, list(categories, n)); });
}

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions* functions, fmi2Boolean, fmi2Boolean) {
  auto instance = std::make_unique<FmuInstance>();
  if (functions != nullptr && functions->logger != nullptr) {
    instance->log = [log = functions->logger, environment = functions->componentEnvironment,
                     who = std::string(name == nullptr ? "" : name)](FmiStatus status, const char* category,
                                                                     const char* text) {
      // The text is an argument, not the format: it may contain format specifiers.
      log(environment, who.c_str(), static_cast<int>(status), category, "%s", text);
    };
  }
  const FmiStatus status = guarded(*instance, [&] {
    if (guid == nullptr)
      throw heelstrike::input_error("guid", "an FMU is instantiated with its guid, found none (null)");
    const bool is_given = resources != nullptr && *resources != '\0';
    instance->unit = std::make_unique<Fmu>(is_given ? std::filesystem::path(path_of(resources)) : resources_beside(),
                                           guid, type != co_simulation);
  });
  return status == FmiStatus::ok ? instance.release() : nullptr;
}
FMI2_EXPORT void fmi2FreeInstance(fmi2Component component) {
  delete static_cast<FmuInstance*>(component);
}

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component component, fmi2Boolean, fmi2Real, fmi2Real start,
                                           fmi2Boolean stop_defined, fmi2Real stop) {
  return call(component, [&](Fmu& unit) { unit.setup(start, stop_defined != 0 ? std::optional(stop) : std::nullopt); });
}
FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.enter_initialization(); });
}
FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.exit_initialization(); });
}
FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.terminate(); });
}
FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.reset(); });
}

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                   fmi2Real* values) {
  return call(component, [&](Fmu& unit) { unit.get(list(references, n), list(values, n)); });
}
FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                   const fmi2Real* values) {
  return call(component, [&](Fmu& unit) { unit.set(list(references, n), list(values, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetInteger(fmi2Component component, const fmi2ValueReference*, std::size_t n, fmi2Integer*) {
  return require_empty_request(component, "fmi2GetInteger", n);
}
FMI2_EXPORT fmi2Status fmi2GetBoolean(fmi2Component component, const fmi2ValueReference*, std::size_t n, fmi2Boolean*) {
  return require_empty_request(component, "fmi2GetBoolean", n);
}
FMI2_EXPORT fmi2Status fmi2GetString(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                     fmi2String* values) {
  return call(component, [&](Fmu& unit) { unit.get_texts(list(references, n), list(values, n)); });
}
FMI2_EXPORT fmi2Status fmi2SetInteger(fmi2Component component, const fmi2ValueReference*, std::size_t n,
                                      const fmi2Integer*) {
  return require_empty_request(component, "fmi2SetInteger", n);
}
FMI2_EXPORT fmi2Status fmi2SetBoolean(fmi2Component component, const fmi2ValueReference*, std::size_t n,
                                      const fmi2Boolean*) {
  return require_empty_request(component, "fmi2SetBoolean", n);
}
FMI2_EXPORT fmi2Status fmi2SetString(fmi2Component component, const fmi2ValueReference* references, std::size_t n,
                                     const fmi2String* values) {
  return call(component, [&](Fmu& unit) { unit.set_texts(list(references, n), texts(values, n)); });
}

FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component component, fmi2FMUstate* state) {
  return call(component, [&](Fmu& unit) { get_state(unit, state); });
}
FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component component, fmi2FMUstate state) {
  return call(component, [&](Fmu& unit) { unit.restore(bytes_of(state)); });
}
FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component component, fmi2FMUstate* state) {
  return call(component, [&](Fmu&) { free_state(state); });
}
FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component component, fmi2FMUstate state, std::size_t* size) {
  return call(component, [&](Fmu&) {
    require_not_null(size);
    *size = bytes_of(state).size();
  });
}
FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component component, fmi2FMUstate state, fmi2Byte* bytes,
                                             std::size_t size) {
  return call(component, [&](Fmu&) { serialize_state(state, bytes, size); });
}
FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component component, const fmi2Byte* bytes, std::size_t size,
                                               fmi2FMUstate* state) {
  return call(component, [&](Fmu&) { deserialize_state(bytes, size, state); });
}

FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component component, const fmi2ValueReference* unknowns,
                                                    std::size_t n_unknowns, const fmi2ValueReference* knowns,
                                                    std::size_t n_knowns, const fmi2Real* seed, fmi2Real* sensitivity) {
  return call(component, [&](Fmu& unit) {
    require_not_null(sensitivity);
    const auto result =
        unit.derivative(list(unknowns, n_unknowns), list(knowns, n_knowns), list(seed, n_knowns), false);
    std::copy(result.begin(), result.end(), sensitivity);
  });
}
FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component component, const fmi2ValueReference* references,
                                                   std::size_t n, const fmi2Integer* orders, const fmi2Real* values) {
  return call(component,
              [&](Fmu& unit) { unit.set_derivatives(list(references, n), list(orders, n), list(values, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component component, const fmi2ValueReference*, std::size_t n,
                                                    const fmi2Integer*, fmi2Real*) {
  return require_empty_request(component, "fmi2GetRealOutputDerivatives", n);
}
FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component component, fmi2Real t, fmi2Real h, fmi2Boolean) {
  return call(component, [&](Fmu& unit) { unit.do_step(t, h); });
}
// A step ends before fmi2DoStep returns: no step can be pending or cancelled.
FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component component) {
  return require_empty_request(component, "fmi2CancelStep", 1);
}
FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component component, int, fmi2Status*) {
  return require_empty_request(component, "fmi2GetStatus", 1);
}
FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component component, int kind, fmi2Real* value) {
  constexpr int last_successful_time = 2;
  return call(component, [&](Fmu& unit) {
    require_not_null(value);
    if (kind != last_successful_time)
      throw heelstrike::input_error("s", "fmi2GetRealStatus: only fmi2LastSuccessfulTime");
    *value = unit.time();
  });
}
FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component component, int, fmi2Integer*) {
  return require_empty_request(component, "fmi2GetIntegerStatus", 1);
}
FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component component, int, fmi2Boolean*) {
  return require_empty_request(component, "fmi2GetBooleanStatus", 1);
}
FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component component, int, fmi2String*) {
  return require_empty_request(component, "fmi2GetStringStatus", 1);
}

// Model exchange.
FMI2_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.enter_event_mode(); });
}
// Contacts become active or inactive. The continuous states do not jump, but the flag is set because importers restart
// their integrators when states change.
FMI2_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component component, fmi2EventInfo* info) {
  return call(component, [&](Fmu& unit) {
    require_not_null(info);
    *info = {};
    info->valuesOfContinuousStatesChanged = unit.update_discrete_states() ? 1 : 0;
  });
}
FMI2_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component component) {
  return call(component, [](Fmu& unit) { unit.enter_continuous_time_mode(); });
}
FMI2_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component component, fmi2Boolean, fmi2Boolean* event,
                                                   fmi2Boolean* terminate) {
  return call(component, [&](Fmu& unit) {
    require_not_null(event, terminate);
    *event = *terminate = 0;
    *event = unit.complete_step() ? 1 : 0;
  });
}
FMI2_EXPORT fmi2Status fmi2SetTime(fmi2Component component, fmi2Real t) {
  return call(component, [&](Fmu& unit) { unit.set_time(t); });
}
FMI2_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component component, const fmi2Real* x, std::size_t n) {
  return call(component, [&](Fmu& unit) { unit.set_continuous_states(list(x, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component component, fmi2Real* rates, std::size_t n) {
  return call(component, [&](Fmu& unit) { unit.get_rates(list(rates, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component component, fmi2Real* values, std::size_t n) {
  return call(component, [&](Fmu& unit) { unit.get_indicators(list(values, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component component, fmi2Real* x, std::size_t n) {
  return call(component, [&](Fmu& unit) { unit.get_continuous_states(list(x, n)); });
}
FMI2_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component component, fmi2Real* nominals, std::size_t n) {
  return call(component, [&](Fmu& unit) {
    std::vector<double> x(list(nominals, n).size());
    unit.get_continuous_states(x);
    std::fill_n(nominals, n, 1.0);
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
