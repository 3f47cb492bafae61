#include "fem_server/fem/dealii/reference_element.hpp"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_wedge_p.h>

#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// @param order  shape function of deal.II for each node; empty = the same
template <int dim>
ShapeTable tabulate(const dealii::FiniteElement<dim>& element, const dealii::Quadrature<dim>& rule,
                    const std::vector<unsigned>& order = {}) {
  ShapeTable table;
  const unsigned n = element.n_dofs_per_cell();
  for (unsigned q = 0; q < rule.size(); ++q) {
    Eigen::VectorXd values(n);
    Eigen::MatrixXd gradients(n, dim);
    for (unsigned a = 0; a < n; ++a) {
      const unsigned function = order.empty() ? a : order[a];
      values[a] = element.shape_value(function, rule.point(q));
      const auto gradient = element.shape_grad(function, rule.point(q));
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

/// deal.II numbers the corners of squares and cubes line by line, VolumeMesh around them.
const std::vector<unsigned> around_square{0, 1, 3, 2};

ShapeTable tabulate_quadrilateral() {
  return tabulate<2>(dealii::FE_Q<2>(1), dealii::QGauss<2>(2), around_square);
}

/// The bottom, then the top: as VolumeMesh.
ReferenceElement make_prism() {
  const dealii::FE_WedgeP<3> solid(1);
  for (unsigned i = 0; i < 6; ++i) {
    const dealii::Point<3> corner(i % 3 == 1 ? 1.0 : 0.0, i % 3 == 2 ? 1.0 : 0.0, i < 3 ? 0.0 : 1.0);
    if (solid.get_unit_support_points()[i].distance(corner) > 1e-12) {
      throw Error(ErrorCode::internal, "deal.II numbers the nodes of prisms in an unexpected order");
    }
  }
  ReferenceElement element;
  element.n_nodes = 6;
  // Three points of the triangle times two of the height: exact for products of shape functions on straight prisms with
  // parallel triangles.
  element.stiffness = tabulate<3>(solid, dealii::QGaussWedge<3>(2));
  element.corners = element.stiffness.values;
  element.mass = element.stiffness;
  element.triangle = tabulate<2>(dealii::FE_SimplexP<2>(1), dealii::QGaussSimplex<2>(2));
  element.quadrilateral = tabulate_quadrilateral();
  return element;
}

ReferenceElement make_hexahedron() {
  const std::vector<unsigned> around_cube{0, 1, 3, 2, 4, 5, 7, 6};
  const dealii::FE_Q<3> solid(1);
  for (unsigned i = 0; i < 8; ++i) {
    const dealii::Point<3> corner((i + 1) / 2 % 2, i / 2 % 2, i < 4 ? 0.0 : 1.0);
    if (solid.get_unit_support_points()[around_cube[i]].distance(corner) > 1e-12) {
      throw Error(ErrorCode::internal, "deal.II numbers the nodes of hexahedra in an unexpected order");
    }
  }
  ReferenceElement element;
  element.n_nodes = 8;
  // Two points in each direction: exact on parallelepipeds.
  element.stiffness = tabulate<3>(solid, dealii::QGauss<3>(2), around_cube);
  element.mass = element.stiffness;
  element.quadrilateral = tabulate_quadrilateral();
  return element;
}

}  // namespace

ReferenceElement tabulated_reference_element(std::uint32_t n_nodes) {
  if (n_nodes == 6) return make_prism();
  if (n_nodes == 8) return make_hexahedron();
  const unsigned degree = n_nodes == 4 ? 1 : 2;
  const dealii::FE_SimplexP<3> solid(degree);
  const dealii::FE_SimplexP<2> face(degree);
  check_numbering(solid);
  ReferenceElement element;
  element.n_nodes = n_nodes;
  // Linear shape functions have constant gradients: one point. Quadratic ones have linear gradients, whose products
  // need degree two; masses and faces integrate products of the functions themselves.
  element.stiffness = tabulate<3>(solid, dealii::QGaussSimplex<3>(degree));
  element.corners = tabulate<3>(dealii::FE_SimplexP<3>(1), dealii::QGaussSimplex<3>(degree)).values;
  element.mass = tabulate<3>(solid, dealii::QGaussSimplex<3>(degree + 1));
  element.triangle = tabulate<2>(face, dealii::QGaussSimplex<2>(degree + 1));
  return element;
}

}  // namespace heelstrike::fem
