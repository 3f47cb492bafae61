#include "fem_server/contact_solver/solver/normal_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/solver/active_set_guess.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

constexpr int max_active_set_changes = 200;
/// Maximum full exchanges without fewer violations before single pivots are used [judice1994 recommends 3 to 10].
constexpr int max_stalled_iterations = 5;
/// Violations below this fraction of the maximum penetration (or force) are rounding.
constexpr double gap_tolerance = 1e-11;
/// Relative error of solved gaps, over the maximum penetration, after a factorisation in double.
constexpr double rounding = 1e-15;
/// Each repetition gains three to five digits.
constexpr int max_restarts = 8;

std::vector<Vector3> normals_of(const ActiveCandidates& near, std::span<const std::uint32_t> positions) {
  std::vector<Vector3> normals;
  for (const std::uint32_t i : positions) normals.push_back(near.normals[i]);
  return normals;
}

Eigen::VectorXd gaps_of(const ActiveCandidates& near, std::span<const std::uint32_t> positions) {
  Eigen::VectorXd gaps(static_cast<Eigen::Index>(positions.size()));
  for (Eigen::Index i = 0; i < gaps.size(); ++i) gaps[i] = near.gaps[positions[static_cast<std::size_t>(i)]];
  return gaps;
}

/// The complementarity problem on the working set.
class WorkingProblem {
 public:
  /// @param A            of the working set, lower triangle
  /// @param with_factor  result.factor is requested
  WorkingProblem(const ActiveCandidates& near, Eigen::MatrixXd A, bool with_factor, NormalContact& result)
      : near_(near),
        scale_(near.deepest()),
        with_factor_(with_factor),
        result_(result),
        A_(std::move(A)),
        gaps_(gaps_of(near, result.working)) {}

  /// @param active  in: initial guess, out: the active members; indices into the working set
  void solve(std::vector<std::uint32_t>& active) {
    active_ = std::move(active);
    if (near_.penalty.empty()) {
      exchange();
    } else {
      newton();
    }
    active = std::move(active_);
  }

 private:
  /// Block principal pivoting.
  ///
  /// All violations change sides at once while this reduces their number. This may cycle; then the energy is decreased
  /// step by step, which cannot cycle. If rounding leaves a violation there, only the last one changes sides (Murty's
  /// rule), which visits no active set twice because A is positive definite: it terminates [judice1994], but may take
  /// as many factorisations as there are nodes.
  void exchange() {
    if (result_.iterations == 0 && !near_.warm()) guess();
    std::size_t min_violations = result_.working.size() + 1;
    int budget = max_stalled_iterations;
    bool descended = false;
    for (int round = 0; round < max_active_set_changes; ++round) {
      ++result_.iterations;
      solve_active();
      std::vector<std::uint32_t> violating = violations();
      if (violating.empty()) return;
      if (violating.size() < min_violations) {
        min_violations = violating.size();
        budget = max_stalled_iterations;
      } else if (budget > 0) {
        --budget;
      } else if (!descended) {
        descended = true;
        lower_energy();
        continue;
      } else {
        violating = {violating.back()};
      }
      exchange_active(violating);
    }
    throw_failure();
  }

  /// Starts from the current forces.
  void lower_energy() {
    Eigen::VectorXd start = Eigen::VectorXd::Zero(A_.rows());
    for (std::size_t a = 0; a < active_.size(); ++a) {
      start[active_[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    ProjectedNewton found = descend(A_, gaps_, start, max_active_set_changes);
    result_.iterations += found.iterations;
    active_ = std::move(found.active);
  }

  /// Cold start: conjugate gradients estimate the active set at less than the cost of one factorisation.
  void guess() {
    active_.clear();
    const Eigen::VectorXd forces = estimate_forces(A_, gaps_);
    for (std::uint32_t i = 0; i < forces.size(); ++i) {
      if (forces[i] > 0.0) active_.push_back(i);
    }
  }

  [[noreturn]] void throw_failure() const {
    throw RecoverableError(
        fmt::format("the contact solver found no active set in {} iterations ({} nodes near, {} active, "
                    "maximum penetration {} m); use a smaller step",
                    max_active_set_changes, near_.nodes.size(), active_.size(), scale_));
  }

  [[nodiscard]] double penalty(std::size_t member) const { return near_.penalty[result_.working[member]]; }

  /// With the penetrations s, lambda = k s^2 linearised about s_k gives (A + D) lambda = -g - s_k / 2, D = 1 / (2 k
  /// s_k). A penetration may decrease to a tenth per step at most, so that D stays bounded; it is set to zero below
  /// `smallest`.
  void newton() {
    const double smallest = 1e-9 * scale_;
    Eigen::VectorXd s(A_.rows());
    for (Eigen::Index i = 0; i < s.size(); ++i) s[i] = std::max(-gap(static_cast<std::size_t>(i)), 0.0);
    double change = scale_;
    while (result_.iterations < max_active_set_changes) {
      ++result_.iterations;
      solve_linearised(s);
      if (change <= gap_tolerance * scale_) return finish(s);
      const Eigen::VectorXd gamma = gaps();
      change = 0.0;
      for (Eigen::Index i = 0; i < s.size(); ++i) {
        double next = std::max(-gamma[i], 0.1 * s[i]);
        if (next < smallest) next = 0.0;
        change = std::max(change, std::abs(next - s[i]));
        s[i] = next;
      }
    }
    throw_failure();
  }

  /// Active nodes, their multipliers and the factor of A + D for the penetrations s.
  void solve_linearised(const Eigen::VectorXd& s) {
    active_.clear();
    for (std::uint32_t i = 0; i < s.size(); ++i) {
      if (s[i] > 0.0) active_.push_back(i);
    }
    const auto m = static_cast<Eigen::Index>(active_.size());
    result_.factor.resize(m, m);
    result_.lambda.resize(m);
    for (Eigen::Index b = 0; b < m; ++b) {
      const std::uint32_t j = active_[static_cast<std::size_t>(b)];
      for (Eigen::Index a = b; a < m; ++a) result_.factor(a, b) = A_(active_[static_cast<std::size_t>(a)], j);
      result_.factor(b, b) += 0.5 / (penalty(j) * s[j]);
      result_.lambda[b] = -gap(j) - 0.5 * s[j];
    }
    if (!cholesky_in_place(result_.factor)) {
      throw Error(ErrorCode::internal, "the contact compliance is not positive definite; the condensation is damaged");
    }
    solve_lower(result_.factor, result_.lambda);
    solve_lower_transposed(result_.factor, result_.lambda);
  }

  [[nodiscard]] Eigen::VectorXd gaps() const { return product_of_active() + gaps_; }

  void finish(const Eigen::VectorXd& s) {
    result_.penalty_energy = 0.0;
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const std::uint32_t i = active_[a];
      result_.lambda[static_cast<Eigen::Index>(a)] = penalty(i) * s[i] * s[i];
      result_.penalty_energy += penalty(i) * s[i] * s[i] * s[i] / 3.0;
    }
  }

  [[nodiscard]] double gap(std::size_t member) const { return gaps_[static_cast<Eigen::Index>(member)]; }

  /// Solves A lambda = -g on the active nodes.
  void solve_active() {
    if (with_factor_ || !solve_by_single_factor()) solve_by_factor();
  }

  void solve_by_factor() {
    result_.factor = active_part();
    result_.lambda = active_rhs();
    if (!cholesky_in_place(result_.factor)) {
      throw Error(ErrorCode::internal, "the contact compliance is not positive definite; the condensation is damaged");
    }
    solve_lower(result_.factor, result_.lambda);
    solve_lower_transposed(result_.factor, result_.lambda);
  }

  /// The same by a factor in single precision, in half the time, with iterative refinement down to rounding. Each
  /// repetition multiplies the error by eps cond(A) of single precision, 1e-3 to 1e-5 for a foot; above a condition
  /// number of 1e7 it does not converge, and the factor in double is used.
  /// @return true if the residual became that small
  bool solve_by_single_factor() {
    // A separate matrix: in products with the whole of A the order of sums would depend on the other nodes.
    const Eigen::MatrixXd A = active_part();
    SingleCholesky factor;
    if (!factor.factorize(in_single_precision(A))) return false;
    const Eigen::VectorXd rhs = active_rhs();
    result_.lambda = Eigen::VectorXd::Zero(rhs.size());
    Eigen::VectorXd rest = rhs;
    double before = std::numeric_limits<double>::infinity();
    for (int repetition = 0; repetition < max_restarts; ++repetition) {
      Eigen::VectorXf change = rest.cast<float>();
      factor.solve(change);
      result_.lambda += change.cast<double>();
      multiply_symmetric(A, result_.lambda, rest);
      rest = rhs - rest;
      const double left = rest.lpNorm<Eigen::Infinity>();
      if (left <= rounding * scale_ || left > 0.5 * before) break;
      before = left;
    }
    return rest.lpNorm<Eigen::Infinity>() <= 100.0 * rounding * scale_;
  }

  /// Lower triangle of A on the active nodes.
  [[nodiscard]] Eigen::MatrixXd active_part() const {
    const auto m = static_cast<Eigen::Index>(active_.size());
    Eigen::MatrixXd part(m, m);
    for (Eigen::Index b = 0; b < m; ++b) {
      const double* column = A_.col(active_[static_cast<std::size_t>(b)]).data();
      for (Eigen::Index a = b; a < m; ++a) part(a, b) = column[active_[static_cast<std::size_t>(a)]];
    }
    return part;
  }

  [[nodiscard]] Eigen::VectorXd active_rhs() const {
    Eigen::VectorXd rhs(static_cast<Eigen::Index>(active_.size()));
    for (Eigen::Index a = 0; a < rhs.size(); ++a) rhs[a] = -gap(active_[static_cast<std::size_t>(a)]);
    return rhs;
  }

  /// A lambda, for all of the working set.
  [[nodiscard]] Eigen::VectorXd product_of_active() const {
    Eigen::VectorXd lambda = Eigen::VectorXd::Zero(A_.rows());
    for (std::size_t a = 0; a < active_.size(); ++a) {
      lambda[active_[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    Eigen::VectorXd product(A_.rows());
    multiply_symmetric(A_, lambda, product);
    return product;
  }

  /// Members with a wrong sign, ascending: active ones in tension, inactive ones that penetrate.
  [[nodiscard]] std::vector<std::uint32_t> violations() {
    const double force_scale = result_.lambda.size() > 0 ? result_.lambda.cwiseAbs().maxCoeff() : 0.0;
    const Eigen::VectorXd gamma = gaps();
    std::vector<std::uint32_t> violating;
    result_.residual = 0.0;
    std::size_t a = 0;
    for (std::uint32_t i = 0; i < gamma.size(); ++i) {
      if (a < active_.size() && active_[a] == i) {
        if (result_.lambda[static_cast<Eigen::Index>(a++)] <= -gap_tolerance * force_scale) violating.push_back(i);
        continue;
      }
      const double penetration = -gamma[i];
      result_.residual = std::max(result_.residual, penetration / scale_);
      if (penetration > gap_tolerance * scale_) violating.push_back(i);
    }
    return violating;
  }

  /// Exchanges the state of each listed member.
  void exchange_active(const std::vector<std::uint32_t>& members) {
    std::vector<std::uint32_t> next;
    std::set_symmetric_difference(active_.begin(), active_.end(), members.begin(), members.end(),
                                  std::back_inserter(next));
    active_ = std::move(next);
  }

  const ActiveCandidates& near_;
  double scale_;
  bool with_factor_;
  NormalContact& result_;
  std::vector<std::uint32_t> active_;  // indices into the working set, ascending
  Eigen::MatrixXd A_;                  // lower triangle
  Eigen::VectorXd gaps_;
};

/// Forces of the active nodes.
NodeFields<1> active_forces(const ActiveCandidates& near, const NormalContact& contact) {
  NodeFields<1> forces(static_cast<Eigen::Index>(3 * contact.active.size()));
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    const auto at = static_cast<Eigen::Index>(a);
    forces.segment<3>(3 * at) = contact.lambda[at] * near.normals[contact.active[a]];
  }
  return forces;
}

/// Displacements of the active nodes, and those due to the rotation of their forces.
void rotate_forces(const NormalTask& task, const SurfaceCompliance& compliance, std::span<const std::uint32_t> numbers,
                   NormalContact& result) {
  const auto m = static_cast<Eigen::Index>(result.active.size());
  Eigen::MatrixXd forces = Eigen::MatrixXd::Zero(3 * m, 7);
  forces.col(0) = active_forces(*task.near, result);
  bool bends = false;
  for (Eigen::Index a = 0; a < m; ++a) {
    const std::uint32_t i = result.active[static_cast<std::size_t>(a)];
    forces.block<3, 6>(3 * a, 1) = result.lambda[a] * task.rotation(i);
    bends = bends || !forces.block<3, 3>(3 * a, 4).isZero(0.0);
  }
  result.rotated = Eigen::MatrixXd::Zero(3 * m, 6);
  if (bends) {
    NodeFields<8> all = NodeFields<8>::Zero(3 * m, 8);
    all.leftCols<7>() = forces;
    const NodeFields<8> u = displacement<8>(compliance, numbers, all);
    result.u = u.col(0);
    result.rotated = u.middleCols<6>(1);
    return;
  }
  // The forces are constant while the partner translates, as on a plane.
  const NodeFields<4> u = displacement<4>(compliance, numbers, NodeFields<4>(forces.leftCols<4>()));
  result.u = u.col(0);
  result.rotated.leftCols<3>() = u.rightCols<3>();
}

/// State of one contact during the solution.
struct Search {
  const NormalTask* task = nullptr;
  NormalOutcome outcome;
  std::optional<NodeBlocks> blocks;    ///< of the working set
  std::vector<std::uint32_t> members;  ///< indices of the active nodes in the working set
  bool ended = false;
};

void begin(const NormalTask& task, Search& search) {
  search.task = &task;
  if (task.near->deepest() == 0.0) {
    search.ended = true;
    return;
  }
  search.outcome.contact.working = first_working_set(*task.near);
  // Starts with the nodes in contact: the displacement increases with the load near other nodes, so few of them are
  // added.
  const std::vector<std::uint32_t>& working = search.outcome.contact.working;
  for (std::uint32_t a = 0; a < working.size(); ++a) {
    if (!task.near->warm() || !task.near->force_before[working[a]].isZero(0.0)) search.members.push_back(a);
  }
}

/// Finds the active set of the working set.
void find_active_set(Search& search, Eigen::MatrixXd A) {
  NormalContact& contact = search.outcome.contact;
  try {
    WorkingProblem(*search.task->near, std::move(A), bool{search.task->rotation}, contact).solve(search.members);
  } catch (...) {
    search.outcome.error = std::current_exception();
    search.ended = true;
    return;
  }
  if (!search.task->rotation) contact.factor.resize(0, 0);  // a penalty always produces one
  contact.active.clear();
  for (const std::uint32_t member : search.members) contact.active.push_back(contact.working[member]);
}

/// Near nodes outside the working set that must be checked.
std::vector<std::uint32_t> nodes_to_check(const Search& search) {
  const ActiveCandidates& near = *search.task->near;
  const NormalContact& result = search.outcome.contact;
  const NodeFields<1> forces = active_forces(near, result);
  // Nodes that have lost their force are part of the change, too.
  std::vector<std::uint32_t> positions = result.active;
  std::vector<std::uint32_t> remaining_numbers;
  auto active = result.active.begin();
  for (std::size_t a = 0; a < result.working.size(); ++a) {
    const std::uint32_t i = result.working[a];
    active = std::find_if(active, result.active.end(), [&](std::uint32_t other) { return other >= i; });
    if ((active != result.active.end() && *active == i) || near.force_before[i].isZero(0.0)) continue;
    positions.push_back(i);
    remaining_numbers.push_back(search.blocks->numbers()[a]);
  }
  const auto n_remaining = 3 * static_cast<Eigen::Index>(remaining_numbers.size());
  Eigen::VectorXd all_forces = Eigen::VectorXd::Zero(forces.size() + n_remaining);
  Eigen::VectorXd u(forces.size() + n_remaining);
  all_forces.head(forces.size()) = forces;
  u.head(forces.size()) = result.u;
  u.tail(n_remaining) =
      displacement(search.blocks->compliance(), remaining_numbers, search.blocks->numbers(search.members), forces);
  const LoadChange change = change_since_commit(near, positions, all_forces, u);
  return open_outside(*search.task->compliance, near, result.working, change, gap_tolerance * near.deepest());
}

/// Adds penetrating nodes to the working set; the search ends if there are none.
void grow(Search& search) {
  const ActiveCandidates& near = *search.task->near;
  NormalContact& result = search.outcome.contact;
  const double scale = near.deepest();
  double deepest = 0.0;
  const auto found = penetrating(near, result.outside, gap_tolerance * scale, deepest);
  result.residual = std::max(result.residual, deepest / scale);
  search.ended = found.empty();
  if (search.ended) return;
  std::vector<std::uint32_t> working;
  std::ranges::set_union(result.working, found, std::back_inserter(working));
  std::vector<std::uint32_t> active;
  std::ranges::set_union(result.active, found, std::back_inserter(active));
  result.working = std::move(working);
  search.members.clear();
  for (std::uint32_t a = 0; a < result.working.size(); ++a) {
    if (std::ranges::binary_search(active, result.working[a])) search.members.push_back(a);
  }
}

std::vector<Search*> running(std::vector<Search>& searches) {
  std::vector<Search*> result;
  for (Search& search : searches) {
    if (!search.ended) result.push_back(&search);
  }
  return result;
}

std::vector<Eigen::MatrixXd> working_matrices(std::span<Search* const> searches) {
  std::vector<std::vector<Vector3>> normals;
  std::vector<NormalBlocks> blocks;
  for (Search* search : searches) {
    const std::vector<std::uint32_t>& working = search->outcome.contact.working;
    search->blocks.emplace(*search->task->compliance, *search->task->near, working);
    normals.push_back(normals_of(*search->task->near, working));
    blocks.push_back(
        {.compliance = &search->blocks->compliance(), .nodes = search->blocks->numbers(), .normals = normals.back()});
  }
  return delassus_matrices(blocks);
}

void displace_active(std::span<Search* const> searches) {
  std::vector<std::vector<std::uint32_t>> numbers;
  std::vector<LoadedNodes> loads;
  std::vector<NormalContact*> loaded;
  for (Search* search : searches) {
    NormalContact& contact = search->outcome.contact;
    numbers.push_back(search->blocks->numbers(search->members));
    if (search->task->rotation) {
      rotate_forces(*search->task, search->blocks->compliance(), numbers.back(), contact);
      continue;
    }
    loads.push_back({.compliance = &search->blocks->compliance(),
                     .rows = {},
                     .columns = numbers.back(),
                     .forces = active_forces(*search->task->near, contact)});
    loaded.push_back(&contact);
  }
  std::vector<NodeFields<1>> u = displacements(loads);
  for (std::size_t k = 0; k < loaded.size(); ++k) loaded[k]->u = std::move(u[k]);
}

void check_outside_candidates(std::span<Search* const> searches) {
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<std::vector<std::uint32_t>> columns;
  std::vector<LoadedNodes> loads;
  std::vector<NormalContact*> loaded;
  for (Search* search : searches) {
    NormalContact& contact = search->outcome.contact;
    const ActiveCandidates& near = *search->task->near;
    contact.outside = {.positions = nodes_to_check(*search), .u = {}};
    if (contact.outside.positions.empty()) continue;
    rows.push_back(near.candidates(contact.outside.positions));
    columns.push_back(near.candidates(contact.active));
    loads.push_back({.compliance = search->task->compliance,
                     .rows = rows.back(),
                     .columns = columns.back(),
                     .forces = active_forces(near, contact)});
    loaded.push_back(&contact);
  }
  std::vector<NodeFields<1>> u = displacements(loads);
  for (std::size_t k = 0; k < loaded.size(); ++k) loaded[k]->outside.u = std::move(u[k]);
}

}  // namespace

std::vector<NormalOutcome> solve_normal_contacts(std::span<const NormalTask> tasks) {
  std::vector<Search> searches(tasks.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) begin(tasks[k], searches[k]);
  for (std::vector<Search*> open = running(searches); !open.empty(); open = running(searches)) {
    std::vector<Eigen::MatrixXd> A = working_matrices(open);
    for (std::size_t k = 0; k < open.size(); ++k) find_active_set(*open[k], std::move(A[k]));
    std::erase_if(open, [](const Search* search) { return search->ended; });
    displace_active(open);
    check_outside_candidates(open);
    for (Search* search : open) grow(*search);
  }
  std::vector<NormalOutcome> outcomes;
  for (Search& search : searches) outcomes.push_back(std::move(search.outcome));
  return outcomes;
}

NormalContact solve_normal_contact(const NormalTask& task) {
  NormalOutcome outcome = std::move(solve_normal_contacts({&task, 1}).front());
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.contact);
}

NormalEstimate estimate_normal_contact(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                       double working_set_gap) {
  const std::vector<std::uint32_t> working = first_working_set(near);
  const double limit = working_set_gap * near.deepest();
  const NodeBlocks numbers(compliance, near, working);
  const std::vector<Vector3> normals = normals_of(near, working);
  const NormalBlocks blocks{.compliance = &numbers.compliance(), .nodes = numbers.numbers(), .normals = normals};
  const Eigen::MatrixXd A = std::move(delassus_matrices({&blocks, 1}).front());
  const Eigen::VectorXd gaps = gaps_of(near, working);
  const Eigen::VectorXd lambda = estimate_forces(A, gaps);
  Eigen::VectorXd gamma(lambda.size());
  multiply_symmetric(A, lambda, gamma);
  gamma += gaps;
  NormalEstimate result;
  std::vector<double> forces;
  for (Eigen::Index i = 0; i < lambda.size(); ++i) {
    const std::uint32_t position = working[static_cast<std::size_t>(i)];
    if (lambda[i] <= 0.0 && gamma[i] > limit) continue;
    result.positions.push_back(position);
    forces.push_back(lambda[i]);
  }
  result.lambda = Eigen::Map<const Eigen::VectorXd>(forces.data(), static_cast<Eigen::Index>(forces.size()));
  return result;
}

NodeDerivatives frictionless_derivatives(const std::vector<ContactNodeState>& nodes, const NormalContact& contact,
                                         const Eigen::MatrixXd& rotated, const Vector3& p_AB,
                                         const SurfaceCompliance* compliance, std::span<const std::uint32_t> numbers) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd dlambda(m, 6);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    dlambda.row(static_cast<Eigen::Index>(i)) =
        gap_wrench(nodes[i], p_AB).transpose() - nodes[i].surface.normal.transpose() * rotated.middleRows<3>(row_of(i));
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
    derivatives.rotation_work.setZero();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Matrix36 df = forces.block<3, 6>(row_of(i), 0) + nodes[i].lambda * normal_rotation(nodes[i], p_AB);
      derivatives.rotation_work += rotated.middleRows<3>(row_of(i)).transpose() * df;
    }
    return derivatives;
  }
  const NodeFields<8> u = displacement<8>(*compliance, numbers, forces);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    derivatives.u.emplace_back(u.block<3, 6>(row_of(i), 0) + rotated.middleRows<3>(row_of(i)));
  }
  return derivatives;
}

}  // namespace heelstrike::fem
