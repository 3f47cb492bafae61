#include "library/registries/catalog.hpp"

#include "mbs_server/analysis/catalog.hpp"

namespace heelstrike {

Catalog scenario_catalog(BackendSchemas backends) {
  return mbs::scenario_catalog(std::move(backends));
}

}  // namespace heelstrike
