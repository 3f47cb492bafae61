#include "fem_server/backends/fem_condensed/friction_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/normal_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

using Tangents = Eigen::Matrix<double, 3, 2>;

constexpr int iteration_limit = 120;
/// Newton's method takes 3 to 10 iterations where it converges at all.
constexpr int newton_patience = 20;
constexpr int sweeps_per_rescue = 200;
/// Sort out which nodes stick before Newton's method looks: from a first guess, judged by the slip of a rigid motion,
/// nearly all would slide. Saves two to four Newton iterations. A Newton step that keeps what stuck at the commit in
/// their place costs less and leads to 8 or 9 iterations instead of 5 when the foot has moved on by 25 um.
constexpr int first_sweeps = 10;
/// Of the largest penetration; the equations are solved to rounding, this only has to be above it.
constexpr double tolerance = 1e-10;
/// Tangents: their error enters a Newton matrix of the integrator only.
constexpr double tangent_tolerance = 1e-6;

/// Smooth in n away from -z [duff2017]: the axes of a node must not jump between a committed and a present pose.
Tangents basis_in_B(const Vector3& n) {
  const double sign = n.z() < 0.0 ? -1.0 : 1.0;
  const double a = -1.0 / (sign + n.z());
  const double b = n.x() * n.y() * a;
  Tangents T;
  T.col(0) << 1.0 + sign * n.x() * n.x() * a, sign * b, -sign * n.x();
  T.col(1) << b, sign + n.y() * n.y() * a, -n.y();
  return T;
}

/// A node of the working set.
struct Member {
  std::uint32_t position = 0;  ///< in `near`
  NodeLinearisation linear;
  Anchor anchor;
  double rho = 0.0;
  bool active = false;
  double lambda = 0.0;
  Eigen::Vector2d traction = Eigen::Vector2d::Zero();
  double gamma = 0.0;
  Eigen::Vector2d slip = Eigen::Vector2d::Zero();
  [[nodiscard]] Tangents tangents() const { return linear.frame.rightCols<2>(); }
  [[nodiscard]] Vector3 force() const { return linear.frame.col(0) * lambda + tangents() * traction; }
};

/// One Newton iterate.
class Iterate {
 public:
  Iterate(const SurfaceCompliance& compliance, const FrictionProblem& problem)
      : compliance_(compliance),
        problem_(problem),
        block_(compliance, problem.near, {}),
        reference_(problem.reference) {
    for (const double gap : problem.near.gaps) scale_ = std::max(scale_, -gap);
  }

  /// Committed forces as first guess.
  void start_from_commit() {
    members_.clear();
    block_ = GatheredBlock(compliance_, problem_.near, first_working_set(problem_.near));
    for (const std::uint32_t position : block_.positions()) members_.push_back(make_member(position));
    active_changed_ = true;
    for (Member& m : members_) {
      const Vector3& force = problem_.near.force_before[m.position];
      m.active = !force.isZero(0.0);
      m.lambda = std::max(0.0, m.linear.frame.col(0).dot(force));
      m.traction = m.tangents().transpose() * force;
    }
  }

  /// Frictionless solution with the committed tractions.
  void start_without_friction() {
    members_.clear();
    const NormalContact start = solve_normal_contact(compliance_, problem_.near);
    iterations_before_ += start.iterations;
    extend(start.working);
    std::size_t next = 0;
    for (std::size_t a = 0; a < start.active.size(); ++a) {
      while (members_[next].position != start.active[a]) ++next;
      Member& m = members_[next];
      m.active = true;
      m.lambda = start.lambda[static_cast<Eigen::Index>(a)];
      m.traction = m.tangents().transpose() * problem_.near.force_before[m.position];
    }
    active_changed_ = true;
  }

  /// Gap and slip under the present forces; then nodes that penetrate join and nodes that pull leave.
  void update() {
    Eigen::VectorXd forces = all_forces();
    u_.resize(forces.size());
    multiply(block_.matrix(), forces, u_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& m = members_[i];
      const Vector3 own = u_.segment<3>(static_cast<Eigen::Index>(3 * i));
      m.gamma = problem_.near.gaps[m.position] + m.linear.frame.col(0).dot(own);
      m.slip = m.tangents().transpose() * (problem_.positions[m.position] + own - m.anchor.p_AP);
      const bool is = m.active ? m.lambda > 0.0 : m.gamma < -tolerance * scale_;
      active_changed_ = active_changed_ || is != m.active;
      m.active = is;
      if (!is) {
        m.lambda = 0.0;
        m.traction.setZero();
      }
    }
  }

  /// Near nodes outside the working set that penetrate join it. @return whether there were any
  bool join_penetrating() {
    const Eigen::VectorXd forces = all_forces();
    const LoadChange change = change_since_commit(problem_.near, block_.positions(), forces, u_);
    std::vector<std::uint32_t> loaded;
    Eigen::VectorXd carried(forces.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].active) continue;
      carried.segment<3>(3 * static_cast<Eigen::Index>(loaded.size())) =
          forces.segment<3>(3 * static_cast<Eigen::Index>(i));
      loaded.push_back(members_[i].position);
    }
    carried.conservativeResize(3 * static_cast<Eigen::Index>(loaded.size()));
    double deepest = 0.0;
    const auto found = penetrating_outside(compliance_, problem_.near, block_.positions(), loaded, carried, change,
                                           tolerance * scale_, deepest);
    if (found.empty()) return false;
    extend(found);
    return true;
  }

  /// Largest error [m] of the equations of the active nodes.
  [[nodiscard]] double error() const {
    double largest = 0.0;
    for (const Member& m : members_) {
      if (m.active) largest = std::max({largest, std::abs(m.gamma), equation(m).norm()});
    }
    return largest;
  }

  /// Newton's matrix at the present state.
  std::unique_ptr<FrictionSystem> linearise() {
    std::vector<std::uint32_t> chosen;
    std::vector<std::uint32_t> candidates;
    std::vector<NodeLinearisation> nodes;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      Member& m = members_[i];
      if (!m.active) continue;
      chosen.push_back(i);
      candidates.push_back(problem_.near.nodes[m.position]);
      m.linear.S.setIdentity();
      m.linear.E.setZero();
      if (slides(m)) {
        const Eigen::Matrix2d P = sliding_projector(m);
        m.linear.S.bottomRightCorner<2, 2>() = P;
        m.linear.E.bottomRightCorner<2, 2>() = (Eigen::Matrix2d::Identity() - P) / m.rho;
        m.linear.E.bottomLeftCorner<2, 1>() = -problem_.friction / m.rho * trial(m).normalized();
      }
      nodes.push_back(m.linear);
    }
    if (active_changed_ || active_part_.matrix == nullptr) active_part_ = block_.part(std::move(chosen));
    active_changed_ = false;
    return std::make_unique<FrictionSystem>(active_part_, std::move(candidates), std::move(nodes), reference_);
  }

  /// @param target  [m] error aimed at
  void step(FrictionSystem& system, double error, double target) {
    std::vector<Member*> active;
    for (Member& m : members_) {
      if (m.active) active.push_back(&m);
    }
    Eigen::MatrixXd rhs(static_cast<Eigen::Index>(3 * active.size()), 1);
    for (std::size_t a = 0; a < active.size(); ++a) {
      rhs.block<3, 1>(static_cast<Eigen::Index>(3 * a), 0) << -active[a]->gamma, -equation(*active[a]);
    }
    const double accuracy = std::clamp(0.1 * target / error, 1e-4, 1e-1);
    const Eigen::MatrixXd change = system.solve(rhs, accuracy);
    reference_ = system.reference();
    for (std::size_t a = 0; a < active.size(); ++a) {
      const auto row = static_cast<Eigen::Index>(3 * a);
      active[a]->lambda += change(row, 0);
      active[a]->traction += change.block<2, 1>(row + 1, 0);
    }
  }

  /// Projected Gauss-Seidel on the active nodes: slow, but every sweep comes nearer; a better start where Newton
  /// cycles.
  void sweep(const FrictionSystem& system, int n_sweeps) {
    const Eigen::MatrixXd B = local_compliance(system.nodes(), system.compliance());
    std::vector<Member*> active;
    for (Member& m : members_) {
      if (m.active) active.push_back(&m);
    }
    Eigen::VectorXd state(B.rows());
    for (std::size_t a = 0; a < active.size(); ++a) {
      state.segment<3>(static_cast<Eigen::Index>(3 * a)) << active[a]->gamma, active[a]->slip;
    }
    for (int sweep = 0; sweep < n_sweeps; ++sweep) {
      for (std::size_t a = 0; a < active.size(); ++a) {
        Member& m = *active[a];
        const auto row = static_cast<Eigen::Index>(3 * a);
        const double lambda = std::max(0.0, m.lambda - state[row] / B(row, row));
        state += (lambda - m.lambda) * B.col(row);
        m.lambda = lambda;
        const double stiffness = 1.0 / std::max(B(row + 1, row + 1), B(row + 2, row + 2));
        Eigen::Vector2d traction = m.traction - stiffness * state.segment<2>(row + 1);
        const double bound = problem_.friction * lambda;
        if (traction.norm() > bound) traction *= bound / traction.norm();
        state += B.middleCols<2>(row + 1) * (traction - m.traction);
        m.traction = traction;
      }
    }
  }

  [[nodiscard]] bool any_active() const { return std::ranges::any_of(members_, &Member::active); }
  [[nodiscard]] bool active_changed() const { return active_changed_; }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] int iterations_before() const { return iterations_before_; }

  void store(FrictionContact& result) const {
    std::vector<double> lambda;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      const Member& m = members_[i];
      if (!m.active) continue;
      result.u.emplace_back(u_.segment<3>(3 * Eigen::Index{i}));
      result.active.push_back(m.position);
      lambda.push_back(m.lambda);
      result.sliding.push_back(slides(m));
      result.tangents.push_back(m.tangents());
      result.traction.emplace_back(m.tangents() * m.traction);
      result.slip.emplace_back(m.tangents() * m.slip);
      result.anchors.push_back(m.anchor);
      result.rho.push_back(m.rho);
    }
    result.lambda = Eigen::Map<const Eigen::VectorXd>(lambda.data(), static_cast<Eigen::Index>(lambda.size()));
    result.compliance = active_part_;
    result.residual = scale_ > 0.0 ? error() / scale_ : 0.0;
  }

 private:
  [[nodiscard]] bool slides(const Member& m) const {
    const double bound = problem_.friction * m.lambda;
    return trial(m).norm() > bound;
  }
  [[nodiscard]] static Eigen::Vector2d trial(const Member& m) { return m.traction - m.rho * m.slip; }

  /// Tangential equation in metres: slip, or the distance of the traction from the cone divided by rho.
  [[nodiscard]] Eigen::Vector2d equation(const Member& m) const {
    const Eigen::Vector2d v = trial(m);
    const double bound = problem_.friction * m.lambda;
    if (v.norm() <= bound) return m.slip;
    return (m.traction - bound / v.norm() * v) / m.rho;
  }

  /// Derivative of the projection on the disc with respect to its argument v. Away from the solution the traction takes
  /// the place of one v, cut to the disc: this keeps the matrix stable for any iterate [hueber2008, section 5].
  [[nodiscard]] Eigen::Matrix2d sliding_projector(const Member& m) const {
    const Eigen::Vector2d v = trial(m);
    const double length = v.norm();
    const double bound = problem_.friction * std::max(m.lambda, 0.0);
    const double size = m.traction.norm();
    const Eigen::Vector2d on_disc = size > bound ? Eigen::Vector2d(bound / size * m.traction) : m.traction;
    return (bound * Eigen::Matrix2d::Identity() - on_disc * v.transpose() / length) / length;
  }

  [[nodiscard]] Eigen::VectorXd all_forces() const {
    Eigen::VectorXd forces = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(3 * members_.size()));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].active) forces.segment<3>(static_cast<Eigen::Index>(3 * i)) = members_[i].force();
    }
    return forces;
  }

  /// Adds near nodes to the working set, without force.
  void extend(const std::vector<std::uint32_t>& positions) {
    for (const std::uint32_t position : positions) members_.push_back(make_member(position));
    std::ranges::sort(members_, {}, &Member::position);
    std::vector<std::uint32_t> all;
    for (const Member& m : members_) all.push_back(m.position);
    block_ = GatheredBlock(compliance_, problem_.near, std::move(all));
    active_changed_ = true;
  }

  [[nodiscard]] Member make_member(std::uint32_t position) const {
    Member m;
    m.position = position;
    const Vector3& n = problem_.near.normals[position];
    m.linear.frame.col(0) = n;
    m.linear.frame.rightCols<2>() = problem_.R_AB * basis_in_B(problem_.R_AB.transpose() * n);
    const Matrix3& C = compliance_.self(problem_.near.nodes[position]);
    m.rho = 2.0 / (m.tangents().transpose() * C * m.tangents()).trace();
    m.anchor = problem_.anchor(position);
    return m;
  }

  const SurfaceCompliance& compliance_;
  const FrictionProblem& problem_;
  GatheredBlock block_;
  std::vector<Member> members_;  ///< ascending
  std::shared_ptr<const FrictionReference> reference_;
  BlockPart active_part_;  ///< of the block, among the active members
  Eigen::VectorXd u_;
  bool active_changed_ = true;
  double scale_ = 0.0;
  int iterations_before_ = 0;
};

/// @return whether it converged
bool newton(Iterate& iterate, int limit, FrictionContact& result, double& error) {
  std::unique_ptr<FrictionSystem> system;
  for (int iteration = 1; iteration <= limit; ++iteration) {
    ++result.iterations;
    iterate.update();
    const double target = tolerance * iterate.scale();
    error = iterate.error();
    if (!iterate.active_changed() && error <= target) {
      if (!iterate.join_penetrating()) {
        result.system = iterate.linearise();
        iterate.store(result);
        return true;
      }
      iterate.update();
      error = iterate.error();
    }
    if (!iterate.any_active()) {
      if (!iterate.join_penetrating()) return true;
      continue;
    }
    system = iterate.linearise();
    if (iteration == 1) {
      iterate.sweep(*system, first_sweeps);
    } else if (iteration % newton_patience == 0) {
      iterate.sweep(*system, sweeps_per_rescue);
    } else {
      iterate.step(*system, error, target);
    }
  }
  return false;
}

}  // namespace

FrictionContact solve_friction_contact(const SurfaceCompliance& compliance, const FrictionProblem& problem) {
  FrictionContact result;
  Iterate iterate(compliance, problem);
  double error = 0.0;
  if (problem.near.warm()) {
    iterate.start_from_commit();
    if (newton(iterate, newton_patience - 1, result, error)) return result;
  }
  iterate.start_without_friction();
  const bool good = newton(iterate, iteration_limit, result, error);
  result.iterations += iterate.iterations_before();
  if (good) return result;
  throw RecoverableError(
      fmt::format("the friction solver did not converge in {} iterations (error {} m at a penetration of "
                  "{} m); take a smaller step",
                  iteration_limit, error, iterate.scale()));
}

NodeDerivatives friction_derivatives(const FrictionProblem& problem, const FrictionContact& contact,
                                     const std::vector<TouchingNode>& nodes, std::span<const Matrix36> by_rotation,
                                     const Vector3& p_AB) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd rhs(3 * m, 6);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const Anchor& anchor = contact.anchors[a];
    const Vector3 off = nodes[a].x + nodes[a].u - anchor.p_AP;
    Matrix36 moved = by_rotation[a] - anchor.dp_dX;
    moved.leftCols<3>() += skew(off);
    // The tangent plane of a curved partner turns with the place of contact too.
    const Vector3& n = nodes[a].surface.normal;
    Matrix36 bending = normal_rotation(nodes[a], p_AB);
    bending.leftCols<3>() += skew(n);
    moved -= n.dot(off) * bending;
    Eigen::Matrix<double, 2, 6> dslip = contact.tangents[a].transpose() * moved;
    if (contact.sliding[a]) {
      const Eigen::Vector2d v =
          contact.tangents[a].transpose() * (contact.traction[a] - contact.rho[a] * contact.slip[a]);
      const double bound = problem.friction * contact.lambda[static_cast<Eigen::Index>(a)];
      dslip = bound / v.norm() * (dslip - v * (v.transpose() * dslip) / v.squaredNorm()).eval();
    }
    rhs.row(row) = gap_wrench(nodes[a], p_AB).transpose() - nodes[a].surface.normal.transpose() * by_rotation[a];
    rhs.middleRows<2>(row + 1) = -dslip;
  }
  rhs = contact.system->solve(rhs, tangent_tolerance);
  Eigen::MatrixXd forces(3 * m, 6);
  NodeDerivatives derivatives;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const Matrix36 by_traction = contact.tangents[a] * rhs.middleRows<2>(row + 1);
    forces.middleRows<3>(row) = nodes[a].surface.normal * rhs.row(row) + by_traction;
    derivatives.lambda.emplace_back(rhs.row(row));
    derivatives.traction.emplace_back(by_traction + force_rotation(nodes[a], p_AB) -
                                      nodes[a].lambda * normal_rotation(nodes[a], p_AB));
  }
  const Eigen::MatrixXd u = contact.compliance.times(forces);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    derivatives.u.emplace_back(u.middleRows<3>(static_cast<Eigen::Index>(3 * a)) + by_rotation[a]);
  }
  return derivatives;
}

}  // namespace heelstrike::fem
