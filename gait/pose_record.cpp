#include "gait/pose_record.hpp"

#include <array>

namespace heelstrike {
namespace {

/// q and qd of a normalised quaternion; the component of qd along q is the change of length.
struct QuaternionRate {
  Quaternion q;
  Quaternion qd;
};

QuaternionRate rate_at(const BodyRecord& record, double t) {
  Eigen::Vector4d q, qd;
  for (Eigen::Index k = 0; k < 4; ++k) {
    const Jet jet = record.quaternion[static_cast<std::size_t>(k)]->at(t);
    q[k] = jet.f;
    qd[k] = jet.d;
  }
  const double length = q.norm();
  q /= length;
  qd /= length;
  // d(q / |q|) = (1 - q q') qd / |q|.
  qd -= q.dot(qd) * q;
  return {.q = Quaternion(q[0], q[1], q[2], q[3]), .qd = Quaternion(qd[0], qd[1], qd[2], qd[3])};
}

}  // namespace

BodyRecordPtr make_body_record(const std::string& body, const std::vector<double>& times, std::span<const Pose> poses) {
  std::array<std::vector<double>, 7> values;
  Eigen::Vector4d before = Eigen::Vector4d::Zero();
  for (const Pose& X_WB : poses) {
    for (std::size_t c = 0; c < 3; ++c) values[c].push_back(X_WB.p[static_cast<Eigen::Index>(c)]);
    const Quaternion rotation = quaternion_from_rotation(X_WB.R);
    Eigen::Vector4d q(rotation.w(), rotation.x(), rotation.y(), rotation.z());
    // q and -q are the same rotation; the one closer to the previous sample makes the curve smooth.
    if (q.dot(before) < 0.0) q = -q;
    before = q;
    for (std::size_t k = 0; k < 4; ++k) values[3 + k].push_back(q[static_cast<Eigen::Index>(k)]);
  }
  auto record = std::make_shared<BodyRecord>();
  record->body = body;
  for (std::size_t k = 0; k < 7; ++k) {
    (k < 3 ? record->position[k] : record->quaternion[k - 3]) = make_spline(times, values[k], 5);
  }
  return record;
}

Pose pose_at(const BodyRecord& record, double t) {
  Pose X_WB;
  X_WB.R = rate_at(record, t).q.toRotationMatrix();
  for (std::size_t c = 0; c < 3; ++c) X_WB.p[static_cast<Eigen::Index>(c)] = record.position[c]->at(t).f;
  return X_WB;
}

Twist twist_at(const BodyRecord& record, double t) {
  const QuaternionRate rate = rate_at(record, t);
  Twist V_WB;
  // From qd = 1/2 w q with w in world axes; the scalar part is zero because the length is constant.
  V_WB.w = 2.0 * (rate.qd * rate.q.conjugate()).vec();
  for (std::size_t c = 0; c < 3; ++c) V_WB.v[static_cast<Eigen::Index>(c)] = record.position[c]->at(t).d;
  return V_WB;
}

}  // namespace heelstrike
