#include "fem_server/backends/fem_condensed/gathered_block.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fem_server/backends/fem_condensed/compliance_product.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

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
  const NodeBlocks blocks(compliance, near, positions_);
  matrix_ = std::make_shared<const Eigen::MatrixXd>(gathered(blocks.compliance(), blocks.numbers()));
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

}  // namespace heelstrike::fem
