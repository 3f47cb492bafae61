#include "mbs_server/elements/fmu_motion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
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

}  // namespace heelstrike::mbs
