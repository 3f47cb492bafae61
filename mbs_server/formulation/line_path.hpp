/// Path of a ligament or muscle between bodies: through points and over surfaces that are fixed in bodies.
///
/// Paths with points that move in their bodies with joint coordinates, or are active in a range of a coordinate.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/spatial/wrap_sequence.hpp"
#include "common/spatial/wrap_surface.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/joint_equations.hpp"

namespace heelstrike::mbs {

/// A surface over which a segment of a path may wrap.
struct PathWrap {
  BodyIndex body = ground;
  Pose X_BS;                 ///< frame of the shape in the body
  WrapShape shape;           ///< in that frame
  bool one_segment = false;  ///< of a MovingPath: as in PlacedSurface
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

/// A function of a coordinate of a joint.
struct JointFunction {
  CoordinateMapPtr map;
  std::size_t coordinate = 0;
  ScalarFunctionPtr f;
};

/// A point of a path with its dependence on joint coordinates.
struct MovingPoint {
  PathPoint point;                          ///< without a surface
  std::array<JointFunction, 3> moves = {};  ///< what is added to its coordinates in the body [m]; none = nothing
  JointFunction within = {};                ///< the point counts while this coordinate is in `range`; f is not used
  std::array<double, 2> range = {};
  std::vector<std::size_t> wraps = {};  ///< surfaces of the path that the segment to the next point may wrap over
};

/// Length of a path as in LinePath, over one or several surfaces by segment.
///
/// A point P that moves in its body, P = o + V (p + p(u)), enters LinePath with three independent coordinates; the
/// chain rule then gives the dependence on the bodies and, through u(q), on the joints. The length jumps where a
/// conditional point becomes active or inactive, as in the models with such points.
///
/// wrap_sequence() determines the surfaces of each segment. Between two of them the line is straight; a point on it,
/// the junction, also enters LinePath with three coordinates, at which the length is stationary. Where it is on that
/// line has no effect on the derivatives along rigid motions of the bodies; by changes of the lengths and angles of
/// their axes, which the constraints of a body prevent, the derivatives depend on it.
class MovingPath {
 public:
  /// @param points  at least two unconditional ones
  explicit MovingPath(std::vector<MovingPoint> points, std::vector<PathWrap> surfaces = {});
  MovingPath(const MovingPath&) = delete;
  MovingPath& operator=(const MovingPath&) = delete;

  [[nodiscard]] const std::vector<int>& coordinates() const { return coordinates_; }
  /// As LinePath::at. @throws RecoverableError also where no line over several surfaces is found
  void at(const ConstVector& q, bool curvature, PathLength& out) const;

 private:
  /// Surfaces with the segments between active points that may wrap over them; their poses are not set.
  struct ActivePoints {
    std::vector<std::size_t> points;
    std::vector<std::size_t> surfaces;
    std::vector<PlacedSurface> placed;
    bool has_choice = false;  ///< a segment with several surfaces, or one of several segments that wraps
  };
  /// Surfaces of each segment in their order along the path.
  using Sequence = std::vector<std::vector<std::size_t>>;
  /// A point between two surfaces and the direction of the line there.
  struct Junction {
    Vector3 p, along;
  };
  struct Fixed {
    LinePath path;
    std::vector<Eigen::Index> places;  ///< of its coordinates in `coordinates_`, or after them those of free points
  };
  /// Derivatives of the length in `coordinates_`, then those of free points.
  struct Spread {
    VectorX gradient;
    Eigen::MatrixXd hessian;
  };
  [[nodiscard]] bool moves(const MovingPoint& point) const;
  [[nodiscard]] ActivePoints active_points(const std::vector<bool>& counts) const;
  /// @pre no choice
  [[nodiscard]] static Sequence only_sequence(const ActivePoints& active);
  [[nodiscard]] Sequence choose(const ActivePoints& active, const VectorX& q, std::vector<Junction>& junctions) const;
  [[nodiscard]] BodyIndex free_body(std::size_t number) const;
  [[nodiscard]] PathPoint fixed_point(std::size_t i) const;
  [[nodiscard]] const Fixed& fixed(const std::vector<bool>& counts, const ActivePoints& active,
                                   const Sequence& sequence) const;
  [[nodiscard]] Eigen::Index place(int coordinate) const;
  [[nodiscard]] Spread spread(const Fixed& fixed, const VectorX& q, bool curvature, Eigen::Index n) const;
  [[nodiscard]] Spread at_junctions(const Fixed& fixed, const std::vector<Junction>& junctions, VectorX& q,
                                    Eigen::Index n) const;
  void follow(const MovingPoint& point, Eigen::Index column, const ConstVector& q, bool curvature,
              const VectorX& gradient, Eigen::MatrixXd& by_q, Eigen::MatrixXd& hessian) const;

  std::vector<MovingPoint> points_;
  std::vector<PathWrap> surfaces_;
  std::vector<std::size_t> moving_;  ///< moving points
  std::vector<int> coordinates_;
  int first_free_ = 0;             ///< first coordinate of free points, which are treated as bodies: moving, junctions
  std::optional<LinePath> plain_;  ///< without moving or conditional points and without a choice of surfaces
  mutable std::map<std::vector<bool>, ActivePoints> active_;               ///< by the points that count
  mutable std::map<std::pair<std::vector<bool>, Sequence>, Fixed> paths_;  ///< by them and the surfaces
  mutable PathLength inner_;
};

}  // namespace heelstrike::mbs
