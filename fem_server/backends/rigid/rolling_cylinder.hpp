/// Rolling contact of round cylinders of rigid bodies: the lowest points of their rims, which move around the body as
/// it rotates, and their lateral surface with edges and with each other.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "common/contact/contact_point.hpp"
#include "fem_server/backends/rigid/faceted_body.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// A cylinder in some frame.
struct RollingCylinder {
  double radius = 0.0;                                           ///< [m] > 0
  Vector3 axis = Vector3::UnitZ();                               ///< [-]
  Vector3 center = Vector3::Zero();                              ///< [m]
  double half_length = std::numeric_limits<double>::infinity();  ///< [m] > 0

  [[nodiscard]] static std::optional<RollingCylinder> of(const Surface& surface);
  [[nodiscard]] RollingCylinder moved(const Pose& X) const;
};

/// Features of a cylinder: two lowest points of rims, points around both rims, then edges of the other body.
inline constexpr std::int64_t cylinder_features = 2 + 2 * 16;

/// For each rim the point with the smallest gap, or, if the rim lies flat, points around it. None for an infinite
/// cylinder.
/// @param cylinder  in the frame of `to`
/// @param reach     [m] maximum gap of returned points
/// @param nearest   replaced by the nearest point if that is nearer
/// @returns points with normals out of `to`, which is A, that can support the cylinder
[[nodiscard]] std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const SignedDistance& to,
                                                   double reach, ContactPoint& nearest);

/// Lateral surface of a cylinder and a convex edge: none when they are parallel, beside each other, or the edge's faces
/// hide it.
/// @param to      body of the edge; all in one frame
/// @param margin  [m] by which an end may be missed
/// @returns the point with its normal out of `to`; `feature` is zero
[[nodiscard]] std::optional<ContactPoint> side_on_edge(const RollingCylinder& cylinder, const SharpEdge& edge,
                                                       const SignedDistance& to, double margin);

/// Lateral surfaces of two non-parallel cylinders. @returns the point with its normal out of A
[[nodiscard]] std::optional<ContactPoint> side_on_side(const RollingCylinder& A, const RollingCylinder& B,
                                                       double margin);

/// Distance to a cylinder including its ends, also inside: near an end the gap is that of the end.
[[nodiscard]] std::unique_ptr<SignedDistance> solid_cylinder(const Surface& surface);

}  // namespace heelstrike::fem
