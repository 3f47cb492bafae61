#include "common/config/keys.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {
namespace {

config::KeySchema reactions_key() {
  return {.name = "reactions",
          .kind = config::KeyKind::flag,
          .meaning = "write the joint's force and torque on b, at the joint's point, in the world",
          .fallback = "false"};
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
  type.build = [description](const JointSpec& spec, const Model& model) {
    const WorldFrames frames = world_frames(model, spec);
    if (description.check_frames) description.check_frames(spec, frames);
    const Ends ends = ends_at(model, spec, frames);
    return quadratic_joint(spec.name, ends.a, ends.b, description.equations(spec, frames));
  };
  return type;
}

}  // namespace heelstrike::mbs
