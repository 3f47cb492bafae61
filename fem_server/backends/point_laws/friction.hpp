/// Coulomb friction of a point contact: a spring with stick and slip, or a force regularised by the slip velocity.
/// Equations: docs/theory/contact_laws.md, section 8.
#pragma once

#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backends/point_laws/law.hpp"
#include "fem_server/surfaces/contact_path.hpp"

namespace heelstrike::fem {

struct PointFriction {
  double coefficient = 0.0;  ///< [-] mu >= 0; 0 = frictionless
  bool sticks = true;        ///< spring with history, otherwise regularised
  double stiffness = 0.0;    ///< [N/m] > 0, of the spring
  double damping = 0.0;      ///< [N s/m] >= 0, while the spring does not slip
  double slip_speed = 0.0;   ///< [m/s] > 0, regularised: at this slip velocity the force is 0.71 of mu N
};

/// Tangential force on A at the contact point, in A.
struct Traction {
  Vector3 force = Vector3::Zero();    ///< [N]
  Matrix36 dX = Matrix36::Zero();     ///< [N, N/m] by the pose of B
  Matrix36 dV = Matrix36::Zero();     ///< [N s, N s/m] by the twist of B
  Vector3 stretch = Vector3::Zero();  ///< [m] of the spring, after slipping
  double limit = 0.0;                 ///< [N] mu N, of a spring
  double stored_energy = 0.0;         ///< [J] of the spring
  double slip_work = 0.0;             ///< [J] dissipated by slipping since the stretch was committed, >= 0
  double slip_speed = 0.0;            ///< [m/s] see Response
  double dissipated_power = 0.0;      ///< [W] of damping, >= 0
};

/// @param stretched     [m] spring before slipping (slip_after); unused when regularised
/// @param limit_before  [N] mu N at the commit
/// @param normal        force of the law; tension causes no friction
[[nodiscard]] Traction friction_traction(const PointFriction& friction, const TransportedSlip& stretched,
                                         double limit_before, const LawForce& normal, const PointGeometry& geometry,
                                         const PairState& state);

/// [J] dissipated since the commit by a spring with this final stretch.
[[nodiscard]] double spring_slip_work(const PointFriction& friction, const TransportedSlip& stretched,
                                      double limit_before, const Vector3& stretch, double limit);

}  // namespace heelstrike::fem
