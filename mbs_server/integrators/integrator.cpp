#include "mbs_server/integrators/integrator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/errors/error.hpp"
#include "mbs_server/integrators/ab4am4.hpp"
#include "mbs_server/integrators/arkode_dirk.hpp"
#include "mbs_server/integrators/arkode_erk.hpp"
#include "mbs_server/integrators/cvode_index1.hpp"
#include "mbs_server/integrators/ida_ggl.hpp"
#include "mbs_server/integrators/rk4.hpp"

namespace heelstrike::mbs {

std::span<const IntegratorEntry> integrator_registry() {
  static const std::vector<IntegratorEntry> entries = {
      {.name = "cvode_index1",
       .summary = "BDF of order 1 to 5, accelerations from the index-1 form, projection onto the constraints",
       .make = make_cvode_index1},
      {.name = "ida_ggl",
       .summary = "BDF of order 1 to 5 on the stabilised index-2 form of Gear, Gupta and Leimkuhler",
       .index2 = true,
       .make = make_ida_ggl},
      {.name = "arkode_erk",
       .summary = "explicit Runge-Kutta of order 2 to 8, index-1 form, projection onto the constraints",
       .make = make_arkode_erk},
      {.name = "arkode_dirk",
       .summary = "diagonally implicit Runge-Kutta of order 3 to 5, index-1 form, projection onto the constraints",
       .make = make_arkode_dirk},
      {.name = "rk4",
       .summary = "Runge-Kutta of order 4 with fixed step, Baumgarte stabilisation",
       .fixed_step = true,
       .make = make_rk4},
      {.name = "ab4am4",
       .summary = "Adams-Bashforth-Moulton of order 4 with fixed step, Baumgarte stabilisation",
       .fixed_step = true,
       .make = make_ab4am4},
  };
  return entries;
}

namespace {

const IntegratorEntry& find_integrator(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : integrator_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw input_error("analysis.integrator.name", fmt::format("analysis.integrator.name: expected one of {}, found '{}'",
                                                            fmt::join(names, ", "), name));
}

}  // namespace

bool uses_index2(const IntegratorSpec& spec) {
  return find_integrator(spec.name).index2;
}

std::unique_ptr<Integrator> make_integrator(const IntegratorSpec& spec, Problem& problem) {
  return find_integrator(spec.name).make(spec, problem);
}

}  // namespace heelstrike::mbs
