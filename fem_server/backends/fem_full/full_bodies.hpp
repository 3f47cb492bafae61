/// Full-order contact of two deformable bodies, of large strain or linear, each clamped or in free flight, with Coulomb
/// friction and relaxing materials.
///
/// Elasticity and contact alternate. One step moves each body without its contact forces by its own matrix (FullBody),
/// and then solves the contact of two linear bodies with the compliances of these matrices, as fem_condensed does, on
/// the interface of the *deformed* surfaces (BodyInterface): its functions, normals and areas are those of the current
/// surfaces. At the fixed point the internal forces of either body balance the contact forces, and no function of the
/// deformed interface penetrates. Method: docs/theory/contact_fem.md, section 10.
///
/// The slip since the last commit is the mean over each function of the motion of A's points relative to those points
/// of B that are now opposite.
///
/// The tangents are the derivative of that fixed point, the motion of the interface included.
#pragma once

#include <Eigen/Core>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/backends/fem_full/full_body.hpp"
#include "fem_server/backends/fem_full/full_steps.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "fem_server/contact_solver/contact_surface.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

struct FullBodiesModel {
  FullBodyParts main;
  FullBodyParts partner;
  ContactSurface main_surface;     ///< contact faces
  ContactSurface partner_surface;  ///< the whole boundary
  std::shared_ptr<const SignedDistance> partner_distance;
  std::vector<ContactRegion> regions{};
  ContactOptions options;  ///< without penalty
};

class FullBodies final : public ContactBackend {
 public:
  /// @param stop  checked between stages
  /// @throws as FullBody
  FullBodies(std::string name, FullBodiesModel model, ParameterMap parameters, const std::stop_token& stop = {});

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  /// Evaluations are serialised over threads: they share the memory of the factors.
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  /// Fields of either body, with Cauchy stresses of the laws in force.
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

  /// Forces [N] on the contact nodes of A, in A, and of B, in B; for tests.
  [[nodiscard]] std::array<std::vector<Vector3>, 2> nodal_forces(const History& history, const PairState& state) const;
  /// [Pa] at the contact nodes of A; for tests.
  [[nodiscard]] std::vector<double> pressure(const History& history, const PairState& state) const;

 private:
  /// A value for A, and for B in its own axes.
  template <class T>
  using PerBody = std::array<T, 2>;
  struct Solution;
  struct Derivative;
  [[nodiscard]] Solution solve(const FullBodiesHistory& history, const PairState& state,
                               const EvaluateOptions& options) const;
  /// Smallest gap and interface of the bodies displaced by u; undeformed if u is empty.
  [[nodiscard]] Interface begin(const PairState& state, const PerBody<Eigen::VectorXd>& u, Solution& solution) const;
  /// Functions of the interface of the displaced surfaces.
  [[nodiscard]] std::vector<InterfacePoint> places_at(const Pose& X_AB, const Interface& undeformed,
                                                      const PerBody<Eigen::VectorXd>& u) const;
  /// With all gaps enlarged by `offset` [m]. @return true if converged
  [[nodiscard]] bool equilibrium(const FullBodiesHistory& history, const PairState& state, const Interface& undeformed,
                                 double offset, Solution& solution) const;
  /// Contact of the linear bodies with displacements `free` without contact forces: sets lambda, tau and the active
  /// set.
  /// @return displacements under these forces
  [[nodiscard]] PerBody<Eigen::VectorXd> solve_linearised_contact(const FullBodiesHistory& history,
                                                                  const PairState& state, double offset,
                                                                  const PerBody<Eigen::VectorXd>& free,
                                                                  Solution& solution) const;
  /// [m] in A: motion of A relative to B at `place` since the commit, or since the onset of contact. Its normal
  /// component has no meaning.
  /// @param place  of the surfaces displaced by `matched`
  [[nodiscard]] Vector3 compute_slip_increment(const FullBodiesHistory& history, const Pose& X_AB,
                                               const InterfacePoint& place, const PerBody<Eigen::VectorXd>& matched,
                                               const PerBody<Eigen::VectorXd>& u) const;
  /// Work and speed of sliding functions.
  void compute_slip(const FullBodiesHistory& history, const PairState& state, Solution& solution) const;
  /// History variables of materials after a commit, and the energy dissipated in them since the last one; without
  /// contact, the gap of the deformed bodies.
  void update_history(const FullBodiesHistory& history, const PairState& state, Solution& solution) const;
  [[nodiscard]] bool has_history() const;
  /// Displacement of A relative to B at `place`, in A.
  [[nodiscard]] Vector3 relative(const InterfacePoint& place, const Matrix3& R_AB,
                                 const PerBody<Eigen::VectorXd>& u) const;
  /// Loads on both bodies of forces [N] on places, in A.
  void add_loads(const InterfacePoint& place, const Matrix3& R_AB, const Vector3& force,
                 PerBody<Eigen::VectorXd>& loads) const;
  /// Values of the active functions distributed to the contact nodes of a body by their weights: unchanged for A,
  /// negated and in its axes for B.
  [[nodiscard]] std::vector<Vector3> on_nodes(const Solution& solution, const PairState& state, std::size_t body,
                                              const std::function<Vector3(std::size_t)>& of_function) const;
  void differentiate(const FullBodiesHistory& history, const PairState& state, const Interface& undeformed,
                     Solution& solution) const;
  void differentiate_geometry(const FullBodiesHistory& history, const PairState& state, const Interface& undeformed,
                              const Solution& solution, Eigen::Index direction, Derivative& now) const;
  [[nodiscard]] InterfaceContact interface_contact(const Solution& solution, const PairState& state) const;
  [[nodiscard]] Response make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                       const PairState& state) const;

  std::string name_;
  FullBodiesModel model_;
  double size_ = 0.0;         ///< [m] of A
  double rounding_ = 0.0;     ///< [m] effect of rounding on the displacements
  mutable std::mutex mutex_;  ///< guards the bodies; their matrices are valid within an evaluation only
  mutable std::vector<FullBody> bodies_;
};

}  // namespace heelstrike::fem
