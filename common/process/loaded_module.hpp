/// Location of the files that are installed with this program or library.
///
/// Modules: shared libraries of this program that are loaded on demand because of their many dependencies.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/process/process.hpp"

namespace heelstrike {

/// Folder of the program or shared library that contains this code; "." if it cannot be determined.
[[nodiscard]] std::filesystem::path module_folder();

/// Location of a module. Constructed before main, or while the shared library that contains this code is loaded. The
/// folder of that library (an FMU) may be removed while the library is in use; the module file is therefore kept open.
class ModuleFile {
 public:
  explicit ModuleFile(const char* name);
  /// Beside the shared library that contains this code (as built, or in an FMU) or below its folder (as installed); for
  /// a program in the folder of the libraries (as built, as installed).
  /// @throws Error{file} if it is in none of them
  [[nodiscard]] std::filesystem::path path() const;

 private:
  std::string name_;
  std::filesystem::path search_folder_;
  Descriptor descriptor_;
};

/// Loads a module permanently, with local symbol visibility.
/// @param function  of the module, without arguments, that returns a pointer to its content
/// @param needs    required installation, for messages
/// @returns that pointer.
/// @throws Error{file} if it cannot be loaded, with the loader's message, or has no such function
[[nodiscard]] const void* load_module(const std::filesystem::path& file, const char* function, const char* needs);
/// @throws Error{version_mismatch} for a module of another program version
void require_same_version(const std::filesystem::path& file, std::string_view version);

}  // namespace heelstrike
