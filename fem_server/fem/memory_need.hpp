/// Estimates of the memory of finite-element computations before allocation, and errors when it is insufficient.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>

namespace heelstrike::fem {

/// [B] remaining address space below RLIMIT_AS (`ulimit -v`), at least 0; infinity without such a limit.
/// @param n_blas_callers  threads that call BLAS at the same time, whose working memory is not counted as available
[[nodiscard]] double available_address_space(std::size_t n_blas_callers = 1);

/// Memory limit of a preparation.
struct MemoryLimit {
  double bytes = std::numeric_limits<double>::infinity();
  double in_use = 0.0;         ///< [B] of these already in use by the preparation and retained
  std::string key = "memory";  ///< full name of the parameter, for messages
};

/// [B] at the peak, in addition to current use by the process.
struct MemoryNeed {
  double matrices = 0.0;  ///< the stiffness as assembled and as passed to the factorisation
  double factors = 0.0;   ///< including workspace of their computation
  double dense = 0.0;     ///< compliances, condensed stiffnesses, vectors
  /// For the advice of messages: instead of `dense` with a compressed compliance; 0 = not possible.
  double compressed = 0.0;
  double n_ranks = 1.0;  ///< likewise: that share the rest; this is the need of one of them

  [[nodiscard]] double total() const { return matrices + factors + dense; }
};

/// Size of a factorisation, in numbers: predicted before the matrix exists (Elimination), exact after (SparseCholesky).
struct FactorSize {
  double matrix = 0.0;  ///< of the whole stiffness
  double factor = 0.0;
  double front = 0.0;   ///< largest dense block that is updated at once; 0 before the matrix exists
  double n_dofs = 0.0;  ///< eliminated degrees of freedom
};

/// Memory of a sparse matrix. @param n_entries  number of stored values
[[nodiscard]] MemoryNeed matrix_memory(double n_entries);

/// Memory of a stiffness and simultaneously stored factors of it.
[[nodiscard]] MemoryNeed factorisation_memory(const FactorSize& size, double n_factors = 1.0);

/// Memory of the condensed stiffness of n candidate nodes: the factorisation with its last block, or later two dense
/// matrices.
[[nodiscard]] MemoryNeed condensed_stiffness_memory(const FactorSize& size, std::size_t n_candidates);

/// Memory of the compliance of n candidate nodes: the factorisation, or later the factor, the compliance and some
/// columns of the inverse.
/// @param n_columns  of the inverse that are computed at once, on all threads
/// @param n_stored   [B] of the compliance
[[nodiscard]] MemoryNeed compliance_memory(const FactorSize& size, std::size_t n_candidates, double n_columns,
                                           double n_stored);

/// [B] of the compressed compliance of n candidate nodes at the default tolerance: 50 kB each, an upper estimate for up
/// to 20,000 nodes (a foot takes 14 kB each with 1,121, 27 kB with 4,377: docs/studies/scale.md).
[[nodiscard]] double compressed_bytes(std::size_t n_candidates);

/// "1.65 GB", "12.3 kB"
[[nodiscard]] std::string memory_text(double bytes);

/// What would fit into `available` [B] instead: element size, ranks, compression. Memory of factors and of the dense
/// compliance grows with the fourth power of the number of elements along an edge of the body.
[[nodiscard]] std::string fitting_alternatives(const MemoryNeed& need, double available);

/// @param what  description of the work for the message: "condensing this body to 16 candidate nodes"
/// @throws Error{limit} with field `limit.key` when `need` exceeds the remaining limit
void check_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what);

/// Runs `work`, which needs this much memory.
/// @throws Error{limit} with the numbers of check_memory when an allocation fails in `work`
void with_memory_report(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                        const std::function<void()>& work);

/// Likewise, provided that limit and address space (RLIMIT_AS, `ulimit -v`) suffice.
/// @throws Error{limit} as check_memory and with_memory_report, the former before `work` begins
void within_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                   const std::function<void()>& work);

}  // namespace heelstrike::fem
