/// From the specification of a pair to a finite-element body with its support, contact nodes and partner. Shared by
/// fem_condensed and fem_full.
#pragma once

#include <memory>
#include <vector>

#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/partner_shape.hpp"
#include "fem_server/fem/partner_surface.hpp"

namespace heelstrike::fem {

struct PreparedBody {
  BodyModel body;
  Support support;
  ContactNodes contact;  ///< candidates
  std::shared_ptr<const PartnerSurface> partner;
  ContactOptions options;
  PartnerShape shape{};  ///< of the partner, for drawing
};

/// Parameters that describe mesh, support, candidates and contact law.
[[nodiscard]] std::vector<ParameterSchema> body_parameters();
/// "mesh-plane" and so on.
[[nodiscard]] std::vector<std::string> body_surface_pairs();

/// @param pair  parameters checked and completed; derived ones are written into `parameters`
/// @throws Error{invalid_input, limit, cancelled, ...} of the mesher, the readers and the checks
[[nodiscard]] PreparedBody prepare_body(const PairSpec& pair, const PrepareContext& context, ParameterMap& parameters);

}  // namespace heelstrike::fem
