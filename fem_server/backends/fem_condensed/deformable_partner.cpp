#include "fem_server/backends/fem_condensed/deformable_partner.hpp"

#include <algorithm>
#include <utility>

namespace heelstrike::fem {

namespace {

constexpr std::int64_t clamped_vertex = -1;
constexpr std::int64_t foreign_vertex = -2;
/// Of a weight: points on an edge of a triangle.
constexpr double rounding = 1e-9;

/// Symmetric by construction: the blocks above the diagonal are transposes of those below.
template <typename Block>
SurfaceCompliance symmetric(std::size_t n, const Block& block_at) {
  std::vector<double> data(9 * n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      const Matrix3 block = block_at(i, j);
      Eigen::Map<Matrix3>(data.data() + 9 * (j * n + i)) = block;
      if (i != j) Eigen::Map<Matrix3>(data.data() + 9 * (i * n + j)) = block.transpose();
    }
  }
  return {n, std::move(data)};
}

}  // namespace

DeformablePartner::DeformablePartner(Boundary boundary, std::span<const std::uint32_t> clamped,
                                     std::vector<std::uint32_t> candidates, SurfaceCompliance compliance)
    : boundary_(std::move(boundary)), tree_(boundary_.surface), compliance_(std::move(compliance)) {
  for (const std::uint32_t node : boundary_.vertex_nodes) {
    const auto found = std::ranges::lower_bound(candidates, node);
    if (found != candidates.end() && *found == node) {
      candidate_of_.push_back(found - candidates.begin());
    } else {
      candidate_of_.push_back(std::ranges::binary_search(clamped, node) ? clamped_vertex : foreign_vertex);
    }
  }
}

DeformablePartner::Weights DeformablePartner::weights_at(const Vector3& p_BQ) const {
  const ClosestPoint found = tree_.closest(p_BQ);
  const Triangle& corners = boundary_.surface.triangles[found.triangle];
  const Vector3 cross = triangle_cross(boundary_.surface, found.triangle);
  Weights weights;
  for (std::size_t k = 0; k < 3; ++k) {
    const Vector3& p = boundary_.surface.vertices[corners[(k + 1) % 3]];
    const Vector3& q = boundary_.surface.vertices[corners[(k + 2) % 3]];
    const double value =
        std::clamp((p - found.point).cross(q - found.point).dot(cross) / cross.squaredNorm(), 0.0, 1.0);
    const std::int64_t candidate = candidate_of_[corners[k]];
    weights.outside = weights.outside || (candidate == foreign_vertex && value > rounding);
    if (candidate < 0 || value <= rounding) continue;
    weights.corners[k] = static_cast<std::uint32_t>(candidate);
    weights.values[k] = value;
  }
  return weights;
}

PartnerShare DeformablePartner::share(const Pose& X_AB, std::span<const Vector3> p_AQs) const {
  const Pose X_BA = X_AB.inverse();
  PartnerShare share;
  std::vector<Weights> weights;
  for (const Vector3& p : p_AQs) {
    weights.push_back(weights_at(X_BA * p));
    share.outside.push_back(weights.back().outside);
  }
  const Matrix3& R = X_AB.R;
  share.compliance = symmetric(p_AQs.size(), [&](std::size_t i, std::size_t j) -> Matrix3 {
    Matrix3 sum = Matrix3::Zero();
    for (std::size_t l = 0; l < 3; ++l) {
      if (weights[j].values[l] == 0.0) continue;
      for (std::size_t k = 0; k < 3; ++k) {
        const double weight = weights[i].values[k] * weights[j].values[l];
        if (weight != 0.0) sum += weight * compliance_.block(weights[i].corners[k], weights[j].corners[l]);
      }
    }
    return R * sum * R.transpose();
  });
  return share;
}

std::vector<Vector3> DeformablePartner::reactions(const Pose& X_AB, std::span<const Vector3> p_AQs,
                                                  std::span<const Vector3> f_A) const {
  const Pose X_BA = X_AB.inverse();
  std::vector<Vector3> forces(compliance_.n_nodes(), Vector3::Zero());
  for (std::size_t i = 0; i < p_AQs.size(); ++i) {
    const Weights weights = weights_at(X_BA * p_AQs[i]);
    for (std::size_t k = 0; k < 3; ++k) forces[weights.corners[k]] -= weights.values[k] * (X_BA.R * f_A[i]);
  }
  return forces;
}

SurfaceCompliance added(const SurfaceCompliance& body, std::span<const std::uint32_t> candidates,
                        const SurfaceCompliance& share) {
  return symmetric(candidates.size(), [&](std::size_t i, std::size_t j) -> Matrix3 {
    return body.block(candidates[i], candidates[j]) + share.block(i, j);
  });
}

}  // namespace heelstrike::fem
