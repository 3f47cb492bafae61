/// A body's displacements as deal.II sees them, on one process or on many: cells, unknowns, and the sums over cells.
///
/// Nothing here holds an array over all nodes: with a distributed triangulation every rank has its own cells and a
/// layer around them.
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

#include "fem_server/fem/body_cells.hpp"
#include "fem_server/fem/cell_kernels.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Boundary id of the faces that make_triangulation() was told are held.
inline constexpr dealii::types::boundary_id clamped_boundary = 1;

/// The elements of a mesh by their corners: straight edges, whatever the degree of the mesh. Cell e is element e until
/// a partition orders cells anew.
/// @param material_of    becomes the cells' material id
/// @param held           faces that get `clamped_boundary`; all others have 0
/// @param triangulation  empty, of any kind that deal.II can fill from cells
void make_triangulation(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of,
                        std::span<const ElementFace> held, dealii::Triangulation<3>& triangulation);

class ElasticSpace {
 public:
  using Cell = dealii::DoFHandler<3>::active_cell_iterator;

  /// Three displacements [m] to a node: FE_SimplexP on tetrahedra, FE_WedgeP on prisms, FE_Q on hexahedra.
  /// @param triangulation  of cells of one kind, the same on all ranks; must outlive this object
  /// @param n_nodes        of a cell: 4 or 10, 6, 8 or 27
  /// @throws Error{invalid_input} when the cells have another number of corners
  ElasticSpace(const dealii::Triangulation<3>& triangulation, std::uint32_t n_nodes);

  [[nodiscard]] const dealii::DoFHandler<3>& dofs() const { return dofs_; }

  /// Numbers the unknowns as the mesh that the triangulation was made of: 3 n + k is node n in direction k.
  /// @pre one process has all cells
  /// @throws Error{invalid_input} when cells that meet do not have the same nodes there
  void number_as(const VolumeMesh& mesh);

  /// [m] where the nodes of a cell are when its edges are straight.
  [[nodiscard]] CellNodes straight_nodes(const Cell& cell) const;

  /// Computes the terms of a cell; called for several at once. See BodyCells.
  using Compute = std::function<void(const Cell& cell, CellTerms& terms)>;
  /// The sum over all cells that this rank owns, by WorkStream.
  /// @param n_threads  as BodyCells::sum
  void sum(const Compute& compute, const AddCell& add, unsigned n_threads = 0) const;

 private:
  dealii::FESystem<3> element_;
  std::vector<dealii::Point<3>> unit_points_;  ///< of the nodes of a cell, in the order of VolumeMesh
  std::vector<unsigned> rows_;                 ///< unknown of the element for each row of CellTerms
  dealii::DoFHandler<3> dofs_;
};

/// ElementLibrary::body_cells on this side of the module's border.
[[nodiscard]] std::unique_ptr<const BodyCells> serial_cells(const VolumeMesh& mesh,
                                                            std::span<const std::uint32_t> material_of);

/// Compares what all ranks of a communicator were given, before the ranks wait for each other in vain. Collective.
/// @param what    for the message, e.g. "materials"
/// @param values  numbers, e.g. of materials, supports and options
/// @throws Error{invalid_input} on every rank when they differ, with the first rank that has something else than rank 0
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values);
/// The same. @param digest  of what is large, e.g. of a mesh
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, const std::string& digest);

}  // namespace heelstrike::fem
