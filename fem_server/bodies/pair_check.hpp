/// Checks of a pair with a deformable body: errors detectable before reading or meshing, warnings, and the material
/// laws of single materials of a body (`law` of a material), besides that of the pair's parameters.
#pragma once

#include <string>
#include <vector>

#include "common/contact/surface.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/material_law.hpp"

namespace heelstrike::fem {

/// Error of a key of a pair: "contact.NAME.KEY: MESSAGE".
[[nodiscard]] Error pair_error(const PairSpec& pair, const std::string& key, const std::string& message);

/// Rejects pairs that no mesh can repair: a body without material, support or element size; parameters of a rigid
/// partner.
/// @param pair  parameters checked and completed
/// @throws Error{invalid_input} with the key
void check_body_pair(const PairSpec& pair);

/// The same for a back-end that supports rigid partners only: rejects a partner with a material.
void check_rigid_pair(const PairSpec& pair);

/// Warnings about sizes and units of both bodies and about locking elements, "KEY: sentence". Reads the meshes of the
/// pair.
/// @throws Error{invalid_input} if no sensible result is possible, for elements that the meshes do not support or that
/// cannot be combined, and errors of reading
[[nodiscard]] std::vector<std::string> find_body_pair_warnings(const PairSpec& pair, const PrepareContext& context);

/// Rejects invalid material laws of both bodies, for any finite-element back-end.
/// @throws Error{invalid_input} with the key, as checked_parameters and material_law
void check_material_laws(const PairSpec& pair);

/// For back-ends of large strain: every material of either body gets a law, its own or that of the pair's parameters,
/// with all constants.
/// @param pair  parameters checked and completed
/// @throws Error{invalid_input} as check_material_laws and material_law; for a law among the parameters that no
/// material uses
[[nodiscard]] PairSpec with_laws(PairSpec pair);

/// @param pair  from with_laws
[[nodiscard]] MaterialLaws laws_of_main(const PairSpec& pair);
/// @pre the partner has a material
[[nodiscard]] MaterialLaws laws_of_partner(const PairSpec& pair);

/// For linear back-ends: removes the laws of all materials and reports each material that had one. The moduli are the
/// response to small strain; for relaxing materials, the response to a sudden load.
[[nodiscard]] PairSpec linearised(PairSpec pair, const PrepareContext& context);

}  // namespace heelstrike::fem
