#include "fem_server/geometry/gmsh_helper/remesh.hpp"

#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Polygon_mesh_processing/compute_normal.h>
#include <CGAL/Polygon_mesh_processing/detect_features.h>
#include <CGAL/Polygon_mesh_processing/polygon_soup_to_polygon_mesh.h>
#include <CGAL/Polygon_mesh_processing/remesh.h>
#include <CGAL/Polygon_mesh_processing/self_intersections.h>
#include <CGAL/Surface_mesh.h>
#include <CGAL/boost/graph/selection.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/sliver_removal.hpp"

namespace heelstrike::fem {

namespace {

namespace PMP = CGAL::Polygon_mesh_processing;
using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using Mesh = CGAL::Surface_mesh<Kernel::Point_3>;
using Features = Mesh::Property_map<Mesh::Edge_index, bool>;

/// [rad] Rounding an edge of this angle with edges of length h moves the surface by h tan(20 deg) / 8, 5 % of h.
constexpr double max_angle = 20.0 / 180.0 * std::numbers::pi;
/// [-] of the edge length: larger deviations (twice that of rounding) lead to smaller edges.
constexpr double edge_rounding_ratio = 0.1;
/// [rad] Gmsh treats faces with a dihedral angle below some degrees as overlapping.
constexpr double min_dihedral_angle = 5.0 / 180.0 * std::numbers::pi;
/// [-] of the edge length: thinner triangles, remnants of slivers of the input, lead to flat tetrahedra.
constexpr double min_height_ratio = 0.1;
/// Down to a quarter of the edge length: for smaller features the deviation of the surface is reported instead. Folds
/// get one halving more.
constexpr int max_halvings = 2;
/// Passes over all edges; more have no measurable effect.
constexpr unsigned n_iterations = 5;

Vector3 centroid(const Mesh& mesh, Mesh::Face_index face) {
  Vector3 sum = Vector3::Zero();
  for (const Mesh::Vertex_index v : mesh.vertices_around_face(mesh.halfedge(face))) {
    const auto& p = mesh.point(v);
    sum += Vector3(p.x(), p.y(), p.z()) / 3.0;
  }
  return sum;
}

Mesh to_cgal(const SurfaceMesh& surface) {
  std::vector<Kernel::Point_3> points;
  std::vector<std::vector<std::size_t>> polygons;
  for (const Vector3& p : surface.vertices) points.emplace_back(p.x(), p.y(), p.z());
  for (const Triangle& t : surface.triangles) polygons.push_back({t[0], t[1], t[2]});
  if (!PMP::is_polygon_soup_a_polygon_mesh(polygons)) {
    throw input_error("surface", "surface: edges or vertices with more than one sheet around them; repair the surface");
  }
  Mesh mesh;
  PMP::polygon_soup_to_polygon_mesh(points, polygons, mesh);
  return mesh;
}

SurfaceMesh from_cgal(Mesh& mesh) {
  mesh.collect_garbage();
  SurfaceMesh surface;
  for (const Mesh::Vertex_index v : mesh.vertices()) {
    const auto& p = mesh.point(v);
    surface.vertices.emplace_back(p.x(), p.y(), p.z());
  }
  for (const Mesh::Face_index face : mesh.faces()) {
    Triangle triangle{};
    std::size_t k = 0;
    for (const Mesh::Vertex_index v : mesh.vertices_around_face(mesh.halfedge(face))) triangle.at(k++) = v;
    surface.triangles.push_back(triangle);
  }
  return surface;
}

template <class Faces>
void remesh(const Faces& faces, double size, const Features& features, Mesh& mesh) {
  // One patch: CGAL 5.5 also looks up the patch of adjacent faces and fails with map::at.
  auto patch = mesh.add_property_map<Mesh::Face_index, std::size_t>("f:patch", 0).first;
  PMP::isotropic_remeshing(faces, size, mesh,
                           CGAL::parameters::edge_is_constrained_map(features)
                               .face_patch_map(patch)
                               .number_of_iterations(n_iterations)
                               .number_of_relaxation_steps(3));
  mesh.remove_property_map(patch);
  mesh.collect_garbage();
}

/// Positions where triangles intersect or are folded onto each other because vertices have slid past each other.
std::vector<Vector3> has_folds(const SurfaceMesh& surface) {
  const Mesh mesh = to_cgal(surface);
  std::vector<std::pair<Mesh::Face_index, Mesh::Face_index>> pairs;
  PMP::self_intersections(mesh, std::back_inserter(pairs));
  for (const Mesh::Edge_index e : mesh.edges()) {
    if (mesh.is_border(e)) continue;
    const Mesh::Face_index a = mesh.face(mesh.halfedge(e, 0));
    const Mesh::Face_index b = mesh.face(mesh.halfedge(e, 1));
    const double cosine = PMP::compute_face_normal(a, mesh) * PMP::compute_face_normal(b, mesh);
    if (cosine < -std::cos(min_dihedral_angle)) pairs.emplace_back(a, b);
  }
  std::vector<Vector3> points;
  for (const auto& [a, b] : pairs) {
    points.push_back(centroid(mesh, a));
    points.push_back(centroid(mesh, b));
  }
  return points;
}

/// Faces with a target edge length of at least h, extended because CGAL rejects faces connected by a vertex only.
std::vector<Mesh::Face_index> faces_of_size(Mesh& mesh, const SizeEvaluator& requested, double h) {
  auto selected = mesh.add_property_map<Mesh::Face_index, bool>("f:selected", false).first;
  std::vector<Mesh::Face_index> faces;
  for (const Mesh::Face_index face : mesh.faces()) {
    selected[face] = requested(centroid(mesh, face)) >= h;
    if (selected[face]) faces.push_back(face);
  }
  CGAL::expand_face_selection_for_removal(faces, mesh, selected);
  faces.clear();
  for (const Mesh::Face_index face : mesh.faces()) {
    if (selected[face]) faces.push_back(face);
  }
  mesh.remove_property_map(selected);
  return faces;
}

/// From the finest to the coarsest target edges: vertices slide on the result of the previous pass, and a coarse pass
/// before a fine one would round off its features.
SurfaceMesh remeshed_once(const SurfaceMesh& surface, const SizeField& size, double angle) {
  Mesh mesh = to_cgal(surface);
  Features features = mesh.add_property_map<Mesh::Edge_index, bool>("e:feature", false).first;
  PMP::detect_sharp_edges(mesh, angle * 180.0 / std::numbers::pi, features);
  const SizeEvaluator requested(size);
  double h = size.size;
  for (const Refinement& refinement : size.refinements) h = std::min(h, refinement.size);
  remesh(mesh.faces(), h, features, mesh);
  while (h < size.size) {
    h = std::min(2.0 * h, size.size);
    const std::vector<Mesh::Face_index> coarse = faces_of_size(mesh, requested, h);
    if (!coarse.empty()) remesh(coarse, h, features, mesh);
  }
  return from_cgal(mesh);
}

/// Vertices and centroids of either surface that are farther than `distance` from the other.
std::vector<Vector3> find_deviating_points(const SurfaceMesh& a, const SurfaceMesh& b, double distance) {
  std::vector<Vector3> points;
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const TriangleTree tree(*to);
    const auto consider = [&](const Vector3& p) {
      if (tree.closest(p).distance > distance) points.push_back(p);
    };
    for (const Vector3& p : from->vertices) consider(p);
    for (const Triangle& t : from->triangles) {
      consider((from->vertices[t[0]] + from->vertices[t[1]] + from->vertices[t[2]]) / 3.0);
    }
  }
  return points;
}

}  // namespace

SurfaceMesh remeshed(const SurfaceMesh& surface, const SizeField& size, double feature_angle) {
  const double angle = std::min(feature_angle, max_angle);
  SizeField field = size;
  double finest = size.size;
  std::optional<SurfaceMesh> valid;
  for (int halvings = 0;; ++halvings) {
    SurfaceMesh result = remeshed_once(surface, field, angle);
    remove_slivers(result, min_height_ratio * finest, edge_rounding_ratio * size.size);
    std::vector<Vector3> points = find_deviating_points(surface, result, edge_rounding_ratio * size.size);
    const std::vector<Vector3> is_folded = has_folds(result);
    if (is_folded.empty()) valid = result;
    const bool accepted = is_folded.empty() && (points.empty() || halvings >= max_halvings);
    if (accepted || halvings > max_halvings) return valid.value_or(result);
    // After the last halving for the deviation, only the folds get shorter edges.
    if (halvings == max_halvings) points.clear();
    points.insert(points.end(), is_folded.begin(), is_folded.end());
    finest *= 0.5;
    field.refinements.push_back({.region = region_around(points, finest), .size = finest});
  }
}

}  // namespace heelstrike::fem
