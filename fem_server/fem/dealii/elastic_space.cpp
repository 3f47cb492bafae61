#include "fem_server/fem/dealii/elastic_space.hpp"

#include <deal.II/base/mpi.h>
#include <deal.II/base/work_stream.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/fe_wedge_p.h>
#include <deal.II/grid/reference_cell.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// Corner of the mesh for each vertex of deal.II, which goes line by line where VolumeMesh goes around; its own
/// inverse.
std::span<const unsigned> vertex_order(std::size_t n_corners) {
  static constexpr std::array<unsigned, 8> alike{0, 1, 2, 3, 4, 5};
  static constexpr std::array<unsigned, 8> line_by_line{0, 1, 3, 2, 4, 5, 7, 6};
  return n_corners == 8 ? line_by_line : std::span(alike).first(n_corners);
}

std::unique_ptr<dealii::FiniteElement<3>> element_on(const dealii::ReferenceCell& cell, unsigned degree) {
  if (cell == dealii::ReferenceCells::Tetrahedron) return std::make_unique<dealii::FE_SimplexP<3>>(degree);
  if (cell == dealii::ReferenceCells::Wedge && degree == 1) return std::make_unique<dealii::FE_WedgeP<3>>(1);
  if (cell == dealii::ReferenceCells::Hexahedron && degree == 1) return std::make_unique<dealii::FE_Q<3>>(1);
  throw input_error("element", fmt::format("expected tetrahedra of degree 1 or 2, prisms or hexahedra of degree 1, "
                                           "found cells of kind {} and degree {}",
                                           cell.to_string(), degree));
}

/// Gradients of linear tetrahedra are constant: one point. All other elements, and all loads, take a degree more.
dealii::Quadrature<3> rule_on(const dealii::ReferenceCell& cell, unsigned degree, bool gradients) {
  const bool tetrahedra = cell == dealii::ReferenceCells::Tetrahedron;
  return cell.get_gauss_type_quadrature<3>(tetrahedra && gradients ? degree : degree + 1);
}

/// What a thread computes cell terms with. Of one component: the three have the same functions.
struct CellScratch {
  CellScratch(const dealii::Mapping<3>& mapping, const dealii::FiniteElement<3>& element,
              const dealii::Quadrature<3>& stiffness_rule, const dealii::Quadrature<3>& load_rule)
      : stiffness(mapping, element, stiffness_rule, dealii::update_gradients | dealii::update_JxW_values),
        load(mapping, element, load_rule, dealii::update_values | dealii::update_JxW_values) {}
  CellScratch(const CellScratch& other)
      : CellScratch(other.load.get_mapping(), other.load.get_fe(), other.stiffness.get_quadrature(),
                    other.load.get_quadrature()) {}
  CellScratch& operator=(const CellScratch&) = delete;
  ~CellScratch() = default;

  dealii::FEValues<3> stiffness;
  dealii::FEValues<3> load;
};

/// lambda div u div w + 2 mu eps(u) : eps(w), in blocks of two nodes' gradients ga, gb:
/// lambda ga gb^T + mu (gb ga^T + ga.gb I). Component k of node a is row 3 a + k: deal.II numbers so where each vertex
/// and line carries one node.
void add_stiffness(const dealii::FEValues<3>& values, const LameConstants& material, CellTerms& terms) {
  for (const unsigned q : values.quadrature_point_indices()) {
    for (const unsigned a : values.dof_indices()) {
      const dealii::Tensor<1, 3> ga = values.JxW(q) * values.shape_grad(a, q);
      for (const unsigned b : values.dof_indices()) {
        const dealii::Tensor<1, 3>& gb = values.shape_grad(b, q);
        const double isotropic = material.mu * (ga * gb);
        for (unsigned k = 0; k < 3; ++k) {
          for (unsigned l = 0; l < 3; ++l) {
            terms.stiffness(3 * a + k, 3 * b + l) += material.lambda * ga[k] * gb[l] + material.mu * ga[l] * gb[k];
          }
          terms.stiffness(3 * a + k, 3 * b + k) += isotropic;
        }
      }
    }
  }
}

void add_load(const dealii::FEValues<3>& values, const dealii::Tensor<1, 3>& force_density, CellTerms& terms) {
  for (const unsigned q : values.quadrature_point_indices()) {
    for (const unsigned a : values.dof_indices()) {
      const double weight = values.JxW(q) * values.shape_value(a, q);
      for (unsigned k = 0; k < 3; ++k) terms.load(3 * a + k) += weight * force_density[k];
    }
  }
}

}  // namespace

void make_triangulation(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of,
                        std::span<const ElementFace> held, dealii::Triangulation<3>& triangulation) {
  // Vertices are the corners only: middles of edges come with the degree of the element.
  constexpr auto none = static_cast<unsigned>(-1);
  std::vector<unsigned> vertex_of(mesh.nodes.size(), none);
  std::vector<dealii::Point<3>> vertices;
  std::vector<dealii::CellData<3>> cells;
  cells.reserve(mesh.n_elements());
  const std::span<const unsigned> order = vertex_order(mesh.corners_per_element());
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    dealii::CellData<3> cell(static_cast<unsigned>(order.size()));
    for (std::size_t a = 0; a < order.size(); ++a) {
      const std::uint32_t node = mesh.element(e)[order[a]];
      if (vertex_of[node] == none) {
        vertex_of[node] = static_cast<unsigned>(vertices.size());
        const Vector3& p = mesh.nodes[node];
        vertices.emplace_back(p.x(), p.y(), p.z());
      }
      cell.vertices[a] = vertex_of[node];
    }
    cell.material_id = material_of[e];
    cells.push_back(std::move(cell));
  }
  dealii::SubCellData faces;
  const auto hold = [&](std::span<const std::uint32_t> corners) {
    dealii::CellData<2> face(static_cast<unsigned>(corners.size()));
    for (std::size_t a = 0; a < corners.size(); ++a) face.vertices[a] = vertex_of[corners[a]];
    if (corners.size() == 4) std::swap(face.vertices[2], face.vertices[3]);  // line by line
    face.boundary_id = held_boundary;
    faces.boundary_quads.push_back(std::move(face));
  };
  for (const ElementFace face : held) {
    if (mesh.parts_of_side(face.face) == 1) {
      hold(face_corners(mesh, face));
    } else if (mesh.part_of_side(face.face) == 0) {  // all parts are held, or none
      hold(side_corners(mesh, face));
    }
  }
  triangulation.create_triangulation(vertices, cells, faces);
}

ElasticSpace::ElasticSpace(const dealii::Triangulation<3>& triangulation, unsigned degree)
    : node_element_(element_on(triangulation.get_reference_cells().front(), degree)),
      element_(*node_element_, 3),
      mapping_(*element_on(node_element_->reference_cell(), 1)),
      stiffness_rule_(rule_on(node_element_->reference_cell(), degree, true)),
      load_rule_(rule_on(node_element_->reference_cell(), degree, false)),
      dofs_(triangulation) {
  dofs_.distribute_dofs(element_);
}

void ElasticSpace::assemble(std::span<const LameConstants> materials, const dealii::Tensor<1, 3>& acceleration,
                            const std::function<void(const CellTerms&)>& add) const {
  using Cell = dealii::DoFHandler<3>::active_cell_iterator;
  const unsigned n = element_.n_dofs_per_cell();
  const bool loaded = acceleration.norm() > 0.0;
  const auto compute = [&](const Cell& cell, CellScratch& scratch, CellTerms& terms) {
    terms.stiffness = 0.0;
    terms.load = 0.0;
    terms.dofs.resize(cell->is_locally_owned() ? n : 0);
    if (!cell->is_locally_owned()) return;
    cell->get_dof_indices(terms.dofs);
    const LameConstants& material = materials[cell->material_id()];
    // As a cell without unknowns: its own are of three components.
    const dealii::Triangulation<3>::cell_iterator& place = cell;
    scratch.stiffness.reinit(place);
    add_stiffness(scratch.stiffness, material, terms);
    if (!loaded) return;
    scratch.load.reinit(place);
    add_load(scratch.load, material.density * acceleration, terms);
  };
  const auto hand_on = [&](const CellTerms& terms) {
    if (!terms.dofs.empty()) add(terms);
  };
  dealii::WorkStream::run(dofs_.begin_active(), dofs_.end(), compute, hand_on,
                          CellScratch(mapping_, *node_element_, stiffness_rule_, load_rule_),
                          CellTerms{.stiffness = dealii::FullMatrix<double>(n, n), .load = dealii::Vector<double>(n)});
}

namespace {

template <class Given>
void refuse_others(MPI_Comm communicator, std::string_view what, const Given& given) {
  const std::vector<Given> all = dealii::Utilities::MPI::all_gather(communicator, given);
  const auto other = std::ranges::find_if(all, [&](const Given& of_rank) { return of_rank != all.front(); });
  if (other == all.end()) return;
  throw input_error(std::string(what),
                    fmt::format("{}: expected the same on all {} ranks, found something else on rank {} than on rank "
                                "0; start all ranks with the same input",
                                what, all.size(), other - all.begin()));
}

}  // namespace

void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values) {
  refuse_others(communicator, what, std::vector<double>(values.begin(), values.end()));
}

void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, const std::string& digest) {
  refuse_others(communicator, what, digest);
}

}  // namespace heelstrike::fem
