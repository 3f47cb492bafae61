/// Fuzz target: whatever the bytes of a scenario file, parsing answers with a scenario or with Error{invalid_input} that
/// names file and line; a scenario that is good stays good when it is written out again by an override.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/config/scenario.hpp"
#include "common/errors/error.hpp"

namespace {

using namespace heelstrike;

BackendSchemas schemas() {
  ParameterSchema stiffness;
  stiffness.name = "stiffness";
  stiffness.range = {.min = 0.0, .min_excluded = true};
  ParameterSchema restitution;
  restitution.name = "restitution";
  restitution.range = {.min = 0.0, .max = 1.0, .min_excluded = true};
  return {{"flores", {stiffness, restitution}}, {"hunt_crossley", {stiffness, restitution}}};
}

[[noreturn]] void broken(const char* promise, const char* message) {
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, message);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const BackendSchemas backends = schemas();
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  try {
    (void)parse_scenario(yaml, "fuzz.yaml", backends);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.code() != ErrorCode::invalid_input) broken("invalid_input", e.what());
    if (!message.starts_with("fuzz.yaml:") && !message.starts_with("--")) broken("file and line", e.what());
    return 0;
  }
  try {
    const std::string changed = with_override(yaml, "fuzz.yaml", "description=changed");
    if (parse_scenario(changed, "fuzz.yaml", backends).description != "changed") broken("override", changed.c_str());
  } catch (const Error& e) {
    broken("a good scenario stays good", e.what());
  }
  return 0;
}
