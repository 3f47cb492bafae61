#include "fem_server/fem/dealii/elastic_space.hpp"

#include <deal.II/base/mpi.h>
#include <deal.II/base/multithread_info.h>
#include <deal.II/base/parallel.h>
#include <deal.II/base/work_stream.h>
#include <deal.II/grid/reference_cell.h>
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/dealii/reference_element.hpp"

namespace heelstrike::fem {

namespace {

/// Mesh corner for each deal.II vertex: deal.II uses lexicographic order, VolumeMesh cyclic order. The permutation is
/// its own inverse.
std::span<const unsigned> vertex_order(std::size_t n_corners) {
  static constexpr std::array<unsigned, 8> alike{0, 1, 2, 3, 4, 5};
  static constexpr std::array<unsigned, 8> lexicographic_order{0, 1, 3, 2, 4, 5, 7, 6};
  return n_corners == 8 ? lexicographic_order : std::span(alike).first(n_corners);
}

/// Unknown numbers of a cell in deal.II order; one per thread.
struct CellScratch {
  std::vector<dealii::types::global_dof_index> dofs;
};

/// [B] of cell terms per WorkStream batch, chosen to fit the second-level cache.
constexpr std::size_t bytes_per_batch = 1U << 17U;
/// Below this number an additional thread costs more than it saves.
constexpr std::size_t min_cells_per_thread = 4096;

/// Calls work(n_threads) in a deal.II task arena limited to that width.
/// @param wanted  maximum number of threads, 0 = automatic; limited by deal.II (DEAL_II_NUM_THREADS)
template <class Work>
void within_threads(std::size_t n_items, unsigned requested, const Work& work) {
#ifdef __SANITIZE_THREAD__
  // Debian's TBB is built without the thread sanitizer, which therefore misses the synchronisation of its tasks.
  requested = 1;
#endif
  const std::size_t useful = requested > 0 ? requested : std::max<std::size_t>(1, n_items / min_cells_per_thread);
  const auto n = static_cast<unsigned>(std::min<std::size_t>(useful, dealii::MultithreadInfo::n_threads()));
  tbb::task_arena(static_cast<int>(n)).execute([&] { work(n); });
}

}  // namespace

void make_triangulation(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of,
                        std::span<const ElementFace> clamped, dealii::Triangulation<3>& triangulation) {
  // Vertices are the corners only: mid-side nodes follow from the degree of the element.
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
  const auto clamp = [&](std::span<const std::uint32_t> corners) {
    dealii::CellData<2> face(static_cast<unsigned>(corners.size()));
    for (std::size_t a = 0; a < corners.size(); ++a) face.vertices[a] = vertex_of[corners[a]];
    if (corners.size() == 4) std::swap(face.vertices[2], face.vertices[3]);  // lexicographic
    face.boundary_id = clamped_boundary;
    faces.boundary_quads.push_back(std::move(face));
  };
  for (const ElementFace face : clamped) {
    if (mesh.parts_of_side(face.face) == 1) {
      clamp(face_corners(mesh, face));
    } else if (mesh.part_of_side(face.face) == 0) {  // all parts are clamped, or none
      clamp(side_corners(mesh, face));
    }
  }
  triangulation.create_triangulation(vertices, cells, faces);
}

ElasticSpace::ElasticSpace(const dealii::Triangulation<3>& triangulation, std::uint32_t n_nodes)
    : element_(*scalar_element(n_nodes), 3), dofs_(triangulation) {
  const dealii::ReferenceCell cell = triangulation.get_reference_cells().front();
  if (cell != element_.reference_cell()) {
    throw input_error(
        "element",
        fmt::format("expected cells of kind {} for an element with {} nodes, found {}; use an element with the "
                    "same number of corners",
                    element_.reference_cell().to_string(), n_nodes, cell.to_string()));
  }
  const dealii::FiniteElement<3>& scalar = element_.base_element(0);
  for (const unsigned function : functions_of_nodes(scalar)) {
    unit_points_.push_back(scalar.get_unit_support_points()[function]);
    for (unsigned k = 0; k < 3; ++k) rows_.push_back(element_.component_to_system_index(k, function));
  }
  dofs_.distribute_dofs(element_);
}

void ElasticSpace::number_as(const VolumeMesh& mesh) {
  using Number = dealii::types::global_dof_index;
  constexpr auto none = dealii::numbers::invalid_dof_index;
  std::vector<Number> number(dofs_.n_dofs(), none);
  std::vector<bool> taken(3 * mesh.nodes.size(), false);
  std::vector<Number> own(rows_.size());
  bool alike = number.size() == taken.size();
  for (const auto& cell : dofs_.active_cell_iterators()) {
    cell->get_dof_indices(own);
    const auto nodes = mesh.element(cell->active_cell_index());
    for (std::size_t row = 0; row < rows_.size() && alike; ++row) {
      const auto requested = static_cast<Number>(3 * std::size_t{nodes[row / 3]} + row % 3);
      Number& given = number[own[rows_[row]]];
      alike = given == requested || (given == none && !taken[requested]);
      given = requested;
      taken[requested] = true;
    }
  }
  if (!alike) {
    throw input_error("mesh",
                      fmt::format("expected a conforming mesh, whose adjacent elements share exactly the nodes of "
                                  "their common edges and sides, found {} nodes where {} are needed or different "
                                  "nodes; remesh the body",
                                  mesh.nodes.size(), dofs_.n_dofs() / 3));
  }
  dofs_.renumber_dofs(number);
}

CellNodes ElasticSpace::straight_nodes(const Cell& cell) const {
  CellNodes places = CellNodes::Zero(3, static_cast<Eigen::Index>(unit_points_.size()));
  for (std::size_t a = 0; a < unit_points_.size(); ++a) {
    for (const unsigned v : cell->vertex_indices()) {
      const double weight = element_.reference_cell().d_linear_shape_function(unit_points_[a], v);
      for (unsigned k = 0; k < 3; ++k) places(k, static_cast<Eigen::Index>(a)) += weight * cell->vertex(v)[k];
    }
  }
  return places;
}

void ElasticSpace::sum(const Compute& compute, const AddCell& add, unsigned n_threads) const {
  const std::size_t n_rows = rows_.size();
  // An exception within WorkStream terminates the process: the first failure is stored, and the remaining cells are
  // skipped.
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  const auto attempt = [&](const auto& work) {
    if (failed) return;
    try {
      work();
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const auto compute_owned = [&](const Cell& cell, CellScratch& scratch, CellTerms& terms) {
    terms.dofs.clear();
    if (!cell->is_locally_owned()) return;
    attempt([&] {
      scratch.dofs.resize(n_rows);
      cell->get_dof_indices(scratch.dofs);
      terms.cell = cell->active_cell_index();
      for (const unsigned row : rows_) terms.dofs.push_back(static_cast<std::int64_t>(scratch.dofs[row]));
      compute(cell, terms);
    });
  };
  const auto add_owned = [&](const CellTerms& terms) {
    if (!terms.dofs.empty()) attempt([&] { add(terms); });
  };
  const std::size_t cells_per_batch = std::max<std::size_t>(1, bytes_per_batch / (sizeof(double) * n_rows * n_rows));
  within_threads(dofs_.get_triangulation().n_active_cells(), n_threads, [&](unsigned n) {
    dealii::WorkStream::run(dofs_.begin_active(), dofs_.end(), compute_owned, add_owned, CellScratch(), CellTerms(),
                            2 * n, static_cast<unsigned>(cells_per_batch));
  });
  if (failure) std::rethrow_exception(failure);
}

namespace {

/// Cells on one process.
class SerialCells final : public BodyCells {
 public:
  SerialCells(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of) {
    make_triangulation(mesh, material_of, {}, triangulation_);
    space_.emplace(triangulation_, mesh.nodes_per_element);
    space_->number_as(mesh);
  }

  void sum(const Compute& compute, const AddCell& add, unsigned n_threads) const override {
    space_->sum([&](const ElasticSpace::Cell&, CellTerms& terms) { compute(terms); }, add, n_threads);
  }

  void parallel_for(std::size_t n, const std::function<void(std::size_t, std::size_t)>& work,
                    unsigned n_threads) const override {
    within_threads(n, n_threads, [&](unsigned n_parts) {
      dealii::parallel::apply_to_subranges(std::size_t{0}, n, work, static_cast<unsigned>((n + n_parts - 1) / n_parts));
    });
  }

 private:
  dealii::Triangulation<3> triangulation_;
  std::optional<ElasticSpace> space_;
};

}  // namespace

std::unique_ptr<const BodyCells> serial_cells(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of) {
  try {
    return std::make_unique<const SerialCells>(mesh, material_of);
  } catch (const dealii::ExceptionBase& error) {
    throw input_error("mesh", fmt::format("expected a mesh that deal.II accepts, found its error: {}; remesh the body",
                                          error.what()));
  }
}

namespace {

template <class Given>
void reject_others(MPI_Comm communicator, std::string_view what, const Given& given) {
  const std::vector<Given> all = dealii::Utilities::MPI::all_gather(communicator, given);
  const auto other = std::ranges::find_if(all, [&](const Given& of_rank) { return of_rank != all.front(); });
  if (other == all.end()) return;
  throw input_error(std::string(what),
                    fmt::format("{}: expected identical values on all {} ranks, found a difference between rank {} "
                                "and rank 0; start all ranks with the same input",
                                what, all.size(), other - all.begin()));
}

}  // namespace

void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values) {
  reject_others(communicator, what, std::vector<double>(values.begin(), values.end()));
}

void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, const std::string& digest) {
  reject_others(communicator, what, digest);
}

}  // namespace heelstrike::fem
