#include "mbs_server/integrators/integrator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/errors/error.hpp"
#include "mbs_server/integrators/cvode_index1.hpp"

namespace heelstrike::mbs {

std::span<const IntegratorEntry> integrator_registry() {
  static const std::vector<IntegratorEntry> entries = {
      {.name = "cvode_index1",
       .summary = "BDF of order 1 to 5, accelerations from the index-1 form, projection onto the constraints",
       .make = make_cvode_index1},
  };
  return entries;
}

std::unique_ptr<Integrator> make_integrator(const IntegratorSpec& spec, Problem& problem) {
  std::vector<std::string> names;
  for (const auto& entry : integrator_registry()) {
    if (entry.name == spec.name) return entry.make(spec, problem);
    names.push_back(entry.name);
  }
  throw input_error("analysis.integrator.name", fmt::format("analysis.integrator.name: expected one of {}, found '{}'",
                                                            fmt::join(names, ", "), spec.name));
}

}  // namespace heelstrike::mbs
