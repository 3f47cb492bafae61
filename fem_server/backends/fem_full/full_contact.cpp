#include "fem_server/backends/fem_full/full_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/state_bytes.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view format_version = "heelstrike full history 1";
constexpr int iteration_limit = 40;
constexpr int largest_number_of_steps = 32;
/// Of the largest contact force, and of the depth: two digits above what rounding leaves on 10^5 dofs.
constexpr double tolerance = 1e-10;
/// Penalty over the node's own stiffness: the multipliers gain this factor per iteration, rounding loses it.
constexpr double penalty_factor = 1e3;
/// Each wins three digits.
constexpr int tangent_passes = 3;

const FullHistory& own(const History& history) {
  const auto* full = dynamic_cast<const FullHistory*>(&history);
  if (full == nullptr) throw Error(ErrorCode::internal, "fem_full was given the history of another back-end");
  return *full;
}

void put(StateWriter& writer, const Eigen::VectorXd& values) {
  writer.put(static_cast<std::uint64_t>(values.size()));
  for (const double v : values) writer.put(v);
}

Eigen::VectorXd read_vector(StateReader& reader, Eigen::Index expected) {
  const std::uint64_t n = reader.integer();
  if (n != 0 && n != static_cast<std::uint64_t>(expected)) {
    throw input_error("state",
                      fmt::format("saved history of fem_full: expected {} numbers or none, found {}", expected, n));
  }
  Eigen::VectorXd values(static_cast<Eigen::Index>(n));
  for (double& v : values) {
    v = reader.number();
    if (!std::isfinite(v)) throw input_error("state", "saved history of fem_full: a number is not finite");
  }
  return values;
}

}  // namespace

struct FullContact::Solution {
  double gap = 0.0;
  TouchingNode closest;
  Eigen::VectorXd u;
  Eigen::VectorXd lambda;
  double energy = 0.0;
  std::vector<std::uint32_t> touching;  ///< positions in the contact nodes
  std::vector<TouchingNode> nodes;
  NodeDerivatives derivatives;
  SolverStatistics statistics;
};

std::string FullHistory::save() const {
  StateWriter writer;
  writer.put(format_version);
  writer.put(std::string_view(backend));
  writer.put(std::uint64_t{approach_speed ? 1U : 0U});
  writer.put(approach_speed.value_or(0.0));
  put(writer, u);
  put(writer, lambda);
  return writer.take();
}

FullContact::FullContact(std::string name, PreparedBody prepared, MaterialLaw law, ParameterMap parameters)
    : name_(std::move(name)), prepared_(std::move(prepared)), law_(law), parameters_(std::move(parameters)) {
  use_one_blas_thread();
  if (prepared_.support.inertia_relief || prepared_.support.clamped_nodes.empty()) {
    throw input_error("support", "fem_full holds the body by clamped nodes; name a clamped_set or clamped_box");
  }
  if (prepared_.options.friction > 0.0) {
    throw input_error("friction",
                      fmt::format("fem_full has no friction, found friction = {}; set it to 0 or use fem_condensed",
                                  prepared_.options.friction));
  }
  fixed_.assign(prepared_.body.n_dofs(), false);
  for (const std::uint32_t node : prepared_.support.clamped_nodes) {
    for (std::size_t k = 0; k < 3; ++k) fixed_[3 * node + k] = true;
  }
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < fixed_.size(); ++dof) {
    if (!fixed_[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  tangent_ = linear_stiffness(prepared_.body);
  for (const std::uint32_t node : prepared_.contact.nodes) {
    double trace = 0.0;
    for (Eigen::Index k = 0; k < 3; ++k) trace += tangent_.coeff(3 * node + k, 3 * node + k);
    penalty_.push_back(penalty_factor * trace / 3.0);
  }
  factor_ = std::make_unique<SparseCholesky>(tangent_, free, std::vector<std::int64_t>{});
  fields_ = std::make_unique<const BodyFields>(prepared_.body, prepared_.support, prepared_.contact, prepared_.shape);
}

std::shared_ptr<const History> FullContact::initial_history() const {
  auto history = std::make_shared<FullHistory>();
  history->backend = name_;
  return history;
}

std::shared_ptr<const History> FullContact::load_history(std::string_view bytes) const {
  StateReader reader(bytes, fmt::format("history of back-end '{}'", name_));
  reader.expect("format", format_version);
  reader.expect("back-end", name_);
  auto history = std::make_shared<FullHistory>();
  history->backend = name_;
  const bool latched = reader.integer() != 0;
  const double speed = reader.number();
  if (latched) history->approach_speed = speed;
  history->u = read_vector(reader, static_cast<Eigen::Index>(prepared_.body.n_dofs()));
  history->lambda = read_vector(reader, static_cast<Eigen::Index>(prepared_.contact.nodes.size()));
  reader.finish();
  return history;
}

SurfacePoint FullContact::surface_at(const PairState& state, const Vector3& p_AQ) const {
  SurfacePoint point = prepared_.partner->closest(state.X_AB.R.transpose() * (p_AQ - state.X_AB.p));
  point.normal = state.X_AB.R * point.normal;
  point.curvature = state.X_AB.R * point.curvature * state.X_AB.R.transpose();
  return point;
}

bool FullContact::newton(const PairState& state, double offset, Solution& solution) const {
  const auto& contact = prepared_.contact.nodes;
  std::vector<bool> active_before;
  for (int iteration = 1; iteration <= iteration_limit; ++iteration) {
    ++solution.statistics.iterations;
    const BodyEquations equations = assemble_equations(prepared_.body, law_, solution.u, tangent_);
    if (!equations.valid) return false;
    solution.energy = equations.energy;
    Eigen::VectorXd residual = -equations.force;  // of the multipliers alone
    Eigen::VectorXd correction = Eigen::VectorXd::Zero(residual.size());
    std::vector<SurfacePoint> surface(contact.size());
    std::vector<bool> active(contact.size(), false);
    double largest_gap = 0.0;
    for (std::size_t c = 0; c < contact.size(); ++c) {
      const auto dof = 3 * static_cast<Eigen::Index>(contact[c]);
      surface[c] = surface_at(state, prepared_.body.mesh().nodes[contact[c]] + solution.u.segment<3>(dof));
      surface[c].gap += offset;
      double& lambda = solution.lambda[static_cast<Eigen::Index>(c)];
      const double force = lambda - penalty_[c] * surface[c].gap;
      active[c] = force > 0.0;
      if (!active[c]) {
        lambda = 0.0;
        continue;
      }
      const Vector3& n = surface[c].normal;
      residual.segment<3>(dof) += lambda * n;
      correction.segment<3>(dof) -= penalty_[c] * surface[c].gap * n;
      largest_gap = std::max(largest_gap, std::abs(surface[c].gap));
      // Of the multiplier alone: the penalty force of an iterate that is far off would make the matrix indefinite.
      const Matrix3 stiffness = penalty_[c] * n * n.transpose() - lambda * surface[c].curvature;
      for (Eigen::Index l = 0; l < 3; ++l) {
        for (Eigen::Index k = 0; k < 3; ++k) tangent_.coeffRef(dof + k, dof + l) += stiffness(k, l);
      }
    }
    double error = 0.0;
    for (std::size_t dof = 0; dof < fixed_.size(); ++dof) {
      if (!fixed_[dof]) error = std::max(error, std::abs(residual[static_cast<Eigen::Index>(dof)]));
    }
    if (!factor_->factorize(tangent_)) return false;
    const double force_scale = solution.lambda.size() > 0 ? solution.lambda.maxCoeff() : 0.0;
    const double depth = -solution.gap;
    solution.statistics.residual = force_scale > 0.0 ? error / force_scale : error;
    if (active == active_before && error <= tolerance * force_scale && largest_gap <= tolerance * depth) return true;
    if (iteration > 1 && active == active_before && force_scale == 0.0) return true;
    const Eigen::VectorXd step = factor_->solve(residual + correction);
    solution.u += step;
    for (std::size_t c = 0; c < contact.size(); ++c) {
      if (!active[c]) continue;
      const double change =
          surface[c].gap + surface[c].normal.dot(step.segment<3>(3 * static_cast<Eigen::Index>(contact[c])));
      double& lambda = solution.lambda[static_cast<Eigen::Index>(c)];
      lambda = std::max(0.0, lambda - penalty_[c] * change);
    }
    active_before = std::move(active);
  }
  return false;
}

void FullContact::load_in_steps(const PairState& state, Solution& solution) const {
  for (int n_steps = 4; n_steps <= largest_number_of_steps; n_steps *= 2) {
    solution.u.setZero();
    solution.lambda.setZero();
    bool good = true;
    for (int step = 1; step <= n_steps && good; ++step) {
      good = newton(state, -solution.gap * (1.0 - static_cast<double>(step) / n_steps), solution);
    }
    if (good) return;
  }
  throw RecoverableError(
      fmt::format("fem_full found no equilibrium at {} m overlap, also not in {} load steps; take a smaller "
                  "step or a finer mesh",
                  -solution.gap, largest_number_of_steps));
}

// The factor at hand is that of K + sum k n n^T. Exact derivatives hold n . du = G instead: the multipliers of this
// constraint gain the factor k per pass, as those of the contact do.
void FullContact::differentiate(const PairState& state, Solution& solution) const {
  const auto n = static_cast<Eigen::Index>(prepared_.body.n_dofs());
  const Vector3& p_AB = state.X_AB.p;
  using Row = Eigen::Matrix<double, 1, 6>;
  std::vector<Row> dlambda(solution.nodes.size(), Row::Zero());
  Eigen::MatrixXd du;
  for (int pass = 0; pass < tangent_passes; ++pass) {
    Eigen::MatrixXd rhs = Eigen::MatrixXd::Zero(n, 6);
    for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
      const std::uint32_t c = solution.touching[i];
      const TouchingNode& node = solution.nodes[i];
      rhs.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c])) +=
          node.surface.normal * (penalty_[c] * gap_wrench(node, p_AB).transpose() + dlambda[i]) +
          node.lambda * normal_rotation(node, p_AB);
    }
    du = factor_->solve(rhs);
    for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
      const std::uint32_t c = solution.touching[i];
      const TouchingNode& node = solution.nodes[i];
      const Matrix36 own_du = du.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c]));
      dlambda[i] += penalty_[c] * (gap_wrench(node, p_AB).transpose() - node.surface.normal.transpose() * own_du);
    }
  }
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const std::uint32_t c = solution.touching[i];
    solution.derivatives.u.emplace_back(du.middleRows<3>(3 * static_cast<Eigen::Index>(prepared_.contact.nodes[c])));
    solution.derivatives.traction.emplace_back(Matrix36::Zero());
    solution.derivatives.lambda.emplace_back(dlambda[i]);
  }
}

FullContact::Solution FullContact::solve(const FullHistory& history, const PairState& state) const {
  Solution solution;
  const auto& contact = prepared_.contact.nodes;
  solution.gap = std::numeric_limits<double>::infinity();
  for (const std::uint32_t node : contact) {
    const Vector3& x = prepared_.body.mesh().nodes[node];
    const SurfacePoint point = surface_at(state, x);
    if (point.gap >= solution.gap) continue;
    solution.gap = point.gap;
    solution.closest.x = x;
    solution.closest.surface = point;
  }
  const double depth = -solution.gap;
  if (depth <= 0.0) return solution;
  if (depth > prepared_.options.depth_limit) {
    throw RecoverableError(
        fmt::format("bodies overlap by {} m, deeper than depth_limit = {} m at t = {} s; take a smaller "
                    "step, correct the initial pose or raise depth_limit",
                    depth, prepared_.options.depth_limit, state.t));
  }
  solution.u = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prepared_.body.n_dofs()));
  solution.lambda = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(contact.size()));
  if (history.u.size() > 0) {
    solution.u = history.u;
    solution.lambda = history.lambda;
  }
  const std::scoped_lock lock(mutex_);
  if (!newton(state, 0.0, solution)) load_in_steps(state, solution);
  for (std::uint32_t c = 0; c < contact.size(); ++c) {
    const double lambda = solution.lambda[static_cast<Eigen::Index>(c)];
    if (!(lambda > 0.0)) continue;
    TouchingNode node;
    node.x = prepared_.body.mesh().nodes[contact[c]] + solution.u.segment<3>(3 * static_cast<Eigen::Index>(contact[c]));
    node.surface = surface_at(state, node.x);
    node.lambda = lambda;
    node.area = prepared_.contact.areas[c];
    solution.touching.push_back(c);
    solution.nodes.push_back(node);
  }
  differentiate(state, solution);
  return solution;
}

Response FullContact::respond(const Solution& solution, const std::optional<double>& approach_speed,
                              const PairState& state) const {
  Response response;
  response.gap = solution.gap;
  response.statistics = solution.statistics;
  const Vector6 G = gap_wrench(solution.closest, state.X_AB.p);
  response.gap_rate = -G.dot(state.V_AB.vector());
  response.p_ACop = solution.closest.x;
  if (solution.nodes.empty()) return response;
  Hysteresis hysteresis;
  hysteresis.factor = prepared_.options.hysteresis_factor;
  const double closing = -response.gap_rate;
  hysteresis.follows = !approach_speed && closing > prepared_.options.approach_speed_floor;
  hysteresis.speed = std::max(approach_speed.value_or(closing), prepared_.options.approach_speed_floor);
  hysteresis.approach = G;
  std::vector<double> pressures;
  fill_wrench(solution.nodes, solution.derivatives, state, hysteresis, response, pressures);
  response.stored_energy = solution.energy;
  std::vector<double> nodal(prepared_.contact.nodes.size(), 0.0);
  for (std::size_t i = 0; i < pressures.size(); ++i) nodal[solution.touching[i]] = pressures[i];
  for (const NodeWeights& weights : prepared_.contact.mean) {
    double mean = 0.0;
    for (const auto& [neighbour, weight] : weights) mean += weight * nodal[neighbour];
    response.peak_pressure = std::max(response.peak_pressure, mean);
  }
  return response;
}

Response FullContact::evaluate(const History& history, const PairState& state) const {
  const FullHistory& full = own(history);
  return respond(solve(full, state), full.approach_speed, state);
}

Committed FullContact::commit(const History& history, const PairState& state) const {
  const FullHistory& full = own(history);
  const Solution solution = solve(full, state);
  auto next = std::make_shared<FullHistory>();
  next->backend = name_;
  next->approach_speed = full.approach_speed;
  const double closing = gap_wrench(solution.closest, state.X_AB.p).dot(state.V_AB.vector());
  if (!next->approach_speed && (solution.gap < 0.0 || (solution.gap == 0.0 && closing > 0.0))) {
    next->approach_speed = std::max(closing, prepared_.options.approach_speed_floor);
  } else if (next->approach_speed && solution.gap >= 0.0 && closing <= 0.0) {
    next->approach_speed.reset();
  }
  next->u = solution.u;
  next->lambda = solution.lambda;
  Response response = respond(solution, next->approach_speed, state);
  return {.history = std::move(next), .response = response};
}

namespace {

/// As linear_stress, for finite strain.
Eigen::Matrix<double, 6, Eigen::Dynamic> neo_hookean_stress(const BodyModel& body, const Eigen::VectorXd& u) {
  const ShapeTable& rule = body.reference().stiffness;
  const std::size_t n_points = rule.weights.size();
  Eigen::Matrix<double, 6, Eigen::Dynamic> stress(6, static_cast<Eigen::Index>(n_points * body.mesh().n_elements()));
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const auto nodes = body.mesh().element(e);
    for (std::size_t q = 0; q < n_points; ++q) {
      const auto geometry = body.point_geometry(rule, e, q);
      Matrix3 F = Matrix3::Identity();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        F += u.segment<3>(3 * static_cast<Eigen::Index>(nodes[a])) *
             geometry.gradients.row(static_cast<Eigen::Index>(a));
      }
      const Matrix3 s = cauchy_stress(body.material(e), F);
      stress.col(static_cast<Eigen::Index>(e * n_points + q)) << s(0, 0), s(1, 1), s(2, 2), s(0, 1), s(1, 2), s(2, 0);
    }
  }
  return stress;
}

}  // namespace

std::string FullContact::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  if (request.part == FieldPart::partner) return fields_->draw_partner(state.X_AB, request);
  const FullHistory& full = own(history);
  const Solution solution = solve(full, state);
  const Vector6 V = state.V_AB.vector();
  const double closing = gap_wrench(solution.closest, state.X_AB.p).dot(V);
  const double speed = std::max(full.approach_speed.value_or(closing), prepared_.options.approach_speed_floor);
  std::vector<Vector3> normals(prepared_.contact.nodes.size(), Vector3::Zero());
  DrawnState picture;
  picture.displacement = solution.u;
  if (picture.displacement.size() == 0) {
    picture.displacement = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prepared_.body.n_dofs()));
  }
  picture.stress = law_ == MaterialLaw::linear ? linear_stress(prepared_.body, picture.displacement)
                                               : neo_hookean_stress(prepared_.body, picture.displacement);
  picture.forces = normals;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const TouchingNode& node = solution.nodes[i];
    const double rate = gap_wrench(node, state.X_AB.p).dot(V);
    const double factor = std::max(0.0, 1.0 + prepared_.options.hysteresis_factor / speed * rate);
    normals[solution.touching[i]] = node.surface.normal;
    picture.forces[solution.touching[i]] = factor * node.lambda * node.surface.normal;
  }
  return fields_->draw_body(picture, normals, request);
}

}  // namespace heelstrike::fem
