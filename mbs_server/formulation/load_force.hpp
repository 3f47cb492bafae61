#pragma once

#include <vector>

#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// Uniform gravity on all bodies: constant generalised forces m C_G' g, no tangent.
class GravityForce final : public ForceElement {
 public:
  explicit GravityForce(const Model& model);

  [[nodiscard]] std::string name() const override { return "gravity"; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;

 private:
  VectorX generalized_;  ///< potential energy is -generalized_ . q
};

/// Force at a body-fixed point and torque, each a constant plus functions of time, components in the world or in body
/// axes. Its work is external work.
class LoadForce final : public ForceElement {
 public:
  explicit LoadForce(const Load& load);

  [[nodiscard]] std::string name() const override { return "load " + load_.name; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;

 private:
  /// As prescribed: in body axes or in the world, the force at its point.
  [[nodiscard]] Wrench prescribed_wrench(double t) const;
  [[nodiscard]] Wrench world_wrench(const Wrench& given, const Pose& X_WB) const;

  Load load_;
};

}  // namespace heelstrike::mbs
