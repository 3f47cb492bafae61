/// Integrals over one element with shape functions tabulated by deal.II.
///
/// The reason for not using FEValues is in docs/theory/finite_elements.md, section 2. The functions are independent of
/// the mesh and serve serial bodies and distributed cells alike.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/element_library.hpp"

namespace heelstrike::fem {

/// Isotropic material of one element.
struct LameConstants {
  double mu = 0.0;       ///< [Pa] shear modulus
  double lambda = 0.0;   ///< [Pa]
  double density = 0.0;  ///< [kg/m^3]
};

/// mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)).
/// @throws Error{invalid_input} unless E > 0, nu in [0, 0.5), density >= 0
[[nodiscard]] LameConstants lame_constants(const Material& material);

/// One vector for each node of an element, e.g. its position [m]: 3 x n_nodes, at most 27 nodes, on the stack.
using CellNodes = Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, 27>;
/// [1/m] n_nodes x 3
using CellGradients = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, 27, 3>;

/// Shape gradients and integration weight of one quadrature point in the reference shape.
struct QuadraturePoint {
  CellGradients gradients;
  double weight = 0.0;  ///< [m^3] not positive where the element is inverted; gradients are then absent
};
[[nodiscard]] QuadraturePoint point_geometry(const ShapeTable& table, const CellNodes& places, std::size_t point);

/// [-] gradient of the displacement u [m] of an element's nodes at a point.
[[nodiscard]] Matrix3 displacement_gradient(const QuadraturePoint& geometry, const CellNodes& u);

/// Number of pressures of an element.
[[nodiscard]] Eigen::Index n_cell_pressures(const ReferenceElement& reference, PressureKind kind);
/// [-] shape function of the pressure `k` of an element at a point of the stiffness rule.
[[nodiscard]] double pressure_value(const ReferenceElement& reference, PressureKind kind, std::size_t k,
                                    std::size_t point);

/// Adds the pressure-displacement coupling of a point: column k of `couplings` is incremented by the weight times the
/// value of pressure k times the gradients.
/// @param gradients  [1/m] gradients of the shape functions, in a deformed body with respect to the deformed position
void add_coupling_terms(const ReferenceElement& reference, PressureKind kind, std::size_t point, double weight,
                        const CellGradients& gradients, Eigen::MatrixXd& couplings);
/// Adds the stiffness of the condensed element pressure (PressureKind::element) to the element matrix.
void condense_pressure(const LameConstants& constants, double volume, CellTerms& terms);

/// Adds lambda div u div w + 2 mu eps(u) : eps(w) of one quadrature point to the matrix of an element.
void add_linear_point(const QuadraturePoint& geometry, const LameConstants& constants, Eigen::MatrixXd& matrix);

/// Linear elastic stiffness [N/m] of an element: matrix and couplings of `terms`. With nodal pressures it contains the
/// mu part only; the pressure part needs the couplings of all adjacent cells.
void linear_cell(const ReferenceElement& reference, PressureKind kind, const CellNodes& places,
                 const LameConstants& constants, CellTerms& terms);

/// Consistent mass [kg] between the nodes of an element, identical in the three directions.
[[nodiscard]] Eigen::MatrixXd cell_mass(const ReferenceElement& reference, const CellNodes& places, double density);

}  // namespace heelstrike::fem
