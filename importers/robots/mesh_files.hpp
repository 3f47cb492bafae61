/// Mesh files of a robot: read once, copied or rewritten under unique names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "importers/robots/mesh_mass.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

/// Import options for meshes.
struct MeshImportOptions {
  MeshReader read = {};
  bool leave_out = false;  ///< meshes are skipped and reported
};
[[nodiscard]] MeshImportOptions mesh_import_options(const ModelInput& input);

class MeshFiles {
 public:
  explicit MeshFiles(const MeshImportOptions& import_options) : import_options_(import_options) {}

  /// Sets `shape` to the surface of a mesh file, copied unchanged where the scenario can scale it, otherwise rewritten.
  /// Missing files are recorded for throw_missing().
  /// @param owner   for messages: "link 'foot'"
  /// @param factors  [m per unit of the file] along its axes; negative ones mirror
  /// @param X_SM     of the scaled mesh in the frame of the shape
  /// @throws Error{invalid_input} for a file that is not a mesh, with its name
  void use(Shape& shape, const std::filesystem::path& file, const std::string& owner, const Vector3& factors,
           const Pose& X_SM = {});
  /// The same for triangles [m] of the model file. @param name  for the file
  void use(Shape& shape, const Triangles& mesh, const std::string& name);
  /// Records a missing item for throw_missing().
  void add_missing(std::string what) { missing_.insert(std::move(what)); }
  /// True if the file exists; a missing file is recorded for throw_missing().
  [[nodiscard]] bool exists(const std::filesystem::path& file, const std::string& owner);
  /// Read once; of a file with points only, their convex hull. @throws Error{invalid_input}
  [[nodiscard]] const Triangles& triangles(const std::filesystem::path& file);
  /// @throws Error{invalid_input} with all missing files. @param model  for the message
  void throw_missing(const std::string& model) const;

 private:
  [[nodiscard]] std::string new_name(const std::string& stem, const std::string& ending, const std::string& key);

  const MeshImportOptions& import_options_;
  std::map<std::filesystem::path, Triangles> read_;
  std::set<std::filesystem::path> hulls_;     ///< files with points only
  std::map<std::string, std::string> names_;  ///< file names in the scenario's folder, with the key of their content
  std::set<std::string> missing_;
};

/// The mesh scaled along its axes and transformed; mirroring preserves counterclockwise triangles.
[[nodiscard]] Triangles transformed(Triangles mesh, const Vector3& factors, const Pose& X);

}  // namespace heelstrike::models
