/// The rigid contacts of a model: the points that the partner tells, with the inertia of the bodies, joints and drivers
/// in place.
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

  /// Learns which pairs are rigid. @param pairs  as opened
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
  void begin_step(double t, double nominal) override;
  void note_impact(const friction::ImpactSolution& impact, const ConstRef& before, bool at_rest) override;
  void note_unfinished_impacts(std::span<const std::size_t> points, int impacts, double approach) override;
  void reset_contact() override;
  void note_contact(const friction::ImpactSolution& contact) override;
  void end_step(double t) override;

  /// Impacts in turn that were not followed to their end in the last step.
  struct UnfinishedImpacts {
    double t = 0.0;                    ///< [s]
    int impacts = 0;                   ///< that were followed
    double approach = 0.0;             ///< [m/s] of the fastest point that was left
    std::vector<std::size_t> pairs{};  ///< of the points that were left, in order, each once
  };
  [[nodiscard]] const std::optional<UnfinishedImpacts>& unfinished_impacts() const { return unfinished_impacts_; }

  /// Problems with friction that no solution was found of.
  struct UnsolvedImpacts {
    std::int64_t count = 0;            ///< since the run began or went on
    double t = 0.0;                    ///< [s] of the first one
    std::vector<std::size_t> pairs{};  ///< that took part in it
  };
  [[nodiscard]] const UnsolvedImpacts& unsolved_impacts() const { return unsolved_impacts_; }

  /// [N s] that the impact at the beginning of the last step exchanged; none where bodies have contact forces alone.
  [[nodiscard]] std::optional<double> impact_impulse(std::size_t pair) const;

  /// [m] What a gap of rigid bodies in contact may be: far above rounding, far below what is measured.
  [[nodiscard]] static double contact_tolerance(const ConstVector& q);

  /// Whether a rigid pair with this gap [m] touches where the last step ended: a body that rolls is held by its force
  /// to the error of a step, which may be above the rounding of gaps.
  [[nodiscard]] bool touches(std::size_t pair, double gap, const ConstVector& q) const;

  /// Generalised forces that act in the mean over the last step, without the impact that began it: on the points of the
  /// bodies that touched in its middle.
  [[nodiscard]] VectorX mean_force() const;

  /// The responses with the mean force over the last step of rigid pairs, without the impact that began it.
  /// @param q  coordinates where they are told
  [[nodiscard]] std::span<const Response> mean_responses(std::span<const Response> responses, const ConstVector& q);
  /// The same for who follows episodes: the gap rate of a pair that has left an impact is the one it left with.
  [[nodiscard]] std::span<const Response> episode_responses(std::span<const Response> responses, const ConstVector& q);

 private:
  struct Point {
    Vector3 p_W = Vector3::Zero();
    /// Where the normal velocity of A and of B is taken: the centres of curvature, which lie on the normal too.
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
    double approach = 0.0;              ///< [m/s] of the point that came fastest to an impact
    double departure = 0.0;             ///< [m/s] at which it left
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
  /// Per pair: of the impact that began the step; of the approach that the step before has left; of the step.
  std::vector<Sum> impact_, remaining_, smooth_;
  VectorX smooth_force_, remaining_force_;  ///< the same as generalised forces
  /// Whether the impact, or contact over the step, lacks a solution, and of which pairs.
  std::optional<std::vector<std::size_t>> unsolved_impact_pairs_, unsolved_contact_pairs_;
  UnsolvedImpacts unsolved_impacts_;
  std::vector<Response> mean_responses_;
  std::optional<UnfinishedImpacts> unfinished_impacts_;
};

}  // namespace heelstrike::mbs
