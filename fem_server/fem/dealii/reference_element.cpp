#include "fem_server/fem/dealii/reference_element.hpp"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_wedge_p.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
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

/// Shape function of deal.II, which goes line by line, for each node of a square or a cube.
/// @param nodes  of hexahedra; those of a square are those of the bottom
template <int dim>
std::vector<unsigned> order_of(const dealii::FE_Q<dim>& element, std::span<const std::uint8_t> nodes) {
  const auto& points = element.get_unit_support_points();
  std::vector<unsigned> order;
  for (const std::uint8_t node : nodes) {
    dealii::Point<dim> wanted;
    for (unsigned k = 0; k < dim; ++k) wanted[k] = 0.5 * hexahedron_places[node][k];
    const auto found = std::ranges::find_if(points, [&](const auto& p) { return p.distance(wanted) < 1e-12; });
    if (found == points.end()) {
      throw Error(ErrorCode::internal, "deal.II has the nodes of squares and cubes at unexpected places");
    }
    order.push_back(static_cast<unsigned>(found - points.begin()));
  }
  return order;
}

/// Corners around the square, then the middles of its edges, then its own.
ShapeTable tabulate_quadrilateral(unsigned degree) {
  static constexpr std::array<std::uint8_t, 9> nodes{0, 1, 2, 3, 8, 9, 10, 11, 24};
  const dealii::FE_Q<2> element(degree);
  const auto own = std::span(nodes).first(element.n_dofs_per_cell());
  return tabulate<2>(element, dealii::QGauss<2>(degree + 1), order_of<2>(element, own));
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
  element.quadrilateral = tabulate_quadrilateral(1);
  return element;
}

ReferenceElement make_hexahedron(unsigned degree) {
  const dealii::FE_Q<3> solid(degree);
  const dealii::FE_Q<3> linear(1);
  std::array<std::uint8_t, 27> nodes{};
  std::iota(nodes.begin(), nodes.end(), std::uint8_t{0});
  const auto own = std::span(nodes).first(solid.n_dofs_per_cell());
  // A point more than the degree in each direction: exact on parallelepipeds.
  const dealii::QGauss<3> rule(degree + 1);
  ReferenceElement element;
  element.n_nodes = solid.n_dofs_per_cell();
  element.stiffness = tabulate<3>(solid, rule, order_of<3>(solid, own));
  element.corners = tabulate<3>(linear, rule, order_of<3>(linear, std::span(nodes).first(8))).values;
  element.mass = element.stiffness;
  element.quadrilateral = tabulate_quadrilateral(degree);
  return element;
}

}  // namespace

ReferenceElement tabulated_reference_element(std::uint32_t n_nodes) {
  if (n_nodes == 6) return make_prism();
  if (n_nodes == 8 || n_nodes == 27) return make_hexahedron(n_nodes == 8 ? 1 : 2);
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
