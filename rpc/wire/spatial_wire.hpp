/// Spatial types <-> messages. Exact in both directions, except that a rotation matrix is sent as its unit quaternion:
/// the received pose is `canonical_pose` of the sent one.
///
/// `from_proto` throws Error{invalid_input} with the field for a number that is not finite, a missing part, a matrix
/// without 36 entries, a quaternion whose norm differs from 1 by more than `quaternion_norm_tolerance`. `to_proto`
/// writes in place: a reused message allocates nothing.
#pragma once

#include "common/spatial/spatial.hpp"
#include "heelstrike/v1/types.pb.h"
#include "rpc/wire/field_path.hpp"

namespace heelstrike::wire {

void to_proto(const Vector3& from, v1::Vector3& to);
void to_proto(const Pose& from, v1::Pose& to);
void to_proto(const Twist& from, v1::Twist& to);
void to_proto(const Wrench& from, v1::Wrench& to);
void to_proto(const Matrix6& from, v1::Matrix6& to);

void from_proto(const v1::Vector3& from, Vector3& to, const FieldPath& path);
void from_proto(const v1::Pose& from, Pose& to, const FieldPath& path);
void from_proto(const v1::Twist& from, Twist& to, const FieldPath& path);
void from_proto(const v1::Wrench& from, Wrench& to, const FieldPath& path);
void from_proto(const v1::Matrix6& from, Matrix6& to, const FieldPath& path);

}  // namespace heelstrike::wire
