/// Common preparation of fem_full and fem_layered: a body solved in all degrees of freedom, and a rigid partner.
#pragma once

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/neo_hookean.hpp"

namespace heelstrike::fem {

struct FullPreparation {
  PreparedBody body;
  MaterialLaws laws = MaterialLaw::neo_hookean;  ///< of its materials
  ParameterMap parameters;                       ///< as used
};

/// @throws as prepare_body
[[nodiscard]] FullPreparation prepare_full(const PairSpec& pair, const PrepareContext& context);

/// Compliance of the linear body at its contact nodes, the start of the friction solver; empty without friction.
[[nodiscard]] SurfaceCompliance initial_compliance(const PreparedBody& body, const PrepareContext& context);

}  // namespace heelstrike::fem
