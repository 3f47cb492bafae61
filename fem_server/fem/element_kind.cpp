#include "fem_server/fem/element_kind.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

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

void Lists::add(std::span<const std::uint32_t> list) {
  values.insert(values.end(), list.begin(), list.end());
  first.push_back(values.size());
}

namespace {

/// Key of the pressure `k` of an element: two elements with the same key share it.
std::pair<std::uint32_t, std::uint32_t> key_of(PressureKind kind, const VolumeMesh& mesh, std::size_t e, std::size_t k,
                                               std::span<const std::uint32_t> material_of) {
  if (kind == PressureKind::element) return {static_cast<std::uint32_t>(e), 0};
  return {mesh.element(e)[k], material_of[e]};
}

}  // namespace

PressureSpace::PressureSpace(PressureKind kind, const VolumeMesh& mesh, std::span<const std::uint32_t> material_of)
    : kind_(kind) {
  if (kind == PressureKind::pointwise) return;
  per_element_ = kind == PressureKind::nodal ? mesh.corners_per_element() : 1;
  using Entry = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>;
  std::vector<Entry> entries;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::uint32_t k = 0; k < per_element_; ++k) {
      entries.push_back({key_of(kind, mesh, e, k, material_of), {e, k}});
    }
  }
  std::ranges::sort(entries);
  of_element_.resize(entries.size());
  std::vector<std::uint32_t> elements;
  std::vector<std::uint32_t> nodes;
  for (std::size_t begin = 0; begin < entries.size();) {
    elements.clear();
    nodes.clear();
    std::size_t end = begin;
    for (; end < entries.size() && entries[end].first == entries[begin].first; ++end) {
      const auto [e, k] = entries[end].second;
      of_element_[e * per_element_ + k] = static_cast<std::uint32_t>(elements_.size());
      elements.push_back(e);
      nodes.insert(nodes.end(), mesh.element(e).begin(), mesh.element(e).end());
    }
    std::ranges::sort(nodes);
    const auto repeated = std::ranges::unique(nodes);
    nodes.erase(repeated.begin(), repeated.end());
    elements_.add(elements);
    nodes_.add(nodes);
    begin = end;
  }
}

}  // namespace heelstrike::fem
