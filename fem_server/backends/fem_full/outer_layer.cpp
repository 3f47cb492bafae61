#include "fem_server/backends/fem_full/outer_layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

std::vector<bool> marked(std::size_t n, const std::vector<std::uint32_t>& chosen) {
  std::vector<bool> marks(n, false);
  for (const std::uint32_t i : chosen) marks[i] = true;
  return marks;
}

}  // namespace

std::vector<std::uint32_t> layer_of_depth(const BodyModel& body, const ContactNodes& contact, double depth) {
  const VolumeMesh& mesh = body.mesh();
  const std::vector<bool> touches = marked(mesh.nodes.size(), contact.nodes);
  std::vector<std::uint32_t> layer;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    const Vector3 center = element_center(mesh, e);
    const auto is_near = [&](std::uint32_t n) { return (mesh.nodes[n] - center).squaredNorm() <= depth * depth; };
    if (std::ranges::any_of(nodes, [&](std::uint32_t n) { return touches[n]; }) ||
        std::ranges::any_of(contact.nodes, is_near)) {
      layer.push_back(e);
    }
  }
  return layer;
}

std::vector<std::uint32_t> layer_of_set(const BodyModel& body, const ContactNodes& contact, const std::string& set,
                                        const std::string& key) {
  const VolumeMesh& mesh = body.mesh();
  const auto found = mesh.element_sets.find(set);
  if (found == mesh.element_sets.end() || found->second.empty()) {
    std::vector<std::string> known;
    for (const auto& [name, elements] : mesh.element_sets) known.push_back(name);
    throw input_error(key, fmt::format("{}: element set '{}' {}; sets of the mesh: {}", key, set,
                                       found == mesh.element_sets.end() ? "does not exist" : "is empty",
                                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  std::vector<bool> in_layer(mesh.nodes.size(), false);
  for (const std::uint32_t e : found->second) {
    for (const std::uint32_t n : mesh.element(e)) in_layer[n] = true;
  }
  const auto outside = std::ranges::count_if(contact.nodes, [&](std::uint32_t n) { return !in_layer[n]; });
  if (outside == 0) return found->second;
  throw input_error(
      key, fmt::format("{}: {} of {} contact nodes lie outside the layer '{}'{}; restrict contact_set, contact_box or "
                       "contact_direction, or use another set",
                       key, outside, contact.nodes.size(), set,
                       outside == std::ssize(contact.nodes) ? ", which contains none of them" : ""));
}

}  // namespace heelstrike::fem
