#pragma once

#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/model/model.hpp"

namespace heelstrike::mbs {

/// Constant force at a body-fixed point and constant torque, components in the world or in body axes. Its work counts
/// as external.
class LoadForce final : public ForceElement {
 public:
  LoadForce(std::string name, const Load& load);

  [[nodiscard]] std::string name() const override { return name_; }
  void add_forces(double t, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                  EnergyTerms& energy) override;
  void add_tangents(double t, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                    SparseAssembler& C) override;

 private:
  [[nodiscard]] Wrench world_wrench(const Pose& X_WB) const;

  std::string name_;
  Load load_;
};

}  // namespace heelstrike::mbs
