/// The rigid contacts of a model: contact points of the partner, with the inertia of the bodies constrained by joints
/// and drivers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/contact/contact.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/integrators/rigid_contacts.hpp"

namespace heelstrike::mbs {

class RigidContactSet final : public RigidContacts {
 public:
  /// @param system, exchange  outlive this object
  RigidContactSet(System& system, ContactExchange& exchange);

  /// Sets the rigid pairs. @param pairs  descriptions of the opened pairs
  void connect(std::span<const PairDescription> pairs);
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool rigid(std::size_t pair) const { return pair < laws_.size() && laws_[pair].has_value(); }

  std::span<const RigidPoint> evaluate_points(double t, const ConstRef& q, const ConstRef& qd) override;
  [[nodiscard]] double rounding() const override { return rounding_; }
  [[nodiscard]] double restitution_threshold(const RigidPoint& point) const override {
    return laws_[point.pair]->restitution_threshold;
  }
  [[nodiscard]] bool is_sequential(const RigidPoint& point) const override {
    return laws_[point.pair]->law == ImpactLaw::sequential;
  }
  const friction::ImpactProblem& select_points(std::span<const std::size_t> points) override;
  [[nodiscard]] Vector velocities(const ConstRef& qd) const override { return J_ * qd; }
  void apply(const ConstRef& impulses, MutableRef qd) const override { qd += X_ * impulses; }
  [[nodiscard]] double driver_work(const ConstRef& impulses, const ConstRef& qd) const override;
  void begin_step(double t, double nominal) override;
  void note_impact(const friction::ImpactSolution& impact, const ConstRef& before, bool at_rest) override;
  void note_unfinished_impacts(std::span<const std::size_t> points, int impacts, double approach) override;
  void reset_contact() override;
  void note_contact(const friction::ImpactSolution& contact) override;
  void end_step(double t) override;

  /// Sequential impacts that were terminated before their end in the last step.
  struct UnfinishedImpacts {
    double t = 0.0;                    ///< [s]
    int impacts = 0;                   ///< resolved impacts
    double approach = 0.0;             ///< [m/s] of the fastest remaining point
    std::vector<std::size_t> pairs{};  ///< of the remaining points, sorted and unique
  };
  [[nodiscard]] const std::optional<UnfinishedImpacts>& unfinished_impacts() const { return unfinished_impacts_; }

  /// Problems with friction without a solution.
  struct UnsolvedImpacts {
    std::int64_t count = 0;            ///< since the start or resumption of the run
    double t = 0.0;                    ///< [s] of the first one
    std::vector<std::size_t> pairs{};  ///< involved pairs
  };
  [[nodiscard]] const UnsolvedImpacts& unsolved_impacts() const { return unsolved_impacts_; }

  /// [N s] impulse of the impact at the start of the last step; none without impact.
  [[nodiscard]] std::optional<double> impact_impulse(std::size_t pair) const;

  /// [m] Gap tolerance of rigid bodies in contact: far above rounding, far below measurable lengths.
  [[nodiscard]] static double contact_tolerance(const ConstVector& q);

  /// True if a rigid pair with this gap [m] is in contact at the end of the last step: the gap of a rolling body is
  /// zero only to the error of a step, which may exceed the rounding of gaps.
  [[nodiscard]] bool touches(std::size_t pair, double gap, const ConstVector& q) const;

  /// Mean generalised forces over the last step, without the impact at its start, at the contact points of its
  /// midpoint.
  [[nodiscard]] VectorX mean_force() const;

  /// The responses with the mean force of rigid pairs over the last step, without the impact at its start.
  /// @param q  coordinates of the responses
  [[nodiscard]] std::span<const Response> mean_responses(std::span<const Response> responses, const ConstVector& q);
  /// As mean_responses() for episodes: the gap rate after an impact is its separation velocity.
  [[nodiscard]] std::span<const Response> episode_responses(std::span<const Response> responses, const ConstVector& q);

 private:
  struct Point {
    Vector3 p_W = Vector3::Zero();
    /// Reference points of the normal velocities of A and B: the centres of curvature, which lie on the normal.
    std::array<Vector3, 2> centres_W{Vector3::Zero(), Vector3::Zero()};
    Matrix3 axes = Matrix3::Identity();  ///< columns: normal and two tangents in the world
    std::array<bool, 2> curved{};        ///< the surface of A and of B
  };
  /// Of one pair over a step, on B in the world.
  struct Sum {
    Vector3 impulse = Vector3::Zero();  ///< [N s]
    Vector3 moment = Vector3::Zero();   ///< [N m s] about the world's origin
    Vector3 place = Vector3::Zero();    ///< [N m s] points times normal impulses
    double normal = 0.0;                ///< [N s]
    double approach = 0.0;              ///< [m/s] maximum approach velocity of an impact
    double departure = 0.0;             ///< [m/s] separation velocity of that point
  };
  void add(const ConstRef& impulses, std::vector<Sum>& sums) const;
  [[nodiscard]] std::vector<std::size_t> pairs_of(std::span<const std::size_t> points) const;
  void add_rows(std::size_t row, const RigidPoint& point, const Point& geometry);

  System& system_;
  ContactExchange& exchange_;
  std::vector<std::optional<RigidLaw>> laws_;  ///< per pair
  bool any_ = false;
  double rounding_ = 0.0;
  double t_ = 0.0;
  VectorX q_;
  std::vector<RigidPoint> points_;
  std::vector<Point> geometry_;
  std::vector<std::size_t> chosen_;
  Eigen::MatrixXd J_, X_;
  friction::ImpactProblem problem_;
  double step_from_ = 0.0, step_ = 0.0, nominal_step_ = 0.0;  ///< [s]
  /// Per pair: of the impact at the start of the step; of the remaining approach of the preceding step; of the step.
  std::vector<Sum> impact_, remaining_, smooth_;
  VectorX smooth_force_, remaining_force_;  ///< the same as generalised forces
  /// Pairs without a solution of the impact, or of contact over the step; none = solved.
  std::optional<std::vector<std::size_t>> unsolved_impact_pairs_, unsolved_contact_pairs_;
  UnsolvedImpacts unsolved_impacts_;
  std::vector<Response> mean_responses_;
  std::optional<UnfinishedImpacts> unfinished_impacts_;
};

}  // namespace heelstrike::mbs
