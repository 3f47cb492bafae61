/// Building blocks of joint equations that are quadratic in the coordinates.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "mbs_server/formulation/affine_vector.hpp"
#include "mbs_server/formulation/unilateral_constraint.hpp"

namespace heelstrike::mbs {

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
