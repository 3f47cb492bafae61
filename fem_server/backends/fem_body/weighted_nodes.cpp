#include "fem_server/backends/fem_body/weighted_nodes.hpp"

#include <algorithm>

namespace heelstrike::fem {

namespace {

/// All nodes with a weight, ascending, and each entry's position among them.
struct Used {
  std::vector<std::uint32_t> nodes;
  std::vector<std::vector<WeightedNodes::Entry>> places;  ///< (position, weight)
};

Used used_nodes(const WeightedNodes& W) {
  Used used;
  for (std::size_t i = 0; i < W.n_places(); ++i) {
    for (const auto& [node, weight] : W.at(i)) used.nodes.push_back(node);
  }
  std::ranges::sort(used.nodes);
  const auto repeated = std::ranges::unique(used.nodes);
  used.nodes.erase(repeated.begin(), repeated.end());
  for (std::size_t i = 0; i < W.n_places(); ++i) {
    std::vector<WeightedNodes::Entry>& place = used.places.emplace_back();
    for (const auto& [node, weight] : W.at(i)) {
      const auto at = std::ranges::lower_bound(used.nodes, node) - used.nodes.begin();
      place.emplace_back(static_cast<std::uint32_t>(at), weight);
    }
  }
  return used;
}

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

std::vector<Vector3> WeightedNodes::distributed(std::span<const std::uint32_t> places, std::span<const Vector3> forces,
                                                std::size_t n_nodes) const {
  std::vector<Vector3> result(n_nodes, Vector3::Zero());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const auto& [node, weight] : at(places[i])) result[node] += weight * forces[i];
  }
  return result;
}

SurfaceCompliance weighted(const SurfaceCompliance& compliance, const WeightedNodes& W, const Matrix3& R) {
  const Used used = used_nodes(W);
  const std::size_t n = W.n_places();
  const bool turned = R != Matrix3::Identity();
  std::vector<double> data(9 * n * n);
  std::vector<Block> displaced(used.nodes.size());  // the used nodes, by unit forces on one place
  for (std::size_t j = 0; j < n; ++j) {
    std::ranges::fill(displaced, Block::Zero());
    for (const auto& [node, weight] : W.at(j)) {
      const double* column = compliance.column(node);
      for (std::size_t k = 0; k < used.nodes.size(); ++k) {
        displaced[k] += weight * Eigen::Map<const Block>(column + 9 * std::size_t{used.nodes[k]});
      }
    }
    // Symmetric by construction: the blocks above the diagonal are transposes of those below.
    for (std::size_t i = j; i < n; ++i) {
      Block sum = Block::Zero();
      for (const auto& [k, weight] : used.places[i]) sum += weight * displaced[k];
      Matrix3 block = Eigen::Map<const Matrix3>(sum.data());
      if (turned) block = R * block * R.transpose();
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
