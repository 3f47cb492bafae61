// The functions of FMI 3.0 (https://fmi-standard.org/docs/3.0) for co-simulation and model exchange. Names and
// signatures are those of the standard; unsupported functions return an error with a message.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/errors/error.hpp"
#include "library/fmu/instance.hpp"

using namespace heelstrike::fmu;

// NOLINTBEGIN(readability-identifier-naming,readability-function-size,bugprone-macro-parentheses): names and signatures
// are those of the standard; a type cannot be put in parentheses.
extern "C" {

using fmi3Float64 = double;
using fmi3Boolean = bool;
using fmi3String = const char*;
using fmi3Byte = std::uint8_t;
using fmi3ValueReference = std::uint32_t;
using fmi3Instance = void*;
using fmi3InstanceEnvironment = void*;
using fmi3FMUState = void*;
using fmi3Status = int;
using fmi3LogMessageCallback = void (*)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
using fmi3IntermediateUpdateCallback = void (*)(fmi3InstanceEnvironment, fmi3Float64 intermediateUpdateTime,
                                                fmi3Boolean intermediateVariableSetRequested,
                                                fmi3Boolean intermediateVariableGetAllowed,
                                                fmi3Boolean intermediateStepFinished, fmi3Boolean canReturnEarly,
                                                fmi3Boolean* earlyReturnRequested, fmi3Float64* earlyReturnTime);
}

namespace {

void require_scalars(std::size_t n, std::size_t n_values) {
  if (n == n_values) return;
  throw heelstrike::input_error("nValues", "nValues: one value for each reference, all are scalars");
}

void take(const std::vector<double>& result, double* to, std::size_t n) {
  require_not_null(to);
  if (n != result.size()) {
    throw heelstrike::input_error("nSensitivity", "nSensitivity: one number for each variable, all are scalars");
  }
  std::copy(result.begin(), result.end(), to);
}

}  // namespace

namespace {

std::function<void(FmiStatus, const char*, const char*)> logger(fmi3InstanceEnvironment environment,
                                                                fmi3LogMessageCallback log) {
  if (log == nullptr) return {};
  return [=](FmiStatus status, const char* category, const char* text) {
    log(environment, static_cast<int>(status), category, text);
  };
}

void make_fmu(FmuInstance& instance, fmi3String token, fmi3String resource_path, bool model_exchange) {
  if (token == nullptr) {
    throw heelstrike::input_error("instantiationToken", "an FMU is instantiated with its token, found none (null)");
  }
  const bool is_prescribed = resource_path != nullptr && *resource_path != '\0';
  instance.fmu = std::make_unique<Fmu>(is_prescribed ? std::filesystem::path(resource_path) : adjacent_resources(),
                                       token, model_exchange);
}

}  // namespace

extern "C" {

FMI_EXPORT const char* fmi3GetVersion() {
  return "3.0";
}

FMI_EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, std::size_t n,
                                          const fmi3String* categories) {
  return call(instance, [&](Fmu&) { set_logging(*static_cast<FmuInstance*>(instance), on, list(categories, n)); });
}

FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String, fmi3String token, fmi3String resource_path, fmi3Boolean,
                                                    fmi3Boolean, fmi3Boolean event_mode, fmi3Boolean may_return_early,
                                                    const fmi3ValueReference* intermediate, std::size_t n_intermediate,
                                                    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                    fmi3IntermediateUpdateCallback update) {
  auto instance = std::make_unique<FmuInstance>();
  instance->event_mode = event_mode;
  instance->may_return_early = may_return_early;
  instance->log = logger(environment, log);
  if (update != nullptr) {
    instance->on_step = [=](double t) -> std::optional<double> {
      bool early_return_requested = false;
      double when = t;
      update(environment, t, false, true, true, may_return_early, &early_return_requested, &when);
      return early_return_requested && may_return_early ? std::optional(when) : std::nullopt;
    };
  }
  const FmiStatus status = guarded(*instance, [&] {
    make_fmu(*instance, token, resource_path, false);
    if (n_intermediate > 0) instance->fmu->require_known(list(intermediate, n_intermediate));
  });
  return status == FmiStatus::ok ? instance.release() : nullptr;
}

FMI_EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String, fmi3String token, fmi3String resource_path,
                                                     fmi3Boolean, fmi3Boolean, fmi3InstanceEnvironment environment,
                                                     fmi3LogMessageCallback log) {
  auto instance = std::make_unique<FmuInstance>();
  instance->log = logger(environment, log);
  instance->event_mode = true;
  const FmiStatus status = guarded(*instance, [&] { make_fmu(*instance, token, resource_path, true); });
  return status == FmiStatus::ok ? instance.release() : nullptr;
}

FMI_EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean,
                                                          fmi3InstanceEnvironment environment,
                                                          fmi3LogMessageCallback log, void (*)(), void (*)(),
                                                          void (*)()) {
  if (const auto say = logger(environment, log)) {
    say(FmiStatus::error, heelstrike::fmu::error_category,
        "this FMU does not support scheduled execution: it has no clocks");
  }
  return nullptr;
}

FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean, fmi3Float64, fmi3Float64 start,
                                                  fmi3Boolean stop_defined, fmi3Float64 stop) {
  return call(instance, [&](Fmu& fmu) {
    fmu.setup(start, stop_defined ? std::optional(stop) : std::nullopt);
    fmu.enter_initialization();
  });
}
FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
  return call(instance, [&](Fmu& fmu) { fmu.exit_initialization(static_cast<FmuInstance*>(instance)->event_mode); });
}

FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference* references, std::size_t n,
                                     fmi3Float64* values, std::size_t n_values) {
  return call(instance, [&](Fmu& fmu) {
    require_scalars(n, n_values);
    fmu.get(list(references, n), list(values, n));
  });
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference* references, std::size_t n,
                                     const fmi3Float64* values, std::size_t n_values) {
  return call(instance, [&](Fmu& fmu) {
    require_scalars(n, n_values);
    fmu.set(list(references, n), list(values, n));
  });
}

FMI_EXPORT fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference* references, std::size_t n,
                                    fmi3String* values, std::size_t n_values) {
  return call(instance, [&](Fmu& fmu) {
    require_scalars(n, n_values);
    fmu.get_texts(list(references, n), list(values, n));
  });
}
FMI_EXPORT fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference* references, std::size_t n,
                                    const fmi3String* values, std::size_t n_values) {
  return call(instance, [&](Fmu& fmu) {
    require_scalars(n, n_values);
    fmu.set_texts(list(references, n), texts(values, n));
  });
}

// All other variables are Float64. The functions for other types differ only in the pointer type.
#define NO_VARIABLES_OF(TYPE, C_TYPE)               \
  NO_VARIABLES(fmi3Get##TYPE, C_TYPE*, std::size_t) \
  NO_VARIABLES(fmi3Set##TYPE, const C_TYPE*, std::size_t)
NO_VARIABLES_OF(Float32, float)
NO_VARIABLES_OF(Int8, std::int8_t)
NO_VARIABLES_OF(UInt8, std::uint8_t)
NO_VARIABLES_OF(Int16, std::int16_t)
NO_VARIABLES_OF(UInt16, std::uint16_t)
NO_VARIABLES_OF(Int32, std::int32_t)
NO_VARIABLES_OF(UInt32, std::uint32_t)
NO_VARIABLES_OF(Int64, std::int64_t)
NO_VARIABLES_OF(UInt64, std::uint64_t)
NO_VARIABLES_OF(Boolean, bool)
#undef NO_VARIABLES_OF
NO_VARIABLES(fmi3GetBinary, std::size_t*, const fmi3Byte**, std::size_t)
NO_VARIABLES(fmi3SetBinary, const std::size_t*, const fmi3Byte* const*, std::size_t)
NO_VARIABLES(fmi3GetClock, bool*)
NO_VARIABLES(fmi3SetClock, const bool*)

FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean, fmi3Boolean* event,
                                 fmi3Boolean* terminate, fmi3Boolean* early, fmi3Float64* reached) {
  return call(instance, [&](Fmu& fmu) {
    require_not_null(event, terminate, early, reached);
    *event = *terminate = *early = false;
    const auto& self = *static_cast<FmuInstance*>(instance);
    *reached = fmu.time();
    const bool at_event = fmu.do_step(t, h, self.may_return_early, self.on_step);
    *reached = fmu.time();
    *event = at_event && self.event_mode;
    // A communication point accumulated by the master may exceed the end of the scenario by rounding.
    *early = self.may_return_early && *reached < t + h && !fmu.is_at_time(t + h);
  });
}

FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
  return call(instance, [](Fmu& fmu) { fmu.enter_step_mode(); });
}
FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
  return call(instance, [&](Fmu& fmu) {
    if (!static_cast<FmuInstance*>(instance)->event_mode) {
      throw heelstrike::Error(heelstrike::ErrorCode::out_of_order,
                              "fmi3EnterEventMode: the FMU was instantiated without event mode (eventModeUsed)");
    }
    fmu.enter_event_mode();
  });
}
UNSUPPORTED(fmi3EnterConfigurationMode)
UNSUPPORTED(fmi3ExitConfigurationMode)
UNSUPPORTED(fmi3GetNumberOfVariableDependencies, fmi3ValueReference, std::size_t*)
UNSUPPORTED(fmi3GetVariableDependencies, fmi3ValueReference, std::size_t*, fmi3ValueReference*, std::size_t*, int*,
            std::size_t)
FMI_EXPORT fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference* unknowns,
                                                   std::size_t n_unknowns, const fmi3ValueReference* knowns,
                                                   std::size_t n_knowns, const fmi3Float64* seed, std::size_t n_seed,
                                                   fmi3Float64* sensitivity, std::size_t n_sensitivity) {
  return call(instance, [&](Fmu& fmu) {
    take(fmu.derivative(list(unknowns, n_unknowns), list(knowns, n_knowns), list(seed, n_seed), false), sensitivity,
         n_sensitivity);
  });
}
FMI_EXPORT fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference* unknowns,
                                               std::size_t n_unknowns, const fmi3ValueReference* knowns,
                                               std::size_t n_knowns, const fmi3Float64* seed, std::size_t n_seed,
                                               fmi3Float64* sensitivity, std::size_t n_sensitivity) {
  return call(instance, [&](Fmu& fmu) {
    take(fmu.derivative(list(unknowns, n_unknowns), list(knowns, n_knowns), list(seed, n_seed), true), sensitivity,
         n_sensitivity);
  });
}
NO_VARIABLES(fmi3GetOutputDerivatives, const std::int32_t*, fmi3Float64*, std::size_t)

// Clocks and their intervals.
NO_VARIABLES(fmi3GetIntervalDecimal, double*, int*)
NO_VARIABLES(fmi3GetIntervalFraction, std::uint64_t*, std::uint64_t*, int*)
NO_VARIABLES(fmi3GetShiftDecimal, double*)
NO_VARIABLES(fmi3GetShiftFraction, std::uint64_t*, std::uint64_t*)
NO_VARIABLES(fmi3SetIntervalDecimal, const double*)
NO_VARIABLES(fmi3SetIntervalFraction, const std::uint64_t*, const std::uint64_t*)
NO_VARIABLES(fmi3SetShiftDecimal, const double*)
NO_VARIABLES(fmi3SetShiftFraction, const std::uint64_t*, const std::uint64_t*)
UNSUPPORTED(fmi3EvaluateDiscreteStates)
// In co-simulation changes at an event are complete when the step returns; in model exchange contacts become active or
// inactive here. The continuous states do not jump, but the flag is set because importers restart their integrators
// when states change.
FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, bool* again, bool* terminate, bool* nominals,
                                               bool* values, bool* next_defined, double* next) {
  return call(instance, [&](Fmu& fmu) {
    require_not_null(again, terminate, nominals, values, next_defined, next);
    *again = *terminate = *nominals = *values = *next_defined = false;
    *next = 0.0;
    *values = fmu.update_discrete_states();
  });
}

// Model exchange.
FMI_EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, bool, bool* event, bool* terminate) {
  return call(instance, [&](Fmu& fmu) {
    require_not_null(event, terminate);
    *event = *terminate = false;
    *event = fmu.complete_step();
  });
}
FMI_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, std::size_t* n) {
  return call(instance, [&](Fmu& fmu) {
    require_not_null(n);
    *n = fmu.n_indicators();
  });
}
FMI_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, std::size_t* n) {
  return call(instance, [&](Fmu& fmu) {
    require_not_null(n);
    *n = fmu.n_continuous_states();
  });
}
UNSUPPORTED(fmi3ActivateModelPartition, fmi3ValueReference, double)

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size,bugprone-macro-parentheses)
