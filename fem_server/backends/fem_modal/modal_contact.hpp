/// Frictionless contact of a linear elastic body that vibrates, with a rigid partner.
///
/// The displacement of the candidates is that of the kept modes and, of all others, the quasi-static one (residual
/// flexibility; MacNeal 1971, Rubin 1975 [rubin1975]):
///
///     u = Phi q + (C - Phi Omega^-2 Phi^T) f,      q'' + 2 zeta Omega q' + Omega^2 q = Phi^T f
///
/// with the static compliance C. Between a commit and the state that is asked for the forces vary linearly, and the
/// modes are integrated exactly (ModeStep): q = q_free + D Phi^T f. What is left is a contact problem of a body that
/// has moved by Phi q_free and has the compliance C + Phi (D - Omega^-2) Phi^T. Coordinates and velocities of the modes
/// belong to the commit, so steps can be repeated. Derivation: docs/theory/reduced_dynamics.md.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenario/surfaces/signed_distance.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/fem_modal/modal_history.hpp"
#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "fem_server/fem/vibration_modes.hpp"

namespace heelstrike::fem {

class BodyFields;

/// A condensed body with its modes and its partner.
struct ModalModel {
  std::vector<Vector3> points;  ///< [m] candidate nodes in A
  std::vector<double> areas;    ///< [m^2] area each one stands for
  PressureRecovery pressure{};  ///< for these candidates
  std::vector<ContactRegion> regions{};
  SurfaceCompliance compliance{};
  VibrationModes modes;  ///< of the whole body
  Eigen::MatrixXd Phi;   ///< [1/sqrt(kg)] rows of the shapes that belong to the candidates
  double damping = 0.0;  ///< [-] ratio of every mode, in [0, 1)
  bool held = false;     ///< by clamped nodes; else the modes are those of the free body
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  std::shared_ptr<const BodyFields> fields{};
};

class ModalContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written into saved histories
  /// @param parameters  in force
  ModalContact(std::string name, ModalModel model, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  /// The response is under the new history: modes have had no time to yield since, so tangents are those of a sudden
  /// change.
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

 private:
  /// The modes over the time since the commit.
  struct Vibration {
    std::vector<ModeStep> steps;  ///< empty = nothing committed: the body starts at rest under its load
    Eigen::VectorXd q_free;       ///< coordinates if nothing touches
    Eigen::VectorXd modal_compliance;        ///< D
  };
  struct Solution : ContactSolution {
    std::vector<ModeState> modes;
    double overlap = 0.0;  ///< [m] of the candidates where they are if nothing pushes: > 0 where the bodies touch
    double energy = 0.0;   ///< [J] elastic and kinetic
    [[nodiscard]] bool touches() const { return !nodes.empty(); }
  };
  [[nodiscard]] Vibration vibration(const ModalHistory& history, const PairState& state) const;
  [[nodiscard]] Solution solve(const ModalHistory& history, const PairState& state, bool tangents) const;
  /// A candidate that may touch, and B's surface there.
  struct NearPoint {
    std::uint32_t candidate = 0;
    SurfacePoint surface;
  };
  /// Sets gap, overlap and closest candidate. @param points  candidates where they are if nothing pushes
  /// @returns ascending; empty when nothing touches
  [[nodiscard]] std::vector<NearPoint> find_near(const PairState& state, const std::vector<Vector3>& points,
                                                 Solution& solution) const;
  /// Of bodies that touch: gap and closest candidate become those of the undeformed shapes, as of fem_condensed.
  /// @throws RecoverableError when these overlap by more than the limit
  void measure_undeformed(const PairState& state, Solution& solution) const;
  /// Positions in `others` that the forces of the solution push into B, by more than rounding.
  [[nodiscard]] std::vector<std::size_t> penetrating(const std::vector<NearPoint>& others, const Vibration& vibration,
                                                     const Solution& solution) const;
  /// Contact of these candidates alone.
  void solve_contact_of(const std::vector<NearPoint>& chosen, const std::vector<Vector3>& points, const PairState& state,
                   const Vibration& vibration, bool tangents, Solution& solution) const;
  /// Compliance among some candidates over the time since the commit.
  [[nodiscard]] SurfaceCompliance compliance_of(const std::vector<std::uint32_t>& candidates,
                                                const Eigen::VectorXd& modal_compliance) const;
  /// [(rad/s)^-2] what modes yield to over the time since the commit beyond what they yield to at rest.
  [[nodiscard]] Eigen::VectorXd differentiate_modal_compliance(const Eigen::VectorXd& modal_compliance) const;
  /// [N/sqrt(kg)] of the touching nodes on each mode.
  [[nodiscard]] Eigen::VectorXd modal_force(const Solution& solution) const;
  void finish_modes(const ModalHistory& history, const Vibration& vibration, Solution& solution) const;
  [[nodiscard]] Response make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                 const PairState& state) const;

  std::string name_;
  ModalModel model_;
};

}  // namespace heelstrike::fem
