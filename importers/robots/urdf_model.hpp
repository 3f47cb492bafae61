/// A URDF file as far as a scenario can take it over.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "importers/robots/mesh_files.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct UrdfOptions {
  bool base_is_free = false;                                   ///< else the root link is part of the ground
  std::map<std::string, std::filesystem::path> packages = {};  ///< folders of packages by name, for package://NAME/...
  MeshImportOptions meshes = {};
};

/// Meshes are those of `collision`: relative to the model's folder or to one above it, absolute, file:// or
/// package://NAME/FILE. Packages are looked for in `wish`, in the folders above the model (by their name, by their
/// package.xml, or by having the file), and where ROS has them (ROS_PACKAGE_PATH, AMENT_PREFIX_PATH).
/// @param text  content of the file. @param file  its path
/// @throws Error{invalid_input} for what is no URDF, naming link or joint; for mesh files that are not there, all of
/// them, and for a mesh that leads out of its package
[[nodiscard]] TreeModel read_urdf(const std::string& text, const std::filesystem::path& file,
                                  const UrdfOptions& import_options);

}  // namespace heelstrike::models
