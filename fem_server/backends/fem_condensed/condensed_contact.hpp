/// Contact of a linear elastic body, condensed to its candidate surface nodes, with a rigid partner or a second
/// condensed body.
///
/// Forces act at the deformed positions and the wrench is their sum about A's origin: the opposite wrench on B is in
/// exact equilibrium with it. Method: docs/theory/contact_fem.md.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/friction/local_problem.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backends/fem_condensed/condensed_history.hpp"
#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/contact_solver/detection/candidate_cache.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"
#include "fem_server/contact_solver/stick_point.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

class BodyFields;
class BodyInterface;
class CommittedFriction;
struct FrictionProblem;
struct Interface;
struct InterfaceContact;
class DeformablePartner;

/// A condensed body with its partner.
struct CondensedModel {
  std::vector<Vector3> points;  ///< [m] candidate nodes in A
  std::vector<double> areas;    ///< [m^2] area of each
  PressureRecovery pressure{};  ///< for these candidates; empty = forces by areas
  std::vector<ContactRegion> regions{};
  SurfaceCompliance compliance{};  ///< of the body of the candidates; empty for compliant points
  double point_compliance = 0.0;   ///< [m/N] compliance of each of these points, equal in all directions
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  bool deformed_gap = false;                   ///< the gap to a rigid triangle mesh is evaluated at the deformed nodes
  std::shared_ptr<const BodyFields> fields{};  ///< for field output; null = none
  std::shared_ptr<const DeformablePartner> deformable{};  ///< null = the partner is rigid
  /// Between the surfaces of this body and of a deformable partner; null = node-to-surface contact.
  std::shared_ptr<const BodyInterface> interface {};
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
  [[nodiscard]] const BatchEvaluation* batches() const override {
    return model_.options.friction > 0.0 || model_.deformable ? nullptr : this;
  }
  /// @pre batches() is not null
  [[nodiscard]] std::vector<BatchEntry> evaluate_all(const History& history,
                                                     std::span<const PairState> states) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;

  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

  /// The frictional contact at a state as a problem for other solvers, for the committed history: displacements [m] by
  /// forces [N] at the points near the partner. @throws Error{unimplemented} without friction
  [[nodiscard]] friction::LocalProblem local_problem(const History& history, const PairState& state) const;

  /// The deformable partner with its quantities. @param request  its part only defines the labels of cells
  /// @pre model().partner_fields is set
  [[nodiscard]] std::string write_deformed_partner(const History& history, const PairState& state,
                                                   const FieldRequest& request) const;

  /// Pressure [Pa] and displacement [m] of all candidates, for fields and tests.
  struct SurfaceState {
    std::vector<double> pressure;
    std::vector<Vector3> displacement;
  };
  [[nodiscard]] SurfaceState surface_state(const History& history, const PairState& state) const;
  [[nodiscard]] const CondensedModel& model() const { return model_; }

 private:
  struct Solution;
  /// Per candidate of one body, in A; zero without contact.
  struct NodeForces {
    std::vector<Vector3> elastic;  ///< [N]
    std::vector<Vector3> drawn;    ///< [N] including hysteresis
    std::vector<Vector3> normals;  ///< [-] out of the partner; they define the pressure part of the forces
  };
  enum class Side { main, partner };
  [[nodiscard]] NodeForces node_forces(const History& history, const PairState& state, Side side) const;
  /// Values of the active nodes, distributed to the candidates of one body.
  [[nodiscard]] std::vector<Vector3> on_candidates(const Solution& solution, std::span<const Vector3> forces,
                                                   Side side) const;
  /// Near nodes and depth; nothing else without contact.
  [[nodiscard]] Solution begin(const CondensedHistory& history, const PairState& state) const;
  [[nodiscard]] Solution solve(const CondensedHistory& history, const PairState& state,
                               const EvaluateOptions& options = {}) const;
  /// Gaps [m] of the candidates that may be near, exact if <= 0, otherwise lower bounds.
  struct Gaps {
    std::vector<std::uint32_t> candidates;  ///< ascending
    std::vector<double> values;
    double smallest = 0.0;      ///< exact
    std::uint32_t deepest = 0;  ///< candidate with this gap
  };
  /// Of those in the candidate cache of the committed state, or of all if the cache is insufficient.
  [[nodiscard]] Gaps find_gaps(const CandidateCache* candidate_cache, const Pose& X_AB) const;
  void find_near(const CondensedHistory& history, const PairState& state, const Gaps& gaps, Solution& solution) const;
  /// As begin, with the triangles of both bodies instead of the nodes of one. @param solution  with the gap of the
  /// nodes
  void begin_between_bodies(const CondensedHistory& history, const PairState& state, Solution& solution) const;
  /// Initial shift of B: the triangles are matched at the deformed positions, which differ by this shift. A sticking
  /// node determines it before any solution.
  [[nodiscard]] Vector3 stick_shift(const CondensedHistory& history, const PairState& state,
                                    const Solution& solution) const;
  /// Sets the near nodes from the interface at a shift; discards the solution.
  void set_interface(const CondensedHistory& history, const PairState& state, const Vector3& shift,
                     Solution& solution) const;
  /// Repeats the matching with the surfaces shifted by the slip of the solution, until the shift converges.
  /// @throws RecoverableError  no convergence
  void repeat_matching(const CondensedHistory& history, const PairState& state, const EvaluateOptions& options,
                       Solution& solution) const;
  /// Repeats the solution with the gaps of the deformed nodes to a curved partner, until they converge.
  /// @throws RecoverableError  no convergence
  void repeat_projection(const CondensedHistory& history, const PairState& state, const EvaluateOptions& options,
                         Solution& solution) const;
  /// Gap and normal of the near nodes at their deformed positions.
  /// @param keep_normals  only the gaps
  /// @return maximum gap [m] of active nodes, and penetration of others, neglected by the solution
  [[nodiscard]] double compute_deformed_gaps(const PairState& state, bool keep_normals, Solution& solution) const;
  void set_contact_points(const CondensedHistory& history, const Interface& interface, Solution& solution) const;
  /// @param committed  null = the node was far from the partner
  void add_near(std::uint32_t candidate, const CommittedNode* committed, const SurfacePoint& surface, const Vector3& x,
                double area, Solution& solution) const;
  /// Adds the compliance of a deformable partner to that of the near nodes.
  void add_partner(const PairState& state, Solution& solution) const;
  [[nodiscard]] StickPoint stick_point_of_near(const CondensedHistory& history, const PairState& state,
                                               const Solution& solution, std::uint32_t near) const;
  void find_cached_blocks(const CondensedHistory& history, Solution& solution) const;
  /// Blocks of the compliance among candidates, in separate memory.
  [[nodiscard]] SurfaceCompliance own_blocks(std::span<const std::uint32_t> candidates) const;
  /// Of a committed state, to be stored with it; null if gaps are no distances.
  [[nodiscard]] std::shared_ptr<const CandidateCache> candidate_cache_of(const CondensedHistory& history) const;
  /// Compliance of the near nodes: that of the body, or of both bodies.
  [[nodiscard]] const SurfaceCompliance& contact_compliance(const Solution& solution) const;
  /// Displacements of a deformable partner and, where the solution has derivatives, theirs.
  void displace_partner(const PairState& state, Solution& solution) const;
  void take(const NormalContact& contact, Solution& solution) const;
  void solve_frictionless(const PairState& state, const EvaluateOptions& options, Solution& solution) const;
  /// Refers to the arguments.
  [[nodiscard]] FrictionProblem friction_problem(const CondensedHistory& history, const PairState& state,
                                                 const Solution& solution) const;
  void solve_with_friction(const CondensedHistory& history, const PairState& state, const EvaluateOptions& options,
                           Solution& solution) const;
  /// Start of the friction solver near a committed state; null if there is none.
  [[nodiscard]] std::shared_ptr<const CommittedFriction> committed_friction(const CondensedHistory& history,
                                                                            const Solution& solution) const;
  /// Traction of a candidate at the commit, relative to the current normal.
  [[nodiscard]] SlipStep slip_before(const CondensedHistory& history, const PairState& state, std::uint32_t candidate,
                                     const Vector3& normal) const;
  void add_node(std::uint32_t near, double lambda, const Vector3& traction, Solution& solution) const;
  /// Displacements [m] of all near nodes: those of the solver, and the others from the forces.
  [[nodiscard]] std::vector<Vector3> near_displacements(const Solution& solution, const NodeFields<1>& forces) const;
  [[nodiscard]] std::vector<CommittedNode> make_committed_nodes(const Solution& solution, const PairState& state) const;
  /// Refers to the solution.
  [[nodiscard]] InterfaceContact interface_contact(const Solution& solution) const;
  [[nodiscard]] Response make_response(const Solution& solution, const CondensedHistory& history,
                                       const PairState& state) const;

  std::string name_;
  CondensedModel model_;
  CandidateBall ball_;
};

}  // namespace heelstrike::fem
