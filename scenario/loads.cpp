#include "scenario/sections.hpp"

#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

KeySchema load_keys() {
  return {.name = "loads",
          .kind = KeyKind::named,
          .meaning = "forces and torques on bodies, by name: constants, functions of time, or their sum",
          .keys = {
              required(text("body", "name of the body it acts on")),
              vector3("force", "N", loads, "constant force"),
              vector3("torque", "N m", loads, "constant torque"),
              function_keys("fx", "N", "x component added to the constant force"),
              function_keys("fy", "N", "y component added to the constant force"),
              function_keys("fz", "N", "z component added to the constant force"),
              function_keys("tx", "N m", "x component added to the constant torque"),
              function_keys("ty", "N m", "y component added to the constant torque"),
              function_keys("tz", "N m", "z component added to the constant torque"),
              vector3("point", "m", coordinates, "point of application of the force in the body's frame"),
              {.name = "frame",
               .kind = KeyKind::text,
               .meaning = "axes of force and torque: fixed in the world or in the body",
               .fallback = "world",
               .choices = {"world", "body"}},
          }};
}

LoadSpec read_load(const Field& field, Scenario& scenario) {
  LoadSpec load{.name = field.name(),
                .body = read_body_name(field["body"], scenario.bodies, false),
                .force = field["force"].vector3(),
                .torque = field["torque"].vector3(),
                .point = field["point"].vector3(),
                .body_fixed = field["frame"].text() == "body",
                .functions = {}};
  for (const char* key : {"fx", "fy", "fz", "tx", "ty", "tz"}) {
    if (!field.has(key)) continue;
    load.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  return load;
}

}  // namespace heelstrike::config
