#include "mbs_server/elements/joints/joint_type.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

config::KeySchema reactions_key() {
  return {.name = "reactions",
          .kind = config::KeyKind::flag,
          .meaning = "write the joint's force and torque on b, at the joint's point, in the world",
          .fallback = false};
}

/// Keys of a joint that may open.
std::vector<config::KeySchema> unilateral_keys(const std::string& unilateral_meaning) {
  return {{.name = "unilateral",
           .kind = config::KeyKind::flag,
           .meaning = unilateral_meaning + "; the joint pushes and never pulls, opens when its force changes sign, "
                                           "and closes with an impact; adds NAME.gap_m and NAME.force_N to the "
                                           "time series",
           .fallback = false},
          config::number("restitution", "-", {.min = 0.0, .max = 1.0},
                         "separation over approach velocity (Newton's law) of a unilateral joint", 0),
          config::number("restitution_threshold", "m/s", {.min = 0.0, .max = config::speeds.max},
                         "slower approaches of a unilateral joint end without rebound", 0.001)};
}

void check_unilateral(const config::Field& field, const Scenario& scenario) {
  if (!field["unilateral"].flag()) {
    if (field["restitution"].number() == 0.0) return;
    field["restitution"].reject("a unilateral joint", "a bilateral joint", "add unilateral: true, or omit restitution");
  }
  if (scenario.analysis.traits.finds_events) return;
  field["unilateral"].reject("a forward analysis, which locates the opening of joints", scenario.analysis.type,
                             "omit unilateral if the joint always pushes");
}

}  // namespace

std::function<JointEquations(const JointSpec&, const WorldFrames&)> always(JointEquations equations) {
  return [equations = std::move(equations)](const JointSpec&, const WorldFrames&) { return equations; };
}

JointType quadratic_joint_type(const QuadraticJoint& description) {
  JointType type;
  type.name = description.name;
  type.meaning = description.meaning;
  type.coordinates = description.coordinates;
  type.keys = config::attachment_keys(description.holds);
  type.keys.insert(type.keys.end(), description.keys.begin(), description.keys.end());
  type.keys.push_back(reactions_key());
  if (!description.unilateral_meaning.empty()) {
    const auto keys = unilateral_keys(description.unilateral_meaning);
    type.keys.insert(type.keys.end(), keys.begin(), keys.end());
    type.check = check_unilateral;
  }
  type.build = [description](const JointSpec& spec, const Model& model) {
    const WorldFrames frames = world_frames(model, spec);
    if (description.check_frames) description.check_frames(spec, frames);
    const Ends ends = ends_at(model, spec, frames);
    const JointEquations equations = description.equations(spec, frames);
    if (description.unilateral_meaning.empty() || !spec.keys["unilateral"].flag()) {
      return quadratic_joint(spec.name, ends.a, ends.b, equations);
    }
    return unilateral_joint(spec.name, ends.a, ends.b, equations,
                            {.restitution = spec.keys["restitution"].number(),
                             .restitution_threshold = spec.keys["restitution_threshold"].number()});
  };
  return type;
}

}  // namespace heelstrike::mbs
