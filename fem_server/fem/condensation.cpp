#include "fem_server/fem/condensation.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/rigid_motion.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

namespace {

/// Degrees of freedom by role, each list ascending.
struct Partition {
  std::vector<std::int64_t> inner;
  std::vector<std::int64_t> candidates;
};

Partition partition_dofs(const BodyModel& body, std::span<const std::uint32_t> candidates,
                         const std::vector<bool>& fixed) {
  std::vector<bool> is_candidate(body.mesh().nodes.size(), false);
  for (const std::uint32_t node : candidates) is_candidate[node] = true;
  Partition partition;
  for (std::size_t dof = 0; dof < body.n_dofs(); ++dof) {
    if (fixed[dof]) continue;
    (is_candidate[dof / 3] ? partition.candidates : partition.inner).push_back(static_cast<std::int64_t>(dof));
  }
  return partition;
}

void check_candidates(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates) {
  if (candidates.empty())
    throw input_error("candidates", "no candidate contact node; widen the set, region or direction");
  check_support(support);
  for (const std::uint32_t node : candidates) {
    if (!std::binary_search(support.clamped_nodes.begin(), support.clamped_nodes.end(), node)) continue;
    const Vector3& p = body.mesh().nodes[node];
    throw input_error("candidates", fmt::format("candidate node {} at ({}, {}, {}) m is clamped; a clamped node cannot "
                                                "carry contact; remove it from one of the sets",
                                                node, p.x(), p.y(), p.z()));
  }
}

/// Terms that convert the compliance G of the isostatically supported body to that of the free body:
/// C_ij = G_ij - Y_i B_j^T - B_i Y_j^T + B_i Q B_j^T with Y = S^T G M R, B = S^T R (R^T M R)^-1, Q = R^T M G M R.
struct ReliefTerms {
  SixColumns Y;
  SixColumns B;
  Matrix6 Q;
};

ReliefTerms relief_terms(const BodyModel& body, const SparseCholesky& factor, const SixColumns& modes,
                         std::span<const std::int64_t> candidate_dofs) {
  const SixColumns MR = mass_times(body, modes);
  const Matrix6 mass = modes.transpose() * MR;
  const SixColumns GMR = factor.solve(MR);
  // R^T M R: centred modes keep it well conditioned.
  const Matrix6 inverse = mass.inverse();
  ReliefTerms terms;
  const auto n = static_cast<Eigen::Index>(candidate_dofs.size());
  terms.Y.resize(n, 6);
  terms.B.resize(n, 6);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::int64_t dof = candidate_dofs[static_cast<std::size_t>(i)];
    terms.Y.row(i) = GMR.row(dof);
    terms.B.row(i) = modes.row(dof) * inverse;
  }
  terms.Q = MR.transpose() * GMR;
  // Symmetrised to the bit, because block (j, i) of the compliance is the transpose of (i, j).
  terms.Q = (0.5 * (terms.Q + terms.Q.transpose())).eval();
  return terms;
}

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "condensation stopped on request");
}

std::string task(std::size_t n_candidates) {
  return fmt::format("condensing this body to {} candidate nodes", n_candidates);
}

/// (L L^T)^-1 by panels of columns, for rows from the panel downwards only; the rest follows from symmetry.
std::vector<double> inverse_blocks(const Eigen::MatrixXd& L, const ReliefTerms* relief, const Progress& progress,
                                   const std::stop_token& stop) {
  const auto n = L.rows() / 3;
  std::vector<double> blocks(static_cast<std::size_t>(9 * n * n));
  const auto block = [&](Eigen::Index i, Eigen::Index j) {
    return Eigen::Map<Matrix3>(blocks.data() + 9 * (j * n + i));
  };
  for_each_panel(n, [&](Eigen::Index first, Eigen::Index width) {
    check_stop(stop);
    const Eigen::Index n_rows = 3 * (n - first);
    // Columns of the identity are zero above the panel, and so is L^-1 applied to them; L^-T then needs the trailing
    // triangle only. Without the symmetric half this is a third of the work.
    Eigen::MatrixXd panel = Eigen::MatrixXd::Identity(n_rows, 3 * width);
    const auto trailing = L.bottomRightCorner(n_rows, n_rows);
    solve_lower(trailing, panel);
    solve_lower_transposed(trailing, panel);
    if (relief != nullptr) {
      const auto Y = relief->Y.bottomRows(n_rows);
      const auto B = relief->B.bottomRows(n_rows);
      const auto Yj = relief->Y.middleRows(3 * first, 3 * width);
      const auto Bj = relief->B.middleRows(3 * first, 3 * width);
      // Equation (3) of docs/theory/contact_fem.md for these columns.
      panel += B * (relief->Q * Bj.transpose() - Yj.transpose()) - Y * Bj.transpose();
    }
    for (Eigen::Index j = first; j < first + width; ++j) {
      const auto column = panel.middleCols<3>(3 * (j - first));
      for (Eigen::Index i = j; i < n; ++i) {
        const Matrix3 value = column.middleRows<3>(3 * (i - first));
        block(i, j) = value;
        block(j, i) = value.transpose();
      }
      const Matrix3 diagonal = block(j, j);
      block(j, j) = 0.5 * (diagonal + diagonal.transpose());
    }
    progress("condense", 0.5 + 0.5 * static_cast<double>(first + width) / static_cast<double>(n));
  });
  return blocks;
}

/// L L^T by panels of columns, symmetric to the bit.
Eigen::MatrixXd symmetric_product(const Eigen::MatrixXd& L, const Progress& progress, const std::stop_token& stop) {
  const Eigen::Index n = L.rows();
  Eigen::MatrixXd product(n, n);
  for_each_panel(n / 3, [&](Eigen::Index first_node, Eigen::Index n_nodes) {
    check_stop(stop);
    const Eigen::Index first = 3 * first_node;
    const Eigen::Index width = 3 * n_nodes;
    const Eigen::Index last = first + width;
    auto panel = product.block(first, first, n - first, width);
    // Columns first to last of L L^T need the same rows of L, which end at column `last`.
    panel.noalias() = L.block(first, 0, n - first, last) * L.block(first, 0, width, last).transpose();
    auto corner = panel.topRows(width);
    corner = (0.5 * (corner + corner.transpose())).eval();
    product.block(first, last, width, n - last) = panel.bottomRows(n - last).transpose();
    progress("condense", 0.5 + 0.5 * static_cast<double>(last) / static_cast<double>(n));
  });
  return product;
}

}  // namespace

void check_support(const Support& support) {
  if (support.inertia_relief != support.clamped_nodes.empty()) {
    throw input_error("support", support.inertia_relief
                                     ? "the body is clamped and has support: inertia_relief; use only one of them"
                                     : "the body is not supported: translations along x, y, z and "
                                       "rotations about x, y, z are free; set clamped_set or clamped_box, or use "
                                       "support: inertia_relief with a density");
  }
}

std::vector<bool> clamped_dofs(const BodyModel& body, std::span<const std::uint32_t> nodes) {
  std::vector<bool> clamped(body.n_dofs(), false);
  for (const std::uint32_t node : nodes) std::fill_n(clamped.begin() + 3 * std::ptrdiff_t{node}, 3, true);
  return clamped;
}

SurfaceCompliance::SurfaceCompliance(std::size_t n_nodes, std::vector<double> blocks)
    : n_nodes_(n_nodes), data_(std::move(blocks)) {
  if (data_.size() != 9 * n_nodes * n_nodes)
    throw Error(ErrorCode::internal, "compliance: size does not match its nodes");
  for (std::size_t i = 0; i < n_nodes; ++i) self_.emplace_back(block(i, i));
}

Eigen::MatrixXd SurfaceCompliance::dense() const {
  const auto n = static_cast<Eigen::Index>(n_nodes_);
  Eigen::MatrixXd matrix(3 * n, 3 * n);
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      matrix.block<3, 3>(3 * i, 3 * j) = block(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  return matrix;
}

SurfaceCompliance condense(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates,
                           const Progress& progress, const std::stop_token& stop, const MemoryLimit& limit) {
  use_one_blas_thread();
  check_candidates(body, support, candidates);
  progress("assemble", 0.0);
  std::vector<bool> fixed = clamped_dofs(body, support.clamped_nodes);
  Partition partition = partition_dofs(body, candidates, fixed);
  SixColumns modes;
  if (support.inertia_relief) {
    // Six dofs fixed at zero make K definite. The choice is arbitrary, because the load is balanced, but excludes
    // candidates, whose rows must be in the last block.
    modes = inertia_modes(body).modes;
    for (const std::int64_t dof : isostatic_dofs(modes, partition.inner)) fixed[static_cast<std::size_t>(dof)] = true;
    partition = partition_dofs(body, candidates, fixed);
  }
  check_stop(stop);
  Elimination order(node_graph(body), partition.inner, partition.candidates);
  std::vector<double> blocks;
  within_memory(limit, condensation_memory(order.size(), candidates.size()), task(candidates.size()), [&] {
    Eigen::MatrixXd L;
    ReliefTerms relief;
    {
      const SparseMatrix K = linear_stiffness(body);
      check_stop(stop);
      progress("factorize", 0.1);
      SparseCholesky factor(K, std::move(order));
      check_stop(stop);
      check_memory(limit, condensation_memory(factor.size(), candidates.size()), task(candidates.size()));
      if (!factor.factorize(K)) {
        throw input_error("support",
                          "the stiffness matrix is singular: the clamped set leaves a rigid motion free (are all parts "
                          "of the mesh connected, and are at least three clamped nodes not collinear?)");
      }
      check_stop(stop);
      if (support.inertia_relief) relief = relief_terms(body, factor, modes, partition.candidates);
      // The sparse factor is released before the dense inverse is allocated.
      L = factor.last_block();
    }
    progress("condense", 0.5);
    blocks = inverse_blocks(L, support.inertia_relief ? &relief : nullptr, progress, stop);
  });
  return {candidates.size(), std::move(blocks)};
}

Eigen::MatrixXd condensed_stiffness(const BodyModel& body, std::span<const std::uint32_t> clamped_nodes,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop, const MemoryLimit& limit) {
  use_one_blas_thread();
  check_stop(stop);
  progress("assemble", 0.0);
  const Partition partition = partition_dofs(body, candidates, clamped_dofs(body, clamped_nodes));
  Elimination order(node_graph(body), partition.inner, partition.candidates);
  Eigen::MatrixXd K_star;
  within_memory(limit, condensation_memory(order.size(), candidates.size()), task(candidates.size()), [&] {
    double shift = 0.0;
    Eigen::MatrixXd L;
    {
      SparseMatrix K = linear_stiffness(body);
      // A shift on the candidates makes the last block definite without affecting the elimination of the others. Its
      // magnitude is that of the stiffness: a smaller shift leaves the factor nearly singular, a larger one loses
      // digits when it is subtracted.
      shift = K.diagonal().maxCoeff();
      for (const std::int64_t dof : partition.candidates) K.coeffRef(dof, dof) += shift;
      check_stop(stop);
      progress("factorize", 0.1);
      SparseCholesky factor(K, std::move(order));
      check_stop(stop);
      check_memory(limit, condensation_memory(factor.size(), candidates.size()), task(candidates.size()));
      if (!factor.factorize(K))
        throw input_error("candidates", "the body has a free rigid motion with all candidates fixed");
      L = factor.last_block();
    }
    K_star = symmetric_product(L, progress, stop);
    // Cancellation at the magnitude of the largest entries costs no more than their rounding error.
    K_star.diagonal().array() -= shift;
  });
  return K_star;
}

}  // namespace heelstrike::fem
