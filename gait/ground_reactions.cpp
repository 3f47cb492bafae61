#include "gait/ground_reactions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/errors/error.hpp"
#include "gait/axes_and_units.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_drivers.hpp"

namespace heelstrike {
namespace {

std::vector<Vector3> vectors(const TimeSeries& series, const std::string& stem, const std::string& unit) {
  const auto x = series.column(stem + "x" + unit), y = series.column(stem + "y" + unit),
             z = series.column(stem + "z" + unit);
  std::vector<Vector3> result;
  for (std::size_t i = 0; i < x.size(); ++i) result.emplace_back(x[i], y[i], z[i]);
  return result;
}

/// Load on a foot about the world origin.
struct FootLoad {
  std::vector<Vector3> force, moment;
};

void add_pair(const TimeSeries& series, const PairModel& pair, double sign, FootLoad& load) {
  const auto force = vectors(series, pair.spec.name + ".f", "_N");
  const auto torque = vectors(series, pair.spec.name + ".t", "_Nm");
  std::vector<Vector3> origin(force.size(), Vector3::Zero());
  if (pair.main_body != "ground") origin = vectors(series, pair.main_body + ".", "_m");
  for (std::size_t i = 0; i < force.size(); ++i) {
    load.force[i] += sign * force[i];
    load.moment[i] += sign * (torque[i] + origin[i].cross(force[i]));
  }
}

FootLoad load_on(const Scenario& scenario, const TimeSeries& series, const std::string& motion,
                 const std::string& foot) {
  const auto is_foot = [&](const std::string& body) {
    return followed_segment(scenario, body).starts_with(motion + "." + foot + ".");
  };
  FootLoad load{.force = std::vector<Vector3>(series.rows(), Vector3::Zero()),
                .moment = std::vector<Vector3>(series.rows(), Vector3::Zero())};
  for (const PairModel& pair : scenario.pairs) {
    // Contact between segments of one foot is not ground contact.
    if (is_foot(pair.main_body) == is_foot(pair.partner_body)) continue;
    add_pair(series, pair, is_foot(pair.main_body) ? 1.0 : -1.0, load);
  }
  return load;
}

/// Adds the shear that the motion of the whole body requires to a loaded foot whose contact has no friction. It acts at
/// the centre of pressure on the ground, so that it changes neither this nor the free moment.
void add_shear(const Scenario& scenario, const MarkerMotionSpec& motion, const std::string& foot,
               const std::vector<double>& file_times, const Matrix3& R_WF, const FileContent& content_of, double ground,
               FootLoad& load) {
  for (const BalanceSpec& balance : scenario.analysis.balance) {
    if (balance.shear != motion.name + "." + foot || !is_frictionless(scenario, balance.bodies)) continue;
    const auto forces = shear_from_motion(motion, scenario.gravity, scenario.analysis.end_time, content_of);
    const auto own = std::ranges::find(forces, foot, &ForcePlate::name);
    const Vector3 up = -scenario.gravity.normalized();
    for (std::size_t i = 0; i < load.force.size(); ++i) {
      const double vertical = load.force[i].dot(up);
      if (!(vertical > 0.0)) continue;
      const Vector3 origin = ground * up;
      const Vector3 point =
          center_of_pressure(load.force[i], load.moment[i] - origin.cross(load.force[i]), origin, up).point;
      const Vector3 shear = R_WF * interpolated(own->times, own->force, file_times[i]);
      load.force[i] += shear;
      load.moment[i] += point.cross(shear);
    }
  }
}

/// The body of OpenSim's gait models that carries the load of a foot.
std::string opensim_body(const std::string& foot) {
  if (foot.find("right") != std::string::npos) return "calcn_r";
  if (foot.find("left") != std::string::npos) return "calcn_l";
  return foot;
}

ForcePlate as_plate(const FootLoad& load, const ForcePlate& measured, const Vector3& up) {
  ForcePlate plate{.name = measured.name, .times = {}, .force = load.force, .point = {}, .moment = {}};
  const Vector3 origin = plate_height(measured, up).value_or(0.0) * up;
  for (std::size_t i = 0; i < load.force.size(); ++i) {
    if (!(load.force[i].dot(up) > 0.0)) {
      plate.point.emplace_back(Vector3::Zero());
      plate.moment.emplace_back(Vector3::Zero());
      continue;
    }
    const auto center = center_of_pressure(load.force[i], load.moment[i] - origin.cross(load.force[i]), origin, up);
    plate.point.push_back(center.point);
    plate.moment.emplace_back(center.free_moment * up);
  }
  return plate;
}

}  // namespace

std::vector<ForcePlate> measured_loads(const Scenario& scenario, const MarkerMotionSpec& motion,
                                       const FileContent& content_of) {
  if (motion.plates.empty()) return {};
  // Only steps that are searched need the markers.
  if (std::ranges::any_of(motion.feet, &FootSpec::finds_plates)) {
    return recorded_loads(motion, scenario.gravity, scenario.analysis.end_time, content_of).plates;
  }
  std::vector<ForcePlate> plates;
  for (ForcePlate& plate : read_force_plates(read_motion_table(*content_of(motion.plates), motion.plates))) {
    const bool used = std::ranges::find(motion.feet, plate.name, &FootSpec::plate) != motion.feet.end();
    if (used) plates.push_back(std::move(plate));
  }
  return plates;
}

std::string ground_reactions(const Scenario& scenario, const TimeSeries& series, const FileContent& content_of) {
  std::vector<ForcePlate> plates;
  std::vector<double> times = series.column("time_s");
  for (const MarkerMotionSpec& motion : scenario.motions) {
    if (motion.plates.empty()) continue;
    const Matrix3 R_WF = axis_map(motion.axes);
    const Vector3 up = -scenario.gravity.normalized();
    const auto measured = measured_loads(scenario, motion, content_of);
    if (plates.empty()) std::ranges::for_each(times, [&](double& t) { t += motion.start; });
    for (const FootSpec& foot : motion.feet) {
      const auto plate = std::ranges::find(measured, foot.columns(), &ForcePlate::name);
      if (foot.plate.empty() || plate == measured.end()) continue;
      FootLoad load = load_on(scenario, series, motion.name, foot.name);
      add_shear(scenario, motion, foot.name, times, R_WF, content_of,
                plate_height(rotated(*plate, R_WF), up).value_or(0.0), load);
      plates.push_back(rotated(as_plate(load, rotated(*plate, R_WF), up), R_WF.transpose()));
    }
    // A second recording has a different time base.
    if (!plates.empty()) break;
  }
  return plates.empty() ? std::string() : plates_text(plates, times, "ground_reactions");
}

PrescribedLoads find_prescribed_loads(const Scenario& scenario) {
  PrescribedLoads given{.plates = {}, .interval = scenario.output.interval};
  for (const BalanceSpec& balance : scenario.analysis.balance) {
    for (const MarkerMotionSpec& motion : scenario.motions) {
      for (const FootSpec& foot : motion.feet) {
        const std::string name = motion.name + "." + foot.name;
        const bool carries = std::ranges::any_of(balance.bodies, [&](const std::string& body) {
          return followed_segment(scenario, body).starts_with(name + ".");
        });
        if (balance.from_motion) continue;
        if (!foot.plate.empty() && (balance.plate == name || carries)) given.plates.push_back(foot.columns());
      }
    }
  }
  return given;
}

GroundPath ground_path(const Scenario& scenario, const TimeSeries& series) {
  GroundPath path;
  for (const MarkerMotionSpec& motion : scenario.motions) {
    for (const BodySpec& body : scenario.bodies) {
      if (followed_segment(scenario, body.name) != motion.name + ".ground") continue;
      const Matrix3 R_FW = axis_map(motion.axes).transpose();
      path.times = series.column("time_s");
      std::ranges::for_each(path.times, [&](double& t) { t += motion.start; });
      for (const Vector3& p : vectors(series, body.name + ".", "_m")) path.position.push_back(R_FW * p);
      return path;
    }
  }
  return path;
}

std::string measured_reactions(const Scenario& scenario, const TimeSeries& series, const FileContent& content_of) {
  if (series.rows() == 0) return {};
  const std::vector<double> run_times = series.column("time_s");
  for (const MarkerMotionSpec& motion : scenario.motions) {
    if (motion.plates.empty()) continue;
    std::vector<ForcePlate> plates = measured_loads(scenario, motion, content_of);
    if (plates.empty()) continue;
    const auto& times = plates.front().times;
    const auto from = std::ranges::lower_bound(times, run_times.front() + motion.start);
    const auto to = std::ranges::upper_bound(times, run_times.back() + motion.start);
    const auto cut = [&](std::vector<Vector3>& values) {
      values = {values.begin() + (from - times.begin()), values.begin() + (to - times.begin())};
    };
    const std::vector<double> kept(from, to);
    for (ForcePlate& plate : plates) {
      for (auto* values : {&plate.force, &plate.point, &plate.moment}) cut(*values);
    }
    return kept.empty() ? std::string() : plates_text(plates, kept, "ground_reactions");
  }
  return {};
}

std::string plate_steps(const Scenario& scenario, const FileContent& content_of) {
  for (const MarkerMotionSpec& motion : scenario.motions) {
    if (std::ranges::none_of(motion.feet, &FootSpec::finds_plates)) continue;
    return plate_steps_text(recorded_loads(motion, scenario.gravity, scenario.analysis.end_time, content_of).steps);
  }
  return {};
}

std::string external_loads(const Scenario& scenario) {
  std::string loads;
  for (const MarkerMotionSpec& motion : scenario.motions) {
    if (motion.plates.empty()) continue;
    for (const FootSpec& foot : motion.feet) {
      if (foot.plate.empty()) continue;
      const std::string name = foot.columns();
      std::string torque = name;
      torque.replace(torque.find("ground_force"), std::string("ground_force").size(), "ground_torque");
      loads += fmt::format(R"(      <ExternalForce name="{0}">
        <applied_to_body>{1}</applied_to_body>
        <force_expressed_in_body>ground</force_expressed_in_body>
        <point_expressed_in_body>ground</point_expressed_in_body>
        <force_identifier>{2}_v</force_identifier>
        <point_identifier>{2}_p</point_identifier>
        <torque_identifier>{3}_</torque_identifier>
        <data_source_name>{4}</data_source_name>
      </ExternalForce>
)",
                           foot.name, opensim_body(foot.name), name, torque, ground_reactions_file);
    }
    break;
  }
  if (loads.empty()) return {};
  return fmt::format(R"(<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40000">
  <ExternalLoads name="ground_reactions">
    <objects>
{}    </objects>
    <groups />
    <datafile>{}</datafile>
  </ExternalLoads>
</OpenSimDocument>
)",
                     loads, ground_reactions_file);
}

}  // namespace heelstrike
