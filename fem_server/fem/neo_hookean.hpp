/// Compressible neo-Hookean material, and the discrete equations of a body with any law.
///
///     Psi = mu/2 (tr C - 3) - mu ln J + lambda/2 (ln J)^2,     P = mu (F - F^-T) + lambda ln J F^-T
///
/// [bonet2008, section 6.4]; for small strain it is Hooke's law with the same mu and lambda.
#pragma once

#include <Eigen/Core>
#include <span>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/material_law.hpp"

namespace heelstrike::fem {

/// [Pa] first Piola-Kirchhoff stress. @pre det F > 0
[[nodiscard]] Matrix3 first_piola_stress(const LameConstants& constants, const Matrix3& F);

/// [Pa] Cauchy stress P F^T / J. @pre det F > 0
[[nodiscard]] Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& F);

/// [J/m^3] Psi. @pre det F > 0
[[nodiscard]] double strain_energy_density(const LameConstants& constants, const Matrix3& F);

/// PointHistoryVariables of all quadrature points, element by element; elements of elastic laws have none.
struct BodyHistoryVariables {
  std::span<const double> values{};  ///< empty = never loaded
  double dt = 0.0;                   ///< [s] >= 0 since the commit

  [[nodiscard]] PointHistoryVariables at(std::size_t first, std::size_t size) const {
    return {.values = values.empty() ? values : values.subspan(first, size), .dt = dt};
  }
};
/// Number of history variables of a body; 0 for elastic laws.
[[nodiscard]] std::size_t memory_size(const BodyModel& body, const MaterialLaws& laws);

/// Cauchy stresses at a displacement. @param u  [m] n_dofs
[[nodiscard]] StressColumns stress(const BodyModel& body, const MaterialLaws& laws, const Eigen::VectorXd& u,
                                   const BodyHistoryVariables& memory = {});

/// History update of a body at a commit with the displacement `u`.
struct HistoryUpdate {
  Eigen::VectorXd values;   ///< memory_size(body, laws) numbers
  double dissipated = 0.0;  ///< [J] >= 0 since the previous commit
};
[[nodiscard]] HistoryUpdate update_history_variables(const BodyModel& body, const MaterialLaws& laws,
                                                     const Eigen::VectorXd& u, const BodyHistoryVariables& memory);

/// Internal forces [N] of an element (vectors of `terms`, one column), their derivative (matrix), energy and couplings.
/// With nodal pressures the derivative omits the pressure part, which needs the couplings of all adjacent cells.
/// @param u       [m] displacements of the element nodes
/// @param memory  of the points of the element
/// @param mixed   [-] in a mixed body the volume change interpolated from its pressures at each point; otherwise empty
void deformed_cell(const ReferenceElement& reference, PressureKind kind, const CellNodes& places, const CellNodes& u,
                   const PointLaw& law, const LameConstants& constants, const BodyHistoryVariables& memory,
                   std::span<const double> mixed, CellTerms& terms);

/// Internal forces of a body at a displacement and their derivative.
struct BodyEquations {
  Eigen::VectorXd force;  ///< [N] n_dofs
  double energy = 0.0;    ///< [J]
  bool valid = true;      ///< false: the law is undefined at some point; force and tangent are then incomplete
};

/// @param u          [m] displacement, n_dofs
/// @param tangent    derivative of the force; pattern of sparsity_pattern(body); values are overwritten
/// @param n_threads  as in BodyCells::sum; no influence on the bits
[[nodiscard]] BodyEquations assemble_equations(const BodyModel& body, const MaterialLaws& laws,
                                               const Eigen::VectorXd& u, SparseMatrix& tangent, unsigned n_threads = 0,
                                               const BodyHistoryVariables& memory = {});

}  // namespace heelstrike::fem
