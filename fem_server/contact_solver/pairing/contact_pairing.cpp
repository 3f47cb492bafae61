#include "fem_server/contact_solver/pairing/contact_pairing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"
#include "fem_server/contact_solver/solver/committed_friction.hpp"

namespace heelstrike::fem {

namespace {

/// Motion since the commit, over the size of the body, for which the candidate cache is valid.
constexpr double candidate_cache_motion = 0.01;

}  // namespace

const CommittedNode* CommittedContact::find(std::uint32_t candidate) const {
  const auto found = std::ranges::lower_bound(nodes, candidate, {}, &CommittedNode::node);
  return found != nodes.end() && found->node == candidate ? &*found : nullptr;
}

ContactNodeState PairedContact::point_state(std::uint32_t near_point) const {
  ContactNodeState node;
  node.x = points[near_point];
  node.surface = surface[near_point];
  return node;
}

void PairedContact::add_point(std::uint32_t candidate, const CommittedNode* committed, const SurfacePoint& point_of_B,
                              const Vector3& x, double area) {
  const bool loaded = committed != nullptr && committed->loaded();
  near.add(candidate, point_of_B.gap, point_of_B.normal, loaded ? committed->force : Vector3(Vector3::Zero()),
           committed != nullptr ? std::optional(committed->u) : std::nullopt);
  near_candidates.push_back(candidate);
  surface.push_back(point_of_B);
  points.push_back(x);
  areas.push_back(area);
}

void PairedContact::use_own_compliance(SurfaceCompliance compliance) {
  own_compliance = std::move(compliance);
  std::iota(near.nodes.begin(), near.nodes.end(), 0U);
  near.compliance_changed = true;
}

void PairedContact::discard_points() {
  discard_solution();
  near = {};
  surface.clear();
  points.clear();
  areas.clear();
  near_candidates.clear();
  own_compliance = {};
  partner_share = {};
  on_partner = {};
  on_main = {};
}

void PairedContact::discard_solution() {
  touching.clear();
  contact_positions.clear();
  nodes.clear();
  stick_point_in_A.clear();
  found.clear();
  derivatives = {};
  dissipated = 0.0;
  penalty_energy = 0.0;
}

ContactPairing::ContactPairing(PairingModel model) : model_(std::move(model)), ball_(ball_around(model_.points)) {
  const std::size_t n_compliance = model_.point_compliance > 0.0 ? model_.points.size() : model_.compliance.n_nodes();
  if (model_.points.size() != model_.areas.size() || model_.points.size() != n_compliance) {
    throw Error(ErrorCode::internal, "condensed contact: points, areas and compliance differ in size");
  }
}

ContactPairing::Gaps ContactPairing::find_gaps(const CandidateCache* candidate_cache, const Pose& X_AB) const {
  const Matrix3 R_BA = X_AB.R.transpose();
  const Vector3 p_BA = -(R_BA * X_AB.p);
  Gaps gaps;
  if (candidate_cache != nullptr && covers_contact_candidates(*candidate_cache, ball_, X_AB)) {
    gaps.candidates = candidate_cache->candidates;
  } else {
    gaps.candidates.resize(model_.points.size());
    std::iota(gaps.candidates.begin(), gaps.candidates.end(), 0U);
  }
  gaps.smallest = std::numeric_limits<double>::infinity();
  gaps.values.reserve(gaps.candidates.size());
  for (const std::uint32_t i : gaps.candidates) {
    const double gap = model_.partner->gap(R_BA * model_.points[i] + p_BA, 0.0);
    gaps.values.push_back(gap);
    if (gap >= gaps.smallest) continue;
    gaps.smallest = gap;
    gaps.deepest = i;
  }
  if (gaps.smallest <= 0.0) return gaps;
  // All outside: the values are lower bounds only.
  gaps.smallest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    if (gaps.values[k] >= gaps.smallest) continue;
    const std::uint32_t i = gaps.candidates[k];
    const double exact = model_.partner->closest(R_BA * model_.points[i] + p_BA).gap;
    if (exact >= gaps.smallest) continue;
    gaps.smallest = exact;
    gaps.deepest = i;
  }
  return gaps;
}

ContactPairing::Gaps ContactPairing::begin(const CommittedContact& committed, const PairState& state,
                                           PairedContact& contact) const {
  Gaps gaps = find_gaps(committed.candidate_cache.get(), state.X_AB);
  contact.gap = gaps.smallest;
  contact.closest.x = model_.points[gaps.deepest];
  contact.closest.surface = surface_in_A(*model_.partner, state.X_AB, model_.points[gaps.deepest]);
  return gaps;
}

void ContactPairing::find_near(const CommittedContact& committed, const PairState& state, const Gaps& gaps,
                               PairedContact& contact) const {
  const double depth = -contact.gap;
  auto before = committed.nodes.begin();
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    const std::uint32_t i = gaps.candidates[k];
    while (before != committed.nodes.end() && before->node < i) ++before;
    const bool known = before != committed.nodes.end() && before->node == i;
    const bool loaded = known && before->loaded();
    // The surface rises nowhere by more than the partner has pushed it down: farther nodes cannot touch.
    if (gaps.values[k] > depth && !loaded) continue;
    const SurfacePoint point = surface_in_A(*model_.partner, state.X_AB, model_.points[i]);
    if (point.gap > depth && !loaded) continue;
    contact.add_point(i, known ? &*before : nullptr, point, model_.points[i], model_.areas[i]);
    if (model_.options.penalty > 0.0) contact.near.penalty.push_back(model_.options.penalty * model_.areas[i]);
  }
}

std::shared_ptr<CandidateCache> ContactPairing::find_cached_candidates(const CommittedContact& committed) const {
  if (!committed.X_AB || !model_.partner->is_distance()) return nullptr;
  auto result = std::make_shared<CandidateCache>();
  result->X_AB = *committed.X_AB;
  const Gaps gaps = find_gaps(nullptr, *committed.X_AB);
  result->depth = std::abs(gaps.smallest);
  result->reach = result->depth + candidate_cache_motion * ball_.radius;
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    const CommittedNode* node = committed.find(gaps.candidates[k]);
    const bool loaded = node != nullptr && node->loaded();
    if (loaded || gaps.values[k] <= result->reach) result->candidates.push_back(gaps.candidates[k]);
  }
  return result;
}

StickPointHistory ContactPairing::stick_point_history(const CommittedContact& committed, std::uint32_t candidate) {
  const CommittedNode* node = committed.find(candidate);
  StickPointHistory history;
  history.X_AB = committed.X_AB;
  if (node != nullptr) history.p_BStick = node->p_BStick;
  history.touched = node != nullptr && node->loaded();
  return history;
}

std::function<StickPoint(std::uint32_t)> ContactPairing::stick_points(const CommittedContact& committed,
                                                                      const PairState& state,
                                                                      const PairedContact& contact) const {
  return [&](std::uint32_t i) {
    const auto gap_at = [&](const Vector3& p_BQ) { return model_.partner->closest(p_BQ).gap; };
    return stick_point_of(stick_point_history(committed, contact.near_candidates[i]), gap_at, state.X_AB,
                          contact.points[i], contact.surface[i]);
  };
}

std::shared_ptr<const CommittedFriction> ContactPairing::committed_friction(const CommittedContact& /*committed*/,
                                                                            const PairedContact& /*contact*/) const {
  return nullptr;
}

bool ContactPairing::follow(const CommittedContact& /*committed*/, const PairState& /*state*/, int /*pass*/,
                            PairedContact& /*contact*/) const {
  return false;
}

void ContactPairing::displace_partner(const PairState& /*state*/, PairedContact& /*contact*/) const {}

std::optional<PointMotion> ContactPairing::point_motion(const PairState& /*state*/,
                                                        const PairedContact& /*contact*/) const {
  return std::nullopt;
}

std::shared_ptr<const CandidateCache> ContactPairing::make_candidate_cache(
    const CommittedContact& /*committed*/) const {
  return nullptr;
}

void ContactPairing::add_partner(const SurfaceCompliance& own, const PairState& state, PairedContact& contact) const {
  contact.partner_share = weighted(model_.deformable->compliance(), contact.on_partner.nodes, state.X_AB.R);
  contact.use_own_compliance(sum(own, contact.partner_share));
}

Response ContactPairing::response(const PairedContact& contact, const std::optional<double>& approach_velocity,
                                  const PairState& state) const {
  Response response =
      solved_response(contact, model_.options, model_.pressure, model_.regions, approach_velocity, state);
  response.stored_energy += contact.penalty_energy;
  response.bound = gap_bound(ball_, *model_.partner);
  return response;
}

std::vector<Vector3> ContactPairing::on_candidates(const PairedContact& contact,
                                                   std::span<const Vector3> values) const {
  std::vector<Vector3> result(model_.points.size(), Vector3::Zero());
  for (std::size_t i = 0; i < values.size(); ++i) result[contact.touching[i]] = values[i];
  return result;
}

std::vector<Vector3> ContactPairing::on_partner(const PairedContact& contact, std::span<const Vector3> values) const {
  return contact.on_partner.nodes.distributed(contact.contact_positions, values,
                                              model_.deformable->compliance().n_nodes());
}

std::optional<NodalPressure> ContactPairing::pressure_of_both(const PairedContact& /*contact*/,
                                                              const PairState& /*state*/,
                                                              const Eigen::MatrixXd& /*forces*/) const {
  return std::nullopt;
}

std::vector<double> ContactPairing::pressure(const PairedContact& contact, const PairState& state,
                                             std::span<const double> normal_forces) const {
  const Eigen::Map<const Eigen::VectorXd> forces(normal_forces.data(), static_cast<Eigen::Index>(normal_forces.size()));
  if (const auto found = pressure_of_both(contact, state, forces)) return found->at_all(model_.points.size());
  std::vector<double> result(model_.points.size(), 0.0);
  if (model_.pressure.empty()) {
    for (std::size_t i = 0; i < normal_forces.size(); ++i) {
      result[contact.touching[i]] = normal_forces[i] / contact.nodes[i].area;
    }
    return result;
  }
  const Eigen::MatrixXd recovered = recovered_pressure(contact, model_.pressure, normal_forces).at_contact_nodes;
  for (std::size_t i = 0; i < contact.touching.size(); ++i) {
    result[contact.touching[i]] = recovered(static_cast<Eigen::Index>(i), 0);
  }
  return result;
}

std::vector<Vector3> ContactPairing::displacements(std::span<const Vector3> forces) const {
  std::vector<std::uint32_t> all(model_.points.size());
  std::iota(all.begin(), all.end(), 0U);
  std::vector<std::uint32_t> loaded;
  for (std::uint32_t i = 0; i < forces.size(); ++i) {
    if (!forces[i].isZero(0.0)) loaded.push_back(i);
  }
  NodeFields<1> loads(row_of(loaded.size()));
  for (std::size_t k = 0; k < loaded.size(); ++k) loads.segment<3>(row_of(k)) = forces[loaded[k]];
  const NodeFields<1> u = displacement(model_.compliance, all, loaded, loads);
  std::vector<Vector3> result;
  for (std::size_t i = 0; i < all.size(); ++i) result.emplace_back(u.segment<3>(row_of(i)));
  return result;
}

std::unique_ptr<ContactPairing> make_pairing(PairingModel model) {
  if (model.interface) return mortar_pairing(std::move(model));
  return model.deformable ? cloud_pairing(std::move(model)) : node_to_surface_pairing(std::move(model));
}

}  // namespace heelstrike::fem
