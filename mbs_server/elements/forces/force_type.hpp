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
  bool steps_fmu = false;  ///< machine code of others, which advances at its own communication points
};

/// In the order of `heelstrike schema`.
[[nodiscard]] std::span<const ForceType> force_types();
/// Whether the type of the element has this trait.
[[nodiscard]] bool steps_fmu(const ElementSpec& force);

}  // namespace heelstrike::mbs
