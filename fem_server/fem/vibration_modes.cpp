#include "fem_server/fem/vibration_modes.hpp"

#include <fmt/format.h>

#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/element_library.hpp"
#include "fem_server/fem/rank_team.hpp"
#include "fem_server/fem/rigid_motion.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

namespace {

/// Consistent mass [kg] between nodes, identical in the three directions.
Eigen::SparseMatrix<double> node_mass(const BodyModel& body) {
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(body.mesh().connectivity.size() * body.mesh().nodes_per_element);
  body.cells().sum(
      [&](CellTerms& terms) {
        terms.matrix = cell_mass(body.reference(), body.places(terms.cell), body.material(terms.cell).density);
      },
      [&](const CellTerms& terms) {
        const auto nodes = body.mesh().element(terms.cell);
        for (std::size_t a = 0; a < nodes.size(); ++a) {
          for (std::size_t b = 0; b < nodes.size(); ++b) {
            entries.emplace_back(static_cast<int>(nodes[a]), static_cast<int>(nodes[b]),
                                 terms.matrix(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)));
          }
        }
      });
  const auto n = static_cast<Eigen::Index>(body.mesh().nodes.size());
  Eigen::SparseMatrix<double> mass(n, n);
  mass.setFromTriplets(entries.begin(), entries.end());
  return mass;
}

/// Three components per node in dof order.
using ThreeColumns = Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor>;

Eigen::VectorXd times(const Eigen::SparseMatrix<double>& node_mass, const Eigen::VectorXd& x) {
  Eigen::VectorXd result(x.size());
  Eigen::Map<ThreeColumns>(result.data(), node_mass.rows(), 3) =
      node_mass * Eigen::Map<const ThreeColumns>(x.data(), node_mass.rows(), 3);
  return result;
}

/// K^-1 of the supported body.
class Flexibility {
 public:
  Flexibility(const BodyModel& body, const Support& support) {
    std::vector<bool> fixed = clamped_dofs(body, support.clamped_nodes);
    std::vector<std::int64_t> free = free_dofs(fixed);
    if (support.inertia_relief) {
      relief_ = inertia_modes(body);
      for (const std::int64_t dof : isostatic_dofs(relief_.modes, free)) fixed[static_cast<std::size_t>(dof)] = true;
      free = free_dofs(fixed);
    }
    n_free_ = free.size();
    order_.emplace(node_graph(body), free, std::span<const std::int64_t>());
  }

  /// Predicted need of the factorisation before it, exact one after the analysis; on ranks that of the largest part.
  [[nodiscard]] MemoryNeed need() const {
    if (on_ranks_) {
      return *std::ranges::max_element(on_ranks_->need(), {}, [](const MemoryNeed& need) { return need.total(); });
    }
    if (factor_) return factorisation_memory(factor_->size());
    MemoryNeed need = factorisation_memory(order_->size());
    if (const RankTeam* team = leading_team(); team != nullptr) {
      need.matrices /= static_cast<double>(team->size());
      need.factors /= static_cast<double>(team->size());
    }
    return need;
  }

  /// @param check  called when the size is exact, before the factor is allocated
  void factorize(const BodyModel& body, const std::string& task, const std::function<void()>& check) {
    bool is_positive = false;
    if (RankTeam* team = leading_team(); team != nullptr) {
      on_ranks_.emplace(*team, body, order_->dofs(), std::vector<std::int64_t>(), task);
      check();
      is_positive = on_ranks_->factorize();
    } else {
      const SparseMatrix K = linear_stiffness(body);
      factor_.emplace(K, std::move(*order_));
      check();
      is_positive = factor_->factorize(K);
    }
    if (!is_positive) {
      throw input_error("support",
                        "the stiffness matrix is singular: the clamped set leaves a rigid motion free (are all parts "
                        "of the mesh connected, and are at least three clamped nodes not collinear?)");
    }
  }

  [[nodiscard]] std::size_t n_free() const { return n_free_; }

  [[nodiscard]] Eigen::VectorXd times(const Eigen::VectorXd& load) const {
    if (relief_.modes.rows() == 0) return solve(load);
    const Eigen::VectorXd u = solve(balanced(relief_.modes, relief_.loads, load));
    return balanced(relief_.loads, relief_.modes, u);
  }

 private:
  [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& load) const {
    return on_ranks_ ? on_ranks_->solve(load) : factor_->solve(load);
  }

  static std::vector<std::int64_t> free_dofs(const std::vector<bool>& fixed) {
    std::vector<std::int64_t> free;
    for (std::size_t dof = 0; dof < fixed.size(); ++dof) {
      if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
    }
    return free;
  }

  InertiaModes relief_;  ///< empty = clamped
  std::size_t n_free_ = 0;
  std::optional<Elimination> order_;  ///< until the factorisation
  std::optional<SparseCholesky> factor_;
  std::optional<RankFactor> on_ranks_;  ///< instead
};

/// Maximum of the factorisation, `first`, and of its factor with the vectors of the Lanczos iteration: those of ARPACK,
/// and the modes in deal.II vectors and in the result.
MemoryNeed modal_memory(const MemoryNeed& first, std::size_t n_dofs, std::size_t n_modes) {
  MemoryNeed then = first;
  then.matrices /= 3.0;  // the assembled stiffness, two of three parts, is released
  then.dense = sizeof(double) * static_cast<double>(n_dofs * (lanczos_vectors(n_modes) + 3 * n_modes));
  return first.total() > then.total() ? first : then;
}

void check_mass(const BodyModel& body) {
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    if (body.material(e).density > 0.0) continue;
    throw input_error("density", fmt::format("a vibrating body needs a positive density everywhere, found element {} "
                                             "with a density of {} kg/m^3; specify a density for its material",
                                             e, body.material(e).density));
  }
}

/// Convergence check of a mode, because ARPACK in deal.II reports non-convergence in debug builds only.
/// @param compliant  K^-1 M shape
void check_mode(double omega, const Eigen::VectorXd& shape, const Eigen::VectorXd& compliant) {
  constexpr double allowed = 1e-8;  // rounding of K^-1 gives 1e-11 for 1e5 unknowns
  const double residual = (shape - omega * omega * compliant).norm() / shape.norm();
  if (omega > 0.0 && residual < allowed) return;
  throw Error(ErrorCode::internal,
              fmt::format("the vibration mode of {} rad/s did not converge: relative residual of K "
                          "phi = omega^2 M phi is {}, allowed is {}; use another number of modes",
                          omega, residual, allowed));
}

VibrationModes modes_of(const BodyModel& body, const Flexibility& flexibility, std::size_t n_modes,
                        const std::stop_token& stop) {
  const Eigen::SparseMatrix<double> mass = node_mass(body);
  const auto check_stop = [&] {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "vibration modes stopped on request");
  };
  const EigenProblem problem{.size = body.n_dofs(),
                             .n_modes = n_modes,
                             .mass = [&](const Eigen::VectorXd& x) { return times(mass, x); },
                             .inverse =
                                 [&](const Eigen::VectorXd& load) {
                                   check_stop();
                                   return flexibility.times(load);
                                 }};
  const Eigenpairs found = element_library().lowest_modes(problem);
  std::vector<Eigen::Index> order(n_modes);
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::sort(order, {}, [&](Eigen::Index k) { return found.values[k]; });
  VibrationModes modes{.frequencies = Eigen::VectorXd(found.values.size()),
                       .shapes = Eigen::MatrixXd(found.vectors.rows(), found.vectors.cols())};
  for (Eigen::Index k = 0; k < found.values.size(); ++k) {
    const Eigen::VectorXd shape = found.vectors.col(order[static_cast<std::size_t>(k)]);
    modes.frequencies[k] = std::sqrt(found.values[order[static_cast<std::size_t>(k)]]);
    modes.shapes.col(k) = shape / std::sqrt(shape.dot(times(mass, shape)));
    check_mode(modes.frequencies[k], modes.shapes.col(k), flexibility.times(times(mass, modes.shapes.col(k))));
  }
  return modes;
}

}  // namespace

VibrationModes vibration_modes(const BodyModel& body, const Support& support, std::size_t n_modes,
                               const std::stop_token& stop, const MemoryLimit& limit) {
  use_one_blas_thread();
  check_support(support);
  check_mass(body);
  Flexibility flexibility(body, support);
  if (lanczos_vectors(n_modes) > flexibility.n_free()) {
    throw input_error(
        "modes",
        fmt::format("modes: expected at most {} for the {} unknowns of the body, found {}; use "
                    "fewer modes or a finer mesh",
                    flexibility.n_free() < lanczos_vectors(0) ? 0 : (flexibility.n_free() - lanczos_vectors(0)) / 2,
                    flexibility.n_free(), n_modes));
  }
  const auto need = [&] { return modal_memory(flexibility.need(), body.n_dofs(), n_modes); };
  const std::string task = fmt::format("finding {} vibration modes of this body", n_modes);
  VibrationModes modes;
  within_memory(limit, need(), task, [&] {
    flexibility.factorize(body, task, [&] { check_memory(limit, need(), task); });
    modes = modes_of(body, flexibility, n_modes, stop);
  });
  return modes;
}

}  // namespace heelstrike::fem
