#include "fem_server/backends/fem_condensed/compliance_product.hpp"

// Wider registers only: with contraction off and the fields as vector lanes, both clones round alike.
#ifdef __SANITIZE_THREAD__
// The choice between clones is made before the thread sanitizer's run time is there, and crashes when it is
// instrumented.
#define HEELSTRIKE_VECTOR_CLONES
#else
#define HEELSTRIKE_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#endif

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

HEELSTRIKE_VECTOR_CLONES
void project_column(const double* column, const std::uint32_t* rows, std::size_t n_rows, const Vector3* normals,
                    const double* n, double* result) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* block = column + 9 * static_cast<std::size_t>(rows[i]);
    const double* m = normals[i].data();
    const double x = (block[0] * n[0] + block[3] * n[1]) + block[6] * n[2];
    const double y = (block[1] * n[0] + block[4] * n[1]) + block[7] * n[2];
    const double z = (block[2] * n[0] + block[5] * n[1]) + block[8] * n[2];
    result[i] = (m[0] * x + m[1] * y) + m[2] * z;
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
    project_column(compliance.column(nodes[j]), nodes.data() + j, nodes.size() - j, normals.data() + j,
                   normals[j].data(), matrix.col(column).data() + column);
  }
}

}  // namespace heelstrike::fem
