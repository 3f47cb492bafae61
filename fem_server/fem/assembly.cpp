#include "fem_server/fem/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heelstrike::fem {

void add_matrix(const CellTerms& terms, SparseMatrix& matrix) {
  const std::int64_t* outer = matrix.outerIndexPtr();
  const std::int64_t* inner = matrix.innerIndexPtr();
  double* values = matrix.valuePtr();
  const std::size_t n_rows = terms.dofs.size();
  for (std::size_t b = 0; b < n_rows; b += 3) {
    const std::int64_t column = terms.dofs[b];
    // The three columns of a node have the same pattern with three consecutive rows per node: one search serves nine
    // entries.
    const std::int64_t length = outer[column + 1] - outer[column];
    const std::int64_t* first = inner + outer[column];
    for (std::size_t a = 0; a < n_rows; a += 3) {
      const std::int64_t offset = std::lower_bound(first, first + length, terms.dofs[a]) - first;
      for (int l = 0; l < 3; ++l) {
        double* target = values + outer[column + l] + offset;
        for (int k = 0; k < 3; ++k) {
          target[k] += terms.matrix(static_cast<Eigen::Index>(a) + k, static_cast<Eigen::Index>(b) + l);
        }
      }
    }
  }
}

void add_vectors(const CellTerms& terms, Eigen::Ref<Eigen::MatrixXd> sums) {
  for (std::size_t row = 0; row < terms.dofs.size(); row += 3) {
    sums.middleRows<3>(terms.dofs[row]) += terms.vectors.middleRows<3>(static_cast<Eigen::Index>(row));
  }
}

NodalPressures::NodalPressures(const BodyModel& body, const std::vector<bool>* own) : body_(body), own_(own) {
  if (body.pressures().kind() != PressureKind::nodal) return;
  for (std::size_t a = 0; a < body.pressures().size(); ++a) {
    couplings_.emplace_back(Eigen::Matrix3Xd::Zero(3, std::ssize(body.pressures().nodes(a))));
  }
}

void NodalPressures::add(const CellTerms& terms) {
  if (couplings_.empty()) return;
  const auto element = body_.mesh().element(terms.cell);
  const auto own = body_.pressures().of_element(terms.cell);
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own_ != nullptr && !(*own_)[own[k]]) continue;
    const auto nodes = body_.pressures().nodes(own[k]);
    for (std::size_t i = 0; i < element.size(); ++i) {
      const auto place = std::ranges::lower_bound(nodes, element[i]) - nodes.begin();
      couplings_[own[k]].col(place) +=
          terms.couplings.col(static_cast<Eigen::Index>(k)).segment<3>(3 * static_cast<Eigen::Index>(i));
    }
  }
}

void NodalPressures::add_stiffness(SparseMatrix& matrix, unsigned n_threads) const {
  if (couplings_.empty()) return;
  const PressureSpace& pressures = body_.pressures();
  // Every part owns its columns and adds all pressures in order: the bits do not depend on the threads.
  const auto add_to = [&](std::size_t begin, std::size_t end) {
    const auto contains = [&](std::uint32_t node) { return node >= begin && node < end; };
    for (std::size_t a = 0; a < pressures.size(); ++a) {
      const auto nodes = pressures.nodes(a);
      if (nodes.back() < begin || nodes.front() >= end) continue;
      // The square root on both factors makes the sum symmetric to the bit.
      const Eigen::Matrix3Xd b = std::sqrt(body_.pressure_lambda(a) / body_.pressure_volume(a)) * couplings_[a];
      for (std::size_t j = 0; j < nodes.size(); ++j) {
        if (!contains(nodes[j])) continue;
        for (Eigen::Index l = 0; l < 3; ++l) {
          const double factor = b(l, static_cast<Eigen::Index>(j));
          const std::int64_t column = 3 * static_cast<std::int64_t>(nodes[j]) + l;
          const std::int64_t* row = matrix.innerIndexPtr() + matrix.outerIndexPtr()[column];
          double* value = matrix.valuePtr() + matrix.outerIndexPtr()[column];
          // Both lists ascend: one pass over the column finds all nodes.
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::int64_t requested = 3 * static_cast<std::int64_t>(nodes[i]);
            while (*row != requested) {
              row += 3;
              value += 3;
            }
            for (Eigen::Index k = 0; k < 3; ++k) value[k] += factor * b(k, static_cast<Eigen::Index>(i));
          }
        }
      }
    }
  };
  body_.cells().parallel_for(body_.mesh().nodes.size(), add_to, n_threads);
}

}  // namespace heelstrike::fem
