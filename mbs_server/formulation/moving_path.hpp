/// Paths whose points move in their bodies with the coordinates of joints, or count only where a coordinate is.
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

/// A point of a path and what it depends on besides its body.
struct MovingPoint {
  PathPoint point;
  std::array<JointFunction, 3> moves = {};  ///< what is added to its coordinates in the body [m]; none = nothing
  JointFunction within = {};                ///< the point counts while this coordinate is in `range`; f is not used
  std::array<double, 2> range = {};
};

/// Length of a path as LinePath has it. A point P that moves in its body, P = o + V (p + p(u)), is first a point by
/// itself, whose three coordinates LinePath knows; then it follows the bodies and, through u(q), those of the joints.
/// Where a point begins or ceases to count the length jumps, as in the models that have such points.
class MovingPath {
 public:
  /// @param points  at least two, of which two count everywhere
  explicit MovingPath(std::vector<MovingPoint> points);

  [[nodiscard]] const std::vector<int>& coordinates() const { return coordinates_; }
  /// As LinePath::at.
  void at(const ConstVector& q, bool curvature, PathLength& out) const;

 private:
  struct Fixed {
    LinePath path;
    std::vector<Eigen::Index> places;  ///< of its coordinates in `coordinates_`, or behind them those of points
  };
  [[nodiscard]] bool moves(const MovingPoint& point) const;
  [[nodiscard]] const Fixed& fixed(const std::vector<bool>& counts) const;
  [[nodiscard]] Eigen::Index place(int coordinate) const;
  void follow(const MovingPoint& point, Eigen::Index column, const ConstVector& q, bool curvature,
              const VectorX& gradient, Eigen::MatrixXd& by_q, Eigen::MatrixXd& hessian) const;

  std::vector<MovingPoint> points_;
  std::vector<std::size_t> moving_;  ///< points that move
  std::vector<int> coordinates_;
  int first_free_ = 0;             ///< coordinates of moving points begin here, as if they were bodies
  std::optional<LinePath> plain_;  ///< where nothing moves and all points count
  mutable std::map<std::vector<bool>, Fixed> paths_;  ///< by the points that count
  mutable PathLength inner_;
};

}  // namespace heelstrike::mbs
