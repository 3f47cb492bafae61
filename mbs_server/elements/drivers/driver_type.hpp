/// What describes a type of driver. A new type is one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scenario/catalog.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

struct DriverType : DriverSchema {
  /// The drivers of a complete model, of which one entry of the file may make several.
  std::function<std::vector<Driver>(const DriverSpec& spec, const Model& model)> build;
};

/// The first one whose name is a key of an entry describes it.
[[nodiscard]] std::span<const DriverType> driver_types();

/// The function of time that an entry of the file has. @throws Error{invalid_input} when it comes from a motion file
/// that was not read
[[nodiscard]] TimeFunctionPtr resolved(const FunctionSpec& spec);
/// What was recorded of a driver's body or of its joint's bodies. @throws Error{invalid_input} when it was not read
[[nodiscard]] const std::vector<BodyRecordPtr>& resolved(const RecordSpec& spec);

}  // namespace heelstrike::mbs
