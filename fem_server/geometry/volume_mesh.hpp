/// Meshes of tetrahedra, prisms or hexahedra with named sets; independent of any finite-element library.
///
/// Sets selected by position and direction.
///
/// Node numbering of a mesh. The surface compliance is stored node by node in this order, and a contact evaluation
/// reads the blocks of the contact nodes; contiguous storage makes this faster.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Triangular face of an element: a side, half of a side with four nodes, or an eighth of a side with nine nodes.
struct ElementFace {
  std::uint32_t element = 0;
  /// Tetrahedron: 0..3, see `tetrahedron_faces`. Prism: 0 and 1 are the triangles, then 2 + 2 side + half, 2..7.
  /// Hexahedron: 2 side + half, 0..11, or with 27 nodes 8 side + eighth, 0..47.
  std::uint8_t face = 0;
  auto operator<=>(const ElementFace&) const = default;
};

/// Corners of the faces of a tetrahedron, counterclockwise seen from outside; face i is face S(i+1) of Abaqus.
inline constexpr std::array<std::array<std::uint8_t, 3>, 4> tetrahedron_faces{
    {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}}};
/// Mid-side nodes of a face of a quadratic tetrahedron: between its corners 0 and 1, 1 and 2, 2 and 0.
inline constexpr std::array<std::array<std::uint8_t, 3>, 4> tetrahedron_face_middles{
    {{6, 5, 4}, {4, 8, 7}, {5, 9, 8}, {7, 9, 6}}};

/// End points of the edges that carry the nodes 4..9 of a quadratic tetrahedron (order of VTK and Abaqus).
inline constexpr std::array<std::array<std::uint8_t, 2>, 6> tetrahedron_edges{
    {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}}};

/// Corners of the triangles of a prism, counterclockwise seen from outside: faces S1 and S2 of Abaqus.
inline constexpr std::array<std::array<std::uint8_t, 3>, 2> prism_triangles{{{0, 2, 1}, {3, 4, 5}}};
/// Corners of the quadrilateral sides of a prism, counterclockwise seen from outside: faces S3 to S5 of Abaqus.
inline constexpr std::array<std::array<std::uint8_t, 4>, 3> prism_sides{{{0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}};
/// Neighbours of each corner of a prism along its edges, the last one on the other triangle, so that their triple
/// product is positive.
inline constexpr std::array<std::array<std::uint8_t, 3>, 6> prism_neighbours{
    {{1, 2, 3}, {2, 0, 4}, {0, 1, 5}, {5, 4, 0}, {3, 5, 1}, {4, 3, 2}}};

/// Corners of the sides of a hexahedron, counterclockwise seen from outside; side i is face S(i+1) of Abaqus.
inline constexpr std::array<std::array<std::uint8_t, 4>, 6> hexahedron_sides{
    {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}};
/// Neighbours of each corner of a hexahedron along its edges, so that their triple product is positive.
inline constexpr std::array<std::array<std::uint8_t, 3>, 8> hexahedron_neighbours{
    {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7}, {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}}};

/// Nodes of the sides of a hexahedron with 27 nodes: those between the corners of `hexahedron_sides` 0 and 1, 1 and 2,
/// 2 and 3, 3 and 0, then the centre node.
inline constexpr std::array<std::array<std::uint8_t, 5>, 6> hexahedron_side_middles{{{11, 10, 9, 8, 24},
                                                                                     {12, 13, 14, 15, 25},
                                                                                     {8, 17, 12, 16, 22},
                                                                                     {9, 18, 13, 17, 21},
                                                                                     {10, 19, 14, 18, 23},
                                                                                     {11, 16, 15, 19, 20}}};
/// End points of the edges that carry the nodes 8..19 of a hexahedron with 20 or 27 nodes (order of VTK and Abaqus).
inline constexpr std::array<std::array<std::uint8_t, 2>, 12> hexahedron_edges{
    {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}};
/// Node positions of a hexahedron in halves of its edges, from node 0 towards 1, 3 and 4. The last seven nodes lie at
/// the centres of the sides and of the element (order of VTK's triquadratic hexahedron).
inline constexpr std::array<std::array<std::uint8_t, 3>, 27> hexahedron_places{
    {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2}, {0, 2, 2}, {1, 0, 0},
     {2, 1, 0}, {1, 2, 0}, {0, 1, 0}, {1, 0, 2}, {2, 1, 2}, {1, 2, 2}, {0, 1, 2}, {0, 0, 1}, {2, 0, 1},
     {2, 2, 1}, {0, 2, 1}, {0, 1, 1}, {2, 1, 1}, {1, 0, 1}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, {1, 1, 1}}};
/// Node of a hexahedron at a position of `hexahedron_places`.
[[nodiscard]] constexpr std::uint8_t hexahedron_node(const std::array<std::uint8_t, 3>& place) {
  std::uint8_t node = 0;
  while (hexahedron_places[node] != place) ++node;
  return node;
}

/// Topology of the elements with a given number of nodes; one line for each in volume_mesh.cpp.
struct ElementTopology {
  std::uint32_t n_nodes;
  std::string_view shapes;        ///< e.g. "tetrahedra"
  std::uint8_t n_corners;         ///< the first nodes
  std::uint8_t n_triangles;       ///< sides with three corners, the first ones
  std::uint8_t n_quadrilaterals;  ///< sides with four corners
  std::uint8_t n_parts;           ///< triangular faces into which a quadrilateral side is split
  std::uint32_t
      n_nodes_quadratic;  ///< of the quadratic element of this shape, or of the element itself if quadratic; 0 = none
  int vtk_type;
  int gmsh_type;

  [[nodiscard]] bool quadratic() const { return n_nodes > n_corners; }
};

/// @throws Error{internal} for an unsupported number of nodes
[[nodiscard]] const ElementTopology& element_topology(std::uint32_t n_nodes);

/// Splits a quadrilateral side into two triangles. The diagonal starts at the corner with the smallest number, so that
/// both adjacent elements split the side identically.
[[nodiscard]] std::array<Triangle, 2> split_quadrilateral(const std::array<std::uint32_t, 4>& side);

/// "tetrahedra", "prisms" or "hexahedra".
[[nodiscard]] std::string_view element_shapes(std::uint32_t nodes_per_element);

/// Tetrahedra of one order, prisms with 6 nodes, or hexahedra with 8 or 27: the bottom counterclockwise seen from
/// above, then the top (order of Abaqus and Gmsh; VTK numbers hexahedra so, and prisms from the top). Tetrahedra are
/// numbered so that (x1 - x0) x (x2 - x0) . (x3 - x0) > 0. Nodes 4..9 lie on the edges (0,1), (1,2), (0,2), (0,3),
/// (1,3), (2,3). For hexahedra with 27 nodes see `hexahedron_places`.
struct VolumeMesh {
  std::vector<Vector3> nodes;               ///< [m]
  std::uint32_t nodes_per_element = 4;      ///< tetrahedra 4 or 10, prisms 6, hexahedra 8 or 27
  std::vector<std::uint32_t> connectivity;  ///< n_elements() * nodes_per_element indices into `nodes`
  std::map<std::string, std::vector<std::uint32_t>> element_sets;  ///< sorted, without repetitions
  std::map<std::string, std::vector<std::uint32_t>> node_sets;     ///< sorted, without repetitions
  std::map<std::string, std::vector<ElementFace>> face_sets;       ///< sorted, without repetitions
  std::vector<std::string> notes;  ///< changes and omissions by the reader or mesher, one sentence each

  [[nodiscard]] const ElementTopology& topology() const { return element_topology(nodes_per_element); }
  [[nodiscard]] bool hexahedral() const { return topology().n_corners == 8; }
  [[nodiscard]] bool prismatic() const { return topology().n_corners == 6; }
  [[nodiscard]] std::uint8_t faces_per_element() const {
    return static_cast<std::uint8_t>(topology().n_triangles + topology().n_quadrilaterals * topology().n_parts);
  }
  [[nodiscard]] std::uint8_t sides_per_element() const {
    return static_cast<std::uint8_t>(topology().n_triangles + topology().n_quadrilaterals);
  }
  [[nodiscard]] std::size_t corners_per_element() const { return topology().n_corners; }
  /// Number of faces into which the side of a face is split: 1, or for a quadrilateral side 2 halves or 8 eighths.
  [[nodiscard]] std::uint8_t parts_of_side(std::uint8_t face) const {
    return face < topology().n_triangles ? std::uint8_t{1} : topology().n_parts;
  }
  /// Index of a face among the parts of its side. @pre parts_of_side(face) > 1
  [[nodiscard]] std::uint8_t part_of_side(std::uint8_t face) const {
    return static_cast<std::uint8_t>((face - topology().n_triangles) % topology().n_parts);
  }
  [[nodiscard]] std::size_t n_elements() const { return connectivity.size() / nodes_per_element; }
  [[nodiscard]] std::span<const std::uint32_t> element(std::size_t e) const {
    return {connectivity.data() + e * nodes_per_element, nodes_per_element};
  }
};

/// [m^3] signed volume enclosed by the faces of element `e`.
[[nodiscard]] double element_volume(const VolumeMesh& mesh, std::size_t e);

/// [m] mean of the corner positions.
[[nodiscard]] Vector3 element_center(const VolumeMesh& mesh, std::size_t e);

/// Corners of the side that contains a face, counterclockwise seen from outside.
/// @pre mesh.parts_of_side(face.face) > 1
[[nodiscard]] std::array<std::uint32_t, 4> side_corners(const VolumeMesh& mesh, ElementFace face);

/// All nodes of the side of a face: corners counterclockwise seen from outside, then, where present, the mid-edge nodes
/// between 0 and 1, 1 and 2 and so on, and the centre node. Order of the tables of ReferenceElement.
/// @pre mesh.nodes_per_element is not 20: such meshes are completed on reading
[[nodiscard]] std::vector<std::uint32_t> side_nodes(const VolumeMesh& mesh, ElementFace face);

/// Faces of side `side` (S(side + 1) of Abaqus): one, or its parts. @pre side < mesh.sides_per_element()
[[nodiscard]] std::vector<std::uint8_t> faces_of_side(const VolumeMesh& mesh, std::uint8_t side);

/// Faces that belong to one element only, sorted.
[[nodiscard]] std::vector<ElementFace> boundary_faces(const VolumeMesh& mesh);

/// Corners of a face, counterclockwise seen from outside; for an eighth of a side with nine nodes: a corner of the side
/// first, then the nodes beside it and at the centre.
[[nodiscard]] Triangle face_corners(const VolumeMesh& mesh, ElementFace face);

/// Boundary as a surface. `vertex_nodes[v]` is the node of vertex v. Mid-side nodes of tetrahedra are omitted.
struct Boundary {
  SurfaceMesh surface;
  std::vector<std::uint32_t> vertex_nodes;
  std::vector<ElementFace> faces;  ///< face of each triangle
};
[[nodiscard]] Boundary boundary_surface(const VolumeMesh& mesh);

/// All nodes of a set of faces, mid-side nodes included; sorted.
[[nodiscard]] std::vector<std::uint32_t> nodes_of_faces(const VolumeMesh& mesh, std::span<const ElementFace> faces);

/// Removes nodes that no element uses (e.g. centres of circles) and updates the sets. @return number of removed nodes
std::size_t remove_unused_nodes(VolumeMesh& mesh);

/// Adds nodes at the midpoints of the straight edges of a linear mesh; hexahedra are then completed(). A mid-side node
/// is added to a node set when both ends of its edge belong to the set.
/// @throws Error{internal} unless the mesh consists of tetrahedra with 4 nodes or hexahedra with 8
[[nodiscard]] VolumeMesh to_quadratic(const VolumeMesh& mesh);

/// Completes hexahedra with 20 nodes by side and centre nodes at the positions given by the 20 shape functions: for a
/// side, half the sum of its mid-edge nodes less a quarter of the sum of its corners; for the centre, a quarter of the
/// sum of all mid-edge nodes less a quarter of the sum of all corners. Adjacent elements share the side node; it is
/// added to a node set when the eight nodes around it belong to the set. Face sets are updated.
/// @pre mesh.nodes_per_element == 20
[[nodiscard]] VolumeMesh completed(VolumeMesh mesh);

/// Boundary faces for which `inside(centroid [m], outward unit normal)` is true; sorted.
[[nodiscard]] std::vector<ElementFace> select_boundary_faces(
    const VolumeMesh& mesh, const std::function<bool(const Vector3&, const Vector3&)>& inside);

/// Adds the faces as a face set and their nodes as a node set. @throws Error{invalid_input} when there are no faces
void add_surface_set(VolumeMesh& mesh, const std::string& name, const std::vector<ElementFace>& faces);

/// Renumbers the nodes from the outermost layer along `direction` inwards, in each layer along the longest extent of
/// the body normal to it, so that nodes in contact with a partner on that side form few contiguous runs. Sets are
/// updated; elements keep their order.
/// @param direction  any nonzero length
/// @param layer      [m] > 0 thickness, approximately the node spacing
void number_from(VolumeMesh& mesh, const Vector3& direction, double layer);

}  // namespace heelstrike::fem
