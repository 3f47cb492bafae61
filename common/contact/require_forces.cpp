#include "common/contact/require_forces.hpp"

#include <fmt/format.h>

#include "common/contact/contact_point.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

void require_forces(const PairDescription& pair) {
  if (!rigid_law(pair.parameters)) return;
  throw input_error("contact." + pair.name + ".backend",
                    fmt::format("contact.{}.backend: expected a contact model that returns a wrench for a pose, found "
                                "'{}', whose bodies are rigid: their forces depend on the masses of the whole model; "
                                "run the scenario, or choose another back-end for the pair alone",
                                pair.name, pair.backend));
}

}  // namespace heelstrike
