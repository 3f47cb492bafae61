/// Contact of a linear elastic body, condensed to its candidate surface nodes, with a rigid partner, a second condensed
/// body or a cloud of points.
///
/// Forces act at the deformed positions and the wrench is their sum about A's origin: the opposite wrench on B is in
/// exact equilibrium with it. What differs between the partners is a ContactPairing. Method:
/// docs/theory/contact_fem.md.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/friction/local_problem.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"

namespace heelstrike::fem {

class BodyFields;

/// A condensed body with its partner. For a cloud, the roles are swapped: the candidates are its points.
struct CondensedModel : PairingModel {
  std::shared_ptr<const BodyFields> fields{};          ///< for field output; null = none
  std::shared_ptr<const BodyFields> partner_fields{};  ///< of a deformable partner; null = its shape only
};

class CondensedContact final : public ContactBackend, public BatchEvaluation {
 public:
  /// @param name        of the back-end, written to saved histories
  /// @param parameters  in force
  CondensedContact(std::string name, CondensedModel model, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  /// Without `keep_warm_start` the history has no candidate cache: frames of a recording are too far apart to use it,
  /// and the cached blocks of the compliance would fill the memory when many states are committed at once.
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  /// Frictionless contacts with a rigid partner share reads of the compliance: four consecutive poses need about a
  /// third of the memory traffic.
  [[nodiscard]] const BatchEvaluation* batches() const override;
  /// @pre batches() is not null
  [[nodiscard]] std::vector<BatchEntry> evaluate_all(const History& history,
                                                     std::span<const PairState> states) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  /// Deformable bodies with all quantities; a cloud as points.
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

  /// The frictional contact at a state as a problem for other solvers, for the committed history: displacements [m] by
  /// forces [N] at the points near the partner. @throws Error{unimplemented} without friction
  [[nodiscard]] friction::LocalProblem local_problem(const History& history, const PairState& state) const;

  /// Pressure [Pa] and displacement [m] of all candidates, for tests.
  struct SurfaceState {
    std::vector<double> pressure;
    std::vector<Vector3> displacement;
  };
  [[nodiscard]] SurfaceState surface_state(const History& history, const PairState& state) const;
  [[nodiscard]] const PairingModel& model() const { return pairing_->model(); }

 private:
  /// @param state  in the roles of the solved contact
  [[nodiscard]] PairedContact solve(const CommittedContact& committed, const PairState& state,
                                    const EvaluateOptions& options = {}) const;
  /// One solution on the current contact points.
  void solve_points(const CommittedContact& committed, const PairState& state, const EvaluateOptions& options,
                    PairedContact& contact) const;
  /// The deformed body of the candidates, or its deformable partner. @param state  as solve
  [[nodiscard]] std::string write_body(const BodyFields& fields, bool is_partner, const History& history,
                                       const PairState& state, const FieldRequest& request) const;

  std::string name_;
  std::unique_ptr<const ContactPairing> pairing_;
  std::shared_ptr<const BodyFields> fields_;
  std::shared_ptr<const BodyFields> partner_fields_;
};

}  // namespace heelstrike::fem
