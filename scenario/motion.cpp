#include "scenario/sections.hpp"

#include <fmt/format.h>

#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema axes_keys() {
  const auto axis = [](const std::string& name, const std::string& fallback) {
    return KeySchema{.name = name,
                     .kind = KeyKind::text,
                     .meaning = "direction of the " + name + " axis of the files in the world",
                     .fallback = fallback,
                     .choices = {"x", "y", "z", "-x", "-y", "-z"}};
  };
  return {.name = "axes",
          .kind = KeyKind::map,
          .meaning =
              "axes of all files of the recording; a laboratory with x forward, y up, z to the right in a world "
              "with z up is {x: x, y: z, z: -y}",
          .keys = {axis("x", "x"), axis("y", "y"), axis("z", "z")}};
}

KeySchema registration_keys() {
  return {
      .name = "registration",
      .kind = KeyKind::map,
      .meaning =
          "pose of the foot surface relative to the markers; hindfoot and toes then both use the frame of the surface, "
          "so that one mesh serves both",
      .keys = {
          required(vector3("position", "m", coordinates, "origin of the surface in the hindfoot's frame", "")),
          vector3("angles", "rad", angles,
                  "rotations of the surface about x (roll), y (pitch, toes down) and z (yaw) of the hindfoot's frame, "
                  "x first"),
          number("toe_angle", "rad", {.min = -1.0, .max = 1.0}, "added to the angle of the toes, up > 0", "0")}};
}

KeySchema feet_keys() {
  return {.name = "feet",
          .kind = KeyKind::named,
          .meaning =
              "the feet by name; x of a foot's frame points forward (heel to toe tip, in the ground plane of the "
              "static trial), z up",
          .keys = {
              required(text_list("hindfoot", "at least three markers posterior to the metatarsophalangeal joints")),
              required(text("heel", "marker at the heel")),
              required(text("toe_tip", "marker at the tip of the toes")),
              required(text("toe_lateral", "marker at the lateral end of the metatarsophalangeal axis")),
              required(text("toe_medial", "marker at its medial end")),
              number("toe_axis_depth", "m", {.min = 0.0, .max = 0.1},
                     "depth of that axis below the line of its two markers, which are on the dorsum of the foot", "0"),
              required(text_list("origin",
                                 "markers of the static trial whose mean is the origin of the hindfoot, e.g. "
                                 "both malleoli; that of the toes is the middle of the metatarsophalangeal "
                                 "axis")),
              text("plate", "the foot's force plate: prefix of its columns, e.g. ground_force or 1_ground_force"),
              registration_keys(),
          }};
}

FootSpec read_recorded_foot(const Field& field) {
  FootSpec foot{.name = field.name(),
                .markers = {.hindfoot = read_texts(field["hindfoot"]),
                            .heel = field["heel"].text(),
                            .toe_tip = field["toe_tip"].text(),
                            .toe_lateral = field["toe_lateral"].text(),
                            .toe_medial = field["toe_medial"].text(),
                            .origin = read_texts(field["origin"]),
                            .toe_axis_depth = field["toe_axis_depth"].number()},
                .registration = {},
                .plate = field.text_or("plate"),
                .where = location_of(field)};
  if (field.has("registration")) {
    const Field registration = field["registration"];
    foot.registration = FootRegistration{.position = registration["position"].vector3(),
                                         .angles = registration["angles"].vector3(),
                                         .toe_angle = registration["toe_angle"].number()};
  }
  if (foot.markers.hindfoot.size() < 3) {
    field["hindfoot"].refuse("at least three markers", fmt::format("{}", foot.markers.hindfoot.size()), "add markers");
  }
  if (foot.markers.origin.empty()) field["origin"].refuse("at least one marker", "none", "name e.g. both malleoli");
  return foot;
}

}  // namespace

KeySchema motion_keys() {
  return {.name = "motion",
          .kind = KeyKind::named,
          .meaning = "gait recordings by name, for drivers with `follow`",
          .keys = {
              required(text("markers", "trial, a .trc file, relative to the scenario file")),
              required(text("static", "static trial with the feet flat, a .trc file")),
              text("plates",
                   "ground forces, an OpenSim .mot file; checked for synchrony with the markers, and the run "
                   "folder then has ground_reactions.mot with the same columns"),
              axes_keys(),
              number("start", "s", instants, "time of the files at which the run begins", "0"),
              number("max_gap", "s", {.min = 0.0, .max = times.max}, "longest marker gap that is filled by a spline",
                     "0.1"),
              number("cutoff", "Hz", frequencies,
                     "zero-lag low-pass of the markers: 3 dB frequency after both passes; unfiltered by default"),
              {.name = "order",
               .kind = KeyKind::integer,
               .meaning = "order of the low-pass, both passes together; even",
               .fallback = "4",
               .range = {.min = 2.0, .max = 16.0}},
              number_list("ground_velocity", "m/s", speeds,
                          "velocity of the ground in the world (treadmill); by default from the flat foot", {3}),
              required(feet_keys()),
          }};
}

MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files) {
  const Field axes = field["axes"];
  MarkerMotionSpec motion{.name = field.name(),
                          .markers = field["markers"].text(),
                          .standing = field["static"].text(),
                          .plates = field.text_or("plates"),
                          .axes = {.x = axes["x"].text(), .y = axes["y"].text(), .z = axes["z"].text()},
                          .start = field["start"].number(),
                          .max_gap = field["max_gap"].number(),
                          .cutoff = field.optional_number("cutoff"),
                          .order = static_cast<int>(field["order"].number()),
                          .ground_velocity = {},
                          .feet = {},
                          .where = location_of(field)};
  if (motion.order % 2 != 0) {
    field["order"].refuse("an even number (two passes)", fmt::format("{}", motion.order), "choose e.g. 4");
  }
  if (field.has("ground_velocity")) motion.ground_velocity = field["ground_velocity"].vector3();
  for (const Field& foot : field["feet"].entries()) {
    motion.feet.push_back(read_recorded_foot(foot));
    if (!motion.feet.back().plate.empty() && motion.plates.empty()) {
      foot["plate"].refuse("the key `plates` of the recording, with the file of ground forces", "nothing", "add it");
    }
  }
  for (const std::string& name : {motion.markers, motion.standing, motion.plates}) add_file(files, name);
  return motion;
}

}  // namespace heelstrike::config
