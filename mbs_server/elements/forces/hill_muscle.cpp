#include "mbs_server/elements/forces/hill_muscle.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::mbs {
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
  const double wanted = tendon.force / max_force / cosine;
  const CurvePoint active = curves->active(n);
  const CurvePoint passive = curves->passive(n);
  const double strength = activation * active.value;
  // The slope of the left side is at least the damping, so that |residual / damping| bounds the distance of the root
  // from zero.
  const auto excess = [&](double v) {
    return strength * curves->velocity(v, activation).value + passive.value + fiber_damping * v - wanted;
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
  const double target_slope = tendon.by_fiber / max_force / cosine - wanted / cosine * cosine_slope;
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

}  // namespace heelstrike::mbs
