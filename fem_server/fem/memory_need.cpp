#include "fem_server/fem/memory_need.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <new>
#include <string_view>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

/// [B] per entry of a sparse matrix: value and row index.
constexpr double sparse_entry = sizeof(double) + sizeof(std::int64_t);

/// @param available  [B] for the advice; infinite = unknown
[[nodiscard]] PairLimit memory_error(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                                     const std::string& found, double available, std::string_view advice_for_process) {
  const std::string fitting = fitting_alternatives(need, available);
  return PairLimit(
      limit.key,
      fmt::format("{}: {} would take about {} ({} for the stiffness, {} for its factors, {} for dense matrices), {}; "
                  "use larger elements, another kind of element, or fewer contact nodes (contact_set, contact_box, "
                  "contact_direction), or {}{}",
                  limit.key, what, memory_text(need.total()), memory_text(need.matrices), memory_text(need.factors),
                  memory_text(need.dense), found, advice_for_process,
                  fitting.empty() ? "" : "; what would fit: " + fitting));
}

constexpr std::string_view raise_process_limit = "raise the memory limit of the process (ulimit -v, container limit)";

}  // namespace

double available_address_space(std::size_t n_blas_callers) {
  rlimit own{};
  if (::getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<double>::infinity();
  }
  double pages = 0.0;  // zero without /proc: then only requests above the whole limit are rejected
  std::ifstream("/proc/self/statm") >> pages;
  const double left = static_cast<double>(own.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) -
                      unreserved_blas_workspace(n_blas_callers);
  return std::max(0.0, left);  // a limit below the present use, or less than BLAS will need
}

MemoryNeed matrix_memory(double n_entries) {
  return {.matrices = sparse_entry * n_entries};
}

MemoryNeed factorisation_memory(const FactorSize& size, double n_factors) {
  // Each factorisation stores a copy of the lower triangle in its order.
  return {.matrices = sparse_entry * size.matrix * (1.0 + 0.5 * n_factors),
          .factors = sizeof(double) * (n_factors * size.factor + size.front)};
}

MemoryNeed condensed_stiffness_memory(const FactorSize& size, std::size_t n_candidates) {
  const double square = 9.0 * static_cast<double>(n_candidates) * static_cast<double>(n_candidates);
  MemoryNeed first = factorisation_memory(size);
  first.dense = sizeof(double) * square;
  const MemoryNeed then{.dense = 2.0 * sizeof(double) * square};
  return first.total() > then.total() ? first : then;
}

MemoryNeed compliance_memory(const FactorSize& size, std::size_t n_candidates, double n_columns, double n_stored) {
  const MemoryNeed first = factorisation_memory(size);
  MemoryNeed then = first;
  then.factors = sizeof(double) * size.factor;
  then.dense = n_stored + sizeof(double) * n_columns * (size.n_dofs + 3.0 * static_cast<double>(n_candidates));
  return first.total() > then.total() ? first : then;
}

double compressed_bytes(std::size_t n_candidates) {
  return 5e4 * static_cast<double>(n_candidates);
}

std::string memory_text(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.3g} kB", 1e-3 * bytes);
  if (bytes < 1e9) return fmt::format("{:.3g} MB", 1e-6 * bytes);
  return fmt::format("{:.3g} GB", 1e-9 * bytes);
}

std::string fitting_alternatives(const MemoryNeed& need, double available) {
  if (!(available > 0.0) || !(need.total() > available)) return {};
  constexpr double margin = 1.05;  // the stiffness grows with the third power only
  std::string text =
      fmt::format("elements of {:.2f} times the size", margin * std::pow(need.total() / available, 0.25));
  constexpr double max_ranks = 1e4;
  const auto add_ranks = [&](double dense, std::string_view condition) {
    const double n = std::ceil(need.n_ranks * (need.total() - need.dense) / (available - dense));
    if (available > dense && n > need.n_ranks && n <= max_ranks) {
      text += fmt::format(", {} ranks with this memory each (mpirun -n {} heelstrike condense){}", n, n, condition);
    }
  };
  const double compressed = need.total() - need.dense + need.compressed;
  if (need.compressed > 0.0 && need.compressed < need.dense) {
    if (compressed <= available) {
      text += fmt::format(", compliance: compressed (about {})", memory_text(compressed));
    } else {
      add_ranks(need.compressed, " and compliance: compressed");
      return text;
    }
  }
  add_ranks(need.dense, "");
  return text;
}

void check_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what) {
  if (limit.in_use + need.total() <= limit.bytes) return;
  const std::string in_use =
      limit.in_use > 0.0 ? fmt::format(", of which {} are in use", memory_text(limit.in_use)) : "";
  throw memory_error(limit, need, what, fmt::format("allowed are {}{}", memory_text(limit.bytes), in_use),
                     limit.bytes - limit.in_use, "raise this limit");
}

void with_memory_report(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                        const std::function<void()>& work) {
  try {
    reserve_blas_workspace(1);
    work();
  } catch (const std::bad_alloc&) {
    throw memory_error(limit, need, what, "the allocation failed", available_address_space(), raise_process_limit);
  }
}

void within_memory(const MemoryLimit& limit, const MemoryNeed& need, const std::string& what,
                   const std::function<void()>& work) {
  check_memory(limit, need, what);
  if (const double left = available_address_space(); need.total() > left) {
    throw memory_error(limit, need, what, fmt::format("{} are available to the process", memory_text(left)), left,
                       raise_process_limit);
  }
  with_memory_report(limit, need, what, work);
}

}  // namespace heelstrike::fem
