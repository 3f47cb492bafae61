/// Available finite elements. A new one is one line of the table in element_kind.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

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

/// Concatenated index lists: list i is values[first[i]] to values[first[i + 1]].
struct Lists {
  std::vector<std::size_t> first{0};
  std::vector<std::uint32_t> values;
  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t i) const {
    return std::span(values).subspan(first[i], first[i + 1] - first[i]);
  }
  void add(std::span<const std::uint32_t> list);
};

/// Pressure unknowns of a mixed body with their elements and nodes.
///
/// A mixed body has pressure unknowns p = lambda theta in addition to displacements. Their compressibility matrix is
/// diagonal (one mean dilatation theta_a for each, over the volume V_a of its shape function), so that each is
/// eliminated before assembly [hughes2000, section 4.3]:
///
///     theta_a = 1/V_a integral N_a div u dV,   energy = integral mu eps : eps dV + sum_a lambda/2 V_a theta_a^2
///
/// The remaining displacement system is symmetric positive definite and is treated like that of other bodies.
/// Derivation: docs/theory/finite_elements.md, section 1.
///
/// Topology only, no geometry. A pressure belongs to one material: it is discontinuous at material interfaces.
class PressureSpace {
 public:
  /// No pressures.
  PressureSpace() = default;
  /// @param material_of  per element
  PressureSpace(PressureKind kind, const VolumeMesh& mesh, std::span<const std::uint32_t> material_of);

  [[nodiscard]] PressureKind kind() const { return kind_; }
  [[nodiscard]] bool empty() const { return elements_.size() == 0; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  /// Pressures of an element: none, one, or one for each corner.
  [[nodiscard]] std::span<const std::uint32_t> of_element(std::size_t e) const {
    return std::span(of_element_).subspan(e * per_element_, per_element_);
  }
  /// Elements on which a pressure is supported, ascending.
  [[nodiscard]] std::span<const std::uint32_t> elements(std::size_t a) const { return elements_[a]; }
  /// Nodes of these elements, ascending.
  [[nodiscard]] std::span<const std::uint32_t> nodes(std::size_t a) const { return nodes_[a]; }

 private:
  PressureKind kind_ = PressureKind::pointwise;
  std::size_t per_element_ = 0;
  std::vector<std::uint32_t> of_element_;
  Lists elements_;
  Lists nodes_;
};

}  // namespace heelstrike::fem
