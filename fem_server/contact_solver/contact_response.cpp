#include "fem_server/contact_solver/contact_response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/slip.hpp"

namespace heelstrike::fem {

namespace {

/// [m/s] of the closest point, positive while approaching.
double closing_speed(const ContactSolution& solved, const PairState& state) {
  return gap_wrench(solved.closest, state.X_AB.p).dot(state.V_AB.vector());
}

/// Load of the active nodes in a region, except its peak pressure.
/// @param area_of  [m^2] of an active node
template <typename AreaOf>
RegionLoad region_load(const ContactRegion& region, const ContactSolution& solved,
                       std::span<const double> normal_forces, const AreaOf& area_of) {
  RegionLoad load;
  for (std::size_t i = 0; i < solved.nodes.size(); ++i) {
    const double share = region.shares[solved.touching[i]];
    load.force += share * normal_forces[i];
    load.area += share * area_of(i);
    load.p_ACop += share * normal_forces[i] * solved.nodes[i].x;
  }
  if (load.force > 0.0) load.p_ACop /= load.force;
  return load;
}

/// Area and peak pressure, of the whole and of regions.
void fill_pressure(const ContactSolution& solved, const PressureRecovery& recovery,
                   std::span<const ContactRegion> regions, std::span<const double> normal_forces, Response& response) {
  if (recovery.empty()) {
    const auto pressure = [&](std::size_t i) { return normal_forces[i] / solved.nodes[i].area; };
    for (std::size_t i = 0; i < solved.nodes.size(); ++i) {
      response.area += solved.nodes[i].area;
      response.peak_pressure = std::max(response.peak_pressure, pressure(i));
    }
    for (std::size_t r = 0; r < regions.size(); ++r) {
      RegionLoad& load = response.regions[r];
      load = region_load(regions[r], solved, normal_forces, [&](std::size_t i) { return solved.nodes[i].area; });
      for (std::size_t i = 0; i < solved.nodes.size(); ++i) {
        if (regions[r].shares[solved.touching[i]] > 0.0) load.peak_pressure = std::max(load.peak_pressure, pressure(i));
      }
    }
    return;
  }
  const RecoveredPressure pressure = recovered_pressure(solved, recovery, normal_forces);
  response.area = pressure.area;
  response.peak_pressure = pressure.at_vertices.maxCoeff();
  for (std::size_t r = 0; r < regions.size(); ++r) {
    RegionLoad& load = response.regions[r];
    load = region_load(regions[r], solved, normal_forces,
                       [&](std::size_t i) { return pressure.areas[static_cast<Eigen::Index>(i)]; });
    for (std::size_t v = 0; v < regions[r].vertices.size(); ++v) {
      if (!regions[r].vertices[v]) continue;
      load.peak_pressure = std::max(load.peak_pressure, pressure.at_vertices(static_cast<Eigen::Index>(v), 0));
    }
  }
}

}  // namespace

void check_depth(const ContactSolution& solved, const ContactOptions& options, const PairState& state) {
  const double depth = -solved.gap;
  if (depth <= options.max_penetration) return;
  throw RecoverableError(
      fmt::format("bodies overlap by {} m, deeper than max_penetration = {} m at t = {} s; use a smaller "
                  "step, correct the initial pose or raise max_penetration",
                  depth, options.max_penetration, state.t));
}

Response solved_response(const ContactSolution& solved, const ContactOptions& options, const PressureRecovery& recovery,
                         std::span<const ContactRegion> regions, const std::optional<double>& approach_velocity,
                         const PairState& state) {
  Response response;
  response.regions.resize(regions.size());
  response.gap = solved.gap;
  response.statistics = solved.statistics;
  const double closing = closing_speed(solved, state);
  response.gap_rate = -closing;
  response.p_ACop = solved.closest.x;
  if (solved.nodes.empty()) return response;
  Hysteresis hysteresis;
  hysteresis.factor = options.hysteresis_factor;
  hysteresis.follows = !approach_velocity && closing > options.min_approach_velocity;
  hysteresis.speed = std::max(approach_velocity.value_or(closing), options.min_approach_velocity);
  hysteresis.approach = gap_wrench(solved.closest, state.X_AB.p);
  std::vector<double> normal_forces;
  fill_wrench(solved.nodes, solved.derivatives, state, hysteresis, response, normal_forces);
  response.normal_force = std::accumulate(normal_forces.begin(), normal_forces.end(), 0.0);
  fill_pressure(solved, recovery, regions, normal_forces, response);
  response.dissipated_increment = solved.dissipated;
  response.slip_speed = solved.slip_speed;
  return response;
}

double slip_speed_after(const ContactSolution& solved, const ContactOptions& options, const PairState& state) {
  if (!(options.friction > 0.0)) return 0.0;
  SlipSpeed speed;
  for (const ContactNodeState& node : solved.nodes) {
    speed.add(node.traction, options.friction * node.lambda, point_velocity(state.V_AB, node.x - state.X_AB.p));
  }
  return speed.value();
}

std::optional<double> latched_speed(const ContactSolution& solved, const ContactOptions& options,
                                    const std::optional<double>& before, const PairState& state) {
  const double closing = closing_speed(solved, state);
  if (!before && (solved.gap < 0.0 || (solved.gap == 0.0 && closing >= 0.0))) {
    return std::max(closing, options.min_approach_velocity);
  }
  if (before && (solved.gap > 0.0 ? closing <= 0.0 : solved.gap == 0.0 && closing < 0.0)) return std::nullopt;
  return before;
}

std::vector<double> hysteresis_factors(const ContactSolution& solved, const ContactOptions& options,
                                       const std::optional<double>& approach_velocity, const PairState& state) {
  const double closing = closing_speed(solved, state);
  const double speed = std::max(approach_velocity.value_or(closing), options.min_approach_velocity);
  std::vector<double> factors;
  for (const ContactNodeState& node : solved.nodes) {
    const double rate = gap_wrench(node, state.X_AB.p).dot(state.V_AB.vector());
    factors.push_back(std::max(0.0, 1.0 + options.hysteresis_factor / speed * rate));
  }
  return factors;
}

Eigen::MatrixXd active_loads(const ContactSolution& solved, std::span<const double> factors) {
  Eigen::MatrixXd loads(static_cast<Eigen::Index>(solved.nodes.size()), 4);
  for (std::size_t i = 0; i < solved.nodes.size(); ++i) {
    const ContactNodeState& node = solved.nodes[i];
    loads.row(static_cast<Eigen::Index>(i)) << factors[i] * node.lambda, factors[i] * node.force().transpose();
  }
  return loads;
}

RecoveredPressure recovered_pressure(const ContactSolution& solved, const PressureRecovery& recovery,
                                     std::span<const double> normal_forces) {
  std::vector<Vector3> normals;
  for (const ContactNodeState& node : solved.nodes) normals.push_back(node.surface.normal);
  return recovery.recover(
      solved.touching, normals,
      Eigen::Map<const Eigen::VectorXd>(normal_forces.data(), static_cast<Eigen::Index>(normal_forces.size())));
}

}  // namespace heelstrike::fem
