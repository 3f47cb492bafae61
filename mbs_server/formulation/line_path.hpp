/// Path of a ligament or muscle between bodies: through points and over surfaces that are fixed in bodies.
///
/// Paths with points that move in their bodies with joint coordinates, or are active in a range of a coordinate.
#pragma once

#include <Eigen/Core>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "common/spatial/wrap_surface.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/joint_equations.hpp"

namespace heelstrike::mbs {

/// A surface over which a segment of a path may wrap.
struct PathWrap {
  BodyIndex body = ground;
  Pose X_BS;        ///< frame of the shape in the body
  WrapShape shape;  ///< in that frame
  /// Of the segments with the same number only the first that touches wraps, as in OpenSim; -1 = every one.
  int first_of = -1;
};

struct PathPoint {
  BodyIndex body = ground;
  Vector3 p_BP = Vector3::Zero();  ///< [m]
  std::optional<PathWrap> wrap;    ///< between this point and the next
};

/// Length of a path and its derivatives in `LinePath::coordinates()`.
struct PathLength {
  double length = 0.0;       ///< [m]
  VectorX gradient;          ///< dl/dq
  Eigen::MatrixXd hessian;   ///< d2l/dq2, if requested
  Eigen::MatrixXd by_ends;   ///< work space of LinePath
  std::vector<int> wrapped;  ///< work space of LinePath: numbers PathWrap::first_of that a segment has used
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
    int first_of = -1;
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

/// A function of a coordinate of a joint.
struct JointFunction {
  CoordinateMapPtr map;
  std::size_t coordinate = 0;
  ScalarFunctionPtr f;
};

/// A point of a path with its dependence on joint coordinates.
struct MovingPoint {
  PathPoint point;
  std::array<JointFunction, 3> moves = {};  ///< what is added to its coordinates in the body [m]; none = nothing
  JointFunction within = {};                ///< the point counts while this coordinate is in `range`; f is not used
  std::array<double, 2> range = {};
};

/// Length of a path as in LinePath. A point P that moves in its body, P = o + V (p + p(u)), enters LinePath with three
/// independent coordinates; the chain rule then gives the dependence on the bodies and, through u(q), on the joints.
/// The length jumps where a conditional point becomes active or inactive, as in the models with such points.
class MovingPath {
 public:
  /// @param points  at least two unconditional ones
  explicit MovingPath(std::vector<MovingPoint> points);

  [[nodiscard]] const std::vector<int>& coordinates() const { return coordinates_; }
  /// As LinePath::at.
  void at(const ConstVector& q, bool curvature, PathLength& out) const;

 private:
  struct Fixed {
    LinePath path;
    std::vector<Eigen::Index> places;  ///< of its coordinates in `coordinates_`, or after them those of points
  };
  [[nodiscard]] bool moves(const MovingPoint& point) const;
  [[nodiscard]] const Fixed& fixed(const std::vector<bool>& counts) const;
  [[nodiscard]] Eigen::Index place(int coordinate) const;
  void follow(const MovingPoint& point, Eigen::Index column, const ConstVector& q, bool curvature,
              const VectorX& gradient, Eigen::MatrixXd& by_q, Eigen::MatrixXd& hessian) const;

  std::vector<MovingPoint> points_;
  std::vector<std::size_t> moving_;  ///< moving points
  std::vector<int> coordinates_;
  int first_free_ = 0;             ///< first coordinate of moving points, which are treated as bodies
  std::optional<LinePath> plain_;  ///< without moving or conditional points
  mutable std::map<std::vector<bool>, Fixed> paths_;  ///< by the set of active points
  mutable PathLength inner_;
};

}  // namespace heelstrike::mbs
