#include <vector>

#include "common/errors/error.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"

namespace heelstrike::mbs {

// One function for each file.
DriverType follow_driver(), recorded_driver(), coordinates_driver(), body_driver(), joint_driver();

std::span<const DriverType> driver_types() {
  static const std::vector<DriverType> types = {follow_driver(), recorded_driver(), coordinates_driver(), body_driver(),
                                                joint_driver()};
  return types;
}

TimeFunctionPtr resolved(const FunctionSpec& spec) {
  if (spec.function) return spec.function;
  throw input_error("file",
                    spec.where + ": expected the motion file with the run, found none; its content was not read");
}

const std::vector<BodyRecordPtr>& resolved(const RecordSpec& spec) {
  if (!spec.bodies.empty()) return spec.bodies;
  throw input_error("file", spec.where + ": expected the table with the run, found none");
}

}  // namespace heelstrike::mbs
