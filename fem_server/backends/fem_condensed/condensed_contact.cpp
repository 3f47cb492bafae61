#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Everything that the response is made of.
struct CondensedContact::Solution {
  double gap = 0.0;                       ///< [m] smallest, of the undeformed shapes
  std::size_t deepest = 0;                ///< candidate with that gap
  TouchingNode closest;                   ///< the same, undeformed
  std::vector<std::uint32_t> candidates;  ///< touching ones, ascending
  std::vector<TouchingNode> nodes;        ///< the same
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
    if (node->node == near.nodes[i]) positions.push_back(i);
  }
  return positions;
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
  const NormalContact contact = solve_normal_contact(model_.compliance, near, warm_start(history, near));
  solution.statistics.iterations = contact.iterations;
  solution.statistics.residual = contact.residual;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    const std::uint32_t candidate = near.nodes[contact.active[a]];
    TouchingNode node;
    node.x = model_.points[candidate];
    node.surface = surface[candidate];
    node.lambda = contact.lambda[static_cast<Eigen::Index>(a)];
    node.area = model_.areas[candidate];
    solution.candidates.push_back(candidate);
    solution.nodes.push_back(node);
  }
  const ForcedDisplacements forced = forced_displacements(model_, solution.candidates, solution.nodes, state.X_AB.p);
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) solution.nodes[i].u = forced.displacement(i);
  solution.derivatives =
      frictionless_derivatives(model_, solution.candidates, solution.nodes, contact.factor, forced, state.X_AB.p);
  return solution;
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
  fill_wrench(solution.nodes, solution.derivatives, state, hysteresis, response);
  return response;
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
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    CommittedNode entry;
    entry.node = solution.candidates[i];
    entry.force = node.lambda * node.surface.normal + node.traction;
    next->nodes.push_back(entry);
  }
  Response response = respond(solution, *next, state);
  return {.history = std::move(next), .response = response};
}

CondensedContact::SurfaceState CondensedContact::surface_state(const History& history, const PairState& state) const {
  const Solution solution = solve(condensed_history(history), state);
  SurfaceState result;
  result.pressure.assign(model_.points.size(), 0.0);
  result.displacement.assign(model_.points.size(), Vector3::Zero());
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * solution.nodes.size()));
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    result.pressure[solution.candidates[i]] = node.lambda / node.area;
    forces.segment<3>(3 * static_cast<Eigen::Index>(i)) = node.lambda * node.surface.normal + node.traction;
  }
  std::vector<std::uint32_t> all(model_.points.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const NodeFields<1> u = displacement<1>(model_.compliance, all, solution.candidates, forces);
  for (std::size_t i = 0; i < all.size(); ++i) result.displacement[i] = u.segment<3>(3 * static_cast<Eigen::Index>(i));
  return result;
}

}  // namespace heelstrike::fem
