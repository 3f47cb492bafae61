#include "mbs_server/elements/forces/hill_muscle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

BezierCurve tendon_curve(double strain) {
  // As a function of strain: slope at the isometric force, force where the straight part begins.
  const double slope = 1.375 / strain;
  constexpr double toe = 2.0 / 3.0, c = 0.5;
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
  explicit MillardCurves(const CurveStrains& strains)
      : passive_(passive_curve(strains.passive.value_or(0.7))), tendon_(tendon_curve(strains.tendon.value_or(0.049))) {}

  [[nodiscard]] CurvePoint active(double length) const override { return active_.at(length); }
  [[nodiscard]] CurvePoint passive(double length) const override { return passive_.at(length); }
  [[nodiscard]] Velocity velocity(double velocity, double /*activation*/) const override {
    return {velocity_.at(velocity)};
  }
  [[nodiscard]] CurvePoint tendon(double strain) const override { return tendon_.at(strain); }
  [[nodiscard]] double shortest() const override { return 0.4441; }

 private:
  BezierCurve active_ = active_curve(), passive_, velocity_ = velocity_curve(), tendon_;
};

class ThelenCurves final : public MuscleCurves {
 public:
  explicit ThelenCurves(const CurveStrains& strains)
      : passive_strain_(strains.passive.value_or(0.6)), tendon_strain_(strains.tendon.value_or(0.04)) {}

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
    constexpr double shape = 3.0, toe_force = 0.33;
    const double isometric = tendon_strain_;
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
  double passive_strain_, tendon_strain_;
};

class DeGrooteCurves final : public MuscleCurves {
 public:
  explicit DeGrooteCurves(const CurveStrains& strains)
      : passive_strain_(strains.passive.value_or(0.6)), tendon_strain_(strains.tendon.value_or(0.049)) {}

  /// Three Gauss functions whose width grows with the length.
  [[nodiscard]] CurvePoint active(double length) const override {
    struct Bell {
      double height, center, width, growth;
    };
    constexpr std::array<Bell, 3> bells = {
        {{0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465},
         {0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188},
         {0.1, 1.0, 0.353553390593274, 0.0}}};
    CurvePoint sum;
    for (const Bell& bell : bells) {
      const double width = bell.width + bell.growth * length;
      const double x = (length - bell.center) / width;
      const double value = bell.height * std::exp(-0.5 * x * x);
      sum.value += value;
      sum.slope -= value * x * (1.0 - x * bell.growth) / width;
    }
    return sum;
  }
  /// Zero at the minimum length.
  [[nodiscard]] CurvePoint passive(double length) const override {
    constexpr double shape = 4.0;
    const double slope = shape / passive_strain_;
    const double offset = std::exp(slope * (shortest() - 1.0));
    const double e = std::exp(slope * (length - 1.0));
    const double whole = std::exp(shape) - offset;
    return {.value = (e - offset) / whole, .slope = slope * e / whole};
  }
  [[nodiscard]] Velocity velocity(double velocity, double /*activation*/) const override {
    constexpr double d1 = -0.3211346127989808, d2 = -8.149, d3 = -0.374, d4 = 0.8825327733249912;
    const double x = d2 * velocity + d3;
    return {{.value = d1 * std::asinh(x) + d4, .slope = d1 * d2 / std::hypot(x, 1.0)}};
  }
  [[nodiscard]] CurvePoint tendon(double strain) const override {
    constexpr double c1 = 0.2, c3 = 0.2;
    const double slope = std::log((1.0 + c3) / c1) / tendon_strain_;
    // The exponential is negative for a slack tendon, which cannot push.
    if (strain <= 0.0) return {};
    const double e = c1 * std::exp(slope * strain);
    return {.value = e - c3, .slope = slope * e};
  }
  [[nodiscard]] double shortest() const override { return 0.2; }

 private:
  double passive_strain_, tendon_strain_;
};

class SchutteCurves final : public MuscleCurves {
 public:
  explicit SchutteCurves(CurveTables tables) : tables_(std::move(tables)) {}

  [[nodiscard]] CurvePoint active(double length) const override { return positive(*tables_.active, length); }
  [[nodiscard]] CurvePoint passive(double length) const override {
    if (tables_.passive) return positive(*tables_.passive, length);
    constexpr double shape = 8.0;
    const double e = std::exp(shape * (length - 1.5));
    return {.value = e, .slope = shape * e};
  }
  /// Hyperbolas of shortening and lengthening, which meet at the isometric force.
  [[nodiscard]] Velocity velocity(double velocity, double /*activation*/) const override {
    constexpr double shortening = 0.15, largest = 1.4;
    constexpr double lengthening = 0.13 * shortening / (shortening + 1.0);
    if (tables_.velocity) {
      const FunctionValue f = tables_.velocity->at(velocity);
      return {{.value = f.f, .slope = f.d1}};
    }
    if (velocity <= -1.0) return {};
    if (velocity < 0.0) {
      const double below = shortening - velocity;
      return {
          {.value = shortening * (1.0 + velocity) / below, .slope = shortening * (1.0 + shortening) / (below * below)}};
    }
    const double below = velocity + lengthening;
    return {{.value = (largest * velocity + lengthening) / below,
             .slope = (largest - 1.0) * lengthening / (below * below)}};
  }
  [[nodiscard]] CurvePoint tendon(double strain) const override {
    return strain > 0.0 ? positive(*tables_.tendon, strain) : CurvePoint{};
  }
  [[nodiscard]] double shortest() const override { return 0.01; }

 private:
  /// Splines overshoot slightly beside their zeros.
  [[nodiscard]] static CurvePoint positive(const ScalarFunction& table, double x) {
    const FunctionValue f = table.at(x);
    return f.f > 0.0 ? CurvePoint{.value = f.f, .slope = f.d1} : CurvePoint{};
  }

  CurveTables tables_;
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

std::shared_ptr<const MuscleCurves> millard_curves(const CurveStrains& strains) {
  return std::make_shared<MillardCurves>(strains);
}

std::shared_ptr<const MuscleCurves> thelen_curves(const CurveStrains& strains) {
  return std::make_shared<ThelenCurves>(strains);
}

std::shared_ptr<const MuscleCurves> degroote_curves(const CurveStrains& strains) {
  return std::make_shared<DeGrooteCurves>(strains);
}

std::shared_ptr<const MuscleCurves> schutte_curves(CurveTables tables) {
  return std::make_shared<SchutteCurves>(std::move(tables));
}

namespace {

/// Cosine of the maximum pennation angle, as in OpenSim: at a right angle the fibres exert no force along the tendon.
constexpr double min_cosine = 0.1;

}  // namespace

double HillMuscle::height() const {
  return optimal_length * std::sin(pennation);
}

double HillMuscle::shortest() const {
  return std::max(curves->shortest() * optimal_length, height() / std::sqrt(1.0 - min_cosine * min_cosine));
}

HillMuscle::RigidTendonState HillMuscle::with_rigid_tendon(double length, double speed, double activation) const {
  const double h = height();
  const double least = shortest();
  const double along = length - slack_length;
  if (along <= std::sqrt(least * least - h * h)) return {.tension = {}, .fiber = least};
  const double l = std::hypot(along, h);
  const double cosine = along / l;
  const double cosine_slope = h * h / (l * l * l);
  const double to_velocity = 1.0 / (max_velocity * optimal_length);
  const double v = speed * cosine * to_velocity;
  const CurvePoint active = curves->active(l / optimal_length);
  const CurvePoint passive = curves->passive(l / optimal_length);
  const auto velocity = curves->velocity(v, activation);
  const double f = activation * active.value * velocity.value + passive.value + fiber_damping * v;
  if (f <= 0.0) return {.tension = {}, .fiber = l};
  const double by_l = (activation * active.slope * velocity.value + passive.slope) / optimal_length;
  const double by_v = activation * active.value * velocity.slope + fiber_damping;
  Tension tension;
  tension.force = max_force * f * cosine;
  tension.stiffness =
      max_force * ((by_l * cosine + by_v * speed * cosine_slope * to_velocity) * cosine + f * cosine_slope);
  tension.by_speed = max_force * by_v * cosine * cosine * to_velocity;
  return {.tension = tension,
          .fiber = l,
          .by_activation = max_force * active.value * (velocity.value + activation * velocity.by_activation) * cosine};
}

HillMuscle::TendonForce HillMuscle::tendon_force(double length, double fiber) const {
  const double least = shortest();
  const double h = height();
  const double l = std::max(fiber * optimal_length, least);
  const double along = std::sqrt(l * l - h * h);
  const CurvePoint f = curves->tendon((length - along) / slack_length - 1.0);
  const double slope = max_force * f.slope / slack_length;
  // d(along)/dl = l / along.
  return {.force = max_force * f.value,
          .by_length = slope,
          .by_fiber = fiber * optimal_length > least ? -slope * l / along * optimal_length : 0.0};
}

HillMuscle::FiberRate HillMuscle::fiber_rate(double length, double fiber, double activation) const {
  const double least = shortest() / optimal_length;
  const double n = std::max(fiber, least);
  const double h = std::sin(pennation);
  const double along = std::sqrt(n * n - h * h);
  const double cosine = along / n;
  const TendonForce tendon = tendon_force(length, n);
  const double target_force = tendon.force / max_force / cosine;
  const CurvePoint active = curves->active(n);
  const CurvePoint passive = curves->passive(n);
  const double strength = activation * active.value;
  // The slope of the left side is at least the damping, so that |residual / damping| bounds the distance of the root
  // from zero.
  const auto excess = [&](double v) {
    return strength * curves->velocity(v, activation).value + passive.value + fiber_damping * v - target_force;
  };
  const double still = excess(0.0);
  double low = std::min(0.0, -still / fiber_damping), high = std::max(0.0, -still / fiber_damping);
  double v = 0.0;
  constexpr int max_iterations = 200;
  for (int i = 0; i < max_iterations; ++i) {
    const double rest = excess(v);
    (rest > 0.0 ? high : low) = v;
    double next = v - rest / (strength * curves->velocity(v, activation).slope + fiber_damping);
    if (!(next >= low && next <= high)) next = 0.5 * (low + high);
    const double change = std::abs(next - v);
    v = next;
    if (change <= 1e-14 * (1.0 + std::abs(v))) break;
  }
  // A slack fibre stops at the minimum length, which it approaches at no more than the maximum fibre velocity.
  const double stop = max_velocity * (least - fiber);
  if (max_velocity * v < stop || fiber < least) {
    return {.rate = stop, .by_length = 0.0, .by_fiber = -max_velocity, .by_activation = 0.0};
  }
  const auto velocity = curves->velocity(v, activation);
  const double by_v = strength * velocity.slope + fiber_damping;
  // d(1 / cos)/dn = -h^2 / (n^3 cos) / cos^2.
  const double cosine_slope = h * h / (n * n * along);
  const double target_slope = tendon.by_fiber / max_force / cosine - target_force / cosine * cosine_slope;
  const double by_n = activation * active.slope * velocity.value + passive.slope - target_slope;
  return {
      .rate = max_velocity * v,
      .by_length = max_velocity * tendon.by_length / max_force / cosine / by_v,
      .by_fiber = -max_velocity * by_n / by_v,
      .by_activation = -max_velocity * active.value * (velocity.value + activation * velocity.by_activation) / by_v};
}

double HillMuscle::solve_fiber_equilibrium(double length, double activation) const {
  const double h = std::sin(pennation);
  double low = shortest() / optimal_length;
  // At the length where the tendon becomes slack, the fibre force is at least the tendon force.
  double high = std::hypot(std::max(0.0, length - slack_length) / optimal_length, h);
  if (high <= low) return low;
  const auto excess = [&](double n) {
    const double cosine = std::sqrt(n * n - h * h) / n;
    return (activation * curves->active(n).value + curves->passive(n).value) * cosine -
           tendon_force(length, n).force / max_force;
  };
  if (excess(low) >= 0.0) return low;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = 0.5 * (low + high);
    (excess(middle) > 0.0 ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

ActivationRate activation_rate(double excitation, double activation, double activation_time, double deactivation_time) {
  const double slowing = 0.5 + 1.5 * activation;
  const double lag = excitation - activation;
  if (lag > 0.0) {
    const double rate = lag / (activation_time * slowing);
    return {.rate = rate, .by_activation = -1.0 / (activation_time * slowing) - rate * 1.5 / slowing};
  }
  return {.rate = lag * slowing / deactivation_time, .by_activation = (-slowing + 1.5 * lag) / deactivation_time};
}

namespace {

/// The rise from `before` with the excitation 1: with w = -ln(1 - a), 2 w - 1.5 a increases by t / activation_time.
/// This function of w is convex with slopes from 0.5 to 2, so that Newton's method converges from above.
double full_rise(double before, double intervals) {
  if (before >= 1.0) return 1.0;
  const double w_before = -std::log1p(-before);
  const double goal = 2.0 * w_before - 1.5 * before + intervals;
  double w = w_before + 2.0 * intervals;
  for (double step = 1.0; step > 1e-15 * w;) {
    const double activation = -std::expm1(-w);
    step = (2.0 * w - 1.5 * activation - goal) / (2.0 - 1.5 * (1.0 - activation));
    w -= step;
  }
  return -std::expm1(-w);
}

/// The fall with the excitation u: (a - u) / (0.5 + 1.5 a) decays by exp(-(0.5 + 1.5 u) t / deactivation_time).
double full_fall(double before, double excitation, double intervals) {
  const double ratio = (before - excitation) / (0.5 + 1.5 * before) * std::exp(-(0.5 + 1.5 * excitation) * intervals);
  return (excitation + 0.5 * ratio) / (1.0 - 1.5 * ratio);
}

}  // namespace

ActivationRange reachable_activations(double before, double interval, double minimum, double activation_time,
                                      double deactivation_time) {
  return {.lower = full_fall(before, minimum, interval / deactivation_time),
          .upper = full_rise(before, interval / activation_time)};
}

}  // namespace heelstrike::mbs
