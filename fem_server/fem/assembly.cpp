#include "fem_server/fem/assembly.hpp"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

namespace heelstrike::fem {

namespace {

/// Element matrices of one block stay in the second-level cache with 4 nodes (1.2 MB) and small with more.
constexpr std::size_t largest_block = 1024;
constexpr std::size_t bytes_per_block = 8U << 20U;
/// Below this a thread costs more than it saves.
constexpr std::size_t least_elements_per_thread = 4 * largest_block;

struct NodeRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool holds(std::uint32_t node) const { return node >= begin && node < end; }
};

/// Adds the columns of the nodes in `own`.
void add_columns(SparseMatrix& matrix, std::span<const std::uint32_t> nodes, const Eigen::MatrixXd& element_matrix,
                 const NodeRange& own) {
  const std::int64_t* outer = matrix.outerIndexPtr();
  const std::int64_t* inner = matrix.innerIndexPtr();
  double* values = matrix.valuePtr();
  for (std::size_t b = 0; b < nodes.size(); ++b) {
    if (!own.holds(nodes[b])) continue;
    const std::int64_t column = 3 * static_cast<std::int64_t>(nodes[b]);
    // The three columns of a node have the same pattern, and the three rows of a node follow each other in it: one
    // search serves nine entries.
    const std::int64_t length = outer[column + 1] - outer[column];
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      const std::int64_t row = 3 * static_cast<std::int64_t>(nodes[a]);
      const std::int64_t* first = inner + outer[column];
      const std::int64_t offset = std::lower_bound(first, first + length, row) - first;
      for (int l = 0; l < 3; ++l) {
        double* target = values + outer[column + l] + offset;
        for (int k = 0; k < 3; ++k) {
          target[k] += element_matrix(static_cast<Eigen::Index>(3 * a) + k, static_cast<Eigen::Index>(3 * b) + l);
        }
      }
    }
  }
}

unsigned threads_for(std::size_t n_elements, unsigned wanted) {
  if (wanted > 0) return wanted;
  const std::size_t useful = std::max<std::size_t>(1, n_elements / least_elements_per_thread);
  return static_cast<unsigned>(std::min<std::size_t>(useful, std::max(1U, std::thread::hardware_concurrency())));
}

}  // namespace

void add_elements(const BodyModel& body, SparseMatrix& matrix, const ElementKernel& kernel, unsigned n_threads) {
  const VolumeMesh& mesh = body.mesh();
  const std::size_t n_elements = mesh.n_elements();
  const unsigned n = threads_for(n_elements, n_threads);
  const auto n_dofs = static_cast<Eigen::Index>(3 * mesh.nodes_per_element);
  const std::size_t element_bytes = sizeof(double) * static_cast<std::size_t>(n_dofs * n_dofs);
  const std::size_t elements_per_block = std::min(largest_block, bytes_per_block / element_bytes);
  std::vector<Eigen::MatrixXd> block(elements_per_block, Eigen::MatrixXd(n_dofs, n_dofs));
  std::barrier together(n);
  const auto work = [&](unsigned thread) {
    // Columns by nodes, not by elements: two threads never add to the same entry.
    const auto bound = [&](unsigned t) { return static_cast<std::uint32_t>(mesh.nodes.size() * t / n); };
    const NodeRange own{.begin = bound(thread), .end = bound(thread + 1)};
    for (std::size_t begin = 0; begin < n_elements; begin += elements_per_block) {
      const std::size_t size = std::min(elements_per_block, n_elements - begin);
      for (std::size_t i = size * thread / n; i < size * (thread + 1) / n; ++i) {
        block[i].setZero();
        kernel(begin + i, block[i]);
      }
      // All matrices of the block are there now; the second barrier keeps the next block from taking their place before
      // all have been added.
      together.arrive_and_wait();
      for (std::size_t i = 0; i < size; ++i) add_columns(matrix, mesh.element(begin + i), block[i], own);
      together.arrive_and_wait();
    }
  };
  std::vector<std::jthread> helpers;
  for (unsigned thread = 1; thread < n; ++thread) helpers.emplace_back(work, thread);
  work(0);
}

void share_out(std::size_t n, unsigned n_threads, const std::function<void(std::size_t, std::size_t)>& work) {
  const unsigned n_parts = threads_for(n, n_threads);
  std::vector<std::exception_ptr> failures(n_parts);
  const auto do_part = [&](unsigned part) {
    try {
      work(n * part / n_parts, n * (part + 1) / n_parts);
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned part = 1; part < n_parts; ++part) helpers.emplace_back(do_part, part);
    do_part(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void add_pressures(const BodyModel& body, SparseMatrix& matrix, std::span<const Eigen::Matrix3Xd> couplings,
                   std::span<const double> stiffness, unsigned n_threads) {
  const PressureSpace& pressures = body.pressures();
  const unsigned n = threads_for(pressures.size(), n_threads);
  // As in add_elements: every thread adds all pressures, in their order, to the columns of its own nodes.
  share_out(body.mesh().nodes.size(), n, [&](std::size_t begin, std::size_t end) {
    const NodeRange own{.begin = static_cast<std::uint32_t>(begin), .end = static_cast<std::uint32_t>(end)};
    for (std::size_t a = 0; a < pressures.size(); ++a) {
      const auto nodes = pressures.nodes(a);
      if (nodes.back() < own.begin || nodes.front() >= own.end) continue;
      // With the root on both sides the sum is symmetric to the bit.
      const Eigen::Matrix3Xd b = std::sqrt(stiffness[a]) * couplings[a];
      for (std::size_t j = 0; j < nodes.size(); ++j) {
        if (!own.holds(nodes[j])) continue;
        for (Eigen::Index l = 0; l < 3; ++l) {
          const double factor = b(l, static_cast<Eigen::Index>(j));
          const std::int64_t column = 3 * static_cast<std::int64_t>(nodes[j]) + l;
          const std::int64_t* row = matrix.innerIndexPtr() + matrix.outerIndexPtr()[column];
          double* value = matrix.valuePtr() + matrix.outerIndexPtr()[column];
          // Both lists ascend: one walk down the column finds all nodes.
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::int64_t wanted = 3 * static_cast<std::int64_t>(nodes[i]);
            while (*row != wanted) {
              row += 3;
              value += 3;
            }
            for (Eigen::Index k = 0; k < 3; ++k) value[k] += factor * b(k, static_cast<Eigen::Index>(i));
          }
        }
      }
    }
  });
}

}  // namespace heelstrike::fem
