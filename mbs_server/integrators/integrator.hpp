/// Interface of the integrators, and their registry by name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/integrators/problem.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

/// Result of one step.
struct StepResult {
  double t = 0.0;          ///< [s] time reached: end of an accepted step, or a root inside it
  bool inside = false;     ///< t lies inside the step, at a root; the next step() continues within it
  double step_size = 0.0;  ///< [s] of the accepted step
  std::vector<int> roots;  ///< indices of the root functions that vanish at t
  double error = 0.0;      ///< [-] estimated error relative to the magnitude of the motion; fixed steps only
};

class Integrator {
 public:
  virtual ~Integrator() = default;

  /// (Re)starts at (t, y) with quadratures `z` and discards the history. Later results do not depend on earlier ones.
  /// @param max_step  [s] upper bound of the step size; none = that of the scenario
  /// @param directions  per root function: -1 falling, +1 rising, 0 both; empty = 0
  virtual void restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
                       std::span<const int> directions) = 0;

  /// Changes the upper bound of the step size [s] without a restart; none = that of the scenario.
  virtual void set_max_step(std::optional<double> max_step) = 0;

  /// Advances by one accepted step, or to the first root inside it, never beyond `t_end`.
  /// @throws RecoverableError  if a root function could not be evaluated at the end of the step, attempted_time(): the
  ///                           step must be repeated from a restart with a smaller bound
  /// @throws Error             errors of the problem, or Error{solver_failed} when the integrator fails
  virtual StepResult step(double t_end) = 0;

  /// [s] end of the last attempted step().
  [[nodiscard]] virtual double attempted_time() const = 0;

  /// State and quadratures at the end of the last step().
  [[nodiscard]] virtual const Eigen::VectorXd& y() const = 0;
  [[nodiscard]] virtual const Eigen::VectorXd& quadratures() const = 0;

  /// Dense output inside the last accepted step, up to the time reached by step().
  virtual void interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) = 0;

  /// Totals over all restarts.
  [[nodiscard]] virtual IntegratorStatistics statistics() const = 0;
};

/// Description of an integrator. A new one needs its file and its line in integrator.cpp.
struct IntegratorEntry : ElementType {
  bool fixed_step = false;          ///< does not control its error and does not project
  bool solves_impacts = false;      ///< supports rigid contacts, and locates their impacts
  bool solves_multipliers = false;  ///< multipliers are unknowns of its steps: more sensitive to singular poses
  std::function<std::unique_ptr<Integrator>(const IntegratorSpec& spec, Problem& problem)> make;
};

/// Default order of the adaptive methods.
inline constexpr int default_order = 5;

/// An entry with default properties.
template <typename Method>
[[nodiscard]] IntegratorEntry integrator_entry(std::string name, std::string meaning,
                                               std::vector<config::KeySchema> keys) {
  IntegratorEntry entry;
  entry.name = std::move(name);
  entry.meaning = std::move(meaning);
  entry.keys = std::move(keys);
  entry.make = [](const IntegratorSpec& spec, Problem& problem) { return std::make_unique<Method>(spec, problem); };
  return entry;
}
/// The key `order` of a method. @param orders  available orders
[[nodiscard]] config::KeySchema order_key(const std::string& meaning, const std::vector<int>& orders, int fallback);

[[nodiscard]] std::span<const IntegratorEntry> integrator_registry();

/// Without expensive contact evaluations Runge-Kutta methods are preferred: they conserve energy a hundred times better
/// than BDF formulas at the same tolerance (docs/theory/integrators.md). With springs, which may be stiff, the implicit
/// one is used.
[[nodiscard]] DefaultIntegrators default_integrators();

/// @throws Error{internal} for an unknown name, which the scenario reader rejects
[[nodiscard]] std::unique_ptr<Integrator> make_integrator(const IntegratorSpec& spec, Problem& problem);

}  // namespace heelstrike::mbs
