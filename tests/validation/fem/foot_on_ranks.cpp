// Assembles and solves bodies under their own weight on the ranks started by mpirun (a distributed triangulation,
// PETSc, MUMPS), and compares the displacements with those of the servers' assembly and factorisation on one process: a
// foot of linear and of curved quadratic tetrahedra, blocks of prisms and of hexahedra with 8 and 27 nodes. The sum
// over cells and the integrals over each are the same code in both, the cells, numbers and supports are not.
//
// mpirun -n N foot_on_ranks [--disagree mesh|materials|supports|options]
//
// --disagree gives the last rank another input: every rank has to reject it by that name. A rank ends with 0 when all
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
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace {

using namespace heelstrike;
using namespace heelstrike::fem;
namespace lac = dealii::PETScWrappers;

constexpr double size = 0.012;  // [m] edges: several thousand tetrahedra
constexpr double agreement =
    1e-10;  // of the largest displacement: 1e5 times the rounding of doubles for a stiffness of this condition
const Material tissue{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""};
const Vector3 gravity(0.0, 0.0, -9.81);

/// A position in 1e-7 m: both meshes have the same numbers there except for rounding.
using Place = std::array<std::int64_t, 3>;
Place location_of(const Vector3& p) {
  return {std::llround(1e7 * p.x()), std::llround(1e7 * p.y()), std::llround(1e7 * p.z())};
}
/// Displacement [m] at the position of a node while the edges are straight.
using Displacements = std::map<Place, std::array<double, 3>>;

/// Input of every rank.
struct Input {
  std::string mesh;           ///< name of one of `bodies`
  double clamp_height = 0.0;  ///< [m] clamped above
  std::uint32_t n_nodes = 4;  ///< of an element
  PressureKind pressure = PressureKind::pointwise;
  bool deformed = false;  ///< the stiffness is that of the neo-Hookean law at `deformation`
};

/// Position of a node whose position in the straight mesh is p: quadratic elements are curved.
Vector3 curved(const Vector3& p) {
  return p + Vector3(0.3 * p.z() * p.z(), 0.0, 0.2 * p.x() * p.x());
}

/// [m] of a node whose position in the straight mesh is p: stretched, so that the stiffness remains positive.
Vector3 deformation(const Vector3& p) {
  return 0.02 * p + Vector3(5e-4 * std::sin(9.0 * p.y()), 0.0, 0.02 * p.x() * p.y());
}

VolumeMesh foot() {
  MeshingOptions meshing;
  meshing.size.size = size;
  return mesh_surface(make_foot(FootDimensions{}, size), meshing).mesh;
}

VolumeMesh body_named(const Input& input) {
  if (input.mesh.starts_with("foot")) return input.n_nodes == 10 ? to_quadratic(foot()) : foot();
  return heelstrike::fem::test::block_mesh_of(input.n_nodes, {0.0, 0.0, 0.0}, {0.1, 0.08, 0.06}, 10, 8, 6);
}

const std::vector<Input> bodies{
    {.mesh = "foot of tet4"},  // clamped at the ankle, as in the press test
    {.mesh = "foot of tet4, deformed", .deformed = true},
    {.mesh = "foot of tet10", .n_nodes = 10},
    {.mesh = "block of wedge6", .clamp_height = 0.06, .n_nodes = 6},
    {.mesh = "block of hex8", .clamp_height = 0.06, .n_nodes = 8, .pressure = PressureKind::element},
    {.mesh = "block of hex27 without pressures", .clamp_height = 0.06, .n_nodes = 27}};

std::vector<ElementFace> fixed_faces(const VolumeMesh& mesh, double clamp_height) {
  std::vector<ElementFace> constrained = boundary_faces(mesh);
  std::erase_if(constrained, [&](const ElementFace& face) {
    const auto nodes = nodes_of_faces(mesh, {&face, 1});
    return std::ranges::any_of(nodes, [&](std::uint32_t node) { return mesh.nodes[node].z() < clamp_height; });
  });
  return constrained;
}

BodyModel curved_body(VolumeMesh mesh, PressureKind pressure) {
  for (Vector3& node : mesh.nodes) node = curved(node);
  return {std::move(mesh), std::vector<Material>{tissue}, pressure};
}

/// As in the servers.
Displacements solve_here(const VolumeMesh& mesh, const Input& input) {
  const BodyModel body = curved_body(mesh, input.pressure);
  const std::vector<std::uint32_t> clamped = nodes_of_faces(mesh, fixed_faces(mesh, input.clamp_height));
  const std::vector<bool> fixed = clamped_dofs(body, clamped);
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < fixed.size(); ++dof) {
    if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  SparseMatrix K = linear_stiffness(body);
  Eigen::MatrixXd acceleration(static_cast<Eigen::Index>(body.n_dofs()), 1);
  Eigen::VectorXd deformed(acceleration.rows());
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    acceleration.block<3, 1>(3 * static_cast<Eigen::Index>(n), 0) = gravity;
    deformed.segment<3>(3 * static_cast<Eigen::Index>(n)) = deformation(mesh.nodes[n]);
  }
  if (input.deformed && !assemble_equations(body, MaterialLaw::neo_hookean, deformed, K).valid) {
    throw Error(ErrorCode::internal, "the deformation turns an element inside out");
  }
  SparseCholesky factor(K, free, {});
  if (!factor.factorize(K)) throw Error(ErrorCode::internal, "the stiffness of the held body is not positive definite");
  const Eigen::MatrixXd u = factor.solve(mass_times(body, acceleration));
  Displacements result;
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    const auto row = 3 * static_cast<Eigen::Index>(n);
    result[location_of(mesh.nodes[n])] = {u(row, 0), u(row + 1, 0), u(row + 2, 0)};
  }
  return result;
}

/// Whether deal.II couples the same unknowns as the servers' pattern.
bool couples_alike(const VolumeMesh& mesh, const Input& input) {
  dealii::Triangulation<3> triangulation;
  make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), {}, triangulation);
  ElasticSpace space(triangulation, input.n_nodes);
  space.number_as(mesh);
  dealii::DynamicSparsityPattern expected(space.dofs().n_dofs());
  dealii::DoFTools::make_sparsity_pattern(space.dofs(), expected);
  const SparseMatrix found = sparsity_pattern(curved_body(mesh, input.pressure));
  if (static_cast<std::size_t>(found.nonZeros()) != expected.n_nonzero_elements()) return false;
  for (Eigen::Index column = 0; column < found.cols(); ++column) {
    for (SparseMatrix::InnerIterator entry(found, column); entry; ++entry) {
      if (!expected.exists(static_cast<unsigned>(entry.row()), static_cast<unsigned>(column))) return false;
    }
  }
  return true;
}

/// The cells of each rank only; the first rank has read the mesh.
void distribute(const VolumeMesh& mesh, double clamp_height,
                dealii::parallel::fullydistributed::Triangulation<3>& triangulation) {
  const MPI_Comm world = triangulation.get_communicator();
  const auto n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  triangulation.create_triangulation(
      dealii::TriangulationDescription::Utilities::create_description_from_triangulation_in_groups<3, 3>(
          [&](dealii::Triangulation<3>& whole) {
            make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), fixed_faces(mesh, clamp_height),
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

Difference compare(const ElasticSpace& space, const lac::MPI::Vector& u, const Displacements& reference) {
  Difference difference;
  space.sum([&](const ElasticSpace::Cell& cell, CellTerms& terms) { terms.vectors = space.straight_nodes(cell); },
            [&](const CellTerms& terms) {
              for (std::size_t row = 0; row < terms.dofs.size(); ++row) {
                const auto dof = static_cast<dealii::types::global_dof_index>(terms.dofs[row]);
                if (!u.in_local_range(dof)) continue;
                const Vector3 straight = terms.vectors.col(static_cast<Eigen::Index>(row / 3));
                const double expected = reference.at(location_of(straight))[row % 3];
                difference.scale = std::max(difference.scale, std::abs(expected));
                difference.largest = std::max(difference.largest, std::abs(u(dof) - expected));
              }
            });
  return difference;
}

/// Stiffness and weight of a cell, by the integrals of the servers.
void cell_terms(const ReferenceElement& reference, const Input& input, const LameConstants& material,
                const CellNodes& straight, CellTerms& terms) {
  CellNodes places(straight);
  CellNodes deformed(straight);
  for (Eigen::Index a = 0; a < straight.cols(); ++a) {
    places.col(a) = curved(straight.col(a));
    deformed.col(a) = deformation(straight.col(a));
  }
  if (input.deformed) {
    deformed_cell(reference, input.pressure, places, deformed, *MaterialLaw::neo_hookean, material, {}, {}, terms);
  } else {
    linear_cell(reference, input.pressure, places, material, terms);
  }
  const Eigen::VectorXd mass = cell_mass(reference, places, material.density).rowwise().sum();
  terms.vectors.resize(3 * mass.size(), 1);
  for (Eigen::Index a = 0; a < mass.size(); ++a) terms.vectors.block<3, 1>(3 * a, 0) = mass[a] * gravity;
}

/// Adds the free degrees of freedom to the equations of all ranks.
void add_terms(const CellTerms& terms, const dealii::AffineConstraints<double>& constrained, lac::MPI::SparseMatrix& K,
               lac::MPI::Vector& f) {
  const auto n = static_cast<unsigned>(terms.dofs.size());
  const dealii::FullMatrix<double> matrix(n, n, terms.matrix.data());  // symmetric: by rows as by columns
  const dealii::Vector<double> vector(terms.vectors.data(), terms.vectors.data() + n);
  const std::vector<dealii::types::global_dof_index> dofs(terms.dofs.begin(), terms.dofs.end());
  constrained.distribute_local_to_global(matrix, vector, dofs, K, f);
}

lac::MPI::Vector solve_on_ranks(const ElasticSpace& space, const Input& input, const LameConstants& material,
                                MPI_Comm world) {
  const dealii::IndexSet owned = space.dofs().locally_owned_dofs();
  dealii::IndexSet relevant;
  dealii::DoFTools::extract_locally_relevant_dofs(space.dofs(), relevant);
  dealii::AffineConstraints<double> constrained(relevant);
  dealii::DoFTools::make_zero_boundary_constraints(space.dofs(), clamped_boundary, constrained);
  constrained.close();
  dealii::DynamicSparsityPattern pattern(relevant);
  dealii::DoFTools::make_sparsity_pattern(space.dofs(), pattern, constrained, false);
  dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, world, relevant);
  lac::MPI::SparseMatrix K;
  K.reinit(owned, owned, pattern, world);
  lac::MPI::Vector f(owned, world);
  const ReferenceElement reference = make_reference_element(input.n_nodes);
  space.sum([&](const ElasticSpace::Cell& cell,
                CellTerms& terms) { cell_terms(reference, input, material, space.straight_nodes(cell), terms); },
            [&](const CellTerms& terms) { add_terms(terms, constrained, K, f); });
  K.compress(dealii::VectorOperation::add);
  f.compress(dealii::VectorOperation::add);
  lac::MPI::Vector u(owned, world);
  dealii::SolverControl control;
  lac::SparseDirectMUMPS solver(control, world);
  solver.set_symmetric_mode(true);
  solver.solve(K, u, f);
  constrained.distribute(u);
  return u;
}

/// @param disagree  different input of the last rank; empty = none
bool solves_alike(Input input, const std::string& disagree) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const unsigned rank = dealii::Utilities::MPI::this_mpi_process(world);
  const unsigned n_ranks = dealii::Utilities::MPI::n_mpi_processes(world);
  LameConstants material = lame_constants(tissue);
  if (rank + 1 == n_ranks) {
    if (disagree == "mesh") input.mesh = "another";
    if (disagree == "materials") material.mu *= 1.0 + 1e-12;
    if (disagree == "supports") input.clamp_height += 1e-12;
    if (disagree == "options") input.n_nodes += 1;
  }
  // The name represents the digest of a file: only the first rank reads it.
  check_same_on_all_ranks(world, "mesh", input.mesh);
  check_same_on_all_ranks(world, "materials", std::array{material.mu, material.lambda, material.density});
  check_same_on_all_ranks(world, "supports", std::array{input.clamp_height});
  check_same_on_all_ranks(world, "options", std::array{static_cast<double>(input.n_nodes)});
  VolumeMesh mesh;
  Displacements reference;
  if (rank == 0) {
    mesh = body_named(input);
    reference = solve_here(mesh, input);
    // All elements of one cell couple there, with the pressures of one cell too.
    if (!couples_alike(mesh, input)) {
      throw Error(ErrorCode::internal, input.mesh + ": deal.II and the servers couple other unknowns");
    }
  }
  reference = dealii::Utilities::MPI::broadcast(world, reference);
  dealii::parallel::fullydistributed::Triangulation<3> triangulation(world);
  distribute(mesh, input.clamp_height, triangulation);
  const ElasticSpace space(triangulation, input.n_nodes);
  const lac::MPI::Vector u = solve_on_ranks(space, input, material, world);
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

/// @return whether this rank rejects the input of the last one, with its number
bool rejects(const std::string& disagree) {
  const unsigned last = dealii::Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD) - 1;
  try {
    (void)solves_alike(bodies.back(), disagree);
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return e.code() == ErrorCode::invalid_input && e.field() == disagree &&
           std::string(e.what()).find(fmt::format("rank {} and", last)) != std::string::npos;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  try {
    if (argc > 2 && std::string(argv[1]) == "--disagree") return rejects(argv[2]) ? 0 : 1;
    bool alike = true;
    for (const Input& body : bodies) alike = solves_alike(body, "") && alike;
    return alike ? 0 : 1;
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return MPI_Abort(MPI_COMM_WORLD, 1);  // the others would wait for this rank
  }
}
