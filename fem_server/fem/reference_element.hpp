/// Shape functions of tetrahedra, prisms and hexahedra and their faces at quadrature points, tabulated once by deal.II.
/// Nodes are numbered as in VolumeMesh.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace heelstrike::fem {

/// A quadrature rule on a reference simplex, prism or cube with the shape functions at its points.
struct ShapeTable {
  std::vector<double> weights;             ///< [-] they sum to the reference volume (1/6; 1/2; 1) or area (1/2; 1)
  std::vector<Eigen::VectorXd> values;     ///< per point: n_nodes
  std::vector<Eigen::MatrixXd> gradients;  ///< per point: n_nodes x dimension, with respect to reference coordinates
};

/// Tables of a Lagrange tetrahedron with 4 or 10 nodes, of the prism with 6, or of the hexahedron with 8 or 27.
struct ReferenceElement {
  std::uint32_t n_nodes = 4;
  ShapeTable
      stiffness;  ///< exact for constant strain energy (4 nodes) or quadratic integrands (10 nodes, straight sides)
  std::vector<Eigen::VectorXd> corners;  ///< [-] linear shape functions of the corners at the points of
                                         ///< `stiffness`
  ShapeTable mass;                       ///< exact for products of two shape functions (straight sides)
  ShapeTable triangle;                   ///< side with 3 or 6 nodes: corners, then mid-sides of (0,1), (1,2), (2,0)
  ShapeTable quadrilateral;              ///< side with 4 or 9 nodes: corners, mid-sides of (0,1), (1,2), (2,3),
                                         ///< (3,0), centre
};

/// @pre n_nodes is 4, 6, 8, 10 or 27
/// @throws Error{internal} if the node numbering of deal.II does not match VolumeMesh
[[nodiscard]] ReferenceElement make_reference_element(std::uint32_t n_nodes);

}  // namespace heelstrike::fem
