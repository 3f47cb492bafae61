/// Description of a back-end as in `heelstrike backends`, from this program or from a server.
#pragma once

#include <string>
#include <vector>

#include "scenario/scenario.hpp"

namespace heelstrike {

struct BackendInfo {
  std::string name;
  std::string summary;
  std::string reference;  ///< key in docs/references.bib
  std::vector<ParameterSchema> parameters;
  std::vector<std::string> surface_pairs;  ///< "sphere-plane": accepted shapes of main and partner body
};

/// Schemas in the form of the scenario parser.
[[nodiscard]] inline BackendSchemas schemas_of(const std::vector<BackendInfo>& backends) {
  BackendSchemas schemas;
  for (const BackendInfo& backend : backends) schemas.emplace(backend.name, backend.parameters);
  return schemas;
}

}  // namespace heelstrike
