/// A URDF file as far as a scenario can take it over, read by urdfdom.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "client/models/tree_model.hpp"

namespace heelstrike::client::models {

struct UrdfWish {
  bool base_is_free = false;                              ///< else the root link is part of the ground
  std::map<std::string, std::filesystem::path> packages;  ///< folders of packages by name, for package://NAME/...
};

/// Meshes are those of `collision`; files of packages are looked for in `wish`, then in the folders above the model
/// that have the package's name.
/// @param text  content of the file. @param file  its path: meshes are relative to its folder
/// @throws Error{invalid_input} for what urdfdom refuses, with its words, for a mesh that is not there, and for one
/// outside the package (or, without a package, the model's folder)
[[nodiscard]] TreeModel read_urdf(const std::string& text, const std::filesystem::path& file, const UrdfWish& wish);

}  // namespace heelstrike::client::models
