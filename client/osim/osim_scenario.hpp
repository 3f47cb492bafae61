/// From an OpenSim model to a scenario file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "client/osim/osim_model.hpp"

namespace heelstrike::client::osim {

struct ImportWish {
  std::vector<std::string> joints;                      ///< names of joints whose bodies are taken
  std::vector<std::string> held = {};                   ///< names of joints that are taken as welds, at their defaults
  std::map<std::string, std::filesystem::path> meshes;  ///< other files for contact meshes, by their name
  std::vector<std::filesystem::path> folders;           ///< where mesh files are looked for, in this order
};

/// A mesh file that goes with the scenario.
struct MeshCopy {
  std::filesystem::path from;
  std::string to;  ///< name below the scenario's folder
};

struct Import {
  std::string scenario;  ///< text of the file
  std::vector<MeshCopy> meshes;
  std::vector<std::string> taken;      ///< one line for each kind of thing
  std::vector<std::string> not_taken;  ///< what of the model is not in the scenario, or is in it in another way
};

/// @throws Error{invalid_input} for a joint that the model has not and for a missing mesh file, with the folders that
/// were searched
[[nodiscard]] Import import_model(Model model, const ImportWish& wish);

}  // namespace heelstrike::client::osim
