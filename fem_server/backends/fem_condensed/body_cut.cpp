#include "fem_server/backends/fem_condensed/body_cut.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace heelstrike::fem {
namespace {

constexpr std::uint32_t gone = 0xFFFFFFFF;

bool inside(const Vector3& p, const std::vector<double>& box) {
  return p.x() >= box[0] && p.y() >= box[1] && p.z() >= box[2] && p.x() <= box[3] && p.y() <= box[4] && p.z() <= box[5];
}

std::vector<bool> elements_inside(const VolumeMesh& mesh, const std::vector<double>& box) {
  std::vector<bool> keep(mesh.n_elements());
  for (std::size_t e = 0; e < keep.size(); ++e) {
    const auto corners = mesh.element(e);
    const Vector3 center =
        0.25 * (mesh.nodes[corners[0]] + mesh.nodes[corners[1]] + mesh.nodes[corners[2]] + mesh.nodes[corners[3]]);
    keep[e] = inside(center, box);
  }
  return keep;
}

/// Element and the corners of one of its faces, ascending.
using FaceOwner = std::pair<std::array<std::uint32_t, 3>, std::uint32_t>;

std::vector<FaceOwner> faces_of(const VolumeMesh& mesh, const std::vector<bool>& keep) {
  std::vector<FaceOwner> faces;
  for (std::uint32_t e = 0; e < keep.size(); ++e) {
    if (!keep[e]) continue;
    const auto corners = mesh.element(e);
    for (std::size_t left_out = 0; left_out < 4; ++left_out) {
      std::array<std::uint32_t, 3> face{};
      for (std::size_t i = 0, n = 0; i < 4; ++i) {
        if (i != left_out) face[n++] = corners[i];
      }
      std::ranges::sort(face);
      faces.emplace_back(face, e);
    }
  }
  std::ranges::sort(faces);
  return faces;
}

std::uint32_t root_of(std::vector<std::uint32_t>& parent, std::uint32_t e) {
  while (parent[e] != e) e = parent[e] = parent[parent[e]];
  return e;
}

/// Along a cut an element may hang on by an edge or a corner only: a hinge, with which the stiffness is singular. Only
/// the largest part that hangs together by faces is kept.
void drop_loose_parts(const VolumeMesh& mesh, std::vector<bool>& keep) {
  std::vector<std::uint32_t> parent(keep.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto faces = faces_of(mesh, keep);
  for (std::size_t i = 1; i < faces.size(); ++i) {
    if (faces[i].first != faces[i - 1].first) continue;
    parent[root_of(parent, faces[i].second)] = root_of(parent, faces[i - 1].second);
  }
  std::vector<std::size_t> size(keep.size(), 0);
  for (std::uint32_t e = 0; e < keep.size(); ++e) {
    if (keep[e]) ++size[root_of(parent, e)];
  }
  const auto largest = static_cast<std::uint32_t>(std::ranges::max_element(size) - size.begin());
  for (std::uint32_t e = 0; e < keep.size(); ++e) keep[e] = keep[e] && root_of(parent, e) == largest;
}

}  // namespace

std::size_t cut_to_box(VolumeMesh& mesh, const std::vector<double>& box) {
  std::vector<bool> keep = elements_inside(mesh, box);
  if (std::ranges::find(keep, false) == keep.end()) return 0;
  drop_loose_parts(mesh, keep);
  std::vector<std::uint32_t> number(mesh.n_elements(), gone);
  std::vector<std::uint32_t> kept;
  std::uint32_t n_kept = 0;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    if (!keep[e]) continue;
    const auto corners = mesh.element(e);
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
  drop_unused_nodes(mesh);
  return removed;
}

}  // namespace heelstrike::fem
