#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"
#include "fem_server/backends/fem_condensed/body_fields.hpp"
#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/backends/fem_condensed/deformable_partner.hpp"
#include "fem_server/backends/fem_condensed/friction_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Everything that the response is made of.
struct CondensedContact::Solution : SolvedContact {
  NearNodes near;
  std::vector<SurfacePoint> surface;  ///< of the near nodes, in A
  /// With a deformable partner: its share and the sum of both compliances. Then near.nodes counts from zero,
  SurfaceCompliance both;
  PartnerShare share;
  std::vector<std::uint32_t> near_candidates;    ///< and these are the candidates: of all near nodes
  std::vector<std::uint32_t> touching_near;      ///< positions of the touching nodes among the near ones
  std::vector<std::optional<Vector3>> stuck_to;  ///< [m] point in A that a touching node sticks to; none = it slides
  std::vector<NodeMotion> found;                 ///< of near nodes, as far as the solver has looked at them
  double penalty_energy = 0.0;                   ///< [J]
  [[nodiscard]] bool touches() const { return gap <= 0.0; }
};

namespace {

/// Motion since the commit, over the size of the body, for which the candidates that may touch are known.
constexpr double kept_motion = 0.01;
/// Gap under load, over the depth, up to which a node's blocks are kept with the committed state.
constexpr double kept_gap = 0.02;

SurfacePoint in_A(const PartnerSurface& partner, const Pose& X_AB, const Vector3& p_AQ) {
  SurfacePoint point = partner.closest(X_AB.R.transpose() * (p_AQ - X_AB.p));
  point.normal = X_AB.R * point.normal;
  if (!point.curvature.isZero(0.0)) point.curvature = X_AB.R * point.curvature * X_AB.R.transpose();
  return point;
}

const CommittedNode* find_node(const CondensedHistory& history, std::uint32_t candidate) {
  const auto found =
      std::lower_bound(history.nodes.begin(), history.nodes.end(), candidate,
                       [](const CommittedNode& node, std::uint32_t number) { return node.node < number; });
  return found != history.nodes.end() && found->node == candidate ? &*found : nullptr;
}

Eigen::Index row_of(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

/// Displacements of the touching nodes by the turning of their forces with the pose: d u / d X at fixed force
/// components, three rows per node.
Eigen::MatrixXd turned_displacements(const NodeBlocks& blocks, const std::vector<TouchingNode>& nodes,
                                     const Vector3& p_AB) {
  NodeFields<8> forces = NodeFields<8>::Zero(row_of(nodes.size()), 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    forces.block<3, 6>(row_of(i), 0) = force_rotation(nodes[i], p_AB);
  }
  if (forces.rightCols<5>().isZero(0.0)) {  // a plane
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), 6);
    result.leftCols<3>() =
        displacement<4>(blocks.compliance(), blocks.numbers(), NodeFields<4>(forces.leftCols<4>())).leftCols<3>();
    return result;
  }
  return displacement<8>(blocks.compliance(), blocks.numbers(), forces).leftCols<6>();
}

/// Of a deformable partner: forces of the touching nodes times its share of the compliance, and the same for forces
/// turned about the axes of A.
struct PartnerDisplacements {
  Eigen::MatrixXd b;
  [[nodiscard]] Vector3 by_forces(std::size_t i) const { return b.block<3, 1>(3 * static_cast<Eigen::Index>(i), 0); }
  /// d / d X of the share times forces that keep still: the share turns with B.
  [[nodiscard]] Matrix36 by_turning(std::size_t i) const {
    Matrix36 result = Matrix36::Zero();
    result.leftCols<3>() = -skew(by_forces(i)) - b.block<3, 3>(3 * static_cast<Eigen::Index>(i), 1);
    return result;
  }
};

PartnerDisplacements partner_displacements(const Eigen::MatrixXd& C_B, const std::vector<TouchingNode>& nodes) {
  Eigen::MatrixXd forces(C_B.rows(), 4);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i);
    const Vector3 f = nodes[i].lambda * nodes[i].surface.normal + nodes[i].traction;
    forces.block<3, 1>(row, 0) = f;
    forces.block<3, 3>(row, 1) = -skew(f);
  }
  PartnerDisplacements result{.b = Eigen::MatrixXd(C_B.rows(), 4)};
  multiply(C_B, forces, result.b);
  return result;
}

/// Adds the turning of a deformable partner's share to the derivatives at fixed force components.
void turn_partner(const SurfaceCompliance& share, std::span<const std::uint32_t> touching,
                  const std::vector<TouchingNode>& nodes, Eigen::MatrixXd& turned) {
  const PartnerDisplacements moved = partner_displacements(gathered(share, touching), nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) turned.middleRows<3>(row_of(i)) += moved.by_turning(i);
}

/// d lambda / d X = A^-1 (G - N^T d u / d X at fixed lambda), then d u / d X, or only what it does to the wrench.
/// @param turned  d u / d X at fixed lambda
/// @param blocks  of the touching nodes; null = the nodes' own d u / d X are not wanted
NodeDerivatives frictionless_derivatives(const std::vector<TouchingNode>& nodes, const NormalContact& contact,
                                         const Eigen::MatrixXd& turned, const Vector3& p_AB,
                                         const SurfaceCompliance* compliance, std::span<const std::uint32_t> numbers) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd dlambda(m, 6);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    dlambda.row(static_cast<Eigen::Index>(i)) =
        gap_wrench(nodes[i], p_AB).transpose() - nodes[i].surface.normal.transpose() * turned.middleRows<3>(row_of(i));
  }
  solve_lower(contact.factor, dlambda);
  solve_lower_transposed(contact.factor, dlambda);
  NodeDerivatives derivatives;
  NodeFields<8> forces = NodeFields<8>::Zero(3 * m, 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    forces.block<3, 6>(3 * row, 0) = nodes[i].surface.normal * dlambda.row(row);
    derivatives.lambda.emplace_back(dlambda.row(row));
    derivatives.traction.emplace_back(Matrix36::Zero());
  }
  if (compliance == nullptr) {
    // sum lambda D^T du = (C Lambda D)^T (N dlambda + Lambda D): the compliance is symmetric.
    derivatives.turning_work.setZero();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Matrix36 df = forces.block<3, 6>(row_of(i), 0) + nodes[i].lambda * normal_rotation(nodes[i], p_AB);
      derivatives.turning_work += turned.middleRows<3>(row_of(i)).transpose() * df;
    }
    return derivatives;
  }
  const NodeFields<8> u = displacement<8>(*compliance, numbers, forces);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    derivatives.u.emplace_back(u.block<3, 6>(row_of(i), 0) + turned.middleRows<3>(row_of(i)));
  }
  return derivatives;
}

}  // namespace

CondensedContact::CondensedContact(std::string name, CondensedModel model, ParameterMap parameters)
    : name_(std::move(name)),
      model_(std::move(model)),
      parameters_(std::move(parameters)),
      ball_(ball_around(model_.points)) {
  if (model_.points.size() != model_.areas.size() || model_.points.size() != model_.compliance.n_nodes()) {
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
  auto history = std::make_shared<CondensedHistory>();
  history->backend = name_;
  return history;
}

std::shared_ptr<const History> CondensedContact::load_history(std::string_view bytes) const {
  auto history = std::make_shared<CondensedHistory>(CondensedHistory::load(bytes, name_, model_.compliance));
  history->surroundings = surroundings_of(*history);
  return history;
}

CondensedContact::Gaps CondensedContact::find_gaps(const Surroundings* surroundings, const Pose& X_AB) const {
  const Matrix3 R_BA = X_AB.R.transpose();
  const Vector3 p_BA = -(R_BA * X_AB.p);
  Gaps gaps;
  if (surroundings != nullptr && holds_all_near(*surroundings, ball_, X_AB)) {
    gaps.candidates = surroundings->candidates;
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

std::shared_ptr<const Surroundings> CondensedContact::surroundings_of(const CondensedHistory& history) const {
  if (!history.started || !model_.partner->is_distance()) return nullptr;
  auto result = std::make_shared<Surroundings>();
  result->X_AB = history.X_AB;
  const Gaps gaps = find_gaps(nullptr, history.X_AB);
  result->depth = std::abs(gaps.smallest);
  result->reach = result->depth + kept_motion * ball_.radius;
  for (std::size_t k = 0; k < gaps.values.size(); ++k) {
    const CommittedNode* node = find_node(history, gaps.candidates[k]);
    const bool loaded = node != nullptr && !node->force.isZero(0.0);
    if (loaded || gaps.values[k] <= result->reach) result->candidates.push_back(gaps.candidates[k]);
  }
  if (model_.deformable) return result;  // its share of the compliance changes with the pose
  for (const CommittedNode& node : history.nodes) {
    const SurfacePoint point = in_A(*model_.partner, history.X_AB, model_.points[node.node]);
    const bool close = point.gap + point.normal.dot(node.u) < kept_gap * result->depth;
    if (close || !node.force.isZero(0.0)) result->block_nodes.push_back(node.node);
  }
  return result;
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
    const SurfacePoint point = in_A(*model_.partner, state.X_AB, model_.points[i]);
    if (point.gap > depth && !loaded) continue;
    solution.near.nodes.push_back(i);
    solution.near.gaps.push_back(point.gap);
    solution.near.normals.push_back(point.normal);
    solution.near.force_before.push_back(loaded ? committed->force : Vector3(Vector3::Zero()));
    solution.near.u_before.push_back(known ? committed->u : Vector3(Vector3::Zero()));
    solution.near.known.push_back(known);
    if (model_.options.penalty > 0.0) solution.near.penalty.push_back(model_.options.penalty * model_.areas[i]);
    solution.surface.push_back(point);
  }
}

void CondensedContact::find_kept(const CondensedHistory& history, Solution& solution) const {
  if (history.surroundings == nullptr || history.surroundings->block_nodes.empty()) return;
  std::vector<std::uint32_t> positions;
  auto near = solution.near.nodes.begin();
  for (const std::uint32_t candidate : history.surroundings->block_nodes) {
    near = std::lower_bound(near, solution.near.nodes.end(), candidate);
    if (near == solution.near.nodes.end() || *near != candidate) return;
    positions.push_back(static_cast<std::uint32_t>(near - solution.near.nodes.begin()));
  }
  if (!std::ranges::includes(positions, first_working_set(solution.near))) return;
  solution.near.kept = std::move(positions);
  solution.near.kept_blocks = history.surroundings->blocks(model_.compliance);
}

CondensedContact::Solution CondensedContact::begin(const CondensedHistory& history, const PairState& state) const {
  Solution solution;
  const Gaps gaps = find_gaps(history.surroundings.get(), state.X_AB);
  solution.gap = gaps.smallest;
  solution.closest.x = model_.points[gaps.deepest];
  solution.closest.surface = in_A(*model_.partner, state.X_AB, model_.points[gaps.deepest]);
  if (!solution.touches()) return solution;
  check_depth(solution, model_.options, state);
  find_near(history, state, gaps, solution);
  find_kept(history, solution);
  solution.near_candidates = solution.near.nodes;
  if (model_.deformable) {
    std::vector<Vector3> points;
    for (std::uint32_t i = 0; i < solution.near.nodes.size(); ++i) {
      points.push_back(model_.points[solution.near.nodes[i]] - solution.near.gaps[i] * solution.near.normals[i]);
      solution.near.nodes[i] = i;
    }
    solution.share = model_.deformable->share(state.X_AB, points);
    solution.both = added(model_.compliance, solution.near_candidates, solution.share.compliance);
    solution.near.compliance_changed = true;
  }
  return solution;
}

CondensedContact::Solution CondensedContact::solve(const CondensedHistory& history, const PairState& state,
                                                   Tangents tangents) const {
  Solution solution = begin(history, state);
  if (!solution.touches()) return solution;
  if (model_.options.friction > 0.0) {
    solve_with_friction(history, state, tangents, solution);
  } else {
    solve_frictionless(state, tangents, solution);
  }
  if (model_.deformable) move_partner(state, solution);
  return solution;
}

const SurfaceCompliance& CondensedContact::seen_compliance(const Solution& solution) const {
  return model_.deformable ? solution.both : model_.compliance;
}

void CondensedContact::move_partner(const PairState& state, Solution& solution) const {
  for (const std::uint32_t i : solution.touching_near) {
    if (!solution.share.outside[i]) continue;
    const Vector3& p = model_.points[solution.near_candidates[i]];
    throw input_error(
        "partner_contact_direction",
        fmt::format("the bodies touch at ({}, {}, {}) m of the main body, where the partner has no contact "
                    "nodes; widen partner_contact_set, partner_contact_box or partner_contact_direction",
                    p.x(), p.y(), p.z()));
  }
  const Eigen::MatrixXd C_B = gathered(solution.share.compliance, solution.touching_near);
  const PartnerDisplacements moved = partner_displacements(C_B, solution.nodes);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) solution.nodes[i].u_B = -moved.by_forces(i);
  if (solution.derivatives.lambda.empty()) return;
  Eigen::MatrixXd dforces(C_B.rows(), 6);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
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
  TouchingNode node;
  node.x = model_.points[candidate];
  node.surface = solution.surface[near];
  node.lambda = lambda;
  node.traction = traction;
  node.area = model_.areas[candidate];
  solution.touching.push_back(candidate);
  solution.touching_near.push_back(near);
  solution.nodes.push_back(node);
}

void CondensedContact::take(const NormalContact& contact, Solution& solution) const {
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  solution.penalty_energy = contact.penalty_energy;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    add_node(contact.active[a], contact.lambda[static_cast<Eigen::Index>(a)], Vector3::Zero(), solution);
    solution.nodes.back().u = contact.u.segment<3>(row_of(a));
    solution.stuck_to.emplace_back(std::nullopt);
  }
  solution.found = {{.positions = contact.active, .u = contact.u}, contact.outside};
}

void CondensedContact::solve_frictionless(const PairState& state, Tangents tangents, Solution& solution) const {
  NormalTurning turning;
  if (tangents == Tangents::wanted) {
    turning = [&](std::uint32_t near) {
      TouchingNode node;
      node.x = model_.points[solution.near_candidates[near]];
      node.surface = solution.surface[near];
      return normal_rotation(node, state.X_AB.p);
    };
  }
  NormalContact contact =
      solve_normal_contact({.compliance = &seen_compliance(solution), .near = &solution.near, .turning = turning});
  take(contact, solution);
  if (solution.nodes.empty() || tangents == Tangents::left_out) return;
  if (model_.deformable) {
    turn_partner(solution.share.compliance, solution.touching_near, solution.nodes, contact.turned);
  }
  // With one factor on all forces the displacements of single nodes are not needed.
  const bool each = model_.options.hysteresis_factor > 0.0 || model_.deformable;
  const NodeBlocks blocks(seen_compliance(solution), solution.near, contact.active);
  solution.derivatives = frictionless_derivatives(solution.nodes, contact, contact.turned, state.X_AB.p,
                                                  each ? &blocks.compliance() : nullptr, blocks.numbers());
}

void CondensedContact::solve_with_friction(const CondensedHistory& history, const PairState& state, Tangents tangents,
                                           Solution& solution) const {
  FrictionProblem problem;
  problem.friction = model_.options.friction;
  problem.R_AB = state.X_AB.R;
  for (const std::uint32_t candidate : solution.near_candidates) problem.positions.push_back(model_.points[candidate]);
  problem.anchor = [&](std::uint32_t i) {
    const CommittedNode* node = find_node(history, solution.near_candidates[i]);
    AnchorMemory memory;
    if (history.started) memory.X_AB = history.X_AB;
    if (node != nullptr) memory.p_BAnchor = node->p_BAnchor;
    memory.touched = node != nullptr && !node->force.isZero(0.0);
    return anchor_of(memory, *model_.partner, state.X_AB, model_.points[solution.near_candidates[i]],
                     solution.surface[i]);
  };
  problem.near = solution.near;
  const FrictionContact contact = solve_friction_contact(seen_compliance(solution), problem);
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    add_node(contact.active[a], contact.lambda[static_cast<Eigen::Index>(a)], contact.traction[a], solution);
    solution.stuck_to.push_back(contact.sliding[a] ? std::optional<Vector3>() : contact.anchors[a].p_AP);
    solution.dissipated -= contact.traction[a].dot(contact.slip[a]);
  }
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) solution.nodes[i].u = contact.u[i];
  solution.found = contact.found;
  if (contact.active.empty() || tangents == Tangents::left_out) return;
  const NodeBlocks blocks(seen_compliance(solution), solution.near, contact.active);
  Eigen::MatrixXd turned = turned_displacements(blocks, solution.nodes, state.X_AB.p);
  if (model_.deformable) turn_partner(solution.share.compliance, solution.touching_near, solution.nodes, turned);
  std::vector<Matrix36> by_rotation;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    by_rotation.emplace_back(turned.middleRows<3>(row_of(i)));
  }
  solution.derivatives =
      friction_derivatives(problem, contact, solution.nodes, by_rotation, state.X_AB.p, seen_compliance(solution));
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
  const NodeFields<1> u = displacement(seen_compliance(solution), solution.near.candidates(missing),
                                       solution.near.candidates(solution.touching_near), forces);
  for (std::size_t k = 0; k < missing.size(); ++k) result[missing[k]] = u.segment<3>(row_of(k));
  return result;
}

std::vector<CommittedNode> CondensedContact::memory_of(const Solution& solution, const PairState& state) const {
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t a = 0; a < solution.nodes.size(); ++a) {
    const TouchingNode& node = solution.nodes[a];
    forces.segment<3>(static_cast<Eigen::Index>(3 * a)) = node.lambda * node.surface.normal + node.traction;
  }
  const std::vector<Vector3> u = near_displacements(solution, forces);
  const Pose X_BA = state.X_AB.inverse();
  std::vector<CommittedNode> memory;
  std::size_t a = 0;
  for (std::size_t i = 0; i < solution.near.nodes.size(); ++i) {
    CommittedNode entry;
    entry.node = solution.near_candidates[i];
    entry.u = u[i];
    entry.p_BAnchor = X_BA * (model_.points[entry.node] + entry.u);
    if (a < solution.touching.size() && solution.touching[a] == entry.node) {
      entry.force = forces.segment<3>(static_cast<Eigen::Index>(3 * a));
      if (solution.stuck_to[a]) entry.p_BAnchor = X_BA * *solution.stuck_to[a];
      ++a;
    }
    memory.push_back(entry);
  }
  return memory;
}

Response CondensedContact::respond(const Solution& solution, const CondensedHistory& history,
                                   const PairState& state) const {
  Response response = answer(solution, model_.options, model_.pressure, history.approach_speed, state);
  response.stored_energy += solution.penalty_energy;
  return response;
}

Response CondensedContact::evaluate(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  return respond(solve(own, state), own, state);
}

Response CondensedContact::evaluate_given(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  return respond(solve(own, state, Tangents::left_out), own, state);
}

std::vector<BatchEntry> CondensedContact::evaluate_given_all(const History& history,
                                                             std::span<const PairState> states) const {
  if (model_.options.friction > 0.0 || model_.deformable) {
    return ContactBackend::evaluate_given_all(history, states);
  }
  const CondensedHistory& own = condensed_history(history);
  std::vector<Solution> solutions(states.size());
  std::vector<BatchEntry> entries(states.size());
  std::vector<NormalTask> tasks;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < states.size(); ++i) {
    entries[i].error = refusal([&] { solutions[i] = begin(own, states[i]); });
    if (entries[i].error || !solutions[i].touches()) continue;
    tasks.push_back({.compliance = &model_.compliance, .near = &solutions[i].near});
    asked.push_back(i);
  }
  const std::vector<NormalOutcome> outcomes = solve_normal_contacts(tasks);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    entries[asked[k]].error = refusal([&] {
      if (outcomes[k].error) std::rethrow_exception(outcomes[k].error);
      take(outcomes[k].contact, solutions[asked[k]]);
    });
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!entries[i].error) entries[i].response = respond(solutions[i], own, states[i]);
  }
  return entries;
}

std::shared_ptr<CondensedHistory> CondensedContact::history_after(const Solution& solution,
                                                                  const CondensedHistory& before,
                                                                  const PairState& state) const {
  auto next = std::make_shared<CondensedHistory>();
  next->backend = name_;
  next->started = true;
  next->X_AB = state.X_AB;
  next->approach_speed = latched_speed(solution, model_.options, before.approach_speed, state);
  next->nodes = memory_of(solution, state);
  return next;
}

Committed CondensedContact::commit_given(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  const Solution solution = solve(own, state, Tangents::left_out);
  std::shared_ptr<CondensedHistory> next = history_after(solution, own, state);
  Response response = respond(solution, *next, state);
  return {.history = std::move(next), .response = response};
}

Committed CondensedContact::commit(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  const Solution solution = solve(own, state);
  std::shared_ptr<CondensedHistory> next = history_after(solution, own, state);
  next->surroundings = surroundings_of(*next);
  Response response = respond(solution, *next, state);
  return {.history = std::move(next), .response = response};
}

CondensedContact::SurfaceState CondensedContact::surface_state(const History& history, const PairState& state) const {
  const Solution solution = solve(condensed_history(history), state);
  SurfaceState result;
  std::vector<double> normal_forces;
  result.displacement.assign(model_.points.size(), Vector3::Zero());
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    normal_forces.push_back(node.lambda);
    forces.segment<3>(3 * static_cast<Eigen::Index>(i)) = node.lambda * node.surface.normal + node.traction;
  }
  result.pressure.assign(model_.points.size(), 0.0);
  if (model_.pressure.empty()) {
    for (std::size_t i = 0; i < normal_forces.size(); ++i) {
      result.pressure[solution.touching[i]] = normal_forces[i] / solution.nodes[i].area;
    }
  } else {
    const Eigen::MatrixXd at_nodes = recovered_pressure(solution, model_.pressure, normal_forces).at_nodes;
    std::copy_n(at_nodes.data(), result.pressure.size(), result.pressure.begin());
  }
  std::vector<std::uint32_t> all(model_.points.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const NodeFields<1> u = displacement(model_.compliance, all, solution.touching, forces);
  for (std::size_t i = 0; i < all.size(); ++i) result.displacement[i] = u.segment<3>(3 * static_cast<Eigen::Index>(i));
  return result;
}

std::string CondensedContact::fields(const History& history, const PairState& state,
                                     const FieldRequest& request) const {
  if (!model_.fields) return ContactBackend::fields(history, state, request);
  if (request.part == FieldPart::partner) {
    return model_.partner_fields ? draw_deformed_partner(history, state, request)
                                 : model_.fields->draw_partner(state.X_AB, request);
  }
  const NodeForces forces = node_forces(history, state);
  // The body deforms under the elastic forces; pressure and traction are those of the response, hysteresis included.
  DrawnState picture = model_.fields->linear_state(forces.elastic);
  picture.forces = forces.drawn;
  return model_.fields->draw_body(picture, forces.normals, request);
}

CondensedContact::NodeForces CondensedContact::node_forces(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  const Solution solution = solve(own, state);
  const std::vector<double> factors = hysteresis_factors(solution, model_.options, own.approach_speed, state);
  const std::vector<Vector3> none(model_.points.size(), Vector3::Zero());
  NodeForces forces{.elastic = none, .drawn = none, .normals = none, .feet = model_.points};
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    const std::uint32_t candidate = solution.touching[i];
    forces.normals[candidate] = node.surface.normal;
    forces.elastic[candidate] = node.lambda * node.surface.normal + node.traction;
    forces.drawn[candidate] = factors[i] * forces.elastic[candidate];
    forces.feet[candidate] = node.x - node.surface.gap * node.surface.normal;
  }
  return forces;
}

std::string CondensedContact::draw_deformed_partner(const History& history, const PairState& state,
                                                    const FieldRequest& request) const {
  const NodeForces forces = node_forces(history, state);
  FieldRequest on_B = request;
  on_B.X_WA = request.X_WA * state.X_AB;
  const auto on_partner = [&](const std::vector<Vector3>& f) {
    return model_.deformable->reactions(state.X_AB, forces.feet, f);
  };
  DrawnState picture = model_.partner_fields->linear_state(on_partner(forces.elastic));
  picture.forces = on_partner(forces.drawn);
  // Nodal normals only say which part of the forces is pressure.
  std::vector<Vector3> directions = on_partner(forces.normals);
  for (Vector3& n : directions) n = n.isZero(0.0) ? n : n.normalized();
  return model_.partner_fields->draw_body(picture, directions, on_B);
}

}  // namespace heelstrike::fem
