/// The way of a ligament or a muscle between bodies: through points fixed in bodies and over surfaces fixed in bodies.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "common/spatial/wrap_surface.hpp"
#include "mbs_server/formulation/affine_vector.hpp"

namespace heelstrike::mbs {

/// A surface that a part of a path may wrap over.
struct PathWrap {
  BodyIndex body = ground;
  Pose X_BS;        ///< frame of the shape in the body
  WrapShape shape;  ///< in that frame
};

struct PathPoint {
  BodyIndex body = ground;
  Vector3 p_BP = Vector3::Zero();  ///< [m]
  std::optional<PathWrap> wrap;    ///< on the way from here to the next point
};

/// Length of a path and its derivatives in `LinePath::coordinates()`.
struct PathLength {
  double length = 0.0;      ///< [m]
  VectorX gradient;         ///< dl/dq
  Eigen::MatrixXd hessian;  ///< d2l/dq2, where it was asked for
  Eigen::MatrixXd by_ends;  ///< room for what LinePath works with
};

/// Length l(q) of a path in the fully Cartesian coordinates. A tension F acts on the bodies as -F dl/dq, which are the
/// pulls at the ends, at the points between and on the surfaces.
class LinePath {
 public:
  /// @param points  at least two
  explicit LinePath(const std::vector<PathPoint>& points);

  /// Entries of q that the length depends on.
  [[nodiscard]] const std::vector<int>& coordinates() const { return coordinates_; }
  /// Sets `out`, whose vectors keep their sizes from call to call. @param curvature  the second derivative too
  /// @throws RecoverableError where two neighbouring points meet or one lies inside its surface
  void at(const ConstVector& q, bool curvature, PathLength& out) const;

 private:
  struct LocalTerm {
    int first = 0;  ///< in q
    Eigen::Index local = 0;
    double coef = 0.0;
  };
  /// An affine vector whose terms know their place in `coordinates_`.
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
