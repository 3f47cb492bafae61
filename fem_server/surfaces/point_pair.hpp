/// Closest points of two bodies in single-point contact: sphere on plane, sphere on sphere and sphere in a spherical
/// socket in closed form, two planar profiles by their common normal (ProfilePair), all with exact first derivatives
/// (docs/theory/contact_laws.md, section 2).
///
/// Of two profiles, the common normal is that at the point of deepest indentation or closest approach. The search
/// minimises the signed distance d(r) of points r of B to the profile of A: a common normal is a zero of d'(r). Every
/// local minimum of the sampled d(r) is refined by Newton's method within its interval, and the smallest
/// is selected. The gap is continuous in the pose; where two common normals are equally deep the normal is
/// discontinuous. No state is kept between poses.
#pragma once

#include <memory>
#include <string>

#include "common/contact/contact.hpp"
#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/profile.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::fem {

using Matrix36 = Eigen::Matrix<double, 3, 6>;
using RowVector6 = Eigen::Matrix<double, 1, 6>;

/// Geometry of the pair at one state, expressed in A. Columns of the derivatives belong to (small rotation [rad] of B
/// about its origin, translation [m] of B), both expressed in A, as in Response::dF_A_dX.
struct PointGeometry {
  double gap = 0.0;                         ///< [m] distance of the undeformed surfaces; negative is penetration
  double gap_rate = 0.0;                    ///< [m/s] its rate; negative while approaching
  Vector3 n_A = Vector3::UnitZ();           ///< [-] unit normal out of A towards B
  Vector3 p_AC = Vector3::Zero();           ///< [m] contact point: middle between the two surfaces on the common normal
  double effective_radius = 0.0;            ///< [m] of the equivalent sphere on a plane; infinite where both are flat
  Matrix36 dn_dX = Matrix36::Zero();        ///< [-, 1/m]
  Matrix36 dp_dX = Matrix36::Zero();        ///< [m, -]
  RowVector6 dgap_dX = RowVector6::Zero();  ///< [m, -]; also d gap_rate / d V_AB
  RowVector6 dgap_rate_dX = RowVector6::Zero();  ///< [m/s, 1/s]
};

class ProfilePair;

class PointPair {
 public:
  /// @param where  dotted key of the pair for messages, e.g. "contact.ball-ground"
  /// @throws Error{invalid_input}  shapes other than sphere-plane, plane-sphere, sphere-sphere and profile-profile; a
  /// radius that is zero or
  ///         not finite; a socket (negative radius) on a plane, on another socket, or not wider than the sphere in it;
  ///         a plane normal that is not of unit length to 1e-6
  PointPair(const Surface& main, const Surface& partner, const std::string& where);

  /// @throws RecoverableError as ProfilePair::locate(); penetration deeper than the radius of the smaller convex
  ///         sphere: its centre has reached the other surface and no point law applies
  [[nodiscard]] PointGeometry at(const PairState& state) const;

  /// Bound on the change of the gap from a pose. A plane is flat; the distance from the centre of a convex sphere is
  /// convex.
  [[nodiscard]] GapBound gap_bound(const Pose& X_AB) const;

  /// If true, the radii below do not apply: those of profiles vary along the contour.
  [[nodiscard]] bool has_profiles() const { return kind_ == Kind::profiles; }
  /// [m] of the spheres, negative for a socket; 0 for a plane.
  [[nodiscard]] double radius_A() const { return radius_A_; }
  [[nodiscard]] double radius_B() const { return radius_B_; }
  /// [m] > 0 radius of the equivalent sphere on a plane: R, or R_A R_B / (R_A + R_B) with signed radii.
  [[nodiscard]] double effective_radius() const { return effective_radius_; }

 private:
  enum class Kind { sphere_on_plane, plane_under_sphere, spheres, profiles };

  void read_plane(const PlaneSurface& plane, const SphereSurface& sphere, const std::string& where);
  void read_spheres(const SphereSurface& main, const SphereSurface& partner, const std::string& where);
  void locate(const PairState& state, PointGeometry& geometry) const;

  std::shared_ptr<const ProfilePair> profiles_;
  Kind kind_ = Kind::spheres;
  Vector3 center_A_ = Vector3::Zero();  ///< [m] sphere centre in A, if A is a sphere
  Vector3 center_B_ = Vector3::Zero();  ///< [m] sphere centre in B, if B is a sphere
  double radius_A_ = 0.0;               ///< [m] signed
  double radius_B_ = 0.0;               ///< [m] signed
  Vector3 normal_ = Vector3::UnitZ();   ///< [-] of the plane, in the frame of its body
  Vector3 point_ = Vector3::Zero();     ///< [m] of the plane, in the frame of its body
  double effective_radius_ = 0.0;       ///< [m]
  double max_penetration_ = 0.0;        ///< [m]
};

class ProfilePair {
 public:
  /// @pre checked surfaces
  ProfilePair(const ProfileSurface& main, const ProfileSurface& partner);

  /// Sets gap, normal, contact point at half the width of B, radius, and derivatives of normal and point only.
  /// @throws RecoverableError profile planes not parallel to 0.01 rad; profiles that do not overlap along the axis of
  ///         their widths; contact at the straight end of an open profile; indentation down to a centre of curvature,
  ///         or one profile inside the other
  void locate(const PairState& state, PointGeometry& geometry) const;

 private:
  /// Parameters of the two ends of the common normal.
  struct FootPoints {
    double on_A = 0.0;
    double on_B = 0.0;
    double gap = 0.0;
    bool at_end = false;  ///< end of the open profile B: no common normal
  };
  struct Placed {
    Eigen::Matrix2d R;
    Vector2 p;
  };
  [[nodiscard]] FootPoints search(const Placed& B) const;
  [[nodiscard]] FootPoints refined(const Placed& B, double low, double high) const;
  [[nodiscard]] FootPoints contact_parameters_at(const Placed& B, double on_B) const;
  [[nodiscard]] double rise(const Placed& B, const FootPoints& foot_points, double* slope) const;

  ProfileCurve A_;
  ProfileCurve B_;
  Matrix3 axes_A_;
  Matrix3 axes_B_;
  Vector3 center_A_;
  Vector3 center_B_;
  double reach_ = 0.0;  ///< [m] half the sum of both widths
};

}  // namespace heelstrike::fem
