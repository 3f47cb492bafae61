/// Named parts of the contact surface of a finite-element body, for which loads are told apart.
#pragma once

#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/pressure_recovery.hpp"

namespace heelstrike::fem {

/// A node between faces in the region and others belongs to it with a share of what it bears.
struct ContactRegion {
  std::string name;
  std::vector<double> shares;  ///< [-] per contact node, in [0, 1]
  std::vector<bool> vertices;  ///< per vertex of the pressure recovery: one of the region's faces has it
};

/// Regions among the faces that `recovery` knows: their sets are the mesh's sets of faces but for `contact_set`, which
/// is all of them; the middle is that of the extents of these faces.
/// @param pair  with the parameters of region_parameters() and body_set_parameters(), completed
/// @throws as surface_regions
[[nodiscard]] std::vector<ContactRegion> contact_regions(const PairSpec& pair, const VolumeMesh& mesh,
                                                         const PressureRecovery& recovery);

}  // namespace heelstrike::fem
