#include "rpc/wire/spatial_wire.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::wire {

void to_proto(const Vector3& from, v1::Vector3& to) {
  to.set_x(from.x());
  to.set_y(from.y());
  to.set_z(from.z());
}

void to_proto(const Pose& from, v1::Pose& to) {
  const Quaternion q = quaternion_from_rotation(from.R);
  auto& rotation = *to.mutable_rotation();
  rotation.set_w(q.w());
  rotation.set_x(q.x());
  rotation.set_y(q.y());
  rotation.set_z(q.z());
  to_proto(from.p, *to.mutable_position());
}

void to_proto(const Twist& from, v1::Twist& to) {
  to_proto(from.w, *to.mutable_angular());
  to_proto(from.v, *to.mutable_linear());
}

void to_proto(const Wrench& from, v1::Wrench& to) {
  to_proto(from.torque, *to.mutable_torque());
  to_proto(from.force, *to.mutable_force());
}

void to_proto(const Matrix6& from, v1::Matrix6& to) {
  auto& entries = *to.mutable_row_major();
  entries.Resize(36, 0.0);
  double* entry = entries.mutable_data();
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) *entry++ = from(row, column);
  }
}

void from_proto(const v1::Vector3& from, Vector3& to, const FieldPath& path) {
  to.x() = finite(from.x(), FieldPath(path, "x"));
  to.y() = finite(from.y(), FieldPath(path, "y"));
  to.z() = finite(from.z(), FieldPath(path, "z"));
}

void from_proto(const v1::Pose& from, Pose& to, const FieldPath& path) {
  const FieldPath rotation(path, "rotation");
  const FieldPath position(path, "position");
  if (!from.has_rotation()) throw_missing(rotation);
  if (!from.has_position()) throw_missing(position);
  const auto& q = from.rotation();
  try {
    to.R = rotation_from_quaternion(Quaternion(q.w(), q.x(), q.y(), q.z()));
  } catch (const Error& error) {
    const std::string field = rotation.text();
    throw input_error(field, fmt::format("{}: {}", field, error.what()));
  }
  from_proto(from.position(), to.p, position);
}

void from_proto(const v1::Twist& from, Twist& to, const FieldPath& path) {
  const FieldPath angular(path, "angular");
  const FieldPath linear(path, "linear");
  if (!from.has_angular()) throw_missing(angular);
  if (!from.has_linear()) throw_missing(linear);
  from_proto(from.angular(), to.w, angular);
  from_proto(from.linear(), to.v, linear);
}

void from_proto(const v1::Wrench& from, Wrench& to, const FieldPath& path) {
  const FieldPath torque(path, "torque");
  const FieldPath force(path, "force");
  if (!from.has_torque()) throw_missing(torque);
  if (!from.has_force()) throw_missing(force);
  from_proto(from.torque(), to.torque, torque);
  from_proto(from.force(), to.force, force);
}

void from_proto(const v1::Matrix6& from, Matrix6& to, const FieldPath& path) {
  if (from.row_major_size() != 36) {
    reject(FieldPath(path, "row_major"), "36 entries (6 rows x 6 columns)", fmt::format("{}", from.row_major_size()));
  }
  for (int i = 0; i < 36; ++i) {
    to(i / 6, i % 6) = finite(from.row_major(i), FieldPath(path, "row_major", static_cast<std::size_t>(i)));
  }
}

}  // namespace heelstrike::wire
