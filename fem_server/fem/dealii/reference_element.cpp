#include "fem_server/fem/dealii/reference_element.hpp"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_wedge_p.h>
#include <deal.II/grid/reference_cell.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// @param order  shape function of deal.II for each node; empty = identical order
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

/// Shape function with the value one at each position.
template <int dim>
std::vector<unsigned> functions_at(const dealii::FiniteElement<dim>& element,
                                   const std::vector<dealii::Point<dim>>& places) {
  const auto& points = element.get_unit_support_points();
  std::vector<unsigned> functions;
  for (const dealii::Point<dim>& place : places) {
    const auto found = std::ranges::find_if(points, [&](const auto& p) { return p.distance(place) < 1e-12; });
    if (found == points.end()) {
      throw Error(ErrorCode::internal, fmt::format("deal.II's {} has no node at the position of a mesh "
                                                   "node",
                                                   element.get_name()));
    }
    functions.push_back(static_cast<unsigned>(found - points.begin()));
  }
  return functions;
}

dealii::Point<3> place_in_cube(std::uint8_t node) {
  const auto& [x, y, z] = hexahedron_places[node];
  return {0.5 * x, 0.5 * y, 0.5 * z};
}

/// Reference positions of the nodes of an element, in the order of VolumeMesh.
std::vector<dealii::Point<3>> places_in_reference(std::uint32_t n_nodes) {
  std::vector<dealii::Point<3>> places;
  if (n_nodes == 8 || n_nodes == 27) {
    for (std::uint8_t node = 0; node < n_nodes; ++node) places.push_back(place_in_cube(node));
    return places;
  }
  const std::array<dealii::Point<3>, 3> triangle{dealii::Point<3>(0, 0, 0), {1, 0, 0}, {0, 1, 0}};
  places.assign(triangle.begin(), triangle.end());
  const dealii::Tensor<1, 3> up({0.0, 0.0, 1.0});
  if (n_nodes == 6) {
    for (const auto& corner : triangle) places.push_back(corner + up);
    return places;
  }
  places.push_back(triangle[0] + up);
  for (std::size_t edge = 0; places.size() < n_nodes; ++edge) {
    const auto [first, second] = tetrahedron_edges[edge];
    places.emplace_back(0.5 * (places[first] + places[second]));
  }
  return places;
}

/// Corners in cyclic order, then the mid-side nodes, then the centre.
ShapeTable tabulate_quadrilateral(unsigned degree) {
  static constexpr std::array<std::uint8_t, 9> nodes{0, 1, 2, 3, 8, 9, 10, 11, 24};  // bottom of a hexahedron
  const dealii::FE_Q<2> element(degree);
  std::vector<dealii::Point<2>> places;
  for (const std::uint8_t node : std::span(nodes).first(element.n_dofs_per_cell())) {
    places.emplace_back(place_in_cube(node)[0], place_in_cube(node)[1]);
  }
  return tabulate<2>(element, dealii::QGauss<2>(degree + 1), functions_at<2>(element, places));
}

}  // namespace

std::unique_ptr<dealii::FiniteElement<3>> scalar_element(std::uint32_t n_nodes) {
  if (n_nodes == 6) return std::make_unique<dealii::FE_WedgeP<3>>(1);
  if (n_nodes == 8 || n_nodes == 27) return std::make_unique<dealii::FE_Q<3>>(n_nodes == 8 ? 1 : 2);
  return std::make_unique<dealii::FE_SimplexP<3>>(n_nodes == 4 ? 1 : 2);
}

std::vector<unsigned> functions_of_nodes(const dealii::FiniteElement<3>& element) {
  return functions_at<3>(element, places_in_reference(element.n_dofs_per_cell()));
}

ReferenceElement tabulated_reference_element(std::uint32_t n_nodes) {
  const auto solid = scalar_element(n_nodes);
  const auto cell = solid->reference_cell();
  const unsigned degree = solid->tensor_degree();
  const bool tetrahedra = cell == dealii::ReferenceCells::Tetrahedron;
  // Linear shape functions of tetrahedra have constant gradients: one point. Quadratic ones have linear gradients,
  // whose products need degree two. Masses and faces integrate products of the functions themselves. Hexahedra use
  // degree + 1 points per direction, prisms likewise times three points of the triangle: exact on parallelepipeds and
  // on straight prisms with parallel triangles.
  const auto rule = cell.get_gauss_type_quadrature<3>(tetrahedra ? degree : degree + 1);
  const auto linear = scalar_element(cell.n_vertices());
  ReferenceElement element;
  element.n_nodes = n_nodes;
  element.stiffness = tabulate<3>(*solid, rule, functions_of_nodes(*solid));
  element.corners = tabulate<3>(*linear, rule, functions_of_nodes(*linear)).values;
  element.mass = tetrahedra ? tabulate<3>(*solid, dealii::QGaussSimplex<3>(degree + 1), functions_of_nodes(*solid))
                            : element.stiffness;
  if (cell != dealii::ReferenceCells::Hexahedron) {
    // Triangles use the node order of deal.II.
    const dealii::FE_SimplexP<2> face(degree);
    element.triangle = tabulate<2>(face, dealii::QGaussSimplex<2>(degree + 1));
  }
  if (!tetrahedra) element.quadrilateral = tabulate_quadrilateral(degree);
  return element;
}

}  // namespace heelstrike::fem
