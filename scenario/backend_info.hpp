/// Description of a back-end as in `heelstrike backends`, from this program or from a server.
#pragma once

#include <span>
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

/// "did you mean 'hertz'?" for names of back-ends that are similar to `word` or that a common word such as "penalty"
/// stands for; else `otherwise`.
[[nodiscard]] std::string backend_suggestion(const std::string& word, std::span<const std::string> known,
                                             const std::string& otherwise);

/// "unknown back-end 'herz' (did you mean 'hertz'?); known: hertz, hooke"
[[nodiscard]] std::string unknown_backend_message(const std::string& word, std::span<const std::string> known);

}  // namespace heelstrike
