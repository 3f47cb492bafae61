/// What every integrator offers, and the registry by name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenario/catalog.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/integrators/problem.hpp"

namespace heelstrike::mbs {

/// How one step ended.
struct StepResult {
  double t = 0.0;          ///< [s] time reached: end of an accepted step, or a root inside it
  bool inside = false;     ///< t lies inside the step, at a root; the next step() goes on within it
  double step_size = 0.0;  ///< [s] of the accepted step
  std::vector<int> roots;  ///< indices of the root functions that vanish at t
  double error = 0.0;      ///< [-] estimated error of this step relative to the size of the motion; only of fixed steps
};

class Integrator {
 public:
  virtual ~Integrator() = default;

  /// (Re)starts at (t, y) with quadratures `z`, forgetting all history. Nothing computed later depends on what came
  /// before.
  /// @param max_step  [s] upper bound of the step size; none = the scenario's
  /// @param directions  per root function: -1 falling, +1 rising, 0 both; empty = 0
  virtual void restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
                       std::span<const int> directions) = 0;

  /// Changes the upper bound of the step size [s] without a restart; none = the scenario's.
  virtual void set_max_step(std::optional<double> max_step) = 0;

  /// Advances by one accepted step, or to the first root inside it, never beyond `t_end`.
  /// @throws RecoverableError  a root function could not be evaluated at the end of the step, so that the step must be
  /// repeated
  ///                           from a restart with a smaller bound; attempted_time() tells where
  /// @throws Error             what the problem threw, or Error{solver_failed} when the integrator gives up
  virtual StepResult step(double t_end) = 0;

  /// [s] time that the last step() tried to reach.
  [[nodiscard]] virtual double attempted_time() const = 0;

  /// State and quadratures at the time the last step() reached.
  [[nodiscard]] virtual const Eigen::VectorXd& y() const = 0;
  [[nodiscard]] virtual const Eigen::VectorXd& quadratures() const = 0;

  /// Dense output inside the last accepted step, up to the time step() reached.
  virtual void interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) = 0;

  /// Totals over all restarts.
  [[nodiscard]] virtual IntegratorStatistics statistics() const = 0;
};

/// What describes an integrator. A new one is its file and its line in integrator.cpp.
struct IntegratorEntry : ElementType {
  bool fixed_step = false;          ///< does not control its error and does not project
  bool solves_impacts = false;      ///< takes rigid contacts, and steps to their impacts itself
  bool solves_multipliers = false;  ///< they are unknowns of its steps: singular poses trouble it sooner
  std::function<std::unique_ptr<Integrator>(const IntegratorSpec& spec, Problem& problem)> make;
};

/// Order of the adaptive methods when the scenario names none.
inline constexpr int default_order = 5;

/// An entry without particularities.
[[nodiscard]] IntegratorEntry integrator_entry(
    std::string name, std::string meaning, std::vector<config::KeySchema> keys,
    std::function<std::unique_ptr<Integrator>(const IntegratorSpec& spec, Problem& problem)> make);
/// The key `order` of a method. @param orders  that it has
[[nodiscard]] config::KeySchema order_key(const std::string& meaning, const std::vector<int>& orders, int fallback);

[[nodiscard]] std::span<const IntegratorEntry> integrator_registry();

/// Where no contact asks for few evaluations, accuracy is cheap: Runge-Kutta methods keep the energy a hundred times
/// better than BDF formulas at the same tolerance (docs/theory/integrators.md). Springs may be stiff, so that the
/// implicit one takes over.
[[nodiscard]] DefaultIntegrators default_integrators();

/// @throws Error{internal} for an unknown name, which the reader of scenarios refuses
[[nodiscard]] std::unique_ptr<Integrator> make_integrator(const IntegratorSpec& spec, Problem& problem);

}  // namespace heelstrike::mbs
