#include "mbs_server/formulation/recorded_pose.hpp"

namespace heelstrike::mbs {
namespace {

Jet3 sum(const PoseJets& pose, const Vector3& u, bool with_origin) {
  Jet3 result = with_origin ? pose.origin : Jet3{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 3; ++k) {
      result[c] = result[c] + u[static_cast<Eigen::Index>(k)] * pose.axes[k][c];
    }
  }
  return result;
}

}  // namespace

PoseJets recorded_pose(const BodyRecord* record, double t) {
  PoseJets pose;
  if (record == nullptr) {
    for (std::size_t k = 0; k < 3; ++k) pose.axes[k][k].f = 1.0;
    return pose;
  }
  for (std::size_t c = 0; c < 3; ++c) pose.origin[c] = record->position[c]->at(t);
  const Jet w = record->quaternion[0]->at(t), x = record->quaternion[1]->at(t), y = record->quaternion[2]->at(t),
            z = record->quaternion[3]->at(t);
  const Jet ww = w * w, xx = x * x, yy = y * y, zz = z * z;
  // Splines of the four components are not normalised between the rows. R is homogeneous of degree two, so that
  // division by e.e gives R(e / |e|) with its two derivatives, without a root.
  const Jet norm = ww + xx + yy + zz;
  pose.axes = {{{ww + xx - yy - zz, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)},
                {2.0 * (x * y - w * z), ww - xx + yy - zz, 2.0 * (y * z + w * x)},
                {2.0 * (x * z + w * y), 2.0 * (y * z - w * x), ww - xx - yy + zz}}};
  for (Jet3& axis : pose.axes) {
    for (Jet& entry : axis) entry = entry / norm;
  }
  return pose;
}

Jet3 recorded_point(const BodyRecord* record, double t, const Vector3& p_BP) {
  return sum(recorded_pose(record, t), p_BP, true);
}

Jet3 recorded_direction(const BodyRecord* record, double t, const Vector3& u_B) {
  return sum(recorded_pose(record, t), u_B, false);
}

Jet dot(const Jet3& a, const Jet3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Jet3 operator-(const Jet3& a, const Jet3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

}  // namespace heelstrike::mbs
