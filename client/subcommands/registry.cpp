#include <vector>

#include "client/subcommands/subcommand.hpp"

namespace heelstrike::client {

std::span<const Subcommand> subcommands() {
// The function of one file of this folder.
#define SUBCOMMAND(NAME)                \
  [] {                                  \
    extern Subcommand NAME##_command(); \
    return NAME##_command();            \
  }()
  static const std::vector<Subcommand> all = {
      SUBCOMMAND(example),     SUBCOMMAND(new),         SUBCOMMAND(run),
      SUBCOMMAND(resume),      SUBCOMMAND(attach),      SUBCOMMAND(compare),
      SUBCOMMAND(compare_grf), SUBCOMMAND(plantar),     SUBCOMMAND(report),
      SUBCOMMAND(verify),      SUBCOMMAND(sweep),       SUBCOMMAND(watch),
      SUBCOMMAND(validate),    SUBCOMMAND(mesh),        SUBCOMMAND(condense),
      SUBCOMMAND(calibrate),   SUBCOMMAND(fmu),         SUBCOMMAND(hdf5),
      SUBCOMMAND(import),      SUBCOMMAND(import_osim), SUBCOMMAND(inverse_kinematics),
      SUBCOMMAND(backends),    SUBCOMMAND(schema),      SUBCOMMAND(doctor),
  };
#undef SUBCOMMAND
  return all;
}

}  // namespace heelstrike::client
