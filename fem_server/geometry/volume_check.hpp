/// Validity of a volume mesh for finite elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

struct VolumeReport {
  std::size_t n_nodes = 0;
  std::size_t n_elements = 0;
  std::uint32_t nodes_per_element = 4;
  double volume = 0.0;                      ///< [m^3] sum over the elements, by element_volume()
  double min_quality = 0.0;                 ///< [-] smallest mean ratio; 1 regular, 0 flat, negative inverted
  double mean_quality = 0.0;                ///< [-]
  std::array<std::size_t, 10> histogram{};  ///< elements by mean ratio: [0, 0.1), ..., [0.9, 1]; inverted: first bin
  double min_edge_length = 0.0;             ///< [m]
  double max_edge = 0.0;                    ///< [m]
  std::vector<std::uint32_t> inverted;      ///< elements with a Jacobian below zero at a node
  std::vector<std::uint32_t> degenerate;    ///< elements with mean ratio below 1e-4, not inverted
  std::size_t n_unused_nodes = 0;
  std::size_t n_overfull_faces = 0;  ///< faces with more than two elements: overlapping or repeated elements
  std::size_t n_pieces = 0;          ///< parts connected through faces
  std::map<std::string, std::size_t> set_sizes;  ///< "element:NAME", "node:NAME", "face:NAME"
  std::vector<Vector3> where;                    ///< [m] centroids of the first few inverted, then degenerate elements

  [[nodiscard]] bool valid() const {
    return n_elements > 0 && inverted.empty() && degenerate.empty() && n_unused_nodes == 0 && n_overfull_faces == 0;
  }
};

[[nodiscard]] VolumeReport check_volume(const VolumeMesh& mesh);

/// Mean ratio of the corners of element `e`. Tetrahedron: 12 (3 |V|)^(2/3) / sum of squared edges with the sign of V
/// [liu1994]; 1 if regular. Hexahedron: minimum over the corners of 3 |det J|^(2/3) / ||J||^2 with the sign of det J,
/// where J holds the three edges at the corner [knupp2003]; 1 for the cube. Prism: likewise, relative to the prism with
/// equal edges; 1 for the latter.
[[nodiscard]] double mean_ratio(const VolumeMesh& mesh, std::size_t e);

[[nodiscard]] std::string describe(const VolumeReport& report);

/// @throws Error{invalid_input} that lists inverted and degenerate elements, unless the mesh is valid
void require_valid(const VolumeReport& report, const std::string& name);

}  // namespace heelstrike::fem
