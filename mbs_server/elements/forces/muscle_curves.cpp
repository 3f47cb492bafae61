#include "mbs_server/elements/forces/muscle_curves.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::mbs {
namespace {

/// Value and derivative at u of a polynomial of degree 5 in Bernstein form.
CurvePoint bernstein(std::array<double, 6> c, double u) {
  // De Casteljau: the last but one step gives value and derivative.
  for (std::size_t n = 5; n > 1; --n) {
    for (std::size_t i = 0; i < n; ++i) c[i] += u * (c[i + 1] - c[i]);
  }
  return {.value = c[0] + u * (c[1] - c[0]), .slope = 5.0 * (c[1] - c[0])};
}

/// u in [0, 1] with x(u) = x on a piece with increasing x.
double parameter_at(const std::array<double, 6>& piece, double x) {
  double low = 0.0;
  double high = 1.0;
  double u = (x - piece.front()) / (piece.back() - piece.front());
  constexpr int max_iterations = 60;
  for (int i = 0; i < max_iterations; ++i) {
    const CurvePoint at = bernstein(piece, u);
    const double error = at.value - x;
    (error > 0.0 ? high : low) = u;
    double next = at.slope > 0.0 ? u - error / at.slope : low - 1.0;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    // Newton's method converges quadratically: the next correction would be rounding.
    if (std::abs(next - u) < 1e-12) return next;
    u = next;
  }
  return u;
}

/// Maps the curviness c of the source to 0.1 + 0.8 c, which excludes sharp corners and degenerate curves.
double scaled(double curviness) {
  return 0.1 + 0.8 * curviness;
}

BezierCurve active_curve() {
  // Minimum length, end of the steep ascent, plateau, maximum length; slope of the shallow ascent.
  constexpr double x0 = 0.4441, x1 = 0.73, x2 = 1.0, x3 = 1.8123, slope = 0.8616;
  constexpr double half_plateau = 0.05 * x2;
  constexpr double begin = x2 - half_plateau, end = x2 + half_plateau;
  const double y1 = 1.0 - slope * (begin - x1);
  const double steep = 1.25 * y1 / (x1 - x0);
  const double x_middle = 0.5 * (x0 + x1), y_middle = 0.5 * y1;
  const double x_fall = 0.5 * (end + x3);
  const double fall = -1.0 / ((x3 - half_plateau) - end);
  constexpr double c = 1.0;
  BezierCurve curve(x0, 0.0, 0.0);
  curve.to(x_middle, y_middle, steep, c)
      .to(0.5 * (x1 + begin), 0.5 * (y1 + 1.0), slope, c)
      .to(x2, 1.0, 0.0, c)
      .to(x_fall, 0.5, fall, c)
      .to(x3, 0.0, 0.0, c);
  return curve;
}

BezierCurve passive_curve(double strain) {
  // Slopes at low force and at the isometric force.
  constexpr double low = 0.2, c = 0.75;
  const double high = 2.0 / strain;
  const double first = 1.0 + std::min(0.1 / high, 0.1 * strain);
  BezierCurve curve(1.0, 0.0, 0.0);
  curve.to(first, low * 0.5 * (first - 1.0), low, c).to(1.0 + strain, 1.0, high, c);
  return curve;
}

BezierCurve velocity_curve() {
  constexpr double largest = 1.4, isometric = 5.0, near_concentric = 0.25, near_eccentric = 0.15;
  constexpr double concentric = 0.6, eccentric = 0.9;
  BezierCurve curve(-1.0, 0.0, 0.0);
  curve.to(-0.9, 0.5 * near_concentric * 0.1, near_concentric, concentric)
      .to(0.0, 1.0, isometric, concentric)
      .to(0.9, largest - 0.5 * near_eccentric * 0.1, near_eccentric, eccentric)
      .to(1.0, largest, 0.0, eccentric);
  return curve;
}

BezierCurve tendon_curve() {
  // As a function of strain: strain and slope at the isometric force, force where the straight part begins.
  constexpr double strain = 0.049, slope = 1.375 / strain, toe = 2.0 / 3.0, c = 0.5;
  const double x_toe = (toe - 1.0) / slope + strain;
  const double x_foot = x_toe / 10.0;
  const double y_middle = 0.5 * toe;
  const double x_middle = (y_middle - 1.0) / slope + strain;
  const double middle = y_middle / (x_middle - x_foot);
  const double x_corner = x_foot + 0.5 * (x_middle - x_foot);
  BezierCurve curve(0.0, 0.0, 0.0);
  curve.to(x_corner, middle * (x_corner - x_foot), middle, c).to(x_toe, toe, slope, c);
  return curve;
}

class MillardCurves final : public MuscleCurves {
 public:
  explicit MillardCurves(double passive_strain) : passive_(passive_curve(passive_strain)) {}

  [[nodiscard]] CurvePoint active(double length) const override { return active_.at(length); }
  [[nodiscard]] CurvePoint passive(double length) const override { return passive_.at(length); }
  [[nodiscard]] Velocity velocity(double velocity, double /*activation*/) const override {
    return {velocity_.at(velocity)};
  }
  [[nodiscard]] CurvePoint tendon(double strain) const override { return tendon_.at(strain); }
  [[nodiscard]] double shortest() const override { return 0.4441; }

 private:
  BezierCurve active_ = active_curve(), passive_, velocity_ = velocity_curve(), tendon_ = tendon_curve();
};

class ThelenCurves final : public MuscleCurves {
 public:
  explicit ThelenCurves(double passive_strain) : passive_strain_(passive_strain) {}

  [[nodiscard]] CurvePoint active(double length) const override {
    constexpr double width = 0.45;
    const double x = length - 1.0;
    const double value = std::exp(-x * x / width);
    return {.value = value, .slope = -2.0 * x / width * value};
  }
  [[nodiscard]] CurvePoint passive(double length) const override {
    constexpr double shape = 5.0;
    const double strain = passive_strain_;
    if (length <= 1.0) return {};
    const double e = std::exp(shape * (length - 1.0) / strain);
    const double whole = std::expm1(shape);
    return {.value = (e - 1.0) / whole, .slope = shape / strain * e / whole};
  }
  /// Equations (6) and (7) of the source, solved for the force.
  [[nodiscard]] Velocity velocity(double velocity, double activation) const override {
    constexpr double shape = 0.25, largest = 1.4;
    const double fastest = 0.25 + 0.75 * activation;
    const double x = velocity / fastest;
    Velocity at;
    double by_x = 0.0;
    if (x <= -1.0) return at;
    if (x <= 0.0) {
      const double below = 1.0 - x / shape;
      at.value = (1.0 + x) / below;
      by_x = (1.0 + 1.0 / shape) / (below * below);
    } else {
      const double k = (2.0 + 2.0 / shape) / (largest - 1.0);
      const double below = 1.0 + k * x;
      at.value = (1.0 + k * x * largest) / below;
      by_x = k * (largest - 1.0) / (below * below);
    }
    at.slope = by_x / fastest;
    at.by_activation = -by_x * x / fastest * 0.75;
    return at;
  }
  [[nodiscard]] CurvePoint tendon(double strain) const override {
    constexpr double isometric = 0.04, shape = 3.0, toe_force = 0.33;
    // 99 e^3 / (166 e^3 - 67): where the exponential toe joins the straight part with equal slope.
    const double e3 = std::exp(3.0);
    const double toe = isometric * 99.0 * e3 / (166.0 * e3 - 67.0);
    const double slope = 0.67 / (isometric - toe);
    if (strain <= 0.0) return {};
    if (strain > toe) return {.value = slope * (strain - toe) + toe_force, .slope = slope};
    const double e = std::exp(shape * strain / toe);
    return {.value = toe_force * (e - 1.0) / std::expm1(shape),
            .slope = toe_force * shape / toe * e / std::expm1(shape)};
  }
  [[nodiscard]] double shortest() const override { return 0.01; }

 private:
  double passive_strain_;
};

}  // namespace

BezierCurve::BezierCurve(double x, double y, double slope)
    : first_{.x = x, .y = y, .slope = slope}, last_(first_), pieces_() {}

BezierCurve& BezierCurve::to(double x, double y, double slope, double curviness) {
  // Both tangents intersect at the corner; the curviness moves the inner control points towards it.
  const double c = scaled(curviness);
  const double x_corner = (last_.y - y - last_.x * last_.slope + x * slope) / (slope - last_.slope);
  const double y_corner = slope * (x_corner - x) + y;
  const double xa = last_.x + c * (x_corner - last_.x), ya = last_.y + c * (y_corner - last_.y);
  const double xb = x + c * (x_corner - x), yb = y + c * (y_corner - y);
  pieces_.push_back({.x = {last_.x, xa, xa, xb, xb, x}, .y = {last_.y, ya, ya, yb, yb, y}});
  last_ = {.x = x, .y = y, .slope = slope};
  return *this;
}

CurvePoint BezierCurve::at(double x) const {
  if (x <= first_.x) return {.value = first_.y + first_.slope * (x - first_.x), .slope = first_.slope};
  if (x >= last_.x) return {.value = last_.y + last_.slope * (x - last_.x), .slope = last_.slope};
  const auto piece = std::ranges::find_if(pieces_, [x](const Piece& p) { return x <= p.x.back(); });
  const double u = parameter_at(piece->x, x);
  const CurvePoint by_u = bernstein(piece->y, u);
  return {.value = by_u.value, .slope = by_u.slope / bernstein(piece->x, u).slope};
}

std::shared_ptr<const MuscleCurves> millard_curves(double passive_strain) {
  return std::make_shared<MillardCurves>(passive_strain);
}

std::shared_ptr<const MuscleCurves> thelen_curves(double passive_strain) {
  return std::make_shared<ThelenCurves>(passive_strain);
}

}  // namespace heelstrike::mbs
