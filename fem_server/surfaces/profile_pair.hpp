/// Common normal of two planar profiles at their deepest indentation, or where they are closest
/// (docs/theory/contact_laws.md, section 2).
///
/// The search goes over the signed distance d(r) of points r of B to the profile of A: a common normal is a zero of
/// d'(r), and every smallest d(r) between neighbouring samples is followed to it by Newton's method inside its
/// interval. The least one counts. The gap is continuous in the pose; where two common normals are equally deep the
/// normal jumps from one to the other. Nothing is remembered between poses.
#pragma once

#include <string>

#include "scenario/surfaces/profile.hpp"
#include "fem_server/surfaces/point_pair.hpp"

namespace heelstrike::fem {

class ProfilePair {
 public:
  /// @pre checked surfaces
  ProfilePair(const ProfileSurface& main, const ProfileSurface& partner);

  /// Gap, normal, contact point at half the width of B, radius, and derivatives of normal and point; the rest is left.
  /// @throws RecoverableError  planes of the profiles that are not parallel to 0.01 rad; profiles that are beside each
  ///         other along the axis of their widths; contact on the straight end of an open profile; indentation as deep
  ///         as a centre of curvature, or one profile inside the other
  void locate(const PairState& state, PointGeometry& geometry) const;

 private:
  /// Parameters of the two ends of the common normal.
  struct ContactParameters {
    double on_A = 0.0;
    double on_B = 0.0;
    double gap = 0.0;
    bool at_end = false;  ///< of B, which is open: no common normal
  };
  struct Placed {
    Eigen::Matrix2d R;
    Vector2 p;
  };
  [[nodiscard]] ContactParameters search(const Placed& B) const;
  [[nodiscard]] ContactParameters refined(const Placed& B, double low, double high) const;
  [[nodiscard]] ContactParameters contact_parameters_at(const Placed& B, double on_B) const;
  [[nodiscard]] double rise(const Placed& B, const ContactParameters& feet, double* slope) const;

  ProfileCurve A_;
  ProfileCurve B_;
  Matrix3 axes_A_;
  Matrix3 axes_B_;
  Vector3 center_A_;
  Vector3 center_B_;
  double reach_ = 0.0;  ///< [m] half of both widths
};

}  // namespace heelstrike::fem
