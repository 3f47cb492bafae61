#include "fem_server/backends/fem_condensed/compliance_product.hpp"

#include "fem_server/fem/vector_clones.hpp"

namespace heelstrike::fem {

namespace {

/// The processor cannot foresee which blocks come next; asking for them early hides most of the memory's latency.
constexpr std::size_t ahead = 12;

inline void fetch(const double* column, const std::uint32_t* rows, std::size_t i, std::size_t n_rows) {
  if (i + ahead >= n_rows) return;
  const double* block = column + 9 * static_cast<std::size_t>(rows[i + ahead]);
  __builtin_prefetch(block);
  __builtin_prefetch(block + 8);
}

template <int n_fields>
inline void accumulate_column(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* force,
                              double* result) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* block = column + 9 * static_cast<std::size_t>(rows[i]);
    double* target = result + 3 * n_fields * i;
    for (int k = 0; k < 3; ++k) {
      for (int f = 0; f < n_fields; ++f) {
        target[k * n_fields + f] +=
            (block[k] * force[f] + block[3 + k] * force[n_fields + f]) + block[6 + k] * force[2 * n_fields + f];
      }
    }
  }
}

/// Column j of a symmetric matrix of blocks, with rows below j only: each block serves twice.
/// @param forces, result  of all nodes; the first of `rows` is that of the column itself
template <int n_fields>
inline void accumulate_both(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                            double* result) {
  const double* own = column + 9 * static_cast<std::size_t>(rows[0]);
  double sum[3 * n_fields];
  for (int k = 0; k < 3; ++k) {
    for (int f = 0; f < n_fields; ++f) {
      sum[k * n_fields + f] =
          (own[k] * forces[f] + own[3 + k] * forces[n_fields + f]) + own[6 + k] * forces[2 * n_fields + f];
    }
  }
  for (std::size_t i = 1; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* block = column + 9 * static_cast<std::size_t>(rows[i]);
    const double* force = forces + 3 * n_fields * i;
    double* target = result + 3 * n_fields * i;
    for (int k = 0; k < 3; ++k) {
      for (int f = 0; f < n_fields; ++f) {
        target[k * n_fields + f] +=
            (block[k] * forces[f] + block[3 + k] * forces[n_fields + f]) + block[6 + k] * forces[2 * n_fields + f];
        sum[k * n_fields + f] += (block[3 * k] * force[f] + block[3 * k + 1] * force[n_fields + f]) +
                                 block[3 * k + 2] * force[2 * n_fields + f];
      }
    }
  }
  for (int k = 0; k < 3 * n_fields; ++k) result[k] += sum[k];
}

HEELSTRIKE_VECTOR_CLONES
void accumulate_both_1(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  accumulate_both<1>(column, rows, n_rows, forces, result);
}
HEELSTRIKE_VECTOR_CLONES
void accumulate_both_4(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  accumulate_both<4>(column, rows, n_rows, forces, result);
}
HEELSTRIKE_VECTOR_CLONES
void accumulate_both_8(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  accumulate_both<8>(column, rows, n_rows, forces, result);
}

HEELSTRIKE_VECTOR_CLONES
void accumulate_1(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* force,
                  double* result) {
  accumulate_column<1>(column, rows, n_rows, force, result);
}
HEELSTRIKE_VECTOR_CLONES
void accumulate_4(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* force,
                  double* result) {
  accumulate_column<4>(column, rows, n_rows, force, result);
}
HEELSTRIKE_VECTOR_CLONES
void accumulate_8(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* force,
                  double* result) {
  accumulate_column<8>(column, rows, n_rows, force, result);
}

/// Adds m_i . C_ij f of one column of nodes.
HEELSTRIKE_VECTOR_CLONES
void add_projected_column(const double* column, const std::uint32_t* rows, std::size_t n_rows, const Vector3* normals,
                          const double* f, double* result) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* block = column + 9 * static_cast<std::size_t>(rows[i]);
    const double* m = normals[i].data();
    const double x = (block[0] * f[0] + block[3] * f[1]) + block[6] * f[2];
    const double y = (block[1] * f[0] + block[4] * f[1]) + block[7] * f[2];
    const double z = (block[2] * f[0] + block[5] * f[1]) + block[8] * f[2];
    result[i] += (m[0] * x + m[1] * y) + m[2] * z;
  }
}

/// F_i^T C_ij F_j of one column of nodes, into both triangles of a matrix with `n` rows.
/// @param frames  9 values per node, column-major; the first is that of the column
/// @param matrix  where the diagonal block of the column begins
HEELSTRIKE_VECTOR_CLONES
void project_blocks(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* frames,
                    std::size_t n, float* matrix) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* C = column + 9 * static_cast<std::size_t>(rows[i]);
    const double* F = frames + 9 * i;
    double CF[9];
    for (int b = 0; b < 3; ++b) {
      for (int k = 0; k < 3; ++k) {
        CF[3 * b + k] = (C[k] * frames[3 * b] + C[3 + k] * frames[3 * b + 1]) + C[6 + k] * frames[3 * b + 2];
      }
    }
    float* below = matrix + 3 * i;
    float* right = matrix + 3 * i * n;
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t a = 0; a < 3; ++a) {
        const auto value =
            static_cast<float>((F[3 * a] * CF[3 * b] + F[3 * a + 1] * CF[3 * b + 1]) + F[3 * a + 2] * CF[3 * b + 2]);
        below[b * n + a] = value;
        right[a * n + b] = value;
      }
    }
  }
}

template <int n_fields>
constexpr auto accumulate() {
  if constexpr (n_fields == 1) return &accumulate_1;
  if constexpr (n_fields == 4) return &accumulate_4;
  if constexpr (n_fields == 8) return &accumulate_8;
}

template <int n_fields>
constexpr auto accumulate_symmetric() {
  if constexpr (n_fields == 1) return &accumulate_both_1;
  if constexpr (n_fields == 4) return &accumulate_both_4;
  if constexpr (n_fields == 8) return &accumulate_both_8;
}

}  // namespace

template <int n_fields>
NodeFields<n_fields> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> rows,
                                  std::span<const std::uint32_t> columns, const NodeFields<n_fields>& forces) {
  NodeFields<n_fields> result = NodeFields<n_fields>::Zero(static_cast<Eigen::Index>(3 * rows.size()), n_fields);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    accumulate<n_fields>()(compliance.column(columns[j]), rows.data(), rows.size(), forces.data() + 3 * n_fields * j,
                           result.data());
  }
  return result;
}

template NodeFields<1> displacement<1>(const SurfaceCompliance&, std::span<const std::uint32_t>,
                                       std::span<const std::uint32_t>, const NodeFields<1>&);
template NodeFields<4> displacement<4>(const SurfaceCompliance&, std::span<const std::uint32_t>,
                                       std::span<const std::uint32_t>, const NodeFields<4>&);
template NodeFields<8> displacement<8>(const SurfaceCompliance&, std::span<const std::uint32_t>,
                                       std::span<const std::uint32_t>, const NodeFields<8>&);

template <int n_fields>
NodeFields<n_fields> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                  const NodeFields<n_fields>& forces) {
  NodeFields<n_fields> result = NodeFields<n_fields>::Zero(static_cast<Eigen::Index>(3 * nodes.size()), n_fields);
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    accumulate_symmetric<n_fields>()(compliance.column(nodes[j]), nodes.data() + j, nodes.size() - j,
                                     forces.data() + 3 * n_fields * j, result.data() + 3 * n_fields * j);
  }
  return result;
}

template NodeFields<1> displacement<1>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<1>&);
template NodeFields<4> displacement<4>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<4>&);
template NodeFields<8> displacement<8>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<8>&);

void normal_compliance(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                       std::span<const Vector3> normals, Eigen::Ref<Eigen::MatrixXd> matrix) {
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    const auto column = static_cast<Eigen::Index>(j);
    matrix.col(column).tail(matrix.rows() - column).setZero();
    add_projected_column(compliance.column(nodes[j]), nodes.data() + j, nodes.size() - j, normals.data() + j,
                         normals[j].data(), matrix.col(column).data() + column);
  }
}

std::vector<double> normal_displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> rows,
                                        std::span<const Vector3> normals, std::span<const std::uint32_t> columns,
                                        const Eigen::VectorXd& forces) {
  std::vector<double> result(rows.size(), 0.0);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    add_projected_column(compliance.column(columns[j]), rows.data(), rows.size(), normals.data(), forces.data() + 3 * j,
                         result.data());
  }
  return result;
}

Eigen::MatrixXf local_compliance(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                 std::span<const Matrix3> frames) {
  const std::size_t n = nodes.size();
  Eigen::MatrixXf B(static_cast<Eigen::Index>(3 * n), static_cast<Eigen::Index>(3 * n));
  for (std::size_t j = 0; j < n; ++j) {
    project_blocks(compliance.column(nodes[j]), nodes.data() + j, n - j, frames[j].data(), 3 * n,
                   B.data() + (3 * j) * (3 * n) + 3 * j);
  }
  return B;
}

}  // namespace heelstrike::fem
