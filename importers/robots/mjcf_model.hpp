/// An MJCF file (of MuJoCo 2 and 3) as far as a scenario can take it over.
#pragma once

#include <filesystem>
#include <string>

#include "importers/robots/mesh_files.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct MjcfOptions {
  MeshImportOptions meshes = {};
  std::string keyframe = {};  ///< whose coordinates are the initial pose; empty: as bodies stand in the file
};

/// Read by the rules of MuJoCo 3: included files, classes of defaults, frames, replicates, attached models, settings of
/// the compiler, inertias from geometry (primitives, meshes). Attributes and elements that mean nothing here are told.
/// @throws Error{invalid_input} for what the file does not define or what would leave out moving bodies (composites,
/// flexible bodies), naming the element; for mesh files that are not there, all of them
[[nodiscard]] TreeModel read_mjcf(const std::filesystem::path& file, const MjcfOptions& import_options);

}  // namespace heelstrike::models
