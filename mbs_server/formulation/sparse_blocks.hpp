/// Blocks of the system matrices.
#pragma once

#include <vector>

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/mass_properties.hpp"
#include "mbs_server/formulation/sparse_assembler.hpp"

namespace heelstrike::mbs {

/// Adds scale * A at (row0, col0), or its transpose.
inline void add_scaled(SparseAssembler& target, const SparseMatrix& A, int row0, int col0, double scale,
                       bool transposed) {
  for (int j = 0; j < A.outerSize(); ++j) {
    for (SparseMatrix::InnerIterator it(A, j); it; ++it) {
      const int r = static_cast<int>(transposed ? it.col() : it.row());
      const int c = static_cast<int>(transposed ? it.row() : it.col());
      target.add(row0 + r, col0 + c, scale * it.value());
    }
  }
}

/// Adds scale * M at (row0, col0), M = mass (x) I3 per body.
inline void add_mass(SparseAssembler& target, const std::vector<Matrix4>& mass, int row0 = 0, int col0 = 0,
                     double scale = 1.0) {
  for (std::size_t body = 0; body < mass.size(); ++body) {
    const int first = coordinates_per_body * static_cast<int>(body);
    for (int k = 0; k < 4; ++k) {
      for (int l = 0; l < 4; ++l) {
        for (int c = 0; c < 3; ++c) {
          target.add(row0 + first + 3 * k + c, col0 + first + 3 * l + c, scale * mass[body](k, l));
        }
      }
    }
  }
}

}  // namespace heelstrike::mbs
