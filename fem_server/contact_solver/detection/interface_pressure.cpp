#include "fem_server/contact_solver/detection/interface_pressure.hpp"

#include <algorithm>

namespace heelstrike::fem {

std::vector<double> interface_pressure(const InterfaceContact& contact, std::span<const double> normal_forces) {
  std::vector<double> areas(contact.n_nodes, 0.0);
  std::vector<double> forces(contact.n_nodes, 0.0);
  std::vector<Vector3> normals(contact.n_nodes, Vector3::Zero());
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    for (const auto& [node, weight] : contact.on_A->at(i)) areas[node] += weight * contact.areas[i];
  }
  for (std::size_t a = 0; a < contact.touching.size(); ++a) {
    for (const auto& [node, weight] : contact.on_A->at(contact.touching[a])) {
      forces[node] += weight * normal_forces[a];
      normals[node] += weight * normal_forces[a] * contact.contacts[a].surface.normal;
    }
  }
  std::vector<std::uint32_t> loaded;
  std::vector<Vector3> loaded_normals;
  std::vector<double> loaded_areas;
  for (std::uint32_t node = 0; node < contact.n_nodes; ++node) {
    if (!(forces[node] > 0.0)) continue;
    loaded.push_back(node);
    loaded_normals.push_back(normals[node].normalized());
    loaded_areas.push_back(areas[node]);
  }
  Eigen::VectorXd loads(static_cast<Eigen::Index>(loaded.size()));
  for (std::size_t k = 0; k < loaded.size(); ++k) loads[static_cast<Eigen::Index>(k)] = forces[loaded[k]];
  const Eigen::MatrixXd found = contact.recovery->recover(loaded, loaded_normals, loads, loaded_areas).at_contact_nodes;
  std::vector<double> pressure(contact.n_nodes, 0.0);
  for (std::size_t k = 0; k < loaded.size(); ++k) pressure[loaded[k]] = found(static_cast<Eigen::Index>(k), 0);
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
