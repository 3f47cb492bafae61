#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/body_fields.hpp"
#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/backends/fem_condensed/friction_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Everything that the response is made of.
struct CondensedContact::Solution {
  double gap = 0.0;                       ///< [m] smallest, of the undeformed shapes
  std::size_t deepest = 0;                ///< candidate with that gap
  TouchingNode closest;                   ///< the same, undeformed
  std::vector<std::uint32_t> candidates;  ///< touching ones, ascending
  std::vector<TouchingNode> nodes;        ///< the same
  std::vector<CommittedNode> memory;      ///< what a commit would remember of the near nodes, ascending
  double dissipated = 0.0;                ///< [J] by friction since the commit
  NodeDerivatives derivatives;
  SolverStatistics statistics;
};

namespace {

SurfacePoint in_A(const PartnerSurface& partner, const Pose& X_AB, const Vector3& p_AQ) {
  SurfacePoint point = partner.closest(X_AB.R.transpose() * (p_AQ - X_AB.p));
  point.normal = X_AB.R * point.normal;
  if (!point.curvature.isZero(0.0)) point.curvature = X_AB.R * point.curvature * X_AB.R.transpose();
  return point;
}

/// Positions in `near` of the nodes that touched at the last commit.
std::vector<std::uint32_t> warm_start(const CondensedHistory& history, const NearNodes& near) {
  std::vector<std::uint32_t> positions;
  auto node = history.nodes.begin();
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    while (node != history.nodes.end() && node->node < near.nodes[i]) ++node;
    if (node == history.nodes.end()) break;
    if (node->node == near.nodes[i] && !node->force.isZero(0.0)) positions.push_back(i);
  }
  return positions;
}

const CommittedNode* find_node(const CondensedHistory& history, std::uint32_t candidate) {
  const auto found =
      std::lower_bound(history.nodes.begin(), history.nodes.end(), candidate,
                       [](const CommittedNode& node, std::uint32_t number) { return node.node < number; });
  return found != history.nodes.end() && found->node == candidate ? &*found : nullptr;
}

/// A touching node sticks to the point of B that it was committed to. A node that has come down since the commit sticks
/// to where it met B: between its committed place relative to B and the present one, at the fraction of the way where
/// the undeformed gap went through zero. Deformation since the commit counts as slip in full.
Anchor anchor_of(const CondensedHistory& history, const PartnerSurface& partner, const Pose& X_AB, const Vector3& x,
                 std::uint32_t candidate, const SurfacePoint& surface) {
  Anchor anchor;
  if (!history.started) {
    anchor.p_AP = x;
    return anchor;
  }
  const CommittedNode* node = find_node(history, candidate);
  const Pose X_BA_committed = history.X_AB.inverse();
  const Vector3 p_BQ = node != nullptr ? node->p_BAnchor : X_BA_committed * x;
  const Vector3 p_AQ = X_AB * p_BQ;
  Matrix36 carried;
  carried << -skew(p_AQ - X_AB.p), Matrix3::Identity();
  if (node != nullptr && !node->force.isZero(0.0)) return {.p_AP = p_AQ, .dp_dX = carried};
  const double gap_before = std::max(partner.closest(X_BA_committed * x).gap, 0.0);
  const double travel = gap_before - surface.gap;
  const double fraction = surface.gap < 0.0 ? gap_before / travel : 1.0;
  const Vector3 here = x + (history.X_AB * p_BQ - x);  // present place: reference position and committed displacement
  anchor.p_AP = (1.0 - fraction) * p_AQ + fraction * here;
  anchor.dp_dX = (1.0 - fraction) * carried;
  if (fraction < 1.0) {
    TouchingNode undeformed;
    undeformed.x = x;
    undeformed.surface = surface;
    anchor.dp_dX -= (here - p_AQ) * (fraction / travel * gap_wrench(undeformed, X_AB.p).transpose());
  }
  return anchor;
}

/// Displacements of the touching nodes by their forces, and by the turning of these forces with the pose: the latter as
/// six fields d u / d X at fixed force components.
struct ForcedDisplacements {
  NodeFields<8> u;
  [[nodiscard]] Vector3 displacement(std::size_t i) const { return u.block<3, 1>(3 * static_cast<Eigen::Index>(i), 0); }
  [[nodiscard]] Matrix36 by_rotation(std::size_t i) const { return u.block<3, 6>(3 * static_cast<Eigen::Index>(i), 1); }
};

ForcedDisplacements forced_displacements(const CondensedModel& model, std::span<const std::uint32_t> candidates,
                                         const std::vector<TouchingNode>& nodes, const Vector3& p_AB) {
  NodeFields<8> forces = NodeFields<8>::Zero(static_cast<Eigen::Index>(3 * nodes.size()), 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i);
    forces.block<3, 1>(row, 0) = nodes[i].lambda * nodes[i].surface.normal + nodes[i].traction;
    forces.block<3, 6>(row, 1) = force_rotation(nodes[i], p_AB);
  }
  return {displacement<8>(model.compliance, candidates, candidates, forces)};
}

/// d lambda / d X = A^-1 (G - N^T d u / d X at fixed lambda), then d u / d X.
NodeDerivatives frictionless_derivatives(const CondensedModel& model, std::span<const std::uint32_t> candidates,
                                         const std::vector<TouchingNode>& nodes, const Eigen::MatrixXd& factor,
                                         const ForcedDisplacements& forced, const Vector3& p_AB) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd dlambda(m, 6);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    dlambda.row(static_cast<Eigen::Index>(i)) =
        gap_wrench(nodes[i], p_AB).transpose() - nodes[i].surface.normal.transpose() * forced.by_rotation(i);
  }
  solve_lower(factor, dlambda);
  solve_lower_transposed(factor, dlambda);
  NodeFields<8> forces = NodeFields<8>::Zero(3 * m, 8);
  for (Eigen::Index i = 0; i < m; ++i) {
    forces.block<3, 6>(3 * i, 0) = nodes[static_cast<std::size_t>(i)].surface.normal * dlambda.row(i);
  }
  const NodeFields<8> u = displacement<8>(model.compliance, candidates, candidates, forces);
  NodeDerivatives derivatives;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    derivatives.lambda.emplace_back(dlambda.row(row));
    derivatives.traction.emplace_back(Matrix36::Zero());
    derivatives.u.emplace_back(u.block<3, 6>(3 * row, 0) + forced.by_rotation(i));
  }
  return derivatives;
}

}  // namespace

CondensedContact::CondensedContact(std::string name, CondensedModel model, ParameterMap parameters)
    : name_(std::move(name)), model_(std::move(model)), parameters_(std::move(parameters)) {
  if (model_.points.size() != model_.areas.size() || model_.points.size() != model_.compliance.n_nodes()) {
    throw Error(ErrorCode::internal, "condensed contact: points, areas and compliance differ in size");
  }
}

std::shared_ptr<const History> CondensedContact::initial_history() const {
  auto history = std::make_shared<CondensedHistory>();
  history->backend = name_;
  return history;
}

std::shared_ptr<const History> CondensedContact::load_history(std::string_view bytes) const {
  return std::make_shared<const CondensedHistory>(CondensedHistory::load(bytes, name_, model_.points.size()));
}

CondensedContact::Solution CondensedContact::solve(const CondensedHistory& history, const PairState& state) const {
  Solution solution;
  std::vector<SurfacePoint> surface(model_.points.size());
  for (std::size_t i = 0; i < surface.size(); ++i) {
    surface[i] = in_A(*model_.partner, state.X_AB, model_.points[i]);
    if (surface[i].gap < surface[solution.deepest].gap) solution.deepest = i;
  }
  solution.gap = surface[solution.deepest].gap;
  solution.closest.x = model_.points[solution.deepest];
  solution.closest.surface = surface[solution.deepest];
  const double depth = -solution.gap;
  if (depth < 0.0) return solution;
  if (depth > model_.options.depth_limit) {
    throw RecoverableError(
        fmt::format("bodies overlap by {} m, deeper than depth_limit = {} m at t = {} s; take a smaller "
                    "step, correct the initial pose or raise depth_limit",
                    depth, model_.options.depth_limit, state.t));
  }
  // The surface rises nowhere by more than the partner has pushed it down: farther nodes cannot touch.
  NearNodes near;
  for (std::uint32_t i = 0; i < surface.size(); ++i) {
    if (surface[i].gap > depth) continue;
    near.nodes.push_back(i);
    near.gaps.push_back(surface[i].gap);
    near.normals.push_back(surface[i].normal);
  }
  if (model_.options.friction > 0.0) {
    solve_with_friction(history, state, std::move(near), surface, solution);
  } else {
    solve_frictionless(history, state, near, surface, solution);
  }
  return solution;
}

void CondensedContact::add_node(std::uint32_t candidate, const SurfacePoint& surface, double lambda,
                                const Vector3& traction, Solution& solution) const {
  TouchingNode node;
  node.x = model_.points[candidate];
  node.surface = surface;
  node.lambda = lambda;
  node.traction = traction;
  node.area = model_.areas[candidate];
  solution.candidates.push_back(candidate);
  solution.nodes.push_back(node);
}

void CondensedContact::solve_frictionless(const CondensedHistory& history, const PairState& state,
                                          const NearNodes& near, const std::vector<SurfacePoint>& surface,
                                          Solution& solution) const {
  const NormalContact contact = solve_normal_contact(model_.compliance, near, warm_start(history, near));
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    const std::uint32_t candidate = near.nodes[contact.active[a]];
    add_node(candidate, surface[candidate], contact.lambda[static_cast<Eigen::Index>(a)], Vector3::Zero(), solution);
  }
  const ForcedDisplacements forced = forced_displacements(model_, solution.candidates, solution.nodes, state.X_AB.p);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    TouchingNode& node = solution.nodes[i];
    node.u = forced.displacement(i);
    CommittedNode entry;
    entry.node = solution.candidates[i];
    entry.force = node.lambda * node.surface.normal;
    entry.p_BAnchor = state.X_AB.inverse() * (node.x + node.u);
    solution.memory.push_back(entry);
  }
  solution.derivatives =
      frictionless_derivatives(model_, solution.candidates, solution.nodes, contact.factor, forced, state.X_AB.p);
}

void CondensedContact::solve_with_friction(const CondensedHistory& history, const PairState& state, NearNodes near,
                                           const std::vector<SurfacePoint>& surface, Solution& solution) const {
  FrictionProblem problem;
  problem.friction = model_.options.friction;
  const NormalContact start = solve_normal_contact(model_.compliance, near, warm_start(history, near));
  problem.first_active = start.active;
  problem.first_lambda = start.lambda;
  for (const std::uint32_t i : start.active) {
    const CommittedNode* node = find_node(history, near.nodes[i]);
    const Vector3& n = near.normals[i];
    problem.first_traction.emplace_back(node != nullptr ? Vector3(node->force - n * n.dot(node->force))
                                                        : Vector3::Zero());
  }
  for (std::size_t i = 0; i < near.nodes.size(); ++i) {
    const Vector3& x = model_.points[near.nodes[i]];
    problem.positions.push_back(x);
    problem.anchors.push_back(
        anchor_of(history, *model_.partner, state.X_AB, x, near.nodes[i], surface[near.nodes[i]]));
  }
  problem.near = std::move(near);
  const FrictionContact contact = solve_friction_contact(model_.compliance, problem);
  solution.statistics.iterations = start.iterations + contact.iterations;
  solution.statistics.residual = contact.residual;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    const std::uint32_t candidate = problem.near.nodes[contact.active[a]];
    add_node(candidate, surface[candidate], contact.lambda[static_cast<Eigen::Index>(a)], contact.traction[a],
             solution);
    solution.dissipated -= contact.traction[a].dot(contact.slip[a]);
  }
  const ForcedDisplacements forced = forced_displacements(model_, solution.candidates, solution.nodes, state.X_AB.p);
  std::vector<Matrix36> by_rotation;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    solution.nodes[i].u = forced.displacement(i);
    by_rotation.push_back(forced.by_rotation(i));
  }
  solution.derivatives = friction_derivatives(model_.compliance, problem, contact, solution.candidates, solution.nodes,
                                              by_rotation, state.X_AB.p);
  remember(problem, contact, state, solution);
}

void CondensedContact::remember(const FrictionProblem& problem, const FrictionContact& contact, const PairState& state,
                                Solution& solution) const {
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t a = 0; a < solution.nodes.size(); ++a) {
    const TouchingNode& node = solution.nodes[a];
    forces.segment<3>(static_cast<Eigen::Index>(3 * a)) = node.lambda * node.surface.normal + node.traction;
  }
  const NodeFields<1> u = displacement<1>(model_.compliance, problem.near.nodes, solution.candidates, forces);
  const Pose X_BA = state.X_AB.inverse();
  std::size_t a = 0;
  for (std::uint32_t i = 0; i < problem.near.nodes.size(); ++i) {
    const Vector3 y = problem.positions[i] + u.segment<3>(static_cast<Eigen::Index>(3 * i));
    CommittedNode entry{.node = problem.near.nodes[i], .force = Vector3::Zero(), .p_BAnchor = X_BA * y};
    if (a < contact.active.size() && contact.active[a] == i) {
      entry.force = forces.segment<3>(static_cast<Eigen::Index>(3 * a));
      if (!contact.sliding[a]) entry.p_BAnchor = X_BA * problem.anchors[i].p_AP;
      ++a;
    }
    solution.memory.push_back(entry);
  }
}

Response CondensedContact::respond(const Solution& solution, const CondensedHistory& history,
                                   const PairState& state) const {
  Response response;
  response.gap = solution.gap;
  response.statistics = solution.statistics;
  const Vector6 G = gap_wrench(solution.closest, state.X_AB.p);
  response.gap_rate = -G.dot(state.V_AB.vector());
  response.p_ACop = solution.closest.x;
  if (solution.nodes.empty()) return response;
  Hysteresis hysteresis;
  hysteresis.factor = model_.options.hysteresis_factor;
  const double closing = -response.gap_rate;
  hysteresis.follows = !history.approach_speed && closing > model_.options.approach_speed_floor;
  hysteresis.speed = std::max(history.approach_speed.value_or(closing), model_.options.approach_speed_floor);
  hysteresis.approach = G;
  std::vector<double> pressures;
  fill_wrench(solution.nodes, solution.derivatives, state, hysteresis, response, pressures);
  response.peak_pressure = peak_pressure(solution.candidates, pressures);
  response.dissipated_increment = solution.dissipated;
  return response;
}

std::vector<double> CondensedContact::mean_pressures(std::span<const std::uint32_t> touching,
                                                     std::span<const double> pressures) const {
  std::vector<double> nodal(model_.points.size(), 0.0);
  for (std::size_t i = 0; i < touching.size(); ++i) nodal[touching[i]] = pressures[i];
  if (model_.mean.empty()) return nodal;
  std::vector<double> mean(nodal.size(), 0.0);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    for (const auto& [neighbour, weight] : model_.mean[i]) mean[i] += weight * nodal[neighbour];
  }
  return mean;
}

double CondensedContact::peak_pressure(std::span<const std::uint32_t> touching,
                                       std::span<const double> pressures) const {
  const std::vector<double> mean = mean_pressures(touching, pressures);
  return *std::max_element(mean.begin(), mean.end());
}

Response CondensedContact::evaluate(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  return respond(solve(own, state), own, state);
}

Committed CondensedContact::commit(const History& history, const PairState& state) const {
  const CondensedHistory& own = condensed_history(history);
  const Solution solution = solve(own, state);
  auto next = std::make_shared<CondensedHistory>();
  next->backend = name_;
  next->started = true;
  next->X_AB = state.X_AB;
  next->approach_speed = own.approach_speed;
  const double closing = gap_wrench(solution.closest, state.X_AB.p).dot(state.V_AB.vector());
  if (!next->approach_speed && (solution.gap < 0.0 || (solution.gap == 0.0 && closing > 0.0))) {
    next->approach_speed = std::max(closing, model_.options.approach_speed_floor);
  } else if (next->approach_speed && solution.gap >= 0.0 && closing <= 0.0) {
    next->approach_speed.reset();
  }
  next->nodes = solution.memory;
  Response response = respond(solution, *next, state);
  return {.history = std::move(next), .response = response};
}

CondensedContact::SurfaceState CondensedContact::surface_state(const History& history, const PairState& state) const {
  const Solution solution = solve(condensed_history(history), state);
  SurfaceState result;
  std::vector<double> pressures;
  result.displacement.assign(model_.points.size(), Vector3::Zero());
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    pressures.push_back(node.lambda / node.area);
    forces.segment<3>(3 * static_cast<Eigen::Index>(i)) = node.lambda * node.surface.normal + node.traction;
  }
  result.pressure = mean_pressures(solution.candidates, pressures);
  std::vector<std::uint32_t> all(model_.points.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const NodeFields<1> u = displacement<1>(model_.compliance, all, solution.candidates, forces);
  for (std::size_t i = 0; i < all.size(); ++i) result.displacement[i] = u.segment<3>(3 * static_cast<Eigen::Index>(i));
  return result;
}

std::string CondensedContact::fields(const History& history, const PairState& state,
                                     const FieldRequest& request) const {
  if (!model_.fields) return ContactBackend::fields(history, state, request);
  if (request.part == FieldPart::partner) return model_.fields->draw_partner(state.X_AB, request);
  const CondensedHistory& own = condensed_history(history);
  const Solution solution = solve(own, state);
  const Vector6 V = state.V_AB.vector();
  const double closing = gap_wrench(solution.closest, state.X_AB.p).dot(V);
  const double speed = std::max(own.approach_speed.value_or(closing), model_.options.approach_speed_floor);
  std::vector<Vector3> elastic(model_.points.size(), Vector3::Zero());
  std::vector<Vector3> normals = elastic;
  std::vector<Vector3> drawn = elastic;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    const std::uint32_t candidate = solution.candidates[i];
    const double rate = gap_wrench(node, state.X_AB.p).dot(V);
    const double factor = std::max(0.0, 1.0 + model_.options.hysteresis_factor / speed * rate);
    normals[candidate] = node.surface.normal;
    elastic[candidate] = node.lambda * node.surface.normal + node.traction;
    drawn[candidate] = factor * elastic[candidate];
  }
  // The body deforms under the elastic forces; pressure and traction are those of the response, hysteresis included.
  DrawnState picture = model_.fields->linear_state(std::move(elastic));
  picture.forces = std::move(drawn);
  return model_.fields->draw_body(picture, normals, request);
}

}  // namespace heelstrike::fem
