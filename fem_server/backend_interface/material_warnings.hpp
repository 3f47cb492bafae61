/// Moduli and densities that no material has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

/// "KEY: sentence" for each value outside of what tissues, plastics, metals and ceramics have, with the unit that was
/// probably meant. @param key  of the material, e.g. "contact.NAME.main.material"
[[nodiscard]] std::vector<std::string> find_material_warnings(std::span<const Material> materials, const std::string& key);

}  // namespace heelstrike::fem
