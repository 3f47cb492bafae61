/// Description of a type of driver. A new type needs one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mbs_server/formulation/model.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

struct DriverType : DriverSchema {
  /// The drivers of a complete model; one entry of the file may define several.
  std::function<std::vector<Driver>(const DriverSpec& spec, const Model& model)> build;
};

/// An entry of the file belongs to the first type whose name is one of its keys.
[[nodiscard]] std::span<const DriverType> driver_types();

/// The function of time of an entry. @throws Error{invalid_input} when it refers to a motion file that has not been
/// read
[[nodiscard]] TimeFunctionPtr resolved(const FunctionSpec& spec);
/// Records of a driver's body or of the bodies of its joint. @throws Error{invalid_input} when they have not been read
[[nodiscard]] const std::vector<BodyRecordPtr>& resolved(const RecordSpec& spec);

}  // namespace heelstrike::mbs
