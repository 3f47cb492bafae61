#include "fem_server/contact_solver/kernels/local_compliance.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/kernels/block_lanes.hpp"

namespace heelstrike::fem {

namespace {

/// The number 1 in the upper half: one less than the largest number, to allow for rounding.
constexpr float unit = 32766.0F;
using WholeLanes = std::int32_t __attribute__((vector_size(4 * sizeof(std::int32_t))));
using FourHalves = std::int16_t __attribute__((vector_size(4 * sizeof(std::int16_t))));

#define HEELSTRIKE_INLINE inline __attribute__((always_inline))

/// Axes of a node as rows of lanes, each over the scale of its row.
struct FrameLanes {
  SingleLanes x, y, z;  ///< lane a of row k: component k of axis a; lane 3 is zero
};

/// The nearest integer of each lane. Adding 1.5 times 2^23 leaves no bits for the fraction, so the addition itself
/// rounds to even, and the subtraction is exact: rounding without a call, for numbers far below 2^22.
HEELSTRIKE_INLINE void round_lanes(const SingleLanes& v, SingleLanes& to) {
  constexpr float shift = 12582912.0F;  // 1.5 times 2^23: its last bit is one
  to = (v + shift) - shift;
}

/// Columns of a panel ordered by row, before they are written to their positions.
struct PanelDraft {
  std::size_t stride;               ///< rows plus four: blocks are written four numbers at a time
  std::vector<std::int16_t> upper;  ///< three columns
  std::vector<std::int16_t> lower;
};

/// Frames are divided by the scales of their rows, so the products are entries of D^-1 B D^-1 times `unit`: within
/// `unit` if B is positive definite, by the Cauchy-Schwarz inequality. A larger entry therefore proves that the
/// compliance is damaged, and would not fit its half either.
///
/// F_i^T C_ij F_j below the diagonal of one column of nodes, in two halves.
/// @param own     axes of the column's node over their scales, column-major
/// @param frames  of the rows
/// @param upper, lower  position of the first row
/// @return true if all numbers are in range
bool project_blocks(const double* column, const std::uint32_t* rows, std::size_t n_rows, const float* own,
                    const FrameLanes* frames, std::size_t stride, std::int16_t* upper, std::int16_t* lower) {
  WholeLanes good = {-1, -1, -1, -1};
  for (std::size_t i = 0; i < n_rows; ++i) {
    BlockLanes C;
    load_block(column + 9 * static_cast<std::size_t>(rows[i]), C);
    const SingleLanes Cx = __builtin_convertvector(C.x, SingleLanes);
    const SingleLanes Cy = __builtin_convertvector(C.y, SingleLanes);
    const SingleLanes Cz = __builtin_convertvector(C.z, SingleLanes);
    const FrameLanes& F = frames[i];
    for (std::size_t b = 0; b < 3; ++b) {
      const SingleLanes CF = (Cx * own[3 * b] + Cy * own[3 * b + 1]) + Cz * own[3 * b + 2];
      const SingleLanes value = (F.x * CF[0] + F.y * CF[1]) + F.z * CF[2];
      good &= (value < unit + 1.0F) & (value > -unit - 1.0F);  // false for NaN
      SingleLanes whole;
      SingleLanes rest;
      round_lanes(value, whole);
      round_lanes((value - whole) * panel_fine, rest);
      const FourHalves entire_half = __builtin_convertvector(whole, FourHalves);
      const FourHalves rest_half = __builtin_convertvector(rest, FourHalves);
      std::memcpy(upper + 3 * i + b * stride, &entire_half, sizeof entire_half);
      std::memcpy(lower + 3 * i + b * stride, &rest_half, sizeof rest_half);
    }
  }
  return good[0] != 0 && good[1] != 0 && good[2] != 0;
}

#undef HEELSTRIKE_INLINE

Error not_positive_definite() {
  return {ErrorCode::internal, "the contact compliance is not positive definite; the condensation is damaged"};
}

Eigen::Index as_index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}

std::size_t rounded_up(std::size_t rows) {
  return (rows + panel_group - 1) / panel_group * panel_group;
}

/// Writes a column to its position, with zeros above and below. @param in_order  at least `rows` numbers; overwritten
void place(std::int16_t* in_order, std::size_t skipped, std::size_t requested, std::size_t rows, std::int16_t* column) {
  std::fill(in_order, in_order + skipped, std::int16_t{0});
  std::fill(in_order + skipped + requested, in_order + rows, std::int16_t{0});
  place_column(in_order, rows, column);
}

FrameLanes frame_lanes(const Matrix3& frame, const float* scale) {
  Eigen::Matrix3f F = frame.cast<float>();
  for (Eigen::Index a = 0; a < 3; ++a) F.col(a) /= scale[a];
  return {.x = SingleLanes{F(0, 0), F(0, 1), F(0, 2), 0.0F},
          .y = SingleLanes{F(1, 0), F(1, 1), F(1, 2), 0.0F},
          .z = SingleLanes{F(2, 0), F(2, 1), F(2, 2), 0.0F}};
}

}  // namespace

LocalCompliance::LocalCompliance(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                 std::span<const Matrix3> frames) {
  const std::size_t n = nodes.size();
  const std::size_t end = rounded_up(3 * n);
  std::size_t size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Matrix3 own = frames[i].transpose() * compliance.self(nodes[i]) * frames[i];
    if (!(own.diagonal().minCoeff() > 0.0)) throw not_positive_definite();
    own_.emplace_back(own.cast<float>());
    for (Eigen::Index a = 0; a < 3; ++a) scale_.push_back(static_cast<float>(std::sqrt(own(a, a) / double{unit})));
    const std::size_t below = 3 * i + 3;
    const std::size_t first = i + 1 == n ? end : below - below % panel_group;
    panels_.push_back({.start = size, .first = first, .rows = end - first});
    size += 3 * panels_.back().rows;
  }
  upper_.resize(size);
  lower_.resize(size);
  fill(compliance, nodes, frames);
}

void LocalCompliance::fill(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                           std::span<const Matrix3> frames) {
  const std::size_t n = nodes.size();
  std::vector<FrameLanes> axes(n);
  for (std::size_t i = 0; i < n; ++i) axes[i] = frame_lanes(frames[i], scale_.data() + 3 * i);
  PanelDraft draft{.stride = rounded_up(3 * n) + 4, .upper = {}, .lower = {}};
  draft.upper.resize(3 * draft.stride);
  draft.lower.resize(3 * draft.stride);
  for (std::size_t j = 0; j + 1 < n; ++j) {
    const Panel& panel = panels_[j];
    Eigen::Matrix3f own = frames[j].cast<float>();
    for (Eigen::Index a = 0; a < 3; ++a) own.col(a) /= scale_[3 * j + static_cast<std::size_t>(a)];
    const std::size_t skipped = 3 * j + 3 - panel.first;
    const std::size_t below = n - 1 - j;
    const bool in_range =
        project_blocks(compliance.column(nodes[j]), nodes.data() + j + 1, below, own.data(), axes.data() + j + 1,
                       draft.stride, draft.upper.data() + skipped, draft.lower.data() + skipped);
    if (!in_range) throw not_positive_definite();
    for (std::size_t b = 0; b < 3; ++b) {
      place(draft.upper.data() + b * draft.stride, skipped, 3 * below, panel.rows,
            upper_.data() + panel.start + b * panel.rows);
      place(draft.lower.data() + b * draft.stride, skipped, 3 * below, panel.rows,
            lower_.data() + panel.start + b * panel.rows);
    }
  }
}

PanelView LocalCompliance::view(std::size_t node) const {
  const Panel& panel = panels_[node];
  return {.upper = upper_.data() + panel.start, .lower = lower_.data() + panel.start, .rows = panel.rows};
}

float LocalCompliance::entry(std::size_t node, std::size_t column, std::size_t row) const {
  const Panel& panel = panels_[node];
  const std::size_t at = panel.start + column * panel.rows + panel_place(row - panel.first);
  return static_cast<float>(upper_[at]) + static_cast<float>(lower_[at]) / panel_fine;
}

std::vector<float> LocalCompliance::zero_rows() const {
  return std::vector<float>(rounded_up(scale_.size()), 0.0F);
}

template <class PanelProduct>
Eigen::VectorXd LocalCompliance::multiply(const Eigen::VectorXd& x, PanelProduct panel_times) const {
  std::vector<float> scaled = zero_rows();
  std::vector<float> displaced = zero_rows();
  float* f = scaled.data();
  float* y = displaced.data();
  for (std::size_t i = 0; i < scale_.size(); ++i) f[i] = static_cast<float>(x[as_index(i)]) * scale_[i];
  for (std::size_t j = 0; j + 1 < n_nodes(); ++j) {
    float up[3];
    panel_times(view(j), f + 3 * j, f + panels_[j].first, y + panels_[j].first, up);
    for (std::size_t a = 0; a < 3; ++a) y[3 * j + a] += up[a];
  }
  Eigen::VectorXd result(x.size());
  for (std::size_t i = 0; i < n_nodes(); ++i) {
    const Eigen::Index row = as_index(3 * i);
    const Eigen::Vector3f by_own = own_[i] * x.segment<3>(row).cast<float>();
    for (std::size_t a = 0; a < 3; ++a) {
      result[row + as_index(a)] = double{by_own[as_index(a)] + scale_[3 * i + a] * y[3 * i + a]};
    }
  }
  return result;
}

void LocalCompliance::multiply_three(Eigen::Ref<const Eigen::MatrixXd> x, Eigen::Ref<Eigen::MatrixXd> result) const {
  const std::size_t n = scale_.size();
  const std::size_t stride = rounded_up(n);
  std::vector<float> scaled(3 * stride, 0.0F);
  std::vector<float> displaced(3 * stride, 0.0F);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      scaled[k * stride + i] = static_cast<float>(x(as_index(i), as_index(k))) * scale_[i];
    }
  }
  for (std::size_t j = 0; j + 1 < n_nodes(); ++j) {
    float up[9];
    const std::size_t first = panels_[j].first;
    three_panel_products(view(j), stride, scaled.data() + 3 * j, scaled.data() + first, displaced.data() + first, up);
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t a = 0; a < 3; ++a) displaced[k * stride + 3 * j + a] += up[3 * k + a];
    }
  }
  for (std::size_t i = 0; i < n_nodes(); ++i) {
    const Eigen::Matrix3f by_own = own_[i] * x.middleRows<3>(as_index(3 * i)).cast<float>();
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t row = 3 * i + a;
        result(as_index(row), as_index(k)) =
            double{by_own(as_index(a), as_index(k)) + scale_[row] * displaced[k * stride + row]};
      }
    }
  }
}

Eigen::MatrixXd LocalCompliance::products(const Eigen::MatrixXd& x) const {
  Eigen::MatrixXd result(x.rows(), x.cols());
  Eigen::Index column = 0;
  for (; column + 3 <= x.cols(); column += 3) multiply_three(x.middleCols(column, 3), result.middleCols(column, 3));
  for (; column < x.cols(); ++column) result.col(column) = product(x.col(column));
  return result;
}

Eigen::VectorXd LocalCompliance::product(const Eigen::VectorXd& x) const {
  return multiply(x, panel_product);
}

Eigen::VectorXd LocalCompliance::approximate_product(const Eigen::VectorXd& x) const {
  return multiply(x, approximate_panel_product);
}

Eigen::MatrixXf LocalCompliance::part(int direction, std::span<const std::uint32_t> nodes) const {
  const Eigen::Index n = as_index(nodes.size());
  const auto along = static_cast<std::size_t>(direction);
  Eigen::MatrixXf result(n, n);
  for (std::size_t b = 0; b < nodes.size(); ++b) {
    const std::size_t j = nodes[b];
    float* out = result.col(as_index(b)).data();
    out[b] = own_[j](direction, direction);
    for (std::size_t a = b + 1; a < nodes.size(); ++a) {
      const std::size_t row = 3 * nodes[a] + along;
      out[a] = scale_[row] * entry(j, along, row) * scale_[3 * j + along];
    }
  }
  return result;
}

Eigen::MatrixXd LocalCompliance::dense() const {
  const Eigen::Index n = as_index(scale_.size());
  Eigen::MatrixXd result(n, n);
  for (std::size_t j = 0; j < n_nodes(); ++j) {
    result.block<3, 3>(as_index(3 * j), as_index(3 * j)) = own_[j].cast<double>();
    for (std::size_t b = 0; b < 3; ++b) {
      const Eigen::Index column = as_index(3 * j + b);
      for (std::size_t row = 3 * j + 3; row < scale_.size(); ++row) {
        result(as_index(row), column) = double{scale_[row]} * double{entry(j, b, row)} * double{scale_[3 * j + b]};
        result(column, as_index(row)) = result(as_index(row), column);
      }
    }
  }
  return result;
}

SweptDisplacements::SweptDisplacements(const LocalCompliance& B, const Eigen::VectorXd& u)
    : B_(B), state_(B.zero_rows()), changes_(B.zero_rows()) {
  for (std::size_t i = 0; i < B.scale_.size(); ++i) {
    state_[i] = static_cast<float>(u[as_index(i)]) / B.scale_[i];
  }
}

Eigen::Vector3f SweptDisplacements::at(std::size_t node) {
  float* state = state_.data() + 3 * node;
  float* changes = changes_.data();
  std::fill_n(changes + 3 * node, 3, 0.0F);
  float below[3];
  sum_panel(B_.view(node), changes + B_.panels_[node].first, below);
  Eigen::Vector3f u;
  for (std::size_t a = 0; a < 3; ++a) {
    state[a] += below[a];
    u[as_index(a)] = state[a] * B_.scale_[3 * node + a];
  }
  return u;
}

void SweptDisplacements::load(std::size_t node, const Eigen::Vector3f& change) {
  const Eigen::Vector3f own = B_.own_[node] * change;
  float* state = state_.data();
  float* changes = changes_.data() + 3 * node;
  for (std::size_t a = 0; a < 3; ++a) {
    const float scale = B_.scale_[3 * node + a];
    state[3 * node + a] += own[as_index(a)] / scale;
    changes[a] = change[as_index(a)] * scale;
  }
  add_panel(B_.view(node), changes, state + B_.panels_[node].first);
}

}  // namespace heelstrike::fem
