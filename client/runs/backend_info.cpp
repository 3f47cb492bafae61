#include "client/runs/backend_info.hpp"

namespace heelstrike::client {

BackendSchemas schemas_of(const std::vector<BackendInfo>& backends) {
  BackendSchemas schemas;
  for (const BackendInfo& backend : backends) schemas.emplace(backend.name, backend.parameters);
  return schemas;
}

}  // namespace heelstrike::client
