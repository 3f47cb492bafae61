#include "fem_server/geometry/surface_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

namespace {

constexpr double degenerate_height = 1e-10;  ///< [-] of the longest edge
constexpr std::size_t max_intersections = 1000;
constexpr std::size_t max_pairs = 20'000'000;  ///< a few seconds; a valid surface has about ten pairs per triangle

class Collector {
 public:
  Collector(SurfaceReport& report, std::size_t positions) : report_(report), positions_(positions) {}

  void add(SurfaceDefect defect, const Vector3& where, std::uint32_t triangle) {
    auto finding = std::find_if(report_.findings.begin(), report_.findings.end(),
                                [&](const SurfaceFinding& f) { return f.defect == defect; });
    if (finding == report_.findings.end()) {
      report_.findings.push_back({.defect = defect, .count = 0, .where = {}, .triangles = {}});
      finding = report_.findings.end() - 1;
    }
    if (finding->count++ >= positions_) return;
    finding->where.push_back(where);
    finding->triangles.push_back(triangle);
  }

 private:
  SurfaceReport& report_;
  std::size_t positions_;
};

Vector3 centroid(const SurfaceMesh& mesh, std::uint32_t t) {
  const Triangle& corners = mesh.triangles[t];
  return (mesh.vertices[corners[0]] + mesh.vertices[corners[1]] + mesh.vertices[corners[2]]) / 3.0;
}

void check_edges(const SurfaceMesh& mesh, SurfaceReport& report, Collector& collector) {
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  report.closed = !uses.empty();
  for (std::size_t i = 0; i < uses.size();) {
    const std::size_t end = end_of_edge(uses, i);
    const Vector3 middle = 0.5 * (mesh.vertices[uses[i].edge[0]] + mesh.vertices[uses[i].edge[1]]);
    if (end - i != 2) report.closed = false;
    if (end - i == 1) collector.add(SurfaceDefect::open_edge, middle, uses[i].triangle);
    if (end - i > 2) collector.add(SurfaceDefect::nonmanifold_edge, middle, uses[i].triangle);
    if (end - i == 2 && uses[i].forward == uses[i + 1].forward) {
      collector.add(SurfaceDefect::inconsistent_winding, middle, uses[i].triangle);
    }
    i = end;
  }
}

void check_orientation(const SurfaceMesh& mesh, SurfaceReport& report, Collector& collector) {
  const Components components = connected_components(mesh);
  report.n_components = components.count;
  // With inconsistent winding the volume is undefined.
  if (report.count(SurfaceDefect::inconsistent_winding) > 0) return;
  const std::vector<ComponentVolume> bodies = component_volumes(mesh, components);
  for (std::uint32_t c = 0; c < components.count; ++c) {
    // The volume of a body is positive, that of a cavity negative.
    if (!bodies[c].closed || (bodies[c].volume > 0.0) != bodies[c].cavity) continue;
    const auto first = std::find(components.of_triangle.begin(), components.of_triangle.end(), c);
    const auto t = static_cast<std::uint32_t>(first - components.of_triangle.begin());
    collector.add(SurfaceDefect::inside_out, centroid(mesh, t), t);
  }
}

void check_triangles(const SurfaceMesh& mesh, SurfaceReport& report, Collector& collector) {
  report.min_edge_length = std::numeric_limits<double>::infinity();
  std::vector<std::pair<Triangle, std::uint32_t>> keys;
  keys.reserve(mesh.triangles.size());
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    Triangle key = mesh.triangles[t];
    double longest = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double length = (mesh.vertices[key[(i + 1) % 3]] - mesh.vertices[key[i]]).norm();
      longest = std::max(longest, length);
      report.min_edge_length = std::min(report.min_edge_length, length);
    }
    report.max_edge = std::max(report.max_edge, longest);
    // The cross product is base times height.
    if (triangle_cross(mesh, t).norm() <= degenerate_height * longest * longest) {
      collector.add(SurfaceDefect::degenerate_triangle, centroid(mesh, t), t);
    }
    std::sort(key.begin(), key.end());
    keys.emplace_back(key, t);
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i].first != keys[i - 1].first) continue;
    collector.add(SurfaceDefect::duplicate_triangle, centroid(mesh, keys[i].second), keys[i].second);
  }
}

/// Sign of the volume of the tetrahedron abcd; 0 within the rounding bound.
int side(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& d) {
  const Vector3 ab = b - a;
  const Vector3 ac = c - a;
  const Vector3 ad = d - a;
  const double volume = ab.cross(ac).dot(ad);
  // Twice the bound of the rounding error of a 3x3 determinant of differences, about 7 machine epsilons of the product
  // of the norms.
  const double bound = 3e-15 * ab.norm() * ac.norm() * ad.norm();
  return volume > bound ? 1 : (volume < -bound ? -1 : 0);
}

struct Corners {
  std::array<Vector3, 3> p;
};

bool segment_pierces(const Vector3& p, const Vector3& q, const Corners& t) {
  const int at_p = side(t.p[0], t.p[1], t.p[2], p);
  const int at_q = side(t.p[0], t.p[1], t.p[2], q);
  // Both ends on one side, or one of them in the plane: contact is not an intersection.
  if (at_p * at_q >= 0) return false;
  int positive = 0;
  int negative = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const int s = side(p, q, t.p[i], t.p[(i + 1) % 3]);
    // A line that intersects the triangle passes all three edges on the same side. Zero is an exact edge hit, shared
    // with the neighbour.
    positive += s > 0 ? 1 : 0;
    negative += s < 0 ? 1 : 0;
  }
  return positive + negative > 0 && (positive == 0 || negative == 0);
}

using Point2 = Eigen::Vector2d;

int side2(const Point2& a, const Point2& b, const Point2& c) {
  const Point2 ab = b - a;
  const Point2 ac = c - a;
  const double area = ab.x() * ac.y() - ab.y() * ac.x();
  // Same bound as in 3D; that of a 2x2 determinant is smaller.
  const double bound = 3e-15 * ab.norm() * ac.norm();
  return area > bound ? 1 : (area < -bound ? -1 : 0);
}

bool strictly_inside(const Point2& q, const std::array<Point2, 3>& t) {
  const int first = side2(t[0], t[1], q);
  return first != 0 && side2(t[1], t[2], q) == first && side2(t[2], t[0], q) == first;
}

/// Overlap of two coplanar triangles.
bool overlap_in_plane(const Corners& s, const Corners& t) {
  const Vector3 normal = (s.p[1] - s.p[0]).cross(s.p[2] - s.p[0]);
  Eigen::Index drop = 0;
  // Projection along the axis closest to the normal preserves most of the area.
  normal.cwiseAbs().maxCoeff(&drop);
  const Eigen::Index x = (drop + 1) % 3;
  const Eigen::Index y = (drop + 2) % 3;
  std::array<Point2, 3> a;
  std::array<Point2, 3> b;
  for (std::size_t i = 0; i < 3; ++i) {
    a[i] = {s.p[i][x], s.p[i][y]};
    b[i] = {t.p[i][x], t.p[i][y]};
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (strictly_inside(a[i], b) || strictly_inside(b[i], a)) return true;
    for (std::size_t j = 0; j < 3; ++j) {
      const Point2& p = a[i];
      const Point2& q = a[(i + 1) % 3];
      const Point2& u = b[j];
      const Point2& v = b[(j + 1) % 3];
      if (side2(p, q, u) * side2(p, q, v) < 0 && side2(u, v, p) * side2(u, v, q) < 0) return true;
    }
  }
  return false;
}

bool in_one_plane(const Corners& s, const Corners& t) {
  for (const Vector3& corner : t.p) {
    if (side(s.p[0], s.p[1], s.p[2], corner) != 0) return false;
  }
  return true;
}

/// Whether two triangles with a common edge are folded onto each other.
bool is_folded(const SurfaceMesh& mesh, const Triangle& s, const Triangle& t) {
  const auto apex_of = [](const Triangle& from, const Triangle& other) {
    return *std::find_if(from.begin(), from.end(),
                         [&](std::uint32_t v) { return std::find(other.begin(), other.end(), v) == other.end(); });
  };
  const std::uint32_t apex_s = apex_of(s, t);
  const std::uint32_t apex_t = apex_of(t, s);
  const auto begin = static_cast<std::size_t>(std::find(s.begin(), s.end(), apex_s) - s.begin());
  const Vector3& a = mesh.vertices[s[(begin + 1) % 3]];
  const Vector3& b = mesh.vertices[s[(begin + 2) % 3]];
  const Vector3& p = mesh.vertices[apex_s];
  const Vector3& q = mesh.vertices[apex_t];
  // Coplanar, with both apexes on the same side of the common edge.
  return side(a, b, p, q) == 0 && (b - a).cross(p - a).dot((b - a).cross(q - a)) > 0.0;
}

void check_intersections(const SurfaceMesh& mesh, SurfaceReport& report, Collector& collector) {
  const TriangleTree tree(mesh);
  std::size_t n_pairs = 0;
  std::size_t n_found = 0;
  tree.for_overlapping_pairs([&](std::uint32_t s, std::uint32_t t) {
    if (triangles_intersect(mesh, s, t)) {
      collector.add(SurfaceDefect::self_intersection, 0.5 * (centroid(mesh, s) + centroid(mesh, t)), s);
      ++n_found;
    }
    // A triangle soup has O(n^2) pairs; the limit is reached after sufficient findings.
    report.complete = ++n_pairs < max_pairs && n_found < max_intersections;
    return report.complete;
  });
}

}  // namespace

std::string_view to_string(SurfaceDefect defect) {
  switch (defect) {
    case SurfaceDefect::open_edge:
      return "open edges";
    case SurfaceDefect::nonmanifold_edge:
      return "edges with more than two triangles";
    case SurfaceDefect::inconsistent_winding:
      return "edges between triangles of opposite winding";
    case SurfaceDefect::inside_out:
      return "closed pieces with normals pointing into the material";
    case SurfaceDefect::self_intersection:
      return "pairs of intersecting triangles";
    case SurfaceDefect::degenerate_triangle:
      return "triangles without area";
    case SurfaceDefect::duplicate_triangle:
      return "repeated triangles";
  }
  return "defects";
}

std::size_t SurfaceReport::count(SurfaceDefect defect) const {
  for (const SurfaceFinding& finding : findings) {
    if (finding.defect == defect) return finding.count;
  }
  return 0;
}

bool triangles_intersect(const SurfaceMesh& mesh, std::uint32_t s, std::uint32_t t) {
  const Triangle& a = mesh.triangles[s];
  const Triangle& b = mesh.triangles[t];
  for (const Triangle& c : {a, b}) {
    if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) return false;  // no area; reported as degenerate
  }
  const auto n_shared =
      std::count_if(a.begin(), a.end(), [&](std::uint32_t v) { return std::find(b.begin(), b.end(), v) != b.end(); });
  if (n_shared >= 3) return false;
  if (n_shared == 2) return is_folded(mesh, a, b);
  const Corners p{{mesh.vertices[a[0]], mesh.vertices[a[1]], mesh.vertices[a[2]]}};
  const Corners q{{mesh.vertices[b[0]], mesh.vertices[b[1]], mesh.vertices[b[2]]}};
  // An edge that ends in a shared corner has one end in the other plane and never counts as piercing.
  for (std::size_t i = 0; i < 3; ++i) {
    if (segment_pierces(p.p[i], p.p[(i + 1) % 3], q) || segment_pierces(q.p[i], q.p[(i + 1) % 3], p)) return true;
  }
  return in_one_plane(p, q) && overlap_in_plane(p, q);
}

SurfaceReport check_surface(const SurfaceMesh& mesh, const SurfaceCheckOptions& options) {
  SurfaceReport report;
  report.n_vertices = mesh.vertices.size();
  report.n_triangles = mesh.triangles.size();
  if (mesh.triangles.empty()) return report;
  Collector collector(report, options.positions_per_kind);
  report.area = surface_area(mesh);
  report.volume = signed_volume(mesh);
  check_edges(mesh, report, collector);
  check_orientation(mesh, report, collector);
  check_triangles(mesh, report, collector);
  if (options.self_intersections) check_intersections(mesh, report, collector);
  std::sort(report.findings.begin(), report.findings.end(),
            [](const SurfaceFinding& a, const SurfaceFinding& b) { return a.defect < b.defect; });
  return report;
}

std::string describe(const SurfaceReport& report) {
  std::string text = fmt::format(
      "{} vertices, {} triangles in {} {}, {}, area {:.6g} m^2, volume {:.6g} m^3, edges {:.4g} to {:.4g} m\n",
      report.n_vertices, report.n_triangles, report.n_components, report.n_components == 1 ? "piece" : "pieces",
      report.closed ? "closed" : "not closed", report.area, report.volume, report.min_edge_length, report.max_edge);
  for (const SurfaceFinding& finding : report.findings) {
    const bool more = !report.complete && finding.defect == SurfaceDefect::self_intersection;
    text += fmt::format("{}{} {}, first at", more ? "at least " : "", finding.count, to_string(finding.defect));
    for (const Vector3& p : finding.where) text += fmt::format(" ({:.6g}, {:.6g}, {:.6g})", p.x(), p.y(), p.z());
    text += " m\n";
  }
  if (!report.complete) text += "the search for self-intersections was stopped early\n";
  return text;
}

void require_valid(const SurfaceReport& report, const std::string& name) {
  if (report.n_triangles == 0)
    throw input_error(name, fmt::format("{}: expected a closed surface, found no triangle", name));
  if (report.valid()) return;
  throw input_error(
      name, fmt::format("{}: expected a closed surface without defects, found:\n{}Holes, duplicates, triangles without "
                        "area and winding can be repaired on request; self-intersections must be removed in a "
                        "mesh editor.",
                        name, describe(report)));
}

}  // namespace heelstrike::fem
