/// Pairing of a linear elastic surface with its partner: detection of the points that may be in contact, their gaps and
/// normals, and their compliance, including that of the partner.
///
/// One interface, three implementations:
///
/// - node to surface (node_to_surface.cpp): the nodes of the body, and a rigid partner;
/// - mortar (mortar.cpp): the functions of a BodyInterface between two deformable bodies;
/// - cloud (cloud.cpp): compliant points that penetrate a deformable body.
///
/// The solvers of solve_contact.hpp see a PairedContact only. Member functions are called once per evaluation or pass,
/// never per point. Method: docs/theory/contact_fem.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"
#include "fem_server/contact_solver/detection/active_candidates.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "fem_server/contact_solver/stick_point.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

class CommittedFriction;

/// A candidate near the partner at the last commit.
struct CommittedNode {
  std::uint32_t node = 0;              ///< candidate number
  Vector3 force = Vector3::Zero();     ///< [N] on A, in A, at the commit; initial guess of the next solution
  Vector3 u = Vector3::Zero();         ///< [m] displacement at the commit
  Vector3 p_BStick = Vector3::Zero();  ///< [m] potential stick point of the node on B; slip is measured from here

  [[nodiscard]] bool loaded() const { return !force.isZero(0.0); }

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.node, self.force, self.u, self.p_BStick);
  }
};

/// The contact at the last commit.
struct CommittedContact {
  std::optional<Pose> X_AB;          ///< committed pose, from which later contacts start; none = no commit yet
  std::vector<CommittedNode> nodes;  ///< ascending
  std::shared_ptr<const CandidateCache> candidate_cache;  ///< derived from the above, never saved; null = none

  /// Null if the candidate was far from the partner.
  [[nodiscard]] const CommittedNode* find(std::uint32_t candidate) const;
};

/// Contact points of one evaluation, and the solution on them. A point is a node of the body, or a function of an
/// interface that is a weighted mean of nodes.
struct PairedContact : ContactSolution {
  /// Of the points near the partner: gaps, normals and start of the solution. `near.nodes` are their numbers in
  /// compliance().
  ActiveCandidates near;
  std::vector<SurfacePoint> surface;           ///< of these points, in A
  std::vector<Vector3> points;                 ///< [m] their undeformed positions, in A
  std::vector<double> areas;                   ///< [m^2]
  std::vector<std::uint32_t> near_candidates;  ///< their candidate numbers
  /// Compliance of the body, when the points are its nodes and the partner is rigid; null = `own_compliance`.
  const SurfaceCompliance* body_compliance = nullptr;
  SurfaceCompliance own_compliance;  ///< of these points alone, that of the partner included
  SurfaceCompliance partner_share;   ///< part of it due to a deformable partner; empty for a rigid one
  PartnerPoints on_partner;          ///< motion of these points as weights of contact nodes of a deformable partner
  WeightedNodes on_main;             ///< the same on the body; unused where the points are its nodes
  std::vector<double> node_gaps;     ///< [m] of all candidates, for an interface
  InterfaceTopology topology;        ///< of an interface
  Vector3 shift = Vector3::Zero();   ///< [m] at which the surfaces were matched, see BodyInterface
  std::vector<std::uint32_t> contact_positions;          ///< positions of the active points among the near ones
  std::vector<std::optional<Vector3>> stick_point_in_A;  ///< [m] of each active point; none = it slides
  std::vector<NodeMotion> found;  ///< displacements of near points, as far as the solver has computed them
  double penalty_energy = 0.0;    ///< [J]

  [[nodiscard]] bool touches() const { return gap <= 0.0; }
  [[nodiscard]] const SurfaceCompliance& compliance() const {
    return body_compliance != nullptr ? *body_compliance : own_compliance;
  }
  [[nodiscard]] bool has_deformable_partner() const { return partner_share.n_nodes() > 0; }
  /// Undeformed point.
  [[nodiscard]] ContactNodeState point_state(std::uint32_t near_point) const;
  /// @param committed  null = the point was far from the partner
  void add_point(std::uint32_t candidate, const CommittedNode* committed, const SurfacePoint& point_of_B,
                 const Vector3& x, double area);
  /// Compliance of these points alone: their numbers in it are their positions, and their displacements at the commit
  /// give no bounds, because they were due to another compliance.
  void use_own_compliance(SurfaceCompliance compliance);
  /// Removes all results of a solver except its iterations, which are summed over repeated solutions.
  void discard_solution();
  /// Removes the points, too.
  void discard_points();
};

/// The two surfaces.
struct PairingModel {
  std::vector<Vector3> points;  ///< [m] candidates: nodes of the body, or points of the cloud, in A
  std::vector<double> areas;    ///< [m^2] area of each
  PressureRecovery pressure{};  ///< for these candidates; empty = forces by areas
  std::vector<ContactRegion> regions{};
  SurfaceCompliance compliance{};  ///< of the body of the candidates; empty for compliant points
  double point_compliance = 0.0;   ///< [m/N] compliance of each of these points, equal in all directions
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  bool deformed_gap = false;  ///< the gap to a rigid triangle mesh is evaluated at the deformed nodes
  std::shared_ptr<const DeformablePartner> deformable{};  ///< null = the partner is rigid
  /// Between the surfaces of this body and of a deformable partner; null = points against the partner's surface.
  std::shared_ptr<const BodyInterface> interface {};
  PressureRecovery partner_pressure{};  ///< for the contact nodes of the partner, with an interface
};

/// Derivatives of active points with respect to the pose, at fixed forces and with the displacements of all nodes that
/// these forces cause: what moves beside a plane of B at a fixed mean of nodes of both bodies.
struct PointMotion {
  std::vector<Eigen::Matrix<double, 1, 6>> gap;  ///< at fixed displacements relative to B
  std::vector<Matrix36> normal;                  ///< in addition to normal_rotation()
  std::vector<Matrix36> x;                       ///< undeformed point
  std::vector<Matrix36> u;                       ///< displacement relative to B
  std::vector<Matrix36> u_B;                     ///< displacement of B
};

/// Thread-safe.
class ContactPairing {
 public:
  explicit ContactPairing(PairingModel model);
  virtual ~ContactPairing() = default;
  ContactPairing(const ContactPairing&) = delete;
  ContactPairing& operator=(const ContactPairing&) = delete;

  [[nodiscard]] const PairingModel& model() const { return model_; }
  /// True if A and B of the solved contact are B and A of the pair.
  [[nodiscard]] virtual bool swaps_roles() const { return false; }
  /// State in the roles of the solved contact; all other functions but response() take this one.
  [[nodiscard]] virtual PairState solved_state(const PairState& state) const { return state; }

  /// Gaps of the undeformed shapes: smallest gap, closest point, points that may be in contact, and their compliance.
  /// @throws RecoverableError  deeper than the limit
  virtual void detect(const CommittedContact& committed, const PairState& state, PairedContact& contact) const = 0;
  /// Adapts the points to the deformation found by a solver.
  /// @param pass  number of previous calls of this evaluation
  /// @return true if they have changed: then the contact has to be solved again
  /// @throws RecoverableError  no convergence
  [[nodiscard]] virtual bool follow(const CommittedContact& committed, const PairState& state, int pass,
                                    PairedContact& contact) const;
  /// Displacements of a deformable partner and, where the solution has derivatives, theirs.
  /// @throws Error{invalid_input}  contact at a point of the partner with an unknown displacement
  virtual void displace_partner(const PairState& state, PairedContact& contact) const;

  /// Of the active points of a frictionless solution; none = they do not move in this way.
  [[nodiscard]] virtual std::optional<PointMotion> point_motion(const PairState& state,
                                                                const PairedContact& contact) const;

  /// Stick points of near points by position. Refers to the arguments.
  [[nodiscard]] virtual std::function<StickPoint(std::uint32_t)> stick_points(const CommittedContact& committed,
                                                                              const PairState& state,
                                                                              const PairedContact& contact) const;
  /// Start of the friction solver near a committed state; null if there is none.
  [[nodiscard]] virtual std::shared_ptr<const CommittedFriction> committed_friction(const CommittedContact& committed,
                                                                                    const PairedContact& contact) const;
  /// To be stored with a committed state; null = none: an interface needs the gaps of all nodes.
  [[nodiscard]] virtual std::shared_ptr<const CandidateCache> make_candidate_cache(
      const CommittedContact& committed) const;

  /// Response of the pair. @param state  of the pair, in its roles
  [[nodiscard]] virtual Response response(const PairedContact& contact, const std::optional<double>& approach_velocity,
                                          const PairState& state) const;
  /// Values of the active points, distributed to the candidates.
  [[nodiscard]] virtual std::vector<Vector3> on_candidates(const PairedContact& contact,
                                                           std::span<const Vector3> values) const;
  /// The same on the contact nodes of a deformable partner, in A. @pre model().deformable is set
  [[nodiscard]] std::vector<Vector3> on_partner(const PairedContact& contact, std::span<const Vector3> values) const;
  /// [Pa] at all candidates. @param normal_forces  [N] of the active points
  [[nodiscard]] std::vector<double> pressure(const PairedContact& contact, const PairState& state,
                                             std::span<const double> normal_forces) const;
  /// Pressures at the candidates that depend on both bodies; none = they follow from the forces on the candidates.
  /// @param forces  [N] one row per active point; the first column is the normal force
  [[nodiscard]] virtual std::optional<NodalPressure> pressure_of_both(const PairedContact& contact,
                                                                      const PairState& state,
                                                                      const Eigen::MatrixXd& forces) const;
  /// [m] of all candidates. @param forces  [N] on all candidates
  [[nodiscard]] virtual std::vector<Vector3> displacements(std::span<const Vector3> forces) const;

 protected:
  /// Gaps [m] of the candidates that may be near, exact if <= 0, otherwise lower bounds.
  struct Gaps {
    std::vector<std::uint32_t> candidates;  ///< ascending
    std::vector<double> values;
    double smallest = 0.0;      ///< exact
    std::uint32_t deepest = 0;  ///< candidate with this gap
  };
  /// Of those in the candidate cache of the committed state, or of all if the cache is insufficient.
  [[nodiscard]] Gaps find_gaps(const CandidateCache* candidate_cache, const Pose& X_AB) const;
  /// Smallest gap and closest candidate.
  [[nodiscard]] Gaps begin(const CommittedContact& committed, const PairState& state, PairedContact& contact) const;
  /// Candidates whose gap is at most the depth, and those with a committed force.
  void find_near(const CommittedContact& committed, const PairState& state, const Gaps& gaps,
                 PairedContact& contact) const;
  /// Candidates near the committed state, without blocks of the compliance.
  [[nodiscard]] std::shared_ptr<CandidateCache> find_cached_candidates(const CommittedContact& committed) const;
  [[nodiscard]] static StickPointHistory stick_point_history(const CommittedContact& committed,
                                                             std::uint32_t candidate);
  /// Adds the compliance of a deformable partner to that of the near points. @pre on_partner is set
  void add_partner(const SurfaceCompliance& own, const PairState& state, PairedContact& contact) const;

  PairingModel model_;
  CandidateBall ball_;
};

[[nodiscard]] std::unique_ptr<ContactPairing> node_to_surface_pairing(PairingModel model);
[[nodiscard]] std::unique_ptr<ContactPairing> mortar_pairing(PairingModel model);
[[nodiscard]] std::unique_ptr<ContactPairing> cloud_pairing(PairingModel model);

/// The one of these that the model describes.
[[nodiscard]] std::unique_ptr<ContactPairing> make_pairing(PairingModel model);

}  // namespace heelstrike::fem
