#include "common/config/schema.hpp"

#include "common/contact/fields.hpp"
#include "common/contact/surface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heelstrike::config {

namespace {

// What a number of a scenario may be: beyond all that anybody builds, and so far from the ends of the number range that
// no product of a few of them leaves it. Signed quantities:
constexpr Range coordinates{.min = -1e6, .max = 1e6};          // [m]
constexpr Range speeds{.min = -1e6, .max = 1e6};               // [m/s], [rad/s]
constexpr Range accelerations{.min = -1e6, .max = 1e6};        // [m/s^2]
constexpr Range angles{.min = -1e6, .max = 1e6};               // [rad]
constexpr Range loads{.min = -1e12, .max = 1e12};              // [N], [N m]
constexpr Range stiffness_entries{.min = -1e15, .max = 1e15};  // [N/m], [N m/rad], [N s/m], [N m s/rad]
constexpr Range inertia_entries{.min = -1e15, .max = 1e15};    // [kg m^2]
constexpr Range direction_entries{.min = -1e6, .max = 1e6};    // [-]
constexpr Range function_numbers{.min = -1e15, .max = 1e15};   // in the unit of the function
// Quantities without sign:
constexpr Range lengths{.min = 1e-9, .max = 1e6};      // [m]
constexpr Range areas{.min = 1e-18, .max = 1e12};      // [m^2]
constexpr Range masses{.min = 1e-12, .max = 1e12};     // [kg]
constexpr Range times{.min = 1e-12, .max = 1e9};       // [s]
constexpr Range instants{.min = -1e9, .max = 1e9};     // [s]
constexpr Range frequencies{.min = 1e-9, .max = 1e9};  // [Hz]
constexpr Range rates{.min = 0.0, .max = 1e9};         // [1/s]
constexpr Range stiffnesses{.min = 0.0, .max = 1e15};  // [N/m], [N m/rad], [N], [N s/m], [N m s/rad]
constexpr Range moduli{.min = 1e-3, .max = 1e15};      // [Pa]
constexpr Range densities{.min = 0.0, .max = 1e6};     // [kg/m^3]
constexpr Range strains{.min = 1e-9, .max = 10.0};     // [-]
constexpr Range scales{.min = 1e-9, .max = 1e6};       // [m per file unit]

KeySchema vector3(std::string name, std::string unit, Range range, std::string meaning,
                  std::string fallback = "[0, 0, 0]") {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .fallback = std::move(fallback),
          .range = range,
          .sizes = {3}};
}

KeySchema required(KeySchema key) {
  key.required = true;
  key.fallback.clear();
  return key;
}

KeySchema quaternion(std::string name, std::string meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .meaning = std::move(meaning),
          .fallback = "[1, 0, 0, 0]",
          .range = {.min = -2.0, .max = 2.0},
          .sizes = {4}};
}

KeySchema text(std::string name, std::string meaning) {
  return {.name = std::move(name), .kind = KeyKind::text, .meaning = std::move(meaning)};
}

KeySchema number(std::string name, std::string unit, Range range, std::string meaning, std::string fallback = {}) {
  return {.name = std::move(name),
          .kind = KeyKind::number,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .fallback = std::move(fallback),
          .range = range};
}

KeySchema body_keys() {
  return {
      .name = "bodies",
      .kind = KeyKind::named,
      .meaning = "the rigid bodies by name; `ground` is always there and is not listed",
      .keys = {
          required(number("mass", "kg", masses, "mass")),
          {.name = "inertia",
           .kind = KeyKind::numbers,
           .unit = "kg m^2",
           .meaning = "about the centre of mass in body axes: [Ixx, Iyy, Izz] or [Ixx, Iyy, Izz, Ixy, Ixz, Iyz]; the "
                      "last three are the entries of the matrix (the negative products of inertia)",
           .required = true,
           .range = inertia_entries,
           .sizes = {3, 6}},
          vector3("center_of_mass", "m", coordinates, "centre of mass in the body's frame"),
          vector3("position", "m", coordinates, "initial position of the body's origin in the world"),
          quaternion("orientation", "initial rotation of the body's axes in the world as unit quaternion [w, x, y, z]"),
          vector3("velocity", "m/s", speeds, "initial velocity of the body's origin, world axes"),
          vector3("angular_velocity", "rad/s", speeds, "initial angular velocity, world axes"),
          text("starts_with",
               "instead of these four: a body whose initial pose and velocities it takes, e.g. one that follows a "
               "recording"),
      }};
}

KeySchema number_list(std::string name, std::string unit, Range range, std::string meaning,
                      std::vector<std::size_t> sizes = {}) {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .range = range,
          .sizes = std::move(sizes)};
}

KeySchema text_list(std::string name, std::string meaning) {
  return {.name = std::move(name), .kind = KeyKind::list, .meaning = std::move(meaning), .keys = {text("", "name")}};
}

KeySchema vector3_list(std::string name, const std::string& unit, Range range, std::string meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::list,
          .unit = unit,
          .meaning = std::move(meaning),
          .keys = {number_list("", unit, range, "a vector", {3})}};
}

KeySchema degree_key() {
  return {.name = "spline",
          .kind = KeyKind::text,
          .meaning = "natural interpolating spline: cubic has two continuous derivatives, quintic four",
          .fallback = "cubic",
          .choices = {"cubic", "quintic"}};
}

/// A function of time.
KeySchema function_keys(std::string name, const std::string& unit, const std::string& meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::one_of,
          .unit = unit,
          .meaning = meaning + ", as function of time",
          .keys = {number_list("polynomial", unit, function_numbers, "c0 + c1 t + c2 t^2 + ..."),
                   text("expression",
                        "formula in t [s] with + - * / ^, pi, sin, cos, tan, exp, log, sqrt, tanh, abs and "
                        "step(t, t0, t1), a smooth rise from 0 to 1"),
                   {.name = "table",
                    .kind = KeyKind::map,
                    .meaning = "values at given times, joined by a spline; it must cover the run",
                    .keys = {required(number_list("times", "s", instants, "increasing times")),
                             required(number_list("values", unit, function_numbers, "as many values")), degree_key(),
                             number("scale", "-", function_numbers,
                                    "factor on the values, e.g. 0.0174532925 for degrees", "1")}},
                   {.name = "file",
                    .kind = KeyKind::map,
                    .meaning = "column of a motion file (.mot, .sto, .csv), joined by a spline; it must cover the run",
                    .keys = {required(text("name", "motion file, relative to the scenario file")),
                             required(text("column", "heading of the column with the values")),
                             {.name = "time",
                              .kind = KeyKind::text,
                              .meaning = "heading of the column with the times [s]",
                              .fallback = "time"},
                             degree_key(),
                             number("scale", "-", function_numbers,
                                    "factor on the values, e.g. 0.0174532925 for degrees", "1")}}}};
}

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
               .meaning = "axes in which force and torque are given: of the world, or turning with the body",
               .fallback = "world",
               .choices = {"world", "body"}},
          }};
}

KeySchema joint_keys() {
  return {.name = "joints",
          .kind = KeyKind::named,
          .meaning =
              "joints by name; points and axes are given in the world at the initial poses (`point`, `axis`), or in "
              "the frame of each body (`points`, `axes`)",
          .keys = {
              {.name = "type",
               .kind = KeyKind::text,
               .meaning = "kind of joint",
               .required = true,
               .choices = {"spherical", "revolute", "cylindrical", "prismatic", "universal", "planar", "fixed",
                           "point_on_line", "point_on_plane", "distance", "gear"}},
              text_list("bodies", "[a, b], names of two bodies or `ground`; a carries the line or plane"),
              number_list("point", "m", coordinates, "point of the joint, in the world; the end on a of a rod", {3}),
              number_list("second_point", "m", coordinates, "the end on b of a rod, in the world", {3}),
              vector3_list("points", "m", coordinates, "the point in the frame of a and in the frame of b"),
              number_list("axis", "-", direction_entries,
                          "axis, direction of a line, or normal of a plane, in the world", {3}),
              number_list("second_axis", "-", direction_entries,
                          "universal: the axis on b, in the world, normal to `axis`", {3}),
              vector3_list("axes", "-", direction_entries, "the axis in the frame of a and in the frame of b"),
              number("length", "m", lengths, "length of a rod; that of the initial poses when not given"),
              text_list("joints", "gear: two revolute or cylindrical joints [first, second]"),
              number_list(
                  "teeth", "-", {.min = -1e6, .max = 1e6},
                  "gear: whole numbers [n1, n2]; n2 angle2 = n1 angle1; opposite signs for wheels that turn against "
                  "each other",
                  {2}),
              {.name = "reactions",
               .kind = KeyKind::flag,
               .meaning = "write the joint's force and torque on b, at the joint's point, in the world",
               .fallback = "false"},
          }};
}

KeySchema force_keys() {
  return {
      .name = "forces",
      .kind = KeyKind::named,
      .meaning = "springs, ligaments and bushings by name",
      .keys = {
          {.name = "type",
           .kind = KeyKind::text,
           .meaning = "kind of element",
           .required = true,
           .choices = {"spring_damper", "ligament_quadratic", "ligament_toe", "torsional_spring", "bushing"}},
          text_list("bodies", "[a, b], names of two bodies or `ground`"),
          number_list("point", "m", coordinates,
                      "the end on a (bushing: its centre), in the world at the initial poses", {3}),
          number_list("second_point", "m", coordinates, "the end on b, in the world at the initial poses", {3}),
          vector3_list("points", "m", coordinates, "the ends, one in the frame of each body"),
          text("joint", "torsional_spring: a revolute or cylindrical joint"),
          number(
              "stiffness", "N/m, N m/rad, N", stiffnesses,
              "slope of the force; ligament_quadratic: force at strain 1, F = stiffness strain^2; ligament_toe: slope "
              "of the linear part"),
          number("damping", "N s/m, N m s/rad", stiffnesses, "damping; 0 when not given"),
          number("length", "m", lengths, "unstrained length; that of the initial poses when not given"),
          number("reference_strain", "-", {.min = -1.0, .max = 10.0, .min_excluded = true},
                 "ligaments without `length`: strain at the initial poses"),
          number("toe_strain", "-", strains,
                 "ligament_toe: half the strain at which the linear part begins; 0.03 when not given"),
          number("neutral", "rad", angles, "torsional_spring: angle without torque; 0 when not given"),
          number_list("stiffness_matrix", "N m/rad, N/m", stiffness_entries,
                      "bushing: 6 diagonal or 36 entries by rows, order turns x y z, displacements x y z", {6, 36}),
          number_list("damping_matrix", "N m s/rad, N s/m", stiffness_entries, "bushing: likewise; 0 when not given",
                      {6, 36}),
      }};
}

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

KeySchema foot_keys() {
  const FootDimensions d;
  const auto dimension = [](std::string name, double fallback, std::string meaning) {
    return number(std::move(name), "m", lengths, std::move(meaning), fmt::format("{}", fallback));
  };
  return {.name = "foot",
          .kind = KeyKind::map,
          .meaning =
              "parametric foot, origin at the ankle joint centre, x forward, y to the left, z up; deformable bodies "
              "only. Sets: skin, cap (the cut above the ankle)",
          .keys = {dimension("length", d.length, "heel to the longest toe"),
                   dimension("ball_breadth", d.ball_breadth, "largest breadth, across the ball"),
                   dimension("heel_breadth", d.heel_breadth, "largest breadth of the heel"),
                   dimension("arch_height", d.arch_height, "of the sole's arch above the ground"),
                   dimension("instep_height", d.instep_height, "of the back of the foot at half its length"),
                   dimension("toe_height", d.toe_height, "of the big toe"),
                   dimension("ankle_height", d.ankle_height, "ankle joint centre above the ground"),
                   dimension("heel_to_ankle", d.heel_to_ankle, "back of the heel to the ankle joint centre"),
                   dimension("cut_height", d.cut_height, "flat cut above the ankle joint centre"),
                   {.name = "side",
                    .kind = KeyKind::text,
                    .meaning = "which foot",
                    .fallback = "left",
                    .choices = {"left", "right"}},
                   vector3("ankle", "m", coordinates, "ankle joint centre in the body's frame")}};
}

KeySchema axes_keys() {
  const auto axis = [](const std::string& name, const std::string& fallback) {
    return KeySchema{.name = name,
                     .kind = KeyKind::text,
                     .meaning = "where the " + name + " axis of the files points in the world",
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
          "where the surface of the foot lies on the markers; with it hindfoot and toes both follow with the "
          "frame of the surface, so that one mesh serves both",
      .keys = {required(vector3("position", "m", coordinates, "origin of the surface in the hindfoot's frame", "")),
               vector3("angles", "rad", angles,
                       "turns of the surface about x (roll), y (pitch, toes down) and z (yaw) of the hindfoot's frame, "
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
              required(text_list("hindfoot", "at least three markers behind the metatarsophalangeal joints")),
              required(text("heel", "marker at the heel")),
              required(text("toe_tip", "marker at the tip of the toes")),
              required(text("toe_lateral", "marker at the outer end of the metatarsophalangeal axis")),
              required(text("toe_medial", "marker at its inner end")),
              number("toe_axis_depth", "m", {.min = 0.0, .max = 0.1},
                     "of that axis below the line of its two markers, which lie on top of the foot", "0"),
              required(text_list("origin",
                                 "markers of the static trial whose mean is the origin of the hindfoot, e.g. "
                                 "both malleoli; that of the toes is the middle of the metatarsophalangeal "
                                 "axis")),
              text("plate", "the foot's force plate: prefix of its columns, e.g. ground_force or 1_ground_force"),
              registration_keys(),
          }};
}

KeySchema motion_keys() {
  return {
      .name = "motion",
      .kind = KeyKind::named,
      .meaning = "recordings of a walking person, by name, for drivers with `follow`",
      .keys = {
          required(text("markers", "trial, a .trc file, relative to the scenario file")),
          required(text("static", "static trial with the feet flat, a .trc file")),
          text("plates",
               "ground forces, an OpenSim .mot file; checked for synchrony with the markers, and the run "
               "folder then has ground_reactions.mot with the same columns"),
          axes_keys(),
          number("start", "s", instants, "time of the files at which the run begins", "0"),
          number("max_gap", "s", {.min = 0.0, .max = times.max}, "longest gap of a marker that a spline fills", "0.1"),
          number("cutoff", "Hz", frequencies,
                 "low-pass of the markers without lag: 3 dB here after both passes; unfiltered when not given"),
          {.name = "order",
           .kind = KeyKind::integer,
           .meaning = "order of the low-pass, both passes together; even",
           .fallback = "4",
           .range = {.min = 2.0, .max = 16.0}},
          number_list("ground_velocity", "m/s", speeds,
                      "velocity of the ground in the world (treadmill); found from the flat foot when not given", {3}),
          required(feet_keys()),
      }};
}

KeySchema surface_keys() {
  const KeySchema center = vector3("center", "m", coordinates, "centre in the body's frame");
  return {
      .name = "surface",
      .kind = KeyKind::one_of,
      .meaning = "geometry in the body's frame",
      .required = true,
      .keys = {
          {.name = "sphere",
           .kind = KeyKind::map,
           .meaning = "ball, or a spherical socket",
           .keys = {required(number("radius", "m", lengths, "radius")),
                    center,
                    {.name = "concave",
                     .kind = KeyKind::flag,
                     .meaning = "true for a socket: material outside of the sphere",
                     .fallback = "false"}}},
          {.name = "plane",
           .kind = KeyKind::map,
           .meaning = "half space",
           .keys = {vector3("normal", "-", direction_entries,
                            "direction towards the free side; any length but zero, normalised when read", "[0, 0, 1]"),
                    vector3("point", "m", coordinates, "any point of the plane")}},
          {.name = "cylinder",
           .kind = KeyKind::map,
           .meaning = "round cylinder",
           .keys = {required(number("radius", "m", lengths, "radius")),
                    vector3("axis", "-", direction_entries,
                            "direction of the axis; any length but zero, normalised when read", "[0, 0, 1]"),
                    center,
                    number("length", "m", lengths, "length; infinite when not given; not with layers"),
                    number("core_radius", "m", lengths,
                           "makes the element sets core and shell, for `materials`; below the radius"),
                    {.name = "layers",
                     .kind = KeyKind::named,
                     .meaning = "slices along the axis from its negative end, by name: element sets for `materials`",
                     .keys = {required(number("height", "m", lengths, "thickness of the slice"))}}}},
          {.name = "block",
           .kind = KeyKind::map,
           .meaning = "rectangular block, edges along the body's axes; deformable bodies only. Sets: bottom (z-), top, "
                      "left (y+), right, front (x+), back, side",
           .keys = {{.name = "lengths",
                     .kind = KeyKind::numbers,
                     .unit = "m",
                     .meaning = "along x, y, z",
                     .required = true,
                     .range = lengths,
                     .sizes = {3}},
                    center}},
          foot_keys(),
          {.name = "mesh",
           .kind = KeyKind::map,
           .meaning = "triangle or volume mesh: one of `file` and `asset`",
           .keys = {text("file", "mesh file, relative to the scenario file"),
                    text("asset", "name of a mesh in the contact server's asset folder"),
                    text("format", "file format when the name does not tell it: stl, obj, ply, vtp, msh, inp, vtu"),
                    number("length_scale", "m per file unit", scales, "0.001 for a file in millimetres", "1"),
                    vector3("position", "m", coordinates, "origin of the file's coordinates in the body's frame"),
                    quaternion("orientation", "rotation of the file's axes in the body's frame, [w, x, y, z]")}},
          {.name = "points",
           .kind = KeyKind::map,
           .meaning = "point cloud",
           .keys = {{.name = "positions",
                     .kind = KeyKind::list,
                     .unit = "m",
                     .meaning = "the points",
                     .required = true,
                     .keys = {required(vector3("", "m", coordinates, "one point"))}},
                    {.name = "areas",
                     .kind = KeyKind::numbers,
                     .unit = "m^2",
                     .meaning = "tributary area of each point, as many as points",
                     .required = true,
                     .range = areas}}},
      }};
}

std::vector<KeySchema> material_keys() {
  return {required(number("youngs_modulus", "Pa", moduli, "Young's modulus")),
          required(number("poissons_ratio", "-", {.min = 0.0, .max = 0.5, .max_excluded = true}, "Poisson's ratio")),
          number("density", "kg/m^3", densities, "density; 0 where it is not needed", "0")};
}

/// Materials of parts of a body.
KeySchema materials_key() {
  KeySchema key{.name = "materials",
                .kind = KeyKind::named,
                .meaning =
                    "materials of element sets (layers, physical groups) by name; elsewhere `material` holds, and "
                    "where sets overlap the later one",
                .keys = material_keys()};
  key.keys.push_back(text("set", "name of the element set when it is not the name of this entry"));
  return key;
}

KeySchema side_keys(std::string name, std::string meaning) {
  return {
      .name = std::move(name),
      .kind = KeyKind::map,
      .meaning = std::move(meaning),
      .required = true,
      .keys = {
          required(text("body", "name of a body, or `ground`")),
          surface_keys(),
          {.name = "material",
           .kind = KeyKind::map,
           .meaning = "linear elastic material; without it the body is rigid, or the back-end's own parameters say it",
           .keys = material_keys()},
          materials_key(),
      }};
}

KeySchema contact_keys() {
  return {.name = "contact",
          .kind = KeyKind::named,
          .meaning = "contact pairs by name",
          .keys = {
              side_keys("main", "the deformable body, in whose frame the contact is computed"),
              side_keys("partner", "the other body"),
              required(text("backend", "name of the contact model; `heelstrike backends` lists them")),
              {.name = "parameters",
               .kind = KeyKind::parameters,
               .meaning = "parameters of the contact model; `heelstrike backends NAME` lists them"},
          }};
}

KeySchema balance_keys() {
  KeySchema force = function_keys("force", "N", "vertical force of the ground on the bodies");
  force.required = true;
  force.keys.push_back(text("plate", "MOTION.FOOT: what the plate of this foot measured"));
  return {
      .name = "balance",
      .kind = KeyKind::named,
      .meaning =
          "for `hybrid`, by name: bodies that are moved along the vertical, all by the same distance, until the "
          "ground pushes them with a given force; `kinematic` and `inverse` leave them where they are prescribed",
      .keys = {required(text_list("bodies", "names of the bodies")), force,
               number("threshold", "N", {.min = 0.0, .max = loads.max, .min_excluded = true},
                      "with less force the bodies stay where they are prescribed, or above it, out of contact", "20")}};
}

KeySchema budget_key(const char* name, const char* meaning, const char* fallback) {
  // Beyond 2^53 the numbers of a file are no longer whole.
  return {.name = name,
          .kind = KeyKind::integer,
          .meaning = meaning,
          .fallback = fallback,
          .range = {.min = 1.0, .max = 9.0e15}};
}

KeySchema budget_keys() {
  return {.name = "budget",
          .kind = KeyKind::map,
          .meaning = "what the run may use; it ends with an error of type `limit` where that does not suffice",
          .keys = {budget_key("rows", "rows of the time series", "2000000"),
                   budget_key("steps", "accepted steps of the integrator", "10000000"),
                   budget_key("evaluations", "evaluations of the equations of motion or of balance", "1000000000"),
                   budget_key("stalled_steps",
                              "steps tried in a row that together advance the time by less than a billionth of "
                              "end_time",
                              "20000")}};
}

KeySchema analysis_keys() {
  return {.name = "analysis",
          .kind = KeyKind::map,
          .meaning = "what is computed",
          .required = true,
          .keys = {
              {.name = "type",
               .kind = KeyKind::text,
               .meaning =
                   "forward: motion from loads; kinematic: contact of a motion that drivers prescribe; "
                   "inverse: the loads of joints and drivers besides; static: balance of all that drivers leave free; "
                   "hybrid: as kinematic, but some bodies find their height from the force that carries them",
               .fallback = "forward",
               .choices = {"forward", "kinematic", "inverse", "static", "hybrid"}},
              required(number("end_time", "s", times, "end of the run; it starts at 0")),
              balance_keys(),
              budget_keys(),
              {.name = "integrator",
               .kind = KeyKind::map,
               .meaning = "time integration",
               .keys = {{.name = "name",
                         .kind = KeyKind::text,
                         .meaning = "cvode_index1: BDF, projection onto the constraints; ida_ggl: BDF, stabilised "
                                    "index 2; arkode_erk, arkode_dirk: explicit, implicit Runge-Kutta, projection; "
                                    "rk4, ab4am4: fixed step, Baumgarte stabilisation. When not given: cvode_index1 "
                                    "with contact, arkode_dirk with `forces` but no contact, else arkode_erk",
                         .choices = {"cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"}},
                        number("rtol", "-", {.min = 1e-14, .max = 1e-2},
                               "relative tolerance per step; fixed-step methods do not control their error", "1e-8"),
                        number("atol", "m, m/s, -, 1/s", {.min = 1e-18, .max = 1e3},
                               "absolute tolerance per step of every coordinate; not for fixed-step methods", "1e-10"),
                        {.name = "order",
                         .kind = KeyKind::integer,
                         .meaning = "largest order of cvode_index1 and ida_ggl (1 to 5, default 5); order of "
                                    "arkode_erk (2 to 6 or 8, default 5) and arkode_dirk (3 to 5, default 5)",
                         .range = {.min = 1.0, .max = 8.0}},
                        number("step", "s", times, "step of rk4 and ab4am4, which require it"),
                        number("baumgarte_alpha", "1/s", rates,
                               "damping of constraint violations, rk4 and ab4am4 only; 5 when not given"),
                        number("baumgarte_beta", "1/s", rates,
                               "stiffness of constraint violations, rk4 and ab4am4 only; 5 when not given"),
                        number("max_step", "s", times, "largest step; not limited when not given"),
                        {.name = "max_rejections",
                         .kind = KeyKind::integer,
                         .meaning = "consecutive rejected steps after which the run gives up",
                         .fallback = "50",
                         .range = {.min = 1.0, .max = 1e6}}}},
          }};
}

KeySchema field_keys() {
  std::string names;
  for (const FieldQuantity& q : field_quantities)
    names += fmt::format("{}{} [{}]", names.empty() ? "" : ", ", q.name, q.unit);
  return {
      .name = "fields",
      .kind = KeyKind::map,
      .meaning = "files for ParaView (fields.pvd) of deformable bodies and their partners; none when not given",
      .opt_in = true,
      .keys = {number("interval", "s", times, "distance of the files in simulated time; needed without `at`"),
               {.name = "at",
                .kind = KeyKind::text,
                .meaning = "contact: at the onset, the peaks and the end of every contact of a forward analysis, with "
                           "`interval` also there",
                .choices = {"contact"}},
               {.name = "mesh",
                .kind = KeyKind::text,
                .meaning = "the boundary as triangles, or all tetrahedra",
                .fallback = "surface",
                .choices = {"surface", "volume"}},
               text_list("quantities", "which of " + names + "; all when not given"),
               {.name = "only_contact",
                .kind = KeyKind::flag,
                .meaning = "true: only while the pair touches",
                .fallback = "false"}}};
}

KeySchema output_keys() {
  return {.name = "output",
          .kind = KeyKind::map,
          .meaning = "what is written",
          .required = true,
          .keys = {
              required(number("interval", "s", times, "distance of the regular rows of timeseries.csv")),
              {.name = "accelerations",
               .kind = KeyKind::flag,
               .meaning = "write the accelerations of all bodies too, so that `recorded` drivers repeat the motion "
                          "exactly at the rows",
               .fallback = "false"},
              {.name = "steps",
               .kind = KeyKind::text,
               .meaning = "accepted steps of the integrator that become rows of their own: none, those in contact, all",
               .fallback = "contact",
               .choices = {"none", "contact", "all"}},
              number("checkpoint_interval", "s", times,
                     "forward: simulated time between checkpoints; no checkpoints when not given"),
              field_keys(),
          }};
}

KeySchema make_schema() {
  return {.name = "",
          .kind = KeyKind::map,
          .meaning = "scenario",
          .keys = {
              {.name = "heelstrike",
               .kind = KeyKind::integer,
               .meaning = "version of the file format",
               .required = true,
               .range = {.min = 1.0, .max = scenario_version}},
              text("description", "free text for the reader"),
              required(vector3("gravity", "m/s^2", accelerations, "acceleration of gravity in the world")),
              required(body_keys()),
              load_keys(),
              joint_keys(),
              motion_keys(),
              driver_keys(),
              force_keys(),
              contact_keys(),
              analysis_keys(),
              output_keys(),
          }};
}

std::string amount(const std::vector<std::size_t>& sizes) {
  return sizes.empty() ? std::string() : fmt::format("{} ", fmt::join(sizes, " or "));
}

std::string in_unit(const KeySchema& key) {
  return key.unit == "-" ? std::string() : fmt::format(" [{}]", key.unit);
}

std::string in_range(const KeySchema& key) {
  return key.range.text() == "any" ? std::string() : fmt::format(" {}", key.range.text());
}

std::vector<std::string> quoted_names(const std::vector<KeySchema>& keys) {
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

std::string default_text(const KeySchema& key) {
  if (key.required) return "required";
  return key.fallback.empty() ? "-" : fmt::format("`{}`", key.fallback);
}

std::string child_path(const std::string& path, const KeySchema& parent, const KeySchema& key) {
  if (key.name.empty()) return path + "[]";
  const std::string middle = parent.kind == KeyKind::named ? ".NAME" : "";
  return path.empty() ? key.name : fmt::format("{}{}.{}", path, middle, key.name);
}

void write_rows(std::string& out, const KeySchema& parent, const std::string& path) {
  for (const KeySchema& key : parent.keys) {
    const std::string here = child_path(path, parent, key);
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", here, expectation(key), key.unit, default_text(key), key.meaning);
    write_rows(out, key, here);
  }
}

}  // namespace

const KeySchema& scenario_schema() {
  static const KeySchema schema = make_schema();
  return schema;
}

std::string expectation(const KeySchema& key) {
  switch (key.kind) {
    case KeyKind::number:
      return fmt::format("a number{}{}", in_range(key), in_unit(key));
    case KeyKind::integer:
      return fmt::format("a whole number{}", in_range(key));
    case KeyKind::text:
      return key.choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyKind::flag:
      return "true or false";
    case KeyKind::numbers:
      return fmt::format("a list of {}numbers{}{}", amount(key.sizes), in_range(key), in_unit(key));
    case KeyKind::list:
      return fmt::format("a list, each entry {}", expectation(key.keys.front()));
    case KeyKind::map:
      return fmt::format("a map with the keys {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::named:
      return "a map from names to entries";
    case KeyKind::one_of:
      return fmt::format("a map with one of {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::parameters:
      return "a map from parameter names to values";
  }
  return "a value";
}

std::string scenario_reference() {
  std::string out =
      "# Keys of a scenario file\n\n"
      "<!-- Made from common/config/schema.cpp by `heelstrike schema`; a test compares. Do not edit. -->\n\n"
      "A scenario is one YAML file. All quantities are plain numbers in the SI unit of the table: `mass: 1.0`, not\n"
      "`1 kg`. Unknown keys are errors. `NAME` stands for a name you choose (letters, digits, `_` and `-`). Anchors,\n"
      "aliases and merge keys (`<<`) of YAML work.\n\n"
      "| key | value | unit | default | meaning |\n|---|---|---|---|---|\n";
  write_rows(out, scenario_schema(), "");
  return out;
}

}  // namespace heelstrike::config
