/// Displacement space of a body in deal.II, serial or distributed: cells, unknowns, and sums over cells.
///
/// No array spans all nodes: with a distributed triangulation every rank holds only its own cells and a ghost layer.
#pragma once

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/grid/tria.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/fem/cell_kernels.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Boundary id of the clamped faces passed to make_triangulation().
inline constexpr dealii::types::boundary_id clamped_boundary = 1;

/// Triangulation from the corners of the elements: straight edges for any degree of the mesh. Cell e is element e until
/// a partition reorders the cells.
/// @param material_of    becomes the material id of the cells
/// @param clamped           faces that get `clamped_boundary`; all others have 0
/// @param triangulation  empty, of any type that deal.II can create from cells
void make_triangulation(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of,
                        std::span<const ElementFace> clamped, dealii::Triangulation<3>& triangulation);

class ElasticSpace {
 public:
  using Cell = dealii::DoFHandler<3>::active_cell_iterator;

  /// Three displacements [m] per node: FE_SimplexP on tetrahedra, FE_WedgeP on prisms, FE_Q on hexahedra.
  /// @param triangulation  cells of one kind, identical on all ranks; must outlive this object
  /// @param n_nodes        per cell: 4 or 10, 6, 8 or 27
  /// @throws Error{invalid_input} when the number of corners of the cells does not match
  ElasticSpace(const dealii::Triangulation<3>& triangulation, std::uint32_t n_nodes);

  [[nodiscard]] const dealii::DoFHandler<3>& dofs() const { return dofs_; }

  /// Numbers the unknowns as in the source mesh of the triangulation: 3 n + k is node n in direction k.
  /// @pre one process has all cells
  /// @throws Error{invalid_input} when adjacent cells do not share their common nodes
  void number_as(const VolumeMesh& mesh);

  /// [m] node positions of a cell with straight edges.
  [[nodiscard]] CellNodes straight_nodes(const Cell& cell) const;

  /// Computes the terms of a cell; called concurrently. See BodyCells.
  using Compute = std::function<void(const Cell& cell, CellTerms& terms)>;
  /// Sum over all locally owned cells by WorkStream.
  /// @param n_threads  as BodyCells::sum
  void sum(const Compute& compute, const AddCell& add, unsigned n_threads = 0) const;

 private:
  dealii::FESystem<3> element_;
  std::vector<dealii::Point<3>> unit_points_;  ///< of the nodes of a cell, in the order of VolumeMesh
  std::vector<unsigned> rows_;                 ///< unknown of the element for each row of CellTerms
  dealii::DoFHandler<3> dofs_;
};

/// ElementLibrary::body_cells inside the module.
[[nodiscard]] std::unique_ptr<const BodyCells> serial_cells(const VolumeMesh& mesh,
                                                            std::span<const std::uint32_t> material_of);

/// Compares the inputs of all ranks of a communicator, because differing inputs would cause a deadlock. Collective.
/// @param what    for the message, e.g. "materials"
/// @param values  numbers, e.g. of materials, supports and options
/// @throws Error{invalid_input} on every rank when they differ, with the first rank that differs from rank 0
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values);
/// Likewise. @param digest  of large data, e.g. of a mesh
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, const std::string& digest);

}  // namespace heelstrike::fem
