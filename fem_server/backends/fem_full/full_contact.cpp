#include "fem_server/backends/fem_full/full_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/fem_full/full_steps.hpp"
#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/gmres.hpp"

namespace heelstrike::fem {

namespace {

constexpr int max_newton_iterations = 40;
/// Iterations after which each node keeps its normal: a node on an edge of the partner may alternate between two
/// facets. Its gap remains that of the current facet.
constexpr int iterations_of_facets = 12;
/// With friction, iterations with the elastic matrix of the undeformed body converge linearly, by a factor that grows
/// with the strain; above max_linear_rate a new matrix is worth its cost.
constexpr int max_surface_iterations = 60;
constexpr double max_linear_rate = 0.5;
/// Last change of the displacement over the depth.
constexpr double surface_tolerance = 1e-9;
/// Relative to the maximum contact force and to the depth: two digits above the rounding for 10^5 dofs.
constexpr double tolerance = 1e-10;
/// Penalty over the node's own stiffness: the multipliers gain this factor per iteration, and rounding grows with it.
constexpr double penalty_factor = 1e3;
/// Each pass gains three digits.
constexpr int n_tangent_iterations = 3;
/// For the unsymmetric systems of the tangents with friction.
constexpr double tangent_accuracy = 1e-9;
constexpr Eigen::Index max_krylov_dimension = 80;

}  // namespace

struct FullContact::Solution : ContactSolution {
  Eigen::VectorXd u;
  Eigen::VectorXd lambda;
  Eigen::VectorXd tau;                   ///< [N] 3 per contact node; empty without friction
  Eigen::VectorXd rho;                   ///< [N/m] tangential stiffness of the active contact nodes, with friction
  std::vector<StickPoint> stick_points;  ///< per contact node; empty without friction
  std::vector<Vector3> fixed_normals;    ///< of a faceted partner, per contact node; empty = those of the current
                                         ///< facet
  double energy = 0.0;
  std::vector<bool> sliding;                 ///< per active node
  BodyHistoryVariables memory;               ///< of the initial history; it outlives the solution
  Eigen::VectorXd update_history_variables;  ///< history variables after a commit
  double length = 0.0;  ///< [m] reference of displacement errors: the depth, or a residual deformation
};

FullContact::FullContact(std::string name, PreparedBody prepared, MaterialLaws laws, ParameterMap parameters,
                         SurfaceCompliance initial_compliance, const std::stop_token& stop,
                         std::shared_ptr<const CondensedInterior> interior)
    : ContactBackend(
          {.parameters = std::move(parameters), .expensive = true, .regions = region_names(prepared.regions)}),
      name_(std::move(name)),
      prepared_(std::move(prepared)),
      laws_(std::move(laws)),
      interior_(std::move(interior)),
      initial_compliance_(std::move(initial_compliance)) {
  use_one_blas_thread();
  const auto check = [&] {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, name_ + ": preparation stopped on request");
  };
  check();
  // The pattern of an extended matrix is known only with the matrix, whose dense block `max_interface_nodes` allows.
  if (interior_) tangent_ = interior_->widened(linear_stiffness(prepared_.body));
  const NodeGraph graph = interior_ ? node_graph(tangent_) : node_graph(prepared_.body);
  const auto make_system = [&] {
    return std::make_unique<BodySystem>(prepared_.body, prepared_.support, graph, interior_.get());
  };
  system_ = make_system();
  within_memory(prepared_.max_memory, memory_need(), full_order_task, [&] {
    if (!interior_) tangent_ = linear_stiffness(prepared_.body);
    check();
    system_->analyse(tangent_);
    check_memory(prepared_.max_memory, memory_need(), full_order_task);
    for (const std::uint32_t node : prepared_.contact.nodes) {
      double trace = 0.0;
      for (Eigen::Index k = 0; k < 3; ++k) trace += tangent_.coeff(3 * node + k, 3 * node + k);
      penalty_.push_back(penalty_factor * trace / 3.0);
    }
    if (!(prepared_.options.friction > 0.0)) return;
    if (initial_compliance_.n_nodes() == 0) {
      const PreparedBody& whole = interior_ ? interior_->whole() : prepared_;
      initial_compliance_ = condense(
          whole.body, whole.support, whole.contact.nodes, [](std::string_view, double) {}, stop, whole.max_memory);
    }
    check();
    initial_system_ = make_system();
    if (!initial_system_->factorize(tangent_)) {
      throw input_error("support", "the stiffness matrix is singular: the clamped set leaves a rigid motion free");
    }
  });
  check();
  const PreparedBody& drawn = interior_ ? interior_->whole() : prepared_;
  fields_ = std::make_unique<const BodyFields>(drawn.body, drawn.support, drawn.contact, drawn.shape, drawn.pressure);
}

MemoryNeed FullContact::memory_need() const {
  return factorisation_memory(system_->size(), prepared_.options.friction > 0.0 ? 2.0 : 1.0);
}

bool FullContact::factorize() const {
  bool good = false;
  // The first factorisation allocates the memory of the factor.
  with_memory_report(prepared_.max_memory, memory_need(), full_order_task,
                     [&] { good = system_->factorize(tangent_); });
  return good;
}

std::shared_ptr<const History> FullContact::initial_history() const {
  return FullHistory::of_backend(name_);
}

std::shared_ptr<const History> FullContact::load_history(std::string_view bytes) const {
  auto history = FullHistory::load(bytes, name_);
  const auto check_size = [&](const Eigen::VectorXd& values, std::size_t expected, const char* what) {
    if (values.size() == 0 || values.size() == static_cast<Eigen::Index>(expected)) return;
    throw input_error("state", fmt::format("history of back-end '{}': expected {} numbers of {} or none, found {}; "
                                           "restore a state of the same body",
                                           name_, expected, what, values.size()));
  };
  const std::size_t n_contact = prepared_.contact.nodes.size();
  check_size(history->u, prepared_.body.n_dofs(), "the displacement");
  check_size(history->lambda, n_contact, "normal forces");
  check_size(history->tau, 3 * n_contact, "tangential forces");
  check_size(history->memory, memory_size(prepared_.body, laws_), "the material's history variables");
  check_size(history->p_BStickPoints, 3 * n_contact, "stick points");
  if ((history->u.size() == 0) != (history->lambda.size() == 0)) {
    throw input_error("state", fmt::format("history of back-end '{}': expected displacement and normal forces or "
                                           "neither, found {} and {} numbers; the bytes are damaged",
                                           name_, history->u.size(), history->lambda.size()));
  }
  return history;
}

FullNode FullContact::node_at(const PairState& state, const Solution& solution, std::size_t c, double offset) const {
  const auto dof = 3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c]);
  const Vector3 y = prepared_.body.mesh().nodes[prepared_.contact.nodes[c]] + solution.u.segment<3>(dof);
  FullNode node;
  node.surface = surface_in_A(*prepared_.partner, state.X_AB, y);
  node.surface.gap += offset;
  if (!solution.fixed_normals.empty() && node.surface.bend == 0.0) node.surface.normal = solution.fixed_normals[c];
  node.penalty = penalty_[c];
  node.rho = penalty_[c] / penalty_factor;
  node.lambda = solution.lambda[static_cast<Eigen::Index>(c)];
  if (solution.stick_points.empty()) return node;
  node.friction = prepared_.options.friction;
  node.tau = solution.tau.segment<3>(3 * static_cast<Eigen::Index>(c));
  node.off = y - solution.stick_points[c].p_AP;
  return node;
}

/// Equations of one Newton iterate, assembled into tangent_ with the symmetric part of the contact.
struct FullContact::Linearised {
  std::vector<FullNode> nodes;
  std::vector<FullNodeForce> forces;
  std::vector<int> states;                              ///< 0 separated, 1 sticks or frictionless, 2 slides
  Eigen::VectorXd residual;                             ///< [N] of the multipliers only
  Eigen::VectorXd correction;                           ///< [N] contribution of the penalties
  double geometric_error = 0.0;                         ///< [m] maximum gap or slip
  std::vector<std::pair<std::uint32_t, Matrix3>> rest;  ///< node of the mesh, unsymmetric part of its stiffness
};

BodyEquations FullContact::equations_at(const Eigen::VectorXd& u, const BodyHistoryVariables& memory) const {
  BodyEquations equations = assemble_equations(prepared_.body, laws_, u, tangent_, 0, memory);
  if (interior_) interior_->add(u, equations, tangent_);
  return equations;
}

bool FullContact::linearise(const PairState& state, double offset, Solution& solution, Linearised& now) const {
  const BodyEquations equations = equations_at(solution.u, solution.memory);
  if (!equations.valid) return false;
  solution.energy = equations.energy;
  now.residual = -equations.force;
  now.correction = Eigen::VectorXd::Zero(now.residual.size());
  for (std::size_t c = 0; c < prepared_.contact.nodes.size(); ++c) {
    const auto dof = 3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c]);
    now.nodes.push_back(node_at(state, solution, c, offset));
    const FullNode& node = now.nodes.back();
    now.forces.emplace_back(node);
    const FullNodeForce& force = now.forces.back();
    now.states.push_back(!force.active() ? 0 : force.slides() ? 2 : 1);
    if (!force.active()) {
      solution.lambda[static_cast<Eigen::Index>(c)] = 0.0;
      if (solution.tau.size() > 0) solution.tau.segment<3>(3 * static_cast<Eigen::Index>(c)).setZero();
      continue;
    }
    const Vector3& n = node.surface.normal;
    now.residual.segment<3>(dof) += node.lambda * n;
    now.correction.segment<3>(dof) -= node.penalty * node.surface.gap * n;
    now.geometric_error = std::max(now.geometric_error, std::abs(node.surface.gap));
    const Matrix3 stiffness = force.symmetric_stiffness();
    if (node.friction > 0.0) {
      now.residual.segment<3>(dof) += force.multiplier();
      now.correction.segment<3>(dof) += force.correction();
      now.geometric_error = std::max(now.geometric_error, force.tangential_error());
      now.rest.emplace_back(prepared_.contact.nodes[c], force.stiffness(false) - stiffness);
    }
    for (Eigen::Index l = 0; l < 3; ++l) {
      for (Eigen::Index k = 0; k < 3; ++k) tangent_.coeffRef(dof + k, dof + l) += stiffness(k, l);
    }
  }
  return true;
}

Eigen::MatrixXd FullContact::solve_system(const NodeMatrices& rest, const Eigen::MatrixXd& rhs, double accuracy) const {
  Eigen::MatrixXd x = system_->solve(rhs);
  const auto is_zero = [](const auto& entry) { return entry.second.isZero(0.0); };
  if (std::ranges::all_of(rest, is_zero)) return x;
  // With the loads q of the solvable systems, x = solve(q), the equation is q + rest x = rhs: free bodies and layers
  // need no special treatment.
  const LinearMap apply = [&](const Eigen::VectorXd& q) -> Eigen::VectorXd {
    const Eigen::VectorXd displacement = system_->solve(q);
    Eigen::VectorXd result = q;
    for (const auto& [node, matrix] : rest) {
      const auto dof = 3 * static_cast<Eigen::Index>(node);
      result.segment<3>(dof) += matrix * displacement.segment<3>(dof);
    }
    return result;
  };
  const LinearMap identity = [](const Eigen::VectorXd& q) { return q; };
  int steps = 0;
  for (Eigen::Index k = 0; k < rhs.cols(); ++k) {
    Eigen::VectorXd q = rhs.col(k);
    // A result short of the accuracy is the best available one.
    (void)gmres(apply, identity, rhs.col(k), accuracy, max_krylov_dimension, q, steps);
    x.col(k) = system_->solve(q);
  }
  return x;
}

void FullContact::advance(const Linearised& now, const Eigen::VectorXd& step, Solution& solution) const {
  solution.u += step;
  for (std::size_t c = 0; c < now.nodes.size(); ++c) {
    if (now.states[c] == 0) continue;
    const FullNode& node = now.nodes[c];
    const Vector3 du = step.segment<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c]));
    double& lambda = solution.lambda[static_cast<Eigen::Index>(c)];
    lambda = std::max(0.0, lambda - node.penalty * (node.surface.gap + node.surface.normal.dot(du)));
  }
}

bool FullContact::newton(const PairState& state, double offset, Solution& solution) const {
  std::vector<int> states_before;
  double change = std::numeric_limits<double>::infinity();  // [m] of the last step
  double change_before = change;
  solution.fixed_normals.clear();
  for (int iteration = 1; iteration <= max_newton_iterations; ++iteration) {
    ++solution.statistics.iterations;
    Linearised now;
    if (!linearise(state, offset, solution, now)) return false;
    const double error = system_->effective(now.residual).cwiseAbs().maxCoeff();
    if (!factorize()) return false;
    const double force_scale = solution.lambda.size() > 0 ? solution.lambda.maxCoeff() : 0.0;
    solution.statistics.residual = force_scale > 0.0 ? error / force_scale : error;
    const bool is_converged = now.states == states_before;
    if (is_converged && error <= tolerance * force_scale && now.geometric_error <= tolerance * solution.length)
      return true;
    // Without contact an elastic body is at rest, whatever the last step; a body with history variables has to be
    // solved.
    const bool found = solution.memory.values.empty() || change <= std::max(tolerance * solution.length, rounding());
    if (iteration > 1 && is_converged && force_scale == 0.0 && found) return true;
    // At the onset of contact the depth itself is hardly more than rounding: further iterations gain nothing. Below it,
    // rounding determines the active set, which need not be reproducible.
    const bool agrees = is_converged || solution.length <= rounding();
    if (agrees && change <= rounding() && change > max_linear_rate * change_before) return true;
    change_before = change;
    const Eigen::VectorXd step = system_->step(now.residual + now.correction, solution.u);
    change = step.cwiseAbs().maxCoeff();
    advance(now, step, solution);
    states_before = std::move(now.states);
    if (iteration != iterations_of_facets) continue;
    for (const FullNode& node : now.nodes) solution.fixed_normals.push_back(node.surface.normal);
  }
  return false;
}

Eigen::VectorXd FullContact::solve_frictional_contact(const PairState& state, double offset,
                                                      const SurfaceCompliance& compliance,
                                                      const Eigen::VectorXd& u_free, Solution& solution) const {
  const auto& contact = prepared_.contact.nodes;
  FrictionProblem problem;
  problem.friction = prepared_.options.friction;
  problem.R_AB = state.X_AB.R;
  std::vector<SurfacePoint> points;
  double depth = 0.0;
  for (const std::uint32_t node : contact) {
    const auto dof = 3 * static_cast<Eigen::Index>(node);
    points.push_back(
        surface_in_A(*prepared_.partner, state.X_AB, prepared_.body.mesh().nodes[node] + solution.u.segment<3>(dof)));
    SurfacePoint& point = points.back();
    if (!solution.fixed_normals.empty() && point.bend == 0.0) point.normal = solution.fixed_normals[points.size() - 1];
    point.gap += offset + point.normal.dot(u_free.segment<3>(dof) - solution.u.segment<3>(dof));
    depth = std::max(depth, -point.gap);
  }
  for (std::uint32_t c = 0; c < contact.size(); ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    const Vector3 before = solution.lambda[i] * points[c].normal + solution.tau.segment<3>(3 * i);
    if (depth == 0.0 || (points[c].gap > depth && !(solution.lambda[i] > 0.0))) continue;
    problem.near.add(c, points[c].gap, points[c].normal, before);
    problem.positions.emplace_back(prepared_.body.mesh().nodes[contact[c]] +
                                   u_free.segment<3>(3 * static_cast<Eigen::Index>(contact[c])));
  }
  problem.near.compliance_changed = true;
  problem.stick_point = [&](std::uint32_t i) { return solution.stick_points[problem.near.nodes[i]]; };
  solution.lambda.setZero();
  solution.tau.setZero();
  solution.rho = Eigen::VectorXd::Zero(solution.lambda.size());
  Eigen::VectorXd load = Eigen::VectorXd::Zero(solution.u.size());
  if (problem.near.nodes.empty()) return load;
  const FrictionContact found = solve_friction_contact(compliance, problem);
  for (std::size_t a = 0; a < found.active.size(); ++a) {
    const std::uint32_t c = problem.near.nodes[found.active[a]];
    solution.lambda[c] = found.lambda[static_cast<Eigen::Index>(a)];
    solution.tau.segment<3>(3 * Eigen::Index{c}) = found.traction[a];
    solution.rho[c] = found.rho[a];
    load.segment<3>(3 * Eigen::Index{contact[c]}) = solution.lambda[c] * points[c].normal + found.traction[a];
  }
  return load;
}

double FullContact::rounding() const {
  return rounding_of(prepared_.body);
}

bool FullContact::solve_with_friction(const PairState& state, double offset, Solution& solution) const {
  const BodySystem* system = initial_system_.get();
  const SurfaceCompliance* compliance = &initial_compliance_;
  SurfaceCompliance present;
  bool may_refactor = !laws_.is_linear();
  solution.fixed_normals.clear();
  double change_before = std::numeric_limits<double>::infinity();
  for (int iteration = 1; iteration <= max_surface_iterations; ++iteration) {
    ++solution.statistics.iterations;
    const BodyEquations equations = equations_at(solution.u, solution.memory);
    if (!equations.valid) return false;
    Eigen::VectorXd u = solution.u + system->step(-equations.force, solution.u);
    u += system->solve(solve_frictional_contact(state, offset, *compliance, u, solution));
    if (iteration == iterations_of_facets) {
      std::vector<Vector3> current_normals;
      for (std::size_t c = 0; c < prepared_.contact.nodes.size(); ++c) {
        current_normals.push_back(node_at(state, solution, c, offset).surface.normal);
      }
      solution.fixed_normals = std::move(current_normals);
    }
    const double change = (u - solution.u).cwiseAbs().maxCoeff();
    solution.u = u;
    solution.statistics.residual = change / solution.length;
    if (change <= surface_tolerance * solution.length) return true;
    // At the onset of contact the depth itself is hardly more than rounding: further steps gain nothing.
    if (change <= rounding() && change > max_linear_rate * change_before) return true;
    if (!std::isfinite(change)) return false;
    const bool refresh = may_refactor && change > max_linear_rate * change_before;
    change_before = refresh ? std::numeric_limits<double>::infinity() : change;
    if (!refresh) continue;
    may_refactor = equations_at(u, solution.memory).valid && factorize();
    if (may_refactor) present = system_->compliance(prepared_.contact.nodes);
    // A free body under pressure may have no definite matrix without its contact: then the initial one is used.
    system = may_refactor ? system_.get() : initial_system_.get();
    compliance = may_refactor ? &present : &initial_compliance_;
  }
  return false;
}

bool FullContact::equilibrium(const PairState& state, double offset, Solution& solution) const {
  if (solution.stick_points.empty()) return newton(state, offset, solution);
  try {
    if (!solve_with_friction(state, offset, solution)) return false;
  } catch (const RecoverableError&) {
    return false;
  }
  if (offset != 0.0) return true;
  // The matrix of the tangents, at the solution.
  Linearised now;
  return linearise(state, offset, solution, now) && factorize();
}

void FullContact::solve_in_load_steps(const PairState& state, Solution& solution) const {
  fem::solve_in_load_steps(name_, -solution.gap, [&](double offset, bool restart) {
    if (restart) {
      solution.u.setZero();
      solution.lambda.setZero();
      solution.tau.setZero();
    }
    return equilibrium(state, offset, solution);
  });
}

namespace {

/// Derivatives of slip and traction of one active node by the pose at fixed u.
struct TangentialByPose {
  Matrix36 slip = Matrix36::Zero();      ///< in axes that rotate with B
  Matrix36 rotation = Matrix36::Zero();  ///< of the traction with these axes
};

TangentialByPose tangential_by_pose(const ContactNodeState& node, const StickPoint& stick_point, const Vector3& p_AB) {
  const Vector3& n = node.surface.normal;
  const Vector3 off = node.x - stick_point.p_AP;
  Matrix36 bending = normal_rotation(node, p_AB);
  TangentialByPose result;
  result.rotation = force_rotation(node, p_AB) - node.lambda * bending;
  bending.leftCols<3>() += skew(n);
  result.slip = -stick_point.dp_dX - n.dot(off) * bending;
  result.slip.leftCols<3>() += skew(off);
  return result;
}

}  // namespace

// The available factor is that of K + sum k n n^T. Exact derivatives satisfy n . du = G instead (and no slip where a
// node sticks): the multipliers of these constraints gain the factor k per pass, as those of the contact do.
void FullContact::differentiate(const PairState& state, Solution& solution) const {
  const auto n = static_cast<Eigen::Index>(prepared_.body.n_dofs());
  const Vector3& p_AB = state.X_AB.p;
  const bool has_friction = !solution.stick_points.empty();
  std::vector<Eigen::Matrix<double, 1, 6>> dlambda(solution.nodes.size(), Eigen::Matrix<double, 1, 6>::Zero());
  std::vector<Matrix36> dtau(solution.nodes.size(), Matrix36::Zero());
  std::vector<FullNodeForce> forces;
  std::vector<TangentialByPose> by_pose(solution.nodes.size());
  NodeMatrices rest;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const std::uint32_t c = solution.touching[i];
    forces.emplace_back(node_at(state, solution, c, 0.0));
    if (!has_friction) continue;
    by_pose[i] = tangential_by_pose(solution.nodes[i], solution.stick_points[c], p_AB);
    rest.emplace_back(prepared_.contact.nodes[c], forces[i].stiffness(true) - forces[i].symmetric_stiffness());
  }
  const auto traction_change = [&](std::size_t i, const Eigen::Matrix<double, 1, 6>& dp, const Matrix36& du) {
    Matrix36 change = Matrix36::Zero();
    for (Eigen::Index k = 0; has_friction && k < 6; ++k) {
      change.col(k) =
          forces[i].traction_change(dp[k], dtau[i].col(k), forces[i].slip_slope() * du.col(k) + by_pose[i].slip.col(k));
    }
    return change;
  };
  Eigen::MatrixXd du;
  for (int cycle = 0; cycle < n_tangent_iterations; ++cycle) {
    Eigen::MatrixXd rhs = Eigen::MatrixXd::Zero(n, 6);
    for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
      const std::uint32_t c = solution.touching[i];
      const ContactNodeState& node = solution.nodes[i];
      const Eigen::Matrix<double, 1, 6> dp = penalty_[c] * gap_wrench(node, p_AB).transpose() + dlambda[i];
      rhs.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c])) +=
          node.surface.normal * dp + node.lambda * normal_rotation(node, p_AB) +
          traction_change(i, dp, Matrix36::Zero()) + by_pose[i].rotation;
    }
    du = solve_system(rest, rhs, tangent_accuracy);
    for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
      const std::uint32_t c = solution.touching[i];
      const ContactNodeState& node = solution.nodes[i];
      const Matrix36 element_du = du.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c]));
      dlambda[i] += penalty_[c] * (gap_wrench(node, p_AB).transpose() - node.surface.normal.transpose() * element_du);
      dtau[i] = traction_change(i, dlambda[i], element_du);
    }
  }
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const ContactNodeState& node = solution.nodes[i];
    const Matrix36 element_du =
        du.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[solution.touching[i]]));
    solution.derivatives.u.emplace_back(element_du);
    solution.derivatives.traction.emplace_back(dtau[i] + by_pose[i].rotation -
                                               node.surface.normal *
                                                   (node.traction.transpose() * node.surface.curvature * element_du));
    solution.derivatives.lambda.emplace_back(dlambda[i]);
  }
}

void FullContact::find_stick_points(const FullHistory& history, const PairState& state, Solution& solution) const {
  if (!(prepared_.options.friction > 0.0)) return;
  const auto& contact = prepared_.contact.nodes;
  solution.tau = Eigen::VectorXd::Zero(3 * static_cast<Eigen::Index>(contact.size()));
  if (history.tau.size() > 0) solution.tau = history.tau;
  const auto gap_at = [&](const Vector3& p_BQ) { return prepared_.partner->closest(p_BQ).gap; };
  for (std::size_t c = 0; c < contact.size(); ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    StickPointHistory memory;
    memory.X_AB = history.X_AB;
    if (history.p_BStickPoints.size() > 0) memory.p_BStick = history.p_BStickPoints.segment<3>(3 * i);
    memory.touched = history.lambda.size() > 0 && history.lambda[i] > 0.0;
    const Vector3& x = prepared_.body.mesh().nodes[contact[c]];
    solution.stick_points.push_back(
        stick_point_of(memory, gap_at, state.X_AB, x, surface_in_A(*prepared_.partner, state.X_AB, x)));
  }
}

SlipStep FullContact::slip_of(const FullHistory& history, const PairState& state, const Solution& solution,
                              std::uint32_t c, const FullNodeForce& force) const {
  const auto i = static_cast<Eigen::Index>(c);
  SlipStep step{.trial = force.multiplier() - solution.rho[i] * force.slip(),
                .limit = prepared_.options.friction * solution.lambda[i],
                .slip = force.slip().norm()};
  if (!history.X_AB || history.lambda.size() == 0 || history.tau.size() == 0) return step;
  // The traction rotates with the surface of B.
  step.traction = state.X_AB.R * (history.X_AB->R.transpose() * history.tau.segment<3>(3 * i));
  step.limit_before = prepared_.options.friction * history.lambda[i];
  return step;
}

FullContact::Solution FullContact::solve(const FullHistory& history, const PairState& state) const {
  Solution solution;
  const auto& contact = prepared_.contact.nodes;
  solution.gap = std::numeric_limits<double>::infinity();
  for (const std::uint32_t node : contact) {
    const Vector3& x = prepared_.body.mesh().nodes[node];
    solution.update_closest(x, surface_in_A(*prepared_.partner, state.X_AB, x));
  }
  if (laws_.has_history()) solution.memory = history_variables_at(name_, history.memory, history.t, state.t);
  if (solution.gap >= 0.0 && solution.memory.values.empty()) return solution;
  check_depth(solution, prepared_.options, state);
  solution.u = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prepared_.body.n_dofs()));
  solution.lambda = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(contact.size()));
  if (history.u.size() > 0) {
    solution.u = history.u;
    solution.lambda = history.lambda;
  }
  solution.length = -solution.gap;
  if (!solution.memory.values.empty()) {
    solution.length = std::max(solution.length, solution.u.cwiseAbs().maxCoeff());
  }
  find_stick_points(history, state, solution);
  const std::scoped_lock lock(mutex_);
  if (!equilibrium(state, 0.0, solution)) solve_in_load_steps(state, solution);
  Eigen::VectorXd load = Eigen::VectorXd::Zero(solution.u.size());
  SlipSpeed slip_speed;
  for (std::uint32_t c = 0; c < contact.size(); ++c) {
    const double lambda = solution.lambda[static_cast<Eigen::Index>(c)];
    if (!(lambda > 0.0)) continue;
    ContactNodeState node;
    node.x = prepared_.body.mesh().nodes[contact[c]] + solution.u.segment<3>(3 * static_cast<Eigen::Index>(contact[c]));
    const FullNode full = node_at(state, solution, c, 0.0);
    node.surface = full.surface;
    node.lambda = lambda;
    node.area = prepared_.contact.areas[c];
    const FullNodeForce force(full);
    node.traction = force.multiplier();
    load.segment<3>(3 * Eigen::Index{contact[c]}) = node.force();
    if (prepared_.options.friction > 0.0) {
      const SlipStep slip = slip_of(history, state, solution, c, force);
      if (force.slides()) solution.dissipated += slip_work(slip);
      slip_speed.add(slip.traction, slip.limit_before, point_velocity(state.V_AB, node.x - state.X_AB.p));
    }
    solution.sliding.push_back(force.slides());
    solution.touching.push_back(c);
    solution.nodes.push_back(node);
  }
  solution.slip_speed = slip_speed.value();
  solution.energy += system_->inertia_energy(load);
  differentiate(state, solution);
  if (laws_.has_history()) update_history(history, state, solution);
  return solution;
}

void FullContact::update_history(const FullHistory& history, const PairState& state, Solution& solution) const {
  HistoryUpdate after = update_history_variables(prepared_.body, laws_, solution.u, solution.memory);
  solution.dissipated += after.dissipated;
  solution.update_history_variables = std::move(after.values);
  if (solution.nodes.empty()) {
    // The remaining energy of a released body decays without an effect on contact: it is reported as dissipated at
    // once.
    const bool released = history.lambda.size() > 0 && history.lambda.maxCoeff() > 0.0;
    solution.dissipated = released ? solution.dissipated + solution.energy : 0.0;
    solution.energy = 0.0;
    solution.gap = std::numeric_limits<double>::infinity();
    for (const std::uint32_t node : prepared_.contact.nodes) {
      const Vector3 y = prepared_.body.mesh().nodes[node] + solution.u.segment<3>(3 * Eigen::Index{node});
      solution.update_closest(y, surface_in_A(*prepared_.partner, state.X_AB, y));
    }
    // A separated body that has recovered is identical to one without previous contact.
    if (solution.u.cwiseAbs().maxCoeff() <= rounding()) {
      solution.u.resize(0);
      solution.lambda.resize(0);
      solution.tau.resize(0);
      solution.stick_points.clear();
      solution.update_history_variables.resize(0);
    }
  }
  // Corrects the sign of a gap at rounding level: callers distinguish contact by this sign.
  solution.gap = solution.nodes.empty() ? std::max(solution.gap, 0.0) : std::min(solution.gap, -rounding());
}

Response FullContact::make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                    const PairState& state) const {
  Response response =
      solved_response(solution, prepared_.options, prepared_.pressure, prepared_.regions, approach_velocity, state);
  if (!solution.nodes.empty()) response.stored_energy = solution.energy;
  response.dissipated_increment = solution.dissipated;
  return response;
}

Eigen::VectorXd FullContact::stick_points_after(const Solution& solution, const PairState& state) const {
  Eigen::VectorXd stick_points(3 * static_cast<Eigen::Index>(solution.stick_points.size()));
  const Pose X_BA = state.X_AB.inverse();
  for (std::size_t c = 0; c < solution.stick_points.size(); ++c) {
    const std::uint32_t node = prepared_.contact.nodes[c];
    stick_points.segment<3>(3 * static_cast<Eigen::Index>(c)) =
        X_BA * (prepared_.body.mesh().nodes[node] + solution.u.segment<3>(3 * static_cast<Eigen::Index>(node)));
  }
  for (std::size_t i = 0; i < solution.stick_points.size() && i < solution.touching.size(); ++i) {
    const std::uint32_t c = solution.touching[i];
    if (!solution.sliding[i])
      stick_points.segment<3>(3 * static_cast<Eigen::Index>(c)) = X_BA * solution.stick_points[c].p_AP;
  }
  return stick_points;
}

Response FullContact::evaluate(const History& history, const PairState& state,
                               const EvaluateOptions& /*options*/) const {
  const FullHistory& full = FullHistory::from(history);
  return make_response(solve(full, state), full.approach_velocity, state);
}

Committed FullContact::commit(const History& history, const PairState& state,
                              const EvaluateOptions& /*options*/) const {
  const FullHistory& full = FullHistory::from(history);
  const Solution solution = solve(full, state);
  auto next = FullHistory::of_backend(name_);
  next->approach_velocity = latched_speed(solution, prepared_.options, full.approach_velocity, state);
  next->u = solution.u;
  next->lambda = solution.lambda;
  next->tau = solution.tau;
  next->X_AB = state.X_AB;
  next->t = state.t;
  next->memory = solution.update_history_variables;
  next->p_BStickPoints = stick_points_after(solution, state);
  Response response = make_response(solution, next->approach_velocity, state);
  if (laws_.has_history()) {
    // After the commit the material has had no time to relax: forces are equal, tangents those of a sudden change.
    response = make_response(solve(*next, state), next->approach_velocity, state);
    response.dissipated_increment = solution.dissipated;
  }
  response.slip_speed = slip_speed_after(solution, prepared_.options, state);
  return {.history = std::move(next), .response = response};
}

std::string FullContact::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  if (request.part == FieldPart::partner) return fields_->write_partner(state.X_AB, request);
  const FullHistory& full = FullHistory::from(history);
  const Solution solution = solve(full, state);
  const std::vector<double> factors = hysteresis_factors(solution, prepared_.options, full.approach_velocity, state);
  std::vector<Vector3> normals(prepared_.contact.nodes.size(), Vector3::Zero());
  FieldState picture;
  picture.displacement = solution.u;
  if (picture.displacement.size() == 0) {
    picture.displacement = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prepared_.body.n_dofs()));
  }
  picture.stress = stress(prepared_.body, laws_, picture.displacement, solution.memory);
  picture.forces = normals;
  std::vector<Vector3> elastic = normals;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const ContactNodeState& node = solution.nodes[i];
    normals[solution.touching[i]] = node.surface.normal;
    elastic[solution.touching[i]] = node.force();
    picture.forces[solution.touching[i]] = factors[i] * elastic[solution.touching[i]];
  }
  if (interior_) {
    picture.displacement = interior_->displacement(picture.displacement, elastic);
    picture.stress = interior_->stress(picture.stress, picture.displacement);
  }
  return fields_->write_body_fields(picture, normals, request);
}

}  // namespace heelstrike::fem
