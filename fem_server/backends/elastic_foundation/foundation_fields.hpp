/// Pictures of an elastic foundation: penetration and pressure on the surface that carries the springs, as VTU.
#pragma once

#include <string>

#include "common/contact/contact.hpp"
#include "fem_server/backends/elastic_foundation/spring_bed.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

/// @param state        twist and pose of T in C
/// @param X_WC         of C in the drawn frame
/// @param dissipation  [s/m] of the pressure factor
/// @throws Error{invalid_input} for an unknown quantity
[[nodiscard]] std::string draw_casting(const SpringBed& bed, const BedState& loads, const PairState& state,
                                       const Pose& X_WC, double dissipation, const FieldRequest& request);

/// The surface that the springs meet, without quantities; of a plane a square patch about the springs.
[[nodiscard]] std::string draw_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT,
                                      const Pose& X_WC, const FieldRequest& request);

}  // namespace heelstrike::fem
