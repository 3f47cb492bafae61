#include "fem_server/contact_solver/deformable_partner.hpp"

#include <algorithm>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Tolerance of weights for points on an edge of a triangle.
constexpr double weight_rounding = 1e-9;

}  // namespace

DeformablePartner::DeformablePartner(ContactSurface surface, SurfaceCompliance compliance)
    : surface_(std::move(surface)), tree_(surface_.mesh), compliance_(std::move(compliance)) {}

PartnerPoints DeformablePartner::weights_at(const Pose& X_AB, std::span<const Vector3> p_AQs) const {
  const Pose X_BA = X_AB.inverse();
  PartnerPoints places;
  std::vector<WeightedNodes::Entry> entries;
  for (const Vector3& p_AQ : p_AQs) {
    const ClosestPoint found = tree_.closest(X_BA * p_AQ);
    const Triangle& corners = surface_.mesh.triangles[found.triangle];
    const Vector3 cross = triangle_cross(surface_.mesh, found.triangle);
    Vector3 weights;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3& p = surface_.mesh.vertices[corners[(k + 1) % 3]];
      const Vector3& q = surface_.mesh.vertices[corners[(k + 2) % 3]];
      const double value = (p - found.point).cross(q - found.point).dot(cross) / cross.squaredNorm();
      weights[static_cast<Eigen::Index>(k)] = value > weight_rounding ? std::min(value, 1.0) : 0.0;
    }
    entries.clear();
    places.outside.push_back(add_weights(surface_.triangles[found.triangle], weights, entries) > 0.0);
    merge_entries(entries);
    places.nodes.add_place(entries);
  }
  return places;
}

double add_weights(const ContactTriangle& triangle, const Vector3& weights,
                   std::vector<WeightedNodes::Entry>& entries) {
  const Eigen::Vector4d of_nodes = triangle.displacements.transpose() * weights;
  double unknown = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    if (triangle.unknown[k]) unknown += weights[static_cast<Eigen::Index>(k)];
  }
  for (std::size_t k = 0; k < triangle.nodes.size(); ++k) {
    const double share = of_nodes[static_cast<Eigen::Index>(k)];
    if (triangle.nodes[k] != no_contact_node && share != 0.0) entries.emplace_back(triangle.nodes[k], share);
  }
  return unknown;
}

void merge_entries(std::vector<WeightedNodes::Entry>& entries) {
  // Sums for one node in the order of addition: the bits are the same everywhere.
  std::ranges::stable_sort(entries, {}, &WeightedNodes::Entry::first);
  std::size_t n = 0;
  for (const WeightedNodes::Entry& entry : entries) {
    if (n > 0 && entries[n - 1].first == entry.first) {
      entries[n - 1].second += entry.second;
    } else {
      entries[n++] = entry;
    }
  }
  entries.resize(n);
}

namespace {

using Block = Eigen::Matrix<double, 9, 1>;

}  // namespace

void WeightedNodes::add_place(std::span<const Entry> entries) {
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  ends_.push_back(entries_.size());
}

std::span<const WeightedNodes::Entry> WeightedNodes::at(std::size_t place) const {
  const std::size_t begin = place == 0 ? 0 : ends_[place - 1];
  return {entries_.data() + begin, ends_[place] - begin};
}

std::vector<std::uint32_t> WeightedNodes::used_nodes() const {
  std::vector<std::uint32_t> used;
  for (const auto& [node, weight] : entries_) used.push_back(node);
  std::ranges::sort(used);
  const auto repeated = std::ranges::unique(used);
  used.erase(repeated.begin(), repeated.end());
  return used;
}

WeightedNodes WeightedNodes::among(std::span<const std::uint32_t> nodes) const {
  WeightedNodes result = *this;
  for (auto& [node, weight] : result.entries_) {
    node = static_cast<std::uint32_t>(std::ranges::lower_bound(nodes, node) - nodes.begin());
  }
  return result;
}

std::vector<Vector3> WeightedNodes::distributed(std::span<const std::uint32_t> places, std::span<const Vector3> forces,
                                                std::size_t n_nodes) const {
  std::vector<Vector3> result(n_nodes, Vector3::Zero());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const auto& [node, weight] : at(places[i])) result[node] += weight * forces[i];
  }
  return result;
}

SurfaceCompliance weighted(const SurfaceCompliance& compliance, const WeightedNodes& W, const Matrix3& R) {
  const std::vector<std::uint32_t> used = W.used_nodes();
  const WeightedNodes among_used = W.among(used);
  if (compliance.compressed() != nullptr) {
    return weighted({used.size(), compliance.compressed()->blocks(used)}, among_used, R);
  }
  const std::size_t n = W.n_places();
  const bool rotated = R != Matrix3::Identity();
  std::vector<double> data(9 * n * n);
  std::vector<Block> displaced(used.size());  // the used nodes, by unit forces on one point
  for (std::size_t j = 0; j < n; ++j) {
    std::ranges::fill(displaced, Block::Zero());
    for (const auto& [node, weight] : W.at(j)) {
      const double* column = compliance.column(node);
      for (std::size_t k = 0; k < used.size(); ++k) {
        displaced[k] += weight * Eigen::Map<const Block>(column + 9 * std::size_t{used[k]});
      }
    }
    // Symmetric by construction: the blocks above the diagonal are transposes of those below.
    for (std::size_t i = j; i < n; ++i) {
      Block sum = Block::Zero();
      for (const auto& [k, weight] : among_used.at(i)) sum += weight * displaced[k];
      Matrix3 block = Eigen::Map<const Matrix3>(sum.data());
      if (rotated) block = R * block * R.transpose();
      if (i == j) block = (0.5 * (block + block.transpose())).eval();
      Eigen::Map<Matrix3>(data.data() + 9 * (j * n + i)) = block;
      if (i != j) Eigen::Map<Matrix3>(data.data() + 9 * (i * n + j)) = block.transpose();
    }
  }
  return {n, std::move(data)};
}

SurfaceCompliance sum(const SurfaceCompliance& a, const SurfaceCompliance& b) {
  std::vector<double> data = a.data();
  for (std::size_t k = 0; k < data.size(); ++k) data[k] += b.data()[k];
  return {a.n_nodes(), std::move(data)};
}

}  // namespace heelstrike::fem
