#include "report/feet.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "gait/axes_and_units.hpp"
#include "gait/marker_drivers.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"

namespace heelstrike::report {
namespace {

/// True if two bodies have the same shape, irrespective of its placement.
bool same_shape(const Surface& a, const Surface& b) {
  if (const auto foot = FootSurface::of(a), other = FootSurface::of(b); foot && other) {
    return foot->right == other->right && foot->dimensions == other->dimensions;
  }
  if (const auto mesh = MeshSurface::of(a), other = MeshSurface::of(b); mesh && other) {
    return mesh->asset_name == other->asset_name && mesh->sha256 == other->sha256 &&
           mesh->length_scale == other->length_scale;
  }
  return false;
}

/// MOTION.FOOT that the main body follows; empty = none.
std::string followed_foot(const Scenario& scenario, const PairModel& pair) {
  const std::string part = followed_segment(scenario, pair.main_body);
  const auto dot = part.rfind('.');
  // A name without a second dot is the ground.
  return dot == std::string::npos || part.find('.') == dot ? std::string() : part.substr(0, dot);
}

/// A foot and its first pair.
struct Group {
  Foot foot;
  const PairModel* first = nullptr;
  bool follows = false;
};

bool belongs(const Group& group, const PairModel& pair, const std::string& followed) {
  if (!followed.empty() || group.follows) return group.follows && group.foot.name == followed;
  return is_cut(pair) && is_cut(*group.first) && same_shape(pair.spec.main.surface, group.first->spec.main.surface);
}

/// Force plate and axes of a recorded foot.
struct Plate {
  const MarkerMotionSpec* motion = nullptr;
  const ForcePlate* plate = nullptr;
};

Plate plate_of(const Scenario& scenario, const std::string& foot, const std::vector<ForcePlate>& measured) {
  for (const MarkerMotionSpec& motion : scenario.motions) {
    for (const FootSpec& spec : motion.feet) {
      if (motion.name + "." + spec.name != foot) continue;
      const auto plate = std::ranges::find(measured, spec.columns(), &ForcePlate::name);
      if (plate != measured.end()) return {.motion = &motion, .plate = &*plate};
    }
  }
  return {};
}

/// Columns may be missing in an incomplete run or a run of another version.
bool has_forces(const TimeSeries& series, const Foot& foot) {
  return std::ranges::all_of(foot.parts, [&](const LoadedPart& part) {
    return std::ranges::all_of(std::string_view("xyz"), [&](char axis) {
      return std::ranges::find(series.columns, part.pair + ".f" + axis + "_N") != series.columns.end();
    });
  });
}

}  // namespace

bool is_cut(const PairModel& pair) {
  return pair.spec.parameters.contains("body_box");
}

Pose surface_placement(const Surface& surface) {
  Pose X_BS;
  if (const auto foot = FootSurface::of(surface)) X_BS.p = foot->ankle;
  if (const auto mesh = MeshSurface::of(surface)) X_BS = mesh->X_BodyMesh;
  return X_BS;
}

std::vector<Foot> feet_of(const Scenario& scenario) {
  std::vector<Group> groups;
  for (const PairModel& pair : scenario.pairs) {
    const std::string followed = followed_foot(scenario, pair);
    auto group = std::ranges::find_if(groups, [&](const Group& g) { return belongs(g, pair, followed); });
    if (group == groups.end()) {
      const bool follows = !followed.empty();
      const std::string label = follows ? followed.substr(followed.rfind('.') + 1) : pair.main_body;
      group = groups.insert(groups.end(),
                            {.foot = {.name = follows ? followed : pair.spec.name, .label = label, .parts = {}},
                             .first = &pair,
                             .follows = follows});
    }
    const Pose X_FS = surface_placement(group->first->spec.main.surface);
    group->foot.parts.push_back({.pair = pair.spec.name,
                                 .body = pair.main_body,
                                 .X_FB = X_FS * surface_placement(pair.spec.main.surface).inverse()});
  }
  std::vector<Foot> feet;
  for (Group& group : groups) feet.push_back(std::move(group.foot));
  return feet;
}

std::vector<FootForce> foot_forces(const Scenario& scenario, const TimeSeries& series,
                                   const std::vector<ForcePlate>& measured) {
  std::vector<FootForce> forces;
  if (series.rows() == 0) return forces;
  for (const Foot& foot : feet_of(scenario)) {
    const Plate plate = plate_of(scenario, foot.name, measured);
    if ((foot.parts.size() < 2 && plate.plate == nullptr) || !has_forces(series, foot)) continue;
    FootForce& total = forces.emplace_back();
    total.label = foot.label;
    total.times = series.column(series.columns[0]);
    total.force.assign(series.rows(), Vector3::Zero());
    for (const LoadedPart& part : foot.parts) {
      for (int k = 0; k < 3; ++k) {
        const auto column = series.column(part.pair + ".f" + "xyz"[k] + "_N");
        for (std::size_t i = 0; i < column.size(); ++i) total.force[i][k] += column[i];
      }
    }
    if (plate.plate == nullptr) continue;
    const ForcePlate rotated_plate = rotated(*plate.plate, axis_map(plate.motion->axes));
    total.measured = rotated_plate.force;
    for (const double t : rotated_plate.times) total.measured_times.push_back(t - plate.motion->start);
  }
  return forces;
}

}  // namespace heelstrike::report
