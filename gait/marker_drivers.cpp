#include "gait/marker_drivers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "gait/axes_and_units.hpp"
#include "gait/foot_flat.hpp"
#include "gait/foot_loads.hpp"
#include "gait/foot_motion.hpp"
#include "gait/foot_template.hpp"
#include "gait/force_plate.hpp"
#include "gait/whole_body.hpp"

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

/// The frames of a trial from one time to another.
MarkerTrial cropped(MarkerTrial trial, double from, double to) {
  const auto first = std::ranges::lower_bound(trial.times, from) - trial.times.begin();
  const auto last = std::ranges::upper_bound(trial.times, to) - trial.times.begin();
  // A span without frames is reported with the frames of the file.
  if (last - first < 3) return trial;
  const auto keep = [&](auto& values) { values = {values.begin() + first, values.begin() + last}; };
  keep(trial.times);
  for (auto& positions : trial.positions) keep(positions);
  return trial;
}

/// One evaluated recording.
class Recording {
 public:
  Recording(const MarkerMotionSpec& spec, const Vector3& up, double end_time, const FileContent& content_of)
      : spec_(spec), up_(up), R_WF_(with_location(spec.where, [&] { return axis_map(spec.axes); })) {
    const auto text = [&](const std::string& file) -> const std::string& {
      return required_content(content_of, file, spec.where, "motion");
    };
    with_location(spec.where, [&] {
      const std::string& template_file = !spec.standing.empty()    ? spec.standing
                                         : !spec.foot_flat.empty() ? spec.foot_flat
                                                                   : spec.markers;
      template_trial_ = rotated(read_trc(text(template_file), template_file), R_WF_);
      dynamic_trial_ = rotated(read_trc(text(spec.markers), spec.markers), R_WF_);
      for (const MarkerTrial* trial : {&template_trial_, &dynamic_trial_}) {
        for (const std::string& text_note : trial->notes) note(text_note);
      }
      whole_trial_ = dynamic_trial_;
      // Gaps and outliers long before and after the run do not concern it. The filter extends over three periods of its
      // cut-off.
      const double margin = 3.0 / spec.cutoff.value_or(12.0) + 2.0 * spec.max_gap;
      dynamic_trial_ = cropped(std::move(dynamic_trial_), spec.start - margin, spec.start + end_time + margin);
      if (!spec.plates.empty()) {
        const MotionTable table = read_motion_table(text(spec.plates), spec.plates);
        for (const std::string& text_note : table.notes) note(text_note);
        plates_ = read_force_plates(table);
      }
      for (ForcePlate& plate : plates_) plate = rotated(plate, R_WF_);
    });
    for (const FootSpec& foot : spec.feet) with_location(foot.where, [&] { track(foot); });
    with_location(spec.where, [&] {
      check_sides();
      find_ground();
      find_steps();
      if (spec_.ground_velocity) check_ground_velocity();
      report_mass();
    });
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

  [[nodiscard]] RecordedLoads loads() const {
    RecordedLoads result{.steps = steps_, .plates = {}};
    for (const ForcePlate& load : loads_) result.plates.push_back(rotated(load, R_WF_.transpose()));
    return result;
  }

  /// Horizontal forces on all feet, in the axes and time base of the files.
  [[nodiscard]] std::vector<ForcePlate> shear(const Vector3& gravity) const {
    std::vector<ForcePlate> forces = with_location(spec_.where, [&] { return forces_of_feet(true, gravity); });
    for (ForcePlate& foot : forces) {
      for (Vector3& force : foot.force) force -= force.dot(up_) * up_;
      foot = rotated(foot, R_WF_.transpose());
    }
    return forces;
  }

  /// Component along `direction` [N] of the force on a foot that the motion of the whole body requires, as a function
  /// of run time.
  /// @param measured  contacts of the feet with plates begin and end with the measured load
  [[nodiscard]] TimeFunctionPtr force_from_motion(const std::string& foot, bool measured, const Vector3& gravity,
                                                  const Vector3& direction) const {
    const auto forces = with_location(spec_.where, [&] { return forces_of_feet(measured, gravity); });
    const auto found = std::ranges::find(forces, foot, &ForcePlate::name);
    std::vector<double> times, values;
    for (std::size_t i = 0; i < found->times.size(); ++i) {
      times.push_back(found->times[i] - spec_.start);
      values.push_back(found->force[i].dot(direction));
    }
    return make_spline(std::move(times), values, 3);
  }

  /// Vertical force on a foot [N] as a function of run time.
  [[nodiscard]] TimeFunctionPtr vertical_force(const std::string& foot, double end_time) const {
    const auto spec = std::ranges::find(spec_.feet, foot, &FootSpec::name);
    const auto plate = std::ranges::find(loads_, spec->columns(), &ForcePlate::name);
    std::vector<double> times, values;
    for (std::size_t i = 0; i < plate->times.size(); ++i) {
      times.push_back(plate->times[i] - spec_.start);
      values.push_back(plate->force[i].dot(up_));
    }
    // Recorded times are rounded; a run may end with the last row.
    constexpr double slack = 1e-3;
    if (spec->finds_plates()) {
      // Times without plates are times without steps on plates.
      constexpr double step = 1e-3;
      for (const double t : {times.front() - step, std::min(times.front(), 0.0) - 2.0 * step}) {
        times.insert(times.begin(), t);
        values.insert(values.begin(), 0.0);
      }
      for (const double t : {times.back() + step, std::max(times.back(), end_time) + 2.0 * step}) {
        times.push_back(t);
        values.push_back(0.0);
      }
    }
    if (times.front() > slack || times.back() < end_time - slack) {
      throw input_error("plates", fmt::format("{}: expected forces in {} that cover the run, {} to {} s of the file, "
                                              "found {} to {} s; change start or analysis.end_time",
                                              spec_.where, spec_.plates, spec_.start, spec_.start + end_time,
                                              plate->times.front(), plate->times.back()));
    }
    return make_spline(std::move(times), values, 3);
  }

 private:
  [[nodiscard]] std::vector<ForcePlate> forces_of_feet(bool measured, const Vector3& gravity) const {
    if (spec_.segments.empty()) {
      throw input_error("segments",
                        "expected `segments` of the whole body for a force from its motion, found none; add "
                        "them");
    }
    if (!(mass_ > 0.0)) {
      throw input_error("body_mass",
                        "expected body_mass, or two successive steps on plates that measure it, found "
                        "neither; add body_mass");
    }
    const WholeBodyOptions options;
    std::vector<FootContacts> feet;
    std::vector<ForcePlate> loads;
    for (const FootSpec& spec : spec_.feet) {
      feet.push_back(foot_contacts(whole_trial_, spec, up_, ground_, options));
      const auto load = std::ranges::find(loads_, spec.columns(), &ForcePlate::name);
      if (!measured || load == loads_.end()) continue;
      use_measured_contacts(feet.back(), stances(*load, up_));
      loads.push_back(*load);
      loads.back().name = spec.name;
    }
    return forces_from_motion(whole_trial_, spec_.segments, mass_, gravity, ground_, feet, loads, options);
  }

  void note(const std::string& text) { notes_.push_back(fmt::format("motion {}: {}", spec_.name, text)); }

  /// The static trial, or the frames that replace it for this foot.
  [[nodiscard]] MarkerTrial standing_trial(const FootSpec& foot) {
    if (!spec_.standing.empty()) return template_trial_;
    FootFlatFrames flat =
        foot_flat_frames(template_trial_, foot.markers, up_, spec_.ground_velocity.value_or(Vector3(Vector3::Zero())));
    std::string spans;
    for (const auto& [from, to] : flat.intervals) {
      spans += fmt::format("{}{:.3f}-{:.3f}", spans.empty() ? "" : ", ", from, to);
    }
    constexpr double degrees = 180.0 / std::numbers::pi;
    note(fmt::format(
        "{}: no static trial: {} foot-flat frames of {} at {} s; standard deviation of pitch {:.2f}, of roll "
        "{:.2f} degrees",
        foot.name, flat.standing.frames(), template_trial_.file_name, spans, degrees * flat.pitch_deviation,
        degrees * flat.roll_deviation));
    return std::move(flat.standing);
  }

  void track(const FootSpec& foot) {
    const MarkerTrial standing = standing_trial(foot);
    feet_.push_back(make_foot_template(standing, foot.markers, up_));
    TrackOptions options{.max_gap = spec_.max_gap,
                         .outliers = {},
                         .outlier_margin = 2,
                         .filter = {},
                         .allow_unseen = foot.finds_plates()};
    if (spec_.cutoff) {
      options.filter = LowPass{.order = spec_.order, .cutoff = *spec_.cutoff, .rate = dynamic_trial_.rate};
    }
    motions_.push_back(track_foot(feet_.back(), dynamic_trial_, options));
    report(foot, motions_.back());
    report_level(foot);
    if (foot.plate.empty() || foot.finds_plates()) {
      report_placement(foot, standing, feet_.back(), std::nullopt);
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
    report_placement(foot, standing, feet_.back(), plate_height(*plate, up_));
    loads_.push_back(*plate);
  }

  /// Notes the landmarks that the surface is registered to.
  void report_placement(const FootSpec& foot, const MarkerTrial& standing, const FootTemplate& shape,
                        std::optional<double> ground) {
    if (foot.registration) return;
    Vector3 heel = Vector3::Zero();
    double n = 0.0;
    for (const Vector3& p : standing.marker(foot.markers.heel)) {
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
    for (const auto& [first, last] : motion.stood_in) {
      note(fmt::format("{}: fewer than three markers of the hindfoot from {:.3f} to {:.3f} s: the pose follows from {}",
                       foot.name, motion.times[first], motion.times[last], fmt::join(foot.markers.stand_in, ", ")));
    }
    for (std::size_t i = 0; i < motion.unseen.size(); ++i) {
      if (!motion.unseen[i]) continue;
      const std::size_t first = i;
      while (i + 1 < motion.unseen.size() && motion.unseen[i + 1]) ++i;
      note(fmt::format("{}: too few markers for a pose from {:.3f} to {:.3f} s: bridged, and no step there is used",
                       foot.name, motion.times[first], motion.times[i]));
    }
    for (const FilledGap& g : motion.gaps) {
      note(fmt::format(
          "{}: marker {} has a gap from {:.3f} to {:.3f} s: {}", foot.name, g.marker, motion.times[g.gap.first],
          motion.times[g.gap.last],
          g.gap.filled ? "filled by a spline" : "too long to be filled; the pose follows from the other markers"));
    }
  }

  /// Notes a static trial on another level than the trial.
  void report_level(const FootSpec& foot) {
    const FootMotion& motion = motions_.back();
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < motion.X_WH.size(); ++i) {
      if (motion.unseen.empty() || !motion.unseen[i]) {
        lowest = std::min(lowest, (motion.X_WH[i].p - feet_.back().X_WH.p).dot(up_));
      }
    }
    // The hindfoot of a walking foot sinks by the deformation of the sole, and by centimetres if it rolls on its heel.
    constexpr double usual = 0.05;  // [m]
    if (std::abs(lowest) < usual) return;
    note(fmt::format(
        "{}: the lowest position of the hindfoot is {:.0f} mm {} that in the static trial: the static trial or "
        "the trial is on a step",
        foot.name, 1e3 * std::abs(lowest), lowest > 0.0 ? "above" : "below"));
  }

  /// A foot's medial side faces the other foot. Names with "right" or "left" are compared with it.
  void check_sides() const {
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      const FootSpec& spec = spec_.feet[f];
      const double medial = side_of_markers(f, spec.markers.toe_medial, spec.markers.toe_lateral);
      const bool is_right = medial > 0.0;  // y of a foot points to the left
      const bool says_right = spec.name.find("right") != std::string::npos;
      const bool says_left = spec.name.find("left") != std::string::npos;
      if ((says_right && !is_right) || (says_left && is_right)) {
        throw input_error(
            "feet",
            fmt::format("{}: foot '{}': expected '{}' on the medial side of '{}', found it on the lateral side of a "
                        "{} foot: the names of the markers of the left and the right foot are swapped, or those "
                        "of the medial and the lateral side",
                        spec_.markers, spec.name, spec.markers.toe_medial, spec.markers.toe_lateral,
                        says_right ? "right" : "left"));
      }
      for (std::size_t g = 0; g < feet_.size() && feet_.size() == 2; ++g) {
        if (g == f) continue;
        const double other = mean_side(f, g);
        constexpr double least = 0.02;  // [m] feet that cross each other on average do not walk
        if (other * medial >= 0.0 || std::abs(other) < least) continue;
        throw input_error(
            "feet",
            fmt::format("{}: expected foot '{}' on the medial side of foot '{}', found it on average {:.0f} mm on its "
                        "lateral side: the markers of left and right are swapped ({} and {})",
                        spec_.markers, spec_.feet[g].name, spec.name, 1e3 * std::abs(other), spec.markers.heel,
                        spec_.feet[g].markers.heel));
      }
      check_cluster(f);
    }
  }

  /// [m] mean of y in the hindfoot's frame of one marker minus that of another, in the trial itself.
  [[nodiscard]] double side_of_markers(std::size_t f, const std::string& marker, const std::string& other) const {
    const auto& a = dynamic_trial_.marker(marker);
    const auto& b = dynamic_trial_.marker(other);
    const auto& heel = dynamic_trial_.marker(spec_.feet[f].markers.heel);
    const auto& tip = dynamic_trial_.marker(spec_.feet[f].markers.toe_tip);
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      // From heel and tip, not from the pose: a fit to swapped markers is meaningless.
      const Vector3 left = up_.cross(tip[i] - heel[i]).normalized();
      const double side = (a[i] - b[i]).dot(left);
      if (std::isfinite(side)) sum += side;
    }
    return sum;
  }

  /// [m] mean of the position of foot g to the left of foot f.
  [[nodiscard]] double mean_side(std::size_t f, std::size_t g) const {
    double sum = 0.0, n = 0.0;
    for (std::size_t i = 0; i < motions_[f].X_WH.size(); ++i) {
      Vector3 forward = motions_[f].X_WH[i].R.col(0);
      forward -= forward.dot(up_) * up_;
      sum += (motions_[g].X_WH[i].p - motions_[f].X_WH[i].p).dot(up_.cross(forward).normalized());
      n += 1.0;
    }
    return n > 0.0 ? sum / n : 0.0;
  }

  /// Markers that fit the template of the other foot, a mirror image, better than their own.
  void check_cluster(std::size_t f) const {
    for (std::size_t g = 0; g < feet_.size(); ++g) {
      if (g == f || feet_[g].hindfoot_H.size() != feet_[f].hindfoot_H.size()) continue;
      double own = 0.0, other = 0.0, n = 0.0;
      for (std::size_t i = 0; i < dynamic_trial_.frames(); ++i) {
        std::vector<Vector3> measured;
        for (const std::string& name : spec_.feet[f].markers.hindfoot)
          measured.push_back(dynamic_trial_.marker(name)[i]);
        if (!std::ranges::all_of(measured, is_seen)) continue;
        own += std::pow(cluster_fit(feet_[f].hindfoot_H, measured, {}).rms, 2);
        other += std::pow(cluster_fit(feet_[g].hindfoot_H, measured, {}).rms, 2);
        n += 1.0;
      }
      constexpr double clear = 0.005;  // [m] rms beyond bending and skin
      if (n == 0.0 || std::sqrt(own / n) < clear || other > 0.25 * own) continue;
      throw input_error(
          "feet",
          fmt::format("{}: expected the markers of foot '{}' in the places of its template, found {:.1f} mm rms, and "
                      "{:.1f} mm in those of foot '{}': the markers of left and right are swapped ({} and {})",
                      spec_.markers, spec_.feet[f].name, 1e3 * std::sqrt(own / n), 1e3 * std::sqrt(other / n),
                      spec_.feet[g].name, spec_.feet[f].markers.heel, spec_.feet[g].markers.heel));
    }
  }

  /// Loads of the feet whose plates are searched.
  void find_steps() {
    if (std::ranges::none_of(spec_.feet, &FootSpec::finds_plates)) return;
    std::vector<SteppingFoot> feet;
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      feet.push_back({.name = spec_.feet[f].name, .shape = &feet_[f], .motion = &motions_[f]});
    }
    steps_ = find_plate_steps(plates_, feet, up_);
    for (const ForcePlate& plate : plates_) {
      if (std::ranges::find(steps_, plate.name, &PlateStep::plate) == steps_.end()) {
        note(fmt::format("plate {}: not loaded during the run", plate.name));
      }
    }
    bool any = false;
    std::string findings;
    for (const PlateStep& step : steps_) {
      any = any || step.is_used();
      const std::string text =
          fmt::format("plate {}, {:.3f} to {:.3f} s: {}", step.plate, step.stance.start, step.stance.end,
                      step.is_used() ? "foot '" + step.foot + "'" : "not used: " + step.finding);
      note(text);
      findings += "\n  " + text;
    }
    if (!any) {
      throw input_error("plates", fmt::format("{}: expected a step of one foot on a plate during the run, found {}{}",
                                              spec_.plates, steps_.empty() ? "no loaded plate" : "none:", findings));
    }
    std::vector<ForcePlate> loads;
    for (const FootSpec& foot : spec_.feet) {
      if (foot.finds_plates()) {
        loads.push_back(foot_load(plates_, steps_, foot.name, foot.columns(), up_));
      } else if (const auto own = std::ranges::find(loads_, foot.plate, &ForcePlate::name); own != loads_.end()) {
        loads.push_back(*own);
      }
    }
    loads_ = std::move(loads);
  }

  void report_mass() {
    mass_ = spec_.body_mass.value_or(0.0);
    if (plates_.empty()) return;
    const auto found = estimate_body_mass(plates_, up_);
    if (!found) return;
    if (!spec_.body_mass) mass_ = found->mass;
    const std::string basis =
        found->n_steps == 0 ? std::string("mean over the file")
                            : fmt::format("{} steps, standard deviation {:.1f} kg", found->n_steps, found->deviation);
    if (!spec_.body_mass) {
      if (found->n_steps > 0) note(fmt::format("body mass {:.1f} kg from the plates ({})", found->mass, basis));
      return;
    }
    constexpr double tolerance = 0.05;  // [-] a step of unsteady walking differs by a few percent
    const bool fits = std::abs(found->mass / *spec_.body_mass - 1.0) < tolerance;
    note(fmt::format("body mass {:.1f} kg, from the plates {:.1f} kg ({}){}", *spec_.body_mass, found->mass, basis,
                     fits ? "" : ": they do not fit; correct body_mass, or scale the forces"));
  }

  /// A ground velocity that the standing feet contradict: a treadmill without its speed, or a wrong sign.
  void check_ground_velocity() const {
    std::vector<double> errors;
    Vector3 sum = Vector3::Zero();
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      const auto load = std::ranges::find(loads_, spec_.feet[f].columns(), &ForcePlate::name);
      if (load == loads_.end()) continue;
      for (const Stance& stance : stances(*load, up_)) {
        // After the foot is flat and before the heel rises.
        const auto from = frame_at(motions_[f], stance.start + 0.25 * stance.duration());
        const auto to = frame_at(motions_[f], stance.start + 0.50 * stance.duration());
        if (!stance.complete() || !from || !to || *to <= *from) continue;
        const FootMotion& motion = motions_[f];
        Vector3 v = (motion.X_WH[*to].p - motion.X_WH[*from].p) / (motion.times[*to] - motion.times[*from]);
        v -= v.dot(up_) * up_;
        errors.push_back((v - ground_).norm());
        sum += v;
      }
    }
    if (errors.empty()) return;
    std::ranges::nth_element(errors, errors.begin() + std::ssize(errors) / 2);
    constexpr double tolerance = 0.2;  // [m/s] walking is faster; an ankle over a rolling foot moves by less than 0.1
    if (errors[errors.size() / 2] < tolerance) return;
    const Vector3 found = sum / static_cast<double>(errors.size());
    throw input_error(
        "ground_velocity",
        fmt::format("{}: expected feet on the plates that move with the ground at [{:.3f}, {:.3f}, {:.3f}] "
                    "m/s, found [{:.3f}, {:.3f}, {:.3f}] m/s ({} stances): a treadmill without its speed; "
                    "correct ground_velocity or remove it",
                    spec_.markers, ground_.x(), ground_.y(), ground_.z(), found.x(), found.y(), found.z(),
                    errors.size()));
  }

  /// The frame nearest to a time; none outside of the trial and in frames without a pose.
  [[nodiscard]] static std::optional<std::size_t> frame_at(const FootMotion& motion, double t) {
    if (t < motion.times.front() || t > motion.times.back()) return std::nullopt;
    const auto i = static_cast<std::size_t>(std::ranges::lower_bound(motion.times, t) - motion.times.begin());
    if (!motion.unseen.empty() && motion.unseen[i]) return std::nullopt;
    return i;
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
  MarkerTrial template_trial_;  ///< static, or with foot-flat frames
  MarkerTrial dynamic_trial_;
  MarkerTrial whole_trial_;  ///< not cropped: slow filters of the whole body
  double mass_ = 0.0;        ///< [kg] 0 = unknown
  std::vector<ForcePlate> plates_;
  std::vector<PlateStep> steps_;
  std::vector<ForcePlate> loads_;  ///< of the feet with plates
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

RecordedLoads recorded_loads(const MarkerMotionSpec& spec, const Vector3& gravity, double end_time,
                             const FileContent& content_of) {
  return Recording(spec, -gravity.normalized(), end_time, content_of).loads();
}

std::vector<ForcePlate> shear_from_motion(const MarkerMotionSpec& spec, const Vector3& gravity, double end_time,
                                          const FileContent& content_of) {
  return Recording(spec, -gravity.normalized(), end_time, content_of).shear(gravity);
}

bool is_frictionless(const Scenario& scenario, const std::vector<std::string>& bodies) {
  return std::ranges::none_of(scenario.pairs, [&](const PairModel& pair) {
    const auto is_one = [&](const std::string& body) { return std::ranges::find(bodies, body) != bodies.end(); };
    if (!is_one(pair.main_body) && !is_one(pair.partner_body)) return false;
    const auto friction = pair.spec.parameters.find("friction");
    if (friction == pair.spec.parameters.end()) return false;
    const double* value = std::get_if<double>(&friction->second);
    return value != nullptr && *value > 0.0;
  });
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
    const Recording recording(spec, -scenario.gravity / g, scenario.analysis.end_time, content_of);
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
      const Vector3 up = -scenario.gravity / g;
      if (const auto parts = parts_of(balance.shear);
          parts.front() == spec.name && !is_frictionless(scenario, balance.bodies)) {
        for (Eigen::Index c = 0; c < 3; ++c) {
          const Vector3 axis = Vector3::Unit(c) - up[c] * up;
          balance.shear_force[static_cast<std::size_t>(c)] =
              recording.force_from_motion(parts.back(), !balance.from_motion, scenario.gravity, axis);
        }
      }
      const auto parts = parts_of(balance.plate);
      if (parts.front() == spec.name && balance.from_motion) {
        balance.force.function = recording.force_from_motion(parts.back(), false, scenario.gravity, up);
      } else if (parts.front() == spec.name) {
        balance.force.function = recording.vertical_force(parts.back(), scenario.analysis.end_time);
      }
    }
  }
}

}  // namespace heelstrike
