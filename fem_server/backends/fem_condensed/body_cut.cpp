#include "fem_server/backends/fem_condensed/body_cut.hpp"

#include <algorithm>

namespace heelstrike::fem {
namespace {

constexpr std::uint32_t gone = 0xFFFFFFFF;

bool inside(const Vector3& p, const std::vector<double>& box) {
  return p.x() >= box[0] && p.y() >= box[1] && p.z() >= box[2] && p.x() <= box[3] && p.y() <= box[4] && p.z() <= box[5];
}

}  // namespace

std::size_t cut_to_box(VolumeMesh& mesh, const std::vector<double>& box) {
  std::vector<std::uint32_t> number(mesh.n_elements(), gone);
  std::vector<std::uint32_t> kept;
  std::uint32_t n_kept = 0;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto corners = mesh.element(e);
    const Vector3 center =
        0.25 * (mesh.nodes[corners[0]] + mesh.nodes[corners[1]] + mesh.nodes[corners[2]] + mesh.nodes[corners[3]]);
    if (!inside(center, box)) continue;
    number[e] = n_kept++;
    kept.insert(kept.end(), corners.begin(), corners.end());
  }
  const std::size_t removed = mesh.n_elements() - n_kept;
  mesh.connectivity = std::move(kept);
  for (auto& [name, elements] : mesh.element_sets) {
    std::erase_if(elements, [&](std::uint32_t e) { return number[e] == gone; });
    for (std::uint32_t& e : elements) e = number[e];
  }
  for (auto& [name, faces] : mesh.face_sets) {
    std::erase_if(faces, [&](const ElementFace& face) { return number[face.element] == gone; });
    for (ElementFace& face : faces) face.element = number[face.element];
  }
  if (removed > 0) drop_unused_nodes(mesh);
  return removed;
}

}  // namespace heelstrike::fem
