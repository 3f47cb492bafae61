#include "fem_server/fem/reference_element.hpp"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_simplex_p.h>

#include "common/errors/error.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

namespace {

template <int dim>
ShapeTable tabulate(const dealii::FE_SimplexP<dim>& element, const dealii::Quadrature<dim>& rule) {
  ShapeTable table;
  const unsigned n = element.n_dofs_per_cell();
  for (unsigned q = 0; q < rule.size(); ++q) {
    Eigen::VectorXd values(n);
    Eigen::MatrixXd gradients(n, dim);
    for (unsigned a = 0; a < n; ++a) {
      values[a] = element.shape_value(a, rule.point(q));
      const auto gradient = element.shape_grad(a, rule.point(q));
      for (unsigned k = 0; k < dim; ++k) gradients(a, k) = gradient[k];
    }
    table.weights.push_back(rule.weight(q));
    table.values.push_back(values);
    table.gradients.push_back(gradients);
  }
  return table;
}

/// VolumeMesh and deal.II happen to number alike; a later deal.II that does not must not pass silently.
void check_numbering(const dealii::FE_SimplexP<3>& element) {
  const auto& points = element.get_unit_support_points();
  for (unsigned a = 4; a < points.size(); ++a) {
    const auto [first, second] = tetrahedron_edges[a - 4];
    const auto middle = 0.5 * (points[first] + points[second]);
    if (points[a].distance(dealii::Point<3>(middle)) > 1e-12) {
      throw Error(ErrorCode::internal, "deal.II numbers the nodes of quadratic tetrahedra in an unexpected order");
    }
  }
}

}  // namespace

ReferenceElement make_reference_element(std::uint32_t n_nodes) {
  const unsigned degree = n_nodes == 4 ? 1 : 2;
  const dealii::FE_SimplexP<3> solid(degree);
  const dealii::FE_SimplexP<2> face(degree);
  check_numbering(solid);
  ReferenceElement element;
  element.n_nodes = n_nodes;
  // Linear shape functions have constant gradients: one point. Quadratic ones have linear gradients, whose products
  // need degree two; masses and faces integrate products of the functions themselves.
  element.stiffness = tabulate(solid, dealii::QGaussSimplex<3>(degree));
  element.corners = tabulate(dealii::FE_SimplexP<3>(1), dealii::QGaussSimplex<3>(degree)).values;
  element.mass = tabulate(solid, dealii::QGaussSimplex<3>(degree + 1));
  element.face = tabulate(face, dealii::QGaussSimplex<2>(degree + 1));
  return element;
}

}  // namespace heelstrike::fem
