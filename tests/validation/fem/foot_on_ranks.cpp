// Assembles and solves a foot under its own weight on the ranks that mpirun starts (a distributed triangulation, PETSc,
// MUMPS), and compares the displacements with those of this project's assembly and factorisation on one process.
//
//     mpirun -n N foot_on_ranks [--disagree]
//
// --disagree gives the last rank another material: every rank has to refuse. Ends with 0 when all is as expected.
#include <deal.II/base/mpi.h>
#include <deal.II/distributed/fully_distributed_tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria_description.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/petsc_solver.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#include <deal.II/lac/sparsity_tools.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/mesher.hpp"

namespace {

using namespace heelstrike;
using namespace heelstrike::fem;
namespace lac = dealii::PETScWrappers;

constexpr double size = 0.012;        // [m] edges: some thousand tetrahedra
constexpr double clamp_height = 0.0;  // [m] the ankle, as in the press test
constexpr double agreement =
    1e-10;  // of the largest displacement: 1e5 times the rounding of doubles for a stiffness of this condition
const Material tissue{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""};
const Vector3 gravity(0.0, 0.0, -9.81);

/// Displacement [m] at a place [m]; corners of both meshes are the same numbers.
using Displacements = std::map<std::array<double, 3>, std::array<double, 3>>;

std::vector<ElementFace> held_faces(const VolumeMesh& mesh) {
  std::vector<ElementFace> held = boundary_faces(mesh);
  std::erase_if(held, [&](const ElementFace& face) {
    const auto nodes = nodes_of_faces(mesh, {&face, 1});
    return std::ranges::any_of(nodes, [&](std::uint32_t node) { return mesh.nodes[node].z() < clamp_height; });
  });
  return held;
}

Displacements solve_here(const VolumeMesh& mesh) {
  const BodyModel body(mesh, std::vector<Material>{tissue});
  const std::vector<std::uint32_t> clamped = nodes_of_faces(mesh, held_faces(mesh));
  const std::vector<bool> fixed = clamped_dofs(body, clamped);
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < fixed.size(); ++dof) {
    if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  const SparseMatrix K = linear_stiffness(body);
  Eigen::MatrixXd acceleration(static_cast<Eigen::Index>(body.n_dofs()), 1);
  for (Eigen::Index n = 0; n < acceleration.rows() / 3; ++n) acceleration.block<3, 1>(3 * n, 0) = gravity;
  SparseCholesky factor(K, free, {});
  if (!factor.factorize(K)) throw Error(ErrorCode::internal, "the stiffness of the held foot is not positive definite");
  const Eigen::MatrixXd u = factor.solve(mass_times(body, acceleration));
  Displacements result;
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    const Vector3& p = mesh.nodes[n];
    const auto row = 3 * static_cast<Eigen::Index>(n);
    result[{p.x(), p.y(), p.z()}] = {u(row, 0), u(row + 1, 0), u(row + 2, 0)};
  }
  return result;
}

/// The cells of each rank alone; the first rank has read the mesh.
void distribute(const VolumeMesh& mesh, dealii::parallel::fullydistributed::Triangulation<3>& triangulation) {
  const MPI_Comm world = triangulation.get_communicator();
  const auto n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  triangulation.create_triangulation(
      dealii::TriangulationDescription::Utilities::create_description_from_triangulation_in_groups<3, 3>(
          [&](dealii::Triangulation<3>& whole) {
            make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), held_faces(mesh), whole);
          },
          [](dealii::Triangulation<3>& whole, const MPI_Comm& all, unsigned) {
            dealii::GridTools::partition_triangulation(dealii::Utilities::MPI::n_mpi_processes(all), whole);
          },
          world, static_cast<int>(n_ranks)));
}

/// Largest difference and largest value [m] at the nodes of this rank.
struct Difference {
  double largest = 0.0;
  double scale = 0.0;
};

Difference compare(const ElasticSpace& space, const lac::MPI::Vector& u, const Displacements& reference) {
  Difference difference;
  const auto& element = space.dofs().get_fe();
  std::vector<dealii::types::global_dof_index> dofs(element.n_dofs_per_cell());
  for (const auto& cell : space.dofs().active_cell_iterators()) {
    if (!cell->is_locally_owned()) continue;
    cell->get_dof_indices(dofs);
    for (unsigned i = 0; i < dofs.size(); ++i) {
      if (!u.in_local_range(dofs[i])) continue;
      const auto [component, corner] = element.system_to_component_index(i);
      const dealii::Point<3>& p = cell->vertex(corner);
      const double expected = reference.at({p[0], p[1], p[2]})[component];
      difference.scale = std::max(difference.scale, std::abs(expected));
      difference.largest = std::max(difference.largest, std::abs(u(dofs[i]) - expected));
    }
  }
  return difference;
}

lac::MPI::Vector solve_on_ranks(const ElasticSpace& space, const LameConstants& material, MPI_Comm world) {
  const dealii::IndexSet owned = space.dofs().locally_owned_dofs();
  dealii::IndexSet relevant;
  dealii::DoFTools::extract_locally_relevant_dofs(space.dofs(), relevant);
  dealii::AffineConstraints<double> held(relevant);
  dealii::DoFTools::make_zero_boundary_constraints(space.dofs(), held_boundary, held);
  held.close();
  dealii::DynamicSparsityPattern pattern(relevant);
  dealii::DoFTools::make_sparsity_pattern(space.dofs(), pattern, held, false);
  dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, world, relevant);
  lac::MPI::SparseMatrix K;
  K.reinit(owned, owned, pattern, world);
  lac::MPI::Vector f(owned, world);
  space.assemble(
      {&material, 1}, dealii::Tensor<1, 3>({gravity.x(), gravity.y(), gravity.z()}),
      [&](const CellTerms& terms) { held.distribute_local_to_global(terms.stiffness, terms.load, terms.dofs, K, f); });
  K.compress(dealii::VectorOperation::add);
  f.compress(dealii::VectorOperation::add);
  lac::MPI::Vector u(owned, world);
  dealii::SolverControl control;
  lac::SparseDirectMUMPS solver(control, world);
  solver.set_symmetric_mode(true);
  solver.solve(K, u, f);
  held.distribute(u);
  return u;
}

int run(bool disagree) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const unsigned rank = dealii::Utilities::MPI::this_mpi_process(world);
  const unsigned n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  LameConstants material = lame_constants(tissue);
  if (disagree && rank + 1 == n_ranks) material.mu *= 1.0 + 1e-12;
  check_same_on_all_ranks(world, "materials", std::array{material.mu, material.lambda, material.density});
  VolumeMesh mesh;
  Displacements reference;
  if (rank == 0) {
    MeshingOptions meshing;
    meshing.size.size = size;
    mesh = mesh_surface(make_foot(FootDimensions{}, size), meshing).mesh;
    reference = solve_here(mesh);
  }
  reference = dealii::Utilities::MPI::broadcast(world, reference);
  dealii::parallel::fullydistributed::Triangulation<3> triangulation(world);
  distribute(mesh, triangulation);
  const ElasticSpace space(triangulation, 1);
  const lac::MPI::Vector u = solve_on_ranks(space, material, world);
  const Difference here = compare(space, u, reference);
  const double largest = dealii::Utilities::MPI::max(here.largest, world);
  const double scale = dealii::Utilities::MPI::max(here.scale, world);
  const auto cells = dealii::Utilities::MPI::gather(world, triangulation.n_locally_owned_active_cells());
  if (rank == 0) {
    fmt::print("ranks {}, unknowns {}, cells per rank:", n_ranks, space.dofs().n_dofs());
    for (const unsigned n : cells) fmt::print(" {}", n);
    fmt::print("; largest displacement {:.6e} m, difference {:.2e} of it (limit {:.0e})\n", scale, largest / scale,
               agreement);
  }
  return scale > 0.0 && largest <= agreement * scale ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  const bool disagree = argc > 1 && std::string(argv[1]) == "--disagree";
  try {
    return run(disagree);
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    if (disagree) return e.code() == ErrorCode::invalid_input ? 0 : 1;
    return MPI_Abort(MPI_COMM_WORLD, 1);  // the others would wait for this rank
  }
}
