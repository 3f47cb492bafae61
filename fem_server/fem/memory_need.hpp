/// How much memory finite elements take, told before it is taken, and what is said when there is not so much.
#pragma once

#include <functional>
#include <limits>
#include <string>

namespace heelstrike::fem {

/// What a preparation may take.
struct MemoryLimit {
  double bytes = std::numeric_limits<double>::infinity();
  double held = 0.0;           ///< [B] that the preparation has of them already and keeps
  std::string key = "memory";  ///< full name of the parameter, for messages
};

/// [B] at the peak, beside what the process has already.
struct MemoryNeed {
  double matrices = 0.0;  ///< the stiffness as assembled and as it is given to the factorisation
  double factors = 0.0;   ///< with what their computation takes beside them
  double dense = 0.0;     ///< compliances, condensed stiffnesses, vectors

  [[nodiscard]] double total() const { return matrices + factors + dense; }
};

/// Size of a factorisation, in numbers. Before the matrix is there: see Elimination. Then exact: see SparseCholesky.
struct FactorSize {
  double matrix = 0.0;  ///< of the whole stiffness
  double factor = 0.0;
  double front = 0.0;  ///< largest dense block that is updated at once; 0 before the matrix is there
};

/// Of a sparse matrix. @param n_entries  numbers in it
[[nodiscard]] MemoryNeed matrix_memory(double n_entries);

/// Of a stiffness and factors of it that are kept beside each other.
[[nodiscard]] MemoryNeed factorisation_memory(const FactorSize& size, double n_factors = 1.0);

/// Of the condensation to n candidate nodes: the factorisation with its last block, or two dense matrices after it.
[[nodiscard]] MemoryNeed condensation_memory(const FactorSize& size, std::size_t n_candidates);

/// "1.65 GB", "12.3 kB"
[[nodiscard]] std::string memory_text(double bytes);

/// @param what  for the message: "condensing this body to 16 candidate nodes"
/// @throws Error{limit} with field `limit.key` when `need` is more than the limit leaves
void check_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what);

/// Does what needs so much memory.
/// @throws Error{limit} with the numbers of check_memory when an allocation fails in `work`
void with_memory_report(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                    const std::function<void()>& work);

/// The same, if it may take it and if the process can have it (RLIMIT_AS, `ulimit -v`).
/// @throws Error{limit} as check_memory and with_memory_report, the former before `work` begins
void within_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                   const std::function<void()>& work);

}  // namespace heelstrike::fem
