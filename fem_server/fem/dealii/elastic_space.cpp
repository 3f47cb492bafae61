#include "fem_server/fem/dealii/elastic_space.hpp"

#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/work_stream.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_values.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr unsigned corners = 4;

/// What a thread computes cell terms with.
struct CellScratch {
  CellScratch(const dealii::Mapping<3>& mapping, const dealii::FiniteElement<3>& element,
              const dealii::Quadrature<3>& rule)
      : values(mapping, element, rule, dealii::update_values | dealii::update_gradients | dealii::update_JxW_values) {}
  CellScratch(const CellScratch& other)
      : values(other.values.get_mapping(), other.values.get_fe(), other.values.get_quadrature(),
               other.values.get_update_flags()) {}
  CellScratch& operator=(const CellScratch&) = delete;
  ~CellScratch() = default;

  dealii::FEValues<3> values;
};

/// lambda div u div w + 2 mu eps(u) : eps(w), by the rows' single components k, l and scalar gradients ga, gb:
/// lambda ga_k gb_l + mu (ga_l gb_k + (k == l) ga.gb).
void add_point(const dealii::FEValues<3>& values, unsigned q, const LameConstants& material,
               const dealii::Tensor<1, 3>& acceleration, CellTerms& terms) {
  const dealii::FiniteElement<3>& element = values.get_fe();
  const double weight = values.JxW(q);
  for (unsigned i = 0; i < element.n_dofs_per_cell(); ++i) {
    const unsigned k = element.system_to_component_index(i).first;
    const dealii::Tensor<1, 3>& ga = values.shape_grad(i, q);
    for (unsigned j = 0; j < element.n_dofs_per_cell(); ++j) {
      const unsigned l = element.system_to_component_index(j).first;
      const dealii::Tensor<1, 3>& gb = values.shape_grad(j, q);
      const double isotropic = k == l ? ga * gb : 0.0;
      terms.stiffness(i, j) += weight * (material.lambda * ga[k] * gb[l] + material.mu * (ga[l] * gb[k] + isotropic));
    }
    terms.load(i) += weight * material.density * acceleration[k] * values.shape_value(i, q);
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
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    dealii::CellData<3> cell(corners);
    for (unsigned a = 0; a < corners; ++a) {
      const std::uint32_t node = mesh.element(e)[a];
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
  for (const ElementFace face : held) {
    dealii::CellData<2> triangle(3);
    for (unsigned a = 0; a < 3; ++a) {
      triangle.vertices[a] = vertex_of[mesh.element(face.element)[tetrahedron_faces[face.face][a]]];
    }
    triangle.boundary_id = held_boundary;
    faces.boundary_quads.push_back(std::move(triangle));
  }
  triangulation.create_triangulation(vertices, cells, faces);
}

ElasticSpace::ElasticSpace(const dealii::Triangulation<3>& triangulation, unsigned degree)
    : element_(dealii::FE_SimplexP<3>(degree), 3), mapping_(dealii::FE_SimplexP<3>(1)), dofs_(triangulation) {
  dofs_.distribute_dofs(element_);
}

void ElasticSpace::assemble(std::span<const LameConstants> materials, const dealii::Tensor<1, 3>& acceleration,
                            const std::function<void(const CellTerms&)>& add) const {
  using Cell = dealii::DoFHandler<3>::active_cell_iterator;
  // Stiffness needs one degree less; the load integrates the functions themselves.
  const dealii::QGaussSimplex<3> rule(element_.degree + 1);
  const unsigned n = element_.n_dofs_per_cell();
  const auto compute = [&](const Cell& cell, CellScratch& scratch, CellTerms& terms) {
    terms.stiffness = 0.0;
    terms.load = 0.0;
    terms.dofs.resize(cell->is_locally_owned() ? n : 0);
    if (!cell->is_locally_owned()) return;
    cell->get_dof_indices(terms.dofs);
    scratch.values.reinit(cell);
    for (unsigned q = 0; q < rule.size(); ++q) {
      add_point(scratch.values, q, materials[cell->material_id()], acceleration, terms);
    }
  };
  const auto hand_on = [&](const CellTerms& terms) {
    if (!terms.dofs.empty()) add(terms);
  };
  dealii::WorkStream::run(dofs_.begin_active(), dofs_.end(), compute, hand_on, CellScratch(mapping_, element_, rule),
                          CellTerms{.stiffness = dealii::FullMatrix<double>(n, n), .load = dealii::Vector<double>(n)});
}

void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values) {
  const std::vector<std::vector<double>> all =
      dealii::Utilities::MPI::all_gather(communicator, std::vector<double>(values.begin(), values.end()));
  const auto other = std::ranges::find_if(all, [&](const auto& of_rank) { return of_rank != all.front(); });
  if (other == all.end()) return;
  throw input_error(std::string(what),
                    fmt::format("{}: expected the same on all {} ranks, found something else on rank {} than on rank "
                                "0; start all ranks with the same input",
                                what, all.size(), other - all.begin()));
}

}  // namespace heelstrike::fem
