#pragma once

#include "mbs_server/formulation/affine_vector.hpp"
#include "mbs_server/formulation/force_element.hpp"

namespace heelstrike::mbs {

/// Tension of a straight element as a function of its length, with what belongs to it.
struct Tension {
  double force = 0.0;      ///< [N] pulls the ends together
  double stiffness = 0.0;  ///< [N/m] dF/dl
  double energy = 0.0;     ///< [J]
};

/// Linear spring k (l - l0); ligament of [piazza2001] K eps^2 for eps > 0; ligament of [caruntu2004], quadratic up to
/// the strain 2 eps1 and then linear with the slope k, once continuously differentiable:
///   F = k / (4 l0 eps1) (l - l0)^2,   F = k (l - (1 + eps1) l0).
[[nodiscard]] Tension line_tension(const SpringElement& spring, double length);

/// Force F(l) + c dl/dt along the line between two points fixed in two bodies; a ligament's damping acts only while it
/// is tight.
class LineForce final : public ForceElement {
 public:
  explicit LineForce(const SpringElement& spring);

  [[nodiscard]] std::string name() const override { return spring_.name; }
  /// @throws RecoverableError when the ends meet: the line has no direction then
  void add_forces(double t, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                  EnergyTerms& energy) override;
  void add_tangents(double t, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                    SparseAssembler& C) override;

 private:
  struct State {
    Vector3 direction, rate;  ///< unit vector, and velocity of end b against end a [m/s]
    double length = 0.0;
    double speed = 0.0;    ///< dl/dt
    double damping = 0.0;  ///< in force
    Tension tension;
  };
  [[nodiscard]] State state(const ConstVector& q, const ConstVector& qd) const;

  SpringElement spring_;
  AffineVector p_AB_;
};

}  // namespace heelstrike::mbs
