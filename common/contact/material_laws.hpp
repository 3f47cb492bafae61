/// Laws of single materials among the parameters of a pair.
#pragma once

#include <string>

#include "common/contact/surface.hpp"

namespace heelstrike {

/// Key of a law below its body: "materials.SET.law", or "material.law" for the material without set.
[[nodiscard]] std::string law_key(const Material& material);

/// "main.materials.pad.law.material_law" etc.: repeated among the parameters of an opened pair, so that the caller can
/// verify that the contact server applied these laws.
[[nodiscard]] ParameterMap laws_in_force(const PairSpec& pair);

}  // namespace heelstrike
