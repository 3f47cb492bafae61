#include "fem_server/backends/fem_condensed/detection/interface_pressure.hpp"

#include <algorithm>

namespace heelstrike::fem {

std::vector<double> interface_pressure(const InterfaceContact& contact, std::span<const double> normal_forces) {
  std::vector<double> areas(contact.n_nodes, 0.0);
  std::vector<double> forces(contact.n_nodes, 0.0);
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    for (const auto& [node, weight] : contact.on_A->at(i)) areas[node] += weight * contact.areas[i];
  }
  for (std::size_t a = 0; a < contact.touching.size(); ++a) {
    for (const auto& [node, weight] : contact.on_A->at(contact.touching[a])) forces[node] += weight * normal_forces[a];
  }
  std::vector<double> pressure(contact.n_nodes, 0.0);
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    double& at_place = pressure[contact.nodes[i]];
    for (const auto& [node, weight] : contact.on_A->at(i)) at_place += weight * forces[node] / areas[node];
  }
  return pressure;
}

double interface_area(const InterfaceContact& contact, std::span<const double> shares) {
  const auto share = [&](std::size_t node) { return shares.empty() ? 1.0 : shares[node]; };
  std::vector<double> areas(contact.n_nodes, 0.0);
  std::vector<bool> loaded(contact.n_nodes, false);
  double pushing = 0.0;
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    for (const auto& [node, weight] : contact.on_A->at(i)) areas[node] += weight * contact.areas[i];
  }
  for (const std::uint32_t i : contact.touching) {
    pushing += share(contact.nodes[i]) * contact.areas[i];
    for (const auto& [node, weight] : contact.on_A->at(i)) loaded[node] = true;
  }
  double reached = 0.0;
  for (std::size_t node = 0; node < areas.size(); ++node) {
    if (loaded[node]) reached += share(node) * areas[node];
  }
  return 0.5 * (pushing + reached);
}

void fill_interface_pressure(const InterfaceContact& contact, std::span<const double> normal_forces,
                             std::span<const ContactRegion> regions, Response& response) {
  const std::vector<double> pressure = interface_pressure(contact, normal_forces);
  response.area = interface_area(contact);
  response.peak_pressure = std::ranges::max(pressure);
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const std::vector<double>& shares = regions[r].shares;
    RegionLoad& load = response.regions[r];
    load.area = interface_area(contact, shares);
    load.peak_pressure = 0.0;
    for (std::size_t node = 0; node < pressure.size(); ++node) {
      if (shares[node] > 0.0) load.peak_pressure = std::max(load.peak_pressure, pressure[node]);
    }
  }
}

}  // namespace heelstrike::fem
