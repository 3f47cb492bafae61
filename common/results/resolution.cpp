#include "common/results/resolution.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike {

EnergyBalance to_resolution(EnergyBalance energy) {
  if (balance_error_is_rounding(energy)) energy.balance_error = 0.0;
  double scale = energy.max_kinetic;
  for (const double value : {energy.initial, energy.final, energy.dissipated, energy.external_work}) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (double* value : {&energy.initial, &energy.final, &energy.dissipated, &energy.external_work}) {
    if (std::abs(*value) < relative_resolution * scale) *value = 0.0;
  }
  return energy;
}

double impact_force_scale(const RunSummary& run) {
  double impulse = 0.0;
  for (const ContactEpisode& contact : run.contacts) impulse = std::max(impulse, contact.max_impulse.value_or(0.0));
  return run.simulated_time > 0.0 ? impulse * static_cast<double>(run.integrator.steps) / run.simulated_time : 0.0;
}

double displayed_force(const ContactEpisode& contact, const RunSummary& run) {
  const bool is_rounding = contact.max_impulse && contact.max_force < relative_resolution * impact_force_scale(run);
  return is_rounding ? 0.0 : contact.max_force;
}

}  // namespace heelstrike
