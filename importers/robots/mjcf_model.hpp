/// The parts of an MJCF file (MuJoCo 2 and 3) that a scenario can represent.
#pragma once

#include <filesystem>
#include <string>

#include "importers/robots/mesh_files.hpp"
#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

struct MjcfOptions {
  MeshImportOptions meshes = {};
  std::string keyframe = {};  ///< keyframe of the initial pose; empty: body poses of the file
};

/// Read by the rules of MuJoCo 3: included files, classes of defaults, frames, replicates, attached models, settings of
/// the compiler, inertias from geometry (primitives, meshes). Unsupported attributes and elements are reported.
/// @throws Error{invalid_input} with the element, for undefined references and for elements that generate moving bodies
/// (composites, flexible bodies); for missing mesh files, with all of them
[[nodiscard]] TreeModel read_mjcf(const std::filesystem::path& file, const MjcfOptions& import_options);

}  // namespace heelstrike::models
