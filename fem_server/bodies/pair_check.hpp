/// Checks of a pair with a deformable body: errors detectable before reading or meshing, and warnings.
#pragma once

#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

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

}  // namespace heelstrike::fem
