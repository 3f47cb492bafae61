/// What describes a type of force element. A new type is one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>

#include "scenario/catalog.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/force_element.hpp"

namespace heelstrike::mbs {

struct ForceType : ElementType {
  /// The element of a model that has its bodies and joints already. Its keys are checked: what is missing there and has
  /// no default cannot be missing here.
  std::function<Force(const ElementSpec& spec, const Model& model)> build;
};

/// In the order of docs/reference/scenario.md.
[[nodiscard]] std::span<const ForceType> force_types();

}  // namespace heelstrike::mbs
