#include "mbs_server/formulation/joint_equations.hpp"

namespace heelstrike::mbs {

Equations joined(std::initializer_list<Equations> parts) {
  Equations all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Equations same_point(const JointVectors& v) {
  return {component_equation(v.p_AB, 0), component_equation(v.p_AB, 1), component_equation(v.p_AB, 2)};
}
Equations parallel_axes(const JointVectors& v) {
  return {dot_equation(v.x_A, v.z_B), dot_equation(v.y_A, v.z_B)};
}
Equations on_axis(const JointVectors& v) {
  return {dot_equation(v.x_A, v.p_AB), dot_equation(v.y_A, v.p_AB)};
}
Equations in_plane(const JointVectors& v) {
  return {dot_equation(v.z_A, v.p_AB)};
}
Equations no_rotation(const JointVectors& v) {
  return {dot_equation(v.x_A, v.y_B)};
}

JointVectors joint_vectors(const JointSide& a, const JointSide& b) {
  const auto axis = [](const JointSide& side, int k) { return body_direction(side.body, side.X_BF.R.col(k)); };
  return {.x_A = axis(a, 0),
          .y_A = axis(a, 1),
          .z_A = axis(a, 2),
          .y_B = axis(b, 1),
          .z_B = axis(b, 2),
          .p_AB = body_point(b.body, b.X_BF.p) - body_point(a.body, a.X_BF.p)};
}

Joint quadratic_joint(std::string name, const JointSide& a, const JointSide& b, const JointEquations& equations) {
  Joint joint{.name = std::move(name), .a = a, .b = b};
  joint.make = [name = joint.name, all = equations(joint_vectors(a, b))](const ConstVector&) {
    return std::make_unique<QuadraticConstraint>(name, all);
  };
  return joint;
}

Joint unilateral_joint(std::string name, const JointSide& a, const JointSide& b, const JointEquations& equations,
                       const ImpactAtGap& impact) {
  Joint joint{.name = std::move(name), .a = a, .b = b};
  joint.make = [name = joint.name, gap = equations(joint_vectors(a, b)).at(0), impact](const ConstVector&) {
    return std::make_unique<UnilateralConstraint>(name, gap, impact);
  };
  return joint;
}

}  // namespace heelstrike::mbs
