#include "fem_server/bodies/prepared_compliance.hpp"

#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/fem/compliance_cache.hpp"

namespace heelstrike::fem {

SurfaceCompliance prepared_compliance(const BodyModel& body, const Support& support, const ContactNodes& contact,
                                      const PrepareContext& context, const MemoryLimit& limit) {
  const std::string key = context.locks == nullptr ? std::string() : compliance_key(body, support, contact.nodes);
  return prepare_once<SurfaceCompliance>(context.locks, key, context.stop, [&] {
    return cached_compliance(context.cache_directory, body, support, contact.nodes, context.on_progress, context.stop,
                             limit);
  });
}

}  // namespace heelstrike::fem
