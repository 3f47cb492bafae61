#include "mbs_server/integrators/integrator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mbs_server/integrators/ab4am4.hpp"
#include "mbs_server/integrators/arkode_dirk.hpp"
#include "mbs_server/integrators/arkode_erk.hpp"
#include "mbs_server/integrators/cvode_index1.hpp"
#include "mbs_server/integrators/ida_ggl.hpp"
#include "mbs_server/integrators/moreau.hpp"
#include "mbs_server/integrators/rk4.hpp"

namespace heelstrike::mbs {

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

IntegratorEntry integrator_entry(
    std::string name, std::string meaning, std::vector<config::KeySchema> keys,
    std::function<std::unique_ptr<Integrator>(const IntegratorSpec& spec, Problem& problem)> make) {
  IntegratorEntry entry;
  entry.name = std::move(name);
  entry.meaning = std::move(meaning);
  entry.keys = std::move(keys);
  entry.make = std::move(make);
  return entry;
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
