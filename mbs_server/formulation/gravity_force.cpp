#include "mbs_server/formulation/gravity_force.hpp"

#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {

GravityForce::GravityForce(const Model& model)
    : generalized_(VectorX::Zero(coordinates_per_body * static_cast<Eigen::Index>(model.bodies.size()))) {
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const auto& properties = model.bodies[i].mass_properties;
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(i);
    // g' = int rho a'C dV with C of docs/theory/multibody.md, section 1: mass times a on the origin, first moments
    // times a on the axes. It is constant and computed once; its potential is -g'q.
    generalized_.segment<3>(first) = properties.mass * model.gravity;
    for (int k = 0; k < 3; ++k) {
      generalized_.segment<3>(first + 3 + 3 * k) = properties.mass * properties.center_of_mass[k] * model.gravity;
    }
  }
}

void GravityForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  g += generalized_;
  energy.potential -= generalized_.dot(at.q);
}

void GravityForce::add_tangents(const MotionState& /*at*/, SparseAssembler& /*K*/, SparseAssembler& /*C*/) {}

}  // namespace heelstrike::mbs
