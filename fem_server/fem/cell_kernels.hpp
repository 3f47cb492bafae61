/// Integrals over one element, with shape functions that deal.II has tabulated.
///
/// Why not by its FEValues: docs/theory/finite_elements.md, section 2. No mesh in here: the same functions serve bodies
/// of one process and cells of many.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "common/spatial/spatial.hpp"
#include "fem_server/fem/body_cells.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/lame_constants.hpp"
#include "fem_server/fem/reference_element.hpp"

namespace heelstrike::fem {

/// A vector for each node of an element, e.g. its place [m]: 3 x n_nodes, of at most 27 nodes, on the stack.
using CellNodes = Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, 27>;
/// [1/m] n_nodes x 3
using CellGradients = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, 27, 3>;

/// Shape gradients and integration weight of one quadrature point in the reference shape.
struct PointGeometry {
  CellGradients gradients;
  double weight = 0.0;  ///< [m^3] not positive where the element is inside out; there are then no gradients
};
[[nodiscard]] PointGeometry point_geometry(const ShapeTable& table, const CellNodes& places, std::size_t point);

/// [-] gradient of the displacement u [m] of an element's nodes at a point.
[[nodiscard]] Matrix3 displacement_gradient(const PointGeometry& geometry, const CellNodes& u);

/// Pressures that an element has.
[[nodiscard]] Eigen::Index n_cell_pressures(const ReferenceElement& reference, PressureKind kind);
/// [-] shape function of the pressure `k` of an element at a point of the stiffness rule.
[[nodiscard]] double pressure_value(const ReferenceElement& reference, PressureKind kind, std::size_t k,
                                    std::size_t point);

/// Adds what the pressures of an element have of the volume at a point: column k of `couplings` gets the weight times
/// the value of pressure k times the gradients.
/// @param gradients  [1/m] that the volume changes by: those of the shape functions, or in a deformed body those with
///                   respect to the deformed place
void add_coupling_terms(const ReferenceElement& reference, PressureKind kind, std::size_t point, double weight,
                   const CellGradients& gradients, Eigen::MatrixXd& couplings);
/// Adds the stiffness that the pressure of one element alone leaves (PressureKind::element) to the element's matrix.
void condense_pressure(const LameConstants& constants, double volume, CellTerms& terms);

/// Adds lambda div u div w + 2 mu eps(u) : eps(w) of one quadrature point to the matrix of an element.
void add_linear_point(const PointGeometry& geometry, const LameConstants& constants, Eigen::MatrixXd& matrix);

/// Linear elastic stiffness [N/m] of an element: matrix and couplings of `terms`. With nodal pressures it is the part
/// of mu alone; theirs needs the couplings of all cells around them.
void linear_cell(const ReferenceElement& reference, PressureKind kind, const CellNodes& places,
                 const LameConstants& constants, CellTerms& terms);

/// Consistent mass [kg] between the nodes of an element, alike in the three directions.
[[nodiscard]] Eigen::MatrixXd cell_mass(const ReferenceElement& reference, const CellNodes& places, double density);

}  // namespace heelstrike::fem
