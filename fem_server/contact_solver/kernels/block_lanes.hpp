/// A block of the compliance as vector lanes, for the inner loops of compliance_product.cpp: lane k of column l holds
/// C(k, l), lane 3 holds the next number in memory. Operations on lanes round like those on single numbers, so the bits
/// do not depend on the width of the processor's registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heelstrike::fem {

// By reference and always inlined: the calling convention of wide vectors differs between processors.
#define HEELSTRIKE_INLINE inline __attribute__((always_inline))

using Lanes = double __attribute__((vector_size(4 * sizeof(double))));
using SingleLanes = float __attribute__((vector_size(4 * sizeof(float))));

HEELSTRIKE_INLINE void load(const double* from, Lanes& to) {
  std::memcpy(&to, from, sizeof to);
}
/// to += change, on four numbers.
HEELSTRIKE_INLINE void add(const Lanes& change, double* to) {
  Lanes sum;
  load(to, sum);
  sum += change;
  std::memcpy(to, &sum, sizeof sum);
}

/// The processor cannot predict the next blocks; prefetching hides most of the memory latency: with 500 nodes, whose
/// blocks are in no cache, loops over one field take 0.64 to 0.75 of the time without prefetching (bench_kernels).
/// Twelve blocks are 864 bytes or some 50 ns of such a loop, the order of a memory access.
constexpr std::size_t ahead = 12;

HEELSTRIKE_INLINE void fetch(const double* column, const std::uint32_t* rows, std::size_t i, std::size_t n_rows) {
  if (i + ahead >= n_rows) return;
  const double* block = column + 9 * static_cast<std::size_t>(rows[i + ahead]);
  __builtin_prefetch(block);
  __builtin_prefetch(block + 8);
}

struct BlockLanes {
  Lanes x, y, z;  ///< columns
};

/// @param block  9 numbers, column-major; reads no others
HEELSTRIKE_INLINE void load_block(const double* block, BlockLanes& to) {
  load(block, to.x);
  load(block + 3, to.y);
  Lanes last;
  load(block + 5, last);
  to.z = __builtin_shufflevector(last, last, 1, 2, 3, 3);
}

/// y = C f. @param f  3 numbers
HEELSTRIKE_INLINE void times(const BlockLanes& C, const double* f, Lanes& y) {
  y = (C.x * f[0] + C.y * f[1]) + C.z * f[2];
}

HEELSTRIKE_INLINE double sum_of_three(const Lanes& v) {
  return (v[0] + v[1]) + v[2];
}

#undef HEELSTRIKE_INLINE

}  // namespace heelstrike::fem
