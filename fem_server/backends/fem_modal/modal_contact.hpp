/// Frictionless contact of a vibrating linear elastic body with a rigid partner.
///
/// The displacement of the candidates is that of the kept modes and, of all others, the quasi-static one (residual
/// flexibility; MacNeal 1971, Rubin 1975 [rubin1975]):
///
///     u = Phi q + (C - Phi Omega^-2 Phi^T) f,      q'' + 2 zeta Omega q' + Omega^2 q = Phi^T f
///
/// with the static compliance C. Between a commit and the requested state the forces vary linearly, and the modes are
/// integrated exactly (ModeStep): q = q_free + D Phi^T f. The result is a contact problem of a body displaced by
/// Phi q_free with the compliance C + Phi (D - Omega^-2) Phi^T. Coordinates and velocities of the modes belong to the
/// commit, so steps can be repeated. Derivation: docs/theory/reduced_dynamics.md.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/backends/fem_modal/modal_oscillator.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "fem_server/fem/vibration_modes.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

class BodyFields;

/// A condensed body with its modes and its partner.
struct ModalModel {
  std::vector<Vector3> points;  ///< [m] candidate nodes in A
  std::vector<double> areas;    ///< [m^2] area of each
  PressureRecovery pressure{};  ///< for these candidates
  std::vector<ContactRegion> regions{};
  SurfaceCompliance compliance{};
  VibrationModes modes;  ///< of the whole body
  Eigen::MatrixXd Phi;   ///< [1/sqrt(kg)] rows of the shapes that belong to the candidates
  double damping = 0.0;  ///< [-] ratio of every mode, in [0, 1)
  bool clamped = false;  ///< clamped; otherwise the modes are those of the free body
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  std::shared_ptr<const BodyFields> fields{};
};

class ModalContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written to saved histories
  /// @param parameters  in force
  ModalContact(std::string name, ModalModel model, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  /// The response is that under the new history: modes have had no time to respond, so tangents are those of a sudden
  /// change.
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

 private:
  /// The modes over the time since the commit.
  struct Vibration {
    std::vector<ModeStep> steps;       ///< empty = no commit yet: the body starts at rest under its load
    Eigen::VectorXd q_free;            ///< coordinates without contact
    Eigen::VectorXd modal_compliance;  ///< D
  };
  struct Solution : PairedContact {
    std::vector<ModeState> modes;
    double overlap = 0.0;  ///< [m] of the candidates at their positions without contact forces: > 0 in contact
    double energy = 0.0;   ///< [J] elastic and kinetic
  };
  [[nodiscard]] Vibration vibration(const ModalHistory& history, const PairState& state) const;
  [[nodiscard]] Solution solve(const ModalHistory& history, const PairState& state, bool tangents) const;
  /// A candidate that may be in contact, and B's surface there.
  struct NearPoint {
    std::uint32_t candidate = 0;
    SurfacePoint surface;
  };
  /// Sets gap, overlap and closest candidate. @param points  positions of the candidates without contact forces
  /// @returns ascending; empty without contact
  [[nodiscard]] std::vector<NearPoint> find_near(const PairState& state, const std::vector<Vector3>& points,
                                                 Solution& solution) const;
  /// For bodies in contact: replaces gap and closest candidate by those of the undeformed shapes, as in fem_condensed.
  /// @throws RecoverableError when these overlap by more than the limit
  void measure_undeformed(const PairState& state, Solution& solution) const;
  /// Rejects a step between two states without contact within which the vibration closes the gap: it would be lost,
  /// since events are located by the states at the ends of steps only.
  /// @throws RecoverableError for such a step, and for one with too many vibrations to decide
  void reject_missed_contact(const ModalHistory& history, const PairState& state) const;
  /// [m] of each candidate by each mode, in free vibration from these states
  [[nodiscard]] Eigen::MatrixXd largest_displacements(const std::vector<ModeState>& modes) const;
  /// Whether one of the candidates penetrates by more than `depth` [m] at one of the instants that divide the step.
  [[nodiscard]] bool touches_between(const ModalHistory& history, const PairState& state,
                                     const std::vector<std::size_t>& near, double n_samples, double depth) const;
  /// Candidates whose vibration may reach the partner since the commit. @param reach  [m] bound of their displacements
  [[nodiscard]] std::vector<std::size_t> within_reach(const ModalHistory& history, const PairState& state,
                                                      const Eigen::VectorXd& reach) const;
  /// Positions in `others` of points that the forces of the solution press into B by more than rounding.
  [[nodiscard]] std::vector<std::size_t> penetrating(const std::vector<NearPoint>& others, const Vibration& vibration,
                                                     const Solution& solution) const;
  /// Contact of these candidates only.
  void solve_contact_of(const std::vector<NearPoint>& chosen, const std::vector<Vector3>& points,
                        const PairState& state, const Vibration& vibration, bool tangents, Solution& solution) const;
  /// Compliance among some candidates over the time since the commit.
  [[nodiscard]] SurfaceCompliance compliance_of(const std::vector<std::uint32_t>& candidates,
                                                const Eigen::VectorXd& modal_compliance) const;
  /// [(rad/s)^-2] compliance of the modes over the time since the commit minus their static compliance.
  [[nodiscard]] Eigen::VectorXd differentiate_modal_compliance(const Eigen::VectorXd& modal_compliance) const;
  /// [N/sqrt(kg)] force of the active nodes on each mode.
  [[nodiscard]] Eigen::VectorXd modal_force(const Solution& solution) const;
  void finish_modes(const ModalHistory& history, const Vibration& vibration, Solution& solution) const;
  [[nodiscard]] Response make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                       const PairState& state) const;

  std::string name_;
  ModalModel model_;
};

}  // namespace heelstrike::fem
