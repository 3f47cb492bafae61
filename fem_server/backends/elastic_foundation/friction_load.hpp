/// Loads on which friction acts: the forces across T's surface that the triangles of the bed exert without friction,
/// divided among their springs so that no share is negative.
///
/// docs/theory/elastic_foundation.md, section 6.
#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/spring_bed.hpp"

namespace heelstrike::fem {

using Matrix36 = Eigen::Matrix<double, 3, 6>;
using RowVector6 = Eigen::Matrix<double, 1, 6>;

/// Normal force on one spring, or at one corner of the plane over a triangle, with its derivatives.
struct NormalForce {
  double value = 0.0;                  ///< [N]
  RowVector6 dX = RowVector6::Zero();  ///< by the pose of T in C
  RowVector6 dV = RowVector6::Zero();  ///< by its twist
};

/// Force across T at one spring, with its derivatives.
struct FrictionLoad {
  Vector3 force = Vector3::Zero();  ///< [N] on C, along a normal of T; zero = not loaded
  Matrix36 dX = Matrix36::Zero();   ///< by the pose of T in C
  Matrix36 dV = Matrix36::Zero();   ///< by its twist
};

/// [N] of a spring in the centre of its triangle, damped with its own rate. @param dissipation  [s/m] c >= 0 of the
/// factor 1 + c dd/dt
[[nodiscard]] NormalForce centre_force(const BedState& bed, std::size_t spring, double dissipation,
                                       const Vector6& V_CT);

/// [N] at the corners of a triangle's plane, each damped with the rate of its own depth.
[[nodiscard]] std::array<NormalForce, 3> corner_forces(const BedState& bed, const ActivePlane& plane,
                                                       double dissipation, const Vector6& V_CT);

/// Forces of the four springs of a triangle, of which those at a rim of the load may be negative.
[[nodiscard]] std::array<NormalForce, 4> spring_forces(const std::array<NormalForce, 3>& corners, double centre_weight);

/// [-] Fractions of a triangle's force at its corners and in its centre: none negative, in sum one, with the first
/// moments of the corner forces, and those of spring_forces where none of these is negative.
/// @pre a corner force is positive
[[nodiscard]] std::array<NormalForce, 4> friction_shares(const std::array<NormalForce, 3>& corners,
                                                         double centre_weight);

/// Loads of all springs of a state. @param dissipation  [s/m]
[[nodiscard]] std::vector<FrictionLoad> friction_loads(const SpringBed& bed, const BedState& state, double dissipation,
                                                       const Vector6& V_CT);

}  // namespace heelstrike::fem
