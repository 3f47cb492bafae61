/// Paths with points that move in their bodies with joint coordinates, or are active in a range of a coordinate.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/line_path.hpp"

namespace heelstrike::mbs {

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
