#include "fem_server/fem/condensation.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <thread>

#include "common/errors/error.hpp"
#include "common/process/parallel.hpp"
#include "fem_server/fem/cluster_tree.hpp"
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

std::vector<Vector3> points_of(const BodyModel& body, std::span<const std::uint32_t> nodes) {
  std::vector<Vector3> points;
  for (const std::uint32_t node : nodes) points.push_back(body.mesh().nodes[node]);
  return points;
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
  SixColumns MR;  ///< S^T M R
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
  terms.MR.resize(n, 6);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::int64_t dof = candidate_dofs[static_cast<std::size_t>(i)];
    terms.Y.row(i) = GMR.row(dof);
    terms.B.row(i) = modes.row(dof) * inverse;
    terms.MR.row(i) = MR.row(dof);
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

/// A factored body, from which the columns of its compliance follow.
struct FactoredBody {
  const SparseMatrix& K;
  const ClusterTree& tree;
  const InverseColumns& inverse;
  const ReliefTerms* relief;  ///< null = clamped
  std::size_t n_workers;      ///< threads that compute panels

  /// Compliance for the columns of one leaf of the tree, 3 rows per candidate from the leaf to the last; the rest
  /// follows from symmetry.
  [[nodiscard]] Eigen::MatrixXd columns(const Cluster& leaf) const {
    const Eigen::Index first = 3 * static_cast<Eigen::Index>(leaf.begin);
    const Eigen::Index n = 3 * static_cast<Eigen::Index>(leaf.size());
    Eigen::MatrixXd C = inverse.lower_columns(first, n);
    if (relief != nullptr) {
      const auto Y = relief->Y.bottomRows(C.rows());
      const auto B = relief->B.bottomRows(C.rows());
      const auto Yj = relief->Y.middleRows(first, n);
      const auto Bj = relief->B.middleRows(first, n);
      // Equation (3) of docs/theory/contact_fem.md for these columns.
      C += B * (relief->Q * Bj.transpose() - Yj.transpose()) - Y * Bj.transpose();
    }
    return C;
  }
};

/// Calls take(leaf, columns) for every leaf of the tree, concurrently.
void for_each_leaf(const FactoredBody& factored, const Progress& progress, const std::stop_token& stop,
                   const std::function<void(std::size_t leaf, const Eigen::MatrixXd& columns)>& take) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::size_t> n_done{0};
  const ClusterTree& tree = factored.tree;
  for_each_in_parallel(tree.leaves.size(), factored.n_workers, [&](std::size_t leaf) {
    check_stop(stop);
    const Cluster& cluster = tree.clusters[tree.leaves[leaf]];
    take(leaf, factored.columns(cluster));
    const std::size_t done = n_done += cluster.size();
    // Callbacks of users are called on the thread that opened the contact.
    if (std::this_thread::get_id() != caller) return;
    progress("condense", 0.5 + 0.5 * static_cast<double>(done) / static_cast<double>(tree.order.size()));
  });
}

/// All blocks, in the numbering of the candidates.
std::vector<double> dense_blocks(const FactoredBody& factored, const Progress& progress, const std::stop_token& stop) {
  const ClusterTree& tree = factored.tree;
  const std::size_t n = tree.order.size();
  std::vector<double> blocks(9 * n * n);
  const auto block = [&](std::size_t i, std::size_t j) { return Eigen::Map<Matrix3>(blocks.data() + 9 * (j * n + i)); };
  for_each_leaf(factored, progress, stop, [&](std::size_t leaf, const Eigen::MatrixXd& columns) {
    // Each pair of candidates belongs to one leaf, so no two threads write the same block.
    const Cluster& cluster = tree.clusters[tree.leaves[leaf]];
    for (std::size_t b = cluster.begin; b < cluster.end; ++b) {
      for (std::size_t a = b; a < n; ++a) {
        const Matrix3 value = columns.block<3, 3>(static_cast<Eigen::Index>(3 * (a - cluster.begin)),
                                                  static_cast<Eigen::Index>(3 * (b - cluster.begin)));
        const std::size_t i = tree.order[a];
        const std::size_t j = tree.order[b];
        block(i, j) = i == j ? Matrix3(0.5 * (value + value.transpose())) : value;
        if (i != j) block(j, i) = value.transpose();
      }
    }
  });
  return blocks;
}

/// Weights of the candidates and a lower bound of x . C x / |x|^2 in the norm |x|^2 = sum_i weight_i |x_i|^2: equations
/// (4) to (6) of docs/theory/compression.md.
struct EnergyBound {
  std::vector<double> weights;
  double lowest = 0.0;
};

/// @param weights  any positive ones
EnergyBound bound_with(std::vector<double> weights, const BodyModel& body, const SparseMatrix& K,
                       std::span<const std::uint32_t> candidates) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> candidate_of(body.mesh().nodes.size(), none);
  for (std::uint32_t i = 0; i < candidates.size(); ++i) candidate_of[candidates[i]] = i;
  // Norm of W^(1/2) K_bb W^(1/2): the largest sum of the norms of the blocks of a row.
  double largest = 0.0;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    std::map<std::uint32_t, double> squares;
    for (int axis = 0; axis < 3; ++axis) {
      for (SparseMatrix::InnerIterator entry(K, 3 * std::int64_t{candidates[i]} + axis); entry; ++entry) {
        const std::uint32_t j = candidate_of[static_cast<std::size_t>(entry.row() / 3)];
        if (j != none) squares[j] += entry.value() * entry.value();
      }
    }
    double sum = 0.0;
    for (const auto& [j, square] : squares) sum += std::sqrt(square * weights[i] * weights[j]);
    largest = std::max(largest, sum);
  }
  return {.weights = std::move(weights), .lowest = 1.0 / largest};
}

/// theta = |W^(1/2) S^T M R (R^T M R)^-1 R^T S W^(-1/2)|: with equal weights about the candidates' share in the
/// inertia.
double inertia_share(const ReliefTerms& relief, std::span<const double> weights, const ClusterTree& tree) {
  SixColumns P = relief.MR;
  SixColumns Q = relief.B;
  for (std::size_t k = 0; k < tree.order.size(); ++k) {
    const double root = std::sqrt(weights[tree.order[k]]);
    P.middleRows<3>(3 * static_cast<Eigen::Index>(k)) *= root;
    Q.middleRows<3>(3 * static_cast<Eigen::Index>(k)) /= root;
  }
  const Matrix6 PP = P.transpose() * P;
  const Matrix6 QQ = Q.transpose() * Q;
  return std::sqrt(std::max((PP * QQ).eigenvalues().real().maxCoeff(), 0.0));
}

/// The bound is best with the inverses of the nodes' own stiffnesses as weights. With inertia relief and very different
/// stiffnesses of the candidates, equal weights are used.
/// @throws Error{invalid_input}  almost all inertia is that of the candidates
EnergyBound energy_bound(const BodyModel& body, const FactoredBody& factored,
                         std::span<const std::uint32_t> candidates) {
  constexpr double max_share = 0.9;  // beyond, the bound would cost more than two digits of the tolerance
  std::vector<double> weights;
  for (const std::uint32_t node : candidates) {
    double trace = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      trace += factored.K.coeff(3 * std::int64_t{node} + axis, 3 * std::int64_t{node} + axis);
    }
    weights.push_back(3.0 / trace);
  }
  if (factored.relief == nullptr) return bound_with(std::move(weights), body, factored.K, candidates);
  double share = inertia_share(*factored.relief, weights, factored.tree);
  if (share > max_share) {
    weights.assign(candidates.size(), *std::ranges::min_element(weights));
    share = inertia_share(*factored.relief, weights, factored.tree);
  }
  if (share > max_share) {
    throw input_error(
        "compliance",
        fmt::format("compliance: the contact nodes carry {:.0f} % of the inertia of the body, so the error "
                    "of a compressed compliance has no bound (limit 90 %); use compliance: dense, or "
                    "smaller elements",
                    100.0 * share));
  }
  EnergyBound bound = bound_with(std::move(weights), body, factored.K, candidates);
  bound.lowest *= (1.0 - share) * (1.0 - share);
  return bound;
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

SurfaceCompliance::SurfaceCompliance(std::shared_ptr<const HierarchicalMatrix> compressed)
    : n_nodes_(compressed->n_points()), compressed_(std::move(compressed)) {
  for (std::size_t i = 0; i < n_nodes_; ++i) self_.push_back(compressed_->self(i));
}

SurfaceCompliance::SurfaceCompliance(std::size_t n_nodes, std::vector<double> blocks)
    : n_nodes_(n_nodes), data_(std::move(blocks)) {
  if (data_.size() != 9 * n_nodes * n_nodes)
    throw Error(ErrorCode::internal, "compliance: size does not match its nodes");
  for (std::size_t i = 0; i < n_nodes; ++i) self_.emplace_back(block(i, i));
}

const std::vector<double>& SurfaceCompliance::data() const {
  if (compressed_ != nullptr) throw Error(ErrorCode::internal, "a compressed compliance has no dense blocks");
  return data_;
}

Eigen::MatrixXd SurfaceCompliance::dense() const {
  if (compressed_ != nullptr) throw Error(ErrorCode::internal, "a compressed compliance has no dense blocks");
  const auto n = static_cast<Eigen::Index>(n_nodes_);
  Eigen::MatrixXd matrix(3 * n, 3 * n);
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      matrix.block<3, 3>(3 * i, 3 * j) = block(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  return matrix;
}

namespace {

/// Factorises the body and calls take(factored).
/// @param n_stored  [B] of the result
void with_factored_body(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates,
                        std::uint32_t panel_nodes, double n_stored, const Progress& progress,
                        const std::stop_token& stop, const MemoryLimit& limit,
                        const std::function<void(const FactoredBody&)>& take) {
  use_one_blas_thread();
  check_candidates(body, support, candidates);
  progress("assemble", 0.0);
  std::vector<bool> fixed = clamped_dofs(body, support.clamped_nodes);
  Partition partition = partition_dofs(body, candidates, fixed);
  SixColumns modes;
  if (support.inertia_relief) {
    // Six dofs fixed at zero make K definite. The choice is arbitrary, because the load is balanced, but excludes
    // candidates, whose columns are needed.
    modes = inertia_modes(body).modes;
    for (const std::int64_t dof : isostatic_dofs(modes, partition.inner)) fixed[static_cast<std::size_t>(dof)] = true;
    partition = partition_dofs(body, candidates, fixed);
  }
  check_stop(stop);
  const ClusterTree tree = make_cluster_tree(points_of(body, candidates), panel_nodes);
  std::vector<std::int64_t> ordered_dofs;
  for (const std::uint32_t k : tree.order) {
    for (int axis = 0; axis < 3; ++axis) ordered_dofs.push_back(3 * std::int64_t{candidates[k]} + axis);
  }
  std::vector<std::int64_t> free = partition.inner;
  std::ranges::copy(partition.candidates, std::back_inserter(free));
  std::ranges::sort(free);
  Elimination order(node_graph(body), free, {});
  // Each thread needs memory for a panel: no more threads than fit. The bits do not depend on their number.
  std::size_t n_workers = std::min<std::size_t>(tree.leaves.size(), std::max(1U, std::thread::hardware_concurrency()));
  const auto need = [&](const FactorSize& size) {
    const auto with = [&](std::size_t n) {
      return compliance_memory(size, candidates.size(), 3.0 * panel_nodes * static_cast<double>(n), n_stored);
    };
    const double available = std::min(limit.bytes - limit.in_use, available_address_space());
    while (n_workers > 1 && with(n_workers).total() > available) --n_workers;
    return with(n_workers);
  };
  within_memory(limit, need(order.size()), task(candidates.size()), [&] {
    const SparseMatrix K = linear_stiffness(body);
    check_stop(stop);
    progress("factorize", 0.1);
    SparseCholesky factor(K, std::move(order));
    check_stop(stop);
    check_memory(limit, need(factor.size()), task(candidates.size()));
    if (!factor.factorize(K)) {
      throw input_error("support",
                        "the stiffness matrix is singular: the clamped set leaves a rigid motion free (are all parts "
                        "of the mesh connected, and are at least three clamped nodes not collinear?)");
    }
    check_stop(stop);
    ReliefTerms relief;
    if (support.inertia_relief) relief = relief_terms(body, factor, modes, ordered_dofs);
    progress("condense", 0.5);
    const ReliefTerms* terms = support.inertia_relief ? &relief : nullptr;
    const InverseColumns inverse(factor, ordered_dofs);
    take({.K = K, .tree = tree, .inverse = inverse, .relief = terms, .n_workers = n_workers});
  });
}

/// Nodes of a panel of columns of the dense compliance: triangular solves with three times this number of right-hand
/// sides reach the speed of matrix products; wider panels only increase the workspace and the latency of a stop
/// request.
constexpr std::uint32_t dense_panel_nodes = 64;
/// Nodes of a leaf of the compressed compliance. Smaller leaves leave less of the matrix uncompressed, larger ones have
/// fewer blocks: the memory is flat between 24 and 48.
constexpr std::uint32_t leaf_nodes = 32;
/// Memory of the blocks in double precision until all their columns have arrived, over that of the result.
constexpr double building_factor = 4.0;

}  // namespace

SurfaceCompliance condense(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates,
                           const Progress& progress, const std::stop_token& stop, const MemoryLimit& limit) {
  std::vector<double> blocks;
  const double n = static_cast<double>(candidates.size());
  with_factored_body(body, support, candidates, dense_panel_nodes, sizeof(double) * 9.0 * n * n, progress, stop, limit,
                     [&](const FactoredBody& factored) { blocks = dense_blocks(factored, progress, stop); });
  return {candidates.size(), std::move(blocks)};
}

SurfaceCompliance condense_compressed(const BodyModel& body, const Support& support,
                                      std::span<const std::uint32_t> candidates, double tolerance,
                                      const Progress& progress, const std::stop_token& stop, const MemoryLimit& limit) {
  std::shared_ptr<const HierarchicalMatrix> compressed;
  with_factored_body(body, support, candidates, leaf_nodes, building_factor * compressed_bytes(candidates.size()),
                     progress, stop, limit, [&](const FactoredBody& factored) {
                       const EnergyBound bound = energy_bound(body, factored, candidates);
                       HierarchicalMatrix::Builder builder(factored.tree, bound.weights, tolerance * bound.lowest);
                       for_each_leaf(factored, progress, stop, [&](std::size_t leaf, const Eigen::MatrixXd& columns) {
                         builder.add(leaf, columns);
                       });
                       compressed = std::make_shared<const HierarchicalMatrix>(builder.finish());
                     });
  return SurfaceCompliance(std::move(compressed));
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
  within_memory(limit, condensed_stiffness_memory(order.size(), candidates.size()), task(candidates.size()), [&] {
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
      check_memory(limit, condensed_stiffness_memory(factor.size(), candidates.size()), task(candidates.size()));
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
