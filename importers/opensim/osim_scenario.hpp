/// From an OpenSim model to a scenario file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/motion/motion_table.hpp"
#include "importers/opensim/osim_model.hpp"
#include "importers/scenario_text.hpp"

namespace heelstrike::osim {

/// A coordinate over time.
struct Motion {
  std::filesystem::path file;
  MotionTable table;  ///< what is in it: a column is named like the coordinate, or /jointset/JOINT/COORDINATE/value
};

struct ImportOptions {
  std::vector<std::string> joints;     ///< names of joints whose bodies are taken; empty = the whole model
  std::vector<std::string> held = {};  ///< names of joints that are taken as welds, where their coordinates are
  /// other files for contact meshes, by their name; for the surface below one by its name and ".back"
  std::map<std::string, std::filesystem::path> meshes;
  std::vector<std::filesystem::path> folders;  ///< where mesh files are looked for, in this order
  /// [rad] to which the first coordinate of the first joint that moves freely is bent, in equilibria; none = the
  /// scenario is not driven
  std::optional<double> flexion = {};
  /// instead: what the same coordinate does in time; of the whole model, what all coordinates do that it has
  std::optional<Motion> motion = {};
  std::optional<double> drawer_force = {};  ///< [N] after the flexion, on the bent body along its x axis
  std::vector<std::string> excluded = {};  ///< names of ligaments and muscles that are left out, or of bundles of lines
  std::optional<double> activation = {};   ///< of all muscles; none = what is given later, or their least one
  bool rigid_tendons = false;              ///< of all muscles; in equilibria they are rigid anyway
  /// values of coordinates in the place of their defaults, for turns in multiples of `angle_unit`, else [m]
  std::map<std::string, double> coordinates = {};
  double angle_unit = 1.0;  ///< [rad]
  bool in_section = false;  ///< messages name keys of the section `import` instead of options
  /// the file that a name of this wish means: the scenario then names meshes and motion where they are; empty = names
  /// are paths, and the scenario names copies
  std::function<std::filesystem::path(const std::filesystem::path&)> resolve_path = {};
};

/// Where mesh files of a model are looked for: in the folders that were given, beside the model, in its folder
/// Geometry.
[[nodiscard]] std::vector<std::filesystem::path> mesh_folders(std::vector<std::filesystem::path> given,
                                                              const std::filesystem::path& model);

using models::Import;

/// @throws Error{invalid_input} for a joint that the model has not, for a flexion of joints that have none, for a
/// ligament to leave out or a coordinate that the model has not, for a motion without the coordinate or that begins
/// after 0 s, for one beside a flexion, for a draw without one, for another file of a mesh that the model has not, and
/// for a missing mesh file, with the folders that were searched; the field is the wish
[[nodiscard]] Import import_model(Model model, const ImportOptions& import_options);

}  // namespace heelstrike::osim
