#include "library/registries/backends.hpp"

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike {

std::vector<BackendInfo> embedded_backends() {
  std::vector<BackendInfo> backends;
  for (const fem::BackendEntry& entry : fem::backend_registry()) {
    backends.push_back({entry.name, entry.summary, entry.reference, entry.parameters, entry.surface_pairs});
  }
  return backends;
}

}  // namespace heelstrike
