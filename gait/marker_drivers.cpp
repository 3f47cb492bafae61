#include "gait/marker_drivers.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "gait/axes_and_units.hpp"
#include "gait/foot_motion.hpp"
#include "gait/foot_template.hpp"
#include "gait/force_plate.hpp"

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

namespace {

/// Rethrows errors of `act` with the location in the scenario.
template <typename Act>
auto with_location(const std::string& where, Act act) {
  try {
    return act();
  } catch (const Error& e) {
    throw input_error(e.field(), fmt::format("{}: {}", where, e.what()));
  }
}

/// Pose of the surface in the frame of the hindfoot or of the toes.
Pose surface_pose(const FootTemplate& foot, const FootRegistration& registration, bool toes) {
  const auto rotation_about = [](const Vector3& axis, double angle) {
    return Eigen::AngleAxisd(angle, axis).toRotationMatrix();
  };
  Pose X_HM;
  // Roll about x first, then pitch about y, then yaw about z, in the axes of the hindfoot.
  X_HM.R = rotation_about(Vector3::UnitZ(), registration.angles.z()) *
           rotation_about(Vector3::UnitY(), registration.angles.y()) *
           rotation_about(Vector3::UnitX(), registration.angles.x());
  X_HM.p = registration.position;
  if (!toes) return X_HM;
  // X_WT = X_WH toe_pose(angle); the inverse of toe_pose(0) makes the surface continuous at angle 0.
  const Pose X_TH = toe_pose(foot, 0.0).inverse();
  return X_TH * toe_pose(foot, registration.toe_angle) * X_TH * X_HM;
}

/// One evaluated recording.
class Recording {
 public:
  Recording(const MarkerMotionSpec& spec, const Vector3& up, const FileContent& content_of)
      : spec_(spec), up_(up), R_WF_(with_location(spec.where, [&] { return axis_map(spec.axes); })) {
    const auto text = [&](const std::string& file) -> const std::string& {
      return required_content(content_of, file, spec.where, "motion");
    };
    with_location(spec.where, [&] {
      static_trial_ = rotated(read_trc(text(spec.standing), spec.standing), R_WF_);
      dynamic_trial_ = rotated(read_trc(text(spec.markers), spec.markers), R_WF_);
      for (const MarkerTrial* trial : {&static_trial_, &dynamic_trial_}) {
        for (const std::string& text_note : trial->notes) note(text_note);
      }
      if (!spec.plates.empty()) {
        const MotionTable table = read_motion_table(text(spec.plates), spec.plates);
        for (const std::string& text_note : table.notes) note(text_note);
        plates_ = read_force_plates(table);
      }
      for (ForcePlate& plate : plates_) plate = rotated(plate, R_WF_);
    });
    for (const FootSpec& foot : spec.feet) with_location(foot.where, [&] { track(foot); });
    with_location(spec.where, [&] { find_ground(); });
  }

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// @param parts  of `follow` after the name of the recording
  [[nodiscard]] BodyRecordPtr record(const std::string& body, const std::vector<std::string>& parts,
                                     double end_time) const {
    if (parts.size() == 1) return ground_record(body, end_time);
    const auto foot = std::ranges::find(spec_.feet, parts[0], &FootSpec::name);
    const FootMotion& motion = motions_[static_cast<std::size_t>(foot - spec_.feet.begin())];
    std::vector<double> times = motion.times;
    for (double& t : times) t -= spec_.start;
    // Recorded times are rounded; a run may end with the last frame.
    constexpr double slack = 1e-6;
    if (times.front() > slack || times.back() < end_time - slack) {
      throw input_error(
          "motion",
          fmt::format("{}: expected frames that cover the run, {} to {} s of the file, found {} "
                      "to {} s; change start or analysis.end_time",
                      spec_.where, spec_.start, spec_.start + end_time, motion.times.front(), motion.times.back()));
    }
    const auto index = static_cast<std::size_t>(foot - spec_.feet.begin());
    const bool toes = parts[1] == "toes";
    std::vector<Pose> poses = toes ? motion.X_WT : motion.X_WH;
    if (foot->registration) {
      const Pose placed = surface_pose(feet_[index], *foot->registration, toes);
      for (Pose& pose : poses) pose = pose * placed;
    }
    return make_body_record(body, times, poses);
  }

  /// Vertical force on a foot [N] as a function of run time.
  [[nodiscard]] TimeFunctionPtr vertical_force(const std::string& foot, double end_time) const {
    const auto spec = std::ranges::find(spec_.feet, foot, &FootSpec::name);
    const auto plate = std::ranges::find(plates_, spec->plate, &ForcePlate::name);
    std::vector<double> times, values;
    for (std::size_t i = 0; i < plate->times.size(); ++i) {
      times.push_back(plate->times[i] - spec_.start);
      values.push_back(plate->force[i].dot(up_));
    }
    // Recorded times are rounded; a run may end with the last row.
    constexpr double slack = 1e-3;
    if (times.front() > slack || times.back() < end_time - slack) {
      throw input_error("plates", fmt::format("{}: expected forces in {} that cover the run, {} to {} s of the file, "
                                              "found {} to {} s; change start or analysis.end_time",
                                              spec_.where, spec_.plates, spec_.start, spec_.start + end_time,
                                              plate->times.front(), plate->times.back()));
    }
    return make_spline(std::move(times), values, 3);
  }

 private:
  void note(const std::string& text) { notes_.push_back(fmt::format("motion {}: {}", spec_.name, text)); }

  void track(const FootSpec& foot) {
    feet_.push_back(make_foot_template(static_trial_, foot.markers, up_));
    TrackOptions options{.max_gap = spec_.max_gap, .outliers = {}, .outlier_margin = 2, .filter = {}};
    if (spec_.cutoff) {
      options.filter = LowPass{.order = spec_.order, .cutoff = *spec_.cutoff, .rate = dynamic_trial_.rate};
    }
    motions_.push_back(track_foot(feet_.back(), dynamic_trial_, options));
    report(foot, motions_.back());
    if (foot.plate.empty()) {
      report_placement(foot, feet_.back(), std::nullopt);
      return;
    }
    const auto plate = std::ranges::find(plates_, foot.plate, &ForcePlate::name);
    if (plate == plates_.end()) {
      std::vector<std::string> names;
      for (const auto& other : plates_) names.push_back(other.name);
      throw input_error(
          "plate", fmt::format("expected the name of a force plate of {}, found '{}'; {}", spec_.plates, foot.plate,
                               suggestion(foot.plate, names, "names are prefixes of columns, e.g. ground_force")));
    }
    check_synchrony(dynamic_trial_, foot.markers, *plate, up_);
    report_placement(foot, feet_.back(), plate_height(*plate, up_));
  }

  /// Notes the landmarks that the surface is registered to.
  void report_placement(const FootSpec& foot, const FootTemplate& shape, std::optional<double> ground) {
    if (foot.registration) return;
    Vector3 heel = Vector3::Zero();
    double n = 0.0;
    for (const Vector3& p : static_trial_.marker(foot.markers.heel)) {
      if (!p.allFinite()) continue;
      heel += p;
      n += 1.0;
    }
    heel = shape.X_WH.inverse() * Vector3(heel / n);  // make_foot_template reports markers that are never seen
    const double origin = shape.X_WH.p.dot(up_);
    note(
        fmt::format("{}: no registration. In the hindfoot frame (x forward, z up, at rest) the heel "
                    "marker is at x = {:.1f}, the axis of the toes at {:.1f}, the toe tip at {:.1f} mm, {} at z = "
                    "{:.1f} mm",
                    foot.name, 1e3 * heel.x(), 1e3 * shape.p_HT.x(), 1e3 * shape.toe_tip_H.x(),
                    ground ? "the force plate" : "height 0 of the files", 1e3 * (ground.value_or(0.0) - origin)));
  }

  void report(const FootSpec& foot, const FootMotion& motion) {
    const auto top = std::ranges::max_element(motion.toe_angle);
    note(fmt::format("{}: {:.1f} mm from heel to toe tip; peak toe angle {:.1f} degrees at {:.3f} s", foot.name,
                     1e3 * feet_.back().length, *top * 180.0 / std::numbers::pi,
                     motion.times[static_cast<std::size_t>(top - motion.toe_angle.begin())]));
    for (const MarkerOutlier& g : motion.outliers) {
      note(fmt::format(
          "{}: marker {} is excluded from {:.3f} to {:.3f} s: up to {:.0f} mm from the position predicted by the "
          "others, at {:.3f} s",
          foot.name, g.marker, motion.times[g.first], motion.times[g.last], 1e3 * g.distance, motion.times[g.worst]));
    }
    for (const FilledGap& g : motion.gaps) {
      note(fmt::format(
          "{}: marker {} has a gap from {:.3f} to {:.3f} s: {}", foot.name, g.marker, motion.times[g.gap.first],
          motion.times[g.gap.last],
          g.gap.filled ? "filled by a spline" : "too long to be filled; the pose follows from the other markers"));
    }
  }

  void find_ground() {
    if (spec_.ground_velocity) {
      ground_ = *spec_.ground_velocity;
      return;
    }
    if (feet_.empty()) return;
    const GroundSpeed found = find_ground_speed(dynamic_trial_, feet_, motions_, up_);
    ground_ = found.velocity;
    note(
        fmt::format("ground moves at [{:.4f}, {:.4f}, {:.4f}] m/s, determined from the flat foot ({} slopes, standard "
                    "deviation {:.4f} m/s)",
                    ground_.x(), ground_.y(), ground_.z(), found.n_slopes, found.deviation));
  }

  [[nodiscard]] BodyRecordPtr ground_record(const std::string& body, double end_time) const {
    // A straight line for any spline; it extends beyond both ends of the run, so that no derivative is evaluated at an
    // end.
    const std::vector<double> times = {-1.0, 0.0, end_time + 1.0};
    std::vector<Pose> poses;
    for (const double t : times) poses.push_back({.R = Matrix3::Identity(), .p = t * ground_});
    return make_body_record(body, times, poses);
  }

  const MarkerMotionSpec& spec_;
  Vector3 up_;
  Matrix3 R_WF_;
  MarkerTrial static_trial_, dynamic_trial_;
  std::vector<ForcePlate> plates_;
  std::vector<FootTemplate> feet_;
  std::vector<FootMotion> motions_;
  Vector3 ground_ = Vector3::Zero();
  std::vector<std::string> notes_;
};

std::vector<std::string> parts_of(const std::string& follow) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const auto dot = follow.find('.', begin);
    parts.push_back(follow.substr(begin, dot - begin));
    if (dot == std::string::npos) return parts;
    begin = dot + 1;
  }
}

}  // namespace

std::string followed_segment(const Scenario& scenario, const std::string& body) {
  const auto spec = std::ranges::find(scenario.bodies, body, &BodySpec::name);
  const std::string start = spec == scenario.bodies.end() ? "" : spec->initial_state_from;
  for (const DriverSpec& driver : scenario.drivers) {
    if (!driver.follow.empty() && (driver.body == body || driver.body == start)) return driver.follow;
  }
  return {};
}

void read_marker_motions(Scenario& scenario, const FileContent& content_of) {
  const double g = scenario.gravity.norm();
  for (const MarkerMotionSpec& spec : scenario.motions) {
    if (!(g > 0.0)) {
      throw input_error(
          "gravity",
          fmt::format(
              "{}: expected gravity, which defines the vertical, found [0, 0, 0]; specify it, e.g. [0, 0, -9.81]",
              spec.where));
    }
    const Recording recording(spec, -scenario.gravity / g, content_of);
    scenario.notes.insert(scenario.notes.end(), recording.notes().begin(), recording.notes().end());
    for (DriverSpec& driver : scenario.drivers) {
      auto parts = parts_of(driver.follow);
      if (parts.front() != spec.name) continue;
      parts.erase(parts.begin());
      const BodyRecordPtr record = recording.record(driver.body, parts, scenario.analysis.end_time);
      driver.record = {.file = spec.markers, .time_column = {}, .where = driver.where, .bodies = {record}};
      const auto body = std::ranges::find(scenario.bodies, driver.body, &BodySpec::name);
      body->X_WB = pose_at(*record, 0.0);
      body->V_WB = twist_at(*record, 0.0);
    }
    for (BalanceSpec& balance : scenario.analysis.balance) {
      const auto parts = parts_of(balance.plate);
      if (parts.front() == spec.name) {
        balance.force.function = recording.vertical_force(parts.back(), scenario.analysis.end_time);
      }
    }
  }
}

}  // namespace heelstrike
