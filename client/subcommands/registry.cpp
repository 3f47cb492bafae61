#include <vector>

#include "client/subcommands/subcommand.hpp"

namespace heelstrike::client {

// One function Subcommand NAME_command() for each file.
#define HEELSTRIKE_SUBCOMMANDS(LISTED) \
  LISTED(run)                          \
  LISTED(resume)                       \
  LISTED(attach)                       \
  LISTED(compare)                      \
  LISTED(compare_grf)                  \
  LISTED(plantar)                      \
  LISTED(report)                       \
  LISTED(verify)                       \
  LISTED(sweep)                        \
  LISTED(watch)                        \
  LISTED(validate)                     \
  LISTED(mesh)                         \
  LISTED(condense)                     \
  LISTED(calibrate)                    \
  LISTED(fmu)                          \
  LISTED(hdf5)                         \
  LISTED(import)                       \
  LISTED(import_osim)                  \
  LISTED(backends)                     \
  LISTED(schema)                       \
  LISTED(doctor)

#define HEELSTRIKE_LISTED(NAME) Subcommand NAME##_command();
HEELSTRIKE_SUBCOMMANDS(HEELSTRIKE_LISTED)
#undef HEELSTRIKE_LISTED

std::span<const Subcommand> subcommands() {
#define HEELSTRIKE_LISTED(NAME) NAME##_command(),
  static const std::vector<Subcommand> all = {HEELSTRIKE_SUBCOMMANDS(HEELSTRIKE_LISTED)};
#undef HEELSTRIKE_LISTED
  return all;
}

}  // namespace heelstrike::client
