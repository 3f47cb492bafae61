#include "fem_server/contact_solver/solver/friction_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/errors/error.hpp"
#include "common/friction/solution_path.hpp"
#include "common/friction/solve_friction.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

using Tangents = Eigen::Matrix<double, 3, 2>;

constexpr int max_newton_iterations = 120;
/// Newton's method needs 3 to 10 iterations when it converges.
constexpr int max_iterations_per_start = 20;
/// Iterations with the matrix of a committed state.
constexpr int max_committed_iterations = 12;
constexpr int sweeps_per_restart = 200;
/// Sweeps before Newton's method determine the sticking nodes: judged by the slip of a rigid motion in the initial
/// iterate, nearly all nodes would slide. Saves two to four Newton iterations. A Newton step that keeps committed
/// sticking nodes fixed costs less, but leads to 8 or 9 iterations instead of 5 when the foot has moved by 25 um.
constexpr int first_sweeps = 10;
/// Relative to the maximum penetration; the equations are solved to rounding, and this only has to be above it: the
/// last Newton step is mostly far below. With 1e-10 some problems of benchmarks/bench_friction exceeded 1e-8 of FCLIB's
/// error, for the same number of iterations.
constexpr double tolerance = 5e-12;
/// Of the measure of friction::compute_natural_map_error, for a start that Newton's method only has to refine.
constexpr double restart_tolerance = 1e-12;
/// Floating-point operations of factorisations along a path of solutions, some ten seconds of one processor: 1,000
/// factorisations of 120 nodes. A rejected step is repeated with a smaller one, which must not wait for minutes.
constexpr double max_path_operations = 3e10;
/// Tangents: their error affects only a Newton matrix of the integrator.
constexpr double tangent_tolerance = 1e-5;
/// Of a pass in single precision.
constexpr double tangent_step = 5e-6;

/// Gap, over the maximum penetration, up to which an open node belongs to the initial working set.
constexpr double working_set_gap = 0.05;
/// Accuracy of Newton steps far from the solution.
constexpr double coarse_tolerance = 1e-2;
/// Relative error of a product in single precision.
constexpr double single_error = 1e-6;
/// [m] Smaller overlaps count as none: they are the rounding of positions of 1e-8 m and less, and their forces would
/// exceed the range of single precision, in which Newton's steps are computed. Bodies in incipient contact that rotate
/// by the rounding of their wrenches reach overlaps of 1e-90 m.
constexpr double min_penetration = 1e-24;

Matrix3 local_axes(const FrictionProblem& problem, std::uint32_t position) {
  return contact_axes(problem.R_AB, problem.near.normals[position]);
}

/// A node of the working set.
struct Member {
  std::uint32_t position = 0;           ///< in `near`
  Matrix3 local = Matrix3::Identity();  ///< columns normal, tangent 1, tangent 2, in A
  Matrix3 rotation =
      Matrix3::Identity();  ///< from local to the axes of B, which differ if B is that of a committed state
  NodeLinearisation linear;
  StickPoint stick_point;
  double rho = 0.0;
  Eigen::Vector2d slip_free = Eigen::Vector2d::Zero();  ///< [m] slip without displacement
  double lambda = 0.0;
  Eigen::Vector2d traction = Eigen::Vector2d::Zero();
  double gamma = 0.0;
  Eigen::Vector2d slip = Eigen::Vector2d::Zero();
  [[nodiscard]] Tangents tangents() const { return local.rightCols<2>(); }
  [[nodiscard]] Vector3 local_force() const { return {lambda, traction.x(), traction.y()}; }
  [[nodiscard]] Vector3 force() const { return local * local_force(); }
};

/// One Newton iterate. Displacements are updated by products in single precision, and `drift` bounds the error since
/// their last evaluation in double.
class Iterate {
 public:
  Iterate(const SurfaceCompliance& compliance, const FrictionProblem& problem)
      : compliance_(compliance), problem_(problem), scale_(problem.near.deepest()) {}

  /// Committed forces as initial iterate.
  void initialise_from_commit() {
    set_members(first_working_set(problem_.near));
    restore_committed_forces();
    follow();
  }

  /// Committed forces and displacements as initial iterate, with the committed matrix.
  void initialise_at_commit() {
    set_members_of(*problem_.committed);
    restore_committed_forces();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Member& m = members_[i];
      u_.segment<3>(row_of(i)) = m.linear.axes.transpose() * problem_.near.u_before[m.position];
    }
    drift_ = 0.0;
    set_gaps();
  }

  /// Frictionless estimate with the committed tractions.
  void initialise_frictionless() {
    const NormalEstimate start = estimate_normal_contact(compliance_, problem_.near, working_set_gap);
    set_members(start.positions);
    for (std::size_t a = 0; a < members_.size(); ++a) {
      Member& m = members_[a];
      m.lambda = start.lambda[static_cast<Eigen::Index>(a)];
      m.linear.active = m.lambda > 0.0;
      if (m.linear.active) m.traction = m.tangents().transpose() * problem_.near.force_before[m.position];
    }
    follow();
  }

  /// Reactions of all near nodes as initial iterate. @param local  [N] in the axes of each contact
  void initialise_from(const Eigen::VectorXd& local) {
    std::vector<std::uint32_t> loaded;
    for (std::uint32_t i = 0; i < problem_.near.nodes.size(); ++i) {
      if (local[row_of(i)] > 0.0) loaded.push_back(i);
    }
    set_members(std::move(loaded));
    for (Member& m : members_) {
      m.linear.active = true;
      m.lambda = local[row_of(m.position)];
      m.traction = local.segment<2>(row_of(m.position) + 1);
    }
    follow();
  }

  /// Activates penetrating nodes and deactivates tensile ones.
  void sort() {
    Eigen::VectorXd taken = Eigen::VectorXd::Zero(n_rows());
    bool any = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& m = members_[i];
      const bool is = m.linear.active ? m.lambda > 0.0 : m.gamma < -std::max(tolerance * scale_, drift_);
      changed_ = changed_ || is != m.linear.active;
      m.linear.active = is;
      if (is || m.local_force().isZero(0.0)) continue;
      taken.segment<3>(row_of(i)) = -(m.rotation * m.local_force());
      any = true;
      m.lambda = 0.0;
      m.traction.setZero();
    }
    if (any) move(B_->product(taken));
  }

  /// The same without any force: exact, because the displacement is zero. @pre !any_active()
  void update_unloaded() {
    follow();
    sort();
  }

  /// Displacements from the forces, in double.
  void compute_displacements() {
    std::vector<std::uint32_t> loaded;
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < members_.size(); ++i) (members_[i].linear.active ? loaded : free).push_back(i);
    NodeFields<1> forces(static_cast<Eigen::Index>(3 * loaded.size()));
    for (std::size_t a = 0; a < loaded.size(); ++a) forces.segment<3>(row_of(a)) = members_[loaded[a]].force();
    const auto loaded_numbers = blocks_->numbers(loaded);
    const auto free_numbers = blocks_->numbers(free);
    const NodeFields<1> u = displacement<1>(blocks_->compliance(), loaded_numbers, forces);
    const NodeFields<1> u_free = displacement(blocks_->compliance(), free_numbers, loaded_numbers, forces);
    for (std::size_t a = 0; a < loaded.size(); ++a) u_.segment<3>(row_of(loaded[a])) = local(loaded[a], u, a);
    for (std::size_t a = 0; a < free.size(); ++a) u_.segment<3>(row_of(free[a])) = local(free[a], u_free, a);
    drift_ = 0.0;
    set_gaps();
  }
  [[nodiscard]] bool exact() const { return drift_ <= 0.3 * tolerance * scale_; }
  /// [m] attainable error of the equations.
  [[nodiscard]] double target() const { return std::max(tolerance * scale_, exact() ? 0.0 : drift_); }

  /// Adds penetrating near nodes to the working set. @return true if there were any
  bool add_penetrating() {
    const std::vector<std::uint32_t> working = positions();
    std::vector<std::uint32_t> loaded;
    Eigen::VectorXd forces = Eigen::VectorXd::Zero(n_rows());
    Eigen::VectorXd carried(n_rows());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].linear.active) continue;
      forces.segment<3>(row_of(i)) = members_[i].force();
      carried.segment<3>(row_of(loaded.size())) = forces.segment<3>(row_of(i));
      loaded.push_back(members_[i].position);
    }
    carried.conservativeResize(row_of(loaded.size()));
    LoadChange change = change_since_commit(problem_.near, working, forces, members_motion().u);
    for (std::uint32_t i = 0; i < problem_.near.nodes.size() && change.bounded; ++i) {
      if (problem_.near.force_before[i].isZero(0.0)) continue;
      change.bounded = std::ranges::binary_search(working, i);
    }
    const double allowed = tolerance * scale_;
    outside_.positions = open_outside(compliance_, problem_.near, working, change, allowed);
    outside_.u = displacement(compliance_, problem_.near.candidates(outside_.positions),
                              problem_.near.candidates(loaded), carried);
    double deepest = 0.0;
    const auto found = penetrating(problem_.near, outside_, allowed, deepest);
    if (found.empty()) return false;
    std::vector<std::uint32_t> all;
    std::ranges::set_union(working, found, std::back_inserter(all));
    std::vector<Member> before = std::move(members_);
    set_members(std::move(all));
    auto m = members_.begin();
    for (const Member& old : before) {
      while (m->position != old.position) ++m;
      m->linear.active = old.linear.active;
      m->lambda = old.lambda;
      m->traction = old.traction;
    }
    follow();
    return true;
  }

  /// Maximum error [m] of the equations of the active nodes.
  [[nodiscard]] double error() const {
    double largest = 0.0;
    for (const Member& m : members_) {
      if (m.linear.active) largest = std::max({largest, std::abs(m.gamma), equation(m).norm()});
    }
    return largest;
  }

  /// Newton's matrix at the current state.
  FrictionSystem linearise() {
    changed_ = false;
    if (committed_) return {*committed_, linearised_nodes()};
    return {*B_, linearised_nodes(), *factors_};
  }

  [[nodiscard]] std::vector<NodeLinearisation> linearised_nodes() {
    std::vector<NodeLinearisation> nodes;
    nodes.reserve(members_.size());
    for (Member& m : members_) {
      m.linear.S.setIdentity();
      m.linear.E.setZero();
      m.linear.slides = m.linear.active && slides(m);
      if (m.linear.slides) {
        const Eigen::Matrix2d P = sliding_projector(m);
        m.linear.S.bottomRightCorner<2, 2>() = P;
        m.linear.E.bottomRightCorner<2, 2>() = (Eigen::Matrix2d::Identity() - P) / m.rho;
        m.linear.E.bottomLeftCorner<2, 1>() = -problem_.friction / m.rho * trial(m).normalized();
      }
      if (m.linear.slides && committed_) {
        m.linear.S = (m.rotation * m.linear.S * m.rotation.transpose()).eval();
        m.linear.E = (m.rotation * m.linear.E * m.rotation.transpose()).eval();
      }
      nodes.push_back(m.linear);
    }
    return nodes;
  }

  void step(FrictionSystem& system, double error) {
    Eigen::VectorXd rhs = Eigen::VectorXd::Zero(n_rows());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Member& m = members_[i];
      if (!m.linear.active) continue;
      const Eigen::Vector2d slip = equation(m);
      rhs.segment<3>(row_of(i)) = m.rotation * Vector3(-m.gamma, -slip.x(), -slip.y());
    }
    // Far from the solution the states of nodes still change, so a higher accuracy is useless.
    const double accuracy =
        std::clamp(std::max(0.1 * target() / error, std::min(error / scale_, coarse_tolerance)), 1e-5, 1e-1);
    const auto [change, motion] = system.solve(rhs, accuracy);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Vector3 local = members_[i].rotation.transpose() * change.middleRows<3>(row_of(i));
      members_[i].lambda += local.x();
      members_[i].traction += local.tail<2>();
    }
    move(motion);
  }

  /// Projected Gauss-Seidel on the active nodes: slow, but every sweep reduces the error; a better start if Newton's
  /// method cycles.
  void sweep(int n_sweeps) {
    Eigen::VectorXd start(n_rows());
    Eigen::VectorXf force(n_rows());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Member& m = members_[i];
      start.segment<3>(row_of(i)) << m.gamma, m.slip;
      force.segment<3>(row_of(i)) = m.local_force().cast<float>();
    }
    // In single precision throughout: sweeps only determine the sticking nodes; the remaining error is solved in
    // double.
    SweptDisplacements displacements(*B_, start);
    const auto friction = static_cast<float>(problem_.friction);
    for (int sweep = 0; sweep < n_sweeps; ++sweep) {
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!members_[i].linear.active) continue;
        const Eigen::Index row = row_of(i);
        const Eigen::Matrix3f& own = B_->own(i);
        const Eigen::Vector3f state = displacements.at(i);
        Eigen::Vector3f now = force.segment<3>(row);
        // Normal first, then the tangents with the displacement due to the new normal force: the bound of the traction
        // must be that of the current normal force, otherwise a new contact would start by sliding.
        now[0] = std::max(0.0F, now[0] - state[0] / own(0, 0));
        const Eigen::Vector2f slip = state.tail<2>() + (now[0] - force[row]) * own.bottomLeftCorner<2, 1>();
        Eigen::Vector2f traction = now.tail<2>() - slip / std::max(own(1, 1), own(2, 2));
        const float bound = friction * now[0];
        if (traction.norm() > bound) traction *= bound / traction.norm();
        now.tail<2>() = traction;
        const Eigen::Vector3f change = now - force.segment<3>(row);
        force.segment<3>(row) = now;
        if (!change.isZero(0.0F)) displacements.load(i, change);
      }
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].linear.active) continue;
      members_[i].lambda = force[row_of(i)];
      members_[i].traction = force.segment<2>(row_of(i) + 1).cast<double>();
    }
    follow();
  }

  [[nodiscard]] bool any_active() const {
    return std::ranges::any_of(members_, [](const Member& m) { return m.linear.active; });
  }
  /// True if the active set has changed since Newton's matrix was made.
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] double scale() const { return scale_; }

  void store(FrictionContact& result) {
    std::vector<double> lambda;
    result.nodes = linearised_nodes();
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      const Member& m = members_[i];
      if (!m.linear.active) continue;
      result.u.emplace_back(m.linear.axes * u_.segment<3>(row_of(i)));
      result.active.push_back(m.position);
      result.members.push_back(i);
      lambda.push_back(m.lambda);
      result.sliding.push_back(slides(m));
      result.tangents.push_back(m.tangents());
      result.traction.emplace_back(m.tangents() * m.traction);
      result.slip.emplace_back(m.tangents() * m.slip);
      result.stick_points.push_back(m.stick_point);
      result.rho.push_back(m.rho);
    }
    result.found = {members_motion(), outside_};
    result.lambda = Eigen::Map<const Eigen::VectorXd>(lambda.data(), static_cast<Eigen::Index>(lambda.size()));
    result.B = B_;
    result.factors = factors_;
    result.committed = committed_;
    result.residual = scale_ > 0.0 ? error() / scale_ : 0.0;
  }

 private:
  /// Return map of Coulomb friction [alart1991]: a node sticks while its trial traction v = tau - rho w lies in the
  /// disc of radius mu lambda; otherwise it slides, and tau = mu lambda v / |v|. The solution is the same for any rho >
  /// 0; with the node's own stiffness, v changes by as much as the traction that would prevent the slip.
  [[nodiscard]] bool slides(const Member& m) const { return trial(m).norm() > problem_.friction * m.lambda; }
  [[nodiscard]] static Eigen::Vector2d trial(const Member& m) { return m.traction - m.rho * m.slip; }

  /// Tangential equation in metres: slip, or the distance of the traction from the cone divided by rho.
  [[nodiscard]] Eigen::Vector2d equation(const Member& m) const {
    const Eigen::Vector2d v = trial(m);
    const double bound = problem_.friction * m.lambda;
    if (v.norm() <= bound) return m.slip;
    return (m.traction - bound / v.norm() * v) / m.rho;
  }

  /// Derivative of the projection on the disc with respect to its argument v. Away from the solution the traction, cut
  /// to the disc, replaces one v: this keeps the matrix stable for any iterate [hueber2008, section 5].
  [[nodiscard]] Eigen::Matrix2d sliding_projector(const Member& m) const {
    const Eigen::Vector2d v = trial(m);
    const double length = v.norm();
    const double bound = problem_.friction * std::max(m.lambda, 0.0);
    const double size = m.traction.norm();
    const Eigen::Vector2d on_disc = size > bound ? Eigen::Vector2d(bound / size * m.traction) : m.traction;
    return (bound * Eigen::Matrix2d::Identity() - on_disc * v.transpose() / length) / length;
  }

  [[nodiscard]] Eigen::Index n_rows() const { return row_of(members_.size()); }
  [[nodiscard]] Vector3 local(std::uint32_t member, const NodeFields<1>& u, std::size_t at) const {
    return members_[member].linear.axes.transpose() * u.segment<3>(row_of(at));
  }
  [[nodiscard]] std::vector<std::uint32_t> positions() const {
    std::vector<std::uint32_t> result;
    for (const Member& m : members_) result.push_back(m.position);
    return result;
  }

  [[nodiscard]] NodeMotion members_motion() const {
    NodeMotion motion{.positions = positions(), .u = NodeFields<1>(n_rows())};
    for (std::size_t i = 0; i < members_.size(); ++i) {
      motion.u.segment<3>(row_of(i)) = members_[i].linear.axes * u_.segment<3>(row_of(i));
    }
    return motion;
  }

  /// Adds displacements computed in single precision.
  void move(const Eigen::VectorXd& change) {
    u_ += change;
    drift_ += single_error * change.lpNorm<Eigen::Infinity>();
    set_gaps();
  }

  /// Recomputes all displacements from the forces, in single precision.
  void follow() {
    Eigen::VectorXd forces(n_rows());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      forces.segment<3>(row_of(i)) = members_[i].rotation * members_[i].local_force();
    }
    u_ = Eigen::VectorXd::Zero(n_rows());
    drift_ = 0.0;
    changed_ = true;
    move(B_->product(forces));
  }

  void set_gaps() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& m = members_[i];
      const Vector3 u = m.rotation.transpose() * u_.segment<3>(row_of(i));
      m.gamma = problem_.near.gaps[m.position] + u.x();
      m.slip = m.slip_free + u.tail<2>();
    }
  }

  void set_members(std::vector<std::uint32_t> positions) {
    members_.clear();
    for (const std::uint32_t position : positions) members_.push_back(make_member(position));
    blocks_.emplace(compliance_, problem_.near, positions);
    std::vector<Matrix3> axes;
    for (const Member& m : members_) axes.push_back(m.linear.axes);
    B_ = std::make_shared<const LocalCompliance>(blocks_->compliance(), blocks_->numbers(), axes);
    factors_ = std::make_shared<DirectionFactors>();
    committed_ = nullptr;
  }

  void set_members_of(const CommittedFriction& committed) {
    members_.clear();
    for (const std::uint32_t position : problem_.near.kept) {
      Member& m = members_.emplace_back(make_member(position));
      m.linear.axes = committed.axes()[members_.size() - 1];
      m.rotation = m.linear.axes.transpose() * m.local;
    }
    blocks_.emplace(compliance_, problem_.near, problem_.near.kept);
    committed_ = problem_.committed;
    B_ = std::shared_ptr<const LocalCompliance>(committed_, &committed_->B());
    factors_ = nullptr;
    u_.resize(n_rows());
  }

  void restore_committed_forces() {
    for (Member& m : members_) {
      const Vector3& force = problem_.near.force_before[m.position];
      m.linear.active = !force.isZero(0.0);
      m.lambda = std::max(0.0, m.local.col(0).dot(force));
      m.traction = m.tangents().transpose() * force;
    }
  }

  [[nodiscard]] Member make_member(std::uint32_t position) const {
    Member m;
    m.position = position;
    m.local = local_axes(problem_, position);
    m.linear.axes = m.local;
    const Matrix3& C = compliance_.self(problem_.near.nodes[position]);
    m.rho = 2.0 / (m.tangents().transpose() * C * m.tangents()).trace();
    m.stick_point = problem_.stick_point(position);
    m.slip_free = m.tangents().transpose() * (problem_.positions[position] - m.stick_point.p_AP);
    return m;
  }

  const SurfaceCompliance& compliance_;
  const FrictionProblem& problem_;
  double scale_ = 0.0;
  std::vector<Member> members_;  // ascending
  std::optional<NodeBlocks> blocks_;
  std::shared_ptr<const LocalCompliance> B_;  // of all members
  std::shared_ptr<DirectionFactors> factors_;
  std::shared_ptr<const CommittedFriction> committed_;  // replaces factors_; null = factors_ is used
  Eigen::VectorXd u_;                                   // [m] of all members, axes of B
  NodeMotion outside_;                                  // of the near nodes, computed by their last check
  double drift_ = 0.0;                                  // [m]
  bool changed_ = false;                                // of the active set
};

/// [N] Of all near nodes in the axes of each contact.
Eigen::VectorXd committed_reactions(const FrictionProblem& problem) {
  Eigen::VectorXd r(row_of(problem.near.nodes.size()));
  for (std::uint32_t i = 0; i < problem.near.nodes.size(); ++i) {
    r.segment<3>(row_of(i)) = local_axes(problem, i).transpose() * problem.near.force_before[i];
  }
  return r;
}

/// @param is_near  the initial iterate is a solution up to rounding, which sweeps in single precision would spoil
/// @return true if converged
bool newton(Iterate& iterate, int limit, FrictionContact& result, double& error, bool is_near = false) {
  for (int iteration = 1; iteration <= limit; ++iteration) {
    ++result.iterations;
    iterate.sort();
    error = iterate.error();
    if (!iterate.changed() && error <= iterate.target() && !iterate.exact()) {
      iterate.compute_displacements();
      iterate.sort();
      error = iterate.error();
    }
    if (!iterate.changed() && error <= iterate.target()) {
      if (!iterate.add_penetrating()) {
        iterate.store(result);
        return true;
      }
      iterate.sort();
      error = iterate.error();
    }
    if (!iterate.any_active()) {
      // All forces were tensile and are now zero. Nodes that penetrate without them are loaded again by sweeps, because
      // Newton's step from this state would produce tension again.
      iterate.update_unloaded();
      if (!iterate.any_active() && !iterate.add_penetrating()) return true;
      iterate.sweep(sweeps_per_restart);
      continue;
    }
    if (iteration == 1 && !is_near) {
      iterate.sweep(first_sweeps);
      iterate.sort();
      error = iterate.error();
    } else if (iteration % max_iterations_per_start == 0) {
      iterate.sweep(sweeps_per_restart);
      continue;
    }
    FrictionSystem system = iterate.linearise();
    iterate.step(system, error);
  }
  return false;
}

}  // namespace

FrictionContact solve_friction_contact(const SurfaceCompliance& compliance, const FrictionProblem& problem) {
  FrictionContact result;
  if (problem.near.deepest() < min_penetration) return result;
  Iterate iterate(compliance, problem);
  double error = 0.0;
  if (problem.committed) {
    iterate.initialise_at_commit();
    if (newton(iterate, max_committed_iterations, result, error)) return result;
  }
  if (problem.near.warm()) {
    iterate.initialise_from_commit();
    if (newton(iterate, max_iterations_per_start - 1, result, error)) return result;
  }
  iterate.initialise_frictionless();
  if (newton(iterate, max_newton_iterations, result, error)) return result;
  // Newton's method on the original equations may cycle, mostly for large coefficients of friction. The general solver
  // uses proximal problems, which is more expensive and more robust; its result only needs refinement.
  const friction::LocalProblem local = local_problem(compliance, problem);
  const friction::FrictionSolution solution =
      friction::solve_friction(local, {.tolerance = restart_tolerance, .max_sweeps = 2000, .max_newton_steps = 200});
  iterate.initialise_from(solution.r);
  if (newton(iterate, max_iterations_per_start - 1, result, error, true)) return result;
  // Beyond a limit point of the path from the committed state the solution is far from all these starts. The path from
  // the committed forces is the shorter one, that from zero cannot be closed.
  for (const Eigen::VectorXd& start : {committed_reactions(problem), Eigen::VectorXd::Zero(local.q.size()).eval()}) {
    const friction::PathSolution path = friction::follow_solution_path(local, start, max_path_operations);
    if (!path.reached) continue;
    iterate.initialise_from(path.r);
    if (newton(iterate, max_iterations_per_start - 1, result, error, true)) return result;
  }
  throw RecoverableError(
      fmt::format("the friction solver did not find the solution, which exists, in {} iterations and by following it "
                  "from the committed state and from the open contact (error {} m at a penetration of {} m); use a "
                  "smaller step",
                  max_newton_iterations, error, iterate.scale()));
}

friction::LocalProblem local_problem(const SurfaceCompliance& compliance, const FrictionProblem& problem) {
  const auto n = static_cast<std::uint32_t>(problem.near.nodes.size());
  friction::LocalProblem result;
  result.mu = Eigen::VectorXd::Constant(n, problem.friction);
  result.q.resize(3 * Eigen::Index{n});
  Eigen::MatrixXd W = gathered(compliance, problem.near.nodes);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Matrix3 frame = local_axes(problem, i);
    const Eigen::Index row = 3 * Eigen::Index{i};
    W.middleRows<3>(row) = frame.transpose() * W.middleRows<3>(row).eval();
    W.middleCols<3>(row) = W.middleCols<3>(row).eval() * frame;
    const Vector3 slip = problem.positions[i] - problem.stick_point(i).p_AP;
    result.q.segment<3>(row) << problem.near.gaps[i], frame.rightCols<2>().transpose() * slip;
  }
  result.W = W.sparseView();
  return result;
}

namespace {

struct TangentSolution {
  Eigen::MatrixXd forces;  ///< active nodes, in the axes of their linearisation
  Eigen::MatrixXd u;       ///< [m] by these forces, in A
};

Eigen::Index node_row(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

/// Rows of active nodes as rows of all nodes of the linearisation, zero for the others.
Eigen::MatrixXd padded(const FrictionContact& contact, const Eigen::MatrixXd& rows) {
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(node_row(contact.nodes.size()), rows.cols());
  for (std::size_t a = 0; a < contact.members.size(); ++a) {
    all.middleRows<3>(node_row(contact.members[a])) = rows.middleRows<3>(node_row(a));
  }
  return all;
}

/// Displacements in A of the active nodes. @param all  in the axes of all nodes of the linearisation
Eigen::MatrixXd in_A(const FrictionContact& contact, const Eigen::MatrixXd& all) {
  Eigen::MatrixXd rows(node_row(contact.members.size()), all.cols());
  for (std::size_t a = 0; a < contact.members.size(); ++a) {
    rows.middleRows<3>(node_row(a)) =
        contact.nodes[contact.members[a]].axes * all.middleRows<3>(node_row(contact.members[a]));
  }
  return rows;
}

/// Solves J x = rhs for the active nodes with the data of the committed state.
TangentSolution solve_active_tangents(const FrictionContact& contact, const Eigen::MatrixXd& rhs) {
  FrictionSystem system(*contact.committed, contact.nodes);
  const auto [x, Bx] = system.solve(padded(contact, rhs), tangent_tolerance);
  TangentSolution solution{.forces = Eigen::MatrixXd(rhs.rows(), rhs.cols()), .u = in_A(contact, Bx)};
  for (std::size_t a = 0; a < contact.members.size(); ++a) {
    solution.forces.middleRows<3>(node_row(a)) = x.middleRows<3>(node_row(contact.members[a]));
  }
  return solution;
}

/// Solves J x = rhs for the active nodes: in single precision, then corrected with the residual in double, which needs
/// only the requested displacements.
TangentSolution solve_tangents(const FrictionProblem& problem, const FrictionContact& contact,
                               const SurfaceCompliance& compliance, const Eigen::MatrixXd& rhs) {
  const auto m = static_cast<Eigen::Index>(contact.active.size());
  if (contact.committed) return solve_active_tangents(contact, rhs);
  const NodeBlocks blocks(compliance, problem.near, contact.active);
  FrictionSystem system(*contact.B, contact.nodes, *contact.factors);
  const auto row_of_member = [&](Eigen::Index a) {
    return 3 * Eigen::Index{contact.members[static_cast<std::size_t>(a)]};
  };
  const auto node = [&](Eigen::Index a) -> const NodeLinearisation& {
    return contact.nodes[contact.members[static_cast<std::size_t>(a)]];
  };
  TangentSolution solution{.forces = Eigen::MatrixXd::Zero(3 * m, 6), .u = Eigen::MatrixXd::Zero(3 * m, 6)};
  Eigen::MatrixXd residual = rhs;
  for (int pass = 0; pass < 4; ++pass) {
    Eigen::MatrixXd padded = Eigen::MatrixXd::Zero(3 * static_cast<Eigen::Index>(contact.nodes.size()), 6);
    for (Eigen::Index a = 0; a < m; ++a) padded.middleRows<3>(row_of_member(a)) = residual.middleRows<3>(3 * a);
    const Eigen::MatrixXd x = system.solve(padded, tangent_step).x;
    NodeFields<8> change = NodeFields<8>::Zero(3 * m, 8);
    for (Eigen::Index a = 0; a < m; ++a) {
      solution.forces.middleRows<3>(3 * a) += x.middleRows<3>(row_of_member(a));
      change.block<3, 6>(3 * a, 0) = node(a).axes * x.middleRows<3>(row_of_member(a));
    }
    const NodeFields<8> u = displacement<8>(blocks.compliance(), blocks.numbers(), change);
    solution.u += u.leftCols<6>();
    for (Eigen::Index a = 0; a < m; ++a) {
      residual.middleRows<3>(3 * a) = rhs.middleRows<3>(3 * a) -
                                      node(a).S * (node(a).axes.transpose() * solution.u.middleRows<3>(3 * a)) -
                                      node(a).E * solution.forces.middleRows<3>(3 * a);
    }
    if ((residual.colwise().norm().array() <= tangent_tolerance * rhs.colwise().norm().array()).all()) return solution;
  }
  throw RecoverableError("the tangents of the friction solver did not converge; use a smaller step");
}

}  // namespace

Eigen::MatrixXd active_displacements(const FrictionContact& contact, const Eigen::MatrixXd& forces) {
  Eigen::MatrixXd local(forces.rows(), forces.cols());
  for (std::size_t a = 0; a < contact.members.size(); ++a) {
    local.middleRows<3>(node_row(a)) =
        contact.nodes[contact.members[a]].axes.transpose() * forces.middleRows<3>(node_row(a));
  }
  return in_A(contact, contact.committed->B().products(padded(contact, local)));
}

NodeDerivatives friction_derivatives(const FrictionProblem& problem, const FrictionContact& contact,
                                     const std::vector<ContactNodeState>& nodes, std::span<const Matrix36> by_rotation,
                                     const Vector3& p_AB, const SurfaceCompliance& compliance) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd rhs(3 * m, 6);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const StickPoint& stick_point = contact.stick_points[a];
    const Vector3 off = nodes[a].x + nodes[a].u - stick_point.p_AP;
    Matrix36 moved = by_rotation[a] - stick_point.dp_dX;
    moved.leftCols<3>() += skew(off);
    // The tangent plane of a curved partner also rotates with the contact point.
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
    if (contact.committed) {  // rows are those of the linearisation
      Matrix3 local;
      local << n, contact.tangents[a];
      rhs.middleRows<3>(row) = contact.nodes[contact.members[a]].axes.transpose() * (local * rhs.middleRows<3>(row));
    }
  }
  const TangentSolution solution = solve_tangents(problem, contact, compliance, rhs);
  NodeDerivatives derivatives;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const Matrix36 df = contact.nodes[contact.members[a]].axes * solution.forces.middleRows<3>(row);
    const Matrix36 by_traction = contact.tangents[a] * (contact.tangents[a].transpose() * df);
    derivatives.lambda.emplace_back(nodes[a].surface.normal.transpose() * df);
    derivatives.traction.emplace_back(by_traction + force_rotation(nodes[a], p_AB) -
                                      nodes[a].lambda * normal_rotation(nodes[a], p_AB));
    derivatives.u.emplace_back(solution.u.middleRows<3>(row) + by_rotation[a]);
  }
  return derivatives;
}

}  // namespace heelstrike::fem
