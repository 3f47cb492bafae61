#include "common/config/sections/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/config/keys.hpp"

namespace heelstrike::config {

namespace {

KeyUse driver_keys_of(const Field& field, const Scenario& scenario) {
  if (field.has("body")) return {.needed = {"body"}, .allowed = {"x", "y", "z", "rx", "ry", "rz"}};
  if (!field.has("joint")) return {.needed = {"joint"}, .allowed = {}};
  const auto joint = std::ranges::find(scenario.joints, field["joint"].text(), &JointSpec::name);
  if (joint != scenario.joints.end()) {
    if (joint->type == "revolute") return {.needed = {"joint", "angle"}, .allowed = {}};
    if (joint->type == "prismatic") return {.needed = {"joint", "displacement"}, .allowed = {}};
    if (joint->type == "cylindrical") return {.needed = {"joint"}, .allowed = {"angle", "displacement"}};
  }
  std::vector<std::string> names;
  for (const auto& other : scenario.joints) names.push_back(other.name);
  const auto near = nearest_name(field["joint"].text(), names);
  field["joint"].refuse(
      "the name of a revolute, prismatic or cylindrical joint", fmt::format("'{}'", excerpt(field["joint"].text())),
      near && joint == scenario.joints.end() ? fmt::format("did you mean '{}'?", *near) : "choose such a joint");
}

/// MOTION.FOOT.SEGMENT or MOTION.ground
std::vector<std::string> followable(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& motion : scenario.motions) {
    for (const auto& foot : motion.feet) {
      for (const char* segment : {"hindfoot", "toes"}) {
        names.push_back(fmt::format("{}.{}.{}", motion.name, foot.name, segment));
      }
    }
    names.push_back(motion.name + ".ground");
  }
  return names;
}

DriverSpec read_following_driver(const Field& field, DriverSpec driver, const Scenario& scenario) {
  check_keys(field, "driver that follows a recording", {.needed = {"body", "follow"}, .allowed = {}}, {});
  driver.body = read_body_name(field["body"], scenario.bodies, false);
  driver.follow = field["follow"].text();
  const auto names = followable(scenario);
  if (std::ranges::find(names, driver.follow) == names.end()) {
    const auto near = nearest_name(driver.follow, names);
    field["follow"].refuse(
        names.empty() ? "a recording in the section `motion`" : fmt::format("one of {}", fmt::join(names, ", ")),
        fmt::format("'{}'", excerpt(driver.follow)),
        near ? fmt::format("did you mean '{}'?", *near) : "name one of these");
  }
  return driver;
}

/// A driver whose motion is in a table of recorded poses.
DriverSpec read_recorded_driver(const Field& field, DriverSpec driver, Scenario& scenario) {
  const bool of_body = field.has("body");
  check_keys(field, "recorded motion", {.needed = {of_body ? "body" : "joint", "recorded"}, .allowed = {}}, {});
  if (of_body) {
    driver.body = read_body_name(field["body"], scenario.bodies, false);
  } else {
    const auto joint = std::ranges::find(scenario.joints, driver.joint, &JointSpec::name);
    const bool driven = joint != scenario.joints.end() && (joint->type == "revolute" || joint->type == "prismatic" ||
                                                           joint->type == "cylindrical" || joint->type == "spherical");
    if (!driven) {
      field["joint"].refuse("the name of a revolute, prismatic, cylindrical or spherical joint",
                            fmt::format("'{}'", excerpt(driver.joint)), "choose such a joint");
    }
  }
  const Field record = field["recorded"];
  driver.record = {
      .file = record["name"].text(), .time_column = record.text_or("time"), .where = place_of(record), .bodies = {}};
  add_file(scenario.files, driver.record.file);
  return driver;
}

}  // namespace

KeySchema driver_keys() {
  return {.name = "drivers",
          .kind = KeyKind::named,
          .meaning = "prescribed motion of a joint or of a body, by name",
          .keys = {
              text("joint", "the joint to be moved"),
              text("body", "the body to be moved"),
              function_keys("angle", "rad", "angle of a revolute or cylindrical joint, 0 at the initial poses"),
              function_keys("displacement", "m",
                            "displacement of a prismatic or cylindrical joint, 0 at the initial poses"),
              function_keys("x", "m", "x of the body's origin in the world"),
              function_keys("y", "m", "y of the body's origin in the world"),
              function_keys("z", "m", "z of the body's origin in the world"),
              function_keys("rx", "rad", "orientation R = Rx(rx) Ry(ry) Rz(rz) of the body; all three or none"),
              function_keys("ry", "rad", "see rx"),
              function_keys("rz", "rad", "see rx"),
              text("follow",
                   "instead of functions: the body's whole pose follows a recording of the section `motion`: "
                   "MOTION.FOOT.hindfoot, MOTION.FOOT.toes, or MOTION.ground, the ground under the feet; the body's "
                   "initial pose and twist are those of the recording"),
              {.name = "recorded",
               .kind = KeyKind::map,
               .meaning = "instead of functions: all coordinates of the joint (also spherical), or the body's whole "
                          "pose, follow a table that a run (timeseries.csv, kinematics.sto) or a measurement recorded",
               .keys = {required(text("name",
                                      "the table, relative to the scenario file; columns BODY.x_m, y_m, z_m, BODY.qw, "
                                      "qx, qy, qz, and if it has them BODY.vx_m_s, wx_rad_s, ax_m_s2, alphax_rad_s2 "
                                      "and so on, all in the world; units in the headings may be missing")),
                        text("time", "heading of the column with the times [s]; `time_s` or `time` when not given")}},
          }};
}

DriverSpec read_driver(const Field& field, Scenario& scenario) {
  DriverSpec driver{.name = field.name(), .joint = field.text_or("joint"), .body = {}, .functions = {}, .where = {}};
  driver.where = place_of(field);
  if (field.has("follow")) return read_following_driver(field, std::move(driver), scenario);
  if (field.has("recorded")) return read_recorded_driver(field, std::move(driver), scenario);
  const KeyUse use = driver_keys_of(field, scenario);
  check_keys(field, driver.joint.empty() ? "driver of a body" : "driver of a joint", use, {});
  if (field.has("body")) driver.body = read_body_name(field["body"], scenario.bodies, false);
  for (const char* key : {"angle", "displacement", "x", "y", "z", "rx", "ry", "rz"}) {
    if (!field.has(key)) continue;
    driver.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  const auto turns =
      driver.functions.contains("rx") + driver.functions.contains("ry") + driver.functions.contains("rz");
  if (turns != 0 && turns != 3) {
    field.refuse("all of rx, ry and rz or none", fmt::format("{} of them", turns),
                 "an orientation has three angles; hold one at zero with {polynomial: [0]}");
  }
  if (driver.functions.empty()) field.refuse("a motion", "none", "add e.g. `angle:` or `x:`");
  return driver;
}

}  // namespace heelstrike::config
