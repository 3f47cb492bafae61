/// Available finite elements. A new one is one line of the table in element_kind.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::fem {

/// Volume change that enters the volumetric part of a material law.
enum class PressureKind : std::uint8_t {
  pointwise,  ///< value at each quadrature point: pure displacement formulation
  element,    ///< mean over the element: one pressure per element
  nodal       ///< mean around each corner: one pressure per corner, linear (trilinear) in between
};

struct ElementKind {
  std::string_view name;
  std::uint32_t n_nodes = 0;  ///< of the mesh
  PressureKind pressure = PressureKind::pointwise;
  [[nodiscard]] bool mixed() const { return pressure != PressureKind::pointwise; }
};

/// All element kinds. Among those with the same number of nodes the first one is the default.
[[nodiscard]] std::span<const ElementKind> element_kinds();

/// Value of the key `element` that selects the default element for the mesh.
inline constexpr std::string_view from_mesh = "from_mesh";

/// `from_mesh` and all names, for schemas and messages.
[[nodiscard]] std::vector<std::string> element_names();

/// @return none for `from_mesh`
/// @pre name is one of element_names()
[[nodiscard]] std::optional<ElementKind> named_element(std::string_view name);

/// @throws Error{internal} when no kind has this number of nodes
[[nodiscard]] const ElementKind& default_element(std::uint32_t n_nodes);

/// @throws Error{internal} when there is none
[[nodiscard]] const ElementKind& element_with(std::uint32_t n_nodes, PressureKind pressure);

}  // namespace heelstrike::fem
