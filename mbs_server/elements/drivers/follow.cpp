#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/text/suggestion.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

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

void read_follow_driver(const config::Field& field, DriverSpec& driver, Scenario& scenario) {
  driver.body = config::read_body_name(field["body"], scenario.bodies, false);
  driver.follow = field["follow"].text();
  const auto names = followable(scenario);
  if (std::ranges::find(names, driver.follow) != names.end()) return;
  field["follow"].reject(
      names.empty() ? "a recording in the section `motion`" : fmt::format("one of {}", fmt::join(names, ", ")),
      fmt::format("'{}'", config::excerpt(driver.follow)), suggestion(driver.follow, names, "name one of these"));
}

std::vector<Driver> build_follow_driver(const DriverSpec& spec, const Model& model) {
  const BodyIndex body = find_body(model, spec.body, "drivers." + spec.name + ".body");
  return {{.name = spec.name, .make = [name = spec.name, body, record = resolved(spec.record)[0]](const auto&) {
             return drive_recorded_body(name, body, record);
           }}};
}

}  // namespace

DriverType follow_driver() {
  DriverType type;
  type.name = "follow";
  type.meaning = "a body's whole pose follows a recording of markers";
  type.keys = {config::required(config::text("body", "the driven body")),
               config::required(config::text(
                   "follow",
                   "instead of functions: the body's whole pose follows a recording of the section `motion`: "
                   "MOTION.FOOT.hindfoot, MOTION.FOOT.toes, or MOTION.ground, the ground under the feet; the body's "
                   "initial pose and twist are those of the recording"))};
  type.read = read_follow_driver;
  type.build = build_follow_driver;
  return type;
}

}  // namespace heelstrike::mbs
