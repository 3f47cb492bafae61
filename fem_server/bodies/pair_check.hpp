/// What can be said about a pair with a deformable body before anything is read or meshed, and what looks wrong about
/// it.
#pragma once

#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

/// Refuses what no mesh could mend: a body without material, support or element size; parameters of a rigid partner.
/// @param pair  parameters checked and completed
/// @throws Error{invalid_input} with the key
void check_body_pair(const PairSpec& pair);

/// The same for a back-end that knows rigid partners only: refuses one with a material.
void check_rigid_pair(const PairSpec& pair);

/// Doubts about sizes and units of both bodies and elements that lock, "KEY: sentence". Reads the meshes that the pair
/// names.
/// @throws Error{invalid_input} where nothing sensible can come out, elements that the meshes cannot carry or that do
/// not go together, and what reading throws
[[nodiscard]] std::vector<std::string> find_body_pair_warnings(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
