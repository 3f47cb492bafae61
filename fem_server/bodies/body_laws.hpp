/// Laws that materials of a body have for themselves (`law` of a material), beside that of the pair's parameters.
#pragma once

#include "common/contact/surface.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/material_law.hpp"

namespace heelstrike::fem {

/// Refuses laws of materials that cannot be, of both bodies and for any back-end of finite elements.
/// @throws Error{invalid_input} with the key, as checked_parameters and material_law
void check_material_laws(const PairSpec& pair);

/// For back-ends of large strain: every material of either body has a law, its own or that of the pair's parameters,
/// with all constants.
/// @param pair  parameters checked and completed
/// @throws Error{invalid_input} as check_material_laws and material_law; for a law among the parameters that no
/// material follows
[[nodiscard]] PairSpec with_laws(PairSpec pair);

/// @param pair  of with_laws
[[nodiscard]] MaterialLaws laws_of_main(const PairSpec& pair);
/// @pre the partner has a material
[[nodiscard]] MaterialLaws laws_of_partner(const PairSpec& pair);

/// For linear back-ends: no material has a law, which is told of each that had one. The moduli are its response to
/// small strain, of relaxing materials that to a sudden load.
[[nodiscard]] PairSpec linearised(PairSpec pair, const PrepareContext& context);

}  // namespace heelstrike::fem
