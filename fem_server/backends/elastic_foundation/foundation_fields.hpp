/// Pictures of an elastic foundation: penetration and pressure on the surface that carries the springs, as VTU.
#pragma once

#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "fem_server/backends/elastic_foundation/spring_bed.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

struct CastingFields {
  double dissipation = 0.0;  ///< [s/m] of the pressure factor
  std::span<const SurfaceRegion> regions{};
};

/// Per face the pressure (its mean), the loaded part of its area, the penetration (its largest) and an array of 0 and 1
/// for each region, "region:NAME"; at the points pressure and penetration.
/// @param state        twist and pose of T in C
/// @param X_WC         of C in the drawn frame
/// @throws Error{invalid_input} for an unknown quantity
[[nodiscard]] std::string write_casting_fields(const SpringBed& bed, const BedState& loads, const PairState& state,
                                       const Pose& X_WC, const CastingFields& picture, const FieldRequest& request);

/// The surface that the springs meet, without quantities; of a plane a square patch about the springs.
[[nodiscard]] std::string write_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT,
                                      const Pose& X_WC, const FieldRequest& request);

}  // namespace heelstrike::fem
