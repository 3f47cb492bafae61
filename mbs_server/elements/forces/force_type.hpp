/// Description of a type of force element. A new type needs one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/force_element.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

struct ForceType : ElementType {
  /// Builds the element for a model with bodies and joints. The keys have been checked: required ones are present.
  std::function<Force(const ElementSpec& spec, const Model& model)> build;
};

/// In the order of `heelstrike schema`.
[[nodiscard]] std::span<const ForceType> force_types();

}  // namespace heelstrike::mbs
