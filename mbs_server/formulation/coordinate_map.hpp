/// Vectors and matrices along a path with their first two derivatives: the counterpart of Jet for numbers.
///
/// The coordinates u of a joint between two bodies, and the constraint equations of the joint.
///
/// The pose of frame b in frame a is a function of n coordinates u, n <= 6: three successive rotations about axes that
/// the preceding rotations carry along, and translations along three axes of a,
///
///   R(u) = R_1(y_1(u)) R_2(y_2(u)) R_3(y_3(u)),   p(u) = y_4(u) t_1 + y_5(u) t_2 + y_6(u) t_3,
///
/// as in OpenSim's CustomJoint [seth2010]. The fully Cartesian coordinates q of the bodies do not contain u; it is
/// computed from them. With the relative pose w = (R, p) = (A'B, A'(p_B - p_A)), quadratic in q, the error of a guess
/// u is affine in w: components d'v of the axial vector v of R(u)'R for rotations, components of p - p(u) for
/// translations. n of these components define u(w), those along the axes assigned to the coordinates; the other 6 - n
/// are the equations of the joint. Derivatives follow from the implicit function theorem, up to the third along any
/// path (GradientsAlong).
#pragma once

#include <Eigen/Core>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "common/motion/time_function.hpp"
#include "common/spatial/spatial.hpp"
#include "mbs_server/formulation/function_constraint.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/turn_reference.hpp"

namespace heelstrike::mbs {

template <class T>
struct Along {
  T f, d, dd;
  [[nodiscard]] static Along constant(const T& value) {
    const T zero = T::Zero(value.rows(), value.cols());
    return {value, zero, zero};
  }
};

template <class A, class B>
[[nodiscard]] auto operator*(const Along<A>& a, const Along<B>& b) {
  using C = typename Eigen::Product<A, B>::PlainObject;
  return Along<C>{C(a.f * b.f), C(a.d * b.f + a.f * b.d), C(a.dd * b.f + 2.0 * (a.d * b.d) + a.f * b.dd)};
}
template <class A>
[[nodiscard]] Along<A> operator*(const Jet& s, const Along<A>& a) {
  return {s.f * a.f, s.d * a.f + s.f * a.d, s.dd * a.f + 2.0 * s.d * a.d + s.f * a.dd};
}
template <class A>
[[nodiscard]] Along<A> operator+(const Along<A>& a, const Along<A>& b) {
  return {a.f + b.f, a.d + b.d, a.dd + b.dd};
}
template <class A>
[[nodiscard]] Along<A> operator-(const Along<A>& a, const Along<A>& b) {
  return {a.f - b.f, a.d - b.d, a.dd - b.dd};
}
/// Applies a linear map to value and derivatives.
template <class A, class Map>
[[nodiscard]] auto mapped(const Along<A>& a, const Map& map) {
  using C = decltype(map(a.f));
  return Along<C>{map(a.f), map(a.d), map(a.dd)};
}
[[nodiscard]] inline Along<Matrix3> transposed(const Along<Matrix3>& a) {
  return mapped(a, [](const Matrix3& m) { return Matrix3(m.transpose()); });
}
[[nodiscard]] inline Along<Matrix3> skew_along(const Along<Vector3>& a) {
  return mapped(a, [](const Vector3& v) { return skew(v); });
}
/// a b'
[[nodiscard]] inline Along<Matrix3> outer_along(const Along<Vector3>& a, const Along<Vector3>& b) {
  return {a.f * b.f.transpose(), a.d * b.f.transpose() + a.f * b.d.transpose(),
          a.dd * b.f.transpose() + 2.0 * (a.d * b.d.transpose()) + a.f * b.dd.transpose()};
}
/// The sum of the products of all entries.
template <class A>
[[nodiscard]] Jet inner_along(const Along<A>& a, const Along<A>& b) {
  const auto sum = [](const A& x, const A& y) { return x.cwiseProduct(y).sum(); };
  return {.f = sum(a.f, b.f),
          .d = sum(a.d, b.f) + sum(a.f, b.d),
          .dd = sum(a.dd, b.f) + 2.0 * sum(a.d, b.d) + sum(a.f, b.dd)};
}
[[nodiscard]] inline Along<Vector3> cross_along(const Along<Vector3>& a, const Along<Vector3>& b) {
  return {a.f.cross(b.f), a.d.cross(b.f) + a.f.cross(b.d), a.dd.cross(b.f) + 2.0 * a.d.cross(b.d) + a.f.cross(b.dd)};
}

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
  std::array<MotionAxis, 6> axes;    ///< rotations, then translations
  Vector3 radii = Vector3::Zero();   ///< [m] of an ellipsoid about the origin of a: b's origin is translated further by
                                     ///< (r_x z_x, r_y z_y, r_z z_z), z the third axis of b in a
  std::vector<std::string> names{};  ///< of the coordinates
  std::vector<double> near{};        ///< values of u at the initial poses, the first reference of angles
};

class CoordinateMap final : public TurnReference {
 public:
  /// @throws Error{invalid_input} for a coordinate without an independent motion, with its name
  CoordinateMap(JointSide a, JointSide b, CoordinateTransform transform);

  [[nodiscard]] std::size_t n() const { return transform_.names.size(); }
  [[nodiscard]] int rows() const { return 6 - static_cast<int>(n()); }
  [[nodiscard]] const CoordinateTransform& transform() const { return transform_; }
  [[nodiscard]] bool is_rotation(std::size_t coordinate) const { return own_[coordinate] < 3; }
  /// Period of the pose as a function of a coordinate; 0 = none.
  [[nodiscard]] double period(std::size_t coordinate) const;
  /// True if exactly three coordinates determine the rotation; the rotation R at values of these three.
  [[nodiscard]] bool is_pure_rotation() const;
  [[nodiscard]] Along<Matrix3> rotated(const std::vector<Jet>& angles) const;
  [[nodiscard]] const JointSide& side_a() const { return a_; }
  [[nodiscard]] const JointSide& side_b() const { return b_; }
  [[nodiscard]] const std::vector<int>& indices() const { return indices_; }

  /// The six values of the joint at a pose: rows() residuals, then u.
  [[nodiscard]] Eigen::Matrix<double, 6, 1> values(const ConstVector& q) const;
  /// Their gradients along a path. The reference is valid until the next call.
  const GradientsAlong& gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd) const;
  /// Sum of their second derivatives, each with its weight.
  [[nodiscard]] Eigen::MatrixXd weighted_hessian(const ConstVector& q,
                                                 const Eigen::Matrix<double, 6, 1>& weights) const;
  /// False if the rotation is half a turn away from the intended one.
  [[nodiscard]] bool on_intended_branch(const ConstVector& q) const;

  /// The coordinates u. @{
  [[nodiscard]] const VectorX& reference() const override { return reference_; }
  void set_reference(const ConstVector& values) override;
  [[nodiscard]] VectorX reference_at(const ConstVector& q) const override;
  [[nodiscard]] VectorX reference_rates(const ConstVector& q, const ConstVector& qd) const override;
  /// @}

 private:
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
  struct Frames {
    Along<Matrix3> A, B, R;  ///< axes in the world, and of b in a
    Along<Vector3> r_W, r;   ///< from a to b in the world and in a
  };
  /// A vector in b's axes that depends on the rotations.
  struct Direction {
    Along<Vector3> v;
    std::array<Along<Vector3>, 3> by_rotation;
  };
  struct Rotations {
    Along<Matrix3> Q;                           ///< R(u)
    std::array<Along<Matrix3>, 3> by_rotation;  ///< dQ/dy_k
    std::array<Direction, 3> axes;              ///< the three axes, in b
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
  [[nodiscard]] std::array<double, 6> axis_values(const ConstVector& u) const;
  [[nodiscard]] Eigen::Map<const VectorX> initial_values() const {
    return {transform_.near.data(), static_cast<Eigen::Index>(n())};
  }
  [[nodiscard]] Jet axis_slope(std::size_t axis, std::size_t coordinate, const Values& u) const;
  [[nodiscard]] Rotations rotations_at(const Values& u) const;
  [[nodiscard]] Row rotation_row(const Rotations& rotations, const Direction& d, const Along<Matrix3>& R,
                                 const Values& u) const;
  [[nodiscard]] Row translation_row(std::size_t axis, const Frames& at, const Values& u) const;
  void add_rotation_rows(const Rotations& rotations, const Along<Matrix3>& R, const Values& u, Rows& rows) const;
  [[nodiscard]] Rows rows_at(const Frames& at, const Values& u) const;
  [[nodiscard]] std::array<double, 6> axis_guess(const Matrix3& R, const Vector3& p) const;
  [[nodiscard]] VectorX guess(const Frames& at) const;
  [[nodiscard]] VectorX solve(const Frames& at) const;
  void evaluate_gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                          GradientsAlong& out) const;
  void add_gradient(const Frames& at, const Along<Matrix3>& G, const Along<Vector3>& h, Eigen::Index row,
                    GradientsAlong& out) const;

  JointSide a_, b_;
  CoordinateTransform transform_;
  VectorX reference_;
  std::vector<int> indices_;
  std::vector<std::size_t> own_;         ///< axis assigned to each coordinate
  std::vector<std::size_t> rotating_;    ///< rotational coordinates
  std::array<Vector3, 2> across_{};      ///< for a single rotation axis: two vectors in b normal to it
  Matrix3 duals_ = Matrix3::Identity();  ///< rows: translations along t_k are duals_.row(k) p

  /// The joint, drivers, couplers and forces of its coordinates evaluate the same map at the same state: the last
  /// results are kept. A map belongs to one simulation, which evaluates it by one thread at a time.
  struct LastGradients {
    VectorX at;  ///< q, qd and qdd of indices()
    GradientsAlong along;
  };
  struct LastHessians {
    VectorX at;                           ///< q of indices()
    std::vector<Eigen::MatrixXd> by_row;  ///< one for each of the six values
  };
  mutable LastGradients gradients_;
  mutable LastHessians hessians_;
};

using CoordinateMapPtr = std::shared_ptr<const CoordinateMap>;

/// The equations of a joint: the residuals of its map.
[[nodiscard]] MotionFunctionsPtr joint_residuals(CoordinateMapPtr map);
/// Coordinates of a joint. @param coordinates  their indices
[[nodiscard]] MotionFunctionsPtr joint_coordinates(CoordinateMapPtr map, std::vector<std::size_t> coordinates);

/// f(u) of a coordinate of any joint.
struct CoupledTerm {
  CoordinateMapPtr map;
  std::size_t coordinate = 0;
  ScalarFunctionPtr f;
};
/// constant + sum f(u)
[[nodiscard]] MotionFunctionsPtr coupled_coordinates(double constant, std::vector<CoupledTerm> terms);

}  // namespace heelstrike::mbs
