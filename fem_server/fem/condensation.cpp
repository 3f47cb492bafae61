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

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/process/parallel.hpp"
#include "fem_server/fem/body_shares.hpp"
#include "fem_server/fem/cluster_tree.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/rank_team.hpp"
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

ReliefTerms relief_terms(const BodyModel& body, const StiffnessFactor& factor, const SixColumns& modes,
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
  const ClusterTree& tree;
  const StiffnessFactor& inverse;
  std::function<SparseMatrix()> candidate_stiffness;  ///< [N/m] block of the stiffness for the candidates
  const ReliefTerms* relief;                          ///< null = clamped
  std::size_t n_workers;                              ///< threads that compute panels

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
/// @param K        block of the candidates
EnergyBound bound_with(std::vector<double> weights, const SparseMatrix& K) {
  // Norm of W^(1/2) K_bb W^(1/2): the largest sum of the norms of the blocks of a row.
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::map<std::size_t, double> squares;
    for (int axis = 0; axis < 3; ++axis) {
      for (SparseMatrix::InnerIterator entry(K, 3 * static_cast<Eigen::Index>(i) + axis); entry; ++entry) {
        squares[static_cast<std::size_t>(entry.row() / 3)] += entry.value() * entry.value();
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
EnergyBound energy_bound(const FactoredBody& factored) {
  constexpr double max_share = 0.9;  // beyond, the bound would cost more than two digits of the tolerance
  const SparseMatrix K = factored.candidate_stiffness();
  std::vector<double> weights;
  for (Eigen::Index i = 0; i < K.cols(); i += 3) {
    weights.push_back(3.0 / (K.coeff(i, i) + K.coeff(i + 1, i + 1) + K.coeff(i + 2, i + 2)));
  }
  if (factored.relief == nullptr) return bound_with(std::move(weights), K);
  double share = inertia_share(*factored.relief, weights, factored.tree);
  if (share > max_share) {
    weights.assign(weights.size(), *std::ranges::min_element(weights));
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
  EnergyBound bound = bound_with(std::move(weights), K);
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

/// Nodes of a panel of columns of the dense compliance: triangular solves with three times this number of right-hand
/// sides reach the speed of matrix products; wider panels only increase the workspace and the latency of a stop
/// request.
constexpr std::uint32_t dense_panel_nodes = 64;
/// Nodes of a leaf of the compressed compliance. Smaller leaves leave less of the matrix uncompressed, larger ones have
/// fewer blocks: the memory is flat between 24 and 48.
constexpr std::uint32_t leaf_nodes = 32;
/// Memory of the blocks in double precision until all their columns have arrived, over that of the result.
constexpr double building_factor = 4.0;

/// Inputs of a condensation.
struct CondensationInput {
  const BodyModel& body;
  const Support& support;
  std::span<const std::uint32_t> candidates;
  std::uint32_t panel_nodes;  ///< of a panel of columns
  double n_stored;            ///< [B] of the result
  bool compressed;            ///< the result
  const Progress& progress;
  const std::stop_token& stop;
  const MemoryLimit& limit;
};

/// Unknowns of a condensation and their order.
struct Unknowns {
  SixColumns modes;  ///< empty = clamped
  ClusterTree tree;
  std::vector<std::int64_t> candidates;  ///< dofs, in the order of the tree
  Elimination order;
};

/// [B] of the result while it is built, if it were compressed; 0 = it is.
double bytes_if_compressed(const CondensationInput& input) {
  return input.compressed ? 0.0 : building_factor * compressed_bytes(input.candidates.size());
}

Unknowns unknowns_of(const CondensationInput& input) {
  const BodyModel& body = input.body;
  std::vector<bool> fixed = clamped_dofs(body, input.support.clamped_nodes);
  Partition partition = partition_dofs(body, input.candidates, fixed);
  SixColumns modes;
  if (input.support.inertia_relief) {
    // Six dofs fixed at zero make K definite. The choice is arbitrary, because the load is balanced, but excludes
    // candidates, whose columns are needed.
    modes = inertia_modes(body).modes;
    for (const std::int64_t dof : isostatic_dofs(modes, partition.inner)) fixed[static_cast<std::size_t>(dof)] = true;
    partition = partition_dofs(body, input.candidates, fixed);
  }
  check_stop(input.stop);
  ClusterTree tree = make_cluster_tree(points_of(body, input.candidates), input.panel_nodes);
  std::vector<std::int64_t> ordered_dofs;
  for (const std::uint32_t k : tree.order) {
    for (int axis = 0; axis < 3; ++axis) ordered_dofs.push_back(3 * std::int64_t{input.candidates[k]} + axis);
  }
  std::vector<std::int64_t> free = partition.inner;
  std::ranges::copy(partition.candidates, std::back_inserter(free));
  std::ranges::sort(free);
  return {.modes = std::move(modes),
          .tree = std::move(tree),
          .candidates = std::move(ordered_dofs),
          .order = Elimination(node_graph(body), free, {})};
}

[[noreturn]] void reject_singular() {
  throw input_error("support",
                    "the stiffness matrix is singular: the clamped set leaves a rigid motion free (are all parts "
                    "of the mesh connected, and are at least three clamped nodes not collinear?)");
}

using TakeFactored = std::function<void(const FactoredBody&)>;

void take_factored(const CondensationInput& input, const Unknowns& unknowns, const StiffnessFactor& factor,
                   const std::function<SparseMatrix()>& candidate_stiffness, std::size_t n_workers,
                   const TakeFactored& take) {
  check_stop(input.stop);
  ReliefTerms relief;
  const bool relieved = input.support.inertia_relief;
  if (relieved) relief = relief_terms(input.body, factor, unknowns.modes, unknowns.candidates);
  input.progress("condense", 0.5);
  take({.tree = unknowns.tree,
        .inverse = factor,
        .candidate_stiffness = candidate_stiffness,
        .relief = relieved ? &relief : nullptr,
        .n_workers = n_workers});
}

/// Factorised by this process.
class OwnFactor final : public StiffnessFactor {
 public:
  /// @param factor  factored; must outlive this object
  OwnFactor(const SparseCholesky& factor, const std::vector<std::int64_t>& dofs)
      : factor_(factor), inverse_(factor, dofs) {}
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const override { return factor_.solve(rhs); }
  [[nodiscard]] Eigen::MatrixXd lower_columns(Eigen::Index first, Eigen::Index n) const override {
    return inverse_.lower_columns(first, n);
  }

 private:
  const SparseCholesky& factor_;
  InverseColumns inverse_;
};

/// States the memory before the factorisation begins: as a note where it is an appreciable part of a machine.
void announce(const CondensationInput& input, const std::string& what, const std::string& memory, double bytes) {
  constexpr double appreciable = 1e9;
  input.progress(fmt::format("{}{} takes about {} of memory", bytes >= appreciable ? note_mark : "", what, memory),
                 0.1);
}

void with_own_factor(const CondensationInput& input, Unknowns unknowns, const TakeFactored& take) {
  const std::size_t n_candidates = input.candidates.size();
  const MemoryLimit& limit = input.limit;
  // Each thread needs memory for a panel: no more threads than fit. The bits do not depend on their number.
  std::size_t n_workers =
      std::min<std::size_t>(unknowns.tree.leaves.size(), std::max(1U, std::thread::hardware_concurrency()));
  const auto need = [&](const FactorSize& size) {
    const auto with = [&](std::size_t n) {
      MemoryNeed need =
          compliance_memory(size, n_candidates, 3.0 * input.panel_nodes * static_cast<double>(n), input.n_stored);
      need.compressed = bytes_if_compressed(input);
      return need;
    };
    const auto available = [&](std::size_t n) {
      return std::min(limit.bytes - limit.in_use, available_address_space(n));
    };
    while (n_workers > 1 && with(n_workers).total() > available(n_workers)) --n_workers;
    return with(n_workers);
  };
  within_memory(limit, need(unknowns.order.size()), task(n_candidates), [&] {
    reserve_blas_workspace(n_workers);
    const SparseMatrix K = linear_stiffness(input.body);
    check_stop(input.stop);
    input.progress("factorize", 0.1);
    SparseCholesky factor(K, std::move(unknowns.order));
    check_stop(input.stop);
    const MemoryNeed exact = need(factor.size());
    check_memory(limit, exact, task(n_candidates));
    announce(input, task(n_candidates), memory_text(exact.total()), exact.total());
    if (!factor.factorize(K)) reject_singular();
    take_factored(
        input, unknowns, OwnFactor(factor, unknowns.candidates), [&] { return block_between(K, input.candidates); },
        n_workers, take);
  });
}

/// Largest need of a rank. Rank 0 has the result and the panels, all have their part of the vectors of a panel.
MemoryNeed need_of_ranks(const CondensationInput& input, const RankFactor& factor, double n_unknowns, double& total) {
  const double columns = std::min(std::max(3.0 * input.panel_nodes, static_cast<double>(RankFactor::columns_at_once)),
                                  3.0 * static_cast<double>(input.candidates.size()));
  MemoryNeed largest;
  total = 0.0;
  for (std::size_t k = 0; k < factor.need().size(); ++k) {
    MemoryNeed need = factor.need()[k];
    need.n_ranks = static_cast<double>(factor.need().size());
    need.compressed = k == 0 ? bytes_if_compressed(input) : 0.0;
    need.dense = sizeof(double) * columns * n_unknowns / need.n_ranks;
    // A panel with its numbers of rows, and as returned.
    if (k == 0) need.dense += input.n_stored + 3.0 * sizeof(double) * columns * 3.0 * double(input.candidates.size());
    total += need.total();
    if (need.total() > largest.total()) largest = need;
  }
  return largest;
}

void with_team_factor(const CondensationInput& input, Unknowns unknowns, RankTeam& team, const TakeFactored& take) {
  const std::string what = fmt::format("{} on {} ranks", task(input.candidates.size()), team.size());
  const auto n_ranks = static_cast<double>(team.size());
  const FactorSize size = unknowns.order.size();
  MemoryNeed least =
      compliance_memory(size, input.candidates.size(), 3.0 * input.panel_nodes / n_ranks, input.n_stored);
  least.matrices /= n_ranks;
  least.factors /= n_ranks;
  least.n_ranks = n_ranks;
  least.compressed = bytes_if_compressed(input);
  within_memory(input.limit, least, what, [&] {
    input.progress("factorize", 0.1);
    RankFactor factor(team, input.body, unknowns.order.dofs(), unknowns.candidates, what);
    check_stop(input.stop);
    double total = 0.0;
    const MemoryNeed need = need_of_ranks(input, factor, size.n_dofs, total);
    const std::string on_largest = what + " (the rank with the largest part)";
    check_memory(input.limit, need, on_largest);
    input.progress(fmt::format("{}{} takes about {} of memory, at most {} on one rank", note_mark, what,
                               memory_text(total), memory_text(need.total())),
                   0.1);
    with_memory_report(input.limit, need, on_largest, [&] {
      if (!factor.factorize()) reject_singular();
      take_factored(
          input, unknowns, factor, [&] { return stiffness_between(input.body, input.candidates); }, 1, take);
    });
  });
}

/// Factorises the body and calls take(factored).
void with_factored_body(const CondensationInput& input, const TakeFactored& take) {
  use_one_blas_thread();
  check_candidates(input.body, input.support, input.candidates);
  input.progress("assemble", 0.0);
  Unknowns unknowns = unknowns_of(input);
  if (RankTeam* team = leading_team(); team != nullptr) {
    with_team_factor(input, std::move(unknowns), *team, take);
  } else {
    with_own_factor(input, std::move(unknowns), take);
  }
}

}  // namespace

SurfaceCompliance condense(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates,
                           const Progress& progress, const std::stop_token& stop, const MemoryLimit& limit) {
  std::vector<double> blocks;
  const double n = static_cast<double>(candidates.size());
  with_factored_body({.body = body,
                      .support = support,
                      .candidates = candidates,
                      .panel_nodes = dense_panel_nodes,
                      .n_stored = sizeof(double) * 9.0 * n * n,
                      .compressed = false,
                      .progress = progress,
                      .stop = stop,
                      .limit = limit},
                     [&](const FactoredBody& factored) { blocks = dense_blocks(factored, progress, stop); });
  return {candidates.size(), std::move(blocks)};
}

SurfaceCompliance condense_compressed(const BodyModel& body, const Support& support,
                                      std::span<const std::uint32_t> candidates, double tolerance,
                                      const Progress& progress, const std::stop_token& stop, const MemoryLimit& limit) {
  std::shared_ptr<const HierarchicalMatrix> compressed;
  with_factored_body({.body = body,
                      .support = support,
                      .candidates = candidates,
                      .panel_nodes = leaf_nodes,
                      .n_stored = building_factor * compressed_bytes(candidates.size()),
                      .compressed = true,
                      .progress = progress,
                      .stop = stop,
                      .limit = limit},
                     [&](const FactoredBody& factored) {
                       const EnergyBound bound = energy_bound(factored);
                       HierarchicalMatrix::Builder builder(factored.tree, bound.weights, tolerance * bound.lowest);
                       for_each_leaf(factored, progress, stop, [&](std::size_t leaf, const Eigen::MatrixXd& columns) {
                         builder.add(leaf, columns);
                       });
                       compressed = std::make_shared<const HierarchicalMatrix>(builder.finish());
                     });
  return SurfaceCompliance(std::move(compressed));
}

namespace {

constexpr const char* free_motion = "the body has a free rigid motion with all candidates fixed";

Eigen::MatrixXd condensed_stiffness_by_team(RankTeam& team, const BodyModel& body, const Elimination& order,
                                            std::size_t n_candidates, std::size_t n_last, const Progress& progress,
                                            const MemoryLimit& limit) {
  const std::string what = fmt::format("{} on {} ranks", task(n_candidates), team.size());
  MemoryNeed need = condensed_stiffness_memory(order.size(), n_candidates);
  need.n_ranks = static_cast<double>(team.size());
  need.matrices /= need.n_ranks;
  need.factors /= need.n_ranks;
  Eigen::MatrixXd K_star;
  within_memory(limit, need, what, [&] {
    progress("factorize", 0.1);
    RankFactor factor(team, body, order.dofs(), {}, what, n_last);
    // MUMPS counts the Schur complement of rank 0; its copy is the result.
    MemoryNeed exact = *std::ranges::max_element(factor.need(), {}, [](const MemoryNeed& own) { return own.total(); });
    exact.dense = need.dense;
    exact.n_ranks = need.n_ranks;
    check_memory(limit, exact, what);
    with_memory_report(limit, exact, what, [&] {
      if (!factor.factorize()) throw input_error("candidates", free_motion);
      K_star = factor.schur_complement();
    });
  });
  return K_star;
}

}  // namespace

Eigen::MatrixXd condensed_stiffness(const BodyModel& body, std::span<const std::uint32_t> clamped_nodes,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop, const MemoryLimit& limit) {
  use_one_blas_thread();
  check_stop(stop);
  progress("assemble", 0.0);
  const Partition partition = partition_dofs(body, candidates, clamped_dofs(body, clamped_nodes));
  Elimination order(node_graph(body), partition.inner, partition.candidates);
  if (RankTeam* team = leading_team(); team != nullptr) {
    return condensed_stiffness_by_team(*team, body, order, candidates.size(), partition.candidates.size(), progress,
                                       limit);
  }
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
      if (!factor.factorize(K)) throw input_error("candidates", free_motion);
      L = factor.last_block();
    }
    K_star = symmetric_product(L, progress, stop);
    // Cancellation at the magnitude of the largest entries costs no more than their rounding error.
    K_star.diagonal().array() -= shift;
  });
  return K_star;
}

}  // namespace heelstrike::fem
