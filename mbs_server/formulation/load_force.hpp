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

/// Force at a point and torque on a body, each a constant plus functions of time. Components are in the axes of the
/// world or of any body, the point is in the frame of any body or in the world. Its work is external work.
class LoadForce final : public ForceElement {
 public:
  explicit LoadForce(const Load& load);

  [[nodiscard]] std::string name() const override { return "load " + load_.name; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;

 private:
  /// At one instant, as prescribed: the wrench in the axes of `axes_body`, the force at its point.
  struct Prescribed {
    Wrench wrench;
    Vector3 point;  ///< [m] in the frame of `point_body`
  };
  [[nodiscard]] Prescribed prescribed(double t) const;
  [[nodiscard]] BodyIndex point_body() const { return load_.point_body.value_or(load_.body); }
  /// [m] from the origin of the loaded body to the point, in the world
  [[nodiscard]] Vector3 arm(const MotionState& at, const Vector3& point) const;
  /// About the origin of the loaded body, in the world.
  [[nodiscard]] Wrench world_wrench(const MotionState& at, const Prescribed& given) const;

  Load load_;
};

}  // namespace heelstrike::mbs
