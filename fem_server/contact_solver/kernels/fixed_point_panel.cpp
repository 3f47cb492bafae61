#include "fem_server/contact_solver/kernels/fixed_point_panel.hpp"

#include <cstring>

#include "fem_server/fem/vector_clones.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::size_t lanes = panel_group / 2;

using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Pairs = std::int32_t __attribute__((vector_size(lanes * sizeof(std::int32_t))));
using Halves = std::int16_t __attribute__((vector_size(lanes * sizeof(std::int16_t))));

#define HEELSTRIKE_INLINE inline __attribute__((always_inline))

template <class Vector, class Number>
HEELSTRIKE_INLINE void get(const Number* from, Vector& to) {
  std::memcpy(&to, from, sizeof to);
}

/// Rows k and 8 + k of a group. They are adjacent, so that one load reads both and two shifts extend their signs; with
/// adjacent neighbouring rows, every product would need shuffles to restore the order.
HEELSTRIKE_INLINE void split(const std::int16_t* group, Floats& first, Floats& second) {
  Pairs pairs;
  get(group, pairs);
  first = __builtin_convertvector((pairs << 16) >> 16, Floats);
  second = __builtin_convertvector(pairs >> 16, Floats);
}

/// One step of the upper half is 65534 steps of the lower: multiplies by the reciprocal, because divisions take ten
/// times as long. This is accurate enough, because the lower half only adds digits beyond the sixteenth bit.
template <bool both>
HEELSTRIKE_INLINE void numbers(const std::int16_t* upper, const std::int16_t* lower, Floats& first, Floats& second) {
  split(upper, first, second);
  if constexpr (both) {
    Floats low_first;
    Floats low_second;
    split(lower, low_first, low_second);
    first += low_first * (1.0F / panel_fine);
    second += low_second * (1.0F / panel_fine);
  }
}

/// As a tree: three consecutive additions instead of seven, in the same order for all register widths.
HEELSTRIKE_INLINE float sum(const Floats& v) {
  return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

/// The matrix is symmetric and only its lower triangle is stored: the panel is used as columns (`down`, y += P f) and,
/// in the same pass, as rows (`up`, sums = P^T x), because a product is memory-bound.
template <bool both, bool down, bool up>
HEELSTRIKE_INLINE void product(const PanelView& P, const float* f, const float* x, float* y, float* sums) {
  Floats sum_a{};
  Floats sum_b{};
  Floats sum_c{};
  for (std::size_t i = 0; i < P.rows; i += panel_group) {
    Floats a0, a1, b0, b1, c0, c1;
    numbers<both>(P.upper + i, P.lower + i, a0, a1);
    numbers<both>(P.upper + P.rows + i, P.lower + P.rows + i, b0, b1);
    numbers<both>(P.upper + 2 * P.rows + i, P.lower + 2 * P.rows + i, c0, c1);
    if constexpr (down) {
      Floats y0, y1;
      get(y + i, y0);
      get(y + i + lanes, y1);
      y0 += (a0 * f[0] + b0 * f[1]) + c0 * f[2];
      y1 += (a1 * f[0] + b1 * f[1]) + c1 * f[2];
      std::memcpy(y + i, &y0, sizeof y0);
      std::memcpy(y + i + lanes, &y1, sizeof y1);
    }
    if constexpr (up) {
      Floats x0, x1;
      get(x + i, x0);
      get(x + i + lanes, x1);
      sum_a += a0 * x0;
      sum_a += a1 * x1;
      sum_b += b0 * x0;
      sum_b += b1 * x1;
      sum_c += c0 * x0;
      sum_c += c1 * x1;
    }
  }
  if constexpr (up) {
    sums[0] = sum(sum_a);
    sums[1] = sum(sum_b);
    sums[2] = sum(sum_c);
  }
}

/// Three fields per pass over the matrix; more would not fit into the registers.
HEELSTRIKE_INLINE void three_products(const PanelView& P, std::size_t stride, const float* f, const float* x, float* y,
                                      float* sums) {
  Floats up[3][3] = {};
  for (std::size_t i = 0; i < P.rows; i += panel_group) {
    Floats a0, a1, b0, b1, c0, c1;
    numbers<true>(P.upper + i, P.lower + i, a0, a1);
    numbers<true>(P.upper + P.rows + i, P.lower + P.rows + i, b0, b1);
    numbers<true>(P.upper + 2 * P.rows + i, P.lower + 2 * P.rows + i, c0, c1);
    for (std::size_t k = 0; k < 3; ++k) {
      const float* own = f + k * stride;
      float* to = y + k * stride + i;
      Floats y0, y1, x0, x1;
      get(to, y0);
      get(to + lanes, y1);
      y0 += (a0 * own[0] + b0 * own[1]) + c0 * own[2];
      y1 += (a1 * own[0] + b1 * own[1]) + c1 * own[2];
      std::memcpy(to, &y0, sizeof y0);
      std::memcpy(to + lanes, &y1, sizeof y1);
      get(x + k * stride + i, x0);
      get(x + k * stride + i + lanes, x1);
      up[k][0] += a0 * x0 + a1 * x1;
      up[k][1] += b0 * x0 + b1 * x1;
      up[k][2] += c0 * x0 + c1 * x1;
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t column = 0; column < 3; ++column) sums[3 * k + column] = sum(up[k][column]);
  }
}

#undef HEELSTRIKE_INLINE

}  // namespace

HEELSTRIKE_FUSED_CLONES
void panel_product(const PanelView& P, const float* f, const float* x, float* y, float* sums) {
  product<true, true, true>(P, f, x, y, sums);
}

HEELSTRIKE_FUSED_CLONES
void three_panel_products(const PanelView& P, std::size_t stride, const float* f, const float* x, float* y,
                          float* sums) {
  three_products(P, stride, f, x, y, sums);
}

HEELSTRIKE_FUSED_CLONES
void approximate_panel_product(const PanelView& P, const float* f, const float* x, float* y, float* sums) {
  product<false, true, true>(P, f, x, y, sums);
}

HEELSTRIKE_FUSED_CLONES
void add_panel(const PanelView& P, const float* f, float* y) {
  product<false, true, false>(P, f, nullptr, y, nullptr);
}

HEELSTRIKE_FUSED_CLONES
void sum_panel(const PanelView& P, const float* x, float* sums) {
  product<false, false, true>(P, nullptr, x, nullptr, sums);
}

void place_column(const std::int16_t* in_order, std::size_t rows, std::int16_t* column) {
  for (std::size_t i = 0; i < rows; i += panel_group) {
    Halves first;
    Halves second;
    get(in_order + i, first);
    get(in_order + i + lanes, second);
    const Halves front = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11);
    const Halves back = __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(column + i, &front, sizeof front);
    std::memcpy(column + i + lanes, &back, sizeof back);
  }
}

}  // namespace heelstrike::fem
