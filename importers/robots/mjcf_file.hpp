/// Reader of MJCF elements: included files, default classes, angle units.
#pragma once

#include <filesystem>
#include <map>
#include <numbers>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::models {

/// Counts of the attributes of each element in a file, and the attributes that were read.
class MjcfAttributes {
 public:
  void record_element(pugi::xml_node element);
  void record_read(const std::string& element, const std::string& attribute) {
    read_attributes_[element].insert(attribute);
  }
  /// "geom: friction (12 times)" for each unread attribute.
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  std::map<std::string, std::map<std::string, int>> elements_;
  std::map<std::string, std::set<std::string>> read_attributes_;
};

class MjcfFile;

/// An element with its own attributes and those of its default class.
class MjcfElement {
 public:
  /// @param scope  class of the bodies and frames around it; empty = the outermost
  MjcfElement(MjcfFile& file, pugi::xml_node node, const std::string& scope);

  [[nodiscard]] pugi::xml_node node() const { return node_; }
  [[nodiscard]] std::string name() const { return text("name").value_or(""); }
  /// Its own attribute, otherwise that of its class.
  [[nodiscard]] std::optional<std::string> text(const char* attribute) const;
  [[nodiscard]] std::string text(const char* attribute, const std::string& fallback) const {
    return text(attribute).value_or(fallback);
  }
  /// Between `min_count` and `max_count` finite numbers; empty when the attribute is missing. @throws
  /// Error{invalid_input}
  [[nodiscard]] std::vector<double> numbers(const char* attribute, std::size_t min_count, std::size_t max_count) const;
  [[nodiscard]] double number(const char* attribute, double fallback) const;
  [[nodiscard]] Vector3 vector(const char* attribute, const Vector3& fallback = Vector3::Zero()) const;
  /// "true" or "false". @throws Error{invalid_input}
  [[nodiscard]] bool flag(const char* attribute, bool fallback) const;
  /// Rotation by quat, axisangle, euler, xyaxes or zaxis.
  [[nodiscard]] Matrix3 orientation() const;
  /// `pos` and rotation.
  [[nodiscard]] Pose pose() const { return {.R = orientation(), .p = vector("pos")}; }
  [[noreturn]] void reject(const std::string& what) const;

 private:
  [[nodiscard]] std::optional<Matrix3> orientation_in(bool own) const;
  [[nodiscard]] std::vector<double> numbers_of(const char* attribute, const std::string& text, std::size_t min_count,
                                               std::size_t max_count) const;

  MjcfFile& file_;
  pugi::xml_node node_;
  const std::map<std::string, std::string>* defaults_ = nullptr;
};

/// Settings of `compiler`, as of MuJoCo 3.
struct MjcfCompiler {
  bool degrees = true;
  std::string eulerseq = "xyz";
  bool strips_paths = false;
  std::filesystem::path mesh_folder;  ///< as in the file
  std::string inertia_from_geom = "auto";
  int first_group = 0, last_group = 5;  ///< groups of geometry used for inertias
  bool balance = false;
  double min_mass = 0.0, min_moment = 0.0;
  double total_mass = -1.0;  ///< [kg] > 0: all masses are scaled to it
  bool exact_meshes = false;
  bool fits_extents = false;  ///< primitives are fitted to the boxes of meshes instead of their inertias
};

class MjcfFile {
 public:
  /// Reads the file and its included files. @throws Error{invalid_input} @throws Error{file}
  MjcfFile(const std::filesystem::path& file, MjcfAttributes& attributes);
  MjcfFile(const MjcfFile&) = delete;
  MjcfFile& operator=(const MjcfFile&) = delete;

  [[nodiscard]] pugi::xml_node root() const { return document_.document_element(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const MjcfCompiler& compiler() const { return compiler_; }
  /// [rad] of an angle of the file.
  [[nodiscard]] double angle_unit() const { return compiler_.degrees ? std::numbers::pi / 180.0 : 1.0; }
  /// Rotation by three angles of the file, in the order of its compiler.
  [[nodiscard]] Matrix3 euler(const Vector3& angles) const;
  [[nodiscard]] MjcfAttributes& attributes() { return attributes_; }
  /// @returns attribute values for elements named `element`; null when the class has none
  /// @throws Error{invalid_input} for an unknown class
  [[nodiscard]] const std::map<std::string, std::string>* defaults(const std::string& element,
                                                                   const std::string& of_class) const;
  [[noreturn]] void reject(const std::string& what) const;

 private:
  using Class = std::map<std::string, std::map<std::string, std::string>>;  ///< attributes by elements
  void load(const std::filesystem::path& file, pugi::xml_document& document) const;
  void include(pugi::xml_node parent, const std::filesystem::path& of, std::size_t depth);
  void read_class(pugi::xml_node node, const Class& outer);
  void read_compiler(pugi::xml_node node);

  std::filesystem::path path_;
  MjcfAttributes& attributes_;
  pugi::xml_document document_;
  std::set<std::filesystem::path> included_;
  std::map<std::string, Class> classes_;
  MjcfCompiler compiler_;
};

}  // namespace heelstrike::models
