/// The parts of a URDF file that a scenario can represent.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "importers/robots/mesh_files.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct UrdfOptions {
  bool base_is_free = false;                                   ///< false: the root link is part of the ground
  std::map<std::string, std::filesystem::path> packages = {};  ///< folders of packages by name, for package://NAME/...
  MeshImportOptions meshes = {};
};

/// Meshes are those of `collision`: relative to the model's folder or to one above it, absolute, file:// or
/// package://NAME/FILE. Packages are searched in `import_options`, in the folders above the model (by name, by
/// package.xml, or by the file itself), and in the ROS paths (ROS_PACKAGE_PATH, AMENT_PREFIX_PATH).
/// @param text  content of the file. @param file  its path
/// @throws Error{invalid_input} for invalid URDF, with link or joint; for missing mesh files, with all of them; and for
/// a mesh outside of its package
[[nodiscard]] TreeModel read_urdf(const std::string& text, const std::filesystem::path& file,
                                  const UrdfOptions& import_options);

}  // namespace heelstrike::models
