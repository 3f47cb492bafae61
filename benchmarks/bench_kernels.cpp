// The inner loops of the condensed contact compared with plain implementations on the same data: ratios of medians of
// alternating runs. The compliance has the size and the layout of the scanned foot at 4 mm; its values are irrelevant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/kernels/local_compliance.hpp"
#include "fem_server/contact_solver/kernels/plain_kernels.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {
namespace {

constexpr std::size_t n_candidates = 2535;
constexpr int turns = 41;

/// Blocks c / (1 + |i - j|): symmetric, diagonally dominant enough to be positive definite.
SurfaceCompliance make_synthetic_compliance() {
  std::vector<double> blocks(9 * n_candidates * n_candidates);
  for (std::size_t j = 0; j < n_candidates; ++j) {
    for (std::size_t i = 0; i < n_candidates; ++i) {
      const double far = 1e-5 / (1.0 + 10.0 * std::abs(static_cast<double>(i) - static_cast<double>(j)));
      Eigen::Map<Matrix3>(blocks.data() + 9 * (j * n_candidates + i)) = far * Matrix3::Identity();
    }
  }
  return {n_candidates, std::move(blocks)};
}

/// Runs of consecutive indices with gaps, like the nodes of a contact patch.
std::vector<std::uint32_t> patch(std::size_t n) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; nodes.size() < n; ++i) {
    if (i % 19 < 12) nodes.push_back(i);
  }
  return nodes;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void compare(const std::string& name, const std::function<void()>& kernel, const std::function<void()>& plain) {
  std::vector<double> own;
  std::vector<double> other;
  const auto timed = [](const std::function<void()>& work) {
    const double start = bench::thread_seconds();
    work();
    return bench::thread_seconds() - start;
  };
  for (int i = 0; i < turns; ++i) {
    own.push_back(timed(kernel));
    other.push_back(timed(plain));
  }
  const double mine = median(own);
  fmt::print("{:<44}{:>10.1f}{:>10.1f}{:>10.3f}\n", name, 1e6 * mine, 1e6 * median(other), mine / median(other));
}

void compare_with_nodes(const SurfaceCompliance& C, std::size_t n) {
  const std::vector<std::uint32_t> nodes = patch(n);
  const auto rows = static_cast<Eigen::Index>(3 * n);
  const NodeFields<1> f = NodeFields<1>::Ones(rows);
  const NodeFields<4> f4 = NodeFields<4>::Ones(rows, 4);
  const NodeFields<8> f8 = NodeFields<8>::Ones(rows, 8);
  double sink = 0.0;
  compare(
      fmt::format("displacement of {} nodes, one field", n), [&] { sink += displacement<1>(C, nodes, f)[0]; },
      [&] { sink += plain::displacement<1>(C, nodes, f)[0]; });
  compare(
      fmt::format("displacement of {} nodes, four fields", n), [&] { sink += displacement<4>(C, nodes, f4)(0, 0); },
      [&] { sink += plain::displacement<4>(C, nodes, f4)(0, 0); });
  compare(
      fmt::format("displacement of {} nodes, eight fields", n), [&] { sink += displacement<8>(C, nodes, f8)(0, 0); },
      [&] { sink += plain::displacement<8>(C, nodes, f8)(0, 0); });
  const std::vector<std::uint32_t> others = patch(3 * n / 2);
  compare(
      fmt::format("displacement of {} other nodes", others.size()),
      [&] { sink += displacement(C, others, nodes, f)[0]; },
      [&] { sink += plain::displacement(C, others, nodes, f)[0]; });
  const std::vector<Vector3> normals(n, Vector3::UnitZ());
  const NormalBlocks blocks{.compliance = &C, .nodes = nodes, .normals = normals};
  compare(
      fmt::format("Delassus matrix of {} nodes", n),
      [&] {
        sink += delassus_matrices({&blocks, 1})[0](0, 0);
      },
      [&] { sink += plain::delassus_matrix(blocks)(0, 0); });
  const LocalCompliance B(C, nodes, std::vector<Matrix3>(n, Matrix3::Identity()));
  // Reference for the split storage: the same matrix in single precision, lower triangle.
  const Eigen::MatrixXf single = B.dense().cast<float>();
  const Eigen::VectorXf x = Eigen::VectorXf::Ones(rows);
  Eigen::VectorXf y(rows);
  const auto by_blas = [&] {
    multiply_symmetric(single, x, y);
    sink += double{y[0]};
  };
  compare(
      fmt::format("B x of {} nodes, upper halves, / ssymv", n), [&] { sink += B.approximate_product(f)[0]; }, by_blas);
  compare(
      fmt::format("B x of {} nodes, both halves, / ssymv", n), [&] { sink += B.product(f)[0]; }, by_blas);
  if (!std::isfinite(sink)) fmt::print("not finite\n");
}

void compare_panels() {
  constexpr std::size_t n_rows = 1600;
  std::mt19937 random(1);
  std::vector<std::int16_t> upper(3 * n_rows);
  std::vector<std::int16_t> lower(3 * n_rows);
  for (auto* half : {&upper, &lower}) {
    for (std::int16_t& number : *half) number = static_cast<std::int16_t>(random() % 60000 - 30000);
  }
  const PanelView P{.upper = upper.data(), .lower = lower.data(), .rows = n_rows};
  const std::vector<float> x(n_rows, 1e-6F);
  std::vector<float> y(n_rows, 0.0F);
  const float f[3] = {1e-6F, 2e-6F, 3e-6F};
  float sums[3];
  constexpr int times = 50;
  const auto repeated = [&](auto work) {
    return [work] {
      for (int i = 0; i < times; ++i) work();
    };
  };
  compare("50 panels, both halves", repeated([&] { panel_product(P, f, x.data(), y.data(), sums); }),
          repeated([&] { plain::panel_product(P, true, f, x.data(), y.data(), sums); }));
  compare("50 panels, upper halves", repeated([&] { approximate_panel_product(P, f, x.data(), y.data(), sums); }),
          repeated([&] { plain::panel_product(P, false, f, x.data(), y.data(), sums); }));
}

int run() {
  use_one_blas_thread();
  const SurfaceCompliance C = make_synthetic_compliance();
  fmt::print("{:<44}{:>10}{:>10}{:>10}\n", "", "kernel us", "plain us", "ratio");
  for (const std::size_t n : {160, 500}) compare_with_nodes(C, n);
  compare_panels();
  return 0;
}

}  // namespace
}  // namespace heelstrike::fem

int main() {
  return heelstrike::fem::run();
}
