/// The bodies of a run as simple shapes for the 3D view of a page; the poses of the time series move them.
#pragma once

#include "common/results/run_folder.hpp"
#include "report/packing.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

/// {up, gravity, bodies: [{name, points, center_of_mass, box?, surfaces, axes?}], pairs: [{name, main}],
/// joints: [{name, a, b, axis?, rod}], springs: [{name, a, b}], lines: {parts: [{name, a, b, way?}], surfaces: [{name,
/// body, p, q, radii, cylinder}]}}; lengths in m, points in body frames.
///
/// * `up`: against gravity; `gravity`: false if there is none, so that `up` is a guess: superior, where a body names
/// its
///   axes, else z.
/// * `axes`: [{direction, ahead, behind}], e.g. "anterior" and "posterior", of bodies whose surfaces name them.
/// * `pairs`: `main` is the body in whose frame the path of the centre of pressure is drawn.
/// * `points`: attachment points of joints and forces, each once.
/// * `box`: {lengths, p, q}: the block of uniform density with the body's mass and inertia, if it exists.
/// * `surfaces`: {kind: "sphere", radius, center}, {kind: "plane", normal, point}, {kind: "cylinder", radius, axis,
///   center, length or null}, {kind: "block", lengths, center, rough}; `rough` for a foot of which only the size is
///   known. Surfaces from mesh files are drawn from the fields instead.
/// * `lines`: ligaments and muscles from point to point, and their wrap surfaces. `way`: {body, count, times, points}:
///   of a part that may wrap, `count` points from end to end at each time, in the frame of the body of the surface;
///   linear between points and times.
/// * `a` and `b` of joints, springs and parts of lines: {body, point}; `rod`: a link of fixed length between both.
///
/// @param series  initial poses of bodies that start at a recording
[[nodiscard]] Json scene_json(const Scenario& scenario, const TimeSeries& series);

}  // namespace heelstrike::report
