/// Named regions of the contact surface of a finite-element body, whose loads are reported separately.
#pragma once

#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/pressure_recovery.hpp"

namespace heelstrike::fem {

/// A node between faces inside and outside the region belongs to it with a share of its load.
struct ContactRegion {
  std::string name;
  std::vector<double> shares;  ///< [-] per contact node, in [0, 1]
  std::vector<bool> vertices;  ///< per vertex of the pressure recovery: true for vertices of the region's faces
};

/// Regions among the faces of `recovery`. Their sets are the face sets of the mesh except `contact_set`, which contains
/// all faces; the middle is that of the bounding box of these faces.
/// @param pair  with the parameters of region_parameters() and body_set_parameters(), completed
/// @throws as surface_regions
[[nodiscard]] std::vector<ContactRegion> contact_regions(const PairSpec& pair, const VolumeMesh& mesh,
                                                         const PressureRecovery& recovery);

}  // namespace heelstrike::fem
