#include "fem_server/contact_solver/kernels/compliance_product.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "fem_server/contact_solver/kernels/block_lanes.hpp"
#include "fem_server/fem/vector_clones.hpp"

namespace heelstrike::fem {

namespace {

#define HEELSTRIKE_INLINE inline __attribute__((always_inline))

/// Column j of a symmetric matrix of blocks, with rows below j only: each block is used twice. Component k of four
/// fields is one register, so the nine numbers of a block are broadcast once and used for all fields of a row and of
/// the column. Compared with the plain loop of plain_kernels.hpp: bench_kernels.
/// @tparam n_lanes  fields over four
/// @param forces, result  of all nodes; the first of `rows` is that of the column itself
template <std::size_t n_lanes>
HEELSTRIKE_INLINE void accumulate_both(const double* column, const std::uint32_t* rows, std::size_t n_rows,
                                       const double* forces, double* result) {
  constexpr std::size_t component = 4 * n_lanes;
  Lanes own_force[3][n_lanes];
  Lanes sum[3][n_lanes];
  const double* own = column + 9 * static_cast<std::size_t>(rows[0]);
  for (std::size_t l = 0; l < n_lanes; ++l) {
    for (std::size_t k = 0; k < 3; ++k) load(forces + component * k + 4 * l, own_force[k][l]);
    for (std::size_t k = 0; k < 3; ++k) {
      sum[k][l] = (own[k] * own_force[0][l] + own[3 + k] * own_force[1][l]) + own[6 + k] * own_force[2][l];
    }
  }
  for (std::size_t i = 1; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    const double* block = column + 9 * static_cast<std::size_t>(rows[i]);
    for (std::size_t l = 0; l < n_lanes; ++l) {
      const double* force = forces + 3 * component * i + 4 * l;
      double* target = result + 3 * component * i + 4 * l;
      Lanes x, y, z;
      load(force, x);
      load(force + component, y);
      load(force + 2 * component, z);
      for (std::size_t k = 0; k < 3; ++k) {
        add((block[k] * own_force[0][l] + block[3 + k] * own_force[1][l]) + block[6 + k] * own_force[2][l],
            target + component * k);
        sum[k][l] += (block[3 * k] * x + block[3 * k + 1] * y) + block[3 * k + 2] * z;
      }
    }
  }
  for (std::size_t l = 0; l < n_lanes; ++l) {
    for (std::size_t k = 0; k < 3; ++k) add(sum[k][l], result + component * k + 4 * l);
  }
}

#undef HEELSTRIKE_INLINE

HEELSTRIKE_VECTOR_CLONES
void accumulate_both_4(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  accumulate_both<1>(column, rows, n_rows, forces, result);
}

HEELSTRIKE_VECTOR_CLONES
void accumulate_both_8(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  accumulate_both<2>(column, rows, n_rows, forces, result);
}

/// One field, four numbers per node of which the last is undefined: with this padding a node is loaded and added as one
/// register. Wider registers and prefetching reduce the time to 0.31 to 0.46 of the plain loop; without wider registers
/// it is 0.7 to 1.5, without prefetching 0.5 for 500 nodes (bench_kernels).
/// @param forces, result  of all nodes; the first of `rows` is that of the column itself
HEELSTRIKE_VECTOR_CLONES
void accumulate_both_1(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* forces,
                       double* result) {
  BlockLanes C;
  Lanes change;
  load_block(column + 9 * static_cast<std::size_t>(rows[0]), C);
  times(C, forces, change);
  add(change, result);
  Lanes sum_x{};
  Lanes sum_y{};
  Lanes sum_z{};
  for (std::size_t i = 1; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    load_block(column + 9 * static_cast<std::size_t>(rows[i]), C);
    times(C, forces, change);
    add(change, result + 4 * i);
    Lanes force;
    load(forces + 4 * i, force);
    sum_x += C.x * force;
    sum_y += C.y * force;
    sum_z += C.z * force;
  }
  result[0] += sum_of_three(sum_x);
  result[1] += sum_of_three(sum_y);
  result[2] += sum_of_three(sum_z);
}

/// As accumulate_both_1. @param force  on the column's node
HEELSTRIKE_VECTOR_CLONES
void accumulate_1(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* force,
                  double* result) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    BlockLanes C;
    Lanes change;
    load_block(column + 9 * static_cast<std::size_t>(rows[i]), C);
    times(C, force, change);
    add(change, result + 4 * i);
  }
}
/// Adds m_i . C_ij f of one column of nodes. @param normals  four numbers per node, the last zero
HEELSTRIKE_VECTOR_CLONES
void add_projected_column(const double* column, const std::uint32_t* rows, std::size_t n_rows, const double* normals,
                          const double* f, double* result) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    fetch(column, rows, i, n_rows);
    BlockLanes C;
    Lanes u;
    Lanes normal;
    load_block(column + 9 * static_cast<std::size_t>(rows[i]), C);
    times(C, f, u);
    load(normals + 4 * i, normal);
    result[i] += sum_of_three(normal * u);
  }
}

/// Three numbers per node, as lanes: the fourth is zero.
std::vector<double> as_lanes(const double* numbers, std::size_t n_nodes) {
  std::vector<double> lanes(4 * n_nodes, 0.0);
  for (std::size_t i = 0; i < n_nodes; ++i) std::copy_n(numbers + 3 * i, 3, lanes.data() + 4 * i);
  return lanes;
}

NodeFields<1> from_lanes(const std::vector<double>& lanes) {
  const std::size_t n = lanes.size() / 4;
  NodeFields<1> numbers(static_cast<Eigen::Index>(3 * n));
  for (std::size_t i = 0; i < n; ++i) std::copy_n(lanes.data() + 4 * i, 3, numbers.data() + 3 * i);
  return numbers;
}

std::vector<double> normals_as_lanes(std::span<const Vector3> normals) {
  static_assert(sizeof(Vector3) == 3 * sizeof(double));
  return as_lanes(normals.empty() ? nullptr : normals.front().data(), normals.size());
}

/// Several loads share reads: a column used by more than one of them is read from memory once and then from the cache.
/// Each load still processes its own columns in ascending order, so its sums are identical to those of a single
/// load.
///
/// Calls visit(list, index) for the numbers of several ascending lists in ascending order.
template <class List, class Visit>
void for_each_ascending(const std::vector<List>& lists, Visit visit) {
  std::vector<std::size_t> next(lists.size(), 0);
  for (;;) {
    std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
    bool any = false;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      if (next[k] == lists[k].size()) continue;
      lowest = std::min(lowest, lists[k][next[k]]);
      any = true;
    }
    if (!any) return;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      if (next[k] < lists[k].size() && lists[k][next[k]] == lowest) visit(k, next[k]++);
    }
  }
}

}  // namespace

std::vector<NodeFields<1>> displacements(std::span<const LoadedNodes> loads) {
  const auto is_compressed = [](const LoadedNodes& load) { return load.compliance->compressed() != nullptr; };
  if (std::ranges::any_of(loads, is_compressed)) {
    std::vector<NodeFields<1>> each;
    for (const LoadedNodes& load : loads) {
      each.push_back(load.rows.empty() ? displacement<1>(*load.compliance, load.columns, load.forces)
                                       : displacement(*load.compliance, load.rows, load.columns, load.forces));
    }
    return each;
  }
  std::vector<std::vector<double>> forces;
  std::vector<std::vector<double>> sums;
  std::vector<std::span<const std::uint32_t>> columns;
  for (const LoadedNodes& load : loads) {
    forces.push_back(as_lanes(load.forces.data(), load.columns.size()));
    sums.emplace_back(4 * (load.rows.empty() ? load.columns.size() : load.rows.size()), 0.0);
    columns.push_back(load.columns);
  }
  for_each_ascending(columns, [&](std::size_t k, std::size_t j) {
    const LoadedNodes& load = loads[k];
    const double* column = load.compliance->column(load.columns[j]);
    const double* force = forces[k].data() + 4 * j;
    if (load.rows.empty()) {
      accumulate_both_1(column, load.columns.data() + j, load.columns.size() - j, force, sums[k].data() + 4 * j);
    } else {
      accumulate_1(column, load.rows.data(), load.rows.size(), force, sums[k].data());
    }
  });
  std::vector<NodeFields<1>> result;
  for (const std::vector<double>& sum : sums) result.push_back(from_lanes(sum));
  return result;
}

NodeFields<1> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> rows,
                           std::span<const std::uint32_t> columns, const NodeFields<1>& forces) {
  if (rows.empty()) return NodeFields<1>(0);
  if (compliance.compressed() != nullptr) return compliance.compressed()->product(rows, columns, forces);
  const LoadedNodes load{.compliance = &compliance, .rows = rows, .columns = columns, .forces = forces};
  return std::move(displacements({&load, 1}).front());
}

template <int n_fields>
NodeFields<n_fields> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                  const NodeFields<n_fields>& forces) {
  if constexpr (n_fields == 1) {
    if (compliance.compressed() != nullptr) return compliance.compressed()->product(nodes, nodes, forces);
    const LoadedNodes load{.compliance = &compliance, .rows = {}, .columns = nodes, .forces = forces};
    return std::move(displacements({&load, 1}).front());
  } else {
    NodeFields<n_fields> result = NodeFields<n_fields>::Zero(static_cast<Eigen::Index>(3 * nodes.size()), n_fields);
    constexpr auto accumulate = n_fields == 4 ? accumulate_both_4 : accumulate_both_8;
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      accumulate(compliance.column(nodes[j]), nodes.data() + j, nodes.size() - j, forces.data() + 3 * n_fields * j,
                 result.data() + 3 * n_fields * j);
    }
    return result;
  }
}

template NodeFields<1> displacement<1>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<1>&);
template NodeFields<4> displacement<4>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<4>&);
template NodeFields<8> displacement<8>(const SurfaceCompliance&, std::span<const std::uint32_t>, const NodeFields<8>&);

std::vector<Eigen::MatrixXd> delassus_matrices(std::span<const NormalBlocks> blocks) {
  std::vector<std::vector<double>> normals;
  std::vector<Eigen::MatrixXd> matrices;
  std::vector<std::span<const std::uint32_t>> columns;
  for (const NormalBlocks& own : blocks) {
    normals.push_back(normals_as_lanes(own.normals));
    const auto n = static_cast<Eigen::Index>(own.nodes.size());
    matrices.emplace_back(n, n);
    columns.push_back(own.nodes);
  }
  for_each_ascending(columns, [&](std::size_t k, std::size_t j) {
    const NormalBlocks& own = blocks[k];
    const std::size_t n_rows = own.nodes.size() - j;
    const auto at = static_cast<Eigen::Index>(j);
    double* column = matrices[k].col(at).data() + at;
    std::fill_n(column, n_rows, 0.0);
    add_projected_column(own.compliance->column(own.nodes[j]), own.nodes.data() + j, n_rows, normals[k].data() + 4 * j,
                         own.normals[j].data(), column);
  });
  return matrices;
}

}  // namespace heelstrike::fem
