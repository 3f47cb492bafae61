#include "fem_server/geometry/primitives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <set>

#include "common/errors/error.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "scenario/surfaces/cylinder.hpp"

namespace heelstrike::fem {

namespace {

void require_length(double value, const std::string& field) {
  if (value > 0.0 && std::isfinite(value)) return;
  throw input_error(field, fmt::format("{}: expected a length above 0 m, found {} m", field, value));
}

void require_order(std::uint32_t order) {
  if (order != 1 && order != 2) throw input_error("order", fmt::format("order: expected 1 or 2, found {}", order));
}

/// Number of divisions of `length` with parts of at most `size`, robust against rounding.
std::size_t divisions(double length, double size) {
  constexpr double rounding = 1e-9;
  constexpr double most = 1e6;
  // 0.07 / 0.01 is 7.000000000000001 in doubles and must not give eight parts.
  const double n = std::ceil(length / size - rounding);
  if (n > most)
    throw limit_error(
        "size", fmt::format("size = {} m divides {} m into {} parts, at most {} are allowed", size, length, n, most));
  return static_cast<std::size_t>(std::max(1.0, n));
}

void check_counts(double n_nodes, double n_elements, const MeshLimits& limits) {
  if (n_nodes <= static_cast<double>(limits.max_nodes) && n_elements <= static_cast<double>(limits.max_elements))
    return;
  throw limit_error("size", fmt::format("{} nodes and {} elements exceed the limits of {} and {}; use a larger size",
                                        n_nodes, n_elements, limits.max_nodes, limits.max_elements));
}

void add_box_of_tetrahedra(const std::array<std::uint32_t, 8>& c, VolumeMesh& mesh) {
  // Six tetrahedra around the diagonal 0-7 (Kuhn); corner i has the bits x, y, z. Adjacent boxes match on their faces.
  static constexpr std::array<std::array<std::size_t, 4>, 6> kuhn{
      {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}}};
  for (const auto& tetrahedron : kuhn) {
    for (const std::size_t i : tetrahedron) mesh.connectivity.push_back(c[i]);
  }
}

/// Splits a prism (bottom 0 1 2, top 3 4 5 above) conformingly: the diagonal of a quadrilateral starts at
/// its smallest node number [dompierre1999]. @pre the smallest number lies in the bottom
void add_prism(std::array<std::uint32_t, 6> p, VolumeMesh& mesh) {
  const auto smallest = std::min_element(p.begin(), p.begin() + 3) - p.begin();
  std::rotate(p.begin(), p.begin() + smallest, p.begin() + 3);
  std::rotate(p.begin() + 3, p.begin() + 3 + smallest, p.end());
  static constexpr std::array<std::array<std::size_t, 4>, 3> first{{{0, 1, 2, 5}, {0, 1, 5, 4}, {0, 4, 5, 3}}};
  static constexpr std::array<std::array<std::size_t, 4>, 3> second{{{0, 1, 2, 4}, {0, 4, 2, 5}, {0, 4, 5, 3}}};
  const bool from_one = std::min(p[1], p[5]) < std::min(p[2], p[4]);
  for (const auto& tetrahedron : from_one ? first : second) {
    for (const std::size_t i : tetrahedron) mesh.connectivity.push_back(p[i]);
  }
}

/// A disc: ring k has 6 k points, so that all triangles are nearly regular.
struct Disc {
  std::vector<Eigen::Vector2d> points;
  std::vector<Triangle> triangles;  ///< counterclockwise
};

Disc make_disc(const std::vector<double>& ring_radii) {
  Disc disc;
  disc.points.emplace_back(0.0, 0.0);
  // Rings 1 to k - 1 have 6 + 12 + ... = 3 k (k - 1) points, after the centre.
  const auto index = [](std::size_t ring, std::size_t i) {
    return static_cast<std::uint32_t>(ring == 0 ? 0 : 1 + 3 * ring * (ring - 1) + i % (6 * ring));
  };
  for (std::size_t k = 1; k <= ring_radii.size(); ++k) {
    for (std::size_t i = 0; i < 6 * k; ++i) {
      const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(6 * k);
      disc.points.emplace_back(ring_radii[k - 1] * std::cos(angle), ring_radii[k - 1] * std::sin(angle));
    }
    for (std::size_t sextant = 0; sextant < 6; ++sextant) {
      const std::size_t outer = sextant * k;
      const std::size_t inner = sextant * (k - 1);
      for (std::size_t j = 0; j < k; ++j) {
        // In each sextant a ring has one point more than the ring inside it: k triangles are based on the outer ring, k
        // - 1 on the inner one.
        disc.triangles.push_back({index(k, outer + j), index(k, outer + j + 1), index(k - 1, inner + j)});
        if (j + 1 < k)
          disc.triangles.push_back({index(k - 1, inner + j), index(k, outer + j + 1), index(k - 1, inner + j + 1)});
      }
    }
  }
  return disc;
}

void append_divisions(std::vector<double>& ends, double from, double to, double size) {
  const std::size_t n = divisions(to - from, size);
  for (std::size_t i = 1; i <= n; ++i) {
    const double s = static_cast<double>(i) / static_cast<double>(n);
    // The last value is exact: layer levels and core radii are compared later.
    ends.push_back(i == n ? to : from + s * (to - from));
  }
}

void check_cylinder(const CylinderOptions& options) {
  require_length(options.radius, "radius");
  require_length(options.size, "size");
  require_order(options.order);
  if (!(options.core_radius >= 0.0 && options.core_radius < options.radius)) {
    throw input_error("core_radius", fmt::format("core_radius: expected 0 or a length below radius = {} m, found {} m",
                                                 options.radius, options.core_radius));
  }
  if (options.layers.empty()) require_length(options.height, "height");
  std::set<std::string> names;
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    require_length(options.layers[i].height, fmt::format("layers[{}].height", i));
    if (options.layers[i].name.empty() || !names.insert(options.layers[i].name).second) {
      throw input_error(fmt::format("layers[{}].name", i),
                        fmt::format("layers[{}].name: expected a unique name, found '{}'", i, options.layers[i].name));
    }
  }
}

/// Element sets by structural index: centroids are ambiguous at the chords of the interface.
void add_cylinder_materials(const CylinderOptions& options, const std::vector<double>& levels, std::size_t n_triangles,
                            VolumeMesh& mesh) {
  const std::size_t n_core_rings = options.core_radius > 0.0 ? divisions(options.core_radius, options.size) : 0;
  std::size_t layer = 0;
  double top = levels.front() + (options.layers.empty() ? 0.0 : options.layers.front().height);
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    // Three tetrahedra per prism, prisms slice by slice; the first n rings contain 6 n^2 triangles.
    const std::size_t triangle = e / 3 % n_triangles;
    if (n_core_rings > 0) mesh.element_sets[triangle < 6 * n_core_rings * n_core_rings ? "core" : "shell"].push_back(e);
    if (options.layers.empty()) continue;
    const std::size_t slice = e / 3 / n_triangles;
    if (0.5 * (levels[slice] + levels[slice + 1]) > top) top += options.layers[++layer].height;
    mesh.element_sets[options.layers[layer].name].push_back(e);
  }
}

}  // namespace

MeshingResult make_ball(const BallOptions& options) {
  require_length(options.radius, "radius");
  require_length(options.size, "size");
  if (!(options.contact_direction.norm() > 0.0)) {
    throw input_error("contact_direction", "contact_direction: expected a nonzero vector");
  }
  const Vector3 direction = options.contact_direction.normalized();
  const Vector3 pole = options.radius * direction;
  MeshingOptions meshing = options.meshing;
  meshing.size = {.size = options.size, .refinements = {}, .growth = options.growth};
  const bool refined = options.contact_size > 0.0;
  if (refined) meshing.size.refinements.push_back({BallRegion{pole, options.contact_radius}, options.contact_size});
  MeshingResult result = mesh_ball(options.radius, meshing);
  const auto along = [&](const Vector3& p) { return p.dot(direction); };
  VolumeMesh& mesh = result.mesh;
  add_surface_set(mesh, "bottom",
                  select_boundary_faces(mesh, [&](const Vector3& p, const Vector3&) { return along(p) > 0.0; }));
  add_surface_set(mesh, "top",
                  select_boundary_faces(mesh, [&](const Vector3& p, const Vector3&) { return along(p) <= 0.0; }));
  if (refined && options.contact_radius > 0.0) {
    add_surface_set(mesh, "contact", select_boundary_faces(mesh, [&](const Vector3& p, const Vector3&) {
                      return (p - pole).norm() <= options.contact_radius;
                    }));
  }
  return result;
}

VolumeMesh make_block(const BlockOptions& options) {
  require_length(options.size, "size");
  require_order(options.order);
  std::array<std::size_t, 3> n{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double length = options.lengths[static_cast<Eigen::Index>(k)];
    require_length(length, fmt::format("lengths[{}]", k));
    n[k] = divisions(length, options.size);
  }
  const double cells = static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]);
  check_counts(cells, options.corners == 8 ? cells : options.corners == 6 ? 2.0 * cells : 6.0 * cells, options.limits);
  VolumeMesh mesh;
  mesh.nodes_per_element = options.corners;
  const auto coordinate = [&](std::size_t i, Eigen::Index axis) {
    return options.lengths[axis] *
           (static_cast<double>(i) / static_cast<double>(n[static_cast<std::size_t>(axis)]) - 0.5);
  };
  for (std::size_t k = 0; k <= n[2]; ++k) {
    for (std::size_t j = 0; j <= n[1]; ++j) {
      for (std::size_t i = 0; i <= n[0]; ++i)
        mesh.nodes.emplace_back(coordinate(i, 0), coordinate(j, 1), coordinate(k, 2));
    }
  }
  for (std::size_t k = 0; k < n[2]; ++k) {
    for (std::size_t j = 0; j < n[1]; ++j) {
      for (std::size_t i = 0; i < n[0]; ++i) {
        std::array<std::uint32_t, 8> corners{};
        for (std::size_t c = 0; c < 8; ++c) {
          const std::size_t row = (k + c / 4) * (n[1] + 1) + j + c / 2 % 2;
          corners[c] = static_cast<std::uint32_t>(row * (n[0] + 1) + i + c % 2);
        }
        if (options.corners == 4) add_box_of_tetrahedra(corners, mesh);
        // Around the bottom and around the top.
        const auto add = [&](std::initializer_list<std::size_t> around) {
          for (const std::size_t c : around) mesh.connectivity.push_back(corners[c]);
        };
        if (options.corners == 6) add({0, 1, 3, 4, 5, 7, 0, 3, 2, 4, 7, 6});
        if (options.corners == 8) add({0, 1, 3, 2, 4, 5, 7, 6});
      }
    }
  }
  if (options.order == 2) mesh = to_quadratic(mesh);
  const auto facing = [&](const Vector3& direction) {
    constexpr double nearly_one = 0.5;  // normals are exact multiples of the axes up to rounding
    return select_boundary_faces(
        mesh, [&](const Vector3&, const Vector3& normal) { return normal.dot(direction) > nearly_one; });
  };
  add_surface_set(mesh, "bottom", facing(-Vector3::UnitZ()));
  add_surface_set(mesh, "top", facing(Vector3::UnitZ()));
  add_surface_set(mesh, "left", facing(Vector3::UnitY()));
  add_surface_set(mesh, "right", facing(-Vector3::UnitY()));
  add_surface_set(mesh, "front", facing(Vector3::UnitX()));
  add_surface_set(mesh, "back", facing(-Vector3::UnitX()));
  add_surface_set(mesh, "side", select_boundary_faces(mesh, [](const Vector3&, const Vector3& normal) {
                    return std::abs(normal.z()) < 0.5;
                  }));
  return mesh;
}

VolumeMesh make_cylinder(const CylinderOptions& options) {
  check_cylinder(options);
  std::vector<double> radii;
  if (options.core_radius > 0.0) append_divisions(radii, 0.0, options.core_radius, options.size);
  append_divisions(radii, options.core_radius, options.radius, options.size);
  double height = options.layers.empty() ? options.height : 0.0;
  for (const CylinderLayer& layer : options.layers) height += layer.height;
  std::vector<double> levels{-0.5 * height};
  if (options.layers.empty()) append_divisions(levels, -0.5 * height, 0.5 * height, options.size);
  for (const CylinderLayer& layer : options.layers)
    append_divisions(levels, levels.back(), levels.back() + layer.height, options.size);
  const double rings = static_cast<double>(radii.size());
  const double slices = static_cast<double>(levels.size() - 1);
  check_counts((3.0 * rings * (rings + 1.0) + 1.0) * (slices + 1.0), 18.0 * rings * rings * slices, options.limits);

  const Disc disc = make_disc(radii);
  const auto n_disc = static_cast<std::uint32_t>(disc.points.size());
  VolumeMesh mesh;
  for (const double z : levels) {
    for (const Eigen::Vector2d& p : disc.points) mesh.nodes.emplace_back(p.x(), p.y(), z);
  }
  for (std::uint32_t slice = 0; slice + 1 < levels.size(); ++slice) {
    const std::uint32_t low = slice * n_disc;
    const std::uint32_t high = low + n_disc;
    for (const Triangle& t : disc.triangles)
      add_prism({low + t[0], low + t[1], low + t[2], high + t[0], high + t[1], high + t[2]}, mesh);
  }
  add_cylinder_materials(options, levels, disc.triangles.size(), mesh);
  if (options.order == 2) mesh = to_quadratic(mesh);
  const auto facing = [&](double from, double to) {
    return select_boundary_faces(
        mesh, [=](const Vector3&, const Vector3& normal) { return normal.z() > from && normal.z() <= to; });
  };
  add_surface_set(mesh, "bottom", facing(-2.0, -0.5));
  add_surface_set(mesh, "side", facing(-0.5, 0.5));
  add_surface_set(mesh, "top", facing(0.5, 2.0));
  for (const std::uint32_t node : mesh.node_sets.at("side")) {
    const double distance = std::hypot(mesh.nodes[node].x(), mesh.nodes[node].y());
    // Mid-side nodes lie on chords until they are moved onto the cylinder.
    mesh.nodes[node].head<2>() *= options.radius / distance;
  }
  return mesh;
}

}  // namespace heelstrike::fem
