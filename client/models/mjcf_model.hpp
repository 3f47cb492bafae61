/// An MJCF file as far as a scenario can take it over, compiled by MuJoCo.
#pragma once

#include <filesystem>

#include "client/models/tree_model.hpp"

namespace heelstrike::client::models {

/// Defaults, included files, inertias from shapes and everything else that an MJCF file may leave to its compiler are
/// MuJoCo's own; the initial pose is that of its `qpos0`. Meshes are those it compiled (single precision).
/// @throws Error{invalid_input} for what MuJoCo refuses, with its words
[[nodiscard]] TreeModel read_mjcf(const std::filesystem::path& file);

}  // namespace heelstrike::client::models
