/// Common normal of two planar profiles at the point of deepest indentation or closest approach
/// (docs/theory/contact_laws.md, section 2).
///
/// The search minimises the signed distance d(r) of points r of B to the profile of A: a common normal is a zero of
/// d'(r). Every local minimum of the sampled d(r) is refined by Newton's method within its interval, and the smallest
/// is selected. The gap is continuous in the pose; where two common normals are equally deep the normal is
/// discontinuous. No state is kept between poses.
#pragma once

#include <string>

#include "fem_server/surfaces/point_pair.hpp"
#include "scenario/surfaces/profile.hpp"

namespace heelstrike::fem {

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
