#include "fem_server/geometry/foot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/implicit_surface.hpp"
#include "scenario/surfaces/foot.hpp"

namespace heelstrike::fem {

namespace {

/// Monotone C1 interpolation through knots [fritsch1984], constant outside.
class Profile {
 public:
  using Knot = std::pair<double, double>;
  Profile(std::initializer_list<Knot> knots) : knots_(knots), slopes_(knots_.size(), 0.0) {
    for (std::size_t i = 1; i + 1 < knots_.size(); ++i) {
      const double left = secant(i - 1);
      const double right = secant(i);
      // Harmonic mean of the secants, zero at an extreme: monotone pieces stay monotone [fritsch1984]. The ends have
      // slope zero.
      if (left * right > 0.0) slopes_[i] = 2.0 * left * right / (left + right);
    }
  }

  double operator()(double t) const {
    if (t <= knots_.front().first) return knots_.front().second;
    if (t >= knots_.back().first) return knots_.back().second;
    std::size_t i = 0;
    while (knots_[i + 1].first < t) ++i;
    const double h = knots_[i + 1].first - knots_[i].first;
    const double s = (t - knots_[i].first) / h;
    const double a = (1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s);
    const double b = s * (1.0 - s) * (1.0 - s) * h;
    const double c = s * s * (3.0 - 2.0 * s);
    const double d = s * s * (s - 1.0) * h;
    return a * knots_[i].second + b * slopes_[i] + c * knots_[i + 1].second + d * slopes_[i + 1];
  }

 private:
  [[nodiscard]] double secant(std::size_t i) const {
    return (knots_[i + 1].second - knots_[i].second) / (knots_[i + 1].first - knots_[i].first);
  }
  std::vector<Knot> knots_;
  std::vector<double> slopes_;
};

double smooth_step(double from, double to, double x) {
  const double s = std::clamp((x - from) / (to - from), 0.0, 1.0);
  return s * s * (3.0 - 2.0 * s);
}

/// C1 minimum of two distances; blends the concave edge between two bodies over about `k` [m].
double smooth_minimum(double a, double b, double k) {
  const double h = std::clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
  // Polynomial blend: the exact minimum where the two differ by more than k, lower by k/4 where they are equal.
  return h * a + (1.0 - h) * b - k * h * (1.0 - h);
}

/// Implicit function of the foot; t runs from 0 at the heel to 1 at the toes.
class FootShape {
 public:
  explicit FootShape(const FootDimensions& d)
      : d_(d),
        breadth_{{0.0, 0.90 * d.heel_breadth},  {0.14, d.heel_breadth},
                 {0.30, 1.02 * d.heel_breadth}, {0.50, 0.5 * (d.heel_breadth + d.ball_breadth) - 0.002},
                 {0.70, d.ball_breadth},        {0.84, 0.94 * d.ball_breadth},
                 {1.0, 0.78 * d.ball_breadth}},
        center_{{0.0, 0.0},
                {0.25, 0.0},
                {0.50, 0.05 * d.ball_breadth},
                {0.72, 0.0},
                {0.90, -0.07 * d.ball_breadth},
                {1.0, -0.12 * d.ball_breadth}},
        top_{{0.0, 0.75 * d.ankle_height},
             {0.18, 0.98 * d.ankle_height},
             {0.34, 1.02 * std::max(d.ankle_height, d.instep_height)},
             {0.50, d.instep_height},
             {0.66, 0.40 * d.instep_height + 0.60 * (d.toe_height + 0.010)},
             {0.80, d.toe_height + 0.007},
             {0.92, d.toe_height},
             {1.0, 0.92 * d.toe_height}},
        arch_{{0.20, 0.0}, {0.45, 1.0}, {0.68, 0.0}} {}

  /// [m] approximate distance to the surface, negative inside.
  [[nodiscard]] double operator()(const Vector3& p) const { return smooth_minimum(foot(p), leg(p), 0.018); }

 private:
  [[nodiscard]] double foot(const Vector3& p) const {
    const double t = (p.x() + d_.heel_to_ankle) / d_.length;
    const double half_breadth = 0.5 * breadth_(t);
    const double across = (p.y() - center_(t)) / half_breadth;
    // The sole: raised on the medial side (negative y), flat on the lateral side.
    const double medial = 1.0 - smooth_step(-0.55, 0.50, across);
    const double bottom = -d_.ankle_height + d_.arch_height * arch_(t) * medial;
    const double top = -d_.ankle_height + top_(t);
    const double half_height = 0.5 * (top - bottom);
    const double up = (p.z() - 0.5 * (top + bottom)) / half_height;
    // Flat sole, round instep. Both powers are one at the ends of their axes and zero at the centre, so that the
    // section is C1.
    const double exponent_up = up < 0.0 ? 4.0 : 2.4;
    const double sum = std::pow(std::abs(across), 2.6) + std::pow(std::abs(up), exponent_up) + ends(t, across);
    // Converts the sum of powers to a length: exact on the axes of a section, of correct order elsewhere.
    return (std::pow(sum, 1.0 / 2.6) - 1.0) * std::min(half_breadth, half_height);
  }

  /// Closes heel and toes: 0 in the middle, 1 at the ends.
  [[nodiscard]] static double ends(double t, double across) {
    constexpr double heel_begin = 0.16;  // values of t
    constexpr double toe_begin = 0.80;
    if (t < heel_begin) return std::pow((heel_begin - t) / heel_begin, 2.4);
    // The toes end earlier on the lateral side.
    const double lateral = std::max(0.0, across + 0.35);
    const double shifted = t + 0.075 * lateral * lateral;
    if (shifted > toe_begin) return std::pow((shifted - toe_begin) / (1.0 - toe_begin), 2.4);
    return 0.0;
  }

  /// Elliptic leg with an ellipsoidal end inside the heel.
  [[nodiscard]] double leg(const Vector3& p) const {
    const double half_length = 0.175 * d_.length;
    const double half_breadth = 0.47 * d_.heel_breadth;
    const double center_x = 0.86 * half_length - 0.80 * d_.heel_to_ankle;
    const double below = std::max(0.0, -0.10 * d_.ankle_height - p.z()) / (0.45 * d_.ankle_height);
    const double radius = Vector3((p.x() - center_x) / half_length, p.y() / half_breadth, below).norm();
    return (radius - 1.0) * half_breadth;
  }

  FootDimensions d_;
  Profile breadth_;
  Profile center_;
  Profile top_;
  Profile arch_;
};

struct Range {
  const char* name;
  double value;
  double low;
  double high;
};

void check_dimensions(const FootDimensions& d, double size) {
  const std::array<Range, 10> ranges{{{"length", d.length, 0.10, 0.36},
                                      {"ball_breadth", d.ball_breadth, 0.25 * d.length, 0.50 * d.length},
                                      {"heel_breadth", d.heel_breadth, 0.15 * d.length, d.ball_breadth},
                                      {"arch_height", d.arch_height, 0.0, 0.5 * d.instep_height},
                                      {"instep_height", d.instep_height, 0.15 * d.length, 0.35 * d.length},
                                      {"toe_height", d.toe_height, 0.04 * d.length, 0.60 * d.instep_height},
                                      {"ankle_height", d.ankle_height, 0.18 * d.length, 0.40 * d.length},
                                      {"heel_to_ankle", d.heel_to_ankle, 0.12 * d.length, 0.30 * d.length},
                                      {"cut_height", d.cut_height, 0.0, 0.10 * d.length},
                                      {"size", size, 0.0005, 0.02}}};
  for (const Range& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    throw input_error(range.name, fmt::format("{}: expected a value between {:.4g} and {:.4g} m, found {} m",
                                              range.name, range.low, range.high, range.value));
  }
}

/// Scales the two sides of `axis` about the origin so that the extent becomes [low, high].
void fit(std::vector<Vector3>& vertices, Eigen::Index axis, double low, double high) {
  double found_low = 0.0;
  double upper_found = 0.0;
  for (const Vector3& v : vertices) {
    found_low = std::min(found_low, v[axis]);
    upper_found = std::max(upper_found, v[axis]);
  }
  for (Vector3& v : vertices) v[axis] *= v[axis] < 0.0 ? low / found_low : high / upper_found;
}

}  // namespace

SurfaceMesh make_foot(const FootDimensions& d, double size, FootSide side) {
  check_dimensions(d, size);
  const FootShape shape(d);
  const double margin = 2.0 * size + 0.01;
  const double half = 0.6 * d.ball_breadth + margin;
  const ImplicitBody body{.value = shape,
                          .low = {-d.heel_to_ankle - margin, -half, -d.ankle_height - margin},
                          .high = {d.length - d.heel_to_ankle + margin, half, d.cut_height}};
  SurfaceMesh foot = triangulate(body, size);
  fit(foot.vertices, 0, -d.heel_to_ankle, d.length - d.heel_to_ankle);
  fit(foot.vertices, 2, -d.ankle_height, d.cut_height);
  const double breadth = d.ball_breadth / measure_foot(foot, d).ball_breadth;
  for (Vector3& v : foot.vertices) v.y() *= breadth;
  return side == FootSide::left ? foot : mirrored_in_y(foot);
}

FootMeasures measure_foot(const SurfaceMesh& foot, const FootDimensions& d) {
  FootMeasures m;
  const auto extent = [&](Eigen::Index axis, const auto& inside) {
    double low = 1e9;
    double high = -1e9;
    for (const Vector3& v : foot.vertices) {
      if (!inside(v)) continue;
      low = std::min(low, v[axis]);
      high = std::max(high, v[axis]);
    }
    return std::pair(low, high);
  };
  const auto along = [&](const Vector3& v) { return (v.x() + d.heel_to_ankle) / d.length; };
  const auto breadth = [&](double from, double to) {
    const auto [low, high] =
        extent(1, [&](const Vector3& v) { return along(v) > from && along(v) < to && v.z() < -0.5 * d.ankle_height; });
    return high - low;
  };
  const auto [back, front] = extent(0, [](const Vector3&) { return true; });
  m.length = front - back;
  m.ball_breadth = breadth(0.5, 1.0);
  m.heel_breadth = breadth(0.0, 0.2);
  m.instep_height =
      extent(2, [&](const Vector3& v) { return std::abs(along(v) - 0.5) < 0.01; }).second + d.ankle_height;
  m.toe_height = extent(2, [&](const Vector3& v) { return along(v) > 0.90; }).second + d.ankle_height;
  const auto in_arch = [&](const Vector3& v) {
    return std::abs(along(v) - 0.45) < 0.02 && v.z() < -0.5 * d.ankle_height;
  };
  const auto [inner, outer] = extent(1, in_arch);
  const double inner_quarter = inner + 0.25 * (outer - inner);
  m.arch_height =
      extent(2, [&, limit = inner_quarter](const Vector3& v) { return in_arch(v) && v.y() < limit; }).first +
      d.ankle_height;
  for (std::size_t t = 0; t < foot.triangles.size(); ++t) {
    const Triangle& c = foot.triangles[t];
    const double height =
        (foot.vertices[c[0]].z() + foot.vertices[c[1]].z() + foot.vertices[c[2]].z()) / 3.0 + d.ankle_height;
    // Downward faces near the ground, by their projection on it.
    const double cross_z = triangle_cross(foot, t).z();
    constexpr double sole_height = 0.005;
    if (cross_z < 0.0 && height < sole_height) m.sole_area -= 0.5 * cross_z;
  }
  m.volume = signed_volume(foot);
  return m;
}

}  // namespace heelstrike::fem
