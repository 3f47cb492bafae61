// The functions that have the same signature and meaning in FMI 2.0 and 3.0: one implementation under both names.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "library/fmu/instance.hpp"

using namespace heelstrike;
using namespace heelstrike::fmu;

namespace {

// FMU states are strings behind an opaque pointer of the importer.
void get_state(Fmu& fmu, void** state) {
  require_not_null(state);
  auto bytes = std::make_unique<std::string>(fmu.save());
  delete static_cast<std::string*>(*state);
  *state = bytes.release();
}
/// @throws Error{invalid_input} for a null state
const std::string& bytes_of(const void* state) {
  if (state != nullptr) return *static_cast<const std::string*>(state);
  throw input_error("FMUState", "FMUState: expected a state returned by the FMU, found none (null)");
}
void free_state(void** state) {
  if (state == nullptr) return;
  delete static_cast<std::string*>(*state);
  *state = nullptr;
}
/// A serialised state begins with the digest of the bytes that follow: importers store it in files.
constexpr std::size_t digest_length = 64;

std::size_t serialized_size(const void* state) {
  return digest_length + bytes_of(state).size();
}
void serialize_state(const void* state, void* bytes, std::size_t size) {
  const std::string& saved = bytes_of(state);
  require_not_null(bytes);
  if (size < serialized_size(state)) throw input_error("size", "size: smaller than the size of the serialised state");
  const std::string serialized = sha256_hex(saved) + saved;
  std::memcpy(bytes, serialized.data(), serialized.size());
}
void deserialize_state(const void* bytes, std::size_t size, void** state) {
  require_not_null(bytes, state);
  const std::string_view serialized(static_cast<const char*>(bytes), size);
  const std::string_view saved = serialized.substr(std::min(digest_length, size));
  if (serialized.substr(0, digest_length) != sha256_hex(saved)) {
    throw input_error("serializedState",
                      "serializedState: expected the bytes of a state that this FMU has serialised, found others or "
                      "damaged ones");
  }
  auto made = std::make_unique<std::string>(saved);
  free_state(state);
  *state = made.release();
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names are the standard's.
#define FMI_BOTH(NAME2, NAME3) FMI_EXPORT decltype(NAME2) NAME3 __attribute__((alias(#NAME2)))

extern "C" {

FMI_EXPORT void fmi2FreeInstance(void* instance) {
  delete static_cast<FmuInstance*>(instance);
}
FMI_EXPORT int fmi2Terminate(void* instance) {
  return call(instance, [](Fmu& fmu) { fmu.terminate(); });
}
FMI_EXPORT int fmi2Reset(void* instance) {
  return call(instance, [](Fmu& fmu) { fmu.reset(); });
}

FMI_EXPORT int fmi2GetFMUstate(void* instance, void** state) {
  return call(instance, [&](Fmu& fmu) { get_state(fmu, state); });
}
FMI_EXPORT int fmi2SetFMUstate(void* instance, void* state) {
  return call(instance, [&](Fmu& fmu) { fmu.restore(bytes_of(state)); });
}
FMI_EXPORT int fmi2FreeFMUstate(void* instance, void** state) {
  return call(instance, [&](Fmu&) { free_state(state); });
}
FMI_EXPORT int fmi2SerializedFMUstateSize(void* instance, void* state, std::size_t* size) {
  return call(instance, [&](Fmu&) {
    require_not_null(size);
    *size = serialized_size(state);
  });
}
FMI_EXPORT int fmi2SerializeFMUstate(void* instance, void* state, char* bytes, std::size_t size) {
  return call(instance, [&](Fmu&) { serialize_state(state, bytes, size); });
}
FMI_EXPORT int fmi2DeSerializeFMUstate(void* instance, const char* bytes, std::size_t size, void** state) {
  return call(instance, [&](Fmu&) { deserialize_state(bytes, size, state); });
}

FMI_EXPORT int fmi2EnterContinuousTimeMode(void* instance) {
  return call(instance, [](Fmu& fmu) { fmu.enter_continuous_time_mode(); });
}
FMI_EXPORT int fmi2SetTime(void* instance, double t) {
  return call(instance, [&](Fmu& fmu) { fmu.set_time(t); });
}
FMI_EXPORT int fmi2SetContinuousStates(void* instance, const double* x, std::size_t n) {
  return call(instance, [&](Fmu& fmu) { fmu.set_continuous_states(list(x, n)); });
}
FMI_EXPORT int fmi2GetDerivatives(void* instance, double* rates, std::size_t n) {
  return call(instance, [&](Fmu& fmu) { fmu.get_rates(list(rates, n)); });
}
FMI_EXPORT int fmi2GetEventIndicators(void* instance, double* values, std::size_t n) {
  return call(instance, [&](Fmu& fmu) { fmu.get_indicators(list(values, n)); });
}
FMI_EXPORT int fmi2GetContinuousStates(void* instance, double* x, std::size_t n) {
  return call(instance, [&](Fmu& fmu) { fmu.get_continuous_states(list(x, n)); });
}
// Metres, quaternions, metres and radians per second: all are of the order of one for bodies of human size.
FMI_EXPORT int fmi2GetNominalsOfContinuousStates(void* instance, double* nominals, std::size_t n) {
  return call(instance, [&](Fmu& fmu) {
    std::vector<double> x(list(nominals, n).size());
    fmu.get_continuous_states(x);
    std::fill_n(nominals, n, 1.0);
  });
}

FMI_BOTH(fmi2FreeInstance, fmi3FreeInstance);
FMI_BOTH(fmi2Terminate, fmi3Terminate);
FMI_BOTH(fmi2Reset, fmi3Reset);
FMI_BOTH(fmi2GetFMUstate, fmi3GetFMUState);
FMI_BOTH(fmi2SetFMUstate, fmi3SetFMUState);
FMI_BOTH(fmi2FreeFMUstate, fmi3FreeFMUState);
FMI_BOTH(fmi2SerializedFMUstateSize, fmi3SerializedFMUStateSize);
FMI_BOTH(fmi2SerializeFMUstate, fmi3SerializeFMUState);
FMI_BOTH(fmi2DeSerializeFMUstate, fmi3DeserializeFMUState);
FMI_BOTH(fmi2EnterContinuousTimeMode, fmi3EnterContinuousTimeMode);
FMI_BOTH(fmi2SetTime, fmi3SetTime);
FMI_BOTH(fmi2SetContinuousStates, fmi3SetContinuousStates);
FMI_BOTH(fmi2GetDerivatives, fmi3GetContinuousStateDerivatives);
FMI_BOTH(fmi2GetEventIndicators, fmi3GetEventIndicators);
FMI_BOTH(fmi2GetContinuousStates, fmi3GetContinuousStates);
FMI_BOTH(fmi2GetNominalsOfContinuousStates, fmi3GetNominalsOfContinuousStates);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
