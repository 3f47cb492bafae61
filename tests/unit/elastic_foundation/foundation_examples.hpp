/// Pairs with an elastic foundation, used by several tests.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::fem::testing_support {

/// Files of a pair.
class Assets {
 public:
  /// An ASCII STL.
  void add(const std::string& name, const std::vector<std::array<Vector3, 3>>& triangles) {
    std::string stl = "solid s\n";
    char line[200];
    for (const auto& t : triangles) {
      stl += "facet normal 0 0 0\nouter loop\n";
      for (const Vector3& p : t) {
        std::snprintf(line, sizeof line, "vertex %.17g %.17g %.17g\n", p.x(), p.y(), p.z());
        stl += line;
      }
      stl += "endloop\nendfacet\n";
    }
    add_text(name, stl + "endsolid s\n");
  }
  void add_text(const std::string& name, std::string content) {
    contents_[name] = {.sha256 = name, .name = name, .content = std::move(content)};
  }
  [[nodiscard]] PrepareContext context() const {
    return {.asset = [this](const AssetKey& key) -> const AssetContent& {
              return contents_.at(key.name.empty() ? key.sha256 : key.name);
            },
            .on_progress = [](std::string_view, double) {},
            .stop = {}};
  }

 private:
  std::map<std::string, AssetContent> contents_;
};

/// A square of n x n cells, two triangles each, z = height(x, y), normals up.
inline std::vector<std::array<Vector3, 3>> height_field(double edge, int n,
                                                        const std::function<double(double, double)>& height) {
  std::vector<std::array<Vector3, 3>> triangles;
  const auto at = [&](int i, int j) {
    const double x = edge * (static_cast<double>(i) / n - 0.5);
    const double y = edge * (static_cast<double>(j) / n - 0.5);
    return Vector3(x, y, height(x, y));
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
      triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  }
  return triangles;
}

/// A box about the origin, n x n cells of two triangles on each face.
inline std::vector<std::array<Vector3, 3>> box_of_cells(const Vector3& lengths, int n) {
  std::vector<std::array<Vector3, 3>> triangles;
  for (Eigen::Index axis = 0; axis < 3; ++axis) {
    for (const double side : {-1.0, 1.0}) {
      const auto at = [&](int i, int j) {
        Vector3 p;
        p[axis] = 0.5 * side * lengths[axis];
        p[(axis + 1) % 3] = (static_cast<double>(i) / n - 0.5) * lengths[(axis + 1) % 3];
        p[(axis + 2) % 3] = (static_cast<double>(j) / n - 0.5) * lengths[(axis + 2) % 3];
        return p;
      };
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          std::array<Vector3, 4> p{at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)};
          if (side < 0.0) std::swap(p[1], p[3]);
          triangles.push_back({p[0], p[1], p[2]});
          triangles.push_back({p[0], p[2], p[3]});
        }
      }
    }
  }
  return triangles;
}

inline Material material(double E, double nu) {
  return {.youngs_modulus = E, .poissons_ratio = nu, .density = 0.0, .set = {}};
}

inline Surface mesh_named(const std::string& name, const std::string& format = "stl") {
  return MeshSurface{.sha256 = {}, .asset_name = name, .format = format, .length_scale = 1.0, .X_BodyMesh = {}};
}

/// A layer of polyethylene on A, linear, nu = 0.46, 8 mm; B is rigid.
inline PairSpec layer_pair(Surface main, Surface partner, ParameterMap parameters = {}) {
  PairSpec pair;
  pair.name = "knee";
  pair.backend = "elastic_foundation";
  pair.parameters = std::move(parameters);
  pair.parameters.try_emplace("thickness", 0.008);
  pair.main = {.name = "A", .surface = std::move(main), .materials = {material(463e6, 0.46)}};
  pair.partner = {.name = "B", .surface = std::move(partner), .materials = {}};
  return pair;
}

}  // namespace heelstrike::fem::testing_support
