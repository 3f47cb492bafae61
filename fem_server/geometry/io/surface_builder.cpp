#include "fem_server/geometry/io/surface_builder.hpp"

#include <fmt/format.h>

#include <bit>

#include "common/errors/error.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

std::size_t SurfaceBuilder::BitHash::operator()(const std::array<std::uint64_t, 3>& bits) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (const std::uint64_t part : bits) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32U;
  }
  return hash;
}

std::uint32_t SurfaceBuilder::add_vertex(const Vector3& position, Place place) {
  check_limit(options_.name, "vertices", mesh_.vertices.size() + 1, options_.limits.max_nodes);
  if (!position.allFinite())
    fail(options_, place, "expected three finite coordinates, found a value that is not a number");
  mesh_.vertices.push_back(position);
  return static_cast<std::uint32_t>(mesh_.vertices.size() - 1);
}

std::uint32_t SurfaceBuilder::add_merged_vertex(const Vector3& position, Place place) {
  if (!position.allFinite())
    fail(options_, place, "expected three finite coordinates, found a value that is not a number");
  const Vector3 positive_zero = position + Vector3::Zero();  // -0 + 0 = +0
  const std::array<std::uint64_t, 3> bits{std::bit_cast<std::uint64_t>(positive_zero.x()),
                                          std::bit_cast<std::uint64_t>(positive_zero.y()),
                                          std::bit_cast<std::uint64_t>(positive_zero.z())};
  const auto next = static_cast<std::uint32_t>(mesh_.vertices.size());
  const auto [entry, fresh] = vertex_of_bits_.emplace(bits, next);
  if (!fresh) {
    ++n_merged_;
    return entry->second;
  }
  return add_vertex(positive_zero, place);
}

std::uint32_t SurfaceBuilder::group_index() {
  const auto [entry, fresh] =
      group_index_.emplace(current_group_, static_cast<std::uint32_t>(mesh_.group_names.size()));
  if (fresh) mesh_.group_names.push_back(current_group_);
  return entry->second;
}

void SurfaceBuilder::add_polygon(std::span<const std::uint32_t> corners, Place place) {
  if (corners.size() < 3) {
    fail(options_, place, fmt::format("expected a polygon with at least 3 corners, found {}", corners.size()));
  }
  check_limit(options_.name, "triangles", mesh_.triangles.size() + corners.size() - 2, options_.limits.max_elements);
  const std::uint32_t group = group_index();
  for (std::size_t i = 2; i < corners.size(); ++i) {
    mesh_.triangles.push_back({corners[0], corners[i - 1], corners[i]});
    mesh_.triangle_groups.push_back(group);
  }
  if (corners.size() > 3) ++n_split_;
}

SurfaceMesh SurfaceBuilder::finish() {
  if (mesh_.triangles.empty()) {
    throw input_error(options_.name, fmt::format("{}: expected a surface, found no triangle", options_.name));
  }
  if (mesh_.group_names.size() == 1 && mesh_.group_names.front().empty()) {
    mesh_.group_names.clear();
    mesh_.triangle_groups.clear();
  }
  if (n_merged_ > 0) {
    add_note(fmt::format("{} triangle corners were merged to {} vertices", n_merged_ + mesh_.vertices.size(),
                         mesh_.vertices.size()));
  }
  if (n_split_ > 0) add_note(fmt::format("{} polygons with more than 3 corners were split into triangles", n_split_));
  return std::move(mesh_);
}

}  // namespace heelstrike::fem::io
