#include "fem_server/backends/point_laws/friction.hpp"

#include <cmath>

#include "fem_server/backend_interface/slip.hpp"

namespace heelstrike::fem {

namespace {

/// Tangential velocity of B's point at the contact with its derivatives.
struct SlipVelocity {
  Vector3 value;  ///< [m/s]
  Matrix36 dX, dV;
};

SlipVelocity slip_velocity(const PointGeometry& g, const PairState& state) {
  const Vector3 arm = g.p_AC - state.X_AB.p;
  const Vector3 v = point_velocity(state.V_AB, arm);
  const Matrix3 P = Matrix3::Identity() - g.n_A * g.n_A.transpose();
  Matrix36 darm = g.dp_dX;
  darm.rightCols<3>() -= Matrix3::Identity();
  SlipVelocity slip;
  slip.value = P * v;
  slip.dX = P * skew(state.V_AB.w) * darm - g.n_A * (v.transpose() * g.dn_dX) - g.n_A.dot(v) * g.dn_dX;
  slip.dV << -P * skew(arm), P;
  return slip;
}

/// Derivatives of the friction limit.
struct LimitChange {
  RowVector6 dX, dV;  ///< of mu N
};

LimitChange limit_change(double coefficient, const LawForce& normal, const PointGeometry& g) {
  return {.dX = -coefficient * (normal.dF_ddepth * g.dgap_dX + normal.dF_drate * g.dgap_rate_dX),
          .dV = -coefficient * normal.dF_drate * g.dgap_dX};
}

/// A tangential force with its derivatives, reduced to the limit of Coulomb's law.
struct LimitedForce {
  Vector3 value;  ///< [N]
  Matrix36 dX, dV;
  /// The return map of Coulomb friction.
  void reduce_to(double limit, const LimitChange& change) {
    const double size = value.norm();
    if (size <= limit) return;
    const Vector3 direction = value / size;
    const Matrix3 direction_jacobian = limit / size * (Matrix3::Identity() - direction * direction.transpose());
    value = limit * direction;
    dX = direction_jacobian * dX + direction * change.dX;
    dV = direction_jacobian * dV + direction * change.dV;
  }
};

}  // namespace

double spring_slip_work(const PointFriction& friction, const TransportedSlip& stretched, double limit_before,
                        const Vector3& stretch, double limit) {
  return slip_work({.traction = friction.stiffness * stretched.carried,
                    .limit_before = limit_before,
                    .trial = friction.stiffness * stretched.value,
                    .limit = limit,
                    .slip = (stretched.value - stretch).norm()});
}

Traction friction_traction(const PointFriction& friction, const TransportedSlip& stretched, double limit_before,
                           const LawForce& normal, const PointGeometry& geometry, const PairState& state) {
  Traction t;
  if (!(normal.force > 0.0) || friction.coefficient == 0.0) return t;
  const double limit = friction.coefficient * normal.force;
  const LimitChange dlimit = limit_change(friction.coefficient, normal, geometry);
  const SlipVelocity slip = slip_velocity(geometry, state);
  if (!friction.sticks) {
    const double speed = std::hypot(slip.value.norm(), friction.slip_speed);
    const Vector3 direction = slip.value / speed;
    const Matrix3 direction_jacobian = limit / speed * (Matrix3::Identity() - direction * direction.transpose());
    t.force = limit * direction;
    t.dX = direction_jacobian * slip.dX + direction * dlimit.dX;
    t.dV = direction_jacobian * slip.dV + direction * dlimit.dV;
    t.dissipated_power = t.force.dot(slip.value);
    return t;
  }
  const double k = friction.stiffness;
  SlipSpeed slip_speed;
  slip_speed.add(k * stretched.carried, limit_before, slip.value);
  t.slip_speed = slip_speed.value();
  // The spring is reduced before the damper acts on it, as a commit at this state would: otherwise the force jumps at
  // every commit, and the motion depends on the step size to first order, unseen by the error control.
  LimitedForce force{.value = k * stretched.value, .dX = k * stretched.dX, .dV = Matrix36::Zero()};
  force.reduce_to(limit, dlimit);
  t.stretch = force.value / k;
  t.stored_energy = 0.5 * k * t.stretch.squaredNorm();
  t.limit = limit;
  t.slip_work = spring_slip_work(friction, stretched, limit_before, t.stretch, limit);
  force.value += friction.damping * slip.value;
  force.dX += friction.damping * slip.dX;
  force.dV += friction.damping * slip.dV;
  force.reduce_to(limit, dlimit);
  t.force = force.value;
  t.dX = force.dX;
  t.dV = force.dV;
  // Never negative: both forces are projections on one disc.
  t.dissipated_power = (t.force - k * t.stretch).dot(slip.value);
  return t;
}

}  // namespace heelstrike::fem
