/// The force element of the contact pairs: applies the responses of a coupling scheme as generalised forces on both
/// bodies of each pair.
#pragma once

#include <string>

#include "common/contact/contact.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/coupling/pair_kinematics.hpp"
#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

class ContactForce final : public ForceElement {
 public:
  /// @param model       with its pairs; all arguments outlive this object
  /// @param kinematics  of the exchange, updated by responses() of the scheme to the requested state
  ContactForce(const Model& model, const PairKinematics& kinematics, CouplingScheme& scheme)
      : model_(model), kinematics_(kinematics), scheme_(scheme) {}

  [[nodiscard]] std::string name() const override { return "contact"; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;

 private:
  [[nodiscard]] bool any_acts() const;
  /// @param response  null = the pair exerts no force
  void add_pair_tangents(std::size_t pair, const Response* response, const MotionState& at, SparseAssembler& K,
                         SparseAssembler& C) const;

  const Model& model_;
  const PairKinematics& kinematics_;
  CouplingScheme& scheme_;
};

}  // namespace heelstrike::mbs
