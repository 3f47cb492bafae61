/// A mesh file: triangles, or tetrahedra of a deformable body.
#pragma once

#include <optional>
#include <string>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A file by content (`sha256` of an uploaded asset) or by name in the server's asset folder.
struct MeshSurface {
  std::string sha256;
  std::string asset_name;
  std::string format;         ///< "stl", "obj", ...; empty = from the name, else from the content
  double length_scale = 1.0;  ///< [m per file unit] > 0
  Pose X_BodyMesh;            ///< placement of the mesh in the body

  static constexpr const char* kind = "mesh";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<MeshSurface> of(const Surface& surface);
  [[nodiscard]] AssetKey asset() const { return {.sha256 = sha256, .name = asset_name}; }
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
