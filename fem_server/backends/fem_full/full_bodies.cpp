#include "fem_server/backends/fem_full/full_bodies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/fem_full/full_steps.hpp"
#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/contact_solver/detection/active_candidates.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"

namespace heelstrike::fem {

namespace {

/// The error of each step decreases by a factor of the order of the strains.
constexpr int max_newton_steps = 60;
/// Steps after which the functions of the interface are fixed: a function close to merging with its neighbour, or two
/// triangles close to facing each other, may alternate.
constexpr int max_matching_iterations = 30;
/// Ratio of the changes of two steps from which new matrices are worth their cost.
constexpr double slow_convergence_ratio = 0.5;
/// Last change of the displacements over the depth.
constexpr double step_tolerance = 1e-9;
/// Relative change of the force derivatives between passes; each pass gains a factor of the order of the strains.
constexpr double derivative_accuracy = 1e-7;
constexpr int n_derivative_iterations = 20;
/// Relative accuracy of each correction.
constexpr double correction_accuracy = 1e-5;

/// `axes` (normal, two tangents) after a small motion that rotates them and the normal.
Matrix3 carried(const Matrix3& axes, const Matrix3& rotation, const Vector3& normal) {
  Matrix3 moved;
  moved.col(0) = normal;
  const Vector3 along = rotation * axes.col(1);
  moved.col(1) = (along - normal.dot(along) * normal).normalized();
  moved.col(2) = normal.cross(moved.col(1));
  return moved;
}

/// Without friction: a node that slides under any force, without a tangential part.
NodeLinearisation frictionless(const Matrix3& axes, const Matrix3& compliance) {
  NodeLinearisation node{.axes = axes, .active = true, .slides = true};
  node.S.bottomRightCorner<2, 2>().setZero();
  node.E.bottomRightCorner<2, 2>() = compliance.trace() / 3.0 * Eigen::Matrix2d::Identity();
  return node;
}

/// Active functions between bodies with fixed matrices: residuals of the conditions give forces, to first order.
struct LinearContact {
  LinearContact(const SurfaceCompliance& both, const std::vector<NodeLinearisation>& nodes)
      : B(both, all_of(nodes.size()), axes_of(nodes)), system(B, nodes, factors) {}

  static std::vector<std::uint32_t> all_of(std::size_t n) {
    std::vector<std::uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  static std::vector<Matrix3> axes_of(const std::vector<NodeLinearisation>& nodes) {
    std::vector<Matrix3> axes;
    for (const NodeLinearisation& node : nodes) axes.push_back(node.axes);
    return axes;
  }

  LocalCompliance B;
  DirectionFactors factors;
  FrictionSystem system;
};

}  // namespace

struct FullBodies::Solution : ContactSolution {
  PerBody<Eigen::VectorXd> u;                         // [m]
  Eigen::VectorXd lambda;                             // [N] of all contact nodes of A
  Eigen::VectorXd tau;                                // [N] 3 of each; empty without friction
  double energy = 0.0;                                // [J]
  std::vector<InterfacePoint> places;                 // of the displaced surfaces
  PerBody<Eigen::VectorXd> matched;                   // [m] at which these were found
  std::vector<std::uint32_t> near;                    // places that may be in contact
  std::vector<std::uint32_t> contact_positions;       // positions in `near`
  std::vector<NodeLinearisation> linear;              // of these, in the axes of each
  FrictionContact friction;                           // the same ones; empty without friction
  double length = 0.0;                                // [m] reference of errors: the depth, or a residual deformation
  PerBody<BodyHistoryVariables> memory;               // of the initial history, which outlives the solution
  PerBody<Eigen::VectorXd> update_history_variables;  // history variables after a commit
  WeightedNodes on_A, on_B;                           // of `near`
  std::vector<double> areas;                          // [m^2] of `near`
  std::vector<Vector3> normals;                       // [-] of `near`
  std::vector<std::uint32_t> active_candidates;
  [[nodiscard]] const InterfacePoint& contact_point_at(std::size_t i) const {
    return places[near[contact_positions[i]]];
  }
};

FullBodies::FullBodies(std::string name, FullBodiesModel model, ParameterMap parameters, const std::stop_token& stop)
    : ContactBackend({.parameters = std::move(parameters), .expensive = true, .regions = region_names(model.regions)}),
      name_(std::move(name)),
      model_(std::move(model)) {
  use_one_blas_thread();
  bodies_.emplace_back(std::move(model_.main), stop);
  model_.partner.max_memory.in_use += bodies_[0].memory_need().total();
  bodies_.emplace_back(std::move(model_.partner), stop);
  std::vector<Vector3> points;
  for (const std::uint32_t node : bodies_[0].contact_nodes()) points.push_back(bodies_[0].body().mesh().nodes[node]);
  size_ = ball_around(points).radius;
  rounding_ = std::max(rounding_of(bodies_[0].body()), rounding_of(bodies_[1].body()));
}

bool FullBodies::has_history() const {
  return std::ranges::any_of(bodies_, [](const FullBody& body) { return body.laws().has_history(); });
}

std::shared_ptr<const History> FullBodies::initial_history() const {
  return FullBodiesHistory::of_backend(name_);
}

std::shared_ptr<const History> FullBodies::load_history(std::string_view bytes) const {
  auto history = FullBodiesHistory::load(bytes, name_);
  const auto check = [&](const char* what, std::initializer_list<std::pair<Eigen::Index, std::size_t>> sizes) {
    const auto none = [](const auto& size) { return size.first == 0; };
    const auto all = [](const auto& size) { return size.first == static_cast<Eigen::Index>(size.second); };
    if (std::ranges::all_of(sizes, none) || std::ranges::all_of(sizes, all)) return;
    std::string found, expected;
    for (const auto& [is, should] : sizes) {
      found += fmt::format(" {}", is);
      expected += fmt::format(" {}", should);
    }
    throw input_error("state", fmt::format("history of back-end '{}': expected{} numbers ({}) or none, found{}; "
                                           "restore a state of the same bodies",
                                           name_, expected, what, found));
  };
  const std::size_t n = bodies_[0].contact_nodes().size();
  check("displacements of both bodies, normal forces", {{history->u_A.size(), bodies_[0].body().n_dofs()},
                                                        {history->u_B.size(), bodies_[1].body().n_dofs()},
                                                        {history->lambda.size(), n}});
  check("tangential forces", {{history->tau.size(), 3 * n}});
  check("history variables of both materials",
        {{history->history_variables_A.size(), memory_size(bodies_[0].body(), bodies_[0].laws())},
         {history->history_variables_B.size(), memory_size(bodies_[1].body(), bodies_[1].laws())}});
  const bool displaced = history->u_A.size() > 0;
  const bool update_history_variables = history->history_variables_A.size() + history->history_variables_B.size() > 0;
  if ((displaced && !history->X_AB) || (!displaced && history->tau.size() > 0) ||
      (update_history_variables && !(displaced && history->t))) {
    throw input_error("state", fmt::format("history of back-end '{}': expected tangential forces and history variables "
                                           "only with displacements, pose and time of the commit, found them alone; "
                                           "the bytes are damaged",
                                           name_));
  }
  return history;
}

Interface FullBodies::begin(const PairState& state, const PerBody<Eigen::VectorXd>& u, Solution& solution) const {
  ContactSurface of_A = model_.main_surface;
  ContactSurface of_B = model_.partner_surface;
  std::shared_ptr<const SignedDistance> distance = model_.partner_distance;
  if (u[0].size() > 0) {
    of_A = displaced(std::move(of_A), u[0]);
    of_B = displaced(std::move(of_B), u[1]);
    distance = mesh_distance(of_B.mesh);
  }
  std::vector<double> gaps;
  solution.gap = std::numeric_limits<double>::infinity();
  for (const std::uint32_t node : bodies_[0].contact_nodes()) {
    Vector3 x = bodies_[0].body().mesh().nodes[node];
    if (u[0].size() > 0) x += u[0].segment<3>(3 * Eigen::Index{node});
    const SurfacePoint point = surface_in_A(*distance, state.X_AB, x);
    gaps.push_back(point.gap);
    solution.update_closest(x, point);
  }
  const BodyInterface interface(std::move(of_A), gaps.size(),
                                std::make_shared<const DeformablePartner>(std::move(of_B), SurfaceCompliance()),
                                model_.options.max_penetration);
  return begin_between_bodies(interface, gaps, state, model_.options, size_, solution);
}

std::vector<InterfacePoint> FullBodies::places_at(const Pose& X_AB, const Interface& undeformed,
                                                  const PerBody<Eigen::VectorXd>& u) const {
  const BodyInterface interface(
      displaced(model_.main_surface, u[0]), bodies_[0].contact_nodes().size(),
      std::make_shared<const DeformablePartner>(displaced(model_.partner_surface, u[1]), SurfaceCompliance()),
      model_.options.max_penetration);
  return interface.displace_points(X_AB, undeformed);
}

Vector3 FullBodies::relative(const InterfacePoint& place, const Matrix3& R_AB,
                             const PerBody<Eigen::VectorXd>& u) const {
  return bodies_[0].mean(place.on_A, u[0]) - R_AB * bodies_[1].mean(place.on_B, u[1]);
}

void FullBodies::add_loads(const InterfacePoint& place, const Matrix3& R_AB, const Vector3& force,
                           PerBody<Eigen::VectorXd>& loads) const {
  const auto add = [&](std::size_t body, std::span<const WeightedNodes::Entry> weights, const Vector3& own) {
    for (const auto& [c, weight] : weights) {
      loads[body].segment<3>(3 * Eigen::Index{bodies_[body].contact_nodes()[c]}) += weight * own;
    }
  };
  add(0, place.on_A, force);
  add(1, place.on_B, -(R_AB.transpose() * force));
}

Vector3 FullBodies::compute_slip_increment(const FullBodiesHistory& history, const Pose& X_AB,
                                           const InterfacePoint& place, const PerBody<Eigen::VectorXd>& matched,
                                           const PerBody<Eigen::VectorXd>& u) const {
  const auto since = [&](const PerBody<Eigen::VectorXd>& now) {
    return history.u_A.size() == 0 ? now : PerBody<Eigen::VectorXd>{now[0] - history.u_A, now[1] - history.u_B};
  };
  Vector3 by_elasticity = relative(place, X_AB.R, since(u));
  const double lambda_before = history.lambda.size() > 0 ? history.lambda[place.node] : 0.0;
  if (!history.X_AB) return by_elasticity;
  // Positions of A's points at the commit, and their positions if they had moved with B since then.
  const PerBody<Eigen::VectorXd> displacements_since_matching = since(matched);
  const Vector3 before = place.point - bodies_[0].mean(place.on_A, displacements_since_matching[0]);
  const Vector3 ahead = before - X_AB * (history.X_AB->inverse() * before);
  if (lambda_before > 0.0) return by_elasticity + ahead;
  // For a function in contact since the commit, the motion before the onset does not count.
  const double gap = place.gap - place.normal.dot(relative(place, X_AB.R, displacements_since_matching));
  const double gap_before = std::max(gap - place.normal.dot(ahead), 0.0);
  return gap < 0.0 ? Vector3(by_elasticity - gap / (gap_before - gap) * ahead) : by_elasticity;
}

FullBodies::PerBody<Eigen::VectorXd> FullBodies::solve_linearised_contact(const FullBodiesHistory& history,
                                                                          const PairState& state, double offset,
                                                                          const PerBody<Eigen::VectorXd>& free,
                                                                          Solution& solution) const {
  const Matrix3& R_AB = state.X_AB.R;
  const bool has_friction = model_.options.friction > 0.0;
  std::vector<double> gaps;  // [m] of the places, without contact forces
  double depth = solution.length;
  const PerBody<Eigen::VectorXd> since{free[0] - solution.matched[0], free[1] - solution.matched[1]};
  for (const InterfacePoint& place : solution.places) {
    gaps.push_back(place.gap + offset + place.normal.dot(relative(place, R_AB, since)));
    depth = std::max(depth, -gaps.back());
  }
  FrictionProblem problem;
  problem.friction = model_.options.friction;
  problem.R_AB = R_AB;
  problem.stick_point = [](std::uint32_t) { return StickPoint(); };  // positions are slips
  ActiveCandidates& near = problem.near;
  solution.near.clear();
  solution.on_A = {};
  solution.on_B = {};
  solution.areas.clear();
  solution.normals.clear();
  solution.active_candidates.clear();
  solution.contact_positions.clear();
  solution.linear.clear();
  solution.friction = {};
  for (std::uint32_t i = 0; i < solution.places.size(); ++i) {
    const InterfacePoint& place = solution.places[i];
    const double before = solution.lambda[place.node];
    // The surface rises nowhere by more than the partner has pushed it down: farther functions cannot touch.
    if (gaps[i] > depth && !(before > 0.0)) continue;
    Vector3 force_before = before * place.normal;
    if (has_friction) {
      force_before += solution.tau.segment<3>(3 * Eigen::Index{place.node});
      problem.positions.push_back(compute_slip_increment(history, state.X_AB, place, solution.matched, free));
    }
    near.add(static_cast<std::uint32_t>(near.nodes.size()), gaps[i], place.normal, force_before);
    solution.near.push_back(i);
    solution.active_candidates.push_back(place.node);
    solution.areas.push_back(place.area);
    solution.normals.push_back(place.normal);
    solution.on_A.add_place(place.on_A);
    solution.on_B.add_place(place.on_B);
  }
  near.compliance_changed = true;
  solution.lambda.setZero();
  solution.tau.setZero();
  if (near.deepest() == 0.0) return free;  // no penetration
  const SurfaceCompliance both = sum(bodies_[0].compliance_in_frame(solution.on_A, Matrix3::Identity()),
                                     bodies_[1].compliance_in_frame(solution.on_B, R_AB));
  Eigen::VectorXd lambda;
  if (has_friction) {
    solution.friction = solve_friction_contact(both, problem);
    solution.contact_positions = solution.friction.active;
    lambda = solution.friction.lambda;
    for (const std::uint32_t member : solution.friction.members) {
      solution.linear.push_back(solution.friction.nodes[member]);
    }
  } else {
    const NormalContact contact = solve_normal_contact({.compliance = &both, .near = &near});
    solution.contact_positions = contact.active;
    lambda = contact.lambda;
    for (const std::uint32_t i : contact.active) {
      solution.linear.push_back(frictionless(contact_axes(R_AB, near.normals[i]), both.self(i)));
    }
  }
  PerBody<Eigen::VectorXd> loads{bodies_[0].initial_displacements(), bodies_[1].initial_displacements()};
  for (std::size_t a = 0; a < solution.contact_positions.size(); ++a) {
    const InterfacePoint& place = solution.contact_point_at(a);
    Vector3 force = lambda[static_cast<Eigen::Index>(a)] * place.normal;
    solution.lambda[place.node] = lambda[static_cast<Eigen::Index>(a)];
    if (has_friction) {
      force += solution.friction.traction[a];
      solution.tau.segment<3>(3 * Eigen::Index{place.node}) = solution.friction.traction[a];
    }
    add_loads(place, R_AB, force, loads);
  }
  PerBody<Eigen::VectorXd> u = free;
  for (std::size_t body = 0; body < u.size(); ++body) u[body] += bodies_[body].solve_displacements(loads[body]);
  return u;
}

bool FullBodies::equilibrium(const FullBodiesHistory& history, const PairState& state, const Interface& undeformed,
                             double offset, Solution& solution) const {
  const double length = solution.length;
  for (FullBody& body : bodies_) body.use_initial_matrix();
  double change_before = std::numeric_limits<double>::infinity();
  bool may_refactor = true;
  for (int iteration = 1; iteration <= max_newton_steps; ++iteration) {
    ++solution.statistics.iterations;
    PerBody<Eigen::VectorXd> free;
    solution.energy = 0.0;
    for (std::size_t body = 0; body < free.size(); ++body) {
      std::optional<FullBody::Step> step = bodies_[body].solve_unloaded(solution.u[body], solution.memory[body]);
      if (!step) return false;
      free[body] = std::move(step->u);
      solution.energy += step->energy;
    }
    if (iteration <= max_matching_iterations) {
      solution.places = places_at(state.X_AB, undeformed, solution.u);
      solution.matched = solution.u;
    }
    const PerBody<Eigen::VectorXd> u = solve_linearised_contact(history, state, offset, free, solution);
    double change = 0.0;
    for (std::size_t body = 0; body < u.size(); ++body) {
      change = std::max(change, (u[body] - solution.u[body]).cwiseAbs().maxCoeff());
    }
    if (!std::isfinite(change)) return false;
    solution.u = u;
    solution.statistics.residual = change / length;
    if (change <= step_tolerance * length) return true;
    // At the onset of contact the depth itself is hardly more than rounding: further steps gain nothing.
    if (change <= rounding_ && change > slow_convergence_ratio * change_before) return true;
    const bool refresh = may_refactor && change > slow_convergence_ratio * change_before;
    change_before = refresh ? std::numeric_limits<double>::infinity() : change;
    if (!refresh) continue;
    may_refactor = false;
    for (std::size_t body = 0; body < u.size(); ++body) {
      may_refactor |= bodies_[body].assemble_matrix_at(u[body], solution.memory[body]);
    }
  }
  return false;
}

FullBodies::Solution FullBodies::solve(const FullBodiesHistory& history, const PairState& state,
                                       const EvaluateOptions& options) const {
  Solution solution;
  if (has_history()) {
    solution.memory = {history_variables_at(name_, history.history_variables_A, history.t, state.t),
                       history_variables_at(name_, history.history_variables_B, history.t, state.t)};
  }
  const bool has_residual_deformation = has_history() && history.u_A.size() > 0;
  Interface undeformed = begin(state, {}, solution);
  if (solution.gap >= 0.0 && !has_residual_deformation) return solution;
  const std::scoped_lock lock(mutex_);
  solution.length = -solution.gap;
  if (has_residual_deformation) {
    solution.length = std::max({solution.length, history.u_A.cwiseAbs().maxCoeff(), history.u_B.cwiseAbs().maxCoeff()});
    undeformed.min_gap = -solution.length;
  }
  const auto start = [&](bool initial_displacements) {
    solution.u = {bodies_[0].initial_displacements(), bodies_[1].initial_displacements()};
    const auto n = static_cast<Eigen::Index>(bodies_[0].contact_nodes().size());
    solution.lambda = Eigen::VectorXd::Zero(n);
    if (model_.options.friction > 0.0) solution.tau = Eigen::VectorXd::Zero(3 * n);
    if (initial_displacements || history.u_A.size() == 0) return;
    solution.u = {history.u_A, history.u_B};
    solution.lambda = history.lambda;
    if (solution.tau.size() > 0 && history.tau.size() > 0) solution.tau = history.tau;
  };
  const auto found = [&](double offset) {
    try {
      return equilibrium(history, state, undeformed, offset, solution);
    } catch (const RecoverableError&) {
      return false;
    }
  };
  start(false);
  if (!found(0.0)) {
    solve_in_load_steps(name_, -solution.gap, [&](double offset, bool restart) {
      if (restart) start(true);
      return found(offset);
    });
  }
  for (std::size_t i = 0; i < solution.contact_positions.size(); ++i) {
    const InterfacePoint& place = solution.contact_point_at(i);
    if (place.outside) reject_unknown_point(place.point);
    ContactNodeState node;
    node.x = place.point;
    node.surface = {.gap = 0.0, .normal = place.normal};
    node.lambda = solution.lambda[place.node];
    if (!solution.friction.active.empty()) node.traction = solution.friction.traction[i];
    node.area = place.area;
    solution.touching.push_back(place.node);
    solution.nodes.push_back(node);
  }
  compute_slip(history, state, solution);
  if (options.tangents && !solution.nodes.empty()) differentiate(history, state, undeformed, solution);
  if (has_history()) update_history(history, state, solution);
  return solution;
}

void FullBodies::compute_slip(const FullBodiesHistory& history, const PairState& state, Solution& solution) const {
  const FrictionContact& contact = solution.friction;
  const double friction = model_.options.friction;
  double work = 0.0;
  SlipSpeed slip_speed;
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    SlipStep step{.trial = contact.traction[a] - contact.rho[a] * contact.slip[a],
                  .limit = friction * contact.lambda[static_cast<Eigen::Index>(a)],
                  .slip = contact.slip[a].norm()};
    const Eigen::Index node = solution.contact_point_at(a).node;
    if (history.X_AB && history.tau.size() > 0) {
      // The traction rotates with the surface of B.
      step.traction = state.X_AB.R * (history.X_AB->R.transpose() * history.tau.segment<3>(3 * node));
      step.limit_before = friction * history.lambda[node];
    }
    slip_speed.add(step.traction, step.limit_before, point_velocity(state.V_AB, solution.nodes[a].x - state.X_AB.p));
    if (contact.sliding[a]) work += slip_work(step);
  }
  solution.dissipated = work;
  solution.slip_speed = slip_speed.value();
}

void FullBodies::update_history(const FullBodiesHistory& history, const PairState& state, Solution& solution) const {
  for (std::size_t body = 0; body < bodies_.size(); ++body) {
    HistoryUpdate after =
        update_history_variables(bodies_[body].body(), bodies_[body].laws(), solution.u[body], solution.memory[body]);
    solution.dissipated += after.dissipated;
    solution.update_history_variables[body] = std::move(after.values);
  }
  if (!solution.nodes.empty()) {
    solution.gap = std::min(solution.gap, -rounding_);
    return;
  }
  // The remaining energy of released bodies decays without an effect on contact: it is reported as dissipated at once.
  const bool released = history.lambda.size() > 0 && history.lambda.maxCoeff() > 0.0;
  solution.dissipated = released ? solution.dissipated + solution.energy : 0.0;
  solution.energy = 0.0;
  (void)begin(state, solution.u, solution);
  solution.gap = std::max(solution.gap, 0.0);
  // Bodies that have recovered are identical to bodies without previous contact.
  if (std::max(solution.u[0].cwiseAbs().maxCoeff(), solution.u[1].cwiseAbs().maxCoeff()) > rounding_) return;
  solution.u = {};
  solution.lambda.resize(0);
  solution.tau.resize(0);
  solution.update_history_variables = {};
}

/// Derivatives along one component of the pose. Components refer to axes that rotate with the normals.
struct FullBodies::Derivative {
  PerBody<Eigen::VectorXd> u;  ///< [m] of the displacements
  Eigen::VectorXd force;       ///< [N] components of the forces of the active functions
  Eigen::VectorXd motion;  ///< [m] of their gaps and slips, by the motion of the surfaces; and, at constant components,
  PerBody<Eigen::VectorXd> load;  ///< [N] of their loads
  std::vector<Vector3> normal;
  std::vector<Vector3> point;     ///< [m]
  std::vector<Vector3> traction;  ///< [N]
};

void FullBodies::differentiate_geometry(const FullBodiesHistory& history, const PairState& state,
                                        const Interface& undeformed, const Solution& solution, Eigen::Index direction,
                                        Derivative& now) const {
  const Vector6 e = Vector6::Unit(direction);
  // Relative to the largest motion of a surface.
  double motion = direction < 3 ? size_ : 1.0;
  for (const Eigen::VectorXd& u : now.u) motion = std::max(motion, u.cwiseAbs().maxCoeff());
  const double h = interface_difference_step * solution.length / motion;
  const std::size_t m = solution.nodes.size();
  now.load = {bodies_[0].initial_displacements(), bodies_[1].initial_displacements()};
  now.motion = Eigen::VectorXd::Zero(3 * static_cast<Eigen::Index>(m));
  for (std::vector<Vector3>* values : {&now.normal, &now.point, &now.traction}) values->assign(m, Vector3::Zero());
  PerBody<Pose> poses{state.X_AB, state.X_AB};
  PerBody<PerBody<Eigen::VectorXd>> u;
  PerBody<std::vector<InterfacePoint>> places;
  for (std::size_t end = 0; end < 2; ++end) {
    const double step = end == 0 ? -h : h;
    poses[end].R = rotation_from_vector(step * e.head<3>()) * poses[end].R;
    poses[end].p += step * e.tail<3>();
    u[end] = {solution.matched[0] + step * now.u[0], solution.matched[1] + step * now.u[1]};
    places[end] = places_at(poses[end], undeformed, u[end]);
  }
  for (std::size_t i = 0; i < m; ++i) {
    const InterfacePoint& place = solution.contact_point_at(i);
    const Matrix3& axes = solution.linear[i].axes;
    const Vector3 force = axes.transpose() * solution.nodes[i].force();
    const PerBody<const InterfacePoint*> found{find_interface_point(places[0], place.node),
                                               find_interface_point(places[1], place.node)};
    for (std::size_t end = 0; end < 2; ++end) {
      const double step = end == 0 ? -h : h;
      InterfacePoint there = place;
      if (found[0] != nullptr && found[1] != nullptr) {
        there = *found[end];
      } else {
        // The function merges with another one: it moves as a plane of B.
        there.normal = (place.normal + step * normal_rotation(solution.nodes[i], state.X_AB.p) * e).normalized();
        there.point += step * bodies_[0].mean(place.on_A, now.u[0]);
        there.gap += step * (place.normal.dot(relative(place, state.X_AB.R, now.u)) -
                             gap_wrench(solution.nodes[i], state.X_AB.p).dot(e));
      }
      const Matrix3 rotated = carried(axes, poses[end].R * state.X_AB.R.transpose(), there.normal);
      const double weight = 0.5 / step;
      const auto row = 3 * static_cast<Eigen::Index>(i);
      now.motion[row] += weight * there.gap;
      if (model_.options.friction > 0.0) {
        now.motion.segment<2>(row + 1) += weight * (rotated.rightCols<2>().transpose() *
                                                    compute_slip_increment(history, poses[end], there, u[end], u[end]));
      }
      now.normal[i] += weight * there.normal;
      now.point[i] += weight * there.point;
      now.traction[i] += weight * (rotated.rightCols<2>() * force.tail<2>());
      add_loads(there, poses[end].R, weight * (rotated * force), now.load);
    }
  }
}

void FullBodies::differentiate(const FullBodiesHistory& history, const PairState& state, const Interface& undeformed,
                               Solution& solution) const {
  const std::size_t m = solution.nodes.size();
  const auto rows = 3 * static_cast<Eigen::Index>(m);
  const Matrix3& R_AB = state.X_AB.R;
  const std::vector<NodeLinearisation>& linear = solution.linear;
  WeightedNodes on_A, on_B;
  for (std::size_t i = 0; i < m; ++i) {
    on_A.add_place(solution.contact_point_at(i).on_A);
    on_B.add_place(solution.contact_point_at(i).on_B);
  }
  std::optional<LinearContact> contact;
  const auto set_current_state = [&] {
    contact.emplace(
        sum(bodies_[0].compliance_in_frame(on_A, Matrix3::Identity()), bodies_[1].compliance_in_frame(on_B, R_AB)),
        linear);
  };
  // The matrices of the solution cost nothing and are mostly accurate enough for the corrections.
  set_current_state();
  bool may_refactor = false;
  for (std::size_t body = 0; body < 2; ++body) {
    may_refactor |= bodies_[body].assemble_matrix_at(solution.u[body], solution.memory[body]);
  }

  std::array<Derivative, 6> directions;
  for (Derivative& now : directions) {
    now.u = {bodies_[0].initial_displacements(), bodies_[1].initial_displacements()};
    now.force = Eigen::VectorXd::Zero(rows);
  }
  const auto add_all = [&](const Eigen::VectorXd& forces, PerBody<Eigen::VectorXd>& loads) {
    for (std::size_t i = 0; i < m; ++i) {
      const auto row = 3 * static_cast<Eigen::Index>(i);
      add_loads(solution.contact_point_at(i), R_AB, linear[i].axes * forces.segment<3>(row), loads);
    }
  };
  for (Eigen::Index k = 0; k < 6; ++k) {
    Derivative& now = directions[static_cast<std::size_t>(k)];
    double before = std::numeric_limits<double>::infinity();
    for (int cycle = 0; cycle < n_derivative_iterations; ++cycle) {
      differentiate_geometry(history, state, undeformed, solution, k, now);
      PerBody<Eigen::VectorXd> loads = now.load;
      add_all(now.force, loads);
      PerBody<Eigen::VectorXd> u{bodies_[0].towards(loads[0], now.u[0]), bodies_[1].towards(loads[1], now.u[1])};
      const PerBody<Eigen::VectorXd> step{u[0] - now.u[0], u[1] - now.u[1]};
      Eigen::VectorXd left(rows);
      for (std::size_t i = 0; i < m; ++i) {
        const auto row = 3 * static_cast<Eigen::Index>(i);
        const Vector3 motion = now.motion.segment<3>(row) +
                               linear[i].axes.transpose() * relative(solution.contact_point_at(i), R_AB, step);
        left.segment<3>(row) = -(linear[i].S * motion + linear[i].E * now.force.segment<3>(row));
      }
      const Eigen::VectorXd correction = contact->system.solve(left, correction_accuracy).x;
      now.force += correction;
      loads = {bodies_[0].initial_displacements(), bodies_[1].initial_displacements()};
      add_all(correction, loads);
      for (std::size_t body = 0; body < 2; ++body)
        now.u[body] = u[body] + bodies_[body].solve_displacements(loads[body]);
      const double change = correction.norm();
      if (change <= derivative_accuracy * now.force.norm()) break;
      if (may_refactor && change > slow_convergence_ratio * before) {
        set_current_state();
        may_refactor = false;
      }
      before = change;
    }
  }
  NodeDerivatives& derivatives = solution.derivatives;
  for (std::size_t i = 0; i < m; ++i) {
    derivatives.lambda.emplace_back();
    derivatives.u.emplace_back();
    derivatives.traction.emplace_back();
    Matrix36 normal;
    for (Eigen::Index k = 0; k < 6; ++k) {
      const Derivative& now = directions[static_cast<std::size_t>(k)];
      const Vector3 force = now.force.segment<3>(3 * static_cast<Eigen::Index>(i));
      derivatives.lambda[i][k] = force[0];
      derivatives.u[i].col(k) = now.point[i];
      derivatives.traction[i].col(k) = now.traction[i] + linear[i].axes.rightCols<2>() * force.tail<2>();
      normal.col(k) = now.normal[i];
    }
    derivatives.normal.emplace_back(normal - normal_rotation(solution.nodes[i], state.X_AB.p));
  }
}

InterfaceContact FullBodies::interface_contact(const Solution& solution, const PairState& state) const {
  double both = 0.0;
  double partner = 0.0;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const InterfacePoint& place = solution.contact_point_at(i);
    const Vector3 force = solution.nodes[i].force();
    both += force.dot(relative(place, state.X_AB.R, solution.u));
    partner -= force.dot(state.X_AB.R * bodies_[1].mean(place.on_B, solution.u[1]));
  }
  return {.on_A = &solution.on_A,
          .on_B = &solution.on_B,
          .areas = solution.areas,
          .nodes = solution.active_candidates,
          .normals = solution.normals,
          .touching = solution.contact_positions,
          .recovery_A = &bodies_[0].fields().pressure_recovery(),
          .recovery_B = &bodies_[1].fields().pressure_recovery(),
          .R_AB = state.X_AB.R,
          .partner_work = both > 0.0 ? partner / both : 0.0};
}

Response FullBodies::make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                   const PairState& state) const {
  Response response = interface_response(solution, interface_contact(solution, state), model_.options, model_.regions,
                                         approach_velocity, state);
  response.dissipated_increment = solution.dissipated;
  if (!solution.nodes.empty()) response.stored_energy = solution.energy;
  return response;
}

Response FullBodies::evaluate(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  return make_response(solve(own, state, options), own.approach_velocity, state);
}

Committed FullBodies::commit(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  EvaluateOptions options_at_end = options;
  options_at_end.tangents = options.tangents && !has_history();  // those of the response follow below
  const Solution solution = solve(own, state, options_at_end);
  auto next = FullBodiesHistory::of_backend(name_);
  next->approach_velocity = latched_speed(solution, model_.options, own.approach_velocity, state);
  next->u_A = solution.u[0];
  next->u_B = solution.u[1];
  next->lambda = solution.lambda;
  next->tau = solution.tau;
  next->X_AB = state.X_AB;
  next->t = state.t;
  next->history_variables_A = solution.update_history_variables[0];
  next->history_variables_B = solution.update_history_variables[1];
  Response response;
  if (!has_history()) {
    response = make_response(solution, next->approach_velocity, state);
  } else {
    // After the commit the materials have had no time to relax: forces are equal, tangents those of a sudden change.
    response = make_response(solve(*next, state, options), next->approach_velocity, state);
    response.dissipated_increment = solution.dissipated;
  }
  response.slip_speed = slip_speed_after(solution, model_.options, state);
  return {.history = std::move(next), .response = response};
}

std::vector<Vector3> FullBodies::on_nodes(const Solution& solution, const PairState& state, std::size_t body,
                                          const std::function<Vector3(std::size_t)>& of_function) const {
  std::vector<Vector3> values(bodies_[body].contact_nodes().size(), Vector3::Zero());
  const Matrix3 rotation = body == 0 ? Matrix3(Matrix3::Identity()) : Matrix3(-state.X_AB.R.transpose());
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const InterfacePoint& place = solution.contact_point_at(i);
    for (const auto& [c, weight] : body == 0 ? place.on_A : place.on_B)
      values[c] += weight * (rotation * of_function(i));
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
  const std::vector<double> elastic(solution.nodes.size(), 1.0);
  const Eigen::MatrixXd loads = active_loads(solution, elastic);
  return interface_pressure(interface_contact(solution, state), loads).at_all(bodies_[0].contact_nodes().size());
}

std::string FullBodies::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  const FullBodiesHistory& own = FullBodiesHistory::from(history);
  const Solution solution = solve(own, state, {.tangents = false});
  const std::size_t side = request.part == FieldPart::partner ? 1 : 0;
  const FullBody& body = bodies_[side];
  const std::vector<double> factors = hysteresis_factors(solution, model_.options, own.approach_velocity, state);
  FieldState picture;
  picture.displacement = solution.u[side].size() > 0 ? solution.u[side] : body.initial_displacements();
  picture.stress = stress(body.body(), body.laws(), picture.displacement, solution.memory[side]);
  picture.forces =
      on_nodes(solution, state, side, [&](std::size_t i) { return Vector3(factors[i] * solution.nodes[i].force()); });
  std::vector<Vector3> normals =
      on_nodes(solution, state, side, [&](std::size_t i) { return solution.nodes[i].surface.normal; });
  for (Vector3& n : normals) n = n.isZero(0.0) ? n : n.normalized();
  if (side == 0) {
    picture.pressure = interface_pressure(interface_contact(solution, state), active_loads(solution, factors));
  }
  FieldRequest own_request = request;
  if (side == 1) own_request.X_WA = request.X_WA * state.X_AB;
  return body.fields().write_body_fields(picture, normals, own_request);
}

}  // namespace heelstrike::fem
