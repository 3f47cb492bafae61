#include "mbs_server/simulation/simulation_inputs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {

Jet InputFunction::at(double t) const {
  Jet now = scenario_ && !value_ ? scenario_->at(t) : Jet{};
  if (value_) {
    // A parabola from the time at which the input was set, with the two derivatives that constraints need.
    const double tau = t - value_->since;
    const Jet& jet = value_->jet;
    now = {.f = jet.f + tau * (jet.d + 0.5 * tau * jet.dd), .d = jet.d + tau * jet.dd, .dd = jet.dd};
  }
  now.f += shift_;
  return now;
}

double InputFunction::first_time() const {
  return scenario_ ? scenario_->first_time() : -std::numeric_limits<double>::infinity();
}

double InputFunction::last_time() const {
  return scenario_ ? scenario_->last_time() : std::numeric_limits<double>::infinity();
}

class SimulationInputs::Forces final : public ForceElement {
 public:
  [[nodiscard]] std::string name() const override { return "inputs"; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    for (auto& [body, force] : forces_) force.add_forces(at, g, energy);
  }
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    for (auto& [body, force] : forces_) force.add_tangents(at, K, C);
  }
  /// @returns false if the body already has one
  bool add(const Load& load) { return forces_.try_emplace(load.body, load).second; }
  void clear() { forces_.clear(); }

 private:
  std::map<BodyIndex, LoadForce>
      forces_;  ///< in the order of the bodies, so that sums do not depend on the order of insertion
};

SimulationInputs::SimulationInputs(Model model)
    : model_(std::move(model)), owned_forces_(std::make_unique<Forces>()), forces_(owned_forces_.get()) {
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) add_forces_of(static_cast<BodyIndex>(i));
  for (Driver& driver : model_.drivers) add_driver(driver);
}

SimulationInputs::~SimulationInputs() = default;

std::unique_ptr<ForceElement> SimulationInputs::release_force_element() {
  return std::move(owned_forces_);
}

void SimulationInputs::add(Column column, Input input) {
  inputs_.emplace(column.name, std::move(input));
  columns_.push_back(std::move(column));
}

void SimulationInputs::add_forces_of(BodyIndex body) {
  struct Component {
    const char* suffix;
    const char* unit;
    const char* meaning;
  };
  constexpr std::array<Component, 6> components = {{
      {"fx_N", "N", "force at the origin of the body, in the world"},
      {"fy_N", "N", "force at the origin of the body, in the world"},
      {"fz_N", "N", "force at the origin of the body, in the world"},
      {"tx_Nm", "N m", "torque on the body, in the world"},
      {"ty_Nm", "N m", "torque on the body, in the world"},
      {"tz_Nm", "N m", "torque on the body, in the world"},
  }};
  const std::string& name = model_.bodies[static_cast<std::size_t>(body)].name;
  Load load{.name = "input of " + name, .body = body};
  for (std::size_t i = 0; i < components.size(); ++i) {
    auto function = std::make_shared<InputFunction>(nullptr);
    load.functions[i] = function;
    const auto& [suffix, unit, meaning] = components[i];
    add({fmt::format("{}.{}", name, suffix), unit, meaning}, {.function = std::move(function), .body = body});
  }
  loads_.push_back(std::move(load));
}

void SimulationInputs::add_driver(Driver& driver) {
  for (DrivenCoordinate& coordinate : driver.coordinates) {
    auto function = std::make_shared<InputFunction>(coordinate.function);
    coordinate.function = function;
    add({fmt::format("{}.{}_{}", driver.name, coordinate.name, coordinate.unit), coordinate.unit,
         "prescribed value of the driver; replaces the function of the scenario"},
        {.function = std::move(function)});
  }
}

void SimulationInputs::require(const std::string& name, const Jet& jet) const {
  if (!inputs_.contains(name)) {
    throw unknown_column("input", ", as in \"BODY.fx_N\" or \"DRIVER.angle_rad\"", name, columns_);
  }
  if (!std::isfinite(jet.f) || !std::isfinite(jet.d) || !std::isfinite(jet.dd)) {
    throw input_error(name, fmt::format("input '{}': expected finite numbers, found {}, rate {}, acceleration {}", name,
                                        jet.f, jet.d, jet.dd));
  }
}

bool SimulationInputs::set(const std::string& name, const InputValue& value) {
  require(name, value.jet);
  const Input& input = inputs_.at(name);
  input.function->set(value);
  if (input.body != ground) return forces_->add(loads_[static_cast<std::size_t>(input.body)]);
  moved_constraints_ = true;
  return false;
}

std::optional<SimulationInputs::UnitWrench> SimulationInputs::unit_wrench(std::size_t column) const {
  constexpr std::size_t per_body = 6;  // three forces, three torques
  if (column >= per_body * model_.bodies.size()) return std::nullopt;
  UnitWrench unit{.body = static_cast<BodyIndex>(column / per_body), .F_W = {}};
  const auto i = static_cast<Eigen::Index>(column % per_body);
  (i < 3 ? unit.F_W.force : unit.F_W.torque)[i % 3] = 1.0;
  return unit;
}

std::map<std::string, InputValue> SimulationInputs::values() const {
  std::map<std::string, InputValue> values;
  for (const auto& [name, input] : inputs_) {
    if (input.function->value()) values.emplace(name, *input.function->value());
  }
  return values;
}

void SimulationInputs::restore(const std::map<std::string, InputValue>& values) {
  for (auto& [name, input] : inputs_) input.function->reset();
  forces_->clear();
  for (const auto& [name, value] : values) set(name, value);
  moved_constraints_ = false;
}

std::vector<double> driver_derivative(SimulationInputs& inputs, std::size_t input, System& system, double t,
                                      const VectorX& y,
                                      const std::function<std::vector<double>(const VectorX& y)>& row_at) {
  const VectorX q = y.head(system.n_q()), qd = y.segment(system.n_q(), system.n_q());
  const VectorX none = VectorX::Zero(q.size());
  // Restores the driver, also after an exception.
  struct Unshift {
    SimulationInputs& inputs;
    std::size_t input;
    ~Unshift() { inputs.shift(input, 0.0); }
  } const unshift{inputs, input};
  // For residuals, which are sines, cosines and products of prescribed values: errors of h^2 / 6 and eps / h.
  const double h_residual = std::cbrt(std::numeric_limits<double>::epsilon());
  const auto change = [&](const VectorX& dq, auto residual) {
    inputs.shift(input, h_residual);
    const VectorX ahead = residual(VectorX(q + h_residual * dq));
    inputs.shift(input, -h_residual);
    const VectorX behind = residual(VectorX(q - h_residual * dq));
    inputs.shift(input, 0.0);
    return VectorX((ahead - behind) / (2.0 * h_residual));
  };
  const VectorX dq =
      system.solve_min_norm_change(t, q, -change(none, [&](const VectorX& at) { return system.residual(t, at); }));
  const VectorX dqd = system.solve_min_norm_change(
      t, q, -change(dq, [&](const VectorX& at) { return system.velocity_residual(t, at, qd); }));
  VectorX dy = VectorX::Zero(y.size());
  dy << dq, dqd, VectorX::Zero(system.n_states());
  // For columns: limited by the rounding of forces, which depend on gaps far smaller than positions.
  const double h = std::sqrt(std::numeric_limits<double>::epsilon());
  inputs.shift(input, h);
  std::vector<double> derivative = row_at(y + h * dy);
  inputs.shift(input, -h);
  const std::vector<double> behind = row_at(y - h * dy);
  for (std::size_t i = 0; i < derivative.size(); ++i) {
    const double difference = (derivative[i] - behind[i]) / (2.0 * h);
    derivative[i] = std::isnan(difference) ? 0.0 : difference;  // the centre of pressure without contact
  }
  return derivative;
}

}  // namespace heelstrike::mbs
