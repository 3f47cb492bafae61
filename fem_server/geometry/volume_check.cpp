#include "fem_server/geometry/volume_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// Over an equilateral triangle this is a height of 4e-7 of its edges, with shape function gradients some million times
/// those of a good element.
constexpr double degenerate_ratio = 1e-4;
constexpr std::size_t n_positions = 5;  ///< of bad elements in a report

using Barycentric = std::array<double, 4>;

/// Jacobian determinant of a quadratic tetrahedron at a point.
double quadratic_jacobian(const VolumeMesh& mesh, std::size_t e, const Barycentric& l) {
  const auto nodes = mesh.element(e);
  // Columns: derivatives with respect to the barycentric coordinates; shape functions l (2 l - 1) and 4 l_a l_b.
  std::array<Vector3, 4> d;
  for (std::size_t i = 0; i < 4; ++i) d[i] = (4.0 * l[i] - 1.0) * mesh.nodes[nodes[i]];
  for (std::size_t i = 0; i < 6; ++i) {
    const auto [a, b] = tetrahedron_edges[i];
    d[a] += 4.0 * l[b] * mesh.nodes[nodes[4 + i]];
    d[b] += 4.0 * l[a] * mesh.nodes[nodes[4 + i]];
  }
  return (d[1] - d[0]).cross(d[2] - d[0]).dot(d[3] - d[0]);
}

/// Jacobian determinant of a 27-node hexahedron at a node: along a line of three nodes x0, x1, x2 the derivatives are
/// -3 x0 + 4 x1 - x2, x2 - x0 and x0 - 4 x1 + 3 x2.
double triquadratic_jacobian(const VolumeMesh& mesh, std::size_t e, const std::array<std::uint8_t, 3>& place) {
  static constexpr std::array<std::array<double, 3>, 3> derivatives{
      {{-3.0, 4.0, -1.0}, {-1.0, 0.0, 1.0}, {1.0, -4.0, 3.0}}};
  Matrix3 J = Matrix3::Zero();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<std::uint8_t, 3> along = place;
    for (std::uint8_t i = 0; i < 3; ++i) {
      along[axis] = i;
      J.col(static_cast<Eigen::Index>(axis)) +=
          derivatives[place[axis]][i] * mesh.nodes[mesh.element(e)[hexahedron_node(along)]];
    }
  }
  return J.determinant();
}

bool has_corner_edges(const VolumeMesh& mesh) {
  return mesh.hexahedral() || mesh.prismatic();
}

/// Edges at a corner of a hexahedron or a prism as columns [m].
Matrix3 corner_edges(const VolumeMesh& mesh, std::size_t e, std::size_t corner) {
  const auto nodes = mesh.element(e);
  const auto& neighbours = mesh.prismatic() ? prism_neighbours[corner] : hexahedron_neighbours[corner];
  Matrix3 edges;
  for (std::size_t k = 0; k < 3; ++k) {
    edges.col(static_cast<Eigen::Index>(k)) = mesh.nodes[nodes[neighbours[k]]] - mesh.nodes[nodes[corner]];
  }
  return edges;
}

/// Mean ratio of hexahedra and prisms from the edges at the corners, relative to a cube or to a prism with equal edges.
double corner_mean_ratio(const VolumeMesh& mesh, std::size_t e) {
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t corner = 0; corner < mesh.corners_per_element(); ++corner) {
    Matrix3 J = corner_edges(mesh, e, corner);
    if (mesh.prismatic()) {
      // Maps the corner of the regular triangle to a right angle: J times the inverse of its edges.
      J.col(1) = (2.0 * J.col(1) - J.col(0)) / std::numbers::sqrt3;
    }
    const double squares = J.squaredNorm();
    if (squares == 0.0 || !std::isfinite(squares)) return 0.0;
    const double root = std::cbrt(std::abs(J.determinant()));
    worst = std::min(worst, std::copysign(3.0 * root * root / squares, J.determinant()));
  }
  return worst;
}

/// Calls visit(length [m]) for every edge; edges of a hexahedron or a prism are visited from either end.
template <class Visit>
void for_each_edge(const VolumeMesh& mesh, std::size_t e, const Visit& visit) {
  const auto nodes = mesh.element(e);
  if (has_corner_edges(mesh)) {
    for (std::size_t corner = 0; corner < mesh.corners_per_element(); ++corner) {
      const Matrix3 edges = corner_edges(mesh, e, corner);
      for (Eigen::Index k = 0; k < 3; ++k) visit(edges.col(k).norm());
    }
    return;
  }
  for (const auto& [a, b] : tetrahedron_edges) visit((mesh.nodes[nodes[a]] - mesh.nodes[nodes[b]]).norm());
}

bool inverted(const VolumeMesh& mesh, std::size_t e) {
  if (has_corner_edges(mesh)) {
    const auto inside_out = [&](const auto& place) { return triquadratic_jacobian(mesh, e, place) < 0.0; };
    return corner_mean_ratio(mesh, e) < 0.0 ||
           (mesh.nodes_per_element == 27 && std::ranges::any_of(hexahedron_places, inside_out));
  }
  // The straight tetrahedron of the corners may be inverted; curved edges may invert a quadratic one at single nodes.
  if (element_volume(mesh, e) < 0.0) return true;
  if (mesh.nodes_per_element != 10) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    Barycentric corner{};
    corner[i] = 1.0;
    // Necessary, not sufficient: the determinant is cubic and may be negative between the ten points.
    if (quadratic_jacobian(mesh, e, corner) < 0.0) return true;
  }
  for (const auto& [a, b] : tetrahedron_edges) {
    Barycentric middle{};
    middle[a] = 0.5;
    middle[b] = 0.5;
    if (quadratic_jacobian(mesh, e, middle) < 0.0) return true;
  }
  return false;
}

void check_faces(const VolumeMesh& mesh, VolumeReport& report) {
  std::vector<std::pair<Triangle, std::uint32_t>> faces;
  faces.reserve(mesh.faces_per_element() * mesh.n_elements());
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::uint8_t f = 0; f < mesh.faces_per_element(); ++f) {
      Triangle key = face_corners(mesh, {e, f});
      std::sort(key.begin(), key.end());
      faces.emplace_back(key, e);
    }
  }
  // Equal faces are adjacent after sorting; two define neighbours, a third one overlaps.
  std::sort(faces.begin(), faces.end());
  std::vector<std::uint32_t> parent(mesh.n_elements());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t e) {
    while (parent[e] != e) e = parent[e] = parent[parent[e]];
    return e;
  };
  for (std::size_t i = 1; i < faces.size(); ++i) {
    if (faces[i].first != faces[i - 1].first) continue;
    if (i >= 2 && faces[i].first == faces[i - 2].first) ++report.n_overfull_faces;
    const std::uint32_t a = root(faces[i - 1].second);
    const std::uint32_t b = root(faces[i].second);
    // Pieces are counted by union-find with the smaller number as root.
    parent[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) report.n_pieces += root(e) == e ? 1 : 0;
}

void measure_elements(const VolumeMesh& mesh, VolumeReport& report) {
  report.min_quality = std::numeric_limits<double>::infinity();
  report.min_edge_length = std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    const double quality = mean_ratio(mesh, e);
    report.volume += element_volume(mesh, e);
    report.min_quality = std::min(report.min_quality, quality);
    sum += quality;
    const double bin = std::clamp(std::floor(10.0 * quality), 0.0, 9.0);
    ++report.histogram[static_cast<std::size_t>(bin)];
    for_each_edge(mesh, e, [&](double length) {
      report.min_edge_length = std::min(report.min_edge_length, length);
      report.max_edge = std::max(report.max_edge, length);
    });
    if (inverted(mesh, e)) {
      report.inverted.push_back(e);
    } else if (quality < degenerate_ratio) {
      report.degenerate.push_back(e);
    }
  }
  report.mean_quality = sum / static_cast<double>(mesh.n_elements());
}

}  // namespace

double mean_ratio(const VolumeMesh& mesh, std::size_t e) {
  if (has_corner_edges(mesh)) return corner_mean_ratio(mesh, e);
  const auto nodes = mesh.element(e);
  double squares = 0.0;
  for (const auto& [a, b] : tetrahedron_edges) squares += (mesh.nodes[nodes[a]] - mesh.nodes[nodes[b]]).squaredNorm();
  // Coincident corners or NaN: treated as a flat element.
  if (squares == 0.0 || !std::isfinite(squares)) return 0.0;
  const double volume = element_volume(mesh, e);
  // Volume to the power 2/3 over squared edges is dimensionless; the factor 12 makes it 1 for the regular tetrahedron.
  const double root = std::cbrt(3.0 * std::abs(volume));
  return std::copysign(12.0 * root * root / squares, volume);
}

VolumeReport check_volume(const VolumeMesh& mesh) {
  VolumeReport report;
  report.n_nodes = mesh.nodes.size();
  report.n_elements = mesh.n_elements();
  report.nodes_per_element = mesh.nodes_per_element;
  for (const auto& [name, members] : mesh.element_sets) report.set_sizes["element:" + name] = members.size();
  for (const auto& [name, members] : mesh.node_sets) report.set_sizes["node:" + name] = members.size();
  for (const auto& [name, members] : mesh.face_sets) report.set_sizes["face:" + name] = members.size();
  std::vector<bool> used(mesh.nodes.size(), false);
  for (const std::uint32_t node : mesh.connectivity) used[node] = true;
  report.n_unused_nodes = static_cast<std::size_t>(std::count(used.begin(), used.end(), false));
  if (report.n_elements == 0) return report;
  measure_elements(mesh, report);
  check_faces(mesh, report);
  for (const auto* list : {&report.inverted, &report.degenerate}) {
    for (const std::uint32_t e : *list) {
      if (report.where.size() >= n_positions) break;
      report.where.push_back(element_center(mesh, e));
    }
  }
  return report;
}

std::string describe(const VolumeReport& report) {
  std::string text = fmt::format(
      "{} nodes, {} {} with {} nodes in {} {}, volume {:.6g} m^3, edges {:.4g} to {:.4g} m\n", report.n_nodes,
      report.n_elements, element_shapes(report.nodes_per_element), report.nodes_per_element, report.n_pieces,
      report.n_pieces == 1 ? "piece" : "pieces", report.volume, report.min_edge_length, report.max_edge);
  text += fmt::format("mean ratio: worst {:.4f}, mean {:.4f}; elements per tenth:", report.min_quality,
                      report.mean_quality);
  for (const std::size_t n : report.histogram) text += fmt::format(" {}", n);
  text += '\n';
  const auto list = [&](std::string_view what, std::size_t n) {
    if (n > 0) text += fmt::format("{} {}\n", n, what);
  };
  list("inverted elements", report.inverted.size());
  list("degenerate elements (mean ratio below 1e-4)", report.degenerate.size());
  list("nodes without element", report.n_unused_nodes);
  list("faces with more than two elements", report.n_overfull_faces);
  for (const Vector3& p : report.where)
    text += fmt::format("  bad element at ({:.6g}, {:.6g}, {:.6g}) m\n", p.x(), p.y(), p.z());
  for (const auto& [name, size] : report.set_sizes) text += fmt::format("set {}: {}\n", name, size);
  return text;
}

void require_valid(const VolumeReport& report, const std::string& name) {
  if (report.valid()) return;
  std::string first;
  for (const auto* list : {&report.inverted, &report.degenerate}) {
    if (first.empty() && !list->empty()) first = fmt::format("first bad element: {}\n", list->front());
  }
  throw input_error(
      name, fmt::format("{}: expected a mesh of well-shaped elements, found:\n{}{}Remesh the body, or reorient the "
                        "inverted elements.",
                        name, describe(report), first));
}

}  // namespace heelstrike::fem
