/// Height of prescribed bodies at which the ground reaction equals a prescribed force: the unknown of the hybrid
/// analysis.
#pragma once

#include <span>
#include <vector>

#include "mbs_server/coupling/contact_exchange.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// For each group of bodies one shift along the vertical, found by Newton's method on
///
///     F(shift) - F_given(t) = 0,    dF / dshift = - n . (d F / d p_AB) n  summed over the pairs of the group
///
/// with the contact's tangent, inside a bracket that every evaluation narrows (bisection where Newton leaves it). F
/// does not increase with the shift, so the solution is unique where F > 0. All evaluations start from the committed
/// history; nothing is committed here.
///
/// With `sliding_stiffness` the bodies also slide in the ground against the prescribed motion until the bushing of
/// stiffness K (diagonal, forward and lateral of the first body) holds the shear F_h of the contact less the prescribed
/// one F_0 (`shear`, otherwise zero): u = K^-1 (F_h(u, shift) - F_0). Newton's method with the contact's tangent,
/// condensed by the shift, which keeps the prescribed vertical force:
///
///     (I - K^-1 (dF_h/du - dF_h/ds (dF/ds)^-1 dF/du)) du = K^-1 (F_h - F_0) - u
///
/// The condensed tangent of a contact at rest is negative definite, so that the matrix is at least the identity.
class VerticalBalance {
 public:
  /// @param model  of the exchange; outlives this object
  VerticalBalance(const Scenario& scenario, const Model& model);

  /// Moves the bodies of each group in `q` from their prescribed poses. Groups are independent: while one is solved the
  /// others are out of reach.
  /// @throws RecoverableError with the group, when no height gives the force
  void move(double t, ContactExchange& exchange, Eigen::Ref<Eigen::VectorXd> q, const ConstVector& qd);

  /// [N] external force that balances each group, upwards > 0: its weight minus the ground reaction. Its work over the
  /// shifts is external to the model.
  /// @param responses  at `q`
  [[nodiscard]] std::vector<double> balance_forces(const ConstVector& q, std::span<const Response> responses) const;

  /// [m] last shift of each group, upwards > 0.
  [[nodiscard]] std::span<const double> shifts() const { return shifts_; }
  /// The same, set by resumed runs: initial guess of the next shifts.
  [[nodiscard]] std::span<double> shifts() { return shifts_; }
  /// [m] last slide of each group in the world, horizontal; three entries per group. Zero without sliding stiffness.
  [[nodiscard]] std::span<double> slides() { return {slides_.data(), static_cast<std::size_t>(slides_.size())}; }

 private:
  struct Group {
    const BalanceSpec* spec;
    std::vector<BodyIndex> bodies;
    std::vector<double> sign;  ///< per pair: +1 main body moves, -1 partner moves, 0 neither or both
  };
  /// Sum over the pairs of a group.
  struct GroupForce {
    double force = 0.0;                     ///< [N] on the group along the vertical
    double stiffness = 0.0;                 ///< [N/m] d force / d shift
    double gap = 0.0;                       ///< [m] smallest of the group's pairs
    Vector3 force_W = Vector3::Zero();      ///< [N] on the group
    Matrix3 stiffness_W = Matrix3::Zero();  ///< [N/m] d force_W / d displacement of the group
  };
  [[nodiscard]] GroupForce evaluate_force(std::size_t group, double shift, double t, ContactExchange& exchange,
                                          const Eigen::VectorXd& q, const ConstVector& qd);
  [[nodiscard]] double height_for_force(std::size_t group, double target, double t, ContactExchange& exchange,
                                        const Eigen::VectorXd& q, const ConstVector& qd);
  [[nodiscard]] double height_out_of_contact(std::size_t group, double t, ContactExchange& exchange,
                                             const Eigen::VectorXd& q, const ConstVector& qd);
  /// Slide and height of a loaded group; sets slides_. @returns the height
  [[nodiscard]] double slide_under_force(std::size_t group, double target, double t, ContactExchange& exchange,
                                         const Eigen::VectorXd& q, const ConstVector& qd);
  void shift_bodies(std::size_t group, double shift, Eigen::Ref<Eigen::VectorXd> q) const;

  const Model& model_;
  double gravity_;  ///< [m/s^2]
  Vector3 up_;
  std::vector<Group> groups_;
  std::vector<double> shifts_;
  Eigen::VectorXd slides_;  ///< [m] three per group
  GroupForce last_;         ///< of the last height
};

}  // namespace heelstrike::mbs
