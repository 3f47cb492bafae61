#include "fem_server/bodies/body_cut.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace heelstrike::fem {
namespace {

constexpr std::uint32_t unassigned = 0xFFFFFFFF;

bool inside(const Vector3& p, const std::vector<double>& box) {
  return p.x() >= box[0] && p.y() >= box[1] && p.z() >= box[2] && p.x() <= box[3] && p.y() <= box[4] && p.z() <= box[5];
}

/// Corners of a face, ascending, with the face.
using FaceOwner = std::pair<Triangle, ElementFace>;

/// Sorted so that equal faces are adjacent.
std::vector<FaceOwner> sorted_faces(const VolumeMesh& mesh) {
  std::vector<FaceOwner> faces;
  faces.reserve(mesh.faces_per_element() * mesh.n_elements());
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::uint8_t f = 0; f < mesh.faces_per_element(); ++f) {
      const ElementFace face{e, f};
      Triangle corners = face_corners(mesh, face);
      std::ranges::sort(corners);
      faces.emplace_back(corners, face);
    }
  }
  std::ranges::sort(faces);
  return faces;
}

/// Faces between a kept element and a removed one.
std::vector<ElementFace> faces_of_cut(const VolumeMesh& mesh, const std::vector<bool>& keep) {
  std::vector<ElementFace> cut;
  const auto faces = sorted_faces(mesh);
  for (std::size_t i = 1; i < faces.size(); ++i) {
    const ElementFace a = faces[i - 1].second;
    const ElementFace b = faces[i].second;
    if (faces[i].first != faces[i - 1].first || keep[a.element] == keep[b.element]) continue;
    cut.push_back(keep[a.element] ? a : b);
  }
  std::ranges::sort(cut);
  return cut;
}

void follow(std::vector<ElementFace>& faces, const std::vector<std::uint32_t>& number) {
  std::erase_if(faces, [&](const ElementFace& face) { return number[face.element] == unassigned; });
  for (ElementFace& face : faces) face.element = number[face.element];
}

void keep_elements(VolumeMesh& mesh, const std::vector<bool>& keep, std::vector<ElementFace>& faces) {
  std::vector<std::uint32_t> number(mesh.n_elements(), unassigned);
  std::vector<std::uint32_t> kept;
  std::uint32_t n_kept = 0;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    if (!keep[e]) continue;
    const auto nodes = mesh.element(e);
    number[e] = n_kept++;
    kept.insert(kept.end(), nodes.begin(), nodes.end());
  }
  mesh.connectivity = std::move(kept);
  for (auto& [name, elements] : mesh.element_sets) {
    std::erase_if(elements, [&](std::uint32_t e) { return number[e] == unassigned; });
    for (std::uint32_t& e : elements) e = number[e];
  }
  for (auto& [name, set] : mesh.face_sets) follow(set, number);
  follow(faces, number);
  remove_unused_nodes(mesh);
}

std::uint32_t root_of(std::vector<std::uint32_t>& parent, std::uint32_t e) {
  while (parent[e] != e) e = parent[e] = parent[parent[e]];
  return e;
}

/// Largest first.
std::vector<MeshPiece> pieces_of(const VolumeMesh& mesh) {
  std::vector<std::uint32_t> parent(mesh.n_elements());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto faces = sorted_faces(mesh);
  for (std::size_t i = 1; i < faces.size(); ++i) {
    if (faces[i].first != faces[i - 1].first) continue;
    parent[root_of(parent, faces[i].second.element)] = root_of(parent, faces[i - 1].second.element);
  }
  std::vector<std::uint32_t> piece_of(mesh.n_elements(), unassigned);
  std::vector<MeshPiece> pieces;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    std::uint32_t& index = piece_of[root_of(parent, e)];
    if (index == unassigned) {
      index = static_cast<std::uint32_t>(pieces.size());
      pieces.emplace_back();
    }
    MeshPiece& piece = pieces[index];
    const double volume = element_volume(mesh, e);
    piece.elements.push_back(e);
    piece.volume += volume;
    piece.center += volume * element_center(mesh, e);
  }
  for (MeshPiece& piece : pieces) piece.center /= piece.volume;
  std::ranges::stable_sort(pieces, std::greater(), &MeshPiece::volume);
  return pieces;
}

/// True if three of the points span a triangle.
bool is_not_collinear(const std::vector<Vector3>& points) {
  // Rounding of coordinates written with seven digits, as in STL files.
  constexpr double rounding = 1e-6;
  if (points.size() < 3) return false;
  const auto distance = [&](const Vector3& p) { return (p - points.front()).norm(); };
  const Vector3 far = *std::ranges::max_element(points, {}, distance);
  const Vector3 along = far - points.front();
  return std::ranges::any_of(points, [&](const Vector3& p) {
    return (p - points.front()).cross(along).norm() > rounding * along.squaredNorm();
  });
}

bool is_supported(const VolumeMesh& mesh, const MeshPiece& piece, const std::vector<bool>& supported) {
  std::vector<Vector3> points;
  for (const std::uint32_t e : piece.elements) {
    for (const std::uint32_t node : mesh.element(e)) {
      if (supported[node]) points.push_back(mesh.nodes[node]);
    }
  }
  return is_not_collinear(points);
}

}  // namespace

std::vector<ElementFace> clip_to_box(VolumeMesh& mesh, const std::vector<double>& box) {
  std::vector<bool> keep(mesh.n_elements());
  for (std::size_t e = 0; e < keep.size(); ++e) keep[e] = inside(element_center(mesh, e), box);
  if (std::ranges::find(keep, false) == keep.end()) return {};
  std::vector<ElementFace> faces = faces_of_cut(mesh, keep);
  keep_elements(mesh, keep, faces);
  return faces;
}

std::vector<MeshPiece> find_unsupported_pieces(const VolumeMesh& mesh, std::span<const std::uint32_t> clamped_nodes) {
  std::vector<MeshPiece> loose = pieces_of(mesh);
  std::vector<bool> supported(mesh.nodes.size(), false);
  for (const std::uint32_t node : clamped_nodes) supported[node] = true;
  bool first_is_free = clamped_nodes.empty();
  const auto mark_supported = [&](const MeshPiece& piece) {
    if (!first_is_free && !is_supported(mesh, piece, supported)) return false;
    first_is_free = false;
    for (const std::uint32_t e : piece.elements) {
      for (const std::uint32_t node : mesh.element(e)) supported[node] = true;
    }
    return true;
  };
  while (std::erase_if(loose, mark_supported) > 0) {
  }
  return loose;
}

void remove_pieces(VolumeMesh& mesh, std::span<const MeshPiece> pieces, std::vector<ElementFace>& faces) {
  std::vector<bool> keep(mesh.n_elements(), true);
  for (const MeshPiece& piece : pieces) {
    for (const std::uint32_t e : piece.elements) keep[e] = false;
  }
  keep_elements(mesh, keep, faces);
}

}  // namespace heelstrike::fem
