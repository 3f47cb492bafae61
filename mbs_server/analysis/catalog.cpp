#include "mbs_server/analysis/catalog.hpp"

#include "mbs_server/analysis/run.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {
namespace {

/// The schema part of the types, without their factories.
template <typename Schema, typename Types>
std::vector<Schema> schemas_of(const Types& types) {
  return std::vector<Schema>(types.begin(), types.end());
}

}  // namespace

Catalog scenario_catalog(BackendSchemas backends) {
  return {.joints = schemas_of<JointSchema>(joint_types()),
          .forces = schemas_of<ElementType>(force_types()),
          .drivers = schemas_of<DriverSchema>(driver_types()),
          .integrators = schemas_of<ElementType>(integrator_registry()),
          .default_integrators = default_integrators(),
          .analyses = schemas_of<AnalysisSchema>(analysis_types()),
          .couplings = schemas_of<ElementType>(coupling_scheme_registry()),
          .backends = std::move(backends)};
}

}  // namespace heelstrike::mbs
