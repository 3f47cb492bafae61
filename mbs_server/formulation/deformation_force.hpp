#pragma once

#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/formulation/joint_angle.hpp"

namespace heelstrike::mbs {

/// Torsional spring-damper about the axis of a revolute or cylindrical joint: torque -(k (phi - phi0) + c dphi/dt) on
/// side b. The angle is counted from the initial pose in (-pi, pi] around phi0: beyond half a turn from the neutral
/// angle the spring snaps over.
class TorsionalSpring final : public ForceElement {
 public:
  TorsionalSpring(const SpringElement& spring, const Joint& joint);
  [[nodiscard]] std::string name() const override { return spring_.name; }
  void add_forces(double t, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                  EnergyTerms& energy) override;
  void add_tangents(double t, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                    SparseAssembler& C) override;

 private:
  [[nodiscard]] double deflection(double angle) const;
  SpringElement spring_;
  JointAngle angle_;
};

/// Bushing: six deformations e(q), three turns and three displacements of frame b against frame a in the axes of a, and
/// generalised forces -E_q' (K e + C de/dt). A turn is the sine-like vector 1/2 sum_k a_k x b_k (sin(theta) times the
/// axis), a displacement a_i . p_AB: all quadratic in q, so that energy and tangents are exact at any size; for small
/// turns K is the usual 6x6 stiffness [turns; displacements].
class Bushing final : public ForceElement {
 public:
  explicit Bushing(const SpringElement& spring);
  [[nodiscard]] std::string name() const override { return spring_.name; }
  void add_forces(double t, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                  EnergyTerms& energy) override;
  void add_tangents(double t, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                    SparseAssembler& C) override;

 private:
  struct State {
    Vector6 e, rate, force;
    Eigen::MatrixXd E_q;       ///< 6 x local
    Eigen::MatrixXd E_q_rate;  ///< 6 x local, d(de/dt)/dq
  };
  [[nodiscard]] State state(const ConstVector& q, const ConstVector& qd) const;

  SpringElement spring_;
  std::vector<int> indices_;
  std::vector<double> constants_;
  std::vector<VectorX> linear_;
  std::vector<Eigen::MatrixXd> hessians_;
};

/// The force element of a spring of any type.
[[nodiscard]] std::unique_ptr<ForceElement> make_spring(const Model& model, const SpringElement& spring);

}  // namespace heelstrike::mbs
