/// All joints that are quadratic in the coordinates, by the name they have in scenario files.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "mbs_server/formulation/affine_vector.hpp"

namespace heelstrike::mbs {

/// What the equations of a joint are made of: points and axes of both sides as functions of q.
struct JointVectors {
  AffineVector x_A, y_A, z_A;  ///< axes of side a; z is the joint's axis
  AffineVector y_B, z_B;       ///< axes of side b
  AffineVector p_AB;           ///< from the point of a to the point of b
  double length = 0.0;         ///< [m] of a rod
};
[[nodiscard]] JointVectors joint_vectors(const Joint& joint);

struct JointEntry {
  std::string_view type;
  /// Independent scalar equations of the joint.
  std::vector<QuadraticEquation> (*build)(const JointVectors& v);
};
[[nodiscard]] std::span<const JointEntry> joint_registry();

/// The constraint of a joint of any type. @param q0 initial coordinates of all bodies, for gears
/// @throws Error{invalid_input} for an unknown type
[[nodiscard]] std::unique_ptr<Constraint> make_joint(const Model& model, const Joint& joint, const ConstVector& q0);

}  // namespace heelstrike::mbs
