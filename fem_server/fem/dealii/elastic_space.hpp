/// A linear elastic body as deal.II sees it, on one process or on many: cells, unknowns, and the sums over cells.
///
/// Nothing here holds an array over all nodes: with a distributed triangulation every rank has its own cells and a
/// layer around them.
#pragma once

#include <deal.II/base/quadrature.h>
#include <deal.II/base/tensor.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/fem/lame_constants.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Boundary id of the faces that make_triangulation() was told are held.
inline constexpr dealii::types::boundary_id held_boundary = 1;

/// The elements of a mesh by their corners: straight edges, whatever the degree of the mesh. Cell e is element e until
/// a partition orders cells anew.
/// @param material_of    becomes the cells' material id
/// @param held           faces that get `held_boundary`; all others have 0
/// @param triangulation  empty, of any kind that deal.II can fill from cells
void make_triangulation(const VolumeMesh& mesh, std::span<const std::uint32_t> material_of,
                        std::span<const ElementFace> held, dealii::Triangulation<3>& triangulation);

/// What one cell adds to the equations K u = f.
struct CellTerms {
  dealii::FullMatrix<double> stiffness;                 ///< [N/m]
  dealii::Vector<double> load;                          ///< [N]
  std::vector<dealii::types::global_dof_index> dofs{};  ///< global numbers of its rows
};

class ElasticSpace {
 public:
  /// Three displacements [m] to a node: FE_SimplexP on tetrahedra, FE_WedgeP on prisms, FE_Q on hexahedra, with the
  /// points of fem/dealii/reference_element.cpp for the stiffness. No pressures: as the kernel's elements without them.
  /// @param triangulation  of cells of one kind, the same on all ranks; must outlive this object
  /// @param degree         1, or 2 for tetrahedra
  ElasticSpace(const dealii::Triangulation<3>& triangulation, unsigned degree);

  [[nodiscard]] const dealii::DoFHandler<3>& dofs() const { return dofs_; }
  [[nodiscard]] const dealii::Mapping<3>& mapping() const { return mapping_; }

  /// Computes the terms of all cells that this rank owns, on all its processors, and hands them on one after the other
  /// in the order of the cells, whoever computed them: sums have the same bits for any number of threads.
  /// @param materials     by material id
  /// @param acceleration  [m/s^2] the load is density times this; zero costs nothing
  void assemble(std::span<const LameConstants> materials, const dealii::Tensor<1, 3>& acceleration,
                const std::function<void(const CellTerms&)>& add) const;

 private:
  std::unique_ptr<dealii::FiniteElement<3>> node_element_;  ///< of one component
  dealii::FESystem<3> element_;
  dealii::MappingFE<3> mapping_;
  dealii::Quadrature<3> stiffness_rule_;
  dealii::Quadrature<3> load_rule_;
  dealii::DoFHandler<3> dofs_;
};

/// Compares what all ranks of a communicator were given, before the ranks wait for each other in vain. Collective.
/// @param what    for the message, e.g. "materials"
/// @param values  numbers, e.g. of materials, supports and options
/// @throws Error{invalid_input} on every rank when they differ, with the first rank that has something else than rank 0
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, std::span<const double> values);
/// The same. @param digest  of what is large, e.g. of a mesh
void check_same_on_all_ranks(MPI_Comm communicator, std::string_view what, const std::string& digest);

}  // namespace heelstrike::fem
