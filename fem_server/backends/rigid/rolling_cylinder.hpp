/// Contact of round cylinders of rigid bodies: points of their rims, which move around the body as it rotates, and
/// their lateral surface with edges and with each other.
///
/// Two convex bodies touch along a facet of their Minkowski difference [vandenbergen2003]. Those of a cylinder are the
/// lowest point of a rim on a face, points around a rim that lies flat, a rim and an edge (or another rim) whose common
/// normal lies in the cones of both, and likewise the side and an edge or another side; corners of the other body on
/// the end and the side are probes of that body.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/contact/contact_point.hpp"
#include "fem_server/backends/rigid/faceted_body.hpp"
#include "fem_server/backends/rigid/mesh_minima.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// The circle around one end of a cylinder.
struct Rim {
  Vector3 center = Vector3::Zero();  ///< [m]
  Vector3 out = Vector3::UnitZ();    ///< [-] normal of the end
  double radius = 0.0;               ///< [m] > 0
};

/// A cylinder in some frame.
struct RollingCylinder {
  double radius = 0.0;                                           ///< [m] > 0
  Vector3 axis = Vector3::UnitZ();                               ///< [-]
  Vector3 center = Vector3::Zero();                              ///< [m]
  double half_length = std::numeric_limits<double>::infinity();  ///< [m] > 0

  [[nodiscard]] static std::optional<RollingCylinder> of(const Surface& surface);
  [[nodiscard]] RollingCylinder moved(const Pose& X) const;
  [[nodiscard]] bool is_finite() const { return std::isfinite(half_length); }
  /// [m] maximum of -n . p over its points: where it ends against the direction n [-].
  [[nodiscard]] double extent(const Vector3& n) const;
  /// Of a finite cylinder, that at the negative end of the axis first.
  [[nodiscard]] std::array<Rim, 2> rims() const;
  /// [1/m] of the circle about the axis through a point of the rim or the side on which it rolls; 0 if the end lies
  /// flat. @param n  [-] normal of the contact
  [[nodiscard]] double bend(const Vector3& p, const Vector3& n) const;
};

/// Features of a cylinder: two lowest points of rims on a face, four on a side or on further faces, points around both
/// rims, then those with edges.
inline constexpr std::int64_t cylinder_features = 6 + 2 * 16;
/// After those of two cylinders: their sides, and two points of each pair of rims.
inline constexpr std::int64_t cylinder_pair_bound = cylinder_features + 1 + 2 * 4;
/// Features of a cylinder and one edge: its side, and two points of each rim.
inline constexpr std::int64_t features_of_edge = 5;

/// Points of rims on the surface of another body: for each rim the point with the smallest gap, and, if the rim lies
/// flat, points around it. None for an infinite cylinder. The other body is A; normals are out of it. Points that
/// cannot support the cylinder only bound the distance.
/// @param cylinder  in the frame of `to`
/// @param nearest   replaced by the nearest point if that is nearer
/// @returns points that can support the cylinder, at any gap
[[nodiscard]] std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const SignedDistance& to,
                                                   ContactPoint& nearest);

/// Adds points of rims on further faces of a mesh: each end has one on each wall of a groove or a corner, up to three.
/// @param reach   [m] largest gap
/// @param margin  [m] below which points coincide
/// @param points  those of the nearest faces
void add_rims_on_walls(const RollingCylinder& cylinder, const MeshMinima& mesh, double reach, double margin,
                       std::vector<ContactPoint>& points);

/// Points of rims on the ends and the side of another cylinder. Arguments and result as above.
/// @param margin  [m] by which a rim may miss an end or a side
[[nodiscard]] std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const RollingCylinder& to,
                                                   double margin, ContactPoint& nearest);

/// Tangents of a rim, of one diameter, at the points where its distance to the line of an edge has a local minimum, in
/// a fixed order: convex edges between the end and the side.
[[nodiscard]] std::array<std::optional<SharpEdge>, 2> tangents_near(const Rim& rim, const SharpEdge& edge);
/// Likewise tangents of two rims.
[[nodiscard]] std::array<std::optional<std::pair<SharpEdge, SharpEdge>>, 2> tangents_near(const Rim& rim,
                                                                                          const Rim& other);

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

/// The surface of a cylinder at a corner of another body. Near the rim it is that of the side and the end which the
/// corner can support; none if it can support neither.
/// @param p       [m] the corner, in the frame of the cylinder
/// @param R       rotation of the corner's body into that frame
/// @param at      nearest point of the cylinder
/// @param margin  [m] below which distances count as zero
[[nodiscard]] std::optional<SurfacePoint> at_corner(const RollingCylinder& cylinder, const Probe& corner,
                                                    const Vector3& p, const Matrix3& R, const SurfacePoint& at,
                                                    double margin);

}  // namespace heelstrike::fem
