/// Warnings about implausible moduli and densities.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

/// "KEY: sentence" for each value outside the range of tissues, plastics, metals and ceramics, with the unit that was
/// probably intended. @param key  of the material, e.g. "contact.NAME.main.material"
[[nodiscard]] std::vector<std::string> find_material_warnings(std::span<const Material> materials,
                                                              const std::string& key);

}  // namespace heelstrike::fem
