#include "mbs_server/simulation/unilateral_joints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/LU>
#include <algorithm>

#include "common/errors/error.hpp"
#include "common/friction/impact.hpp"
#include "mbs_server/simulation/rigid_contact_set.hpp"

namespace heelstrike::mbs {
namespace {

/// M^-1 J' under the constraints of the system: effect of unit impulses along the rows of J.
Eigen::MatrixXd responses(System& system, double t, const ConstVector& q, const Eigen::MatrixXd& J) {
  Eigen::MatrixXd X = J.transpose();
  for (Eigen::Index column = 0; column < X.cols(); ++column) (void)system.make_response(t, q, X.col(column));
  return X;
}

}  // namespace

double UnilateralJoints::error(const ConstVector& x) const {
  // An integrator controls the mean error over all coordinates per step: a single coordinate may have an error of
  // several tolerances after the first steps following an event.
  constexpr double share = 10.0;
  return std::max(RigidContactSet::contact_tolerance(x), share * (rtol_ * x.lpNorm<Eigen::Infinity>() + atol_));
}
double UnilateralJoints::gap(std::size_t joint, const ConstVector& q) const {
  return system_.unilaterals()[joint]->gap().residual(0.0, q);
}
double UnilateralJoints::rate(std::size_t joint, const ConstVector& q, const ConstVector& qd) const {
  return system_.unilaterals()[joint]->gap().slope(q, qd);
}

std::vector<char> UnilateralJoints::flags(std::span<const std::size_t> joints) const {
  std::vector<char> flags(system_.unilaterals().size(), 0);
  for (const std::size_t joint : joints) flags[joint] = 1;
  return flags;
}

void UnilateralJoints::roots(const MotionState& at, Eigen::Ref<VectorX> values) {
  const std::vector<char> closed = system_.closed();
  const bool any_closed = std::ranges::find(closed, 1) != closed.end();
  const VectorX lambda = any_closed ? system_.accelerations(at).lambda : VectorX();
  // Joints that have just opened, or had an impact, start above their roots by their error.
  const double known = error(at.q), known_rate = error(at.qd);
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const auto first = roots_per_joint * static_cast<Eigen::Index>(i);
    values[first] = closed[i] != 0 ? system_.joint_force(i, lambda) : gap(i, at.q) + known;
    values[first + 1] = closed[i] != 0 ? 1.0 : rate(i, at.q, at.qd) + known_rate;
  }
}

std::vector<int> UnilateralJoints::directions() const {
  std::vector<int> directions;
  for (std::size_t i = 0; i < system_.unilaterals().size(); ++i) directions.insert(directions.end(), {-1, +1});
  return directions;
}

std::vector<std::size_t> UnilateralJoints::at_root(std::span<const int> roots) const {
  std::vector<std::size_t> joints;
  for (const int root : roots) {
    if (root % roots_per_joint == 0) joints.push_back(static_cast<std::size_t>(root / roots_per_joint));
  }
  return joints;
}

double UnilateralJoints::missed_penetration(const ConstVector& q, std::span<const std::size_t> known) const {
  double deepest = 0.0;
  for (std::size_t i = 0; i < system_.unilaterals().size(); ++i) {
    if (system_.unilaterals()[i]->closed() || std::ranges::find(known, i) != known.end()) continue;
    deepest = std::max(deepest, -gap(i, q));
  }
  return deepest <= 2.0 * error(q) ? 0.0 : deepest;
}

bool UnilateralJoints::needs_event(const MotionState& at) {
  VectorX values(n_roots());
  roots(at, values);
  for (std::size_t i = 0; i < system_.unilaterals().size(); ++i) {
    const auto first = roots_per_joint * static_cast<Eigen::Index>(i);
    const bool penetrates = system_.unilaterals()[i]->closed() || values[first + 1] < 0.0;
    if (values[first] < 0.0 && penetrates) return true;
  }
  return false;
}

Eigen::MatrixXd UnilateralJoints::gradients(std::span<const std::size_t> joints, const ConstVector& q) const {
  SparseAssembler J(static_cast<int>(joints.size()), system_.n_q());
  J.begin();
  for (std::size_t k = 0; k < joints.size(); ++k) {
    system_.unilaterals()[joints[k]]->gap().add_jacobian(0.0, q, static_cast<int>(k), J);
  }
  J.end();
  return J.matrix();
}

/// Newton's law at all touching joints, frictionless; velocities of approach below restitution_threshold have no
/// rebound.
UnilateralJoints::Event UnilateralJoints::apply_impact(std::span<const std::size_t> touching, const Eigen::MatrixXd& X,
                                                       const Eigen::MatrixXd& W, const ConstVector& q,
                                                       Eigen::Ref<VectorX> qd) {
  const auto m = static_cast<Eigen::Index>(touching.size());
  // Three components per point; tangential impulses are zero.
  friction::ImpactProblem problem{.W = Eigen::MatrixXd::Zero(3 * m, 3 * m),
                                  .mu = VectorX::Zero(m),
                                  .restitution = VectorX::Zero(m),
                                  .law = std::vector(touching.size(), ImpactLaw::newton)};
  VectorX before = VectorX::Zero(3 * m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const std::size_t joint = touching[static_cast<std::size_t>(i)];
    const ImpactAtGap& law = system_.unilaterals()[joint]->impact();
    before[3 * i] = rate(joint, q, qd);
    if (-before[3 * i] > law.restitution_threshold) problem.restitution[i] = law.restitution;
    for (Eigen::Index j = 0; j < m; ++j) problem.W(3 * i, 3 * j) = W(i, j);
  }
  if (before.minCoeff() >= -RigidContactSet::contact_tolerance(qd)) return {};
  const friction::ImpactSolution solution = friction::solve_impact(problem, before);
  const double kinetic = system_.kinetic_energy(qd);
  for (Eigen::Index i = 0; i < m; ++i) qd += solution.P[3 * i] * X.col(i);
  Event event{.dissipated = -solution.energy};
  // Driven bodies keep their velocity in impacts.
  if (!system_.model().drivers.empty()) {
    event.external_work = system_.kinetic_energy(qd) - kinetic + event.dissipated;
  }
  return event;
}

/// Joints with persistently zero gaps that push: 0 <= N perpendicular to the acceleration W N + b >= 0.
std::vector<std::size_t> UnilateralJoints::pushing(double t, const VectorX& y,
                                                   std::span<const std::size_t> candidates) {
  if (candidates.empty()) return {};
  const MotionState at = system_.state(t, y);
  const VectorX qdd = system_.accelerations(at).qdd;
  const Eigen::MatrixXd J = gradients(candidates, at.q);
  const Eigen::MatrixXd W = J * responses(system_, t, at.q, J);
  VectorX b(W.rows());
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const QuadraticEquation& gap = system_.unilaterals()[candidates[k]]->gap();
    const double free = gap.slope(at.q, qdd) - gap.acceleration_rhs(t, at.q, at.qd);
    b[static_cast<Eigen::Index>(k)] = std::abs(free) <= error(qdd) ? 0.0 : free;
  }
  VectorX forces;
  const bool solved = friction::solve_normal(W, b, forces);
  std::vector<std::size_t> pushing;
  std::vector<Eigen::Index> places;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    if (!(forces[static_cast<Eigen::Index>(k)] > 0.0)) continue;
    pushing.push_back(candidates[k]);
    places.push_back(static_cast<Eigen::Index>(k));
  }
  const bool dependent =
      !places.empty() && Eigen::FullPivLU<Eigen::MatrixXd>(W(places, places)).rank() < std::ssize(places);
  if (solved && !dependent) return pushing;
  std::vector<std::string> names;
  for (const std::size_t joint : solved ? pushing : std::vector(candidates.begin(), candidates.end())) {
    names.push_back(system_.unilaterals()[joint]->name());
  }
  throw Error(
      ErrorCode::solver_failed,
      fmt::format("unilateral joints: expected forces determined by the motion, found {} at t = {} s that "
                  "depend on each other or on other joints; remove one of them, or replace them by contacts of the "
                  "back-end rigid",
                  fmt::join(names, ", "), t));
}

UnilateralJoints::Event UnilateralJoints::resolve_event(double t, VectorX& y, std::span<const std::size_t> at_root,
                                                        double touch) {
  const Eigen::Index n = system_.n_q();
  const std::vector<char> closed = system_.closed();
  const std::vector<char> rooted = flags(at_root);
  std::vector<std::size_t> touching;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    if (closed[i] != 0 || rooted[i] != 0 || gap(i, y.head(n)) <= touch) touching.push_back(i);
  }
  // Gaps become zero to rounding, velocities are unchanged.
  system_.set_closed(flags(touching));
  VectorX qd = y.segment(n, n);
  (void)system_.project(t, y.head(n), qd);
  system_.set_closed(flags({}));
  (void)system_.project(t, y.head(n), y.segment(n, n));

  const VectorX q = y.head(n);
  const Eigen::MatrixXd J = gradients(touching, q);
  const Eigen::MatrixXd X = responses(system_, t, q, J);
  Event event;
  if (!touching.empty()) event = apply_impact(touching, X, J * X, q, y.segment(n, n));

  std::vector<std::size_t> candidates;
  for (const std::size_t joint : touching) {
    const bool has_opened = closed[joint] != 0 && rooted[joint] != 0;
    if (!has_opened && rate(joint, q, y.segment(n, n)) <= RigidContactSet::contact_tolerance(y.segment(n, n)))
      candidates.push_back(joint);
  }
  system_.set_closed(flags(pushing(t, y, candidates)));
  (void)system_.project(t, y.head(n), y.segment(n, n));
  return event;
}

}  // namespace heelstrike::mbs
