#include "fem_server/backends/fem_full/full_bodies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/detection/candidate_cache.hpp"
#include "fem_server/backends/fem_condensed/detection/interface_pressure.hpp"
#include "fem_server/backends/fem_condensed/kernels/compliance_product.hpp"
#include "fem_server/backends/fem_condensed/solver/normal_contact.hpp"
#include "fem_server/backends/fem_full/load_steps.hpp"
#include "fem_server/backends/shared/contact_answer.hpp"
#include "fem_server/backends/shared/surface_regions.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

/// Each step gains a factor of the order of the strains.
constexpr int step_limit = 60;
/// Steps after which the functions of the interface keep their places: one at the edge of joining its neighbour, or two
/// triangles at the edge of facing each other, may go back and forth.
constexpr int matching_limit = 30;
/// From this factor between the changes of two steps on new matrices are worth their price.
constexpr double slow_step = 0.5;
/// Last change of the displacements over the depth.
constexpr double step_tolerance = 1e-9;
/// Motion by which derivatives of the interface are differences, over the depth. Its error is of second order in it,
/// that by the rounding of coordinates 1e-16 of them over the motion.
constexpr double difference_step = 1e-4;
/// Of derivatives of the forces, from pass to pass; each gains a factor of the order of the strains.
constexpr double derivative_accuracy = 1e-7;
constexpr int derivative_passes = 20;

const InterfacePlace* find_place(const std::vector<InterfacePlace>& places, std::uint32_t node) {
  const auto found = std::ranges::lower_bound(places, node, {}, &InterfacePlace::node);
  return found != places.end() && found->node == node ? &*found : nullptr;
}

}  // namespace

struct FullBodies::Solution : SolvedContact {
  Both<Eigen::VectorXd> u;                   // [m]
  Eigen::VectorXd lambda;                    // [N] of all contact nodes of A
  double energy = 0.0;                       // [J]
  std::vector<InterfacePlace> places;        // of the displaced surfaces
  Both<Eigen::VectorXd> matched;             // [m] at which these were found
  std::vector<std::uint32_t> near;           // places that may touch
  std::vector<std::uint32_t> touching_near;  // positions in `near`
  WeightedNodes on_A;                        // of `near`
  std::vector<double> areas;                 // [m^2] of `near`
  std::vector<std::uint32_t> near_nodes;
  [[nodiscard]] const InterfacePlace& touching_place(std::size_t i) const { return places[near[touching_near[i]]]; }
  [[nodiscard]] InterfaceContact contact() const {
    return {.on_A = &on_A,
            .areas = areas,
            .nodes = near_nodes,
            .touching = touching_near,
            .n_nodes = static_cast<std::size_t>(lambda.size())};
  }
};

FullBodies::FullBodies(std::string name, FullBodiesModel model, ParameterMap parameters, const std::stop_token& stop)
    : ContactBackend({.parameters = std::move(parameters), .heavy = true, .regions = region_names(model.regions)}),
      name_(std::move(name)),
      model_(std::move(model)) {
  use_one_blas_thread();
  bodies_.emplace_back(std::move(model_.main), stop);
  model_.partner.memory_limit.held += bodies_[0].memory_need().total();
  bodies_.emplace_back(std::move(model_.partner), stop);
  std::vector<Vector3> points;
  for (const std::uint32_t node : bodies_[0].contact_nodes()) points.push_back(bodies_[0].body().mesh().nodes[node]);
  size_ = ball_around(points).radius;
}

std::shared_ptr<const History> FullBodies::initial_history() const {
  return FullBodiesHistory::of_backend(name_);
}

std::shared_ptr<const History> FullBodies::load_history(std::string_view bytes) const {
  auto history = FullBodiesHistory::load(bytes, name_);
  const std::array<Eigen::Index, 3> found{history->u_A.size(), history->u_B.size(), history->lambda.size()};
  const std::array<Eigen::Index, 3> expected{static_cast<Eigen::Index>(bodies_[0].body().n_dofs()),
                                             static_cast<Eigen::Index>(bodies_[1].body().n_dofs()),
                                             static_cast<Eigen::Index>(bodies_[0].contact_nodes().size())};
  if (found == expected || found == std::array<Eigen::Index, 3>{}) return history;
  throw input_error("state", fmt::format("history of back-end '{}': expected {}, {} and {} numbers (displacements of "
                                         "both bodies, normal forces) or none, found {}, {} and {}; restore a state of "
                                         "the same bodies",
                                         name_, expected[0], expected[1], expected[2], found[0], found[1], found[2]));
}

Interface FullBodies::begin(const PairState& state, Solution& solution) const {
  std::vector<double> gaps;
  solution.gap = std::numeric_limits<double>::infinity();
  for (const std::uint32_t node : bodies_[0].contact_nodes()) {
    const Vector3& x = bodies_[0].body().mesh().nodes[node];
    const SurfacePoint point = surface_in_A(*model_.partner_distance, state.X_AB, x);
    gaps.push_back(point.gap);
    if (point.gap >= solution.gap) continue;
    solution.gap = point.gap;
    solution.closest.x = x;
    solution.closest.surface = point;
  }
  const BodyInterface interface(model_.main_surface, gaps.size(),
                                std::make_shared<const DeformablePartner>(model_.partner_surface, SurfaceCompliance()),
                                model_.options.depth_limit);
  return begin_between_bodies(interface, gaps, state, model_.options, size_, solution);
}

std::vector<InterfacePlace> FullBodies::places_at(const Pose& X_AB, const Interface& undeformed,
                                                  const Both<Eigen::VectorXd>& u) const {
  const BodyInterface interface(
      displaced(model_.main_surface, u[0]), bodies_[0].contact_nodes().size(),
      std::make_shared<const DeformablePartner>(displaced(model_.partner_surface, u[1]), SurfaceCompliance()),
      model_.options.depth_limit);
  return interface.displaced_places(X_AB, undeformed);
}

Vector3 FullBodies::relative(const InterfacePlace& place, const Matrix3& R_AB, const Both<Eigen::VectorXd>& u) const {
  return bodies_[0].mean(place.on_A, u[0]) - R_AB * bodies_[1].mean(place.on_B, u[1]);
}

void FullBodies::add_loads(const InterfacePlace& place, const Matrix3& R_AB, const Vector3& force,
                           Both<Eigen::VectorXd>& loads) const {
  const auto add = [&](std::size_t body, std::span<const WeightedNodes::Entry> weights, const Vector3& own) {
    for (const auto& [c, weight] : weights) {
      loads[body].segment<3>(3 * Eigen::Index{bodies_[body].contact_nodes()[c]}) += weight * own;
    }
  };
  add(0, place.on_A, force);
  add(1, place.on_B, -(R_AB.transpose() * force));
}

FullBodies::Both<Eigen::VectorXd> FullBodies::press(const PairState& state, double offset,
                                                    const Both<Eigen::VectorXd>& free, Solution& solution) const {
  const Matrix3& R_AB = state.X_AB.R;
  std::vector<double> gaps;  // [m] of the places, without contact forces
  double depth = -solution.gap;
  const Both<Eigen::VectorXd> since{free[0] - solution.matched[0], free[1] - solution.matched[1]};
  for (const InterfacePlace& place : solution.places) {
    gaps.push_back(place.gap + offset + place.normal.dot(relative(place, R_AB, since)));
    depth = std::max(depth, -gaps.back());
  }
  NearNodes near;
  WeightedNodes on_B;
  solution.near.clear();
  solution.on_A = {};
  solution.areas.clear();
  solution.near_nodes.clear();
  solution.touching_near.clear();
  for (std::uint32_t i = 0; i < solution.places.size(); ++i) {
    const InterfacePlace& place = solution.places[i];
    const double before = solution.lambda[place.node];
    // The surface rises nowhere by more than the partner has pushed it down: farther functions cannot touch.
    if (gaps[i] > depth && !(before > 0.0)) continue;
    near.nodes.push_back(static_cast<std::uint32_t>(near.nodes.size()));
    near.gaps.push_back(gaps[i]);
    near.normals.push_back(place.normal);
    near.force_before.emplace_back(before * place.normal);
    near.u_before.emplace_back(Vector3::Zero());
    near.known.push_back(false);
    solution.near.push_back(i);
    solution.near_nodes.push_back(place.node);
    solution.areas.push_back(place.area);
    solution.on_A.add_place(place.on_A);
    on_B.add_place(place.on_B);
  }
  near.compliance_changed = true;
  solution.lambda.setZero();
  if (near.deepest() == 0.0) return free;  // nobody has to be pushed
  const SurfaceCompliance both =
      sum(bodies_[0].seen_from(solution.on_A, Matrix3::Identity()), bodies_[1].seen_from(on_B, R_AB));
  const NormalContact contact = solve_normal_contact({.compliance = &both, .near = &near});
  solution.touching_near = contact.active;
  Both<Eigen::VectorXd> loads{bodies_[0].at_rest(), bodies_[1].at_rest()};
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    const InterfacePlace& place = solution.touching_place(a);
    const double lambda = contact.lambda[static_cast<Eigen::Index>(a)];
    solution.lambda[place.node] = lambda;
    add_loads(place, R_AB, lambda * place.normal, loads);
  }
  Both<Eigen::VectorXd> u = free;
  for (std::size_t body = 0; body < u.size(); ++body) u[body] += bodies_[body].moved_by(loads[body]);
  return u;
}

bool FullBodies::equilibrium(const PairState& state, const Interface& undeformed, double offset,
                             Solution& solution) const {
  const double length = -solution.gap;
  const double rounding = std::max(rounding_of(bodies_[0].body()), rounding_of(bodies_[1].body()));
  for (FullBody& body : bodies_) body.take_matrix_at_rest();
  double change_before = std::numeric_limits<double>::infinity();
  bool may_refresh = true;
  for (int iteration = 1; iteration <= step_limit; ++iteration) {
    ++solution.statistics.iterations;
    Both<Eigen::VectorXd> free;
    solution.energy = 0.0;
    for (std::size_t body = 0; body < free.size(); ++body) {
      std::optional<FullBody::Step> step = bodies_[body].without_load(solution.u[body]);
      if (!step) return false;
      free[body] = std::move(step->u);
      solution.energy += step->energy;
    }
    if (iteration <= matching_limit) {
      solution.places = places_at(state.X_AB, undeformed, solution.u);
      solution.matched = solution.u;
    }
    const Both<Eigen::VectorXd> u = press(state, offset, free, solution);
    double change = 0.0;
    for (std::size_t body = 0; body < u.size(); ++body) {
      change = std::max(change, (u[body] - solution.u[body]).cwiseAbs().maxCoeff());
    }
    if (!std::isfinite(change)) return false;
    solution.u = u;
    solution.statistics.residual = change / length;
    if (change <= step_tolerance * length) return true;
    // Where the bodies have only just met, the depth itself is hardly more than rounding: there is nothing to gain.
    if (change <= rounding && change > slow_step * change_before) return true;
    const bool refresh = may_refresh && change > slow_step * change_before;
    change_before = refresh ? std::numeric_limits<double>::infinity() : change;
    if (!refresh) continue;
    may_refresh = false;
    for (std::size_t body = 0; body < u.size(); ++body) may_refresh |= bodies_[body].take_matrix_at(u[body]);
  }
  return false;
}

FullBodies::Solution FullBodies::solve(const FullBodiesHistory& history, const PairState& state,
                                       const EvaluateOptions& options) const {
  Solution solution;
  const Interface undeformed = begin(state, solution);
  if (solution.gap >= 0.0) return solution;
  const std::scoped_lock lock(mutex_);
  const auto start = [&](bool at_rest) {
    solution.u = {bodies_[0].at_rest(), bodies_[1].at_rest()};
    solution.lambda = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(bodies_[0].contact_nodes().size()));
    if (at_rest || history.u_A.size() == 0) return;
    solution.u = {history.u_A, history.u_B};
    solution.lambda = history.lambda;
  };
  const auto found = [&](double offset) {
    try {
      return equilibrium(state, undeformed, offset, solution);
    } catch (const RecoverableError&) {
      return false;
    }
  };
  start(false);
  if (!found(0.0)) {
    load_in_steps(name_, -solution.gap, [&](double offset, bool restart) {
      if (restart) start(true);
      return found(offset);
    });
  }
  for (std::size_t i = 0; i < solution.touching_near.size(); ++i) {
    const InterfacePlace& place = solution.touching_place(i);
    if (place.outside) refuse_unknown_place(place.point);
    TouchingNode node;
    node.x = place.point;
    node.surface = {.gap = 0.0, .normal = place.normal};
    node.lambda = solution.lambda[place.node];
    node.area = place.area;
    solution.touching.push_back(place.node);
    solution.nodes.push_back(node);
  }
  if (options.tangents && !solution.nodes.empty()) differentiate(state, undeformed, solution);
  return solution;
}

/// With the pose, along one direction of it.
struct FullBodies::Derivative {
  Both<Eigen::VectorXd> u;  ///< [m] of the displacements
  Eigen::VectorXd lambda;   ///< [N] of the touching functions
  Eigen::VectorXd gap;      ///< [m] of the touching functions, by the motion of the surfaces; and, at constant lambda,
  Both<Eigen::VectorXd> load;  ///< [N] of their loads
  std::vector<Vector3> normal;
  std::vector<Vector3> point;  ///< [m]
};

void FullBodies::differentiate_geometry(const PairState& state, const Interface& undeformed, const Solution& solution,
                                        Eigen::Index direction, Derivative& now) const {
  const Vector6 e = Vector6::Unit(direction);
  // Of the largest motion of a surface.
  double motion = direction < 3 ? size_ : 1.0;
  for (const Eigen::VectorXd& u : now.u) motion = std::max(motion, u.cwiseAbs().maxCoeff());
  const double h = difference_step * -solution.gap / motion;
  Both<Pose> poses{state.X_AB, state.X_AB};
  Both<std::vector<InterfacePlace>> places;
  for (std::size_t end = 0; end < 2; ++end) {
    const double step = end == 0 ? -h : h;
    poses[end].R = rotation_from_vector(step * e.head<3>()) * poses[end].R;
    poses[end].p += step * e.tail<3>();
    places[end] = places_at(poses[end], undeformed,
                            {solution.matched[0] + step * now.u[0], solution.matched[1] + step * now.u[1]});
  }
  now.load = {bodies_[0].at_rest(), bodies_[1].at_rest()};
  const auto m = solution.nodes.size();
  now.gap = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(m));
  now.normal.assign(m, Vector3::Zero());
  now.point.assign(m, Vector3::Zero());
  for (std::size_t i = 0; i < m; ++i) {
    const InterfacePlace& place = solution.touching_place(i);
    const double lambda = solution.nodes[i].lambda;
    const InterfacePlace* back = find_place(places[0], place.node);
    const InterfacePlace* forth = find_place(places[1], place.node);
    if (back != nullptr && forth != nullptr) {
      now.gap[static_cast<Eigen::Index>(i)] = (forth->gap - back->gap) / (2.0 * h);
      now.normal[i] = (forth->normal - back->normal) / (2.0 * h);
      now.point[i] = (forth->point - back->point) / (2.0 * h);
      add_loads(*forth, poses[1].R, lambda / (2.0 * h) * forth->normal, now.load);
      add_loads(*back, poses[0].R, -lambda / (2.0 * h) * back->normal, now.load);
      continue;
    }
    // The function joins another one: it moves as a plane of B.
    now.normal[i] = normal_rotation(solution.nodes[i], state.X_AB.p) * e;
    now.point[i] = bodies_[0].mean(place.on_A, now.u[0]);
    now.gap[static_cast<Eigen::Index>(i)] =
        place.normal.dot(relative(place, state.X_AB.R, now.u)) - gap_wrench(solution.nodes[i], state.X_AB.p).dot(e);
    Both<Eigen::VectorXd> turned{bodies_[0].at_rest(), bodies_[1].at_rest()};
    add_loads(place, state.X_AB.R, lambda * now.normal[i], turned);
    now.load[0] += turned[0];  // in its own axes the force on B does not turn
  }
}

void FullBodies::differentiate(const PairState& state, const Interface& undeformed, Solution& solution) const {
  const std::size_t m = solution.nodes.size();
  const auto rows = static_cast<Eigen::Index>(m);
  const Matrix3& R_AB = state.X_AB.R;
  WeightedNodes on_A, on_B;
  std::vector<Vector3> normals;
  for (std::size_t i = 0; i < m; ++i) {
    on_A.add_place(solution.touching_place(i).on_A);
    on_B.add_place(solution.touching_place(i).on_B);
    normals.push_back(solution.nodes[i].surface.normal);
  }
  std::vector<std::uint32_t> all(m);
  std::iota(all.begin(), all.end(), 0U);
  const auto present_factor = [&] {
    const SurfaceCompliance both =
        sum(bodies_[0].seen_from(on_A, Matrix3::Identity()), bodies_[1].seen_from(on_B, R_AB));
    const NormalBlocks blocks{.compliance = &both, .nodes = all, .normals = normals};
    Eigen::MatrixXd factor = delassus_matrices(std::span(&blocks, 1)).front();
    if (!cholesky_in_place(factor)) throw Error(ErrorCode::internal, "fem_full: the contact's matrix is not definite");
    return factor;
  };
  // Of the matrices that the solution was found with: mostly near enough to correct by, and for nothing.
  Eigen::MatrixXd factor = present_factor();
  bool may_refresh = false;
  for (std::size_t body = 0; body < 2; ++body) may_refresh |= bodies_[body].take_matrix_at(solution.u[body]);

  std::array<Derivative, 6> directions;
  for (Derivative& now : directions) {
    now.u = {bodies_[0].at_rest(), bodies_[1].at_rest()};
    now.lambda = Eigen::VectorXd::Zero(rows);
  }
  const auto loads_of = [&](const Eigen::VectorXd& lambda, Both<Eigen::VectorXd>& loads) {
    for (std::size_t i = 0; i < m; ++i) {
      add_loads(solution.touching_place(i), R_AB, lambda[static_cast<Eigen::Index>(i)] * normals[i], loads);
    }
  };
  for (Eigen::Index k = 0; k < 6; ++k) {
    Derivative& now = directions[static_cast<std::size_t>(k)];
    double before = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < derivative_passes; ++pass) {
      differentiate_geometry(state, undeformed, solution, k, now);
      Both<Eigen::VectorXd> loads = now.load;
      loads_of(now.lambda, loads);
      Both<Eigen::VectorXd> u{bodies_[0].towards(loads[0], now.u[0]), bodies_[1].towards(loads[1], now.u[1])};
      const Both<Eigen::VectorXd> step{u[0] - now.u[0], u[1] - now.u[1]};
      Eigen::VectorXd correction(rows);
      for (std::size_t i = 0; i < m; ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        correction[row] = -now.gap[row] - normals[i].dot(relative(solution.touching_place(i), R_AB, step));
      }
      solve_lower(factor, correction);
      solve_lower_transposed(factor, correction);
      now.lambda += correction;
      loads = {bodies_[0].at_rest(), bodies_[1].at_rest()};
      loads_of(correction, loads);
      for (std::size_t body = 0; body < 2; ++body) now.u[body] = u[body] + bodies_[body].moved_by(loads[body]);
      const double change = correction.norm();
      if (change <= derivative_accuracy * now.lambda.norm()) break;
      if (may_refresh && change > slow_step * before) {
        factor = present_factor();
        may_refresh = false;
      }
      before = change;
    }
  }
  NodeDerivatives& derivatives = solution.derivatives;
  for (std::size_t i = 0; i < m; ++i) {
    derivatives.lambda.emplace_back();
    derivatives.u.emplace_back();
    Matrix36 normal;
    for (Eigen::Index k = 0; k < 6; ++k) {
      const Derivative& now = directions[static_cast<std::size_t>(k)];
      derivatives.lambda[i][k] = now.lambda[static_cast<Eigen::Index>(i)];
      derivatives.u[i].col(k) = now.point[i];
      normal.col(k) = now.normal[i];
    }
    derivatives.normal.emplace_back(normal - normal_rotation(solution.nodes[i], state.X_AB.p));
    derivatives.traction.emplace_back(Matrix36::Zero());
  }
}

Response FullBodies::respond(const Solution& solution, const std::optional<double>& approach_speed,
                             const PairState& state) const {
  Response response = answer(solution, model_.options, {}, model_.regions, approach_speed, state);
  if (solution.nodes.empty()) return response;
  response.stored_energy = solution.energy;
  std::vector<double> normal_forces = hysteresis_factors(solution, model_.options, approach_speed, state);
  for (std::size_t i = 0; i < normal_forces.size(); ++i) normal_forces[i] *= solution.nodes[i].lambda;
  fill_interface_pressure(solution.contact(), normal_forces, model_.regions, response);
  return response;
}

Response FullBodies::evaluate(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  return respond(solve(own, state, options), own.approach_speed, state);
}

Committed FullBodies::commit(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  const Solution solution = solve(own, state, options);
  auto next = FullBodiesHistory::of_backend(name_);
  next->approach_speed = latched_speed(solution, model_.options, own.approach_speed, state);
  next->u_A = solution.u[0];
  next->u_B = solution.u[1];
  next->lambda = solution.lambda;
  Response response = respond(solution, next->approach_speed, state);
  return {.history = std::move(next), .response = response};
}

std::vector<Vector3> FullBodies::on_nodes(const Solution& solution, const PairState& state, std::size_t body,
                                          const std::function<Vector3(std::size_t)>& of_function) const {
  std::vector<Vector3> values(bodies_[body].contact_nodes().size(), Vector3::Zero());
  const Matrix3 turn = body == 0 ? Matrix3(Matrix3::Identity()) : Matrix3(-state.X_AB.R.transpose());
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const InterfacePlace& place = solution.touching_place(i);
    for (const auto& [c, weight] : body == 0 ? place.on_A : place.on_B) values[c] += weight * (turn * of_function(i));
  }
  return values;
}

std::array<std::vector<Vector3>, 2> FullBodies::nodal_forces(const History& history, const PairState& state) const {
  const Solution solution = solve(FullBodiesHistory::from(history), state, {.tangents = false});
  const auto force = [&](std::size_t i) { return solution.nodes[i].force(); };
  return {on_nodes(solution, state, 0, force), on_nodes(solution, state, 1, force)};
}

std::vector<double> FullBodies::pressure(const History& history, const PairState& state) const {
  const Solution solution = solve(FullBodiesHistory::from(history), state, {.tangents = false});
  std::vector<double> normal_forces;
  for (const TouchingNode& node : solution.nodes) normal_forces.push_back(node.lambda);
  return interface_pressure(solution.contact(), normal_forces);
}

std::string FullBodies::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  const Solution solution = solve(own, state, {.tangents = false});
  const std::size_t side = request.part == FieldPart::partner ? 1 : 0;
  const FullBody& body = bodies_[side];
  const std::vector<double> factors = hysteresis_factors(solution, model_.options, own.approach_speed, state);
  DrawnState picture;
  picture.displacement = solution.u[side].size() > 0 ? solution.u[side] : body.at_rest();
  picture.stress = stress(body.body(), body.laws(), picture.displacement);
  picture.forces =
      on_nodes(solution, state, side, [&](std::size_t i) { return Vector3(factors[i] * solution.nodes[i].force()); });
  std::vector<Vector3> normals =
      on_nodes(solution, state, side, [&](std::size_t i) { return solution.nodes[i].surface.normal; });
  for (Vector3& n : normals) n = n.isZero(0.0) ? n : n.normalized();
  FieldRequest own_request = request;
  if (side == 1) own_request.X_WA = request.X_WA * state.X_AB;
  return body.fields().draw_body(picture, normals, own_request);
}

}  // namespace heelstrike::fem
