#include "fem_server/backends/fem_condensed/gathered_block.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

Eigen::MatrixXd gathered(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates) {
  const std::size_t n = candidates.size();
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(3 * n), static_cast<Eigen::Index>(3 * n));
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = compliance.column(candidates[j]);
    double* x = matrix.data() + 9 * n * j;
    double* y = x + 3 * n;
    double* z = y + 3 * n;
    for (std::size_t i = 0; i < n; ++i) {
      const double* block = column + 9 * static_cast<std::size_t>(candidates[i]);
      for (std::size_t k = 0; k < 3; ++k) {
        x[3 * i + k] = block[k];
        y[3 * i + k] = block[3 + k];
        z[3 * i + k] = block[6 + k];
      }
    }
  }
  return matrix;
}

Eigen::MatrixXd BlockPart::times(const Eigen::MatrixXd& forces) const {
  const Eigen::Index n = matrix->rows();
  std::vector<Eigen::Index> columns;
  for (Eigen::Index k = 0; k < forces.cols(); ++k) {
    if (!forces.col(k).isZero(0.0)) columns.push_back(k);
  }
  const auto n_columns = static_cast<Eigen::Index>(columns.size());
  Eigen::MatrixXd f = Eigen::MatrixXd::Zero(n, n_columns);
  for (Eigen::Index k = 0; k < n_columns; ++k) {
    for (std::size_t a = 0; a < members.size(); ++a) {
      f.col(k).segment<3>(3 * Eigen::Index{members[a]}) =
          forces.col(columns[static_cast<std::size_t>(k)]).segment<3>(3 * static_cast<Eigen::Index>(a));
    }
  }
  Eigen::MatrixXd u(n, n_columns);
  multiply(*matrix, f, u);
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), forces.cols());
  for (Eigen::Index k = 0; k < n_columns; ++k) {
    for (std::size_t a = 0; a < members.size(); ++a) {
      result.col(columns[static_cast<std::size_t>(k)]).segment<3>(3 * static_cast<Eigen::Index>(a)) =
          u.col(k).segment<3>(3 * Eigen::Index{members[a]});
    }
  }
  return result;
}

BlockPart whole(Eigen::MatrixXd matrix) {
  BlockPart part;
  part.members.resize(static_cast<std::size_t>(matrix.rows() / 3));
  std::iota(part.members.begin(), part.members.end(), 0U);
  part.matrix = std::make_shared<const Eigen::MatrixXd>(std::move(matrix));
  return part;
}

GatheredBlock::GatheredBlock(const SurfaceCompliance& compliance, const NearNodes& near,
                             std::vector<std::uint32_t> positions)
    : positions_(std::move(positions)) {
  std::vector<std::uint32_t> candidates;
  for (const std::uint32_t i : positions_) candidates.push_back(near.nodes[i]);
  matrix_ = std::make_shared<const Eigen::MatrixXd>(gathered(compliance, candidates));
}

GatheredBlock GatheredBlock::first(const SurfaceCompliance& compliance, const NearNodes& near,
                                   std::vector<std::uint32_t> positions) {
  if (near.kept_block != nullptr && std::ranges::includes(near.kept, positions)) return {near.kept, near.kept_block};
  return {compliance, near, std::move(positions)};
}

BlockPart GatheredBlock::part(std::vector<std::uint32_t> members) const {
  // The copy costs a few products with the matrix of the block.
  constexpr double worth_a_copy = 0.8;
  const std::size_t n = members.size();
  if (static_cast<double>(n) > worth_a_copy * static_cast<double>(n_nodes())) {
    return {.matrix = matrix_, .members = std::move(members)};
  }
  Eigen::MatrixXd own(static_cast<Eigen::Index>(3 * n), static_cast<Eigen::Index>(3 * n));
  for (std::size_t column = 0; column < 3 * n; ++column) {
    const double* from = matrix_->col(static_cast<Eigen::Index>(3 * members[column / 3] + column % 3)).data();
    double* to = own.col(static_cast<Eigen::Index>(column)).data();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < 3; ++k) to[3 * i + k] = from[3 * members[i] + k];
    }
  }
  return whole(std::move(own));
}

std::vector<std::uint32_t> penetrating_outside(const SurfaceCompliance& compliance, const NearNodes& near,
                                               const GatheredBlock& block, const Eigen::VectorXd& forces,
                                               const Eigen::VectorXd& u, double allowed, double& deepest) {
  const auto& positions = block.positions();
  double change_squared = 0.0;  // df . C df
  std::vector<std::uint32_t> loaded;
  std::vector<std::uint32_t> loaded_positions;
  bool bounded = !near.compliance_changed;
  for (std::size_t a = 0; a < positions.size(); ++a) {
    const auto row = 3 * static_cast<Eigen::Index>(a);
    const std::uint32_t i = positions[a];
    const Vector3 df = forces.segment<3>(row) - near.force_before[i];
    if (!df.isZero(0.0)) {
      bounded = bounded && near.known[i];
      change_squared += df.dot(u.segment<3>(row) - near.u_before[i]);
    }
    if (!forces.segment<3>(row).isZero(0.0)) loaded_positions.push_back(static_cast<std::uint32_t>(a));
  }
  const double change = std::sqrt(std::max(change_squared, 0.0));
  std::vector<std::uint32_t> open;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    if (next < positions.size() && positions[next] == i) {
      ++next;
      continue;
    }
    if (bounded && near.known[i]) {
      const Vector3& n = near.normals[i];
      const double before = near.gaps[i] + n.dot(near.u_before[i]);
      const double reach = change * std::sqrt(n.dot(compliance.self(near.nodes[i]) * n));
      if (before - reach > -allowed) continue;
    }
    open.push_back(i);
  }
  std::vector<std::uint32_t> found;
  deepest = 0.0;
  if (open.empty()) return found;
  std::vector<std::uint32_t> rows;
  for (const std::uint32_t i : open) rows.push_back(near.nodes[i]);
  NodeFields<1> carried(static_cast<Eigen::Index>(3 * loaded_positions.size()));
  for (std::size_t a = 0; a < loaded_positions.size(); ++a) {
    loaded.push_back(near.nodes[positions[loaded_positions[a]]]);
    carried.segment<3>(static_cast<Eigen::Index>(3 * a)) =
        forces.segment<3>(static_cast<Eigen::Index>(3 * loaded_positions[a]));
  }
  const NodeFields<1> others = displacement<1>(compliance, rows, loaded, carried);
  for (std::size_t k = 0; k < open.size(); ++k) {
    const std::uint32_t i = open[k];
    const double gamma = near.gaps[i] + near.normals[i].dot(others.segment<3>(3 * static_cast<Eigen::Index>(k)));
    deepest = std::max(deepest, -gamma);
    if (gamma < -allowed) found.push_back(i);
  }
  return found;
}

}  // namespace heelstrike::fem
