#include "report/scene.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <variant>

#include "common/errors/error.hpp"
#include "common/spatial/wrap_sequence.hpp"
#include "report/pressure_map.hpp"
#include "scenario/line_paths.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::report {
namespace {

constexpr const char* ground = "ground";
constexpr double same_point = 1e-9;  // [m]

// Wrap path: twelve points appear smooth on a screen, and 60 times resolve the motion; thirty lines then use about
// 65,000 values of a page.
constexpr int n_wrap_points = 12;
constexpr std::size_t max_wrap_times = 60;

Json json_of(const Vector3& v) {
  return {v.x(), v.y(), v.z()};
}

/// The axis of the world that is closest to a direction.
Vector3 nearest_axis(const Vector3& direction) {
  Eigen::Index k = 0;
  direction.cwiseAbs().maxCoeff(&k);
  return std::copysign(1.0, direction[k]) * Vector3::Unit(k);
}

/// The solid of a surface; null for a surface without one, e.g. a file.
Json surface_json(const Surface& surface) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.outline == nullptr) return {};
  Json json;
  for (const auto& [name, value] : kind.outline(surface)) {
    std::visit([&](const auto& v) { json[name] = v; }, value);
  }
  return json;
}

/// A block of mass m and edges a, b, c has the moment m (b^2 + c^2) / 12 about its first axis, and cyclically: a^2 = 6
/// (I2 + I3 - I1) / m.
std::optional<Json> box_of(const BodySpec& body) {
  const Eigen::SelfAdjointEigenSolver<Matrix3> axes(body.inertia);
  if (!(body.mass > 0.0) || axes.info() != Eigen::Success) return std::nullopt;
  const Vector3 moments = axes.eigenvalues();
  const Vector3 squares = (Vector3::Constant(moments.sum()) - 2.0 * moments) * 6.0 / body.mass;
  if (!(squares.minCoeff() > 0.0)) return std::nullopt;
  Matrix3 R = axes.eigenvectors();
  if (R.determinant() < 0.0) R.col(2) = -R.col(2);
  const Quaternion q = quaternion_from_rotation(R);
  return Json{{"lengths", json_of(squares.cwiseSqrt())},
              {"p", json_of(body.center_of_mass)},
              {"q", {q.w(), q.x(), q.y(), q.z()}}};
}

class SceneWriter {
 public:
  SceneWriter(const Scenario& scenario, const TimeSeries& series) : scenario_(scenario), series_(series) {
    add_body(ground);
    for (const BodySpec& body : scenario.bodies) add_body(body.name);
  }

  [[nodiscard]] Json scene() {
    Json joints = Json::array();
    Json springs = Json::array();
    Json lines = {{"parts", Json::array()}, {"surfaces", Json::array()}};
    for (const JointSpec& joint : scenario_.joints) {
      if (joint.ends) joints.push_back(joint_json(joint));
    }
    for (const ElementSpec& force : scenario_.forces) {
      if (force.ends) springs.push_back(ends_json(force.name, *force.ends, ends_of(*force.ends)));
      for (const auto& line : config::read_lines(force.keys, scenario_.bodies)) add_line(force.name, line, lines);
    }
    Json pairs = Json::array();
    for (const PairModel& pair : scenario_.pairs) {
      add_surface(pair.main_body, pair.spec.main.surface);
      add_surface(pair.partner_body, pair.spec.partner.surface);
      pairs.push_back({{"name", pair.spec.name}, {"main", pair.main_body}});
    }
    return {{"up", json_of(up())}, {"gravity", scenario_.gravity.norm() > 0.0},
            {"bodies", bodies_},   {"pairs", pairs},
            {"joints", joints},    {"springs", springs},
            {"lines", lines}};
  }

 private:
  using Ends = std::array<Vector3, 2>;  ///< each in the frame of its body

  /// Against gravity; without gravity superior, where a body names its sides, or else z.
  [[nodiscard]] Vector3 up() const {
    if (scenario_.gravity.norm() > 0.0) return -scenario_.gravity.normalized();
    for (const PairModel& pair : scenario_.pairs) {
      for (const auto& [body, surface] :
           {std::pair(&pair.main_body, &pair.spec.main.surface), {&pair.partner_body, &pair.spec.partner.surface}}) {
        for (const AnatomicalAxis& axis : axes_of(*surface)) {
          const double sign = axis.ahead == "superior" ? 1.0 : axis.behind == "superior" ? -1.0 : 0.0;
          if (sign != 0.0) return nearest_axis(sign * (pose_of(*body, 0).R * axis.direction));
        }
      }
    }
    return Vector3::UnitZ();
  }

  [[nodiscard]] static std::vector<AnatomicalAxis> axes_of(const Surface& surface) {
    const SurfaceKind& kind = kind_of(surface);
    return kind.axes == nullptr ? std::vector<AnatomicalAxis>{} : kind.axes(surface);
  }

  void add_body(const std::string& name) {
    Json body = {{"name", name}, {"points", Json::array()}, {"surfaces", Json::array()}};
    const auto spec = std::ranges::find(scenario_.bodies, name, &BodySpec::name);
    if (spec != scenario_.bodies.end()) {
      body["center_of_mass"] = json_of(spec->center_of_mass);
      if (const auto box = box_of(*spec)) body["box"] = *box;
    }
    bodies_.push_back(std::move(body));
  }

  Json& body_named(const std::string& name) {
    return *std::ranges::find_if(bodies_, [&](const Json& body) { return body.at("name") == name; });
  }

  /// The initial pose of a body that starts at another body or a recording is only in the time series.
  [[nodiscard]] Pose initial_pose(const std::string& name) const {
    const auto body = std::ranges::find(scenario_.bodies, name, &BodySpec::name);
    if (body == scenario_.bodies.end()) return {};
    const bool recorded = std::ranges::any_of(scenario_.drivers, [&](const DriverSpec& driver) {
      return driver.body == name && (!driver.follow.empty() || !driver.record.file.empty());
    });
    if ((body->initial_state_from.empty() && !recorded) || series_.rows() == 0) return body->X_WB;
    return pose_in_row(series_.columns, std::span(series_.values).first(series_.columns.size()), name);
  }

  [[nodiscard]] Ends ends_of(const Attachment& spec) const {
    if (!spec.in_world) return {spec.points.at(0), spec.points.at(1)};
    const std::array<Pose, 2> X_W = {initial_pose(spec.bodies[0]), initial_pose(spec.bodies[1])};
    const Vector3 first = !spec.points.empty() ? spec.points[0] : spec.bodies[1] == ground ? X_W[0].p : X_W[1].p;
    return {X_W[0].inverse() * first, X_W[1].inverse() * spec.second_point.value_or(first)};
  }

  Json ends_json(const std::string& name, const Attachment& spec, const Ends& ends) {
    Json json = {{"name", name}};
    for (std::size_t k = 0; k < 2; ++k) {
      json[k == 0 ? "a" : "b"] = {{"body", spec.bodies[k]}, {"point", json_of(ends[k])}};
      add_point(spec.bodies[k], ends[k]);
    }
    return json;
  }

  /// Adds the segments of a line from point to point, and its wrap surfaces, each once.
  void add_line(const std::string& entry, const config::LineSpec& line, Json& lines) {
    for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
      Json part = {{"name", line.name.empty() ? entry : entry + "." + line.name}};
      for (std::size_t k = 0; k < 2; ++k) {
        const auto& end = line.points[i + k];
        part[k == 0 ? "a" : "b"] = {{"body", end.body}, {"point", json_of(end.point)}};
        add_point(end.body, end.point);
      }
      if (!line.points[i].wraps.empty()) part["way"] = wrap_path_json(line, i);
      for (const std::size_t k : line.points[i].wraps) add_wrap_surface(entry, line.surfaces[k], lines["surfaces"]);
      lines["parts"].push_back(std::move(part));
    }
  }

  /// The surfaces of a line and the segments that may wrap over them.
  [[nodiscard]] std::vector<PlacedSurface> placed_surfaces(const config::LineSpec& line, std::size_t row) const {
    std::vector<PlacedSurface> placed;
    for (std::size_t k = 0; k < line.surfaces.size(); ++k) {
      const config::WrapSpec& surface = line.surfaces[k];
      placed.push_back({.shape = &surface.shape,
                        .X_WS = pose_of(surface.body, row) * surface.X_BS,
                        .one_segment = surface.one_segment});
      for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
        const auto& wraps = line.points[i].wraps;
        if (std::ranges::find(wraps, k) != wraps.end()) placed.back().segments.push_back(i);
      }
    }
    return placed;
  }

  /// Points of a segment in the world, as many over each of its surfaces.
  [[nodiscard]] std::vector<Vector3> segment_points(const config::LineSpec& line, std::size_t i,
                                                    std::size_t row) const {
    std::vector<Vector3> ends;
    for (const auto& point : line.points) ends.push_back(pose_of(point.body, row) * point.point);
    const std::vector<PlacedSurface> placed = placed_surfaces(line, row);
    const std::vector<SurfaceContact> contacts = wrap_sequence(ends, placed).at(i);
    std::vector<Vector3> points;
    for (std::size_t k = 0; k < contacts.size(); ++k) {
      // Between two surfaces the line is straight and divided at its middle.
      const Vector3 from = k == 0 ? ends[i] : Vector3(0.5 * (contacts[k - 1].last + contacts[k].first));
      const Vector3 to =
          k + 1 == contacts.size() ? ends[i + 1] : Vector3(0.5 * (contacts[k].last + contacts[k + 1].first));
      const PlacedSurface& surface = placed[contacts[k].surface];
      const Pose X_SW = surface.X_WS.inverse();
      for (const Vector3& y : wrapped_points(*surface.shape, X_SW * from, X_SW * to, n_wrap_points - 4)) {
        points.push_back(surface.X_WS * y);
      }
    }
    return points;
  }

  /// The path over surfaces at times spread over the run, in the frame of the body of the first one; straight where no
  /// shortest line is found, so that failures are displayed too.
  [[nodiscard]] Json wrap_path_json(const config::LineSpec& line, std::size_t i) const {
    const std::string& body = line.surfaces[line.points[i].wraps.front()].body;
    const std::size_t count = n_wrap_points * line.points[i].wraps.size();
    std::vector<double> times;
    std::vector<double> coordinates;
    for (const std::size_t row : spread_rows()) {
      std::vector<Vector3> points;
      try {
        points = segment_points(line, i, row);
      } catch (const RecoverableError&) {
        points.clear();
      }
      const Vector3 end = pose_of(line.points[i + 1].body, row) * line.points[i + 1].point;
      const Vector3 start =
          points.empty() ? Vector3(pose_of(line.points[i].body, row) * line.points[i].point) : points.back();
      const std::size_t missing = count - points.size();
      for (std::size_t k = 0; k < missing; ++k) {
        points.emplace_back(start + (end - start) * static_cast<double>(k) / static_cast<double>(missing - 1));
      }
      times.push_back(series_.rows() == 0 ? 0.0 : series_.values[row * series_.columns.size()]);
      const Pose X_BW = pose_of(body, row).inverse();
      for (const Vector3& point : points) {
        const Vector3 p = X_BW * point;
        coordinates.insert(coordinates.end(), p.begin(), p.end());
      }
    }
    return {{"body", body}, {"count", count}, {"times", packed(times)}, {"points", packed(coordinates)}};
  }

  /// Rows at which wrap paths are computed; only the first if there are none.
  [[nodiscard]] std::vector<std::size_t> spread_rows() const {
    const std::size_t n = series_.rows();
    const std::size_t count = std::clamp<std::size_t>(n, 1, max_wrap_times);
    std::vector<std::size_t> rows;
    for (std::size_t k = 0; k < count; ++k) rows.push_back(count == 1 ? 0 : k * (n - 1) / (count - 1));
    return rows;
  }

  [[nodiscard]] Pose pose_of(const std::string& body, std::size_t row) const {
    if (series_.rows() == 0) return initial_pose(body);
    const std::size_t n = series_.columns.size();
    return pose_in_row(series_.columns, std::span(series_.values).subspan(row * n, n), body);
  }

  static void add_wrap_surface(const std::string& entry, const config::WrapSpec& wrap, Json& surfaces) {
    const std::string name = entry + "." + wrap.name;
    if (std::ranges::any_of(surfaces, [&](const Json& surface) { return surface.at("name") == name; })) return;
    const Quaternion q = quaternion_from_rotation(wrap.X_BS.R);
    const Vector3& radii = wrap.shape.radii;
    const bool cylinder = std::isinf(radii.z());
    surfaces.push_back({{"name", name},
                        {"body", wrap.body},
                        {"p", json_of(wrap.X_BS.p)},
                        {"q", {q.w(), q.x(), q.y(), q.z()}},
                        {"radii", {radii.x(), radii.y(), cylinder ? radii.x() : radii.z()}},
                        {"cylinder", cylinder}});
  }

  Json joint_json(const JointSpec& joint) {
    const Attachment& spec = *joint.ends;
    const Ends ends = ends_of(spec);
    Json json = ends_json(joint.name, spec, ends);
    const Pose X_WA = initial_pose(spec.bodies[0]);
    const Pose X_WB = initial_pose(spec.bodies[1]);
    if (!spec.axes.empty()) {
      json["axis"] = json_of(spec.in_world ? Vector3(X_WA.R.transpose() * spec.axes[0]) : spec.axes[0]);
    }
    // A joint that fixes a distance and has no axis is a rod.
    json["rod"] =
        spec.axes.empty() && (joint.keys.has("length") || (X_WA * ends[0] - X_WB * ends[1]).norm() > same_point);
    return json;
  }

  void add_point(const std::string& body, const Vector3& point) {
    Json& points = body_named(body)["points"];
    for (const Json& known : points) {
      if ((Vector3(known[0], known[1], known[2]) - point).norm() < same_point) return;
    }
    points.push_back(json_of(point));
  }

  /// Several pairs may share a surface.
  void add_surface(const std::string& body, const Surface& surface) {
    for (const AnatomicalAxis& axis : axes_of(surface)) {
      Json& axes = body_named(body)["axes"];
      Json entry = {{"direction", json_of(axis.direction)}, {"ahead", axis.ahead}, {"behind", axis.behind}};
      if (std::ranges::find(axes, entry) == axes.end()) axes.push_back(std::move(entry));
    }
    const Json json = surface_json(surface);
    Json& known = body_named(body)["surfaces"];
    if (!json.is_null() && std::ranges::find(known, json) == known.end()) known.push_back(json);
  }

  const Scenario& scenario_;
  const TimeSeries& series_;
  Json bodies_ = Json::array();
};

}  // namespace

Json scene_json(const Scenario& scenario, const TimeSeries& series) {
  return SceneWriter(scenario, series).scene();
}

}  // namespace heelstrike::report
