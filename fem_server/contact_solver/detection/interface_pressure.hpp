/// Pressure and area of the contact between two deformable bodies, from the forces of the functions of a BodyInterface.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/contact_solver/weighted_nodes.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/fem/pressure_recovery.hpp"

namespace heelstrike::fem {

/// The functions that may touch.
struct InterfaceContact {
  const WeightedNodes* on_A = nullptr;         ///< what each moves with
  std::span<const double> areas{};             ///< [m^2] of each
  std::span<const std::uint32_t> nodes{};      ///< contact node of A of each
  std::span<const std::uint32_t> touching{};   ///< those that do, as positions among them, ascending
  std::size_t n_nodes = 0;                     ///< contact nodes of A
  std::span<const ContactNodeState> contacts{};    ///< of the touching functions: their normals out of B
  const PressureRecovery* recovery = nullptr;  ///< of the contact nodes of A
};

/// [Pa] at the contact nodes of A: the forces of the functions go to the nodes of A and are divided by what meets B of
/// the nodes' areas there; these quotients are as smooth as those of one body, and recovered as they are.
/// @param normal_forces  [N] of the touching functions
[[nodiscard]] std::vector<double> interface_pressure(const InterfaceContact& contact,
                                                     std::span<const double> normal_forces);

/// [m^2] where the interpolated pressure is not zero: it ends between the functions that push and the nodes that they
/// reach, so the mean of the areas of both.
/// @param shares  per contact node of A, of the area that counts; empty = all of it
[[nodiscard]] double interface_area(const InterfaceContact& contact, std::span<const double> shares = {});

/// Area and peak pressure of the whole and of the regions. @param regions  of the contact nodes of A
void fill_interface_pressure(const InterfaceContact& contact, std::span<const double> normal_forces,
                             std::span<const ContactRegion> regions, Response& response);

}  // namespace heelstrike::fem
