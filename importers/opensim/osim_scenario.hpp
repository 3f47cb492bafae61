/// Conversion of an OpenSim model to a scenario file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/motion/motion_file.hpp"
#include "importers/opensim/external_loads.hpp"
#include "importers/opensim/osim_model.hpp"
#include "importers/scenario_text.hpp"

namespace heelstrike::osim {

/// A coordinate as a function of time.
struct Motion {
  std::filesystem::path file;
  MotionTable table;  ///< its content: a column is named like the coordinate, or /jointset/JOINT/COORDINATE/value
};

/// Measured loads with their data.
struct MeasuredLoads {
  std::filesystem::path file;  ///< of ExternalLoads
  ExternalLoads loads;
  std::filesystem::path data_file;
  MotionTable data;  ///< its content
};

/// @param file  of ExternalLoads. @param data_file  instead of the one that it names, relative to it; empty = that one
/// @param text_in  content of a file, for errors at the option of this name
/// @throws Error{invalid_input} also for a file that names no data
[[nodiscard]] MeasuredLoads read_measured_loads(
    const std::filesystem::path& file, const std::filesystem::path& data_file,
    const std::function<std::string(const std::string& file, const char* option)>& text_in);

struct ImportOptions {
  std::vector<std::string> joints;  ///< names of joints whose bodies are imported; empty = the whole model
  std::vector<std::string> fixed_joints =
      {};  ///< names of joints that are imported as welds at their coordinate values
  /// replacement files for contact meshes, by mesh name; for its back surface by the name and ".back"
  std::map<std::string, std::filesystem::path> meshes;
  std::vector<std::filesystem::path> folders;  ///< search folders for mesh files, in order
  /// [rad] final value of the first coordinate of the first free joint, driven in static equilibrium; none = no driver
  std::optional<double> flexion = {};
  /// alternative: motion of the same coordinate; for the whole model, of all coordinates with a column
  std::optional<Motion> motion = {};
  /// coordinates with columns in rad in a motion whose header states degrees: OpenSim does not convert a coordinate
  /// that its joint does not equal, such as one that enters through a spline
  std::vector<std::string> radians = {};
  std::optional<double> start = {};  ///< [s] time of the motion of the whole model with the initial poses; none = first
  std::optional<double> cutoff = {};  ///< [Hz] zero-lag low-pass of the motion of the whole model; none = unfiltered
  int filter_order = 4;               ///< of this filter, both passes together; even
  std::optional<MeasuredLoads> external_loads = {};  ///< of the whole model, at the times of the motion
  std::optional<double> drawer_force = {};           ///< [N] after the flexion, on the driven body along its x axis
  std::vector<std::string> excluded = {};  ///< names of excluded ligaments, bundles of lines, muscles and contacts
  std::optional<double> activation = {};   ///< of all muscles; none = specified later, or their minimum
  bool rigid_tendons = false;              ///< of all muscles; always rigid in static equilibrium
  /// values of coordinates instead of their defaults; rotations in multiples of `angle_unit`, translations [m]
  std::map<std::string, double> coordinates = {};
  double angle_unit = 1.0;                   ///< [rad]
  std::map<std::string, double> scale = {};  ///< factors of bodies, before all other options (scale_model)
  std::optional<double> mass = {};           ///< [kg] of the whole model
  bool in_section = false;                   ///< messages refer to keys of the section `import` instead of options
  /// resolves file names of these options: the scenario then refers to meshes and motion in place; empty = names are
  /// paths, and the scenario refers to copies
  std::function<std::filesystem::path(const std::filesystem::path&)> resolve_path = {};
};

/// Search folders for mesh files of a model: the given folders, the model's folder, its subfolder Geometry.
[[nodiscard]] std::vector<std::filesystem::path> mesh_folders(std::vector<std::filesystem::path> given,
                                                              const std::filesystem::path& model);

using models::Import;

/// @throws Error{invalid_input} for an unknown joint, coordinate, contact mesh or excluded ligament, for a flexion of
/// joints without one, for a motion without the coordinate, without a unit of angles, that begins after 0 s, or
/// combined with a flexion, for external loads on unknown bodies, without their columns, or that do not cover the
/// motion, for a drawer force without a flexion, and for a missing mesh file, with the searched folders; the field is
/// the name of the option
[[nodiscard]] Import import_model(Model model, const ImportOptions& import_options);

}  // namespace heelstrike::osim
