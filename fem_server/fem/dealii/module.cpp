// The module that programs load on demand: the functions of ElementLibrary.
#include <deal.II/lac/arpack_solver.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/lac/vector.h>
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <mutex>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/dealii/reference_element.hpp"
#include "fem_server/fem/element_library.hpp"
#include "fem_server/fem/mpi/mpi_group.hpp"

namespace heelstrike::fem {

namespace {

/// Matrix-free linear operator.
struct Operator {
  const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& apply;

  void vmult(dealii::Vector<double>& result, const dealii::Vector<double>& x) const {
    const Eigen::VectorXd product =
        apply(Eigen::Map<const Eigen::VectorXd>(x.begin(), static_cast<Eigen::Index>(x.size())));
    std::copy_n(product.data(), product.size(), result.begin());
  }
};

/// Eigenvalue solver by ARPACK through deal.II: ElementLibrary::lowest_modes.
Eigenpairs arpack_lowest_modes(const EigenProblem& problem) {
  // ARPACK keeps its state in static variables.
  static std::mutex factorisation_mutex;
  const std::scoped_lock lock(factorisation_mutex);
  using Solver = dealii::ArpackSolver;
  // Eigenvalues to rounding: their errors enter the residual compliance.
  dealii::SolverControl control(1'000, 1e-14);
  Solver solver(control, Solver::AdditionalData(static_cast<unsigned>(lanczos_vectors(problem.n_modes)),
                                                Solver::largest_magnitude,
                                                /*symmetric=*/true));
  // Reproducible start vector; a constant one would be orthogonal to antisymmetric modes.
  const auto size = static_cast<unsigned>(problem.size);
  dealii::Vector<double> start(size);
  for (unsigned i = 0; i < size; ++i) start[i] = 1.0 + static_cast<double>((7919U * i) % 1000U) / 1000.0;
  solver.set_initial_vector(start);
  std::vector<std::complex<double>> values(problem.n_modes);
  std::vector<dealii::Vector<double>> vectors(problem.n_modes, dealii::Vector<double>(size));
  try {
    const Operator mass{problem.mass};
    solver.solve(mass, mass, Operator{problem.inverse}, values, vectors, static_cast<unsigned>(problem.n_modes));
  } catch (const dealii::ExceptionBase& error) {
    throw Error(ErrorCode::internal, fmt::format("ARPACK did not find {} vibration modes for {} unknowns: {}",
                                                 problem.n_modes, problem.size, error.what()));
  }
  Eigenpairs found{
      .values = Eigen::VectorXd(static_cast<Eigen::Index>(problem.n_modes)),
      .vectors = Eigen::MatrixXd(static_cast<Eigen::Index>(problem.size), static_cast<Eigen::Index>(problem.n_modes))};
  for (std::size_t k = 0; k < problem.n_modes; ++k) {
    const auto column = static_cast<Eigen::Index>(k);
    found.values[column] = values[k].real();
    found.vectors.col(column) = Eigen::Map<const Eigen::VectorXd>(vectors[k].begin(), found.vectors.rows());
  }
  return found;
}

}  // namespace
}  // namespace heelstrike::fem

extern "C" __attribute__((visibility("default"))) const heelstrike::fem::ElementLibrary* heelstrike_element_library() {
  using namespace heelstrike::fem;
  static constexpr ElementLibrary library{.version = heelstrike::program_version,
                                          .reference_element = tabulated_reference_element,
                                          .body_cells = serial_cells,
                                          .lowest_modes = arpack_lowest_modes,
                                          .join_ranks = join_mpi_ranks};
  return &library;
}
