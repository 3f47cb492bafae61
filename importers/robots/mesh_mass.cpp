#include "importers/robots/mesh_mass.hpp"

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <set>

#include "common/errors/error.hpp"

namespace heelstrike::models {
namespace {

using Corners = std::array<std::uint32_t, 3>;

Vector3 twice_area(const Triangles& mesh, const Corners& t) {
  const Vector3& a = mesh.vertices[t[0]];
  return (mesh.vertices[t[1]] - a).cross(mesh.vertices[t[2]] - a);
}

Vector3 middle(const Triangles& mesh, const Corners& t) {
  return (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3.0;
}

/// Volume of the pyramid over a triangle, or its area.
double content_over(const Triangles& mesh, const Corners& t, const Vector3& apex, MeshMass kind) {
  const Vector3 n = twice_area(mesh, t);
  if (kind == MeshMass::shell) return 0.5 * n.norm();
  const double volume = (middle(mesh, t) - apex).dot(n) / 6.0;
  return kind == MeshMass::legacy ? std::abs(volume) : volume;
}

Vector3 middle_of_faces(const Triangles& mesh) {
  Vector3 sum = Vector3::Zero();
  double area = 0.0;
  for (const Corners& t : mesh.triangles) {
    const double part = twice_area(mesh, t).norm();
    sum += part * middle(mesh, t);
    area += part;
  }
  return area > 0.0 ? Vector3(sum / area) : sum;
}

/// One step of the incremental hull: replaces the faces visible from a point.
void add_to_hull(Triangles& hull, std::uint32_t point, double tolerance) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> rim;
  std::vector<Corners> kept;
  for (const Corners& t : hull.triangles) {
    const Vector3 n = twice_area(hull, t).normalized();
    if (n.dot(hull.vertices[point] - hull.vertices[t[0]]) <= tolerance) {
      kept.push_back(t);
      continue;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      // Edges between two removed faces cancel.
      if (rim.erase({t[(i + 1) % 3], t[i]}) == 0) rim.insert({t[i], t[(i + 1) % 3]});
    }
  }
  for (const auto& [from, to] : rim) kept.push_back({from, to, point});
  hull.triangles = std::move(kept);
}

/// Four points that span space: the initial hull.
std::vector<std::uint32_t> find_extreme_simplex(const std::vector<Vector3>& p, const std::string& name) {
  if (p.size() < 4)
    throw input_error("model", fmt::format("mesh '{}': expected four points or more, found {}", name, p.size()));
  std::vector<std::uint32_t> found = {0};
  Vector3 along = Vector3::Zero(), normal = Vector3::Zero();
  for (int stage = 0; stage < 3; ++stage) {
    double most = 0.0;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < p.size(); ++i) {
      const Vector3 arm = p[i] - p[0];
      const double far = stage == 0 ? arm.norm() : stage == 1 ? arm.cross(along).norm() : std::abs(arm.dot(normal));
      if (far > most) {
        most = far;
        best = i;
      }
    }
    const double scale = stage == 0 ? 0.0 : along.norm() * (stage == 1 ? along.norm() : normal.norm());
    constexpr double flat = 1e-12;
    if (!(most > flat * scale)) {
      throw input_error("model", fmt::format("mesh '{}': expected points that enclose a volume, found a plane", name));
    }
    found.push_back(best);
    if (stage == 0) along = p[best] - p[0];
    if (stage == 1) normal = along.cross(p[best] - p[0]);
  }
  if (normal.dot(p[found[3]] - p[0]) > 0.0) std::swap(found[1], found[2]);
  return found;
}

}  // namespace

Triangles convex_hull(const std::vector<Vector3>& points, const std::string& name) {
  Triangles hull{.vertices = points};
  const auto first = find_extreme_simplex(points, name);
  hull.triangles = {{first[0], first[1], first[2]},
                    {first[0], first[3], first[1]},
                    {first[1], first[3], first[2]},
                    {first[2], first[3], first[0]}};
  const double size = (points[first[1]] - points[first[0]]).norm();
  // Points within rounding of a face are on it.
  const double tolerance = 1e-12 * size;
  for (std::uint32_t i = 0; i < points.size(); ++i) add_to_hull(hull, i, tolerance);
  return hull;
}

MassProperties mass_of_mesh(const Triangles& mesh, MeshMass kind, const std::string& name) {
  if (kind == MeshMass::convex) return mass_of_mesh(convex_hull(mesh.vertices, name), MeshMass::exact, name);
  const Vector3 apex = middle_of_faces(mesh);
  MassProperties all;
  Vector3 moment = Vector3::Zero();
  double content = 0.0;
  for (const Corners& t : mesh.triangles) {
    const double part = content_over(mesh, t, apex, kind);
    content += part;
    moment += part * (0.75 * middle(mesh, t) + 0.25 * apex);
  }
  if (!(content > 0.0)) {
    throw input_error("model", fmt::format("mesh '{}': expected triangles that enclose a volume, found {} m^3; reverse "
                                           "their orientation, or specify the inertia of the body",
                                           name, content));
  }
  all.center_of_mass = moment / content;
  // Second moments of pyramids over the centre: their corners a, b, c give V / 20 (2 aa' + 2 bb' + 2 cc' + ab' + ...),
  // triangles of area A give A / 12 of the same.
  Matrix3 second = Matrix3::Zero();
  for (const Corners& t : mesh.triangles) {
    const double part = content_over(mesh, t, all.center_of_mass, kind);
    all.mass += part;
    Matrix3 corners;
    for (int i = 0; i < 3; ++i) corners.col(i) = mesh.vertices[t[static_cast<std::size_t>(i)]] - all.center_of_mass;
    const Vector3 sum = corners.rowwise().sum();
    second += part / (kind == MeshMass::shell ? 12.0 : 20.0) * (corners * corners.transpose() + sum * sum.transpose());
  }
  all.inertia = second.trace() * Matrix3::Identity() - second;
  return all;
}

std::string obj_text(const Triangles& mesh, const std::string& comment) {
  std::string text = fmt::format("# {}: [m]\n", comment);
  for (const Vector3& v : mesh.vertices) text += fmt::format("v {} {} {}\n", v.x(), v.y(), v.z());
  for (const Corners& t : mesh.triangles) text += fmt::format("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
  return text;
}

}  // namespace heelstrike::models
