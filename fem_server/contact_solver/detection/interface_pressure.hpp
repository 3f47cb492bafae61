/// Pressure and area of the contact between two deformable bodies, from the forces of the functions of a BodyInterface.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/contact_solver/weighted_nodes.hpp"
#include "fem_server/fem/pressure_recovery.hpp"

namespace heelstrike::fem {

/// Functions that may be in contact.
struct InterfaceContact {
  const WeightedNodes* on_A = nullptr;           ///< nodes of A of each function
  std::span<const double> areas{};               ///< [m^2] of each
  std::span<const std::uint32_t> nodes{};        ///< contact node of A of each
  std::span<const std::uint32_t> touching{};     ///< active functions, as positions among them, ascending
  std::size_t n_nodes = 0;                       ///< contact nodes of A
  std::span<const ContactNodeState> contacts{};  ///< of the active functions: their normals out of B
  const PressureRecovery* recovery = nullptr;    ///< of the contact nodes of A
};

/// [Pa] at the contact nodes of A: the forces of the functions are distributed to the nodes of A and divided by the
/// parts of the nodes' areas that face B; these quotients are as smooth as those of one body, and recovered alike.
/// @param normal_forces  [N] of the active functions
[[nodiscard]] std::vector<double> interface_pressure(const InterfaceContact& contact,
                                                     std::span<const double> normal_forces);

/// [m^2] of non-zero interpolated pressure. Its border lies between the active functions and the nodes in their
/// support, so the result is the mean of the areas of both.
/// @param shares  per contact node of A, fraction of the counted area; empty = all of it
[[nodiscard]] double interface_area(const InterfaceContact& contact, std::span<const double> shares = {});

/// Area and peak pressure of the whole and of the regions. @param regions  of the contact nodes of A
void fill_interface_pressure(const InterfaceContact& contact, std::span<const double> normal_forces,
                             std::span<const ContactRegion> regions, Response& response);

}  // namespace heelstrike::fem
