// Assembly of the foot's matrices on one and on two threads: the ratio of wall times in one run. Turns of one and two
// threads alternate and the smallest time of each counts, because other work on the machine only ever adds. On a
// machine that is never idle this is still a lower bound; 2 x (processor time on one thread) / (processor time of both
// threads) is what two free processors would give if the shares were equal. The linear stiffness by deal.II's classes
// too, with the same points of integration: what is done once for a mesh, and what is done for each matrix. Needs
// HEELSTRIKE_DATA. Arguments: sizes in mm (default 4 3).
#include <deal.II/base/multithread_info.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

constexpr int n_turns = 15;

/// @param work  given a number of threads
template <class Work>
void compare(const char* name, const Work& work) {
  constexpr double never = std::numeric_limits<double>::infinity();
  double best[2] = {never, never};
  double busy[2] = {never, never};
  for (int turn = 0; turn < n_turns; ++turn) {
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

/// What deal.II has before the first number: cells, unknowns, pattern.
struct DealiiProblem {
  explicit DealiiProblem(const VolumeMesh& mesh) {
    make_triangulation(mesh, std::vector<std::uint32_t>(mesh.n_elements(), 0), {}, triangulation);
    space.emplace(triangulation, 1);
    dealii::DynamicSparsityPattern dynamic(space->dofs().n_dofs());
    dealii::DoFTools::make_sparsity_pattern(space->dofs(), dynamic);
    pattern.copy_from(dynamic);
    K.reinit(pattern);
  }

  void assemble(const LameConstants& material, unsigned n_threads) {
    dealii::MultithreadInfo::set_thread_limit(n_threads);
    K = 0.0;
    space->assemble({&material, 1}, dealii::Tensor<1, 3>(),
                    [&](const CellTerms& terms) { K.add(terms.dofs, terms.stiffness); });
  }

  dealii::Triangulation<3> triangulation;
  std::optional<ElasticSpace> space;
  dealii::SparsityPattern pattern;
  dealii::SparseMatrix<double> K;
};

void assemble(double h) {
  const PreparedBody foot = test::foot_body(test::foot_mesh(h), 0.0, 1.22);
  const BodyModel& body = foot.body;
  fmt::print("h = {} mm, {} tetrahedra: wall time of one thread, of two, ratio; processor time, possible ratio\n",
             1e3 * h, body.mesh().n_elements());
  compare("pattern", [&](unsigned) { (void)sparsity_pattern(body); });
  compare("pattern, linear stiffness", [&](unsigned n) { (void)linear_stiffness(body, n); });
  compare("deal.II: set-up", [&](unsigned) { const DealiiProblem problem(body.mesh()); });
  DealiiProblem problem(body.mesh());
  compare("deal.II: linear stiffness", [&](unsigned n) { problem.assemble(body.material(0), n); });
  fmt::print("  norms {:.12e} and {:.12e} N/m\n", linear_stiffness(body).norm(), problem.K.frobenius_norm());
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
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that holds foot/foot_left.stl\n");
    return 0;
  }
  std::vector<double> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(1e-3 * std::atof(argv[i]));
  if (sizes.empty()) sizes = {4e-3, 3e-3};
  for (const double h : sizes) heelstrike::fem::assemble(h);
}
