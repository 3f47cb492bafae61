#include "mbs_server/integrators/integrator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heelstrike::mbs {

// Each is defined in the file of its method.
IntegratorEntry cvode_index1(), ida_ggl(), arkode_erk(), arkode_dirk(), rk4(), ab4am4(), moreau();

std::span<const IntegratorEntry> integrator_registry() {
  static const std::vector<IntegratorEntry> entries = {cvode_index1(), ida_ggl(), arkode_erk(), arkode_dirk(),
                                                       rk4(),          ab4am4(),  moreau()};
  return entries;
}

DefaultIntegrators default_integrators() {
  return {.with_contact = cvode_index1().name,
          .with_forces = arkode_dirk().name,
          .otherwise = arkode_erk().name,
          .with_rigid_contact = moreau().name};
}

config::KeySchema order_key(const std::string& meaning, const std::vector<int>& orders, int fallback) {
  config::KeySchema key{.name = "order",
                        .kind = config::KeyKind::integer,
                        .meaning = meaning,
                        .fallback = static_cast<double>(fallback),
                        .range = {.min = static_cast<double>(std::ranges::min(orders)),
                                  .max = static_cast<double>(std::ranges::max(orders))}};
  for (const int order : orders) key.choices.push_back(fmt::format("{}", order));
  return key;
}

std::unique_ptr<Integrator> make_integrator(const IntegratorSpec& spec, Problem& problem) {
  return config::type_named(integrator_registry(), spec.name).make(spec, problem);
}

}  // namespace heelstrike::mbs
