// Assembly of the foot's matrices on one and on two threads: the ratio of wall times in one run. Runs with one and two
// threads alternate, and the minimum time of each is used, because other work on the machine only adds time. On a busy
// machine this ratio is a lower bound; 2 x (processor time on one thread) / (processor time of both threads) is the
// ratio on two idle processors with equal shares. Also measured: the linear stiffness with deal.II's FEValues instead
// of Heelstrike's cell integrals, with the same quadrature points, and the setup work per mesh. Needs HEELSTRIKE_DATA.
// Arguments: sizes in mm (default 4 3).
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/fem/assembly.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

constexpr int n_repetitions = 15;

/// @param work  called with the number of threads
template <class Work>
void compare(const char* name, const Work& work) {
  constexpr double never = std::numeric_limits<double>::infinity();
  double best[2] = {never, never};
  double busy[2] = {never, never};
  for (int repetition = 0; repetition < n_repetitions; ++repetition) {
    for (const unsigned n : {1U, 2U}) {
      const double start = bench::wall_seconds();
      const double used = bench::process_seconds();
      work(n);
      best[n - 1] = std::min(best[n - 1], bench::wall_seconds() - start);
      busy[n - 1] = std::min(busy[n - 1], bench::process_seconds() - used);
    }
  }
  fmt::print("  {:<28}{:>9.1f} ms{:>9.1f} ms{:>8.2f}{:>12.1f} ms{:>9.1f} ms{:>8.2f}\n", name, 1e3 * best[0],
             1e3 * best[1], best[0] / best[1], 1e3 * busy[0], 1e3 * busy[1], 2.0 * busy[0] / busy[1]);
}

/// The foot's cells as in the servers, for integration with deal.II.
struct DealiiProblem {
  explicit DealiiProblem(const VolumeMesh& mesh) {
    make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), {}, triangulation);
    space.emplace(triangulation, mesh.nodes_per_element);
    space->number_as(mesh);
  }

  /// With FEValues of one component: all three have the same shape functions.
  void add_stiffness(const LameConstants& material, SparseMatrix& K, unsigned n_threads) const {
    const dealii::FE_SimplexP<3> element(1);
    const dealii::MappingFE<3> mapping(element);
    const dealii::QGaussSimplex<3> rule(1);
    std::fill_n(K.valuePtr(), K.nonZeros(), 0.0);
    const auto compute = [&](const ElasticSpace::Cell& cell, CellTerms& terms) {
      thread_local std::optional<dealii::FEValues<3>> values;  // expensive to construct; one element type for all cells
      if (!values) values.emplace(mapping, element, rule, dealii::update_gradients | dealii::update_JxW_values);
      const dealii::Triangulation<3>::cell_iterator& place = cell;
      values->reinit(place);
      terms.matrix.setZero(12, 12);
      for (const unsigned a : values->dof_indices()) {
        const dealii::Tensor<1, 3> ga = values->JxW(0) * values->shape_grad(a, 0);
        for (const unsigned b : values->dof_indices()) {
          const dealii::Tensor<1, 3>& gb = values->shape_grad(b, 0);
          const double isotropic = material.mu * (ga * gb);
          for (unsigned k = 0; k < 3; ++k) {
            for (unsigned l = 0; l < 3; ++l) {
              terms.matrix(3 * a + k, 3 * b + l) += material.lambda * ga[k] * gb[l] + material.mu * ga[l] * gb[k];
            }
            terms.matrix(3 * a + k, 3 * b + k) += isotropic;
          }
        }
      }
    };
    space->sum(
        compute, [&](const CellTerms& terms) { add_matrix(terms, K); }, n_threads);
  }

  dealii::Triangulation<3> triangulation;
  std::optional<ElasticSpace> space;
};

void assemble(double h) {
  const PreparedBody foot = test::foot_body(test::foot_mesh(h), 0.0, 1.22);
  const BodyModel& body = foot.body;
  fmt::print("h = {} mm, {} tetrahedra: wall time of one thread, of two, ratio; processor time, possible ratio\n",
             1e3 * h, body.mesh().n_elements());
  compare("cells, unknowns", [&](unsigned) { const DealiiProblem problem(body.mesh()); });
  const DealiiProblem problem(body.mesh());
  fmt::print("  cells {:.1f} MB, unknowns {:.1f} MB\n",
             1e-6 * static_cast<double>(problem.triangulation.memory_consumption()),
             1e-6 * static_cast<double>(problem.space->dofs().memory_consumption()));
  compare("pattern by DoFTools", [&](unsigned) {
    dealii::DynamicSparsityPattern pattern(problem.space->dofs().n_dofs());
    dealii::DoFTools::make_sparsity_pattern(problem.space->dofs(), pattern);
  });
  compare("pattern", [&](unsigned) { (void)sparsity_pattern(body); });
  SparseMatrix K = sparsity_pattern(body);
  compare("linear stiffness by FEValues", [&](unsigned n) { problem.add_stiffness(body.material(0), K, n); });
  compare("pattern, linear stiffness", [&](unsigned n) { (void)linear_stiffness(body, n); });
  fmt::print("  norms {:.12e} and {:.12e} N/m\n", linear_stiffness(body).norm(), K.norm());
  SparseMatrix tangent = sparsity_pattern(body);
  Eigen::VectorXd u(static_cast<Eigen::Index>(body.n_dofs()));
  for (Eigen::Index i = 0; i < u.size(); ++i) u[i] = 1e-5 * std::sin(static_cast<double>(i));
  compare("neo-Hookean force, tangent",
          [&](unsigned n) { (void)assemble_equations(body, MaterialLaw::neo_hookean, u, tangent, n); });
}

}  // namespace
}  // namespace heelstrike::fem

int main(int argc, char** argv) {
  if (!heelstrike::fem::test::foot_scan()) {
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that contains foot/foot_left.stl\n");
    return 0;
  }
  std::vector<double> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(1e-3 * std::atof(argv[i]));
  if (sizes.empty()) sizes = {4e-3, 3e-3};
  for (const double h : sizes) heelstrike::fem::assemble(h);
}
