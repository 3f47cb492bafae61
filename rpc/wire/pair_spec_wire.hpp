/// Parameters and their schemas, the specification of a contact pair and its description by the server <-> messages;
/// numbers are exact in both directions.
///
/// In addition to numbers that are not finite, `from_proto` rejects input that no back-end accepts: a missing surface,
/// invalid values of its kind (scenario/surfaces), material constants out of range. Directions are normalised on
/// receipt unless they already are.
#pragma once

#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "common/contact/surface.hpp"
#include "common/parameters/parameter.hpp"
#include "heelstrike/v1/contact.pb.h"
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

void to_proto(const PairSpec& from, v1::PairSpec& to);
[[nodiscard]] PairSpec from_proto(const v1::PairSpec& from, const FieldPath& path);

/// Does not change session id and idle timeout, which the service sets.
void to_proto(const PairDescription& from, v1::SessionDescription& to);
[[nodiscard]] PairDescription from_proto(const v1::SessionDescription& from, const FieldPath& path);

}  // namespace heelstrike::wire
