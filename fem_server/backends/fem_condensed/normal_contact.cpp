#include "fem_server/backends/fem_condensed/normal_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

constexpr int iteration_limit = 200;
/// Full exchanges that may pass without fewer violations before single pivots take over [judice1994 recommends 3 to
/// 10].
constexpr int patience = 5;
/// Violations below this part of the largest penetration (or force) are rounding.
constexpr double tolerance = 1e-11;

/// A(i, j) = n_i . C_ij n_j over the block, both triangles.
Eigen::MatrixXd normal_compliance(const GatheredBlock& block, const NearNodes& near) {
  const auto m = static_cast<Eigen::Index>(block.n_nodes());
  Eigen::MatrixXd A(m, m);
  Eigen::VectorXd w(3 * m);
  for (Eigen::Index j = 0; j < m; ++j) {
    const Vector3& n = near.normals[block.positions()[static_cast<std::size_t>(j)]];
    const Eigen::Index rest = 3 * (m - j);
    w.tail(rest) = block.matrix().col(3 * j).tail(rest) * n.x() + block.matrix().col(3 * j + 1).tail(rest) * n.y() +
                   block.matrix().col(3 * j + 2).tail(rest) * n.z();
    for (Eigen::Index i = j; i < m; ++i) {
      A(i, j) = near.normals[block.positions()[static_cast<std::size_t>(i)]].dot(w.segment<3>(3 * i));
      A(j, i) = A(i, j);
    }
  }
  return A;
}

/// The complementarity problem on the working set.
class WorkingProblem {
 public:
  WorkingProblem(const NearNodes& near, double scale, NormalContact& result)
      : near_(near), scale_(scale), result_(result), A_(normal_compliance(result.block, near)) {}

  void solve() {
    if (near_.penalty.empty()) {
      exchange();
    } else {
      newton();
    }
  }

 private:
  /// Block principal pivoting.
  void exchange() {
    std::size_t fewest = result_.block.n_nodes() + 1;
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

  [[noreturn]] void give_up() const {
    throw RecoverableError(
        fmt::format("the contact solver found no active set in {} iterations ({} nodes near, {} active, "
                    "deepest {} m); take a smaller step",
                    iteration_limit, near_.nodes.size(), result_.active.size(), scale_));
  }

  [[nodiscard]] double penalty(std::size_t member) const { return near_.penalty[result_.block.positions()[member]]; }

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
    result_.active.clear();
    for (std::uint32_t i = 0; i < s.size(); ++i) {
      if (s[i] > 0.0) result_.active.push_back(i);
    }
    const auto m = static_cast<Eigen::Index>(result_.active.size());
    result_.factor.resize(m, m);
    result_.lambda.resize(m);
    for (Eigen::Index b = 0; b < m; ++b) {
      const std::uint32_t j = result_.active[static_cast<std::size_t>(b)];
      for (Eigen::Index a = b; a < m; ++a) result_.factor(a, b) = A_(result_.active[static_cast<std::size_t>(a)], j);
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
    for (std::size_t a = 0; a < result_.active.size(); ++a) {
      lambda[result_.active[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    Eigen::VectorXd gamma(A_.rows());
    multiply(A_, lambda, gamma);
    for (Eigen::Index i = 0; i < gamma.size(); ++i) gamma[i] += gap(static_cast<std::size_t>(i));
    return gamma;
  }

  void finish(const Eigen::VectorXd& s) {
    result_.penalty_energy = 0.0;
    for (std::size_t a = 0; a < result_.active.size(); ++a) {
      const std::uint32_t i = result_.active[a];
      result_.lambda[static_cast<Eigen::Index>(a)] = penalty(i) * s[i] * s[i];
      result_.penalty_energy += penalty(i) * s[i] * s[i] * s[i] / 3.0;
    }
  }

  [[nodiscard]] double gap(std::size_t member) const { return near_.gaps[result_.block.positions()[member]]; }

  /// Solves A lambda = -g on the active nodes.
  void solve_active() {
    const auto m = static_cast<Eigen::Index>(result_.active.size());
    result_.factor.resize(m, m);
    result_.lambda.resize(m);
    for (Eigen::Index b = 0; b < m; ++b) {
      const auto j = static_cast<Eigen::Index>(result_.active[static_cast<std::size_t>(b)]);
      for (Eigen::Index a = b; a < m; ++a) {
        result_.factor(a, b) = A_(result_.active[static_cast<std::size_t>(a)], j);
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
    for (std::size_t a = 0; a < result_.active.size(); ++a) {
      lambda[result_.active[a]] = result_.lambda[static_cast<Eigen::Index>(a)];
    }
    Eigen::VectorXd gamma(A_.rows());
    multiply(A_, lambda, gamma);
    std::vector<std::uint32_t> wrong;
    result_.residual = 0.0;
    auto active = result_.active.begin();
    for (std::uint32_t i = 0; i < gamma.size(); ++i) {
      if (active != result_.active.end() && *active == i) {
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
    std::set_symmetric_difference(result_.active.begin(), result_.active.end(), members.begin(), members.end(),
                                  std::back_inserter(next));
    result_.active = std::move(next);
  }

  const NearNodes& near_;
  double scale_;
  NormalContact& result_;
  Eigen::MatrixXd A_;
};

/// Members of the block that a new working set starts with as active: those that carry force or penetrate.
std::vector<std::uint32_t> first_active(const NearNodes& near, const GatheredBlock& block) {
  std::vector<std::uint32_t> active;
  for (std::uint32_t a = 0; a < block.n_nodes(); ++a) {
    const std::uint32_t i = block.positions()[a];
    const double predicted = near.gaps[i] + (near.known[i] ? near.normals[i].dot(near.u_before[i]) : 0.0);
    if (!near.force_before[i].isZero(0.0) || predicted < 0.0) active.push_back(a);
  }
  return active;
}

}  // namespace

std::vector<std::uint32_t> first_working_set(const NearNodes& near) {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    const double predicted = near.gaps[i] + (near.known[i] ? near.normals[i].dot(near.u_before[i]) : 0.0);
    if (!near.force_before[i].isZero(0.0) || predicted < 0.0) positions.push_back(i);
  }
  return positions;
}

NormalContact solve_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near) {
  double scale = 0.0;
  for (const double gap : near.gaps) scale = std::max(scale, -gap);
  NormalContact result{.block = scale > 0.0 ? GatheredBlock::first(compliance, near, first_working_set(near))
                                            : GatheredBlock(compliance, near, {}),
                       .active = {},
                       .lambda = {},
                       .factor = {},
                       .u = {}};
  if (scale == 0.0) return result;
  result.active = first_active(near, result.block);
  for (;;) {
    WorkingProblem(near, scale, result).solve();
    const auto m = static_cast<Eigen::Index>(result.block.n_nodes());
    Eigen::VectorXd forces = Eigen::VectorXd::Zero(3 * m);
    for (std::size_t a = 0; a < result.active.size(); ++a) {
      const std::uint32_t member = result.active[a];
      forces.segment<3>(3 * static_cast<Eigen::Index>(member)) =
          result.lambda[static_cast<Eigen::Index>(a)] * near.normals[result.block.positions()[member]];
    }
    result.u.resize(3 * m);
    multiply(result.block.matrix(), forces, result.u);
    double deepest = 0.0;
    const auto found =
        penetrating_outside(compliance, near, result.block, forces, result.u, tolerance * scale, deepest);
    result.residual = std::max(result.residual, deepest / scale);
    if (found.empty()) return result;
    std::vector<std::uint32_t> active_positions;
    for (const std::uint32_t member : result.active) active_positions.push_back(result.block.positions()[member]);
    std::vector<std::uint32_t> joined;
    std::set_union(result.block.positions().begin(), result.block.positions().end(), found.begin(), found.end(),
                   std::back_inserter(joined));
    std::vector<std::uint32_t> active;
    std::set_union(active_positions.begin(), active_positions.end(), found.begin(), found.end(),
                   std::back_inserter(active));
    result.block = GatheredBlock(compliance, near, std::move(joined));
    result.active.clear();
    for (std::uint32_t a = 0; a < result.block.n_nodes(); ++a) {
      if (std::binary_search(active.begin(), active.end(), result.block.positions()[a])) result.active.push_back(a);
    }
  }
}

}  // namespace heelstrike::fem
