#include "fem_server/geometry/gmsh_helper/remesh.hpp"

#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Polygon_mesh_processing/detect_features.h>
#include <CGAL/Polygon_mesh_processing/polygon_soup_to_polygon_mesh.h>
#include <CGAL/Polygon_mesh_processing/remesh.h>
#include <CGAL/Surface_mesh.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

namespace PMP = CGAL::Polygon_mesh_processing;
using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using Mesh = CGAL::Surface_mesh<Kernel::Point_3>;
using Features = Mesh::Property_map<Mesh::Edge_index, bool>;

/// [degrees] Rounding an edge of this angle with edges of length h moves the surface by h tan(20 deg) / 8, 5 % of h.
constexpr double largest_angle = 20.0;
/// Passes over all edges; more change nothing that can be measured.
constexpr unsigned passes = 5;
/// Where elements shall be smaller than this share of the others the surface is remeshed once more.
constexpr double finer = 0.75;

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
  PMP::isotropic_remeshing(
      faces, size, mesh,
      CGAL::parameters::edge_is_constrained_map(features).number_of_iterations(passes).number_of_relaxation_steps(3));
}

}  // namespace

SurfaceMesh remeshed(const SurfaceMesh& surface, const SizeField& size, double feature_angle) {
  Mesh mesh = to_cgal(surface);
  Features features = mesh.add_property_map<Mesh::Edge_index, bool>("e:feature", false).first;
  PMP::detect_sharp_edges(mesh, std::min(feature_angle * 180.0 / std::numbers::pi, largest_angle), features);
  remesh(mesh.faces(), size.size, features, mesh);
  const SizeEvaluator wanted(size);
  std::vector<Mesh::Face_index> fine;
  double finest = std::numeric_limits<double>::infinity();
  for (const Mesh::Face_index face : mesh.faces()) {
    const double h = wanted(centroid(mesh, face));
    if (h >= finer * size.size) continue;
    fine.push_back(face);
    finest = std::min(finest, h);
  }
  if (!fine.empty()) remesh(fine, finest, features, mesh);
  return from_cgal(mesh);
}

}  // namespace heelstrike::fem
