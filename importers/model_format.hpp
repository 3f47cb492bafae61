/// Formats of foreign models that `heelstrike import` converts.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "importers/scenario_text.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::models {

/// Triangles of a mesh file [units of the file]. @throws Error for a file that cannot be read
using MeshReader = std::function<Triangles(const std::filesystem::path& file)>;

/// An option of the command line. Formats may share an option: same name, same members.
struct ModelOption {
  std::string name;   ///< "--keyframe"
  std::string value;  ///< its name in the help; empty = a flag
  std::string description;
  std::vector<std::string> choices = {};  ///< the first one is the default; empty = any text
  std::optional<Range> range = {};        ///< of a number
  bool repeatable = false;
};

struct ModelInput {
  std::filesystem::path file;
  std::string text;                                         ///< content of the file
  std::map<std::string, std::vector<std::string>> options;  ///< values of the given options by name
  MeshReader read_mesh;

  [[nodiscard]] bool has(const std::string& option) const { return options.contains(option); }
  /// The value of an option; `otherwise` if it is not given.
  [[nodiscard]] std::string value(const std::string& option, const std::string& otherwise = {}) const;
  [[nodiscard]] double number(const std::string& option) const;  ///< 0 if it is not given
};

/// A new format is one folder with a function NAME_format() and one line in registry.cpp: command, options and help
/// follow from it.
struct ModelFormat {
  std::string name;         ///< "MJCF"
  std::string description;  ///< of its files, for the help
  std::string root;         ///< root element of its XML, which determines the format independently of the file name
  std::string example;      ///< arguments of `heelstrike import`
  std::vector<ModelOption> options;
  /// @throws Error{invalid_input} with the element of the file
  Import (*import)(const ModelInput& input);
};

[[nodiscard]] std::span<const ModelFormat> model_formats();

}  // namespace heelstrike::models
