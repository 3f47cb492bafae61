/// Distribution of a body over ranks: every rank assembles the elements of its share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Elements of a body, and those that share a pressure of them: the stiffness of the body is the sum over its shares.
struct BodyShare {
  BodyModel body;
  std::vector<std::uint32_t> nodes;  ///< number in the whole body of each node of this share, ascending
  std::vector<bool> own_cells;       ///< false: assembled by another rank; only completes pressures
  std::vector<bool> own_pressures;

  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] static BodyShare from_bytes(std::string_view bytes);
};

/// Splits the elements into shares of equal size with few common nodes, by a cluster tree of their centres.
[[nodiscard]] std::vector<BodyShare> shares_of(const BodyModel& body, std::size_t n_shares);

/// Contribution [N/m] of a share to the stiffness, in its own numbering. Symmetric.
[[nodiscard]] SparseMatrix own_stiffness(const BodyShare& share);

/// Block of the stiffness for some nodes, 3 rows each in their order, from the elements around them only.
/// @param nodes  ascending
[[nodiscard]] SparseMatrix stiffness_between(const BodyModel& body, std::span<const std::uint32_t> nodes);

/// Block of a matrix for some nodes. @param K  three rows for each node of a body
[[nodiscard]] SparseMatrix block_between(const SparseMatrix& K, std::span<const std::uint32_t> nodes);

}  // namespace heelstrike::fem
