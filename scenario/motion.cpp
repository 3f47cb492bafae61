#include "scenario/sections.hpp"

#include <fmt/format.h>

#include "scenario/schema/members.hpp"

namespace heelstrike::config {

namespace {

const MemberKeys<AxisNames>& axis_members() {
  const auto axis = [](std::string AxisNames::*place, const std::string& name) {
    return member(place, choice(name, {"x", "y", "z", "-x", "-y", "-z"},
                                "direction of the " + name + " axis of the files in the world"));
  };
  static const MemberKeys<AxisNames> rows = {axis(&AxisNames::x, "x"), axis(&AxisNames::y, "y"),
                                             axis(&AxisNames::z, "z")};
  return rows;
}

const MemberKeys<FootRegistration>& registration_members() {
  static const MemberKeys<FootRegistration> rows = {
      member(&FootRegistration::position,
             required(vector3("position", "m", coordinates, "origin of the surface in the hindfoot's frame"))),
      member(&FootRegistration::angles,
             vector3("angles", "rad", angles,
                     "rotations of the surface about x (roll), y (pitch, toes down) and z (yaw) of the hindfoot's "
                     "frame, x first")),
      member(&FootRegistration::toe_angle,
             number("toe_angle", "rad", {.min = -1.0, .max = 1.0}, "added to the angle of the toes, up > 0"))};
  return rows;
}

const MemberKeys<FootMarkers>& marker_members() {
  static const MemberKeys<FootMarkers> rows = {
      member(&FootMarkers::hindfoot,
             required(text_list("hindfoot", "at least three markers posterior to the metatarsophalangeal joints"))),
      member(&FootMarkers::heel, required(text("heel", "marker at the heel"))),
      member(&FootMarkers::toe_tip, required(text("toe_tip", "marker at the tip of the toes"))),
      member(&FootMarkers::toe_lateral,
             required(text("toe_lateral", "marker at the lateral end of the metatarsophalangeal axis"))),
      member(&FootMarkers::toe_medial, required(text("toe_medial", "marker at its medial end"))),
      member(&FootMarkers::toe_axis_depth,
             number("toe_axis_depth", "m", {.min = 0.0, .max = 0.1},
                    "depth of that axis below the line of its two markers, which are on the dorsum of the foot")),
      member(&FootMarkers::origin,
             required(text_list("origin",
                                "markers of the static trial whose mean is the origin of the hindfoot, e.g. both "
                                "malleoli; that of the toes is the middle of the metatarsophalangeal axis")))};
  return rows;
}

KeySchema feet_keys() {
  KeySchema feet{
      .name = "feet",
      .kind = KeyKind::named,
      .meaning =
          "the feet by name; x of a foot's frame points forward (heel to toe tip, in the ground plane of the static "
          "trial), z up",
      .required = true,
      .keys = keys_of(marker_members())};
  feet.keys.push_back(
      text("plate", "the foot's force plate: prefix of its columns, e.g. ground_force or 1_ground_force"));
  feet.keys.push_back({.name = "registration",
                       .kind = KeyKind::map,
                       .meaning = "pose of the foot surface relative to the markers; hindfoot and toes then both use "
                                  "the frame of the surface, so that one mesh serves both",
                       .keys = keys_of(registration_members())});
  return feet;
}

FootSpec read_recorded_foot(const Field& field) {
  FootSpec foot;
  foot.name = field.name();
  foot.plate = field.text_or("plate");
  foot.where = location_of(field);
  read_members(field, marker_members(), foot.markers);
  if (field.has("registration")) {
    read_members(field["registration"], registration_members(), foot.registration.emplace());
  }
  if (foot.markers.hindfoot.size() < 3) {
    field["hindfoot"].reject("at least three markers", fmt::format("{}", foot.markers.hindfoot.size()), "add markers");
  }
  if (foot.markers.origin.empty()) field["origin"].reject("at least one marker", "none", "name e.g. both malleoli");
  return foot;
}

const MemberKeys<MarkerMotionSpec>& motion_members() {
  static const MemberKeys<MarkerMotionSpec> rows = {
      member(&MarkerMotionSpec::markers,
             required(text("markers", "trial, a .trc file, relative to the scenario file"))),
      member(&MarkerMotionSpec::standing, required(text("static", "static trial with the feet flat, a .trc file"))),
      member(
          &MarkerMotionSpec::plates,
          text("plates",
               "ground forces, an OpenSim .mot file; checked for synchrony with the markers, and the run folder then "
               "has ground_reactions.mot with the same columns")),
      {{.name = "axes",
        .kind = KeyKind::map,
        .meaning = "axes of all files of the recording; a laboratory with x forward, y up, z to the right in a world "
                   "with z up is {x: x, y: z, z: -y}",
        .keys = keys_of(axis_members())},
       [](const Field& axes, MarkerMotionSpec& motion) { read_members(axes, axis_members(), motion.axes); }},
      member(&MarkerMotionSpec::start, number("start", "s", instants, "time of the files at which the run begins")),
      member(&MarkerMotionSpec::max_gap,
             number("max_gap", "s", {.min = 0.0, .max = times.max}, "longest marker gap that is filled by a spline")),
      member(&MarkerMotionSpec::cutoff,
             number("cutoff", "Hz", frequencies,
                    "zero-lag low-pass of the markers: 3 dB frequency after both passes; unfiltered by default")),
      member(&MarkerMotionSpec::order,
             integer("order", {.min = 2.0, .max = 16.0}, "order of the low-pass, both passes together; even")),
      member(&MarkerMotionSpec::ground_velocity,
             number_list("ground_velocity", "m/s", speeds,
                         "velocity of the ground in the world (treadmill); by default from the flat foot", {3}))};
  return rows;
}

}  // namespace

KeySchema motion_keys() {
  KeySchema motion{.name = "motion",
                   .kind = KeyKind::named,
                   .meaning = "gait recordings by name, for drivers with `follow`",
                   .keys = keys_of(motion_members())};
  motion.keys.push_back(feet_keys());
  return motion;
}

MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files) {
  MarkerMotionSpec motion;
  motion.name = field.name();
  motion.where = location_of(field);
  read_members(field, motion_members(), motion);
  if (motion.order % 2 != 0) {
    field["order"].reject("an even number (two passes)", fmt::format("{}", motion.order), "choose e.g. 4");
  }
  for (const Field& foot : field["feet"].entries()) {
    motion.feet.push_back(read_recorded_foot(foot));
    if (!motion.feet.back().plate.empty() && motion.plates.empty()) {
      foot["plate"].reject("the key `plates` of the recording, with the file of ground forces", "nothing", "add it");
    }
  }
  for (const std::string& name : {motion.markers, motion.standing, motion.plates}) add_file(files, name);
  return motion;
}

}  // namespace heelstrike::config
