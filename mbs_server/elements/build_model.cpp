#include "mbs_server/elements/build_model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/sampled_fmu.hpp"

namespace heelstrike::mbs {

namespace {

class FmuMotion final : public TimeFunction {
 public:
  FmuMotion(std::shared_ptr<const SampledFmu> unit, const SampledFmu::Drive& drive)
      : fmu_(std::move(unit)), value_(drive.value), rate_(drive.rate) {}

  [[nodiscard]] Jet at(double t) const override {
    const double h = fmu_->step;
    const double f0 = fmu_->start_values[value_];
    const double d0 = fmu_->start_values[rate_];
    const double d1 = fmu_->output_values[rate_];
    // Hermite cubic f0 + d0 tau + b tau^2 + c tau^3 with the end value and end rate at tau = h.
    const double slope = (fmu_->output_values[value_] - f0) / h;
    const double b = (3.0 * slope - 2.0 * d0 - d1) / h;
    const double c = (d0 + d1 - 2.0 * slope) / (h * h);
    const double tau = t - fmu_->since;
    return {.f = f0 + tau * (d0 + tau * (b + tau * c)),
            .d = d0 + tau * (2.0 * b + 3.0 * c * tau),
            .dd = 2.0 * b + 6.0 * c * tau};
  }

 private:
  std::shared_ptr<const SampledFmu> fmu_;
  std::size_t value_, rate_;
};

}  // namespace

void connect_fmu_outputs(const std::shared_ptr<SampledFmu>& unit, std::vector<Driver>& drivers) {
  for (const SampledFmu::Drive& drive : unit->drives) {
    const auto driver = std::ranges::find(drivers, drive.driver, &Driver::name);
    if (driver == drivers.end()) {
      throw input_error(drive.key, fmt::format("{}.driver: expected the name of a driver, found '{}'; see `drivers`",
                                               drive.key, drive.driver));
    }
    const auto coordinate = std::ranges::find(driver->coordinates, drive.coordinate, &DrivenCoordinate::name);
    if (coordinate == driver->coordinates.end() || coordinate->function == nullptr) {
      throw input_error(drive.key, fmt::format("{}.coordinate: expected a coordinate for which the driver '{}' has a "
                                               "function, found '{}'; add one for the initial state",
                                               drive.key, drive.driver, drive.coordinate));
    }
    if (dynamic_cast<const FmuMotion*>(coordinate->function.get()) != nullptr) {
      throw input_error(drive.key,
                        fmt::format("{}: expected a coordinate that is driven only once, found '{}.{}' twice; "
                                    "keep one of the lines",
                                    drive.key, drive.driver, drive.coordinate));
    }
    const Jet start = coordinate->function->at(0.0);
    for (auto* values : {&unit->start_values, &unit->output_values}) {
      (*values)[drive.value] = start.f;
      (*values)[drive.rate] = start.d;
    }
    coordinate->function = std::make_shared<FmuMotion>(unit, drive);
  }
}

namespace {

Load build_load(const Model& model, const LoadSpec& spec) {
  Load load{.name = spec.name,
            .body = find_body(model, spec.body, "loads." + spec.name + ".body"),
            .force = spec.force,
            .torque = spec.torque,
            .point = spec.point};
  load.axes_body = find_body(model, spec.axes_body, "loads." + spec.name + ".frame");
  load.point_body = find_body(model, spec.point_body, "loads." + spec.name + ".point_frame");
  constexpr std::array<const char*, 9> keys = {"fx", "fy", "fz", "tx", "ty", "tz", "px", "py", "pz"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto found = spec.functions.find(keys[i]); found != spec.functions.end()) {
      load.functions[i] = resolved(found->second);
    }
  }
  return load;
}

}  // namespace

Model build_model(const Scenario& scenario) {
  Model model{
      .gravity = scenario.gravity, .bodies = {}, .loads = {}, .joints = {}, .drivers = {}, .forces = {}, .pairs = {}};
  for (const auto& spec : scenario.bodies) {
    Body body{.name = spec.name,
              .mass_properties = {.mass = spec.mass, .center_of_mass = spec.center_of_mass, .inertia = spec.inertia},
              .X_WB = spec.X_WB,
              .V_WB = spec.V_WB};
    body.mass_properties.check(spec.name);
    model.bodies.push_back(std::move(body));
  }
  for (const auto& load : scenario.loads) model.loads.push_back(build_load(model, load));
  for (const auto& spec : scenario.joints) {
    model.joints.push_back(config::type_named(joint_types(), spec.type).build(spec, model));
    model.joints.back().coordinates = spec.coordinates;
    model.joints.back().reactions = spec.reactions;
    model.joints.back().where = spec.where;
  }
  for (const auto& spec : scenario.forces) {
    model.forces.push_back(config::type_named(force_types(), spec.type).build(spec, model));
  }
  for (const auto& spec : scenario.drivers) {
    auto drivers = config::type_named(driver_types(), spec.type).build(spec, model);
    std::ranges::move(drivers, std::back_inserter(model.drivers));
  }
  for (const Force& force : model.forces) {
    if (force.fmu) connect_fmu_outputs(force.fmu, model.drivers);
  }
  for (const auto& pair : scenario.pairs) {
    const std::string where = "contact." + pair.spec.name;
    model.pairs.push_back({.name = pair.spec.name,
                           .main = find_body(model, pair.main_body, where + ".main.body"),
                           .partner = find_body(model, pair.partner_body, where + ".partner.body")});
  }
  return model;
}

}  // namespace heelstrike::mbs
