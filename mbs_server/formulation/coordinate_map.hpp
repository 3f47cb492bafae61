/// The coordinates u of a joint between two bodies, and what the joint asks of their poses.
///
/// The pose of frame b in frame a is a function of n coordinates u, n <= 6: three turns in a row about axes that the
/// turns before carry along, and shifts along three axes of a,
///
///   R(u) = R_1(y_1(u)) R_2(y_2(u)) R_3(y_3(u)),   p(u) = y_4(u) t_1 + y_5(u) t_2 + y_6(u) t_3,
///
/// as in OpenSim's CustomJoint [seth2010]. The fully Cartesian coordinates q of the bodies know no u: it is found from
/// them. With the relative pose w = (R, p) = (A'B, A'(p_B - p_A)), quadratic in q, the error of a guess u is affine in
/// w: turns have the components d'v of the axial vector v of R(u)'R, shifts those of p - p(u). n of these components
/// define u(w), those along the axes that the coordinates turn about or shift along; the other 6 - n are the equations
/// of the joint. Derivatives are those of the implicit function, up to the third along any path (GradientsAlong).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "mbs_server/formulation/along.hpp"
#include "mbs_server/formulation/motion_functions.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// y = constant + sum f(u) of some coordinates, about or along `direction`.
struct MotionAxis {
  struct Term {
    std::size_t coordinate = 0;
    ScalarFunctionPtr f;
  };
  Vector3 direction = Vector3::UnitX();  ///< unit vector
  double constant = 0.0;                 ///< [rad] or [m]
  std::vector<Term> terms = {};
};

struct CoordinateTransform {
  std::array<MotionAxis, 6> axes;    ///< turns, then shifts
  Vector3 radii = Vector3::Zero();   ///< [m] of an ellipsoid about the origin of a: b's origin is further shifted by
                                     ///< (r_x z_x, r_y z_y, r_z z_z), z the third axis of b in a
  std::vector<std::string> names{};  ///< of the coordinates
  std::vector<double> near{};        ///< values of u at the initial poses, which choose the branch of angles
};

class CoordinateMap {
 public:
  /// @throws Error{invalid_input} for a coordinate that moves nothing by itself, with its name
  CoordinateMap(JointSide a, JointSide b, CoordinateTransform transform);

  [[nodiscard]] std::size_t n() const { return transform_.names.size(); }
  [[nodiscard]] int rows() const { return 6 - static_cast<int>(n()); }
  [[nodiscard]] const CoordinateTransform& transform() const { return transform_; }
  [[nodiscard]] bool turns(std::size_t coordinate) const { return own_[coordinate] < 3; }
  /// Change of a coordinate after which the pose is the same; 0 = none.
  [[nodiscard]] double period(std::size_t coordinate) const;
  /// Whether three coordinates turn and nothing else turns the joint, and the turn R at values of those three.
  [[nodiscard]] bool is_pure_rotation() const;
  [[nodiscard]] Along<Matrix3> turned(const std::vector<Jet>& angles) const;
  [[nodiscard]] const JointSide& side_a() const { return a_; }
  [[nodiscard]] const JointSide& side_b() const { return b_; }
  [[nodiscard]] const std::vector<int>& indices() const { return indices_; }

  /// The six numbers of the joint at a pose: rows() residuals, then u.
  [[nodiscard]] Eigen::Matrix<double, 6, 1> values(const ConstVector& q) const;
  /// Their gradients along a path.
  void gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd, GradientsAlong& out) const;
  /// Whether the turns are right, not half a turn away.
  [[nodiscard]] bool on_intended_branch(const ConstVector& q) const;

 private:
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
  struct Frames {
    Along<Matrix3> A, B, R;  ///< axes in the world, and of b in a
    Along<Vector3> r_W, r;   ///< from a to b in the world and in a
  };
  /// A vector in b's axes that depends on the turns.
  struct Direction {
    Along<Vector3> v;
    std::array<Along<Vector3>, 3> by_rotation;
  };
  struct Turns {
    Along<Matrix3> Q;                       ///< R(u)
    std::array<Along<Matrix3>, 3> by_rotation;  ///< dQ/dy_k
    std::array<Direction, 3> axes;          ///< the three axes, in b
  };
  /// <G, R> + h'p + constant.
  struct Row {
    Jet value;
    std::array<Jet, 6> by_u;
    Along<Matrix3> G;
    Vector3 h = Vector3::Zero();
  };
  /// n equations for u first, then those of the joint.
  using Rows = std::array<Row, 6>;
  using Values = std::array<Jet, 6>;

  [[nodiscard]] Frames frames(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd) const;
  void choose_coordinate_axes();
  [[nodiscard]] Jet axis_value(std::size_t axis, const Values& u) const;
  [[nodiscard]] Jet axis_slope(std::size_t axis, std::size_t coordinate, const Values& u) const;
  [[nodiscard]] Turns rotations_at(const Values& u) const;
  [[nodiscard]] Row rotation_row(const Turns& turns, const Direction& d, const Along<Matrix3>& R, const Values& u) const;
  [[nodiscard]] Row translation_row(std::size_t axis, const Frames& at, const Values& u) const;
  void add_rotation_rows(const Turns& turns, const Along<Matrix3>& R, const Values& u, Rows& rows) const;
  [[nodiscard]] Rows rows_at(const Frames& at, const Values& u) const;
  [[nodiscard]] std::array<double, 6> axis_guess(const Matrix3& R, const Vector3& p) const;
  [[nodiscard]] VectorX guess(const Frames& at) const;
  [[nodiscard]] VectorX solve(const Frames& at) const;
  void add_gradient(const Frames& at, const Along<Matrix3>& G, const Along<Vector3>& h, Eigen::Index row,
                    GradientsAlong& out) const;

  JointSide a_, b_;
  CoordinateTransform transform_;
  std::vector<int> indices_;
  std::vector<std::size_t> own_;         ///< the axis of each coordinate
  std::vector<std::size_t> turning_;     ///< coordinates that turn
  std::array<Vector3, 2> across_{};      ///< of the only axis that is turned about: two vectors in b normal to it
  Matrix3 duals_ = Matrix3::Identity();  ///< rows: shifts along t_k are duals_.row(k) p
};

using CoordinateMapPtr = std::shared_ptr<const CoordinateMap>;

/// The equations of a joint: the residuals of its map.
[[nodiscard]] MotionFunctionsPtr joint_residuals(CoordinateMapPtr map);
/// Coordinates of a joint. @param coordinates  by their places
[[nodiscard]] MotionFunctionsPtr joint_coordinates(CoordinateMapPtr map, std::vector<std::size_t> coordinates);

/// f(u) of coordinates of any joints.
struct CoupledTerm {
  CoordinateMapPtr map;
  std::size_t coordinate = 0;
  ScalarFunctionPtr f;
};
/// constant + sum f(u)
[[nodiscard]] MotionFunctionsPtr coupled_coordinates(double constant, std::vector<CoupledTerm> terms);

}  // namespace heelstrike::mbs
