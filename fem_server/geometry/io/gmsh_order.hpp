/// Node order of quadratic elements in Gmsh [geuzaine2009] (reference manual, section "Node ordering").
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace heelstrike::fem::io {

/// Node of VolumeMesh for each node of Gmsh; the first 20 also apply to 20-node hexahedra. Tetrahedra: edge (2,3)
/// before (1,3). Hexahedra: edges (0,1), (0,3), (0,4), (1,2), (1,5), (2,3), (2,6), (3,7), (4,5), (4,7), (5,6), (6,7).
inline constexpr std::array<std::uint8_t, 10> gmsh_tetrahedron{0, 1, 2, 3, 4, 5, 6, 7, 9, 8};
inline constexpr std::array<std::uint8_t, 27> gmsh_hexahedron{0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 16, 9,  17, 10,
                                                              18, 19, 12, 15, 13, 14, 24, 22, 20, 21, 23, 25, 26};

/// Empty for elements that Gmsh and VolumeMesh number identically.
[[nodiscard]] inline std::span<const std::uint8_t> gmsh_order(std::size_t n_nodes) {
  if (n_nodes == 10) return gmsh_tetrahedron;
  if (n_nodes == 20 || n_nodes == 27) return std::span(gmsh_hexahedron).first(n_nodes);
  return {};
}

[[nodiscard]] inline std::vector<std::uint32_t> to_gmsh(std::span<const std::uint32_t> element) {
  std::vector<std::uint32_t> result(element.begin(), element.end());
  const auto order = gmsh_order(element.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[i] = element[order[i]];
  return result;
}

[[nodiscard]] inline std::vector<std::uint32_t> from_gmsh(std::span<const std::uint32_t> nodes) {
  std::vector<std::uint32_t> result(nodes.begin(), nodes.end());
  const auto order = gmsh_order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = nodes[i];
  return result;
}

}  // namespace heelstrike::fem::io
