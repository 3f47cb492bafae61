/// The finite elements that a body can be made of. A new one is one line of the table in element_kind.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::fem {

/// What the volumetric part of a material law sees of the volume change of a displacement.
enum class PressureKind : std::uint8_t {
  pointwise,  ///< its value at each quadrature point: displacements only
  element,    ///< its mean over the element: one pressure in each
  nodal       ///< its mean around each corner: one pressure at each, linear (trilinear) in between
};

struct ElementKind {
  std::string_view name;
  std::uint32_t n_nodes = 0;  ///< of the mesh
  PressureKind pressure = PressureKind::pointwise;
  [[nodiscard]] bool mixed() const { return pressure != PressureKind::pointwise; }
};

/// All of them. Of those with the same number of nodes the first one is what a mesh is made of when nothing is said.
[[nodiscard]] std::span<const ElementKind> element_kinds();

/// The value of the key `element` that takes what the mesh has.
inline constexpr std::string_view from_mesh = "from_mesh";

/// `from_mesh` and all names, for schemas and messages.
[[nodiscard]] std::vector<std::string> element_names();

/// @return none for `from_mesh`
/// @pre name is one of element_names()
[[nodiscard]] std::optional<ElementKind> named_element(std::string_view name);

/// @throws Error{internal} when no kind has this number of nodes
[[nodiscard]] const ElementKind& default_element(std::uint32_t n_nodes);

/// @throws Error{internal} when there is none like this
[[nodiscard]] const ElementKind& element_with(std::uint32_t n_nodes, PressureKind pressure);

}  // namespace heelstrike::fem
