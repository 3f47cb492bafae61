#include "fem_server/fem/pressure_space.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace heelstrike::fem {

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
