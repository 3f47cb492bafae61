/// Named parameters and their schemas <-> messages; exact in both directions.
#pragma once

#include <span>
#include <string>

#include "common/parameters/parameter.hpp"
#include "heelstrike/v1/types.pb.h"
#include "rpc/wire/field_path.hpp"

namespace heelstrike::wire {

using ParameterMessages = google::protobuf::Map<std::string, v1::ParameterValue>;

void to_proto(const ParameterValue& from, v1::ParameterValue& to);
void to_proto(const ParameterMap& from, ParameterMessages& to);
void to_proto(const ParameterSchema& from, v1::ParameterSchema& to);

/// @throws Error{invalid_input} if no value is set or a number is not finite
[[nodiscard]] ParameterValue from_proto(const v1::ParameterValue& from, const FieldPath& path);
[[nodiscard]] ParameterMap from_proto(const ParameterMessages& from, const FieldPath& path);
[[nodiscard]] ParameterSchema from_proto(const v1::ParameterSchema& from, const FieldPath& path);

}  // namespace heelstrike::wire
