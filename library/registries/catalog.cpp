#include "library/registries/catalog.hpp"

#include "fem_server/backend_interface/backend.hpp"
#include "mbs_server/analysis/catalog.hpp"

namespace heelstrike {

Catalog scenario_catalog(BackendSchemas backends) {
  return mbs::scenario_catalog(std::move(backends));
}

std::vector<BackendInfo> embedded_backends() {
  std::vector<BackendInfo> backends;
  for (const fem::BackendEntry& entry : fem::backend_registry()) {
    backends.push_back({entry.name, entry.summary, entry.reference, entry.parameters, entry.surface_pairs});
  }
  return backends;
}

}  // namespace heelstrike
