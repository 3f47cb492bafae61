/// Path of a ligament or muscle between bodies: through points and over surfaces that are fixed in bodies.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "common/spatial/wrap_surface.hpp"
#include "mbs_server/formulation/affine_vector.hpp"

namespace heelstrike::mbs {

/// A surface over which a segment of a path may wrap.
struct PathWrap {
  BodyIndex body = ground;
  Pose X_BS;        ///< frame of the shape in the body
  WrapShape shape;  ///< in that frame
};

struct PathPoint {
  BodyIndex body = ground;
  Vector3 p_BP = Vector3::Zero();  ///< [m]
  std::optional<PathWrap> wrap;    ///< between this point and the next
};

/// Length of a path and its derivatives in `LinePath::coordinates()`.
struct PathLength {
  double length = 0.0;      ///< [m]
  VectorX gradient;         ///< dl/dq
  Eigen::MatrixXd hessian;  ///< d2l/dq2, if requested
  Eigen::MatrixXd by_ends;  ///< work space of LinePath
};

/// Length l(q) of a path in the fully Cartesian coordinates. A tension F acts on the bodies as -F dl/dq, which are the
/// forces at the ends, at the intermediate points and on the surfaces.
class LinePath {
 public:
  /// @param points  at least two
  explicit LinePath(const std::vector<PathPoint>& points);

  /// Entries of q on which the length depends.
  [[nodiscard]] const std::vector<int>& coordinates() const { return coordinates_; }
  /// Sets `out`, whose vectors have the same sizes at every call. @param curvature  with second derivatives
  /// @throws RecoverableError where two neighbouring points coincide or one lies inside its surface
  void at(const ConstVector& q, bool curvature, PathLength& out) const;

 private:
  struct LocalTerm {
    int first = 0;  ///< in q
    Eigen::Index local = 0;
    double coef = 0.0;
  };
  /// An affine vector with the indices of its terms in `coordinates_`.
  struct Local {
    AffineVector vector;
    std::vector<LocalTerm> terms;
  };
  struct Surface {
    Local axes[3];   ///< of the shape in the world
    Local from, to;  ///< from its centre to both ends
    WrapShape shape;
  };
  struct Segment {
    Local between;
    std::optional<Surface> surface;
  };

  [[nodiscard]] Local local(AffineVector vector);
  void add_straight(const Segment& segment, const ConstVector& q, bool curvature, PathLength& out) const;
  [[nodiscard]] bool add_wrapped(const Surface& surface, const ConstVector& q, bool curvature, PathLength& out) const;

  std::vector<int> coordinates_;
  std::vector<Segment> segments_;
};

}  // namespace heelstrike::mbs
