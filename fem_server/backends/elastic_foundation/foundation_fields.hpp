/// Fields of an elastic foundation: penetration and pressure on the casting surface, as VTU.
#pragma once

#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/elastic_foundation/spring_bed.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

struct CastingFields {
  double dissipation = 0.0;  ///< [s/m] of the pressure factor
  std::span<const SurfaceRegion> regions{};
};

/// Per face: mean pressure, loaded part of its area, maximum penetration and an array of 0 and 1 for each region,
/// "region:NAME"; at the points pressure and penetration.
/// @param state        twist and pose of T in C
/// @param X_WC         pose of C in the output frame
/// @throws Error{invalid_input} for an unknown quantity
[[nodiscard]] std::string write_casting_fields(const SpringBed& bed, const BedState& loads, const PairState& state,
                                               const Pose& X_WC, const CastingFields& casting_fields,
                                               const FieldRequest& request);

/// The target surface, without quantities; for a plane, a square patch around the springs.
[[nodiscard]] std::string write_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT,
                                       const Pose& X_WC, const FieldRequest& request);

}  // namespace heelstrike::fem
