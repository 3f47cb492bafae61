/// Laws that materials have for themselves, as they stand among the parameters of a pair.
#pragma once

#include <string>

#include "common/contact/surface.hpp"

namespace heelstrike {

/// "materials.SET.law", or "material.law" of the material that has no set: where a law stands below its body.
[[nodiscard]] std::string law_key(const Material& material);

/// "main.materials.pad.law.material_law" and so on: what the description of an opened pair repeats among its
/// parameters, so that whoever asked sees that the contact server knew of these laws.
[[nodiscard]] ParameterMap laws_in_force(const PairSpec& pair);

}  // namespace heelstrike
