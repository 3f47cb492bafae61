#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "fem_server/contact_solver/detection/interface_pressure.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/contact_solver/solver/normal_derivatives.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// All data of a response.
struct CondensedContact::Solution : ContactSolution {
  ActiveCandidates near;
  std::vector<SurfacePoint> surface;           ///< of the near nodes, in A
  std::vector<Vector3> points;                 ///< [m] their undeformed positions, in A
  std::vector<double> areas;                   ///< [m^2] areas of these points
  std::vector<std::uint32_t> near_candidates;  ///< their candidate numbers
  /// With a deformable partner near.nodes counts from zero, and `both` is the compliance of both bodies, `share` that
  /// of the partner.
  SurfaceCompliance both;
  SurfaceCompliance share;
  std::vector<double> node_gaps;                 ///< [m] of all candidates
  Vector3 shift = Vector3::Zero();               ///< [m] at which the surfaces were matched, see BodyInterface
  WeightedNodes on_main;                         ///< motion of the near nodes as weights; unused where they are single
                                                 ///< points
  PartnerPoints on_partner;                      ///< the same on a deformable partner
  std::vector<std::uint32_t> contact_positions;  ///< positions of the active nodes among the near ones
  std::vector<std::optional<Vector3>> stick_point_in_A;  ///< [m] stick point in A of an active node; none = it slides
  std::vector<NodeMotion> found;                         ///< of near nodes, as far as the solver has computed them
  double penalty_energy = 0.0;                           ///< [J]
  [[nodiscard]] bool touches() const { return gap <= 0.0; }
};

namespace {

/// Motion since the commit, over the size of the body, for which the candidate cache is valid.
constexpr double candidate_cache_motion = 0.01;
/// Of the shift between the surfaces, over the size of the body: the relative error of the force is of this order, and
/// a repeated evaluation of a committed state, which starts elsewhere, gives the same response.
constexpr double shift_tolerance = 1e-10;
/// The error of each pass decreases by a factor of the order of the shift over the size of the contact.
constexpr int max_matching_passes = 20;
/// Residual gap of a deformed node, over the depth: the relative error of the force of the node is of this order. The
/// gap is a difference of coordinates, with a rounding error of 1e-13 of them at depths of a thousandth.
constexpr double gap_tolerance_after_matching = 1e-9;
/// Passes after which each node keeps its facet: a node on an edge of the partner may alternate between two.
constexpr int passes_of_facets = 6;
constexpr int max_passes = 40;
/// Shift of sticking nodes, over the size of the body, above which stick is unlikely: matching then starts without it.
constexpr double max_stick_motion = 0.1;
/// Gap under load, over the depth, up to which the blocks of a node are cached with the committed state.
constexpr double cached_block_gap = 0.02;

const CommittedNode* find_node(const CondensedHistory& history, std::uint32_t candidate) {
  const auto found =
      std::lower_bound(history.nodes.begin(), history.nodes.end(), candidate,
                       [](const CommittedNode& node, std::uint32_t number) { return node.node < number; });
  return found != history.nodes.end() && found->node == candidate ? &*found : nullptr;
}

Eigen::Index row_of(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

/// Displacements of the active nodes due to the rotation of their forces with the pose: d u / d X at fixed force
/// components, three rows per node.
Eigen::MatrixXd rotated_displacements(const NodeBlocks& blocks, const FrictionContact& contact,
                                      const std::vector<ContactNodeState>& nodes, const Vector3& p_AB) {
  NodeFields<8> forces = NodeFields<8>::Zero(row_of(nodes.size()), 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    forces.block<3, 6>(row_of(i), 0) = force_rotation(nodes[i], p_AB);
  }
  if (contact.committed) {
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), 6);
    const Eigen::Index n = forces.rightCols<5>().isZero(0.0) ? 3 : 6;
    result.leftCols(n) = active_displacements(contact, forces.leftCols(n));
    return result;
  }
  if (forces.rightCols<5>().isZero(0.0)) {  // a plane
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), 6);
    result.leftCols<3>() =
        displacement<4>(blocks.compliance(), blocks.numbers(), NodeFields<4>(forces.leftCols<4>())).leftCols<3>();
    return result;
  }
  return displacement<8>(blocks.compliance(), blocks.numbers(), forces).leftCols<6>();
}

/// For a deformable partner: forces of the active nodes times its compliance, and the same for forces rotated about
/// the axes of A.
struct PartnerDisplacements {
  Eigen::MatrixXd b;
  [[nodiscard]] Vector3 by_forces(std::size_t i) const { return b.block<3, 1>(3 * static_cast<Eigen::Index>(i), 0); }
  /// d / d X of the partner's compliance times constant forces: the compliance rotates with B.
  [[nodiscard]] Matrix36 by_turning(std::size_t i) const {
    Matrix36 result = Matrix36::Zero();
    result.leftCols<3>() = -skew(by_forces(i)) - b.block<3, 3>(3 * static_cast<Eigen::Index>(i), 1);
    return result;
  }
};

PartnerDisplacements partner_displacements(const Eigen::MatrixXd& C_B, const std::vector<ContactNodeState>& nodes) {
  Eigen::MatrixXd forces(C_B.rows(), 4);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i);
    const Vector3 f = nodes[i].force();
    forces.block<3, 1>(row, 0) = f;
    forces.block<3, 3>(row, 1) = -skew(f);
  }
  PartnerDisplacements result{.b = Eigen::MatrixXd(C_B.rows(), 4)};
  multiply(C_B, forces, result.b);
  return result;
}

/// Adds the rotation of a deformable partner's compliance to the derivatives at fixed force components.
void rotate_partner(const SurfaceCompliance& share, std::span<const std::uint32_t> touching,
                    const std::vector<ContactNodeState>& nodes, Eigen::MatrixXd& turned) {
  const PartnerDisplacements moved = partner_displacements(gathered(share, touching), nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) turned.middleRows<3>(row_of(i)) += moved.by_turning(i);
}

/// Mean distance of B's points from those points of A that have moved to them: weighted by the pressure, tangential.
Vector3 mean_shift(const ContactSolution& solved) {
  Vector3 sum = Vector3::Zero();
  double weights = 0.0;
  for (const ContactNodeState& node : solved.nodes) {
    const Vector3& n = node.surface.normal;
    sum += node.lambda * (node.u - n.dot(node.u) * n);
    weights += node.lambda;
  }
  return weights > 0.0 ? Vector3(sum / weights) : Vector3(Vector3::Zero());
}

/// Without friction and hysteresis a commit only defines the start of the next solution, which ends at the unique
/// active set; with a penalty, Newton's iteration ends only within its tolerance of the solution.
bool is_history_independent(const ContactOptions& options) {
  return options.friction == 0.0 && options.hysteresis_factor == 0.0 && options.penalty == 0.0;
}

}  // namespace

CondensedContact::CondensedContact(std::string name, CondensedModel model, ParameterMap parameters)
    : ContactBackend({.parameters = std::move(parameters),
                      .history_independent = is_history_independent(model.options),
                      .expensive = model.points.size() >= 500,
                      .regions = region_names(model.regions)}),
      name_(std::move(name)),
      model_(std::move(model)),
      ball_(ball_around(model_.points)) {
  const std::size_t n_compliance = model_.point_compliance > 0.0 ? model_.points.size() : model_.compliance.n_nodes();
  if (model_.points.size() != model_.areas.size() || model_.points.size() != n_compliance) {
    throw Error(ErrorCode::internal, "condensed contact: points, areas and compliance differ in size");
  }
  if (model_.options.penalty > 0.0 && model_.options.friction > 0.0) {
    throw input_error("penalty",
                      fmt::format("the penalty is for frictionless contact, found friction = {} and penalty = "
                                  "{} Pa/m^2; set one of them to 0",
                                  model_.options.friction, model_.options.penalty));
  }
}

std::shared_ptr<const History> CondensedContact::initial_history() const {
  return CondensedHistory::of_backend(name_);
}

std::shared_ptr<const History> CondensedContact::load_history(std::string_view bytes) const {
  auto history = CondensedHistory::load(bytes, name_);
  std::int64_t before = -1;
  for (const CommittedNode& entry : history->nodes) {
    if (std::int64_t{entry.node} <= before || entry.node >= model_.points.size()) {
      throw input_error("state", fmt::format("history of back-end '{}': candidate {} of {} is out of range or out of "
                                             "order; the bytes are damaged or belong to another body",
                                             name_, entry.node, model_.points.size()));
    }
    before = entry.node;
  }
  history->candidate_cache = candidate_cache_of(*history);
  return history;
}

CondensedContact::Gaps CondensedContact::find_gaps(const CandidateCache* candidate_cache, const Pose& X_AB) const {
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

std::shared_ptr<const CandidateCache> CondensedContact::candidate_cache_of(const CondensedHistory& history) const {
  if (!history.X_AB || !model_.partner->is_distance() || model_.interface) return nullptr;
  auto result = std::make_shared<CandidateCache>();
  result->X_AB = *history.X_AB;
  const Gaps gaps = find_gaps(nullptr, *history.X_AB);
  result->depth = std::abs(gaps.smallest);
  result->reach = result->depth + candidate_cache_motion * ball_.radius;
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    const CommittedNode* node = find_node(history, gaps.candidates[k]);
    const bool loaded = node != nullptr && !node->force.isZero(0.0);
    if (loaded || gaps.values[k] <= result->reach) result->candidates.push_back(gaps.candidates[k]);
  }
  if (model_.deformable) return result;  // the partner's compliance changes with the pose
  for (const CommittedNode& node : history.nodes) {
    const SurfacePoint point = surface_in_A(*model_.partner, *history.X_AB, model_.points[node.node]);
    const bool close = point.gap + point.normal.dot(node.u) < cached_block_gap * result->depth;
    if (close || !node.force.isZero(0.0)) result->block_nodes.push_back(node.node);
  }
  return result;
}

void CondensedContact::add_near(std::uint32_t candidate, const CommittedNode* committed, const SurfacePoint& surface,
                                const Vector3& x, double area, Solution& solution) const {
  const bool loaded = committed != nullptr && !committed->force.isZero(0.0);
  solution.near_candidates.push_back(candidate);
  solution.near.nodes.push_back(candidate);
  solution.near.gaps.push_back(surface.gap);
  solution.near.normals.push_back(surface.normal);
  solution.near.force_before.push_back(loaded ? committed->force : Vector3(Vector3::Zero()));
  solution.near.u_before.push_back(committed != nullptr ? committed->u : Vector3(Vector3::Zero()));
  solution.near.known.push_back(committed != nullptr);
  if (model_.options.penalty > 0.0) solution.near.penalty.push_back(model_.options.penalty * area);
  solution.surface.push_back(surface);
  solution.points.push_back(x);
  solution.areas.push_back(area);
}

void CondensedContact::find_near(const CondensedHistory& history, const PairState& state, const Gaps& gaps,
                                 Solution& solution) const {
  const double depth = -solution.gap;
  auto committed = history.nodes.begin();
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    const std::uint32_t i = gaps.candidates[k];
    while (committed != history.nodes.end() && committed->node < i) ++committed;
    const bool known = committed != history.nodes.end() && committed->node == i;
    const bool loaded = known && !committed->force.isZero(0.0);
    // The surface rises nowhere by more than the partner has pushed it down: farther nodes cannot touch.
    if (gaps.values[k] > depth && !loaded) continue;
    const SurfacePoint point = surface_in_A(*model_.partner, state.X_AB, model_.points[i]);
    if (point.gap > depth && !loaded) continue;
    add_near(i, known ? &*committed : nullptr, point, model_.points[i], model_.areas[i], solution);
  }
}

void CondensedContact::begin_between_bodies(const CondensedHistory& history, const PairState& state,
                                            Solution& solution) const {
  const Interface interface =
      fem::begin_between_bodies(*model_.interface, solution.node_gaps, state, model_.options, ball_.radius, solution);
  if (!solution.touches()) return;
  set_contact_points(history, interface, solution);
  if (model_.options.friction == 0.0) return;
  const Vector3 shift = stick_shift(history, state, solution);
  if (!shift.isZero(0.0)) set_interface(history, state, shift, solution);
}

void CondensedContact::set_contact_points(const CondensedHistory& history, const Interface& interface,
                                          Solution& solution) const {
  for (const InterfacePoint& place : interface.places) {
    const CommittedNode* committed = find_node(history, place.node);
    const bool loaded = committed != nullptr && !committed->force.isZero(0.0);
    if (place.gap > -solution.gap && !loaded) continue;
    add_near(place.node, committed, {.gap = place.gap, .normal = place.normal}, place.point, place.area, solution);
    solution.on_main.add_place(place.on_A);
    solution.on_partner.nodes.add_place(place.on_B);
    solution.on_partner.outside.push_back(place.outside);
  }
}

void CondensedContact::set_interface(const CondensedHistory& history, const PairState& state, const Vector3& shift,
                                     Solution& solution) const {
  Solution anew;
  anew.gap = solution.gap;
  anew.closest = solution.closest;
  anew.node_gaps = std::move(solution.node_gaps);
  anew.shift = shift;
  set_contact_points(history, model_.interface->at(state.X_AB, anew.node_gaps, shift), anew);
  solution = std::move(anew);
}

Vector3 CondensedContact::stick_shift(const CondensedHistory& history, const PairState& state,
                                      const Solution& solution) const {
  Vector3 sum = Vector3::Zero();
  double weights = 0.0;
  for (std::uint32_t i = 0; i < solution.points.size(); ++i) {
    const Vector3& n = solution.near.normals[i];
    const double weight = solution.areas[i] * std::max(-solution.near.gaps[i], 0.0);
    if (weight == 0.0) continue;
    const Vector3 ahead = stick_point_of_near(history, state, solution, i).p_AP - solution.points[i];
    sum += weight * (ahead - n.dot(ahead) * n);
    weights += weight;
  }
  if (weights == 0.0 || sum.norm() > max_stick_motion * ball_.radius * weights) return Vector3::Zero();
  return sum / weights;
}

void CondensedContact::add_partner(const PairState& state, Solution& solution) const {
  if (!model_.interface) {
    std::vector<Vector3> feet;
    for (std::size_t i = 0; i < solution.points.size(); ++i) {
      feet.emplace_back(solution.points[i] - solution.near.gaps[i] * solution.near.normals[i]);
    }
    solution.on_partner = model_.deformable->weights_at(state.X_AB, feet);
  }
  solution.share = weighted(model_.deformable->compliance(), solution.on_partner.nodes, state.X_AB.R);
  solution.both =
      sum(model_.interface ? weighted(model_.compliance, solution.on_main) : own_blocks(solution.near_candidates),
          solution.share);
  std::iota(solution.near.nodes.begin(), solution.near.nodes.end(), 0U);
  solution.near.compliance_changed = true;
}

SurfaceCompliance CondensedContact::own_blocks(std::span<const std::uint32_t> candidates) const {
  return model_.point_compliance > 0.0 ? diagonal_compliance(candidates.size(), model_.point_compliance)
                                       : copied_blocks(model_.compliance, candidates);
}

void CondensedContact::find_cached_blocks(const CondensedHistory& history, Solution& solution) const {
  if (history.candidate_cache == nullptr || history.candidate_cache->block_nodes.empty()) return;
  std::vector<std::uint32_t> positions;
  auto near = solution.near.nodes.begin();
  for (const std::uint32_t candidate : history.candidate_cache->block_nodes) {
    near = std::lower_bound(near, solution.near.nodes.end(), candidate);
    if (near == solution.near.nodes.end() || *near != candidate) return;
    positions.push_back(static_cast<std::uint32_t>(near - solution.near.nodes.begin()));
  }
  if (!std::ranges::includes(positions, first_working_set(solution.near))) return;
  solution.near.kept = std::move(positions);
  solution.near.cached_blocks = history.candidate_cache->blocks(model_.compliance);
}

CondensedContact::Solution CondensedContact::begin(const CondensedHistory& history, const PairState& state) const {
  Solution solution;
  Gaps gaps = find_gaps(history.candidate_cache.get(), state.X_AB);
  solution.gap = gaps.smallest;
  solution.closest.x = model_.points[gaps.deepest];
  solution.closest.surface = surface_in_A(*model_.partner, state.X_AB, model_.points[gaps.deepest]);
  if (model_.interface) {
    solution.node_gaps = std::move(gaps.values);
    begin_between_bodies(history, state, solution);
  } else if (solution.touches()) {
    check_depth(solution, model_.options, state);
    find_near(history, state, gaps, solution);
    find_cached_blocks(history, solution);
  }
  if (model_.deformable && !solution.near.nodes.empty()) add_partner(state, solution);
  return solution;
}

CondensedContact::Solution CondensedContact::solve(const CondensedHistory& history, const PairState& state,
                                                   const EvaluateOptions& options) const {
  Solution solution = begin(history, state);
  if (solution.near.deepest() == 0.0) return solution;  // no penetration
  if (model_.options.friction > 0.0) {
    solve_with_friction(history, state, options, solution);
    if (model_.interface) repeat_matching(history, state, options, solution);
  } else {
    solve_frictionless(state, options, solution);
  }
  if (model_.deformed_gap) repeat_projection(history, state, options, solution);
  if (model_.deformable) displace_partner(state, solution);
  return solution;
}

double CondensedContact::compute_deformed_gaps(const PairState& state, bool keep_normals, Solution& solution) const {
  NodeFields<1> forces(row_of(solution.nodes.size()));
  for (std::size_t a = 0; a < solution.nodes.size(); ++a) {
    forces.segment<3>(row_of(a)) = solution.nodes[a].force();
  }
  const std::vector<Vector3> u = near_displacements(solution, forces);
  std::vector<const ContactNodeState*> touching(u.size(), nullptr);
  for (std::size_t a = 0; a < solution.nodes.size(); ++a) touching[solution.contact_positions[a]] = &solution.nodes[a];
  double find_undetected_penetration = 0.0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    SurfacePoint surface = surface_in_A(*model_.partner, state.X_AB, solution.points[i] + u[i]);
    find_undetected_penetration =
        std::max(find_undetected_penetration, touching[i] != nullptr ? std::abs(surface.gap) : -surface.gap);
    if (keep_normals) surface.normal = solution.near.normals[i];
    surface.gap -= surface.normal.dot(u[i]);
    solution.surface[i] = surface;
    solution.near.gaps[i] = surface.gap;
    solution.near.normals[i] = surface.normal;
    // Start of the next pass.
    solution.near.force_before[i] = touching[i] != nullptr ? touching[i]->force() : Vector3(Vector3::Zero());
    solution.near.u_before[i] = u[i];
    solution.near.known[i] = true;
  }
  return find_undetected_penetration;
}

void CondensedContact::repeat_projection(const CondensedHistory& history, const PairState& state,
                                         const EvaluateOptions& options, Solution& solution) const {
  const double allowed = gap_tolerance_after_matching * -solution.gap;
  for (int pass = 0; !solution.nodes.empty(); ++pass) {
    Solution next = solution;
    const double find_undetected_penetration = compute_deformed_gaps(state, pass >= passes_of_facets, next);
    if (find_undetected_penetration <= allowed) return;
    if (pass == max_passes) {
      throw RecoverableError(fmt::format(
          "the gaps of {} contact nodes to the partner's triangles do not converge: after {} projections of "
          "the deformed nodes the maximum is {} m, tolerance {} m (overlap {} m, t = {} s); use a smaller "
          "step, or a partner with smaller triangles",
          solution.nodes.size(), pass, find_undetected_penetration, allowed, -solution.gap, state.t));
    }
    const int iterations = solution.statistics.iterations;
    next.touching.clear();
    next.contact_positions.clear();
    next.nodes.clear();
    next.stick_point_in_A.clear();
    next.found.clear();
    next.derivatives = {};
    next.dissipated = 0.0;
    next.penalty_energy = 0.0;
    solution = std::move(next);
    if (model_.options.friction > 0.0) {
      solve_with_friction(history, state, options, solution);
    } else {
      solve_frictionless(state, options, solution);
    }
    solution.statistics.iterations += iterations;
  }
}

void CondensedContact::repeat_matching(const CondensedHistory& history, const PairState& state,
                                       const EvaluateOptions& options, Solution& solution) const {
  Vector3 shift = mean_shift(solution);
  for (int pass = 0; (shift - solution.shift).norm() > shift_tolerance * ball_.radius; ++pass) {
    if (pass == max_matching_passes) {
      throw RecoverableError(fmt::format(
          "the matching of two sliding surfaces did not converge: after {} passes they still move by {} m, at t = "
          "{} s; use a smaller step",
          max_matching_passes, (shift - solution.shift).norm(), state.t));
    }
    set_interface(history, state, shift, solution);
    if (solution.near.deepest() == 0.0) return;
    add_partner(state, solution);
    solve_with_friction(history, state, options, solution);
    shift = mean_shift(solution);
  }
}

const SurfaceCompliance& CondensedContact::contact_compliance(const Solution& solution) const {
  return model_.deformable ? solution.both : model_.compliance;
}

void CondensedContact::displace_partner(const PairState& state, Solution& solution) const {
  for (const std::uint32_t i : solution.contact_positions) {
    if (solution.on_partner.outside[i]) reject_unknown_point(solution.points[i]);
  }
  const Eigen::MatrixXd C_B = gathered(solution.share, solution.contact_positions);
  const PartnerDisplacements moved = partner_displacements(C_B, solution.nodes);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) solution.nodes[i].u_B = -moved.by_forces(i);
  if (solution.derivatives.lambda.empty()) return;
  Eigen::MatrixXd dforces(C_B.rows(), 6);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const ContactNodeState& node = solution.nodes[i];
    dforces.middleRows<3>(3 * static_cast<Eigen::Index>(i)) = node.surface.normal * solution.derivatives.lambda[i] +
                                                              node.lambda * normal_rotation(node, state.X_AB.p) +
                                                              solution.derivatives.traction[i];
  }
  Eigen::MatrixXd du(C_B.rows(), 6);
  multiply(C_B, dforces, du);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    solution.derivatives.u_B.emplace_back(-du.middleRows<3>(3 * static_cast<Eigen::Index>(i)) - moved.by_turning(i));
  }
}

void CondensedContact::add_node(std::uint32_t near, double lambda, const Vector3& traction, Solution& solution) const {
  const std::uint32_t candidate = solution.near_candidates[near];
  ContactNodeState node;
  node.x = solution.points[near];
  node.surface = solution.surface[near];
  node.lambda = lambda;
  node.traction = traction;
  node.area = solution.areas[near];
  solution.touching.push_back(candidate);
  solution.contact_positions.push_back(near);
  solution.nodes.push_back(node);
}

void CondensedContact::take(const NormalContact& contact, Solution& solution) const {
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  solution.penalty_energy = contact.penalty_energy;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    add_node(contact.active[a], contact.lambda[static_cast<Eigen::Index>(a)], Vector3::Zero(), solution);
    solution.nodes.back().u = contact.u.segment<3>(row_of(a));
    solution.stick_point_in_A.emplace_back(std::nullopt);
  }
  solution.found = {{.positions = contact.active, .u = contact.u}, contact.outside};
}

void CondensedContact::solve_frictionless(const PairState& state, const EvaluateOptions& options,
                                          Solution& solution) const {
  NormalRotation turning;
  if (options.tangents) {
    turning = [&](std::uint32_t near) {
      ContactNodeState node;
      node.x = solution.points[near];
      node.surface = solution.surface[near];
      return normal_rotation(node, state.X_AB.p);
    };
  }
  NormalContact contact =
      solve_normal_contact({.compliance = &contact_compliance(solution), .near = &solution.near, .turning = turning});
  take(contact, solution);
  if (solution.nodes.empty() || !options.tangents) return;
  if (model_.deformable) {
    rotate_partner(solution.share, solution.contact_positions, solution.nodes, contact.turned);
  }
  // With one common factor on all forces, the displacements of single nodes are not needed.
  const bool each = model_.options.hysteresis_factor > 0.0 || model_.deformable;
  const NodeBlocks blocks(contact_compliance(solution), solution.near, contact.active);
  solution.derivatives = frictionless_derivatives(solution.nodes, contact, contact.turned, state.X_AB.p,
                                                  each ? &blocks.compliance() : nullptr, blocks.numbers());
}

StickPoint CondensedContact::stick_point_of_near(const CondensedHistory& history, const PairState& state,
                                                 const Solution& solution, std::uint32_t near) const {
  const std::uint32_t candidate = solution.near_candidates[near];
  const CommittedNode* node = find_node(history, candidate);
  const Vector3& x = solution.points[near];
  StickPointHistory memory;
  memory.X_AB = history.X_AB;
  if (node != nullptr) memory.p_BStick = node->p_BStick;
  memory.touched = node != nullptr && !node->force.isZero(0.0);
  if (!model_.interface) {
    const auto gap_at = [&](const Vector3& p_BQ) { return model_.partner->closest(p_BQ).gap; };
    return stick_point_of(memory, gap_at, state.X_AB, x, solution.surface[near]);
  }
  // The mean position of the function moves with the part of it opposite to B: the stored value is the offset of the
  // stick point from the undeformed node.
  if (node != nullptr) *memory.p_BStick += history.X_AB->R.transpose() * (x - model_.points[candidate]);
  const Pose X_BA = state.X_AB.inverse();
  const SurfacePoint& surface = solution.surface[near];
  const auto gap_at = [&](const Vector3& p_BQ) {
    return surface.gap + surface.normal.dot(state.X_AB.R * (p_BQ - X_BA * x));
  };
  return stick_point_of(memory, gap_at, state.X_AB, x, surface);
}

SlipStep CondensedContact::slip_before(const CondensedHistory& history, const PairState& state, std::uint32_t candidate,
                                       const Vector3& normal) const {
  const CommittedNode* node = find_node(history, candidate);
  if (node == nullptr || !history.X_AB) return {};
  const Vector3 force = state.X_AB.R * (history.X_AB->R.transpose() * node->force);  // rotates with the surface of B
  const double pushing = normal.dot(force);
  return {.traction = force - pushing * normal, .limit_before = model_.options.friction * std::max(pushing, 0.0)};
}

FrictionProblem CondensedContact::friction_problem(const CondensedHistory& history, const PairState& state,
                                                   const Solution& solution) const {
  FrictionProblem problem;
  problem.friction = model_.options.friction;
  problem.R_AB = state.X_AB.R;
  problem.positions = solution.points;
  problem.stick_point = [&](std::uint32_t i) { return stick_point_of_near(history, state, solution, i); };
  problem.near = solution.near;
  return problem;
}

friction::LocalProblem CondensedContact::local_problem(const History& history, const PairState& state) const {
  if (!(model_.options.friction > 0.0)) {
    throw Error(ErrorCode::unimplemented,
                "a friction problem needs friction above 0, found 0: set the parameter friction");
  }
  const CondensedHistory& committed = CondensedHistory::from(history);
  const Solution solution = begin(committed, state);
  return fem::local_problem(contact_compliance(solution), friction_problem(committed, state, solution));
}

std::shared_ptr<const CommittedFriction> CondensedContact::committed_friction(const CondensedHistory& history,
                                                                              const Solution& solution) const {
  if (!solution.near.cached_blocks) return nullptr;
  const CandidateCache& cache = *history.candidate_cache;
  return cache.friction([&]() -> std::shared_ptr<const CommittedFriction> {
    std::vector<CommittedContactNode> nodes;
    std::size_t n_active = 0;
    for (const std::uint32_t candidate : cache.block_nodes) {
      const SurfacePoint point = surface_in_A(*model_.partner, cache.X_AB, model_.points[candidate]);
      nodes.push_back(
          {.axes = contact_axes(cache.X_AB.R, point.normal), .force = find_node(history, candidate)->force});
      n_active += nodes.back().force.isZero(0.0) ? 0 : 1;
    }
    if (n_active == 0 || n_active > CommittedFriction::max_active) return nullptr;
    auto made = std::make_shared<const CommittedFriction>(*solution.near.cached_blocks, nodes);
    return made->valid() ? made : nullptr;
  });
}

void CondensedContact::solve_with_friction(const CondensedHistory& history, const PairState& state,
                                           const EvaluateOptions& options, Solution& solution) const {
  FrictionProblem problem = friction_problem(history, state, solution);
  // Only for commits with a warm start: a loaded history always has one, and its responses must equal those of the
  // history that was saved.
  if (options.keep_warm_start) problem.committed = committed_friction(history, solution);
  const FrictionContact contact = solve_friction_contact(contact_compliance(solution), problem);
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  SlipSpeed slip_speed;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    add_node(contact.active[a], contact.lambda[static_cast<Eigen::Index>(a)], contact.traction[a], solution);
    solution.stick_point_in_A.push_back(contact.sliding[a] ? std::optional<Vector3>() : contact.stick_points[a].p_AP);
    const ContactNodeState& node = solution.nodes.back();
    SlipStep slipping = slip_before(history, state, solution.touching.back(), node.surface.normal);
    slip_speed.add(slipping.traction, slipping.limit_before, point_velocity(state.V_AB, node.x - state.X_AB.p));
    if (!contact.sliding[a]) continue;
    slipping.trial = contact.traction[a] - contact.rho[a] * contact.slip[a];
    slipping.limit = problem.friction * contact.lambda[static_cast<Eigen::Index>(a)];
    slipping.slip = contact.slip[a].norm();
    solution.dissipated += slip_work(slipping);
  }
  solution.slip_speed = slip_speed.value();
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) solution.nodes[i].u = contact.u[i];
  solution.found = contact.found;
  if (contact.active.empty() || !options.tangents) return;
  const NodeBlocks blocks(contact_compliance(solution), solution.near, contact.active);
  Eigen::MatrixXd turned = rotated_displacements(blocks, contact, solution.nodes, state.X_AB.p);
  if (model_.deformable) rotate_partner(solution.share, solution.contact_positions, solution.nodes, turned);
  std::vector<Matrix36> by_rotation;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    by_rotation.emplace_back(turned.middleRows<3>(row_of(i)));
  }
  solution.derivatives =
      friction_derivatives(problem, contact, solution.nodes, by_rotation, state.X_AB.p, contact_compliance(solution));
}

std::vector<Vector3> CondensedContact::near_displacements(const Solution& solution, const NodeFields<1>& forces) const {
  std::vector<Vector3> result(solution.near.nodes.size());
  std::vector<bool> known(result.size(), false);
  for (const NodeMotion& motion : solution.found) {
    for (std::size_t k = 0; k < motion.positions.size(); ++k) {
      result[motion.positions[k]] = motion.u.segment<3>(row_of(k));
      known[motion.positions[k]] = true;
    }
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < result.size(); ++i) {
    if (!known[i]) missing.push_back(i);
  }
  const NodeFields<1> u = displacement(contact_compliance(solution), solution.near.candidates(missing),
                                       solution.near.candidates(solution.contact_positions), forces);
  for (std::size_t k = 0; k < missing.size(); ++k) result[missing[k]] = u.segment<3>(row_of(k));
  return result;
}

std::vector<CommittedNode> CondensedContact::make_committed_nodes(const Solution& solution,
                                                                  const PairState& state) const {
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t a = 0; a < solution.nodes.size(); ++a) {
    forces.segment<3>(static_cast<Eigen::Index>(3 * a)) = solution.nodes[a].force();
  }
  const std::vector<Vector3> u = near_displacements(solution, forces);
  const Pose X_BA = state.X_AB.inverse();
  std::vector<CommittedNode> memory;
  std::size_t a = 0;
  for (std::size_t i = 0; i < solution.near.nodes.size(); ++i) {
    CommittedNode entry;
    entry.node = solution.near_candidates[i];
    entry.u = u[i];
    const Vector3 to_node = X_BA.R * (model_.points[entry.node] - solution.points[i]);  // zero for single points
    entry.p_BStick = X_BA * (model_.points[entry.node] + entry.u);
    if (a < solution.touching.size() && solution.touching[a] == entry.node) {
      entry.force = forces.segment<3>(static_cast<Eigen::Index>(3 * a));
      if (solution.stick_point_in_A[a]) entry.p_BStick = X_BA * *solution.stick_point_in_A[a] + to_node;
      ++a;
    }
    memory.push_back(entry);
  }
  return memory;
}

InterfaceContact CondensedContact::interface_contact(const Solution& solution) const {
  return {.on_A = &solution.on_main,
          .areas = solution.areas,
          .nodes = solution.near_candidates,
          .touching = solution.contact_positions,
          .n_nodes = model_.points.size(),
          .contacts = solution.nodes,
          .recovery = &model_.pressure};
}

Response CondensedContact::make_response(const Solution& solution, const CondensedHistory& history,
                                         const PairState& state) const {
  // The functions of an interface are no nodes of the surface.
  static const PressureRecovery empty_recovery;
  const PressureRecovery& recovery = model_.interface ? empty_recovery : model_.pressure;
  Response response = answer(solution, model_.options, recovery, model_.regions, history.approach_velocity, state);
  if (model_.interface && !solution.nodes.empty()) {
    std::vector<double> normal_forces = hysteresis_factors(solution, model_.options, history.approach_velocity, state);
    for (std::size_t i = 0; i < normal_forces.size(); ++i) normal_forces[i] *= solution.nodes[i].lambda;
    fill_interface_pressure(interface_contact(solution), normal_forces, model_.regions, response);
  }
  response.stored_energy += solution.penalty_energy;
  if (model_.partner->is_distance() && !model_.interface) {
    const Vector3 normal = model_.partner->half_space();
    response.bound = {
        .known = true, .p_C = ball_.center, .reach = ball_.radius, .normal = normal, .flat = normal != Vector3::Zero()};
  }
  return response;
}

Response CondensedContact::evaluate(const History& history, const PairState& state,
                                    const EvaluateOptions& options) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  return make_response(solve(own, state, options), own, state);
}

std::vector<BatchEntry> CondensedContact::evaluate_all(const History& history,
                                                       std::span<const PairState> states) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  std::vector<Solution> solutions(states.size());
  std::vector<BatchEntry> entries(states.size());
  std::vector<NormalTask> tasks;
  std::vector<std::size_t> evaluated;
  for (std::size_t i = 0; i < states.size(); ++i) {
    entries[i].error = refusal([&] { solutions[i] = begin(own, states[i]); });
    if (entries[i].error || !solutions[i].touches()) continue;
    tasks.push_back({.compliance = &model_.compliance, .near = &solutions[i].near});
    evaluated.push_back(i);
  }
  const std::vector<NormalOutcome> outcomes = solve_normal_contacts(tasks);
  for (std::size_t k = 0; k < evaluated.size(); ++k) {
    entries[evaluated[k]].error = refusal([&] {
      if (outcomes[k].error) std::rethrow_exception(outcomes[k].error);
      take(outcomes[k].contact, solutions[evaluated[k]]);
      const EvaluateOptions without_tangent_options{.tangents = false};
      if (model_.deformed_gap)
        repeat_projection(own, states[evaluated[k]], without_tangent_options, solutions[evaluated[k]]);
    });
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!entries[i].error) entries[i].response = make_response(solutions[i], own, states[i]);
  }
  return entries;
}

Committed CondensedContact::commit(const History& history, const PairState& state,
                                   const EvaluateOptions& options) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  const Solution solution = solve(own, state, options);
  auto next = CondensedHistory::of_backend(name_);
  next->X_AB = state.X_AB;
  next->approach_velocity = latched_speed(solution, model_.options, own.approach_velocity, state);
  next->nodes = make_committed_nodes(solution, state);
  if (options.keep_warm_start) next->candidate_cache = candidate_cache_of(*next);
  Response response = make_response(solution, *next, state);
  response.slip_speed = slip_speed_after(solution, model_.options, state);
  return {.history = std::move(next), .response = response};
}

CondensedContact::SurfaceState CondensedContact::surface_state(const History& history, const PairState& state) const {
  const Solution solution = solve(CondensedHistory::from(history), state);
  SurfaceState result;
  std::vector<double> normal_forces;
  result.displacement.assign(model_.points.size(), Vector3::Zero());
  std::vector<Vector3> forces;
  for (const ContactNodeState& node : solution.nodes) {
    normal_forces.push_back(node.lambda);
    forces.push_back(node.force());
  }
  result.pressure.assign(model_.points.size(), 0.0);
  if (model_.interface) {
    result.pressure = interface_pressure(interface_contact(solution), normal_forces);
  } else if (model_.pressure.empty()) {
    for (std::size_t i = 0; i < normal_forces.size(); ++i) {
      result.pressure[solution.touching[i]] = normal_forces[i] / solution.nodes[i].area;
    }
  } else {
    const Eigen::MatrixXd pressure = recovered_pressure(solution, model_.pressure, normal_forces).at_contact_nodes;
    for (std::size_t i = 0; i < solution.touching.size(); ++i) result.pressure[solution.touching[i]] = pressure(i, 0);
  }
  const std::vector<Vector3> nodal = on_candidates(solution, forces, Side::main);
  if (model_.point_compliance > 0.0) {
    for (std::size_t i = 0; i < nodal.size(); ++i) result.displacement[i] = model_.point_compliance * nodal[i];
    return result;
  }
  std::vector<std::uint32_t> all(model_.points.size());
  std::iota(all.begin(), all.end(), 0U);
  std::vector<std::uint32_t> loaded;
  NodeFields<1> loads(row_of(all.size()));
  for (std::uint32_t i = 0; i < nodal.size(); ++i) {
    if (nodal[i].isZero(0.0)) continue;
    loads.segment<3>(row_of(loaded.size())) = nodal[i];
    loaded.push_back(i);
  }
  loads.conservativeResize(row_of(loaded.size()));
  const NodeFields<1> u = displacement(model_.compliance, all, loaded, loads);
  for (std::size_t i = 0; i < all.size(); ++i) result.displacement[i] = u.segment<3>(3 * static_cast<Eigen::Index>(i));
  return result;
}

std::string CondensedContact::fields(const History& history, const PairState& state,
                                     const FieldRequest& request) const {
  if (!model_.fields) return ContactBackend::fields(history, state, request);
  if (request.part == FieldPart::partner) {
    return model_.partner_fields ? write_deformed_partner(history, state, request)
                                 : model_.fields->write_partner(state.X_AB, request);
  }
  const NodeForces forces = node_forces(history, state, Side::main);
  // The body deforms under the elastic forces; pressure and traction are those of the response, including hysteresis.
  FieldState picture = model_.fields->linear_state(forces.elastic);
  picture.forces = forces.drawn;
  return model_.fields->write_body_fields(picture, forces.normals, request);
}

std::vector<Vector3> CondensedContact::on_candidates(const Solution& solution, std::span<const Vector3> forces,
                                                     Side side) const {
  if (side == Side::partner) {
    return solution.on_partner.nodes.distributed(solution.contact_positions, forces,
                                                 model_.deformable->compliance().n_nodes());
  }
  if (model_.interface) return solution.on_main.distributed(solution.contact_positions, forces, model_.points.size());
  std::vector<Vector3> result(model_.points.size(), Vector3::Zero());
  for (std::size_t i = 0; i < forces.size(); ++i) result[solution.touching[i]] = forces[i];
  return result;
}

CondensedContact::NodeForces CondensedContact::node_forces(const History& history, const PairState& state,
                                                           Side side) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  const Solution solution = solve(own, state);
  const std::vector<double> factors = hysteresis_factors(solution, model_.options, own.approach_velocity, state);
  std::vector<Vector3> elastic;
  std::vector<Vector3> drawn;
  std::vector<Vector3> normals;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const ContactNodeState& node = solution.nodes[i];
    elastic.push_back(node.force());
    drawn.emplace_back(factors[i] * elastic.back());
    normals.push_back(node.surface.normal);
  }
  NodeForces forces{.elastic = on_candidates(solution, elastic, side),
                    .drawn = on_candidates(solution, drawn, side),
                    .normals = on_candidates(solution, normals, side)};
  for (Vector3& n : forces.normals) n = n.isZero(0.0) ? n : n.normalized();
  return forces;
}

std::string CondensedContact::write_deformed_partner(const History& history, const PairState& state,
                                                     const FieldRequest& request) const {
  NodeForces forces = node_forces(history, state, Side::partner);
  FieldRequest on_B = request;
  on_B.X_WA = request.X_WA * state.X_AB;
  for (auto* of_A : {&forces.elastic, &forces.drawn, &forces.normals}) {
    for (Vector3& v : *of_A) v = -(state.X_AB.R.transpose() * v);
  }
  FieldState picture = model_.partner_fields->linear_state(forces.elastic);
  picture.forces = forces.drawn;
  return model_.partner_fields->write_body_fields(picture, forces.normals, on_B);
}

}  // namespace heelstrike::fem
