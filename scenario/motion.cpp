#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <cmath>

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
      member(&FootMarkers::stand_in,
             text_list("stand_in",
                       "further markers of the foot, e.g. on the toes, that stand in while fewer than three "
                       "of `hindfoot` are seen")),
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
      text("plate",
           "the foot's force plate: prefix of its columns, e.g. ground_force or 1_ground_force; auto = the plates that "
           "the foot steps on, found from its markers stance by stance"));
  feet.keys.push_back({.name = "registration",
                       .kind = KeyKind::map,
                       .meaning = "pose of the foot surface relative to the markers; hindfoot and toes then both use "
                                  "the frame of the surface, so that one mesh serves both",
                       .keys = keys_of(registration_members())});
  return feet;
}

const MemberKeys<BodySegmentSpec>& segment_members() {
  constexpr Range share{.min = 0.0, .max = 1.0};
  static const MemberKeys<BodySegmentSpec> rows = {
      member(&BodySegmentSpec::proximal,
             required(text_list("proximal", "markers whose mean is the proximal end of the segment"))),
      member(&BodySegmentSpec::distal,
             required(text_list("distal", "markers whose mean is the distal end of the segment"))),
      member(&BodySegmentSpec::mass_fraction,
             required(number("mass_fraction", "-", share, "mass over the mass of the body"))),
      member(&BodySegmentSpec::center_fraction,
             required(number("center_fraction", "-", share,
                             "distance of the centre of mass from the proximal end over the length")))};
  return rows;
}

KeySchema segment_keys() {
  return {.name = "segments",
          .kind = KeyKind::named,
          .meaning =
              "segments of the whole body by name, whose motion determines the force of the ground without "
              "plates; their mass fractions have the sum 1",
          .keys = keys_of(segment_members())};
}

const MemberKeys<CalibrationSpec>& calibration_members() {
  static const MemberKeys<CalibrationSpec> rows = {
      member(&CalibrationSpec::markers,
             text("markers", "the only trial that a fit may use, a .trc file; other trials are for validation")),
      member(&CalibrationSpec::stances,
             number_list("stances", "s", instants,
                         "one time of the files in each stance that a fit may use; by default the stances that the "
                         "recording cuts off"))};
  return rows;
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
      member(&MarkerMotionSpec::standing, text("static", "static trial with the feet flat, a .trc file")),
      member(&MarkerMotionSpec::foot_flat,
             text("foot_flat",
                  "without a static trial: the walking trial, a .trc file, in which frames with the feet "
                  "flat at rest on the ground replace it; default: `markers`")),
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
                         "velocity of the ground in the world (treadmill); by default from the flat foot", {3})),
      member(&MarkerMotionSpec::body_mass,
             number("body_mass", "kg", masses, "compared with the mean load of the plates; by default that load")),
      {{.name = "calibration",
        .kind = KeyKind::map,
        .meaning = "stances that a fit may use; all others are reserved for validation",
        .keys = keys_of(calibration_members())},
       [](const Field& field, MarkerMotionSpec& motion) {
         read_members(field, calibration_members(), motion.calibration);
       }}};
  return rows;
}

}  // namespace

KeySchema motion_keys() {
  KeySchema motion{.name = "motion",
                   .kind = KeyKind::named,
                   .meaning = "gait recordings by name, for drivers with `follow`",
                   .keys = keys_of(motion_members())};
  motion.keys.push_back(segment_keys());
  motion.keys.push_back(feet_keys());
  return motion;
}

namespace {

void read_segments(const Field& field, MarkerMotionSpec& motion) {
  double sum = 0.0;
  for (const Field& entry : field.entries_of("segments")) {
    BodySegmentSpec& segment = motion.segments.emplace_back();
    segment.name = entry.name();
    read_members(entry, segment_members(), segment);
    if (segment.proximal.empty()) entry["proximal"].reject("at least one marker", "none", "name one");
    if (segment.distal.empty()) entry["distal"].reject("at least one marker", "none", "name one");
    sum += segment.mass_fraction;
  }
  // Published tables are rounded to a tenth of a percent for each of about sixteen segments.
  constexpr double rounding = 0.02;
  if (!motion.segments.empty() && std::abs(sum - 1.0) > rounding) {
    field["segments"].reject("mass fractions with the sum 1", fmt::format("{:.4g}", sum),
                             "add the missing segments or correct the fractions");
  }
}

}  // namespace

MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files) {
  MarkerMotionSpec motion;
  motion.name = field.name();
  motion.where = location_of(field);
  read_members(field, motion_members(), motion);
  if (motion.order % 2 != 0) {
    field["order"].reject("an even number (two passes)", fmt::format("{}", motion.order), "choose e.g. 4");
  }
  if (!motion.standing.empty() && !motion.foot_flat.empty()) {
    field["foot_flat"].reject("either `static` or `foot_flat`", "both", "remove one");
  }
  read_segments(field, motion);
  for (const Field& foot : field["feet"].entries()) {
    motion.feet.push_back(read_recorded_foot(foot));
    if (!motion.feet.back().plate.empty() && motion.plates.empty()) {
      foot["plate"].reject("the key `plates` of the recording, with the file of ground forces", "nothing", "add it");
    }
  }
  for (const std::string& name : {motion.markers, motion.standing, motion.foot_flat, motion.plates}) {
    if (!name.empty()) add_file(files, name);
  }
  return motion;
}

}  // namespace heelstrike::config
