#include "fem_server/backends/fem_condensed/normal_contact.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
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

template <class T>
std::vector<T> pick(const std::vector<T>& values, std::span<const std::uint32_t> positions) {
  std::vector<T> result;
  result.reserve(positions.size());
  for (const std::uint32_t i : positions) result.push_back(values[i]);
  return result;
}

/// Solves A lambda = -g on result.active.
void solve_active(const SurfaceCompliance& compliance, const NearNodes& near, NormalContact& result) {
  const auto m = static_cast<Eigen::Index>(result.active.size());
  result.factor.resize(m, m);
  normal_compliance(compliance, pick(near.nodes, result.active), pick(near.normals, result.active), result.factor);
  if (!cholesky_in_place(result.factor)) {
    throw Error(ErrorCode::internal, "the contact compliance is not positive definite; the condensation is damaged");
  }
  result.lambda.resize(m);
  for (Eigen::Index a = 0; a < m; ++a) result.lambda[a] = -near.gaps[result.active[static_cast<std::size_t>(a)]];
  solve_lower(result.factor, result.lambda);
  solve_lower_transposed(result.factor, result.lambda);
}

/// Positions whose sign is wrong: active ones that pull, inactive ones that penetrate.
std::vector<std::uint32_t> violations(const SurfaceCompliance& compliance, const NearNodes& near, double scale,
                                      NormalContact& result) {
  std::vector<std::uint32_t> wrong;
  const double force_scale = result.lambda.size() > 0 ? result.lambda.cwiseAbs().maxCoeff() : 0.0;
  std::vector<bool> is_active(near.nodes.size(), false);
  NodeFields<1> forces(3 * result.lambda.size());
  for (std::size_t a = 0; a < result.active.size(); ++a) {
    const std::uint32_t i = result.active[a];
    const auto row = static_cast<Eigen::Index>(a);
    is_active[i] = true;
    forces.segment<3>(3 * row) = result.lambda[row] * near.normals[i];
    if (result.lambda[row] <= -tolerance * force_scale) wrong.push_back(i);
  }
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    if (!is_active[i]) others.push_back(i);
  }
  const NodeFields<1> u =
      displacement<1>(compliance, pick(near.nodes, others), pick(near.nodes, result.active), forces);
  result.residual = 0.0;
  for (std::size_t k = 0; k < others.size(); ++k) {
    const std::uint32_t i = others[k];
    const double gamma = near.gaps[i] + near.normals[i].dot(u.segment<3>(3 * static_cast<Eigen::Index>(k)));
    result.residual = std::max(result.residual, -gamma / scale);
    if (gamma < -tolerance * scale) wrong.push_back(i);
  }
  return wrong;
}

/// Moves each listed position to the other side.
void flip(std::vector<std::uint32_t>& active, std::span<const std::uint32_t> positions) {
  std::vector<std::uint32_t> sorted(positions.begin(), positions.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> result;
  std::set_symmetric_difference(active.begin(), active.end(), sorted.begin(), sorted.end(), std::back_inserter(result));
  active = std::move(result);
}

}  // namespace

NormalContact solve_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near,
                                   std::span<const std::uint32_t> warm) {
  NormalContact result;
  double scale = 0.0;
  for (const double gap : near.gaps) scale = std::max(scale, -gap);
  if (scale == 0.0) return result;
  result.active.assign(warm.begin(), warm.end());
  if (result.active.empty()) {
    for (std::uint32_t i = 0; i < near.gaps.size(); ++i) {
      if (near.gaps[i] < 0.0) result.active.push_back(i);
    }
  }
  std::size_t fewest = near.nodes.size() + 1;
  int budget = patience;
  for (result.iterations = 1; result.iterations <= iteration_limit; ++result.iterations) {
    solve_active(compliance, near, result);
    std::vector<std::uint32_t> wrong = violations(compliance, near, scale, result);
    if (wrong.empty()) return result;
    if (wrong.size() < fewest) {
      fewest = wrong.size();
      budget = patience;
    } else if (budget > 0) {
      --budget;
    } else {
      wrong = {*std::max_element(wrong.begin(), wrong.end())};
    }
    flip(result.active, wrong);
  }
  throw RecoverableError(
      fmt::format("the contact solver found no active set in {} iterations ({} nodes near, {} active, "
                  "deepest {} m); take a smaller step",
                  iteration_limit, near.nodes.size(), result.active.size(), scale));
}

}  // namespace heelstrike::fem
