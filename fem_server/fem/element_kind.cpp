#include "fem_server/fem/element_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::array kinds{
    ElementKind{.name = "tet4", .n_nodes = 4, .pressure = PressureKind::pointwise},
    ElementKind{.name = "tet10", .n_nodes = 10, .pressure = PressureKind::pointwise},
    ElementKind{.name = "tet4_mixed", .n_nodes = 4, .pressure = PressureKind::nodal},
    ElementKind{.name = "tet10_mixed", .n_nodes = 10, .pressure = PressureKind::nodal},
    ElementKind{.name = "wedge6", .n_nodes = 6, .pressure = PressureKind::pointwise},
    ElementKind{.name = "wedge6_mixed", .n_nodes = 6, .pressure = PressureKind::nodal},
    ElementKind{.name = "hex8", .n_nodes = 8, .pressure = PressureKind::element},
    ElementKind{.name = "hex27", .n_nodes = 27, .pressure = PressureKind::nodal},
};

}  // namespace

std::span<const ElementKind> element_kinds() {
  return kinds;
}

std::vector<std::string> element_names() {
  std::vector<std::string> names{std::string(from_mesh)};
  for (const ElementKind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

std::optional<ElementKind> named_element(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &ElementKind::name);
  if (found == kinds.end()) return std::nullopt;
  return *found;
}

const ElementKind& default_element(std::uint32_t n_nodes) {
  const auto* const found = std::ranges::find(kinds, n_nodes, &ElementKind::n_nodes);
  if (found == kinds.end()) {
    throw Error(ErrorCode::internal, fmt::format("no finite element has {} nodes", n_nodes));
  }
  return *found;
}

const ElementKind& element_with(std::uint32_t n_nodes, PressureKind pressure) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](const ElementKind& kind) { return kind.n_nodes == n_nodes && kind.pressure == pressure; });
  if (found == kinds.end()) {
    throw Error(ErrorCode::internal, fmt::format("no finite element has {} nodes and these pressures", n_nodes));
  }
  return *found;
}

}  // namespace heelstrike::fem
