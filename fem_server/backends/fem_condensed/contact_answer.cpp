#include "fem_server/backends/fem_condensed/contact_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// [m/s] of the closest point, positive while approaching.
double closing_speed(const SolvedContact& solved, const PairState& state) {
  return gap_wrench(solved.closest, state.X_AB.p).dot(state.V_AB.vector());
}

/// Only neighbours of touching nodes have a mean pressure.
double peak_pressure(const std::vector<NodeWeights>& mean, std::span<const std::uint32_t> touching,
                     std::span<const double> pressures) {
  if (mean.empty()) return *std::ranges::max_element(pressures);
  std::vector<double> nodal(mean.size(), 0.0);
  std::vector<bool> done(mean.size(), false);
  for (std::size_t i = 0; i < touching.size(); ++i) nodal[touching[i]] = pressures[i];
  double peak = 0.0;
  for (const std::uint32_t node : touching) {
    for (const auto& [around, unused] : mean[node]) {
      if (done[around]) continue;
      done[around] = true;
      double sum = 0.0;
      for (const auto& [neighbour, weight] : mean[around]) sum += weight * nodal[neighbour];
      peak = std::max(peak, sum);
    }
  }
  return peak;
}

}  // namespace

void check_depth(const SolvedContact& solved, const ContactOptions& options, const PairState& state) {
  const double depth = -solved.gap;
  if (depth <= options.depth_limit) return;
  throw RecoverableError(
      fmt::format("bodies overlap by {} m, deeper than depth_limit = {} m at t = {} s; take a smaller "
                  "step, correct the initial pose or raise depth_limit",
                  depth, options.depth_limit, state.t));
}

Response answer(const SolvedContact& solved, const ContactOptions& options, const std::vector<NodeWeights>& mean,
                const std::optional<double>& approach_speed, const PairState& state) {
  Response response;
  response.gap = solved.gap;
  response.statistics = solved.statistics;
  const double closing = closing_speed(solved, state);
  response.gap_rate = -closing;
  response.p_ACop = solved.closest.x;
  if (solved.nodes.empty()) return response;
  Hysteresis hysteresis;
  hysteresis.factor = options.hysteresis_factor;
  hysteresis.follows = !approach_speed && closing > options.approach_speed_floor;
  hysteresis.speed = std::max(approach_speed.value_or(closing), options.approach_speed_floor);
  hysteresis.approach = gap_wrench(solved.closest, state.X_AB.p);
  std::vector<double> pressures;
  fill_wrench(solved.nodes, solved.derivatives, state, hysteresis, response, pressures);
  response.peak_pressure = peak_pressure(mean, solved.touching, pressures);
  response.dissipated_increment = solved.dissipated;
  return response;
}

std::optional<double> latched_speed(const SolvedContact& solved, const ContactOptions& options,
                                    const std::optional<double>& before, const PairState& state) {
  const double closing = closing_speed(solved, state);
  if (!before && (solved.gap < 0.0 || (solved.gap == 0.0 && closing >= 0.0))) {
    return std::max(closing, options.approach_speed_floor);
  }
  if (before && (solved.gap > 0.0 ? closing <= 0.0 : solved.gap == 0.0 && closing < 0.0)) return std::nullopt;
  return before;
}

std::vector<double> hysteresis_factors(const SolvedContact& solved, const ContactOptions& options,
                                       const std::optional<double>& approach_speed, const PairState& state) {
  const double closing = closing_speed(solved, state);
  const double speed = std::max(approach_speed.value_or(closing), options.approach_speed_floor);
  std::vector<double> factors;
  for (const TouchingNode& node : solved.nodes) {
    const double rate = gap_wrench(node, state.X_AB.p).dot(state.V_AB.vector());
    factors.push_back(std::max(0.0, 1.0 + options.hysteresis_factor / speed * rate));
  }
  return factors;
}

std::vector<double> mean_pressures(const std::vector<NodeWeights>& mean, std::span<const std::uint32_t> touching,
                                   std::span<const double> pressures) {
  std::vector<double> nodal(mean.size(), 0.0);
  for (std::size_t i = 0; i < touching.size(); ++i) nodal[touching[i]] = pressures[i];
  std::vector<double> result(nodal.size(), 0.0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const auto& [neighbour, weight] : mean[i]) result[i] += weight * nodal[neighbour];
  }
  return result;
}

}  // namespace heelstrike::fem
