/// Processes (ranks) that mpirun started together and that share the factorisation of large bodies.
///
/// The interface depends on neither MPI nor MUMPS: fem/mpi implements it inside the module of deal.II. Rank 0 leads: it
/// reads, meshes and keeps the result; the other ranks follow its commands (rank_factor.hpp).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::fem {

/// Part of a symmetric matrix: its lower triangle (row >= column), numbered from 0; equal places are summed.
struct TriangleEntries {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

/// Memory of a factorisation on one rank.
struct RankMemory {
  double predicted = 0.0;  ///< [B] after the analysis
  double used = 0.0;       ///< [B] after the factorisation
};

/// Factorisation L D L^T of a symmetric positive definite matrix, the sum of the parts of all ranks (MUMPS, called
/// directly [amestoy2001]). All functions are collective: every rank calls them in the same order, and all of them
/// throw or return alike. std::bad_alloc on every rank when one is out of memory.
class DistributedCholesky {
 public:
  DistributedCholesky() = default;
  DistributedCholesky(const DistributedCholesky&) = delete;
  DistributedCholesky& operator=(const DistributedCholesky&) = delete;
  virtual ~DistributedCholesky() = default;

  /// @param own     of this rank; kept
  /// @param order   on rank 0: the unknown at each place of the elimination order
  /// @param n_last  on rank 0: unknowns at its end that are not eliminated; they exclude solve() and inverse_entries()
  virtual void analyse(std::int32_t n_unknowns, TriangleEntries own, std::span<const std::int32_t> order,
                       std::size_t n_last) = 0;
  /// @return false when the matrix is not positive definite
  [[nodiscard]] virtual bool factorize() = 0;
  /// After factorize(): the Schur complement on the last unknowns, on rank 0. Not collective.
  [[nodiscard]] virtual Eigen::MatrixXd schur_complement() const = 0;
  /// Of every rank, on every rank.
  [[nodiscard]] virtual std::vector<RankMemory> memory() = 0;
  /// Solves in place. @param columns  on rank 0: n_unknowns rows; others: empty
  virtual void solve(Eigen::MatrixXd& columns) = 0;
  /// Entries of the inverse [amestoy2015]. @param rows  on rank 0; others: empty @param n_columns  the first rows as
  /// columns
  /// @return on rank 0: rows x n_columns
  [[nodiscard]] virtual Eigen::MatrixXd inverse_entries(std::span<const std::int32_t> rows, Eigen::Index n_columns) = 0;
};

/// Messages between the ranks of a program. An instance ends MPI with its destruction.
class RankGroup {
 public:
  RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  virtual ~RankGroup() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Sets the bytes of every rank to those of rank 0. Collective.
  virtual void broadcast(std::string& bytes) = 0;
  /// Bytes of every rank, on every rank. Collective; for short ones.
  [[nodiscard]] virtual std::vector<std::string> all_gather(std::string_view bytes) = 0;
  virtual void send(std::size_t to, std::string_view bytes) = 0;
  [[nodiscard]] virtual std::string receive(std::size_t from) = 0;
  /// Collective.
  [[nodiscard]] virtual std::unique_ptr<DistributedCholesky> make_factor() = 0;
};

/// Whether a launcher of MPI (mpirun, srun) started this process, also as its only rank.
[[nodiscard]] bool started_by_mpi();

}  // namespace heelstrike::fem
