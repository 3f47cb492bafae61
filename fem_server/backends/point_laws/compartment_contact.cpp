#include "fem_server/backends/point_laws/compartment_contact.hpp"

#include <algorithm>
#include <utility>

namespace heelstrike::fem {

namespace {

BackendTraits traits_of(const std::vector<CompartmentContact::Part>& parts, ParameterMap parameters) {
  BackendTraits traits{.parameters = std::move(parameters)};
  for (const CompartmentContact::Part& part : parts) traits.regions.push_back(part.name);
  return traits;
}

/// Adds the response of one compartment.
void add_part(const Response& part, Response& sum) {
  const double before = sum.F_A.force.norm();
  const double force = part.F_A.force.norm();
  if (sum.regions.empty() || part.gap < sum.gap) {
    sum.gap = part.gap;
    sum.gap_rate = part.gap_rate;
    // Without contact this is the closest point.
    if (before == 0.0) sum.p_ACop = part.p_ACop;
  }
  if (force > 0.0) sum.p_ACop = (before * sum.p_ACop + force * part.p_ACop) / (before + force);
  sum.F_A.torque += part.F_A.torque;
  sum.F_A.force += part.F_A.force;
  sum.dF_A_dX += part.dF_A_dX;
  sum.dF_A_dV += part.dF_A_dV;
  sum.area += part.area;
  sum.normal_force += part.normal_force;
  sum.peak_pressure = std::max(sum.peak_pressure, part.peak_pressure);
  sum.stored_energy += part.stored_energy;
  sum.dissipated_power += part.dissipated_power;
  sum.dissipated_increment += part.dissipated_increment;
  // The slowest sliding point is the first to stick again.
  if (sum.slip_speed == 0.0 || (part.slip_speed != 0.0 && part.slip_speed < sum.slip_speed)) {
    sum.slip_speed = part.slip_speed;
  }
  sum.statistics.active_points += part.statistics.active_points;
  sum.regions.push_back({.force = force,
                         .area = part.area,
                         .peak_pressure = part.peak_pressure,
                         .p_ACop = force > 0.0 ? part.p_ACop : Vector3::Zero()});
}

}  // namespace

CompartmentContact::CompartmentContact(std::string name, std::vector<Part> parts, ParameterMap parameters)
    : ContactBackend(traits_of(parts, std::move(parameters))), name_(std::move(name)), parts_(std::move(parts)) {}

std::shared_ptr<const History> CompartmentContact::initial_history() const {
  auto history = CompartmentHistory::of_backend(name_);
  for (const Part& part : parts_) history->parts.push_back(part.law->initial_history());
  return history;
}

std::shared_ptr<const History> CompartmentContact::load_history(std::string_view bytes) const {
  auto history = CompartmentHistory::load(bytes, name_);
  if (history->saved.size() != parts_.size()) {
    throw input_error("history", fmt::format("history of back-end '{}': expected {} compartments, found {}", name_,
                                             parts_.size(), history->saved.size()));
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    history->parts.push_back(parts_[i].law->load_history(history->saved[i]));
  }
  history->saved.clear();
  return history;
}

Response CompartmentContact::evaluate(const History& history, const PairState& state,
                                      const EvaluateOptions& options) const {
  const CompartmentHistory& own = CompartmentHistory::from(history);
  Response sum;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    add_part(parts_[i].law->evaluate(*own.parts[i], state, options), sum);
  }
  return sum;
}

Committed CompartmentContact::commit(const History& history, const PairState& state,
                                     const EvaluateOptions& options) const {
  const CompartmentHistory& own = CompartmentHistory::from(history);
  auto next = CompartmentHistory::of_backend(name_);
  Response sum;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Committed part = parts_[i].law->commit(*own.parts[i], state, options);
    next->parts.push_back(std::move(part.history));
    add_part(part.response, sum);
  }
  return {.history = std::move(next), .response = std::move(sum)};
}

}  // namespace heelstrike::fem
