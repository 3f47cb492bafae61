/// Small structured meshes for the tests: they need no mesher and are reproducible.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem::test {

/// Tensor grid of boxes, six tetrahedra each (Kuhn), with faces named x0, x1, y0, y1, z0, z1. The long diagonals point
/// away from the origin, so that no tetrahedron of a grid pulled onto a ball has all its corners on the surface.
/// @param corners  of the elements: 4; 6, two prisms along z to a box instead; 8, the boxes themselves
inline VolumeMesh grid_mesh(const std::array<std::vector<double>, 3>& lines, std::uint32_t corners = 4) {
  VolumeMesh mesh;
  mesh.nodes_per_element = corners;
  const std::array<std::size_t, 3> n{lines[0].size(), lines[1].size(), lines[2].size()};
  const auto id = [&](std::size_t i, std::size_t j, std::size_t k) {
    return static_cast<std::uint32_t>((k * n[1] + j) * n[0] + i);
  };
  for (std::size_t k = 0; k < n[2]; ++k) {
    for (std::size_t j = 0; j < n[1]; ++j) {
      for (std::size_t i = 0; i < n[0]; ++i) {
        mesh.nodes.emplace_back(lines[0][i], lines[1][j], lines[2][k]);
        const std::array<std::size_t, 3> at{i, j, k};
        static constexpr std::array<const char*, 6> names{"x0", "x1", "y0", "y1", "z0", "z1"};
        for (std::size_t d = 0; d < 3; ++d) {
          if (at[d] == 0) mesh.node_sets[names[2 * d]].push_back(id(i, j, k));
          if (at[d] + 1 == n[d]) mesh.node_sets[names[2 * d + 1]].push_back(id(i, j, k));
        }
      }
    }
  }
  static constexpr std::array<std::array<std::size_t, 3>, 6> orders{
      {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}}};
  for (std::size_t k = 0; k + 1 < n[2]; ++k) {
    for (std::size_t j = 0; j + 1 < n[1]; ++j) {
      for (std::size_t i = 0; i + 1 < n[0]; ++i) {
        if (corners != 4) {
          const auto at = [&](std::size_t around, std::size_t up) {
            return id(i + (around == 1 || around == 2 ? 1 : 0), j + around / 2, k + up);
          };
          const std::vector<std::vector<std::size_t>> bases =
              corners == 8 ? std::vector<std::vector<std::size_t>>{{0, 1, 2, 3}}
                           : std::vector<std::vector<std::size_t>>{{0, 1, 2}, {0, 2, 3}};
          for (const auto& base : bases) {
            for (const std::size_t up : {std::size_t{0}, std::size_t{1}}) {
              for (const std::size_t around : base) mesh.connectivity.push_back(at(around, up));
            }
          }
          continue;
        }
        for (std::size_t o = 0; o < 6; ++o) {
          std::array<std::size_t, 3> corner{i, j, k};
          std::array<bool, 3> down{};
          for (std::size_t d = 0; d < 3; ++d) {
            down[d] = lines[d][corner[d]] + lines[d][corner[d] + 1] < 0.0;
            if (down[d]) ++corner[d];
          }
          std::array<std::uint32_t, 4> tet{id(corner[0], corner[1], corner[2]), 0, 0, 0};
          for (std::size_t s = 0; s < 3; ++s) {
            const std::size_t d = orders[o][s];
            corner[d] += down[d] ? -std::size_t{1} : std::size_t{1};
            tet[s + 1] = id(corner[0], corner[1], corner[2]);
          }
          const bool odd = (o >= 3) != ((down[0] != down[1]) != down[2]);
          if (odd) std::swap(tet[2], tet[3]);  // inverted otherwise
          mesh.connectivity.insert(mesh.connectivity.end(), tet.begin(), tet.end());
        }
      }
    }
  }
  return mesh;
}

inline std::vector<double> even(double from, double to, std::size_t n) {
  std::vector<double> lines;
  for (std::size_t i = 0; i <= n; ++i) {
    lines.push_back(from + (to - from) * static_cast<double>(i) / static_cast<double>(n));
  }
  return lines;
}

inline VolumeMesh block_mesh(const Vector3& from, const Vector3& to, std::size_t nx, std::size_t ny, std::size_t nz,
                             std::uint32_t corners = 4) {
  return grid_mesh({even(from.x(), to.x(), nx), even(from.y(), to.y(), ny), even(from.z(), to.z(), nz)}, corners);
}

/// Corners of an element with the given number of nodes.
inline std::uint32_t corners_of(std::uint32_t nodes_per_element) {
  return element_topology(nodes_per_element).n_corners;
}

/// The same block with the given number of nodes per element.
inline VolumeMesh block_mesh_of(std::uint32_t nodes_per_element, const Vector3& from, const Vector3& to, std::size_t nx,
                                std::size_t ny, std::size_t nz) {
  VolumeMesh mesh = block_mesh(from, to, nx, ny, nz, corners_of(nodes_per_element));
  return element_topology(nodes_per_element).quadratic() ? to_quadratic(mesh) : mesh;
}

/// Lines from 0 to 1: spacing `h` up to `fine`, growing by `ratio` beyond.
inline std::vector<double> graded_lines(double h, double fine, double ratio) {
  std::vector<double> lines{0.0};
  double step = h;
  while (lines.back() < 1.0) {
    if (lines.back() >= fine) step *= ratio;
    lines.push_back(lines.back() + step);
  }
  if (1.0 - lines[lines.size() - 2] < 0.5 * step && lines.size() > 2) lines.erase(lines.end() - 2);
  lines.back() = 1.0;
  return lines;
}

/// Ball about A's origin: a graded cube grid pulled onto the sphere, finest around the south pole (0, 0, -R).
/// @param h     [m] mesh size at the pole
/// @param fine  [m] radius of the region of that size
inline VolumeMesh ball_mesh(double radius, double h, double fine, double ratio) {
  const std::vector<double> half = graded_lines(h / radius, fine / radius, ratio);
  std::vector<double> lateral;
  for (auto it = half.rbegin(); it != half.rend(); ++it) lateral.push_back(-*it);
  lateral.insert(lateral.end(), half.begin() + 1, half.end());
  std::vector<double> vertical;
  for (const double s : graded_lines(0.5 * h / radius, 0.5 * fine / radius, ratio)) vertical.push_back(-1.0 + 2.0 * s);
  VolumeMesh mesh = grid_mesh({lateral, lateral, vertical});
  for (Vector3& p : mesh.nodes) {
    const double cube = p.cwiseAbs().maxCoeff();
    if (cube > 0.0) p *= radius * cube / p.norm();
  }
  mesh.node_sets.clear();
  return mesh;
}

/// Lower part of a ball around the origin up to z = `rim` [m], open there, as triangles between meridians and circles.
inline SurfaceMesh ball_cap(double radius, double rim, int n_around = 40, int n_down = 20) {
  SurfaceMesh mesh;
  mesh.vertices.emplace_back(0.0, 0.0, -radius);
  for (int k = 1; k <= n_down; ++k) {
    const double polar = std::acos(-rim / radius) * k / n_down;
    for (int i = 0; i < n_around; ++i) {
      const double around = 2.0 * std::numbers::pi * i / n_around;
      mesh.vertices.emplace_back(radius * std::sin(polar) * std::cos(around),
                                 radius * std::sin(polar) * std::sin(around), -radius * std::cos(polar));
    }
  }
  const auto id = [&](int k, int i) {
    return k == 0 ? 0U : static_cast<std::uint32_t>(1 + (k - 1) * n_around + (i + n_around) % n_around);
  };
  for (int i = 0; i < n_around; ++i) {
    mesh.triangles.push_back({id(0, 0), id(1, i + 1), id(1, i)});
    for (int k = 1; k < n_down; ++k) {
      mesh.triangles.push_back({id(k, i), id(k + 1, i + 1), id(k + 1, i)});
      mesh.triangles.push_back({id(k, i), id(k, i + 1), id(k + 1, i + 1)});
    }
  }
  return mesh;
}

}  // namespace heelstrike::fem::test
