// Assembles and solves bodies under their own weight on the ranks that mpirun starts (a distributed triangulation,
// PETSc, MUMPS), and compares the displacements with those of this project's assembly and factorisation on one process:
// a foot of linear and of quadratic tetrahedra, a block of prisms and one of hexahedra.
//
//     mpirun -n N foot_on_ranks [--disagree mesh|materials|supports|options]
//
// --disagree gives the last rank another input: every rank has to refuse it by that name. A rank ends with 0 when all
// is as expected, and mpirun with 0 when all ranks do.
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
#include "tests/unit/fem/test_meshes.hpp"

namespace {

using namespace heelstrike;
using namespace heelstrike::fem;
namespace lac = dealii::PETScWrappers;

constexpr double size = 0.012;  // [m] edges: some thousand tetrahedra
constexpr double agreement =
    1e-10;  // of the largest displacement: 1e5 times the rounding of doubles for a stiffness of this condition
const Material tissue{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""};
const Vector3 gravity(0.0, 0.0, -9.81);

/// Displacement [m] at a place [m]; corners of both meshes are the same numbers.
using Displacements = std::map<std::array<double, 3>, std::array<double, 3>>;

/// What every rank is given.
struct Input {
  std::string mesh;           ///< name of one of `bodies`
  double clamp_height = 0.0;  ///< [m] what is above is held
  unsigned degree = 1;
};

VolumeMesh foot() {
  MeshingOptions meshing;
  meshing.size.size = size;
  return mesh_surface(make_foot(FootDimensions{}, size), meshing).mesh;
}

VolumeMesh body_named(const std::string& name) {
  if (name == "foot of tet4") return foot();
  if (name == "foot of tet10") return to_quadratic(foot());
  const std::uint32_t corners = name == "block of wedge6" ? 6 : 8;
  return heelstrike::fem::test::block_mesh_of(corners, {0.0, 0.0, 0.0}, {0.1, 0.08, 0.06}, 10, 8, 6);
}

const std::vector<Input> bodies{{.mesh = "foot of tet4"},  // held at the ankle, as in the press test
                                {.mesh = "foot of tet10", .degree = 2},
                                {.mesh = "block of wedge6", .clamp_height = 0.06},
                                {.mesh = "block of hex8", .clamp_height = 0.06}};

std::vector<ElementFace> held_faces(const VolumeMesh& mesh, double clamp_height) {
  std::vector<ElementFace> held = boundary_faces(mesh);
  std::erase_if(held, [&](const ElementFace& face) {
    const auto nodes = nodes_of_faces(mesh, {&face, 1});
    return std::ranges::any_of(nodes, [&](std::uint32_t node) { return mesh.nodes[node].z() < clamp_height; });
  });
  return held;
}

/// Without pressures, as deal.II's elements here.
Displacements solve_here(const VolumeMesh& mesh, double clamp_height) {
  const BodyModel body(mesh, std::vector<Material>{tissue});
  const std::vector<std::uint32_t> clamped = nodes_of_faces(mesh, held_faces(mesh, clamp_height));
  const std::vector<bool> fixed = clamped_dofs(body, clamped);
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < fixed.size(); ++dof) {
    if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  const SparseMatrix K = linear_stiffness(body);
  Eigen::MatrixXd acceleration(static_cast<Eigen::Index>(body.n_dofs()), 1);
  for (Eigen::Index n = 0; n < acceleration.rows() / 3; ++n) acceleration.block<3, 1>(3 * n, 0) = gravity;
  SparseCholesky factor(K, free, {});
  if (!factor.factorize(K)) throw Error(ErrorCode::internal, "the stiffness of the held body is not positive definite");
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
void distribute(const VolumeMesh& mesh, double clamp_height,
                dealii::parallel::fullydistributed::Triangulation<3>& triangulation) {
  const MPI_Comm world = triangulation.get_communicator();
  const auto n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  triangulation.create_triangulation(
      dealii::TriangulationDescription::Utilities::create_description_from_triangulation_in_groups<3, 3>(
          [&](dealii::Triangulation<3>& whole) {
            make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), held_faces(mesh, clamp_height),
                               whole);
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

/// In the arithmetic of to_quadratic.
dealii::Point<3> middle(const dealii::TriaAccessor<1, 3, 3>& edge) {
  return dealii::Point<3>(0.5 * (edge.vertex(0) + dealii::Tensor<1, 3>(edge.vertex(1))));
}

Difference compare(const ElasticSpace& space, const lac::MPI::Vector& u, const Displacements& reference) {
  Difference difference;
  const auto& element = space.dofs().get_fe();
  std::vector<dealii::types::global_dof_index> dofs(element.n_dofs_per_cell());
  for (const auto& cell : space.dofs().active_cell_iterators()) {
    if (!cell->is_locally_owned()) continue;
    cell->get_dof_indices(dofs);
    for (unsigned i = 0; i < dofs.size(); ++i) {
      if (!u.in_local_range(dofs[i])) continue;
      const auto [component, node] = element.system_to_component_index(i);
      // Behind the corners come the middles of the edges.
      const unsigned n_corners = cell->n_vertices();
      const dealii::Point<3> p = node < n_corners ? cell->vertex(node) : middle(*cell->line(node - n_corners));
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

/// @param disagree  what the last rank is given otherwise; empty = nothing
bool solves_alike(Input input, const std::string& disagree) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const unsigned rank = dealii::Utilities::MPI::this_mpi_process(world);
  const unsigned n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  LameConstants material = lame_constants(tissue);
  if (rank + 1 == n_ranks) {
    if (disagree == "mesh") input.mesh = "another";
    if (disagree == "materials") material.mu *= 1.0 + 1e-12;
    if (disagree == "supports") input.clamp_height += 1e-12;
    if (disagree == "options") input.degree += 1;
  }
  // The name stands for the digest of a file: only the first rank reads it.
  check_same_on_all_ranks(world, "mesh", input.mesh);
  check_same_on_all_ranks(world, "materials", std::array{material.mu, material.lambda, material.density});
  check_same_on_all_ranks(world, "supports", std::array{input.clamp_height});
  check_same_on_all_ranks(world, "options", std::array{static_cast<double>(input.degree)});
  VolumeMesh mesh;
  Displacements reference;
  if (rank == 0) {
    mesh = body_named(input.mesh);
    reference = solve_here(mesh, input.clamp_height);
  }
  reference = dealii::Utilities::MPI::broadcast(world, reference);
  dealii::parallel::fullydistributed::Triangulation<3> triangulation(world);
  distribute(mesh, input.clamp_height, triangulation);
  const ElasticSpace space(triangulation, input.degree);
  const lac::MPI::Vector u = solve_on_ranks(space, material, world);
  const Difference here = compare(space, u, reference);
  const double largest = dealii::Utilities::MPI::max(here.largest, world);
  const double scale = dealii::Utilities::MPI::max(here.scale, world);
  const auto cells = dealii::Utilities::MPI::gather(world, triangulation.n_locally_owned_active_cells());
  if (rank == 0) {
    fmt::print("{}, ranks {}, unknowns {}, cells per rank:", input.mesh, n_ranks, space.dofs().n_dofs());
    for (const unsigned n : cells) fmt::print(" {}", n);
    fmt::print("; largest displacement {:.6e} m, difference {:.2e} of it (limit {:.0e})\n", scale, largest / scale,
               agreement);
  }
  return scale > 0.0 && largest <= agreement * scale;
}

/// @return whether this rank refuses what the last one was given, with its number
bool refuses(const std::string& disagree) {
  const unsigned last = dealii::Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD) - 1;
  try {
    (void)solves_alike(bodies.back(), disagree);
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return e.code() == ErrorCode::invalid_input && e.field() == disagree &&
           std::string(e.what()).find(fmt::format("on rank {}", last)) != std::string::npos;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  try {
    if (argc > 2 && std::string(argv[1]) == "--disagree") return refuses(argv[2]) ? 0 : 1;
    bool alike = true;
    for (const Input& body : bodies) alike = solves_alike(body, "") && alike;
    return alike ? 0 : 1;
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return MPI_Abort(MPI_COMM_WORLD, 1);  // the others would wait for this rank
  }
}
