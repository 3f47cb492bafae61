#include "scenario/line_paths.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

#include "scenario/coordinate_functions.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {
namespace {

constexpr Range radii{.min = 1e-6, .max = 1e3};  // [m]

Pose initial_pose(const std::string& body, const std::vector<BodySpec>& bodies) {
  const auto found = std::ranges::find(bodies, body, &BodySpec::name);
  return found == bodies.end() ? Pose{} : found->X_WB;
}

WrapSpec read_surface(const Field& field, const std::vector<BodySpec>& bodies) {
  WrapSpec surface{.name = field.name(), .body = read_body_name(field["body"], bodies, true), .X_BS = {}, .shape = {}};
  surface.X_BS.p = field["position"].vector3();
  if (field.has("orientation")) surface.X_BS.R = read_rotation(field["orientation"]);
  const int given = static_cast<int>(field.has("sphere")) + static_cast<int>(field.has("cylinder")) +
                    static_cast<int>(field.has("ellipsoid"));
  if (given != 1) {
    field.reject("one of `sphere`, `cylinder`, `ellipsoid`", fmt::format("{}", given), "give its radius or radii");
  }
  WrapShape& shape = surface.shape;
  shape.straight_inside = field["inside"].text() == "straight";
  surface.one_segment = field["segments"].text() == "one";
  if (field.has("ellipsoid")) shape.radii = field["ellipsoid"].vector3();
  if (field.has("sphere")) shape.radii.setConstant(field["sphere"].number());
  if (field.has("cylinder")) {
    const double r = field["cylinder"].number();
    shape.radii << r, r, std::numeric_limits<double>::infinity();
    if (field.has("length")) shape.half_length = 0.5 * field["length"].number();
  } else if (field.has("length")) {
    field["length"].reject("a length of a `cylinder`", "one of another surface", "leave it out");
  }
  if (field.has("side")) {
    shape.side = read_direction(field["side"]);
    // The axial component is not a side of a cylinder.
    if (field.has("cylinder")) shape.side.z() = 0.0;
    if (!(shape.side.norm() > 0.1)) {
      field["side"].reject("a direction across the axis of the cylinder, which is z", "one along it",
                           "give e.g. [1, 0, 0]");
    }
  }
  return surface;
}

/// Numbers of the named surfaces.
std::vector<std::size_t> read_wraps(const Field& field, const std::vector<WrapSpec>& surfaces) {
  std::vector<std::size_t> wraps;
  for (const std::string& name : read_texts(field)) {
    const auto surface = std::ranges::find(surfaces, name, &WrapSpec::name);
    if (surface == surfaces.end()) {
      field.reject("names in `surfaces` of this entry", fmt::format("'{}'", name), "describe it in `surfaces`");
    }
    const auto number = static_cast<std::size_t>(surface - surfaces.begin());
    if (std::ranges::find(wraps, number) != wraps.end()) {
      field.reject("each surface once", fmt::format("'{}' twice", name), "remove one of them");
    }
    wraps.push_back(number);
  }
  return wraps;
}

LinePoint read_point(const Field& field, const std::vector<WrapSpec>& surfaces, const std::vector<BodySpec>& bodies) {
  LinePoint point{.body = read_body_name(field["body"], bodies, true), .point = field["point"].vector3(), .wraps = {}};
  constexpr std::array<const char*, 3> axes = {"x", "y", "z"};
  for (std::size_t k = 0; field.has("moves") && k < 3; ++k) {
    const auto terms = field["moves"].entries_of(axes[k]);
    if (terms.size() > 1) {
      field["moves"][axes[k]].reject("one coordinate", fmt::format("{}", terms.size()), "keep one of them");
    }
    if (!terms.empty()) point.moves[k] = {terms[0].name(), read_coordinate_function(terms[0])};
  }
  if (field.has("within")) {
    const Field within = field["within"];
    point.within = within["coordinate"].text();
    const auto range = within["range"].numbers();
    point.range = {range[0], range[1]};
    if (!(range[0] <= range[1]))
      within["range"].reject("a range [from, to] with from <= to", "none", "exchange its numbers");
  }
  if (field.has("wrap")) point.wraps = read_wraps(field["wrap"], surfaces);
  return point;
}

LineSpec read_line(const Field& field, const std::string& name, const std::vector<WrapSpec>& surfaces,
                   const std::vector<BodySpec>& bodies) {
  LineSpec line{.name = name, .points = {}, .surfaces = surfaces, .keys = field};
  const Field path = field["path"];
  for (const auto& item : path.node().items) {
    line.points.push_back(read_point(Field(path.document(), *item, path.path()), surfaces, bodies));
  }
  if (line.points.size() < 2) {
    path.reject("at least two points", fmt::format("{}", line.points.size()), "give both insertions");
  }
  const std::string& first = line.points.front().body;
  if (std::ranges::all_of(line.points, [&](const LinePoint& point) { return point.body == first; })) {
    path.reject("points in at least two bodies", fmt::format("all in '{}'", first),
                "its length would be constant: name the body of the other insertion");
  }
  return line;
}

}  // namespace

bool LinePoint::depends_on_coordinates() const {
  return !within.empty() || std::ranges::any_of(moves, [](const Move& move) { return move.f != nullptr; });
}

namespace {

/// Dependence of a point on coordinates of joints.
std::vector<KeySchema> coordinate_keys() {
  KeySchema moves{.name = "moves",
                  .kind = KeyKind::map,
                  .meaning = "shifts of the point in the frame of the body with coordinates of custom joints"};
  for (const char* axis : {"x", "y", "z"}) {
    moves.keys.push_back({.name = axis,
                          .kind = KeyKind::named,
                          .unit = "m",
                          .meaning = std::string("function of one coordinate, by its name, added to ") + axis,
                          .keys = coordinate_function_keys()});
  }
  return {std::move(moves),
          {.name = "within",
           .kind = KeyKind::map,
           .meaning = "the point is active only while a coordinate of a custom joint is in a range",
           .keys = {required(text("coordinate", "its name")),
                    required(number_list("range", "rad or m", coordinates, "[from, to]", {2}))}}};
}

}  // namespace

KeySchema path_key() {
  KeySchema point{
      .kind = KeyKind::map,
      .meaning = "a point of the line",
      .keys = {required(text("body", "body in which the point is fixed, or `ground`")),
               required(number_list("point", "m", coordinates, "in the frame of the body", {3})),
               text_list("wrap",
                         "names in `surfaces`: the segment to the next point may wrap over them; they are tried in the "
                         "order of `surfaces`")}};
  for (KeySchema& key : coordinate_keys()) point.keys.push_back(std::move(key));
  return {.name = "path",
          .kind = KeyKind::list,
          .meaning = "points from one insertion to the other",
          .keys = {std::move(point)}};
}

KeySchema wrap_surfaces_key() {
  return {.name = "surfaces",
          .kind = KeyKind::named,
          .meaning = "smooth surfaces that lines of this entry wrap over, by name",
          .keys = {
              required(text("body", "body to which it belongs, or `ground`")),
              number("sphere", "m", radii, "radius of a sphere"),
              number("cylinder", "m", radii, "radius of a cylinder along z"),
              number("length", "m", lengths,
                     "of a cylinder: lines with tangent points beyond its ends do not wrap, as in OpenSim; infinite "
                     "by default"),
              number_list("ellipsoid", "m", radii, "radii of an ellipsoid along x, y, z", {3}),
              vector3("position", "m", coordinates, "of its centre, in the frame of the body"),
              quaternion("orientation", "of its axes relative to those of the body"),
              number_list("side", "-", direction_entries,
                          "direction in its frame: lines pass on this side; by default on the shorter path", {3}),
              choice("inside", {"error", "straight"},
                     "a line between points of which one moves into the surface: an error, or straight as in OpenSim, "
                     "so that its length jumps",
                     "error"),
              choice("segments", {"every", "one"},
                     "segments of a line that wrap: every one that touches it, or one as in OpenSim, while others pass "
                     "through: the first that crosses it, or else the one that becomes longer by the least",
                     "every")}};
}

std::vector<LineSpec> read_lines(const Field& entry, const std::vector<BodySpec>& bodies) {
  std::vector<WrapSpec> surfaces;
  for (const Field& field : entry.entries_of("surfaces")) surfaces.push_back(read_surface(field, bodies));
  std::vector<LineSpec> lines;
  for (const Field& field : entry.entries_of("lines")) {
    lines.push_back(read_line(field, field.name(), surfaces, bodies));
  }
  if (entry.has("path")) lines.push_back(read_line(entry, "", surfaces, bodies));
  return lines;
}

bool placed_at_start(const LineSpec& line, const std::vector<BodySpec>& bodies) {
  return std::ranges::none_of(line.points, [&](const LinePoint& point) {
    if (point.depends_on_coordinates()) return true;
    const auto body = std::ranges::find(bodies, point.body, &BodySpec::name);
    return body != bodies.end() && !body->initial_state_from.empty();
  });
}

double straight_length(const LineSpec& line, const std::vector<BodySpec>& bodies) {
  double length = 0.0;
  for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
    const LinePoint& a = line.points[i];
    const LinePoint& b = line.points[i + 1];
    length += (initial_pose(a.body, bodies) * a.point - initial_pose(b.body, bodies) * b.point).norm();
  }
  return length;
}

void check_insertions(const LineSpec& line, const std::vector<BodySpec>& bodies) {
  for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
    for (const std::size_t s : line.points[i].wraps) {
      const WrapSpec& surface = line.surfaces[s];
      if (surface.shape.straight_inside) continue;
      const Pose X_SW = (initial_pose(surface.body, bodies) * surface.X_BS).inverse();
      for (std::size_t k = i; k <= i + 1; ++k) {
        const LinePoint& end = line.points[k];
        const double level = wrap_level(surface.shape, X_SW * (initial_pose(end.body, bodies) * end.point));
        if (level >= 1.0) continue;
        line.keys["path"].reject(
            fmt::format("points outside the surface '{}'", surface.name),
            fmt::format("point {} of '{}' inside it, at {:.3g} of its radius", k + 1, end.body, level),
            "a line cannot wrap over a surface that contains its insertion: make the surface smaller or leave out "
            "`wrap`, or let the line pass through it with `inside: straight`");
      }
    }
  }
}

}  // namespace heelstrike::config
