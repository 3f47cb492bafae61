/// Modules: shared libraries of this program that are loaded when they are needed, because they bring many others
/// along.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/process/descriptor.hpp"

namespace heelstrike {

/// Where a module is. To be made before main, or while the shared library that this code is part of is loaded: the
/// loader keeps a library whose folder is removed, as that of a functional mock-up unit, and its modules have to be had
/// then, too, so the file is held open.
class ModuleFile {
 public:
  explicit ModuleFile(const char* name);
  /// Beside the shared library that this code is part of (as built, or in a functional mock-up unit) or below its
  /// folder (as installed); from a program's folder in that of the libraries (as built, as installed).
  /// @throws Error{file} when it is in none of them
  [[nodiscard]] std::filesystem::path path() const;

 private:
  std::string name_;
  std::filesystem::path beyond_rim_;
  Descriptor descriptor_;
};

/// Loads a module for good; its names stay its own.
/// @param function  of the module, without arguments, that answers with a pointer to what is in it
/// @param needs     what has to be installed for it, for messages
/// @returns the answer. @throws Error{file} when it cannot be loaded, with what the loader says, or has no such
/// function
[[nodiscard]] const void* load_module(const std::filesystem::path& file, const char* function, const char* needs);
/// @throws Error{version_mismatch} for the module of another version of the program
void require_same_version(const std::filesystem::path& file, std::string_view version);

}  // namespace heelstrike
