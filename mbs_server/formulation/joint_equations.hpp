/// Points and directions fixed in bodies: linear in the fully Cartesian coordinates, constant on ground
/// (Melo 2023, eqs 3.16-3.23). Their products form the quadratic equations of joints.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

/// A 3-vector constant + sum_k coef_k q[first_k .. first_k + 2].
struct AffineVector {
  struct Term {
    int first = 0;
    double coef = 0.0;
  };
  Vector3 constant = Vector3::Zero();
  std::vector<Term> terms;

  [[nodiscard]] Vector3 value(const ConstVector& q) const;
  /// d/dt at the rates qd.
  [[nodiscard]] Vector3 rate(const ConstVector& qd) const;
};

/// World position of a point with coordinates `p_BP` [m] in the body.
[[nodiscard]] AffineVector body_point(BodyIndex body, const Vector3& p_BP);
/// World components of a direction with components `u_B` in the body.
[[nodiscard]] AffineVector body_direction(BodyIndex body, const Vector3& u_B);
[[nodiscard]] AffineVector operator-(const AffineVector& a, const AffineVector& b);

/// factor * a . b + constant.
[[nodiscard]] QuadraticEquation dot_equation(const AffineVector& a, const AffineVector& b, double factor = 1.0,
                                             double constant = 0.0);
/// Component c of `a`.
[[nodiscard]] QuadraticEquation component_equation(const AffineVector& a, int c);
/// a + factor * b
[[nodiscard]] QuadraticEquation sum_of(QuadraticEquation a, const QuadraticEquation& b, double factor);

/// Points and axes of both sides of a joint as functions of q.
struct JointVectors {
  AffineVector x_A, y_A, z_A;  ///< axes of side a; z is the joint's axis
  AffineVector y_B, z_B;       ///< axes of side b
  AffineVector p_AB;           ///< from the point of a to the point of b
};
[[nodiscard]] JointVectors joint_vectors(const JointSide& a, const JointSide& b);

/// Independent scalar equations of a joint.
using Equations = std::vector<QuadraticEquation>;
using JointEquations = std::function<Equations(const JointVectors&)>;

[[nodiscard]] Equations same_point(const JointVectors& v);     ///< p_AB = 0
[[nodiscard]] Equations parallel_axes(const JointVectors& v);  ///< z_B along z_A
[[nodiscard]] Equations on_axis(const JointVectors& v);        ///< the point of b lies on the axis of a
[[nodiscard]] Equations in_plane(const JointVectors& v);       ///< the point of b lies in the plane normal to z_A
[[nodiscard]] Equations no_rotation(const JointVectors& v);    ///< with parallel axes: no angle about them
/// Concatenates equations in the given order.
[[nodiscard]] Equations joined(std::initializer_list<Equations> parts);

/// A joint with the given equations between two sides.
[[nodiscard]] Joint quadratic_joint(std::string name, const JointSide& a, const JointSide& b,
                                    const JointEquations& equations);
/// A unilateral joint, whose only equation is the gap between the sides.
[[nodiscard]] Joint unilateral_joint(std::string name, const JointSide& a, const JointSide& b,
                                     const JointEquations& equations, const ImpactAtGap& impact);

}  // namespace heelstrike::mbs
