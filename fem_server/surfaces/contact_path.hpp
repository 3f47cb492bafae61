/// Slip of the surface of B over that of A since an earlier state, for single-point contact.
///
/// The contact point moves over both surfaces; the slip is the difference of the two paths. Each path is exact along
/// great circles of a sphere and straight lines of a plane, so that rolling produces no slip for any step size; with
/// spin about the normal the error is of third order in the step (docs/theory/contact_laws.md, section 8).
#pragma once

#include "fem_server/surfaces/point_pair.hpp"

namespace heelstrike::fem {

/// Vector in A with its derivative with respect to the pose of B, as in PointGeometry.
struct MovingVector {
  Vector3 value = Vector3::Zero();
  Matrix36 dX = Matrix36::Zero();
};

/// An earlier state of the contact.
struct ContactPointPosition {
  Pose X_AB;
  PointGeometry geometry;
};

/// Tangent vector at the current contact point.
struct TransportedSlip : MovingVector {
  Vector3 carried = Vector3::Zero();  ///< [m] part of the value transported from the earlier state
};

/// Tangent vector `carried` [m] at the earlier contact point, transported to the current one, plus the slip of B over A
/// since then [m]. Motion during separation is not slip: a path that starts or ends with a gap contributes the fraction
/// in contact, interpolated linearly.
/// @pre now.gap <= 0, or before.gap <= 0 and no derivative is needed
[[nodiscard]] TransportedSlip slip_after(const PointPair& pair, const ContactPointPosition& before,
                                         const Vector3& carried, const PointGeometry& now, const Pose& X_AB);

}  // namespace heelstrike::fem
