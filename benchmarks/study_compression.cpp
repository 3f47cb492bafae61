// Compressed compliance of the scanned foot beside the dense one, while that fits: preparation, memory, rank, error of
// the blocks, time of blocks and products (contact forces: bench_fem). Needs HEELSTRIKE_DATA (the scan).
//
// study_compression H_MM... [--no-dense]
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <string>

#include "benchmarks/clocks.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

double peak_gigabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1e-6 * 1.024 * std::stod(line.substr(6));
  }
  return 0.0;
}

void study(double h, double tolerance, bool with_dense) {
  const PreparedBody prepared = test::foot_body(test::foot_mesh(h), 0.0);
  const std::vector<std::uint32_t>& candidates = prepared.contact.nodes;
  fmt::print("h = {} mm: {} nodes, {} tetrahedra, {} candidates\n", 1e3 * h, prepared.body.mesh().nodes.size(),
             prepared.body.mesh().n_elements(), candidates.size());
  std::fflush(stdout);
  double last = 0.0;
  std::string stage_before;
  const double begin = bench::wall_seconds();
  const Progress progress = [&](std::string_view stage, double fraction) {
    const double now = bench::wall_seconds() - begin;
    if (stage != stage_before || now > last + 60.0) {
      fmt::print("  {:8.1f} s {} {:.3f}, peak {:.2f} GB\n", now, stage, fraction, peak_gigabytes());
      std::fflush(stdout);
      last = now;
      stage_before = stage;
    }
  };
  const SurfaceCompliance compressed =
      condense_compressed(prepared.body, prepared.support, candidates, tolerance, progress, {});
  const double compressing = bench::wall_seconds() - begin;
  const HierarchicalMatrix& C = *compressed.compressed();
  fmt::print(
      "  compressed {:.1f} s, {:.1f} MB, {:.1f} kB per candidate, {} full and {} low-rank blocks of mean rank {:.1f}, "
      "peak {:.2f} GB\n",
      compressing, 1e-6 * double(C.n_bytes()), 1e-3 * double(C.n_bytes()) / double(candidates.size()),
      C.n_full_blocks(), C.n_low_rank_blocks(), C.mean_rank(), peak_gigabytes());
  std::vector<std::uint32_t> some;
  for (std::uint32_t i = 0; i < candidates.size(); i += 1 + std::uint32_t(candidates.size() / 1500)) some.push_back(i);
  for (std::size_t n : {std::size_t{160}, std::size_t{1500}, std::size_t{2000}}) {
    std::vector<std::uint32_t> patch;
    for (std::uint32_t i = 0; i < std::min(n, candidates.size()); ++i) patch.push_back(i);
    double t0 = bench::wall_seconds();
    (void)C.blocks(patch);
    const double gather = bench::wall_seconds() - t0;
    Eigen::VectorXd f = Eigen::VectorXd::Ones(3 * Eigen::Index(patch.size()));
    t0 = bench::wall_seconds();
    (void)C.product(some, patch, f);
    fmt::print("  first {} nodes gathered in {:.1f} ms; product to {} rows {:.1f} ms\n", patch.size(), 1e3 * gather,
               some.size(), 1e3 * (bench::wall_seconds() - t0));
  }
  if (!with_dense) return;
  const double start = bench::wall_seconds();
  const SurfaceCompliance dense =
      condense(prepared.body, prepared.support, candidates, [](std::string_view, double) {}, {});
  fmt::print("  dense {:.1f} s, {:.1f} MB, peak {:.2f} GB\n", bench::wall_seconds() - start,
             8e-6 * double(dense.data().size()), peak_gigabytes());
  const double t0 = bench::wall_seconds();
  const SurfaceCompliance blocks(some.size(), C.blocks(some));
  fmt::print("  gathered {} nodes in {:.1f} ms\n", some.size(), 1e3 * (bench::wall_seconds() - t0));
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < some.size(); ++i)
    for (std::size_t j = 0; j < some.size(); ++j) {
      error = std::max(error, (blocks.block(i, j) - dense.block(some[i], some[j])).norm());
      norm = std::max(norm, dense.block(some[i], some[j]).norm());
    }
  fmt::print("  largest error of a block / largest block {:.2e}\n", error / norm);
}

}  // namespace
}  // namespace heelstrike::fem

int main(int argc, char** argv) {
  if (!heelstrike::fem::test::foot_scan()) {
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that contains foot/foot_left.stl\n");
    return 0;
  }
  if (argc < 2) {
    fmt::print(stderr, "usage: study_compression H_MM... [--no-dense]\n");
    return 2;
  }
  const bool dense = std::strcmp(argv[argc - 1], "--no-dense") != 0;
  const double tolerance = 1e-6;
  for (int i = 1; i < argc - (dense ? 0 : 1); ++i) heelstrike::fem::study(1e-3 * std::atof(argv[i]), tolerance, dense);
  return 0;
}
