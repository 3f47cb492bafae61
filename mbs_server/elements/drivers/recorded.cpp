#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

void read_recorded_driver(const config::Field& field, DriverSpec& driver, Scenario& scenario) {
  if (field.has("body")) {
    driver.body = config::read_body_name(field["body"], scenario.bodies, false);
  } else {
    driver.joint =
        read_joint_name(
            field["joint"], scenario, [](const JointCoordinates& c) { return c.angle || c.displacement || c.rotation; },
            "a coordinate to be driven")
            .name;
  }
  const config::Field record = field["recorded"];
  driver.record = {.file = record["name"].text(),
                   .time_column = record.text_or("time"),
                   .where = config::location_of(record),
                   .bodies = {}};
  config::add_file(scenario.files, driver.record.file);
}

std::vector<Driver> build_recorded_driver(const DriverSpec& spec, const Model& model) {
  const std::vector<BodyRecordPtr>& records = resolved(spec.record);
  if (spec.joint.empty()) {
    const BodyIndex body = find_body(model, spec.body, "drivers." + spec.name + ".body");
    return {{.name = spec.name, .make = [name = spec.name, body, record = records[0]](const auto&) {
               return drive_recorded_body(name, body, record);
             }}};
  }
  return {{.name = spec.name,
           .make = [name = spec.name, joint = find_joint(model, spec.joint), a = records[0],
                    b = records[1]](const auto&) { return drive_recorded_joint(name, joint, a, b); }}};
}

/// A key of which exactly one alternative is given.
config::KeySchema either(config::KeySchema key) {
  key.form = key.name;
  key.required = true;
  return key;
}

}  // namespace

DriverType recorded_driver() {
  DriverType type;
  type.name = "recorded";
  type.meaning = "all coordinates of a joint, or a body's whole pose, follow a recorded table";
  type.keys = {
      either(config::text("joint", "the driven joint")), either(config::text("body", "the driven body")),
      config::required(
          {.name = "recorded",
           .kind = config::KeyKind::map,
           .meaning = "instead of functions: all coordinates of the joint (also spherical), or the body's whole "
                      "pose, follow a table that a run (timeseries.csv, kinematics.sto) or a measurement recorded",
           .keys = {config::required(
                        config::text("name",
                                     "the table, relative to the scenario file; columns BODY.x_m, y_m, z_m, BODY.qw, "
                                     "qx, qy, qz, and optionally BODY.vx_m_s, wx_rad_s, ax_m_s2, alphax_rad_s2 "
                                     "and so on, all in the world; units in the headings may be omitted")),
                    config::text("time", "heading of the column with the times [s]; default `time_s` or `time`")}})};
  type.read = read_recorded_driver;
  type.build = build_recorded_driver;
  return type;
}

}  // namespace heelstrike::mbs
