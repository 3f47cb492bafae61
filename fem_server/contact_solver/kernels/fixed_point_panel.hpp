/// Products with a few columns of a matrix stored as fixed-point numbers of 16 bits: the inner loops of
/// LocalCompliance.
///
/// Columns consist of groups of 16 rows; in a group, rows k and 8 + k are adjacent, so that one load of eight pairs
/// gives both as integers by shifting. Multiplications and additions are fused if the processor supports it: the last
/// bits depend on it, as in the BLAS. The kernels take a twentieth of the time of the plain loops of plain_kernels.hpp;
/// compiled without wide registers, the whole evaluation with friction takes three times as long.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heelstrike::fem {

/// Rows of a group.
constexpr std::size_t panel_group = 16;
/// One step of the upper half, in steps of the lower half.
constexpr float panel_fine = 65534.0F;

/// Position of a row in a column.
constexpr std::size_t panel_place(std::size_t row) {
  const std::size_t in_group = row % panel_group;
  const std::size_t half = panel_group / 2;
  return row - in_group + (in_group < half ? 2 * in_group : 2 * (in_group - half) + 1);
}

/// Three columns in upper halves, the first at `upper`; `lower` has the same layout.
struct PanelView {
  const std::int16_t* upper = nullptr;
  const std::int16_t* lower = nullptr;
  std::size_t rows = 0;  ///< of a column, a multiple of panel_group
};

/// y += P f, sums = P^T x, with both halves. @param f, sums  three numbers; x, y  one per row
void panel_product(const PanelView& P, const float* f, const float* x, float* y, float* sums);
/// The same for three fields, each `stride` numbers after the one before in f, x and y, three in sums.
void three_panel_products(const PanelView& P, std::size_t stride, const float* f, const float* x, float* y,
                          float* sums);
/// As panel_product, with upper halves.
void approximate_panel_product(const PanelView& P, const float* f, const float* x, float* y, float* sums);
/// y += P f, upper halves.
void add_panel(const PanelView& P, const float* f, float* y);
/// sums = P^T x, upper halves.
void sum_panel(const PanelView& P, const float* x, float* sums);

/// Writes `rows` numbers, ordered by row, to their positions.
void place_column(const std::int16_t* in_order, std::size_t rows, std::int16_t* column);

}  // namespace heelstrike::fem
