#include "fem_server/geometry/io/mesh_builders.hpp"

#include <fmt/format.h>
#include <Eigen/Geometry>
#include <algorithm>
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

namespace {

/// The work of cutting ears grows with the square of the number of corners, or faster.
constexpr std::size_t max_concave_corners = 2000;

/// A corner of a polygon, projected to its plane.
struct PlaneCorner {
  std::uint32_t vertex = 0;
  Eigen::Vector2d at;
};
using PlaneCorners = std::vector<PlaneCorner>;

double cross_of(const Eigen::Vector2d& a, const Eigen::Vector2d& b, const Eigen::Vector2d& c) {
  return (b.x() - a.x()) * (c.y() - a.y()) - (b.y() - a.y()) * (c.x() - a.x());
}

/// Twice the area times the normal, by Newell's sum over the edges.
Vector3 newell_cross(const std::vector<Vector3>& vertices, std::span<const std::uint32_t> corners) {
  Vector3 sum = Vector3::Zero();
  const Vector3& origin = vertices[corners[0]];
  for (std::size_t i = 2; i < corners.size(); ++i)
    sum += (vertices[corners[i - 1]] - origin).cross(vertices[corners[i]] - origin);
  return sum;
}

/// Counterclockwise around the normal.
PlaneCorners in_plane(const std::vector<Vector3>& vertices, std::span<const std::uint32_t> corners,
                      const Vector3& normal) {
  const Vector3 u = normal.unitOrthogonal(), v = normal.cross(u);
  PlaneCorners projected;
  for (const std::uint32_t corner : corners) {
    const Vector3 from_first = vertices[corner] - vertices[corners[0]];
    projected.push_back({.vertex = corner, .at = {u.dot(from_first), v.dot(from_first)}});
  }
  return projected;
}

/// Whether corner `i` can be cut off: it is convex, and no other corner lies in its triangle or on the triangle's
/// edges. Corners at the positions of the triangle's own ones join a hole to the outline and do not count.
/// @param tolerance  [m^2] twice the area below which three corners count as collinear
bool is_ear(const PlaneCorners& ring, std::size_t i, double tolerance) {
  const std::size_t n = ring.size();
  const Eigen::Vector2d &a = ring[(i + n - 1) % n].at, &b = ring[i].at, &c = ring[(i + 1) % n].at;
  if (!(cross_of(a, b, c) > tolerance)) return false;
  return std::ranges::none_of(ring, [&](const PlaneCorner& other) {
    const Eigen::Vector2d& p = other.at;
    return p != a && p != b && p != c && cross_of(a, b, p) >= -tolerance && cross_of(b, c, p) >= -tolerance &&
           cross_of(c, a, p) >= -tolerance;
  });
}

/// Cuts ears off the polygon, one after the other. @return no triangles for a polygon that intersects itself
std::vector<Triangle> cut_ears(PlaneCorners ring, double tolerance) {
  std::vector<Triangle> triangles;
  std::size_t i = 0, n_tried = 0;
  while (ring.size() > 3) {
    if (n_tried++ == ring.size()) return {};
    const std::size_t n = ring.size();
    i %= n;
    if (is_ear(ring, i, tolerance)) {
      triangles.push_back({ring[(i + n - 1) % n].vertex, ring[i].vertex, ring[(i + 1) % n].vertex});
      ring.erase(ring.begin() + static_cast<std::ptrdiff_t>(i));
      n_tried = 0;
    } else {
      ++i;
    }
  }
  if (cross_of(ring[0].at, ring[1].at, ring[2].at) < -tolerance) return {};
  triangles.push_back({ring[0].vertex, ring[1].vertex, ring[2].vertex});
  return triangles;
}

std::vector<Triangle> fan_of(std::span<const std::uint32_t> corners) {
  std::vector<Triangle> fan;
  for (std::size_t i = 2; i < corners.size(); ++i) fan.push_back({corners[0], corners[i - 1], corners[i]});
  return fan;
}

/// The triangles around the first corner if none of them is turned over, as in each convex polygon; otherwise ears.
/// Flat and non-planar polygons without a turned triangle need no plane.
/// @param simple  set to false for polygons without such triangles: they intersect themselves, or have too many corners
std::vector<Triangle> split_polygon(const std::vector<Vector3>& vertices, std::span<const std::uint32_t> corners,
                                    bool& simple) {
  std::vector<Triangle> fan = fan_of(corners);
  if (fan.size() == 1) return fan;
  const Vector3 cross = newell_cross(vertices, corners);
  const Vector3 normal = cross.normalized();
  // Coordinates of single precision leave collinear corners concave by 1e-7.
  const double turned_over = -1e-6 * cross.norm();
  const bool whole = std::ranges::none_of(
      fan, [&](const Triangle& triangle) { return newell_cross(vertices, triangle).dot(normal) < turned_over; });
  if (whole) return fan;
  std::vector<Triangle> ears;
  if (corners.size() <= max_concave_corners) ears = cut_ears(in_plane(vertices, corners, normal), 1e-12 * cross.norm());
  simple = !ears.empty();
  return simple ? ears : fan;
}

}  // namespace

void SurfaceBuilder::add_polygon(std::span<const std::uint32_t> corners, Place place) {
  if (corners.size() < 3) {
    fail(options_, place, fmt::format("expected a polygon with at least 3 corners, found {}", corners.size()));
  }
  check_limit(options_.name, "triangles", mesh_.triangles.size() + corners.size() - 2, options_.limits.max_elements);
  const std::uint32_t group = group_index();
  bool simple = true;
  for (const Triangle& triangle : split_polygon(mesh_.vertices, corners, simple)) {
    mesh_.triangles.push_back(triangle);
    mesh_.triangle_groups.push_back(group);
  }
  if (corners.size() > 3) ++n_split_;
  if (!simple && n_crossed_++ == 0) first_crossed_ = place;
}

SurfaceMesh SurfaceBuilder::finish() {
  if (mesh_.triangles.empty() && !(options_.points_suffice && !mesh_.vertices.empty())) {
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
  // The hull of the points, which such callers take, includes those outside the triangles.
  if (const std::size_t n = options_.points_suffice ? 0 : remove_unused_vertices(mesh_); n > 0) {
    add_note(fmt::format("{} of {} vertices belong to no triangle and were omitted", n, n + mesh_.vertices.size()));
  }
  if (n_crossed_ > 0) {
    add_note(
        fmt::format("{} polygons intersect themselves or are concave with more than {} corners, {} {} the first, and "
                    "were split around their first corner; export triangles where the surface matters",
                    n_crossed_, max_concave_corners, first_crossed_.unit, first_crossed_.at));
  }
  if (n_split_ > 0) add_note(fmt::format("{} polygons with more than 3 corners were split into triangles", n_split_));
  return std::move(mesh_);
}

void fail(const ReadOptions& options, Place place, const std::string& message) {
  throw input_error(options.name, fmt::format("{}, {} {}: {}", options.name, place.unit, place.at, message));
}

namespace {

template <class Values>
void sort_unique(Values& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

void VolumeBuilder::add_node(std::uint64_t label, const Vector3& position, Place place) {
  check_limit(options_.name, "nodes", nodes_.size() + 1, options_.limits.max_nodes);
  if (!position.allFinite())
    fail(options_, place, fmt::format("the coordinates of node {} are not finite numbers", label % copy_stride));
  const auto [entry, fresh] = index_of_label_.emplace(label, static_cast<std::uint32_t>(nodes_.size()));
  if (!fresh) fail(options_, place, fmt::format("node {} is repeated", label % copy_stride));
  nodes_.push_back(position);
  labels_.push_back(label % copy_stride);
}

std::optional<std::uint32_t> VolumeBuilder::find_node(std::uint64_t label) const {
  const auto found = index_of_label_.find(label);
  return found == index_of_label_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t VolumeBuilder::node_index(std::uint64_t label, Place place) const {
  const auto found = index_of_label_.find(label);
  if (found == index_of_label_.end()) {
    fail(options_, place,
         fmt::format("expected one of the {} nodes of the file, found node {}, which is not defined", nodes_.size(),
                     label % copy_stride));
  }
  return found->second;
}

/// On a line of three nodes the middle one must lie within three quarters of the end distance from both ends: at the
/// quarter point the mapping of a straight line becomes singular, and an arc exceeds the limit beyond a semicircle.
void VolumeBuilder::check_middles(std::span<const std::uint32_t> nodes, Place place) const {
  constexpr double farthest = 0.75;
  for (std::size_t i = 8; i < nodes.size(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      auto low = hexahedron_places[i];
      if (low[axis] != 1) continue;
      auto high = low;
      low[axis] = 0;
      high[axis] = 2;
      const std::uint32_t a = nodes[hexahedron_node(low)];
      const std::uint32_t b = nodes[hexahedron_node(high)];
      const double apart = (nodes_[b] - nodes_[a]).norm();
      const double from_a = (nodes_[nodes[i]] - nodes_[a]).norm();
      const double from_b = (nodes_[nodes[i]] - nodes_[b]).norm();
      if (std::max(from_a, from_b) <= farthest * apart) continue;
      fail(options_, place,
           fmt::format("element {}: expected node {}, number {} of its {}, between the nodes {} and {}, which are "
                       "{:.4g} apart, found it {:.4g} and {:.4g} from them (units of the file); list the nodes in the "
                       "order of the file format",
                       mesh_.n_elements(), labels_[nodes[i]], i + 1, nodes.size(), labels_[a], labels_[b], apart,
                       from_a, from_b));
    }
  }
}

void VolumeBuilder::count_cell() {
  check_limit(options_.name, "cells", ++n_cells_, options_.limits.max_elements);
}

std::uint32_t VolumeBuilder::add_element(std::span<const std::uint32_t> nodes, Place place) {
  if (nodes.size() == 15 || nodes.size() == 18) {
    ++n_straight_prisms_;
    return add_element(nodes.first(6), place);
  }
  count_cell();
  const auto order = static_cast<std::uint32_t>(nodes.size());
  if (mesh_.connectivity.empty()) mesh_.nodes_per_element = order;
  if (mesh_.nodes_per_element != order) {
    fail(
        options_, place,
        fmt::format("expected {} with {} nodes as before, found {} with {} nodes: a body consists of elements of "
                    "one kind and order; export such a mesh (Gmsh creates only hexahedra with "
                    "Mesh.SubdivisionAlgorithm, only tetrahedra without recombination), or one volume for each kind as "
                    "a separate body",
                    element_shapes(mesh_.nodes_per_element), mesh_.nodes_per_element, element_shapes(order), order));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (nodes[i] == nodes[j]) fail(options_, place, fmt::format("an element uses node {} twice", labels_[nodes[i]]));
    }
  }
  if (mesh_.hexahedral()) check_middles(nodes, place);
  mesh_.connectivity.insert(mesh_.connectivity.end(), nodes.begin(), nodes.end());
  return static_cast<std::uint32_t>(mesh_.connectivity.size() / order - 1);
}

void VolumeBuilder::add_triangle(const Triangle& corners, const std::string& set) {
  count_cell();
  const auto [entry, fresh] = triangle_set_index_.emplace(set, static_cast<std::uint32_t>(triangle_set_names_.size()));
  if (fresh) triangle_set_names_.push_back(set);
  Triangle key = corners;
  std::sort(key.begin(), key.end());
  triangles_.push_back({key, entry->second});
}

void VolumeBuilder::add_boundary(std::span<const std::uint32_t> nodes, const std::string& set) {
  if (nodes.size() == 4 || nodes.size() >= 8) {
    for (const Triangle& half : split_quadrilateral({nodes[0], nodes[1], nodes[2], nodes[3]})) add_triangle(half, set);
  } else {
    add_triangle({nodes[0], nodes[1], nodes[2]}, set);
  }
}

bool VolumeBuilder::add_side_of(const std::string& set, std::uint32_t element, std::uint8_t side) {
  if (side >= mesh_.sides_per_element()) return false;
  for (const std::uint8_t face : faces_of_side(mesh_, side)) mesh_.face_sets[set].push_back({element, face});
  return true;
}

namespace {

/// Lookup key of a face: its corners, or three of the corners of its side.
Triangle sorted_corners(const VolumeMesh& mesh, ElementFace face) {
  if (mesh.parts_of_side(face.face) <= 2) return face_corners(mesh, face);
  return split_quadrilateral(side_corners(mesh, face))[mesh.part_of_side(face.face) / 4U];
}

}  // namespace

void VolumeBuilder::match_triangles() {
  if (triangles_.empty()) return;
  const auto by_key = [](const BoundaryTriangle& a, const BoundaryTriangle& b) { return a.key < b.key; };
  std::sort(triangles_.begin(), triangles_.end(), by_key);
  std::vector<bool> matched(triangles_.size(), false);
  for (std::uint32_t e = 0; e < mesh_.n_elements(); ++e) {
    for (std::uint8_t f = 0; f < mesh_.faces_per_element(); ++f) {
      BoundaryTriangle requested{sorted_corners(mesh_, {e, f}), 0};
      std::sort(requested.key.begin(), requested.key.end());
      const auto [first, last] = std::equal_range(triangles_.begin(), triangles_.end(), requested, by_key);
      for (auto triangle = first; triangle != last; ++triangle) {
        matched[static_cast<std::size_t>(triangle - triangles_.begin())] = true;
        mesh_.face_sets[triangle_set_names_[triangle->set]].push_back({e, f});
      }
    }
  }
  check_unmatched(matched);
}

/// Triangles that are not a face of any element. @param matched  one entry for each triangle
void VolumeBuilder::check_unmatched(const std::vector<bool>& matched) {
  const auto unmatched = std::find(matched.begin(), matched.end(), false);
  if (unmatched == matched.end()) return;
  if (omits_foreign_triangles_) {
    std::vector<std::size_t> n_foreign(triangle_set_names_.size(), 0), n_all(triangle_set_names_.size(), 0);
    for (std::size_t i = 0; i < triangles_.size(); ++i) {
      ++n_all[triangles_[i].set];
      if (!matched[i]) ++n_foreign[triangles_[i].set];
    }
    for (std::size_t set = 0; set < n_all.size(); ++set) {
      if (n_foreign[set] == 0) continue;
      add_note(
          fmt::format("set '{}': {} of its {} triangles of shells and membranes are not faces of solid elements and "
                      "were omitted",
                      triangle_set_names_[set], n_foreign[set], n_all[set]));
    }
    return;
  }
  const BoundaryTriangle& triangle = triangles_[static_cast<std::size_t>(unmatched - matched.begin())];
  throw input_error(
      options_.name,
      fmt::format(
          "{}: {} of the {} triangles are not a face of any element, the first one (group '{}') has the nodes {}, {}, "
          "{}; export only the surfaces of the meshed volume",
          options_.name, std::count(matched.begin(), matched.end(), false), matched.size(),
          triangle_set_names_[triangle.set], labels_[triangle.key[0]], labels_[triangle.key[1]],
          labels_[triangle.key[2]]));
}

void VolumeBuilder::reorder_gmsh_prisms() {
  if (!mesh_.prismatic()) return;
  std::size_t n_inverted = 0;
  for (std::size_t e = 0; e < mesh_.n_elements(); ++e) n_inverted += element_volume(mesh_, e) < 0.0 ? 1 : 0;
  if (2 * n_inverted <= mesh_.n_elements()) return;
  for (std::size_t e = 0; e < mesh_.n_elements(); ++e) {
    const auto first = mesh_.connectivity.begin() + static_cast<std::ptrdiff_t>(6 * e);
    std::rotate(first, first + 3, first + 6);
  }
  add_note("the prisms were read in the numbering of Gmsh, not of VTK");
}

void VolumeBuilder::complete_hexahedra() {
  if (mesh_.nodes_per_element != 20) return;
  const std::size_t n_prescribed = mesh_.nodes.size();
  mesh_ = completed(std::move(mesh_));
  check_limit(options_.name, "nodes", mesh_.nodes.size(), options_.limits.max_nodes);
  add_note(
      fmt::format("the hexahedra have 20 nodes and were completed to 27: {} side and centre nodes were "
                  "interpolated from the 20",
                  mesh_.nodes.size() - n_prescribed));
}

VolumeMesh VolumeBuilder::finish() {
  if (mesh_.connectivity.empty()) {
    throw input_error(
        options_.name,
        fmt::format("{}: expected tetrahedra, prisms or hexahedra, found {} nodes and {} triangles or quadrilaterals "
                    "only; mesh the surface to a volume first, or export it as STL or OBJ",
                    options_.name, nodes_.size(), n_surface_cells_));
  }
  mesh_.nodes = std::move(nodes_);
  if (of_vtk_) reorder_gmsh_prisms();
  complete_hexahedra();
  if (n_straight_prisms_ > 0) {
    add_note(
        fmt::format("{} prisms have 15 or 18 nodes and were read as prisms with 6: their mid-side nodes were omitted, "
                    "so that their edges are straight",
                    n_straight_prisms_));
  }
  match_triangles();
  for (auto& [name, faces] : mesh_.face_sets) {
    sort_unique(faces);
    auto& nodes = mesh_.node_sets[name];
    const auto more = nodes_of_faces(mesh_, faces);
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  for (auto& [name, elements] : mesh_.element_sets) sort_unique(elements);
  for (auto& [name, nodes] : mesh_.node_sets) sort_unique(nodes);
  if (const std::size_t n = remove_unused_nodes(mesh_); n > 0) {
    add_note(fmt::format("{} of {} nodes belong to no element and were omitted", n, n + mesh_.nodes.size()));
  }
  return std::move(mesh_);
}

}  // namespace heelstrike::fem::io
