#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

KeySchema joint_keys(const Catalog& catalog) {
  KeySchema type = required(text("type", "kind of joint"));
  return {.name = "joints",
          .kind = KeyKind::named,
          .meaning =
              "joints by name; points and axes are given in the world at the initial poses (`point`, `axis`), or in "
              "the frame of each body (`points`, `axes`)",
          .keys = {variant_of(std::move(type), catalog.joints)}};
}

JointSpec read_joint(const Field& field, const std::shared_ptr<const Document>& document, const Scenario& scenario,
                     const Catalog& catalog) {
  JointSpec joint{read_element(field, document, scenario)};
  const JointSchema& type = type_named(catalog.joints, joint.type);
  joint.coordinates = type.coordinates;
  joint.reactions = field.has("reactions") && field["reactions"].flag();
  if (type.check) type.check(field, scenario);
  return joint;
}

}  // namespace heelstrike::config
