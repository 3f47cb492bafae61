#include "report/pressure_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

const PointArray* array_of(const FieldGrid& grid, const std::string& name) {
  const auto found = std::ranges::find(grid.arrays, name, &PointArray::name);
  return found == grid.arrays.end() ? nullptr : &*found;
}

constexpr const char* pressure_name = "contact_pressure";
/// [m] between copies of a node in two parts of one mesh: rounding of poses, far below the size of an element.
constexpr double coincidence = 1e-6;

std::optional<std::size_t> column_at(const std::vector<std::string>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

/// Updates the maxima of the cells covered by a triangle, with linear interpolation.
void draw_triangle(PlanView& view, const std::array<std::array<double, 3>, 3>& corners) {
  const auto [a, b, c] = corners;  // u, v in cells, value
  const double area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
  if (area == 0.0) return;
  const auto first = [](double p, double q, double r) { return std::max(0.0, std::ceil(std::min({p, q, r}) - 1e-9)); };
  const auto last = [](double p, double q, double r, std::size_t n) {
    return std::min(static_cast<double>(n) - 1.0, std::floor(std::max({p, q, r}) + 1e-9));
  };
  for (double v = first(a[1], b[1], c[1]); v <= last(a[1], b[1], c[1], view.n[1]); v += 1.0) {
    for (double u = first(a[0], b[0], c[0]); u <= last(a[0], b[0], c[0], view.n[0]); u += 1.0) {
      const double wb = ((u - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (v - a[1])) / area;
      const double wc = ((b[0] - a[0]) * (v - a[1]) - (u - a[0]) * (b[1] - a[1])) / area;
      if (wb < -1e-9 || wc < -1e-9 || wb + wc > 1.0 + 1e-9) continue;
      const double value = a[2] + wb * (b[2] - a[2]) + wc * (c[2] - a[2]);
      double& cell = view.values[static_cast<std::size_t>(v) * view.n[0] + static_cast<std::size_t>(u)];
      if (std::isnan(cell) || value > cell) cell = value;
    }
  }
}

}  // namespace

Json plan_view_json(const PlanView& view, double high) {
  constexpr double steps = 65534.0;
  constexpr std::uint16_t outside = 65535;
  std::vector<std::uint16_t> values;
  values.reserve(view.values.size());
  for (const double value : view.values) {
    const double fraction = high > 0.0 ? std::clamp(value / high, 0.0, 1.0) : 0.0;
    values.push_back(std::isnan(value) ? outside : static_cast<std::uint16_t>(std::lround(fraction * steps)));
  }
  constexpr const char* names[] = {"x", "y", "z"};
  return {{"axes", {names[view.axes[0]], names[view.axes[1]]}},
          {"depth", names[view.depth]},
          {"origin", view.origin},
          {"cell", view.cell},
          {"n", view.n},
          {"high", high},
          {"values", packed(values)}};
}

bool PressureMap::has_pressure(const FieldGrid& grid) {
  return array_of(grid, pressure_name) != nullptr;
}

PressureMap::PressureMap(const FieldGrid& first, const Pose& X_WB) {
  add_part(first, X_WB);
}

std::size_t PressureMap::add_part(const FieldGrid& first, const Pose& X_WF) {
  const auto n_before = static_cast<std::uint32_t>(peak_.size());
  const Pose X_FW = X_WF.inverse();
  for (std::size_t i = 0; i + 2 < first.points.size(); i += 3) {
    const Vector3 p_F = X_FW * Vector3(first.points[i], first.points[i + 1], first.points[i + 2]);
    points_.insert(points_.end(), {p_F.x(), p_F.y(), p_F.z()});
  }
  for (const std::uint32_t corner : first.triangles) triangles_.push_back(n_before + corner);
  first_points_.push_back(n_before);
  find_shared_nodes(n_before);
  peak_.resize(points_.size() / 3, 0.0);
  latest_.resize(peak_.size(), 0.0);
  add(first, first_points_.size() - 1);
  return first_points_.size() - 1;
}

void PressureMap::add(const FieldGrid& frame, std::size_t part) {
  const PointArray* pressure = array_of(frame, pressure_name);
  const std::size_t from = first_points_.at(part);
  const std::size_t n = (part + 1 < first_points_.size() ? first_points_[part + 1] : peak_.size()) - from;
  if (pressure == nullptr || pressure->values.size() != n) {
    throw file_error("fields.pvd", fmt::format("expected contact_pressure on {} points in every frame, found {}", n,
                                               pressure == nullptr ? 0 : pressure->values.size()));
  }
  for (std::size_t i = 0; i < n; ++i) {
    latest_[from + i] = pressure->values[i];
    peak_[from + i] = std::max(peak_[from + i], pressure->values[i]);
  }
}

void PressureMap::find_shared_nodes(std::uint32_t first) {
  const auto n = static_cast<std::uint32_t>(points_.size() / 3);
  // Sorted along x, so that few pairs are compared.
  std::vector<std::uint32_t> earlier(first);
  std::iota(earlier.begin(), earlier.end(), 0U);
  const auto x = [&](std::uint32_t node) { return points_[3 * node]; };
  std::ranges::sort(earlier, {}, x);
  for (std::uint32_t node = first; node < n; ++node) {
    auto other = std::ranges::lower_bound(earlier, x(node) - coincidence, {}, x);
    for (; other != earlier.end() && x(*other) <= x(node) + coincidence; ++other) {
      if ((point(*other) - point(node)).norm() > coincidence) continue;
      shared_.push_back({*other, node});
      break;
    }
  }
}

std::vector<double> PressureMap::over_cut(std::vector<double> node_values) const {
  for (const auto& [earlier, later] : shared_) {
    node_values[earlier] = node_values[later] = 0.5 * (node_values[earlier] + node_values[later]);
  }
  return node_values;
}

std::size_t PressureMap::part_of(std::uint32_t node) const {
  const auto next = std::ranges::upper_bound(first_points_, std::size_t{node});
  return static_cast<std::size_t>(next - first_points_.begin()) - 1;
}

std::vector<SharedNode> PressureMap::shared_nodes() const {
  std::vector<SharedNode> nodes;
  for (const auto& both : shared_) {
    SharedNode& shared = nodes.emplace_back();
    for (std::size_t side = 0; side < both.size(); ++side) {
      shared.parts[side] = part_of(both[side]);
      shared.nodes[side] = both[side] - static_cast<std::uint32_t>(first_points_[shared.parts[side]]);
    }
  }
  return nodes;
}

void PressureMap::clear_latest() {
  std::ranges::fill(latest_, 0.0);
}

double PressureMap::peak_pressure() const {
  return peak_.empty() ? 0.0 : *std::ranges::max_element(peak_);
}

Vector3 PressureMap::point(std::uint32_t node) const {
  return {points_[3 * node], points_[3 * node + 1], points_[3 * node + 2]};
}

std::vector<Vector3> PressureMap::points() const {
  std::vector<Vector3> points;
  for (std::uint32_t i = 0; i < peak_.size(); ++i) points.push_back(point(i));
  return points;
}

Vector3 PressureMap::load() const {
  Vector3 sum = Vector3::Zero();
  for (std::size_t t = 0; t + 2 < triangles_.size(); t += 3) {
    const std::uint32_t i = triangles_[t];
    const std::uint32_t j = triangles_[t + 1];
    const std::uint32_t k = triangles_[t + 2];
    const Vector3 area = 0.5 * (point(j) - point(i)).cross(point(k) - point(i));
    sum += area * (peak_[i] + peak_[j] + peak_[k]) / 3.0;
  }
  // Without any load: a sole faces down.
  return sum.isZero(0.0) ? Vector3(0.0, 0.0, -1.0) : sum;
}

PlanView PressureMap::view(const std::vector<double>& node_values, std::size_t n_cells) const {
  PlanView view;
  if (points_.empty() || n_cells < 2) return view;
  const std::vector<double> values = over_cut(node_values);
  const Vector3 direction = load();
  direction.cwiseAbs().maxCoeff(&view.depth);
  // In cyclic order the view is against the third axis: for a tibia, onto the plateaus.
  view.axes = {(view.depth + 1) % 3, (view.depth + 2) % 3};
  std::array<double, 2> high{};
  for (std::size_t k = 0; k < 2; ++k) {
    view.origin[k] = std::numeric_limits<double>::infinity();
    high[k] = -std::numeric_limits<double>::infinity();
    for (std::size_t i = static_cast<std::size_t>(view.axes[k]); i < points_.size(); i += 3) {
      view.origin[k] = std::min(view.origin[k], points_[i]);
      high[k] = std::max(high[k], points_[i]);
    }
  }
  const double longer = std::max(high[0] - view.origin[0], high[1] - view.origin[1]);
  view.cell = longer > 0.0 ? longer / static_cast<double>(n_cells - 1) : 1.0;
  for (std::size_t k = 0; k < 2; ++k) {
    view.n[k] = static_cast<std::size_t>(std::floor((high[k] - view.origin[k]) / view.cell + 1e-9)) + 1;
  }
  view.values.assign(view.n[0] * view.n[1], std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 0; t + 2 < triangles_.size(); t += 3) {
    const Vector3 p[3] = {point(triangles_[t]), point(triangles_[t + 1]), point(triangles_[t + 2])};
    const Vector3 normal = (p[1] - p[0]).cross(p[2] - p[0]);
    if (normal[view.depth] * direction[view.depth] <= 0.0) continue;
    std::array<std::array<double, 3>, 3> corners{};
    for (std::size_t c = 0; c < 3; ++c) {
      corners[c] = {(p[c][view.axes[0]] - view.origin[0]) / view.cell,
                    (p[c][view.axes[1]] - view.origin[1]) / view.cell, values[triangles_[t + c]]};
    }
    draw_triangle(view, corners);
  }
  return view;
}

Pose pose_in_row(const std::vector<std::string>& columns, std::span<const double> row, const std::string& body) {
  const auto x = column_at(columns, body + ".x_m");
  const auto qw = column_at(columns, body + ".qw");
  if (!x || !qw || *x + 2 >= row.size() || *qw + 3 >= row.size()) return {};
  return {.R = Quaternion(row[*qw], row[*qw + 1], row[*qw + 2], row[*qw + 3]).normalized().toRotationMatrix(),
          .p = Vector3(row[*x], row[*x + 1], row[*x + 2])};
}

CopPath cop_path(const TimeSeries& series, const std::string& pair, const std::string& body) {
  const LoadedPart part{.pair = pair, .body = body, .X_FB = {}};
  return cop_path(series, std::span(&part, 1));
}

CopPath cop_path(const TimeSeries& series, std::span<const LoadedPart> parts) {
  struct Columns {
    const LoadedPart* part;
    std::size_t force, cop;
  };
  std::vector<Columns> known;
  for (const LoadedPart& part : parts) {
    const auto force = column_at(series.columns, part.pair + ".fx_N");
    const auto cop = column_at(series.columns, part.pair + ".copx_m");
    if (force && cop) known.push_back({.part = &part, .force = *force, .cop = *cop});
  }
  CopPath path;
  const std::size_t n = series.columns.size();
  std::size_t contact = 0;
  bool loaded_before = false;
  for (std::size_t r = 0; r < series.rows(); ++r) {
    const std::span<const double> row(series.values.data() + r * n, n);
    double sum = 0.0;
    Vector3 weighted = Vector3::Zero();
    for (const auto& [part, force, cop] : known) {
      const double size = std::hypot(row[force], row[force + 1], row[force + 2]);
      if (!(size > 0.0)) continue;
      const Pose X_FW = part->X_FB * pose_in_row(series.columns, row, part->body).inverse();
      weighted += size * (X_FW * Vector3(row[cop], row[cop + 1], row[cop + 2]));
      sum += size;
    }
    if (!(sum > 0.0)) {
      contact += loaded_before ? 1 : 0;
      loaded_before = false;
      continue;
    }
    loaded_before = true;
    path.times.push_back(row[0]);
    path.points.emplace_back(weighted / sum);
    path.forces.push_back(sum);
    path.contacts.push_back(contact);
  }
  return path;
}

std::optional<PartOwner> part_owner(const std::string& part, const std::vector<std::string>& columns) {
  constexpr std::string_view gap = ".gap_m";
  constexpr std::string_view orientation = ".qw";
  for (const std::string& column : columns) {
    if (!column.ends_with(gap)) continue;
    const std::string pair = column.substr(0, column.size() - gap.size());
    if (!part.starts_with(plain_name(pair) + "_")) continue;
    for (const std::string& other : columns) {
      if (!other.ends_with(orientation)) continue;
      const std::string body = other.substr(0, other.size() - orientation.size());
      if (part == plain_name(fmt::format("{}_{}", pair, body))) return PartOwner{pair, body};
    }
    if (part == plain_name(pair + "_ground")) return PartOwner{pair, "ground"};
  }
  return std::nullopt;
}

}  // namespace heelstrike::report
