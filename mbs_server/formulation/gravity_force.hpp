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

}  // namespace heelstrike::mbs
