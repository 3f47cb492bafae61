#include "fem_server/backends/fem_condensed/normal_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/active_set_guess.hpp"
#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

constexpr int iteration_limit = 200;
/// Full exchanges that may pass without fewer violations before single pivots take over [judice1994 recommends 3 to
/// 10].
constexpr int patience = 5;
/// Violations below this part of the largest penetration (or force) are rounding.
constexpr double tolerance = 1e-11;

struct NormalProblem {
  Eigen::MatrixXd A;     ///< lower triangle
  Eigen::VectorXd gaps;  ///< [m]
};

NormalProblem normal_problem(const NodeBlocks& blocks, const NearNodes& near, std::span<const std::uint32_t> working) {
  std::vector<Vector3> normals;
  const auto n = static_cast<Eigen::Index>(working.size());
  NormalProblem problem{.A = Eigen::MatrixXd(n, n), .gaps = Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    problem.gaps[i] = near.gaps[working[static_cast<std::size_t>(i)]];
    normals.push_back(near.normals[working[static_cast<std::size_t>(i)]]);
  }
  normal_compliance(blocks.compliance(), blocks.numbers(), normals, problem.A);
  return problem;
}

/// The complementarity problem on the working set.
class WorkingProblem {
 public:
  WorkingProblem(const NearNodes& near, const NodeBlocks& blocks, double scale, NormalContact& result)
      : near_(near), scale_(scale), result_(result) {
    NormalProblem problem = normal_problem(blocks, near, result.working);
    A_ = std::move(problem.A);
    gaps_ = std::move(problem.gaps);
  }

  /// @param active  in: first guess, out: the active members; indices into the working set
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
  void exchange() {
    if (result_.iterations == 0 && !near_.warm()) guess();
    std::size_t fewest = result_.working.size() + 1;
    int budget = patience;
    while (result_.iterations < iteration_limit) {
      ++result_.iterations;
      solve_active();
      std::vector<std::uint32_t> wrong = violations();
      if (wrong.empty()) return;
      if (wrong.size() < fewest) {
        fewest = wrong.size();
        budget = patience;
      } else if (budget > 0) {
        --budget;
      } else {
        wrong = {wrong.back()};
      }
      flip(wrong);
    }
    give_up();
  }

  /// From nothing, conjugate gradients tell who is active for less than one factorisation.
  void guess() {
    active_.clear();
    const Eigen::VectorXd forces = estimate_forces(A_, gaps_);
    for (std::uint32_t i = 0; i < forces.size(); ++i) {
      if (forces[i] > 0.0) active_.push_back(i);
    }
  }

  [[noreturn]] void give_up() const {
    throw RecoverableError(
        fmt::format("the contact solver found no active set in {} iterations ({} nodes near, {} active, "
                    "deepest {} m); take a smaller step",
                    iteration_limit, near_.nodes.size(), active_.size(), scale_));
  }

  [[nodiscard]] double penalty(std::size_t member) const { return near_.penalty[result_.working[member]]; }

  /// With s the penetrations, lambda = k s^2 linearised about s_k gives (A + D) lambda = -g - s_k / 2, D = 1 / (2 k
  /// s_k). A penetration may fall to a tenth per step at most, so that D stays bounded; it ends at zero below
  /// `smallest`.
  void newton() {
    const double smallest = 1e-9 * scale_;
    Eigen::VectorXd s(A_.rows());
    for (Eigen::Index i = 0; i < s.size(); ++i) s[i] = std::max(-gap(static_cast<std::size_t>(i)), 0.0);
    double change = scale_;
    while (result_.iterations < iteration_limit) {
      ++result_.iterations;
      solve_linearised(s);
      if (change <= tolerance * scale_) return finish(s);
      const Eigen::VectorXd gamma = gaps();
      change = 0.0;
      for (Eigen::Index i = 0; i < s.size(); ++i) {
        double next = std::max(-gamma[i], 0.1 * s[i]);
        if (next < smallest) next = 0.0;
        change = std::max(change, std::abs(next - s[i]));
        s[i] = next;
      }
    }
    give_up();
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

  [[nodiscard]] Eigen::VectorXd gaps() const {
    Eigen::VectorXd lambda = Eigen::VectorXd::Zero(A_.rows());
    for (std::size_t a = 0; a < active_.size(); ++a) {
      lambda[active_[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    Eigen::VectorXd gamma(A_.rows());
    multiply_symmetric(A_, lambda, gamma);
    for (Eigen::Index i = 0; i < gamma.size(); ++i) gamma[i] += gap(static_cast<std::size_t>(i));
    return gamma;
  }

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
    const auto m = static_cast<Eigen::Index>(active_.size());
    result_.factor.resize(m, m);
    result_.lambda.resize(m);
    for (Eigen::Index b = 0; b < m; ++b) {
      const auto j = static_cast<Eigen::Index>(active_[static_cast<std::size_t>(b)]);
      for (Eigen::Index a = b; a < m; ++a) {
        result_.factor(a, b) = A_(active_[static_cast<std::size_t>(a)], j);
      }
      result_.lambda[b] = -gap(static_cast<std::size_t>(j));
    }
    if (!cholesky_in_place(result_.factor)) {
      throw Error(ErrorCode::internal, "the contact compliance is not positive definite; the condensation is damaged");
    }
    solve_lower(result_.factor, result_.lambda);
    solve_lower_transposed(result_.factor, result_.lambda);
  }

  /// Members whose sign is wrong, ascending: active ones that pull, inactive ones that penetrate.
  [[nodiscard]] std::vector<std::uint32_t> violations() {
    const double force_scale = result_.lambda.size() > 0 ? result_.lambda.cwiseAbs().maxCoeff() : 0.0;
    Eigen::VectorXd lambda = Eigen::VectorXd::Zero(A_.rows());
    for (std::size_t a = 0; a < active_.size(); ++a) {
      lambda[active_[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    Eigen::VectorXd gamma(A_.rows());
    multiply_symmetric(A_, lambda, gamma);
    std::vector<std::uint32_t> wrong;
    result_.residual = 0.0;
    auto active = active_.begin();
    for (std::uint32_t i = 0; i < gamma.size(); ++i) {
      if (active != active_.end() && *active == i) {
        ++active;
        if (lambda[i] <= -tolerance * force_scale) wrong.push_back(i);
        continue;
      }
      const double penetration = -(gap(i) + gamma[i]);
      result_.residual = std::max(result_.residual, penetration / scale_);
      if (penetration > tolerance * scale_) wrong.push_back(i);
    }
    return wrong;
  }

  /// Moves each listed member to the other side.
  void flip(const std::vector<std::uint32_t>& members) {
    std::vector<std::uint32_t> next;
    std::set_symmetric_difference(active_.begin(), active_.end(), members.begin(), members.end(),
                                  std::back_inserter(next));
    active_ = std::move(next);
  }

  const NearNodes& near_;
  double scale_;
  NormalContact& result_;
  std::vector<std::uint32_t> active_;  // indices into the working set, ascending
  Eigen::MatrixXd A_;                  // lower triangle
  Eigen::VectorXd gaps_;
};

/// Displacements of the active nodes, and those by the turning of their forces.
void displace(const NearNodes& near, const NodeBlocks& blocks, std::span<const std::uint32_t> members,
              const NormalTurning& turning, NormalContact& result) {
  const auto m = static_cast<Eigen::Index>(result.active.size());
  const std::vector<std::uint32_t> numbers = blocks.numbers(members);
  Eigen::MatrixXd forces = Eigen::MatrixXd::Zero(3 * m, turning ? 7 : 1);
  bool bends = false;
  for (Eigen::Index a = 0; a < m; ++a) {
    const std::uint32_t i = result.active[static_cast<std::size_t>(a)];
    forces.block<3, 1>(3 * a, 0) = result.lambda[a] * near.normals[i];
    if (!turning) continue;
    forces.block<3, 6>(3 * a, 1) = result.lambda[a] * turning(i);
    bends = bends || !forces.block<3, 3>(3 * a, 4).isZero(0.0);
  }
  if (!turning) {
    result.u = displacement<1>(blocks.compliance(), numbers, NodeFields<1>(forces));
    return;
  }
  result.turned = Eigen::MatrixXd::Zero(3 * m, 6);
  if (bends) {
    NodeFields<8> all = NodeFields<8>::Zero(3 * m, 8);
    all.leftCols<7>() = forces;
    const NodeFields<8> u = displacement<8>(blocks.compliance(), numbers, all);
    result.u = u.col(0);
    result.turned = u.middleCols<6>(1);
    return;
  }
  // The forces keep still while the partner moves without turning, as on a plane.
  const NodeFields<4> u = displacement<4>(blocks.compliance(), numbers, NodeFields<4>(forces.leftCols<4>()));
  result.u = u.col(0);
  result.turned.leftCols<3>() = u.rightCols<3>();
}

/// Near nodes outside the working set that penetrate; sets the residual.
std::vector<std::uint32_t> find_outside(const SurfaceCompliance& compliance, const NearNodes& near,
                                        const NodeBlocks& blocks, std::span<const std::uint32_t> members, double scale,
                                        NormalContact& result) {
  Eigen::VectorXd forces(result.u.size());
  for (std::size_t a = 0; a < result.active.size(); ++a) {
    forces.segment<3>(3 * static_cast<Eigen::Index>(a)) =
        result.lambda[static_cast<Eigen::Index>(a)] * near.normals[result.active[a]];
  }
  LoadChange change = change_since_commit(near, result.active, forces, result.u);
  // Nodes that have lost their force belong to the change too.
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> left_numbers;
  auto active = result.active.begin();
  for (std::size_t a = 0; a < result.working.size(); ++a) {
    const std::uint32_t i = result.working[a];
    active = std::find_if(active, result.active.end(), [&](std::uint32_t other) { return other >= i; });
    if ((active != result.active.end() && *active == i) || near.force_before[i].isZero(0.0)) continue;
    left.push_back(i);
    left_numbers.push_back(blocks.numbers()[a]);
  }
  if (!left.empty()) {
    const NodeFields<1> u =
        displacement<1>(blocks.compliance(), left_numbers, blocks.numbers(members), NodeFields<1>(forces));
    const LoadChange more = change_since_commit(near, left, Eigen::VectorXd::Zero(u.size()), u);
    change.bounded = change.bounded && more.bounded;
    change.work += more.work;
  }
  double deepest = 0.0;
  std::vector<std::uint32_t> found =
      penetrating_outside(compliance, near, result.working, result.active, forces, change, tolerance * scale, deepest);
  result.residual = std::max(result.residual, deepest / scale);
  return found;
}

}  // namespace

NormalContact solve_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near,
                                   const NormalTurning& turning) {
  NormalContact result;
  const double scale = near.deepest();
  if (scale == 0.0) return result;
  result.working = first_working_set(near);
  std::vector<std::uint32_t> members(result.working.size());
  std::iota(members.begin(), members.end(), 0U);
  for (;;) {
    const NodeBlocks blocks(compliance, near, result.working);
    WorkingProblem(near, blocks, scale, result).solve(members);
    result.active.clear();
    for (const std::uint32_t member : members) result.active.push_back(result.working[member]);
    displace(near, blocks, members, turning, result);
    const auto found = find_outside(compliance, near, blocks, members, scale, result);
    if (found.empty()) return result;
    std::vector<std::uint32_t> working;
    std::ranges::set_union(result.working, found, std::back_inserter(working));
    std::vector<std::uint32_t> active;
    std::ranges::set_union(result.active, found, std::back_inserter(active));
    result.working = std::move(working);
    members.clear();
    for (std::uint32_t a = 0; a < result.working.size(); ++a) {
      if (std::ranges::binary_search(active, result.working[a])) members.push_back(a);
    }
  }
}

NormalEstimate estimate_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near, double close_gap) {
  const std::vector<std::uint32_t> working = first_working_set(near);
  const double limit = close_gap * near.deepest();
  const NormalProblem problem = normal_problem(NodeBlocks(compliance, near, working), near, working);
  const Eigen::VectorXd lambda = estimate_forces(problem.A, problem.gaps);
  Eigen::VectorXd gamma(lambda.size());
  multiply_symmetric(problem.A, lambda, gamma);
  gamma += problem.gaps;
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

}  // namespace heelstrike::fem
