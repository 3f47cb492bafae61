#include "mbs_server/coupling/coupling_scheme.hpp"

#include <vector>

#include "mbs_server/coupling/explicit_scheme.hpp"
#include "mbs_server/coupling/implicit_scheme.hpp"
#include "mbs_server/coupling/monolithic.hpp"

namespace heelstrike::mbs {

std::span<const CouplingSchemeEntry> coupling_scheme_registry() {
  static const std::vector<CouplingSchemeEntry> entries = {monolithic(), jacobi(), gauss_seidel(), implicit()};
  return entries;
}

const CouplingSchemeEntry& scheme_of(const Scenario& scenario) {
  const auto& registry = coupling_scheme_registry();
  return scenario.coupling.scheme.empty() ? registry.front() : config::type_named(registry, scenario.coupling.scheme);
}

}  // namespace heelstrike::mbs
