#include "mbs_server/simulation/rigid_contact_set.hpp"

#include <algorithm>

namespace heelstrike::mbs {

namespace {

/// [m] from a surface to its centre of curvature; none of flat ones.
double radius_of_curvature(double curvature) {
  return curvature != 0.0 ? 1.0 / curvature : 0.0;
}

}  // namespace

RigidContactSet::RigidContactSet(System& system, ContactExchange& exchange) : system_(system), exchange_(exchange) {}

void RigidContactSet::connect(std::span<const PairDescription> pairs) {
  laws_.clear();
  for (const PairDescription& pair : pairs) laws_.push_back(rigid_law(pair.parameters));
  any_ = std::ranges::any_of(laws_, [](const auto& law) { return law.has_value(); });
  impact_.assign(laws_.size(), {});
  remaining_.assign(laws_.size(), {});
  smooth_.assign(laws_.size(), {});
}

double RigidContactSet::contact_tolerance(const ConstVector& q) {
  // Axes of bodies are unit vectors, independent of the positions.
  return 1e-11 * (1.0 + q.lpNorm<Eigen::Infinity>());
}

std::span<const RigidPoint> RigidContactSet::evaluate_points(double t, const ConstRef& q, const ConstRef& qd) {
  const auto responses = exchange_.responses(t, q, qd);
  const PairKinematics& kinematics = exchange_.kinematics();
  points_.clear();
  geometry_.clear();
  for (std::size_t pair = 0; pair < responses.size(); ++pair) {
    if (!rigid(pair)) continue;
    const PairState& state = kinematics.states()[pair];
    const Pose& X_WA = kinematics.frames(pair).X_WA;
    for (const ContactPoint& point : responses[pair].points) {
      const Vector3 velocity = point_velocity(state.V_AB, point.p_AC - state.X_AB.p);
      const double rate = point.n_A.dot(velocity);
      const bool curved = point.curvature_A != 0.0 || point.curvature_B != 0.0;
      points_.push_back({.pair = pair,
                         .feature = point.feature,
                         .gap = point.gap,
                         .rate = rate,
                         .curved = curved,
                         .n_W = X_WA.R * point.n_A,
                         .slip_W = X_WA.R * (velocity - rate * point.n_A)});
      Point at{.p_W = X_WA * point.p_AC, .curved = {point.curvature_A != 0.0, point.curvature_B != 0.0}};
      at.axes.col(0) = points_.back().n_W;
      const double to_A = 0.5 * point.gap + radius_of_curvature(point.curvature_A),
                   to_B = 0.5 * point.gap + radius_of_curvature(point.curvature_B);
      at.centres_W = {at.p_W - to_A * at.axes.col(0), at.p_W + to_B * at.axes.col(0)};
      at.axes.col(1) = Vector3(at.axes.col(0)).unitOrthogonal();
      at.axes.col(2) = Vector3(at.axes.col(0)).cross(Vector3(at.axes.col(1)));
      points_.back().tangents_W = at.axes.rightCols<2>();
      geometry_.push_back(at);
    }
  }
  t_ = t;
  q_ = q;
  rounding_ = contact_tolerance(q);
  return points_;
}

/// The velocity of a point p = r + sum p_k v_k of a body is linear in the rates of r and of the axes v_k.
///
/// The material contact point of a rotating body moves on a circle: over a step of length h at a speed v its normal
/// velocity changes from -v^2 h / 2R to v^2 h / 2R, while a rolling ball has zero gap. The gap depends only on the
/// centre of curvature, whose normal velocity is that of the material point without the circular motion.
void RigidContactSet::add_rows(std::size_t row, const RigidPoint& point, const Point& geometry) {
  const ContactPair& pair = system_.model().pairs[point.pair];
  const auto first_row = static_cast<Eigen::Index>(row);
  const std::array<BodyIndex, 2> bodies{pair.main, pair.partner};
  for (std::size_t side = 0; side < 2; ++side) {
    if (bodies[side] == ground) continue;
    const double sign = side == 0 ? -1.0 : 1.0;
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(bodies[side]);
    const Pose X_WB = pose_from_coordinates(q_.segment<12>(first));
    const auto axes = X_WB.R.partialPivLu();
    const Vector3 c_B = axes.solve(geometry.centres_W[side] - X_WB.p);
    // A rolling ball has its contact point below its centre: within a step, where axes are longer than one, these
    // components satisfy v_k p_k = w x p to the last digit; those of a body-fixed point do not.
    const Vector3 p_B = geometry.curved[side] ? Vector3(X_WB.R.transpose() * (geometry.p_W - X_WB.p))
                                              : Vector3(axes.solve(geometry.p_W - X_WB.p));
    for (Eigen::Index k = 0; k < 4; ++k) {
      const double of_point = k == 0 ? 1.0 : p_B[k - 1], of_centre = k == 0 ? 1.0 : c_B[k - 1];
      J_.block<1, 3>(first_row, first + 3 * k) += sign * of_centre * geometry.axes.col(0).transpose();
      J_.block<2, 3>(first_row + 1, first + 3 * k) += sign * of_point * geometry.axes.rightCols<2>().transpose();
    }
  }
}

const friction::ImpactProblem& RigidContactSet::select_points(std::span<const std::size_t> points) {
  chosen_.assign(points.begin(), points.end());
  const auto m = static_cast<Eigen::Index>(points.size());
  J_.setZero(3 * m, q_.size());
  problem_.mu.resize(m);
  problem_.restitution.resize(m);
  problem_.law.resize(points.size());
  problem_.is_free = system_.model().drivers.empty();
  // Gaps in the middle of a step close at 2 gap / h.
  problem_.velocity_rounding = nominal_step_ > 0.0 ? 2.0 * rounding_ / nominal_step_ : 0.0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const RigidPoint& point = points_[points[k]];
    add_rows(3 * k, point, geometry_[points[k]]);
    const RigidLaw& law = *laws_[point.pair];
    problem_.mu[static_cast<Eigen::Index>(k)] = law.friction;
    problem_.restitution[static_cast<Eigen::Index>(k)] = law.restitution;
    problem_.law[k] = law.law;
  }
  X_ = J_.transpose();
  for (Eigen::Index column = 0; column < X_.cols(); ++column) system_.make_response(t_, q_, X_.col(column));
  problem_.W.noalias() = J_ * X_;
  problem_.W = (0.5 * (problem_.W + problem_.W.transpose())).eval();
  return problem_;
}

/// The impulses P of contact and those of the constraints cause the change of momentum, M X P = J^T P + r; r acts at
/// the rates qd, which only drivers make different from zero along it.
double RigidContactSet::driver_work(const ConstRef& impulses, const ConstRef& qd) const {
  if (system_.model().drivers.empty()) return 0.0;
  VectorX reaction(qd.size());
  system_.multiply_mass(X_ * impulses, reaction);
  reaction.noalias() -= J_.transpose() * impulses;
  return qd.dot(reaction);
}

void RigidContactSet::begin_step(double t, double nominal) {
  step_from_ = t;
  nominal_step_ = nominal;
  std::ranges::fill(impact_, Sum{});
  std::ranges::fill(remaining_, Sum{});
  remaining_force_.setZero(system_.n_q());
  unsolved_impact_pairs_.reset();
  unfinished_impacts_.reset();
  reset_contact();
}

/// Pairs of the points, sorted and unique.
std::vector<std::size_t> RigidContactSet::pairs_of(std::span<const std::size_t> points) const {
  std::vector<std::size_t> pairs;
  for (const std::size_t point : points) pairs.push_back(points_[point].pair);
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

void RigidContactSet::note_unfinished_impacts(std::span<const std::size_t> points, int impacts, double approach) {
  unfinished_impacts_.emplace(
      UnfinishedImpacts{.t = step_from_, .impacts = impacts, .approach = approach, .pairs = pairs_of(points)});
}

void RigidContactSet::reset_contact() {
  std::ranges::fill(smooth_, Sum{});
  smooth_force_.setZero(system_.n_q());
  unsolved_contact_pairs_.reset();
}

void RigidContactSet::add(const ConstRef& impulses, std::vector<Sum>& sums) const {
  for (std::size_t k = 0; k < chosen_.size(); ++k) {
    const Point& at = geometry_[chosen_[k]];
    const Vector3 own = impulses.segment<3>(3 * static_cast<Eigen::Index>(k));
    const Vector3 impulse = at.axes * own;
    Sum& sum = sums[points_[chosen_[k]].pair];
    sum.impulse += impulse;
    sum.moment += at.p_W.cross(impulse);
    sum.place += own.x() * at.p_W;
    sum.normal += own.x();
  }
}

void RigidContactSet::note_impact(const friction::ImpactSolution& impact, const ConstRef& before, bool at_rest) {
  add(impact.P, at_rest ? remaining_ : impact_);
  if (at_rest) remaining_force_ += J_.transpose() * impact.P;
  if (!impact.converged) unsolved_impact_pairs_ = pairs_of(chosen_);
  for (std::size_t k = 0; k < chosen_.size(); ++k) {
    const auto row = 3 * static_cast<Eigen::Index>(k);
    Sum& sum = impact_[points_[chosen_[k]].pair];
    if (-before[row] <= sum.approach) continue;
    sum.approach = -before[row];
    sum.departure = impact.u[row];
  }
}

void RigidContactSet::note_contact(const friction::ImpactSolution& contact) {
  reset_contact();
  add(contact.P, smooth_);
  smooth_force_ = J_.transpose() * contact.P;
  if (!contact.converged) unsolved_contact_pairs_ = pairs_of(chosen_);
}

void RigidContactSet::end_step(double t) {
  step_ = t - step_from_;
  for (const auto& pairs : {unsolved_impact_pairs_, unsolved_contact_pairs_}) {
    if (!pairs) continue;
    if (unsolved_impacts_.count++ == 0) unsolved_impacts_ = {.count = 1, .t = step_from_, .pairs = *pairs};
  }
}

bool RigidContactSet::touches(std::size_t pair, double gap, const ConstVector& q) const {
  constexpr double step_error_factor = 1e5;  // a micrometre in a model of a metre: rounding of scenario numbers
  const double rounding = contact_tolerance(q);
  const bool is_loaded = remaining_[pair].normal + smooth_[pair].normal > 0.0;
  return gap <= (is_loaded ? step_error_factor * rounding : rounding);
}

VectorX RigidContactSet::mean_force() const {
  if (!(step_ > 0.0)) return VectorX::Zero(system_.n_q());
  return remaining_force_ / std::max(step_, nominal_step_) + smooth_force_ / step_;
}

std::optional<double> RigidContactSet::impact_impulse(std::size_t pair) const {
  return rigid(pair) ? std::optional(impact_[pair].impulse.norm()) : std::nullopt;
}

std::span<const Response> RigidContactSet::mean_responses(std::span<const Response> responses, const ConstVector& q) {
  if (!any_) return responses;
  mean_responses_.assign(responses.begin(), responses.end());
  for (std::size_t pair = 0; pair < mean_responses_.size(); ++pair) {
    if (!rigid(pair) || !(step_ > 0.0)) continue;
    const Sum& a = remaining_[pair];
    const Sum& b = smooth_[pair];
    // The remaining approach of a step is proportional to its length, which an impact may shorten.
    const double from_left = 1.0 / std::max(step_, nominal_step_), from_smooth = 1.0 / step_;
    const double normal = from_left * a.normal + from_smooth * b.normal;
    if (!(normal > 0.0)) continue;
    const Pose X_WA = main_pose(system_.model().pairs[pair], q);
    const Vector3 force = -(from_left * a.impulse + from_smooth * b.impulse);
    const Vector3 moment = -(from_left * a.moment + from_smooth * b.moment);
    mean_responses_[pair].F_A = {.torque = X_WA.R.transpose() * (moment - X_WA.p.cross(force)),
                                 .force = X_WA.R.transpose() * force};
    mean_responses_[pair].p_ACop = X_WA.inverse() * Vector3((from_left * a.place + from_smooth * b.place) / normal);
  }
  return mean_responses_;
}

std::span<const Response> RigidContactSet::episode_responses(std::span<const Response> responses,
                                                             const ConstVector& q) {
  const auto committed_responses = mean_responses(responses, q);
  for (std::size_t pair = 0; any_ && pair < mean_responses_.size(); ++pair) {
    if (impact_[pair].departure > 0.0) mean_responses_[pair].gap_rate = impact_[pair].departure;
  }
  return committed_responses;
}

}  // namespace heelstrike::mbs
