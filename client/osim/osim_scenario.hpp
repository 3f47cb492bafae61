/// From an OpenSim model to a scenario file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/models/scenario_text.hpp"
#include "client/osim/osim_model.hpp"

namespace heelstrike::client::osim {

struct ImportWish {
  std::vector<std::string> joints;                      ///< names of joints whose bodies are taken
  std::vector<std::string> held = {};                   ///< names of joints that are taken as welds, at their defaults
  std::map<std::string, std::filesystem::path> meshes;  ///< other files for contact meshes, by their name
  std::vector<std::filesystem::path> folders;           ///< where mesh files are looked for, in this order
  /// [rad] to which the first coordinate of the first joint that moves freely is bent, in equilibria; none = the
  /// scenario is not driven
  std::optional<double> flexion = {};
};

using models::Import;

/// @throws Error{invalid_input} for a joint that the model has not, for a flexion of joints that have none, and for a
/// missing mesh file, with the folders that were searched
[[nodiscard]] Import import_model(Model model, const ImportWish& wish);

}  // namespace heelstrike::client::osim
