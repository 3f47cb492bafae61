#include "mbs_server/coupling/coupling_scheme.hpp"

#include <vector>

#include "mbs_server/coupling/monolithic.hpp"

namespace heelstrike::mbs {

std::span<const CouplingSchemeEntry> coupling_scheme_registry() {
  static const std::vector<CouplingSchemeEntry> entries = {monolithic()};
  return entries;
}

const CouplingSchemeEntry& scheme_of(const Scenario& /*scenario*/) {
  return coupling_scheme_registry().front();
}

}  // namespace heelstrike::mbs
