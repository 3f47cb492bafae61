#include "mbs_server/formulation/line_force.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

Tension line_tension(const SpringElement& spring, double length) {
  const double l0 = spring.length;
  const double x = length - l0;
  if (spring.type == "spring_damper") {
    return {.force = spring.k * x, .stiffness = spring.k, .energy = 0.5 * spring.k * x * x};
  }
  if (x <= 0.0) return {};
  if (spring.type == "ligament_quadratic") {
    const double a = spring.k / (l0 * l0);
    return {.force = a * x * x, .stiffness = 2.0 * a * x, .energy = a * x * x * x / 3.0};
  }
  const double toe = spring.toe_strain * l0;
  const double a = spring.k / (4.0 * toe);
  if (x <= 2.0 * toe) return {.force = a * x * x, .stiffness = 2.0 * a * x, .energy = a * x * x * x / 3.0};
  const double y = x - toe;
  // Energy of the toe, 2/3 k toe^2, and of the line from y = toe on.
  return {.force = spring.k * y,
          .stiffness = spring.k,
          .energy = 2.0 / 3.0 * spring.k * toe * toe + 0.5 * spring.k * (y * y - toe * toe)};
}

LineForce::LineForce(const SpringElement& spring)
    : spring_(spring), p_AB_(body_point(spring.b.body, spring.b.X_BF.p) - body_point(spring.a.body, spring.a.X_BF.p)) {}

LineForce::State LineForce::state(const ConstVector& q, const ConstVector& qd) const {
  const Vector3 p = p_AB_.value(q);
  State s;
  s.length = p.norm();
  if (!(s.length > 0.0)) {
    throw RecoverableError(fmt::format("forces.{}: its two ends meet, so that its direction is unknown", spring_.name));
  }
  s.direction = p / s.length;
  s.rate = p_AB_.rate(qd);
  s.speed = s.direction.dot(s.rate);
  s.tension = line_tension(spring_, s.length);
  s.damping = spring_.type == "spring_damper" || s.length > spring_.length ? spring_.c : 0.0;
  return s;
}

void LineForce::add_forces(double /*t*/, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                           EnergyTerms& energy) {
  const State s = state(q, qd);
  const Vector3 pull = (s.tension.force + s.damping * s.speed) * s.direction;
  for (const auto& term : p_AB_.terms) g.segment<3>(term.first) -= term.coef * pull;
  energy.potential += s.tension.energy;
  energy.dissipated_power += s.damping * s.speed * s.speed;
}

void LineForce::add_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                             SparseAssembler& C) {
  const State s = state(q, qd);
  const Matrix3 along = s.direction * s.direction.transpose();
  const Matrix3 across = (Matrix3::Identity() - along) / s.length;
  const double force = s.tension.force + s.damping * s.speed;
  const Matrix3 by_p =
      s.tension.stiffness * along + force * across + s.damping * s.direction * (across * s.rate).transpose();
  for (const auto& row : p_AB_.terms) {
    for (const auto& column : p_AB_.terms) {
      K.add_block(row.first, column.first, -row.coef * column.coef * by_p);
      C.add_block(row.first, column.first, -row.coef * column.coef * s.damping * along);
    }
  }
}

}  // namespace heelstrike::mbs
