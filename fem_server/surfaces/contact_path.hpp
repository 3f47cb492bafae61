/// How far the surface of B has slipped over that of A since an earlier state, for bodies that touch in one point.
///
/// The contact point runs over both surfaces; the slip is the difference of the two ways. Each way is exact along great
/// circles of a sphere and straight lines of a plane, so that rolling costs no slip whatever the step; where the bodies
/// also spin about the normal the error is of third order in the step (docs/theory/contact_laws.md, section 8).
#pragma once

#include "fem_server/surfaces/point_pair.hpp"

namespace heelstrike::fem {

/// A vector in A with its derivative by the pose of B, as in PointGeometry.
struct MovingVector {
  Vector3 value = Vector3::Zero();
  Matrix36 dX = Matrix36::Zero();
};

/// An earlier state of the contact.
struct ContactPointPosition {
  Pose X_AB;
  PointGeometry geometry;
};

/// A tangent vector at the present contact.
struct TransportedSlip : MovingVector {
  Vector3 carried = Vector3::Zero();  ///< [m] part of the value that was there before
};

/// `carried`, a tangent vector at the earlier contact [m], taken along with the contact, plus the slip of B over A
/// since then [m]. What the bodies did while there was a gap is no slip: a way that began or ends with a gap counts
/// with its share without one, taken linearly.
/// @pre now.gap <= 0, or before.gap <= 0 and no derivative is needed
[[nodiscard]] TransportedSlip slip_after(const PointPair& pair, const ContactPointPosition& before, const Vector3& carried,
                                     const PointGeometry& now, const Pose& X_AB);

}  // namespace heelstrike::fem
