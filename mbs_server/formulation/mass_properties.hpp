/// Inertia of a rigid body in fully Cartesian coordinates.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::mbs {

using Matrix4 = Eigen::Matrix4d;

struct MassProperties {
  double mass = 0.0;                         ///< [kg]
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the body frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass, in body axes

  /// @throws Error{invalid_input} unless mass > 0 and the inertia is symmetric, positive definite and satisfies the
  /// triangle
  ///         inequality of its principal values
  void check(const std::string& body) const;

  /// The 4x4 matrix m that gives the constant 12x12 mass matrix M = m (x) I3 for q = {r_O, v1, v2, v3}:
  ///   m = [ mass, mass s' ; mass s, J ],  J = integral of rho p p' dV about the body origin = tr(I_O)/2 - I_O,
  /// with s the centre of mass; follows from M = integral rho C'C dV (Melo 2023, section 3.4 of the working notes).
  [[nodiscard]] Matrix4 cartesian_mass() const;
};

}  // namespace heelstrike::mbs
